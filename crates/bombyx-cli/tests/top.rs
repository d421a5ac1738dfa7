//! `bombyx top` as programs see it. `scripts/top` looks at it in a terminal.
#![cfg(target_os = "linux")]

mod common;

use common::{bombyx, fails, refused};
use serde_json::Value;
use std::process::{Command, Stdio};

const THIS: &str = env!("CARGO_BIN_EXE_bombyx");

/// The lines of a look at a child of this program. It spawns closures, and would go on for minutes.
fn looks(more: &[&str], child: &[&str]) -> (Option<i32>, Vec<Value>) {
    let arguments =
        [&["top", "--json", "--interval", "0.02", "-p", "2"], more, &["--", THIS, "child"], child];
    let output = bombyx(&arguments.concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
    (output.status.code(), lines.collect())
}

/// The program is as long as it takes to be seen, so this does not depend on timing.
#[test]
fn a_program_is_looked_at_until_it_ends() {
    let seen = |reading: &Value| {
        let pools = reading["pools"].as_array();
        pools.into_iter().flatten().any(|pool| pool["processors"].as_array().unwrap().len() == 2)
    };
    let lines = ["100000", "10000000", "1000000000"].iter().find_map(|spawns| {
        let (status, lines) = looks(&[], &["spawns", "bombyx", "2", spawns]);
        assert_eq!(status, Some(0));
        lines.iter().any(seen).then_some(lines)
    });
    let lines = lines.expect("a long program is seen");
    let (last, readings) = lines.split_last().unwrap();
    assert_eq!(last["ended"], "the program has ended well");
    for reading in readings {
        assert_eq!(reading["program"], "bombyx");
        for pool in reading["pools"].as_array().unwrap() {
            assert_eq!(pool["scheduler"], "work-stealing");
            for processor in pool["processors"].as_array().unwrap() {
                let shares = processor["shares"].as_object().unwrap();
                let total: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
                assert!(shares.len() == 6 && (total - 1.0).abs() < 1e-9, "{processor}");
            }
        }
    }
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    assert!(refused(&["top", "1"]).contains("--json"), "the output is no terminal");
    assert!(refused(&["top", "--json", "-p", "2", "1"]).contains("no effect"));
    assert!(refused(&["top", "--json", "1", "--", "true"]).contains("cannot be used with"));
    assert!(refused(&["top", "--json", "--interval", "0", "1"]).contains("must be a number of seconds"));
    assert!(fails(&["top", "--json", "4194304"]).contains("there is no process 4194304"));
    let this = std::process::id().to_string();
    assert!(fails(&["top", "--json", &this]).contains("shows no pool"));
    let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    let number = child.id().to_string();
    let ended = || fails(&["top", "--json", &number]).contains("has ended");
    while !ended() {}
    child.wait().unwrap();
    let nothing = bombyx(&["top", "--json", "--", "false"]);
    let errors = String::from_utf8(nothing.stderr).unwrap();
    assert_eq!(nothing.status.code(), Some(1));
    assert!(errors.contains("the program has shown no pool"), "{errors}");
    assert_eq!(bombyx(&["top", "--json", "--", "/nowhere"]).status.code(), Some(127));
}
