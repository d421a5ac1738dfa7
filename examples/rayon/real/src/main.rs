//! Compares the cores by published crates that use rayon internally. Nothing here is written for either core.

mod arrays;
mod hash;
mod pictures;
mod walk;

use cores::{Program, Subject};
use std::process::ExitCode;

fn program<S: Subject + 'static>(name: &str, about: &str, prepare: fn() -> S) -> Program {
    Program {
        name: name.to_string(),
        about: about.to_string(),
        counts: true,
        prepare: Box::new(move || Box::new(prepare())),
    }
}

fn main() -> ExitCode {
    cores::main(&[
        program(
            "image-pixels",
            "image: a picture computed by par_enumerate_pixels_mut",
            pictures::Paint::new,
        ),
        program("image-exr", "image, exr: a picture to OpenEXR and back", pictures::Exr::new),
        program("ndarray-stencil", "ndarray: steps of a stencil by Zip::par_for_each", arrays::Stencil::new),
        program("ndarray-map", "ndarray: par_map_inplace and par_fold", arrays::Map::new),
        program("jwalk", "jwalk: a sorted walk through a tree of folders", walk::Walk::new),
        program("blake3", "blake3: a hash by update_rayon", hash::Hash::new),
    ])
}

/// A digest of bytes (FNV-1a), the same on every machine.
fn digest(bytes: impl IntoIterator<Item = u8>) -> String {
    let hash = bytes.into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
