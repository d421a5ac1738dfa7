//! The interface of rayon-core 1.13 over [Bombyx](bombyx_threads).
//!
//! Nothing is here but the name: [`bombyx_threads`] is the interface, in the words of the runtime. Put this package in
//! the place of the original with two lines in the root `Cargo.toml`, and rayon and everything built on it runs on
//! Bombyx, unchanged:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "path/to/bombyx/crates/rayon-core" }
//! ```
//!
//! `docs/rayon.md` tells what changes and what gets better. In short: a thread that waits in `join` or `scope` never
//! runs unrelated work on top of its stack; its processor does, on another thread. What is called a thread in this
//! interface (`num_threads`, `current_thread_index`) is a processor of the runtime, of which a thread holds one while
//! it runs, and not always the same one.

pub use bombyx_threads::*;
