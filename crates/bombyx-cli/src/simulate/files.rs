//! Files that are written whole or not at all: into a temporary file beside the target, then renamed onto it. What
//! they hold is made before, so that an interruption hardly ever finds the temporary file.

use super::Result;
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

/// Writes a file. If that fails or is interrupted, `path` stays as it was. What exists and is no file, such as a pipe
/// or `/dev/stdout`, is written as it is.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<()> {
    let explain = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir()) {
        return Ok(fs::write(path, content).map_err(explain)?);
    }
    let name = path.file_name().ok_or_else(|| format!("{} is not the name of a file", path.display()))?;
    let temporary = path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let mut file = File::create(&temporary).map_err(explain)?;
    let mut unfinished = Unfinished(Some(temporary.clone()));
    file.write_all(content).and_then(|()| file.sync_all()).map_err(explain)?;
    fs::rename(&temporary, path).map_err(explain)?;
    unfinished.0 = None;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("bombyx-files-{}", std::process::id()));
        let path = folder.join("out.svg");
        fs::create_dir_all(path.join("in the way")).unwrap();
        assert!(write(&path, b"new").is_err(), "a folder cannot be replaced");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&path).unwrap();
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = write(Path::new("/nowhere/at/all.svg"), b"").unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all.svg"), "{error}");
    }
}
