//! The interface of rayon-core 1.13 over [Bombyx](bombyx_core).
//!
//! **Not here:** scheduling, and parallel iterators. Programs use those of `rayon` or of `bombyx`.
//!
//! Nothing is scheduled here: every function translates to the words of the runtime. The drop-in package `rayon-core`
//! re-exports all of this crate, and the crate `bombyx` re-exports what it does not have itself.
//!
//! A *thread* in this interface (`num_threads`, `current_thread_index`) is a *processor* of the runtime. By default the
//! threads of a pool are fixed: each operating-system thread holds the same processor for the life of the pool. With
//! [moving threads](ThreadPoolBuilder::moving_threads), an operating-system thread that waits gives its processor to
//! another one.

// The models of the runtime's protocols do not need this crate.
#![cfg(not(loom))]

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

/// The most threads that a pool can have. A larger number is reduced to this one.
///
/// ```
/// assert!(bombyx_threads::max_num_threads() >= 256);
/// ```
pub fn max_num_threads() -> usize {
    bombyx_core::Pool::MAX_PROCESSORS
}

/// How many threads (processors) the caller's pool has. Outside any pool, how many the global pool has.
///
/// ```
/// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.install(bombyx_threads::current_num_threads), 3);
/// assert!(bombyx_threads::current_num_threads() >= 1);
/// ```
#[inline]
pub fn current_num_threads() -> usize {
    bombyx_core::processor_count().unwrap_or_else(|| builder::global().processors())
}
