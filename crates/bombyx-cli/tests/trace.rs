//! `bombyx trace` as its users see it, on this program itself.
#![cfg(target_os = "linux")]

mod common;

use common::{Folder, bombyx, fails, refused};
use std::fs;

const THIS: &str = env!("CARGO_BIN_EXE_bombyx");

/// What the command says on standard error.
fn says(arguments: &[&str]) -> String {
    let output = bombyx(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    errors
}

#[test]
fn a_run_in_every_format() {
    let folder = Folder::new("trace");
    let [native, perfetto, chrome] = ["run.trace", "run.pftrace", "run.json"].map(|name| folder.file(name));
    let child = ["child", "spawns", "bombyx", "2", "1000"];
    let run = [&["trace", "-p", "2", "--format", "native", "-o", &native, "--", THIS][..], &child].concat();
    let summary = says(&run);
    assert!(summary.contains("on 2 processors") && summary.contains("steals"), "{summary}");
    assert!(summary.contains("bombyx trace --read"), "{summary}");
    assert!(fs::read(&native).unwrap().starts_with(b"bombyx trace v1\n"));
    says(&["trace", "--read", &native, "-o", &perfetto]);
    assert_eq!(fs::read(&perfetto).unwrap()[0], 0x0a, "a packet");
    says(&["trace", "--read", &native, "--format", "chrome", "-o", &chrome]);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&chrome).unwrap()).unwrap();
    assert!(json["traceEvents"].as_array().unwrap().len() > 10);
}

#[test]
fn what_cannot_be_traced_is_said() {
    let folder = Folder::new("trace-errors");
    let (file, target) = (folder.file("file"), folder.file("target"));
    let says = |bytes: &[u8], arguments: &[&str]| {
        fs::write(&file, bytes).unwrap();
        fails(arguments)
    };
    let read = ["trace", "--read", &file, "-o", &target];
    assert!(says(b"", &read).contains("the trace is empty"));
    assert!(says(b"{}", &read).contains("this is not a trace"));
    assert!(says(b"bombyx trace v1\n", &read).contains("stops early"));
    assert!(!fs::exists(&target).unwrap(), "no target was written");
    assert!(fails(&["trace", "-o", &target, "--", "true"]).contains("trace"), "no runtime, no trace");
    assert!(refused(&["trace", "--read", &file, "-p", "2"]).contains("no effect"));
    assert!(refused(&["trace", "-p", "1,2", "--", "true"]).contains("takes one number"));
}
