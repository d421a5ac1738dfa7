//! Pools, and what a thread can ask about the one it runs in.

use crate::{BroadcastContext, Scope, ScopeFifo, ThreadPoolBuildError, join, scope, scope_fifo};
use bombyx_core::dropin::HandleExt as _;
use std::error::Error;
use std::fmt;

/// A pool of threads. From [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
///
/// Dropping it does not wait: its threads end when everything that was spawned in it has ended.
///
/// ```
/// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// let sum = pool.install(|| {
///     let (a, b) = bombyx_threads::join(|| 1, || 2);
///     a + b
/// });
/// assert_eq!(sum, 3);
/// ```
pub struct ThreadPool {
    handle: bombyx_core::Handle,
}

impl ThreadPool {
    pub(crate) fn from_handle(handle: bombyx_core::Handle) -> ThreadPool {
        ThreadPool { handle }
    }

    /// Builds a pool.
    ///
    /// # Errors
    /// If a thread cannot be started.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }

    /// Runs `op` on a thread of this pool and waits for it. Forks inside `op` use this pool.
    ///
    /// If the caller is itself in another pool, it does not block that pool. While it waits, it runs tasks of its own pool.
    /// With [moving threads](crate::ThreadPoolBuilder::moving_threads), another thread of its pool does so instead.
    ///
    /// # Panics
    /// If `op` does.
    #[track_caller]
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.handle.run(op)
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    #[track_caller]
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.handle.broadcast(|place| op(BroadcastContext::new(place)))
    }

    /// How many threads (processors) the pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.handle.processors()
    }

    /// The index of the calling thread, if it runs in this pool.
    ///
    /// With [moving threads](crate::ThreadPoolBuilder::moving_threads), it may change across any `join`, `scope` or
    /// `install`, because a thread that waits gives its processor away. With fixed threads, the default, it never changes.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.here()?;
        current_thread_index()
    }

    /// Whether the processor of the calling thread has tasks that wait. `None` if the processor does not belong to this
    /// pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.here()?;
        current_thread_has_pending_tasks()
    }

    /// [`join`](crate::join()) in this pool.
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// [`scope`](crate::scope()) in this pool.
    #[track_caller]
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo()) in this pool.
    #[track_caller]
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope()) with this pool.
    #[track_caller]
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.handle.in_place_scope(|scope| op(Scope::wrap(scope)))
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo()) with this pool.
    #[track_caller]
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.handle.in_place_scope(|scope| op(ScopeFifo::wrap(scope)))
    }

    /// [`spawn`](crate::spawn()) in this pool.
    #[track_caller]
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.handle.spawn_detached(op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo()) in this pool.
    #[track_caller]
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.handle.spawn_fifo(op);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast()) in this pool.
    #[track_caller]
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.handle.spawn_broadcast(move |place| op(BroadcastContext::new(place)));
    }

    /// [`yield_now`](crate::yield_now()), if the calling thread runs in this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.here()?;
        yield_now()
    }

    /// [`yield_local`](crate::yield_local()), if the calling thread runs in this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.here()?;
        yield_local()
    }

    #[inline]
    fn here(&self) -> Option<()> {
        self.handle.is_current().then_some(())
    }
}

impl ThreadPool {
    pub(crate) fn build_with<S>(
        builder: crate::ThreadPoolBuilder<S>,
    ) -> Result<ThreadPool, ThreadPoolBuildError>
    where
        S: crate::builder::ThreadSpawn,
    {
        builder.assemble().map(|pool| ThreadPool::from_handle(pool.into_handle()))
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.handle.close();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("handle", &self.handle)
            .finish()
    }
}

/// The index of the calling thread, if it runs in a pool.
///
/// With [moving threads](crate::ThreadPoolBuilder::moving_threads), it may change across any `join`, `scope` or
/// `install`, because a thread that waits gives its processor away. With fixed threads, the default, it never changes.
///
/// ```
/// assert_eq!(bombyx_threads::current_thread_index(), None);
/// assert!(bombyx_threads::scope(|_| bombyx_threads::current_thread_index()).is_some());
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    bombyx_core::current_processor()
}

/// Whether the processor of the calling thread has tasks that wait, if the thread runs in a pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    bombyx_core::dropin::has_pending()
}

/// Runs one task from anywhere in the pool on top of the calling frame. `None` outside a pool.
///
/// ```
/// assert_eq!(bombyx_threads::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    bombyx_core::dropin::yield_now().map(Yield::from)
}

/// Runs the youngest task of the calling thread's own processor on top of the calling frame. `None` outside a pool.
///
/// ```
/// assert_eq!(bombyx_threads::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    bombyx_core::dropin::yield_local().map(Yield::from)
}

/// The outcome of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task has run.
    Executed,
    /// There was no task.
    Idle,
}

impl From<bombyx_core::dropin::Yield> for Yield {
    fn from(outcome: bombyx_core::dropin::Yield) -> Yield {
        match outcome {
            bombyx_core::dropin::Yield::Executed => Yield::Executed,
            bombyx_core::dropin::Yield::Idle => Yield::Idle,
        }
    }
}
