//! `bombyx trace` and `bombyx report` as their users see them, on this program itself.
#![cfg(target_os = "linux")]

mod common;

use common::{Folder, bombyx, fails, refused};
use std::fs;

const SORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bombyx-profile/corpus/sort.json");
const THIS: &str = env!("CARGO_BIN_EXE_bombyx");

/// What the command says on standard error.
fn says(arguments: &[&str]) -> String {
    let output = bombyx(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    errors
}

#[test]
fn a_run_in_every_format_and_as_a_page() {
    let folder = Folder::new("trace");
    let [native, perfetto, chrome, firefox, page] =
        ["run.trace", "run.pftrace", "run.json", "run.profile.json", "run.html"]
            .map(|name| folder.file(name));
    let child = ["child", "spawns", "bombyx", "2", "1000"];
    let run = [&["trace", "-p", "2", "--format", "native", "-o", &native, "--", THIS][..], &child].concat();
    let summary = says(&run);
    assert!(summary.contains("on 2 processors") && summary.contains(" steal"), "{summary}");
    assert!(summary.contains("bombyx trace --read"), "{summary}");
    assert!(fs::read(&native).unwrap().starts_with(b"bombyx trace v1\n"));
    says(&["trace", "--read", &native, "-o", &perfetto]);
    assert_eq!(fs::read(&perfetto).unwrap()[0], 0x0a, "a packet");
    says(&["trace", "--read", &native, "--format", "chrome", "-o", &chrome]);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&chrome).unwrap()).unwrap();
    assert!(json["traceEvents"].as_array().unwrap().len() > 10);
    assert!(
        says(&["trace", "--read", &native, "--format", "firefox", "-o", &firefox]).contains("samply load")
    );
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&firefox).unwrap()).unwrap();
    assert!(json["threads"].as_array().unwrap().len() >= 4, "two processors and two threads");
    let parts = |files: &[&str]| {
        says(&[&["report", "-o", &page], files].concat());
        let html = fs::read_to_string(&page).unwrap();
        html.matches("data-part=").count()
    };
    let dag = folder.file("run.dag");
    says(&["record", "-p", "2", "-o", &dag, "--", THIS, "child", "spawns", "bombyx", "2", "1000"]);
    assert_eq!([parts(&[&native]), parts(&[SORT])], [1, 3], "a timeline; advice, speedup and sites");
    let recorded = parts(&[&dag]);
    assert!(recorded >= 3, "speedup, grain graph, flame graphs");
    assert_eq!(parts(&[&native, SORT, &dag]), 1 + 3 + recorded);
    assert_eq!(
        parts(&[SORT, &dag, SORT, &dag]),
        2 * (3 + recorded) + 1,
        "side by side, and what has changed"
    );
    assert!(refused(&["report", SORT, SORT, SORT, "-o", &page]).contains("the third of the profiles"));
}

#[test]
fn what_cannot_be_traced_or_shown_is_said() {
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
    let report = ["report", &file[..], "-o", &target];
    assert!(says(b"bombyx trace v7\n", &report).contains("version 7"));
    assert!(says(b"\x7fELF", &report).contains("neither a trace nor a profile nor a recording"));
    assert!(says(b"", &report).contains("is empty"));
    assert!(says(b"{\"traceEvents\":[]}", &report).contains("not a profile"));
    assert!(says(b"\x89DAG\r\n\x1a\n", &report).contains("stops early"));
    assert!(says(b"\x89DAG\n\x1a\n", &report).contains("text-mode transfer"));
    assert!(says(b"dag\nspawn\n", &report).contains("line 2"));
    assert!(!fs::exists(&target).unwrap(), "no target was written");
    assert!(fails(&["trace", "-o", &target, "--", "true"]).contains("trace"), "no runtime, no trace");
    assert!(refused(&["trace", "--read", &file, "-p", "2"]).contains("no effect"));
    assert!(refused(&["trace", "-p", "1,2", "--", "true"]).contains("takes one number"));
}
