//! Pools, scopes and spawns under the names of rayon's crate root, for programs that use these names.
//!
//! Outside a pool they use [the global pool](crate::Pool::global). Two names of the crate root differ from rayon's; those
//! of this module do not:
//!
//! - [`crate::spawn`] returns a [`crate::Task`]. [`spawn`] returns nothing.
//! - [`crate::scope`] gives a [`crate::Scope`], which runs a spawned closure in place when hundreds wait. The [`Scope`] of
//!   [`scope()`], [`in_place_scope`] and [`ThreadPool::scope`] never does.

pub use crate::Context as FnContext;
pub use bombyx_threads::{
    BroadcastContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder,
    Yield, current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local, yield_now,
};

/// Makes sure that these functions and everything else in this crate use the same global pool, whichever comes first.
fn prepare() {
    if !crate::in_pool() {
        crate::Pool::global();
    }
}

/// How many processors the caller's pool has. Outside any pool, how many the global pool has.
///
/// ```
/// assert!(bombyx::current_num_threads() >= 1);
/// ```
pub fn current_num_threads() -> usize {
    prepare();
    bombyx_threads::current_num_threads()
}

/// Like [`crate::spawn`], but returns nothing, and nobody waits for the closure.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let busy = true;
/// if busy { bombyx::threads::spawn(move || sender.send(22).unwrap()) } else { sender.send(22).unwrap() }
/// assert_eq!(receiver.recv(), Ok(22));
/// ```
#[track_caller]
pub fn spawn<F: FnOnce() + Send + 'static>(func: F) {
    prepare();
    bombyx_threads::spawn(func);
}

/// Like [`spawn`], but closures that this function spawns on one processor start in the order of their spawns.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// bombyx::spawn_fifo(move || sender.send(22).unwrap());
/// assert_eq!(receiver.recv(), Ok(22));
/// ```
#[track_caller]
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(func: F) {
    prepare();
    bombyx_threads::spawn_fifo(func);
}

/// Calls `op` once on every processor, and returns the results in the order of the processors.
///
/// ```
/// assert_eq!(bombyx::broadcast(|place| place.index()).len(), bombyx::current_num_threads());
/// ```
#[track_caller]
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    prepare();
    bombyx_threads::broadcast(op)
}

/// Like [`broadcast`], but returns at once.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// bombyx::spawn_broadcast(move |place| sender.send(place.index()).unwrap());
/// assert_eq!(receiver.iter().count(), bombyx::current_num_threads());
/// ```
#[track_caller]
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    prepare();
    bombyx_threads::spawn_broadcast(op);
}

/// Like [`crate::scope`], but its [`Scope`] never runs a spawned closure in place.
///
/// ```
/// let mut words = ["a"];
/// bombyx::threads::scope(|s| s.spawn(|_| words[0] = "x"));
/// assert_eq!(words, ["x"]);
/// ```
#[track_caller]
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    prepare();
    bombyx_threads::scope(op)
}

/// Like [`scope()`], but closures that are spawned on one processor start in the order of their spawns.
///
/// ```
/// let mut words = ["a"];
/// bombyx::scope_fifo(|s| s.spawn_fifo(|_| words[0] = "x"));
/// assert_eq!(words, ["x"]);
/// ```
#[track_caller]
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    prepare();
    bombyx_threads::scope_fifo(op)
}

/// Like [`scope()`], but calls `op` on the calling thread. Only what is spawned runs in the pool.
///
/// ```
/// let here = std::thread::current().id();
/// bombyx::in_place_scope(|_| assert_eq!(std::thread::current().id(), here));
/// ```
#[track_caller]
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    prepare();
    bombyx_threads::in_place_scope(op)
}

/// Like [`scope_fifo`], but calls `op` on the calling thread. Only what is spawned runs in the pool.
///
/// ```
/// let here = std::thread::current().id();
/// bombyx::in_place_scope_fifo(|_| assert_eq!(std::thread::current().id(), here));
/// ```
#[track_caller]
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    prepare();
    bombyx_threads::in_place_scope_fifo(op)
}
