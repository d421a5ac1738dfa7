//! Files that are written whole or not at all: into a temporary file beside the target, then renamed onto it.

use crate::Result;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that disappears unless it is finished.
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing better can be done with a file that cannot be removed.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes a file with `fill`. If that fails or is interrupted, `path` stays as it was. What is no file but exists,
/// such as a pipe or `/dev/stdout`, is written as it is.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let explain = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir()) {
        return fill(&mut File::create(path).map_err(explain)?);
    }
    let name = path.file_name().ok_or_else(|| format!("{} is not the name of a file", path.display()))?;
    let temporary = path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let mut file = File::create(&temporary).map_err(explain)?;
    let mut unfinished = Unfinished(Some(temporary));
    fill(&mut file).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    file.sync_all().map_err(explain)?;
    let temporary = unfinished.0.as_ref().expect("it is not finished yet");
    fs::rename(temporary, path).map_err(explain)?;
    unfinished.0 = None;
    Ok(())
}

/// Writes a text file.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    write(path, |file| Ok(file.write_all(text.as_bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("bombyx-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("out.svg");
        write_text(&path, "old").unwrap();
        let failed = write(&path, |file| {
            file.write_all(b"ne")?;
            Err("no more ink".into())
        });
        assert!(failed.unwrap_err().to_string().contains("no more ink"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        write_text(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = write_text(Path::new("/nowhere/at/all.svg"), "").unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all.svg"), "{error}");
    }
}
