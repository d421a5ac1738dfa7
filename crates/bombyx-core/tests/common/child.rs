//! Tests that need a separate process: a test runs itself again in a child, under another environment.

use std::env;
use std::process::{Command, Output};

const CHILD: &str = "BOMBYX_TEST_CHILD";

/// Whether the calling process is the child that runs `test`.
pub(crate) fn is_child(test: &str) -> bool {
    env::var(CHILD).is_ok_and(|name| name == test)
}

/// The calling test binary as a command, behind the emulator that `BOMBYX_TEST_RUNNER` names, if any.
pub(crate) fn command() -> Command {
    let this = env::current_exe().expect("the test binary has a path");
    let runner = env::var("BOMBYX_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else { return Command::new(this) };
    let mut command = Command::new(first);
    command.args(words).arg(this);
    command
}

/// Runs `test` of the calling test binary in a child process.
pub(crate) fn run(test: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = command();
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    for name in ["BOMBYX_PROCESSORS", "BOMBYX_SCHEDULER", "BOMBYX_BARRIER", "BOMBYX_LIVE"] {
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

/// A field of this process's status that is a size: `VmSize`, `VmRSS` or `VmHWM`, the most that was resident.
#[cfg(target_os = "linux")]
pub(crate) fn kibibytes(field: &str) -> usize {
    let status =
        std::fs::read_to_string("/proc/self/status").expect("the system tells the status of processes");
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number =
        value.and_then(|value| value.trim().strip_suffix(" kB")).and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no {field} in {status}"))
}
