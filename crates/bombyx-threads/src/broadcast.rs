//! `broadcast` and `spawn_broadcast`: one closure, once on every thread (processor) of a pool.

use crate::builder::here;
use bombyx_core::dropin::HandleExt as _;
use std::fmt;
use std::marker::PhantomData;

/// Tells the closure of a broadcast where it runs.
pub struct BroadcastContext<'a> {
    place: bombyx_core::dropin::Broadcast,
    /// Not `Send`, not `Sync`, and invariant.
    marker: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    pub(crate) fn new(place: bombyx_core::dropin::Broadcast) -> Self {
        BroadcastContext { place, marker: PhantomData }
    }

    /// The index, within the pool, of the thread that this call is for.
    #[inline]
    pub fn index(&self) -> usize {
        self.place.index()
    }

    /// How many threads the pool has. The broadcast makes as many calls.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.place.processors()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .finish()
    }
}

/// Calls `op` once on every thread of the caller's pool, or the global one, and returns the results by index.
///
/// ```
/// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// let squares = pool.install(|| bombyx_threads::broadcast(|context| context.index() * context.index()));
/// assert_eq!(squares, [0, 1, 4]);
/// ```
#[track_caller]
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    here().broadcast(|place| op(BroadcastContext::new(place)))
}

/// Like [`broadcast`], but returns at once. A panic goes to the same place as that of [`spawn`](crate::spawn()).
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// bombyx_threads::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.iter().count(), bombyx_threads::current_num_threads());
/// ```
#[track_caller]
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    here().spawn_broadcast(move |place| op(BroadcastContext::new(place)));
}
