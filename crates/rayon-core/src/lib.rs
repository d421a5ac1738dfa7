//! The interface of rayon-core 1.13 over [Bombyx](bombyx_threads).
//!
//! This package only has the right name. The interface itself is in [`bombyx_threads`]. To replace the original, put two
//! lines into the root `Cargo.toml` and run `cargo update -p rayon-core`. Then rayon, and everything that is built on it,
//! runs on Bombyx unchanged:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "path/to/bombyx/crates/rayon-core" }
//! ```
//!
//! `docs/rayon.md` says what changes and what gets better. In short: a pool has one thread per index, as in rayon. A thread
//! that waits in `join` or `scope` helps with what it waits for. It runs other tasks on top of its stack only if no other
//! thread comes for them. In pools whose threads move ([`ThreadPoolBuilder::moving_threads`]), another thread runs those
//! tasks instead, and the index of a thread can change wherever it waits.
//!
//! **Not here:** any code. It is in `bombyx-threads`.

pub use bombyx_threads::*;
