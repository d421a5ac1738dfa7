use rayon_core::{spawn, spawn_fifo};

#[path = "../../upstream-core/src/spawn/test.rs"]
mod test;
