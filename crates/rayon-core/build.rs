//! Cargo wants a build script where `links` is set. Nothing is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // `bombyx doctor` and build scripts of users can tell the two cores apart by this.
    println!("cargo:runtime=bombyx");
}
