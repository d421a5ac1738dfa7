//! Tells the program which compiler, profile and commit it was built with, for the records it writes, and which versions of
//! the peers.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo::rustc-env=BOMBYX_RUSTC={}", version.unwrap_or_else(|_| "unknown".into()));

    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Every new commit writes a line into this file.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    println!("cargo::rustc-env=BOMBYX_COMMIT={commit}");

    // For every profile that inherits from release, Cargo says `release`. The folder has the profile's own name.
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let profile = Path::new(&out)
        .ancestors()
        .find(|folder| folder.ends_with("build"))
        .and_then(|build| build.parent()?.file_name()?.to_str());
    println!("cargo::rustc-env=BOMBYX_BUILT_AS={}", profile.unwrap_or("unknown"));

    let lock = Path::new("../../Cargo.lock");
    if lock.exists() {
        println!("cargo::rerun-if-changed={}", lock.display());
    }
    println!("cargo::rustc-env=BOMBYX_PEERS={}", locked(&std::fs::read_to_string(lock).unwrap_or_default()));
}

/// What a lock file says of the runtimes that we compare with: `NAME=VERSION`, separated by spaces.
fn locked(lock: &str) -> String {
    let value = |entry: &str, key: &str| {
        entry.lines().find_map(|line| {
            Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
        })
    };
    let peer = |entry: &str| {
        // Packages of the workspace have no source. One of them could have the name of a peer.
        value(entry, "source")?;
        let name =
            value(entry, "name").filter(|name| ["rayon", "chili", "fork_union"].contains(&name.as_str()))?;
        Some(format!("{name}={}", value(entry, "version")?))
    };
    lock.split("[[package]]").filter_map(peer).collect::<Vec<_>>().join(" ")
}
