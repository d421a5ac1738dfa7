//! Finds out which core is linked. The one on Bombyx says so to the build scripts of its dependents, by the metadata of
//! its `links` key. The original says nothing.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let core = std::env::var("DEP_RAYON_CORE_RUNTIME").unwrap_or_else(|_| "upstream".to_string());
    println!("cargo:rustc-env=RAYON_CORE={core}");
}
