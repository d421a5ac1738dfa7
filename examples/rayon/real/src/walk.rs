//! `jwalk`: folders read in parallel, delivered in order.

use crate::digest;
use cores::Subject;
use std::fs;
use std::path::PathBuf;

/// A tree of empty files below the system's folder for temporary ones.
pub(crate) struct Walk {
    root: PathBuf,
    /// Relative to the root, in the order of the walk.
    found: Vec<String>,
}

/// Folders in each folder of the first two levels, and files in each folder of the last.
const FOLDERS: usize = 12;
const FILES: usize = 20;

impl Walk {
    pub(crate) fn new() -> Walk {
        let root = std::env::temp_dir().join(format!("walk-{}", std::process::id()));
        for i in 0..FOLDERS * FOLDERS {
            let folder = root.join(format!("{:02}/{:02}", i / FOLDERS, i % FOLDERS));
            fs::create_dir_all(&folder).expect("a temporary folder can be made");
            for file in 0..FILES {
                fs::write(folder.join(format!("{file:02}")), []).expect("a temporary file can be made");
            }
        }
        Walk { root, found: Vec::new() }
    }
}

impl Subject for Walk {
    fn compute(&mut self) {
        self.found = jwalk::WalkDir::new(&self.root)
            .sort(true)
            .into_iter()
            .map(|entry| {
                let path = entry.expect("nobody else changes the tree").path();
                path.strip_prefix(&self.root).expect("below the root").display().to_string()
            })
            .collect();
    }

    fn digest(&self) -> String {
        digest(self.found.join("\n").into_bytes())
    }

    fn check(&self) -> Result<(), String> {
        let mut sorted = self.found.clone();
        sorted.sort();
        let expected = 1 + FOLDERS + FOLDERS * FOLDERS * (1 + FILES);
        match self.found.len() {
            count if count != expected => Err(format!("{count} entries instead of {expected}")),
            _ if sorted != self.found => Err("the walk is not in order".to_string()),
            _ => Ok(()),
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
