//! The interface of rayon-core 1.13 over [Bombyx](bombyx_core).
//!
//! Nothing is scheduled here: every function says the same thing in the words of the runtime. Put this package in
//! the place of the original with two lines in the root `Cargo.toml`, and `cargo update -p rayon-core`; then rayon and
//! everything built on it runs on Bombyx, unchanged:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "path/to/bombyx/crates/rayon-core" }
//! ```
//!
//! `docs/rayon.md` tells what changes and what gets better. In short: a pool has one thread per index, as in rayon. A thread
//! that waits in `join` or `scope` helps with what it waits for, and runs other tasks on top of its stack only if nothing else
//! in the pool makes progress. In pools whose threads move ([`ThreadPoolBuilder::moving_threads`]) another thread runs those
//! instead, and the index of a thread can change wherever it waits.

mod broadcast;
mod builder;
mod configuration;
mod error;
mod join;
mod scope;
mod spawn;
mod thread_pool;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::{ThreadBuilder, ThreadPoolBuilder};
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use join::{FnContext, join, join_context};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::{
    ThreadPool, Yield, current_thread_has_pending_tasks, current_thread_index, yield_local, yield_now,
};

/// The most threads that a pool can have. A larger number is reduced to this.
///
/// ```
/// assert!(rayon_core::max_num_threads() >= 256);
/// ```
pub fn max_num_threads() -> usize {
    bombyx_core::Pool::MAX_PROCESSORS
}

/// How many threads (processors) the pool has that the caller runs in; outside of any, the global one.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// assert!(rayon_core::current_num_threads() >= 1);
/// ```
#[inline]
pub fn current_num_threads() -> usize {
    bombyx_core::current_processors().unwrap_or_else(|| builder::global().processors())
}
