//! Tests that need a process of their own: a test runs itself again in a child, under another environment.

use std::env;
use std::process::{Command, Output};

const CHILD: &str = "BOMBYX_TEST_CHILD";

/// Whether the calling process is the child that runs `test`.
pub(crate) fn is_child(test: &str) -> bool {
    env::var(CHILD).is_ok_and(|name| name == test)
}

/// Runs `test` of the calling test binary in a child process.
pub(crate) fn run(test: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().expect("the test binary has a path"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    for name in ["BOMBYX_PROCESSORS", "BOMBYX_SCHEDULER", "BOMBYX_BARRIER"] {
        command.env_remove(name);
    }
    command.env(CHILD, test).envs(environment.iter().copied());
    command.output().expect("the test binary can be run again")
}

/// Runs `test` in a child process, checks that it passes, and returns what it wrote on standard error.
pub(crate) fn pass(test: &str, environment: &[(&str, &str)]) -> String {
    let output = run(test, environment);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{test}: {}\n{out}\n{err}", output.status);
    err.into_owned()
}
