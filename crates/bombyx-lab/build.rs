//! Tells the program which compiler and profile it was built with, for the records it writes.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo::rustc-env=BOMBYX_RUSTC={}", version.unwrap_or_else(|_| "unknown".into()));

    // Cargo calls every profile that inherits from release `release`; the folder has the profile's own name.
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let profile = Path::new(&out)
        .ancestors()
        .find(|folder| folder.ends_with("build"))
        .and_then(|build| build.parent()?.file_name()?.to_str());
    println!("cargo::rustc-env=BOMBYX_BUILT_AS={}", profile.unwrap_or("unknown"));
}
