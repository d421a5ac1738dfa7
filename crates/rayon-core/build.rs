//! Cargo requires a build script because `links` is set. Nothing is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // `bombyx doctor` and build scripts of users can distinguish the two cores by this.
    println!("cargo:runtime=bombyx");
}
