//! `spawn` and `spawn_fifo`: closures that nobody waits for.

use crate::builder::here;
use bombyx_core::dropin::HandleExt as _;

/// Starts `func` in the pool of the caller, or the global one, and returns at once.
///
/// Closures that are spawned on one thread, and that no other thread takes, run in the reverse order of their spawns. A
/// panic goes to [`panic_handler`](crate::ThreadPoolBuilder::panic_handler), or aborts the process.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// bombyx_threads::spawn(move || sender.send(22).unwrap());
/// assert_eq!(receiver.recv(), Ok(22));
/// ```
#[track_caller]
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    here().spawn_detached(func);
}

/// Like [`spawn`], but closures that are spawned like this on one thread start in the order of their spawns.
///
/// ```
/// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool.install(|| for i in 0..3 {
///     let sender = sender.clone();
///     bombyx_threads::spawn_fifo(move || sender.send(i).unwrap());
/// });
/// drop(sender);
/// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// ```
#[track_caller]
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    here().spawn_fifo(func);
}
