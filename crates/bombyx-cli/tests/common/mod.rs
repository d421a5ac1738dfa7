//! Runs the program and looks at what it leaves.

// Each test file uses some of it.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs `bombyx` in an environment that chooses nothing.
pub(crate) fn bombyx(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bombyx"));
    command.args(arguments).env_remove("HOME").env_remove("BOMBYX_PROCESSORS").env_remove("BOMBYX_SCHEDULER");
    command.output().expect("bombyx runs")
}

/// What it prints when everything goes well, with nothing on standard error.
pub(crate) fn succeeds(arguments: &[&str]) -> String {
    let output = bombyx(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert!(errors.is_empty(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// The complaint of a command that fails and prints no results.
pub(crate) fn fails(arguments: &[&str]) -> String {
    let output = bombyx(arguments);
    assert!(!output.status.success(), "{arguments:?} should fail");
    assert!(output.stdout.is_empty(), "{arguments:?} printed results although it failed");
    String::from_utf8(output.stderr).expect("errors are UTF-8")
}

/// The answer to a command line that makes no sense.
pub(crate) fn refused(arguments: &[&str]) -> String {
    let output = bombyx(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed results although it was refused");
    let errors = String::from_utf8(output.stderr).expect("errors are UTF-8");
    assert!(errors.starts_with("bombyx: "), "{arguments:?}: {errors}");
    errors
}

/// A folder that is removed with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bombyx-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder can be made");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is UTF-8").to_owned()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder exists");
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
