//! Which package a source file belongs to, as far as its path tells.

use std::path::{Component, Path};

/// Whether the file lies in the folder `src` of a package whose name `is_it` accepts.
pub fn is_in_package(file: &str, is_it: impl Fn(&str) -> bool) -> bool {
    let names = || {
        Path::new(file).components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
    };
    names().zip(names().skip(1)).any(|(package, next)| next == "src" && is_it(package))
}

/// Whether the file is rayon's. What forks there stands for the line that called rayon.
///
/// ```
/// use bombyx_base::is_of_rayon;
/// assert!(is_of_rayon("/home/me/.cargo/registry/src/index/rayon-1.12.0/src/slice/sort.rs"));
/// assert!(is_of_rayon("vendor/rayon/src/slice/sort.rs"));
/// assert!(!is_of_rayon("/home/rayon/tiles/src/main.rs"));
/// assert!(!is_of_rayon("src/main.rs"));
/// ```
pub fn is_of_rayon(file: &str) -> bool {
    is_in_package(file, |name| name == "rayon" || name.starts_with("rayon-"))
}
