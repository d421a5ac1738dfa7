//! Files that are written whole or not at all: into a temporary file beside the target, then renamed onto it.

use crate::Result;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that is removed unless it is finished.
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing better can be done with a file that cannot be removed.
            let _ = fs::remove_file(path);
        }
    }
}

/// Checks whether a file of this name could be written, before much time is spent on its content.
pub fn expect_to_write(path: &Path) -> Result<()> {
    let cannot = |why: &dyn std::fmt::Display| format!("cannot write {}: {why}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(cannot(&"it is a folder").into());
    }
    if !fs::metadata(folder).map_err(|error| cannot(&error))?.is_dir() {
        return Err(cannot(&format!("{} is not a folder", folder.display())).into());
    }
    if is_special(path) {
        return Ok(());
    }
    // Whether a file can be made there is best asked by making one.
    let temporary = beside(path)?;
    File::create(&temporary).map_err(|error| cannot(&error))?;
    drop(Unfinished(Some(temporary)));
    Ok(())
}

/// Whether the path exists and is not a file, such as a pipe or `/dev/stdout`.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir())
}

/// Where a file is written before it takes its place.
fn beside(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| format!("{} is not the name of a file", path.display()))?;
    Ok(path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id())))
}

/// Writes a file. If that fails or is interrupted, `path` stays as it was. If `path` exists and is not a file, such as
/// a pipe or `/dev/stdout`, this writes to it directly.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let explain = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if is_special(path) {
        return Ok(fs::write(path, content).map_err(explain)?);
    }
    let temporary = beside(path)?;
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
        let expected = expect_to_write(Path::new("/nowhere/at/all.svg")).unwrap_err().to_string();
        assert_eq!(expected, error);
        assert!(expect_to_write(&std::env::temp_dir()).is_err());
        assert!(expect_to_write(Path::new("all.svg")).is_ok());
    }
}
