//! Handles: the ways into a pool for those who do not own it.

use crate::api::dropin::broadcast::{Broadcast, broadcast};
use crate::api::pool::{self, Pool};
use crate::api::scope::{Scope, in_place};
use crate::machine::current;
use crate::machine::pool::PoolCore;
use crate::profile::{Kind, Site};
use crate::system::process;
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// A reference to a pool that does not keep it running. From [`Pool::handle`], or [`Handle::current`].
///
/// Once the pool has been dropped (or [closed](Handle::close)) and its last closure has ended, the methods that
/// start something panic.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(3).build()?;
/// let handle = pool.run(|| bombyx::Handle::current().unwrap());
/// assert_eq!(handle, pool.handle());
/// assert_eq!(handle.broadcast(|place| place.index() * 10), [0, 10, 20]);
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pool: Arc<PoolCore>,
}

impl Handle {
    pub(crate) fn new(pool: Arc<PoolCore>) -> Handle {
        Handle { pool }
    }

    /// The pool that the calling thread runs, or blocks, in.
    pub fn current() -> Option<Handle> {
        current::processor()
            .map(|processor| processor.pool())
            .or_else(current::home)
            .map(|pool| Handle::new(pool.arc()))
    }

    /// Whether the calling thread runs in this pool.
    #[inline]
    pub fn is_current(&self) -> bool {
        current::processor().is_some_and(|processor| ptr::eq(processor.pool(), &*self.pool))
    }

    /// As [`Pool::run`].
    #[track_caller]
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.is_current() {
            return f();
        }
        let _guest = self.guest();
        pool::run_in(&self.pool, Site::here(Kind::Run), f)
    }

    /// As [`Pool::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.pool.submit(pool::detached(&self.pool, Site::here(Kind::Run), f), &[]);
    }

    /// Like [`Handle::spawn`], but closures that are spawned like this on one processor begin in the order of
    /// their spawns. From outside of the pool there is no difference.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = bombyx::Pool::builder().processors(1).build()?;
    /// let handle = pool.handle();
    /// pool.run(move || for i in 0..3 {
    ///     let sender = sender.clone();
    ///     handle.spawn_fifo(move || sender.send(i).unwrap());
    /// });
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_fifo<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let entry = pool::detached(&self.pool, Site::here(Kind::Run), f);
        match current::processor().filter(|_| self.is_current()) {
            Some(processor) => self.pool.submit(processor.fifo.push(entry), &[]),
            None => self.pool.inject(entry),
        }
    }

    /// Calls `f` once on every processor and returns the results by the processors' indices.
    ///
    /// Each call begins when its processor has nothing else to do; earlier broadcasts go first.
    ///
    /// # Panics
    /// If a call does, when all have ended: that of the first processor, if there are several. What the others returned, or
    /// panicked with, is dropped; should a destructor panic then, nobody learns that but the panic hook.
    #[track_caller]
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(Broadcast) -> R + Sync,
        R: Send,
    {
        let _guest = self.guest();
        broadcast(&self.pool, Site::here(Kind::Broadcast), f)
    }

    /// Like [`Handle::broadcast`], but returns at once.
    #[track_caller]
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(Broadcast) + Send + Sync + 'static,
    {
        let site = Site::here(Kind::Broadcast);
        let f = Arc::new(f);
        let processors = self.processors();
        process::assert_current(self.pool.generation());
        for (index, processor) in self.pool.processors().iter().enumerate() {
            let f = Arc::clone(&f);
            let part = move || f(Broadcast { index, processors });
            processor.private.post(pool::detached(&self.pool, site, part));
        }
        self.pool.wake_private();
    }

    /// Like [`crate::scope`], but calls `f` on the calling thread, wherever that is; what is spawned in the scope
    /// runs in this pool.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// let here = std::thread::current().id();
    /// pool.handle().in_place_scope(|s| {
    ///     s.spawn(move |_| assert_ne!(std::thread::current().id(), here));
    ///     assert_eq!(std::thread::current().id(), here);
    /// });
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    pub fn in_place_scope<'scope, F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        let _guest = self.guest();
        in_place(&self.pool, Site::here(Kind::Scope), f)
    }

    /// How many processors the pool has.
    #[inline]
    pub fn processors(&self) -> usize {
        self.pool.processors().len()
    }

    /// Ends the pool, without waiting for that: its carriers end when everything that was spawned has.
    pub fn close(&self) {
        process::assert_current(self.pool.generation());
        self.pool.close();
    }

    /// Keeps the pool running while somebody who does not own it uses it.
    fn guest(&self) -> Guest<'_> {
        Guest::of(&self.pool)
    }
}

/// Somebody who uses a pool without owning it. The carriers stay until this is dropped.
pub(crate) struct Guest<'a>(&'a PoolCore);

impl<'a> Guest<'a> {
    /// # Panics
    /// If the pool has ended.
    pub(crate) fn of(pool: &'a PoolCore) -> Guest<'a> {
        process::assert_current(pool.generation());
        pool.detached_started();
        Guest(pool)
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        if self.0.generation().is_current() {
            self.0.detached_ended();
        }
    }
}

impl Pool {
    /// A handle to this pool.
    pub fn handle(&self) -> Handle {
        Handle::new(self.pool().arc())
    }
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        Arc::ptr_eq(&self.pool, &other.pool)
    }
}

impl Eq for Handle {}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("processors", &self.processors())
            .field("pool", &Arc::as_ptr(&self.pool).addr())
            .finish()
    }
}
