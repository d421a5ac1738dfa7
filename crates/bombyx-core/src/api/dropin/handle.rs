//! Handles: the ways into a pool for those who do not own it.

use crate::api::dropin::broadcast::{Broadcast, broadcast};
use crate::api::pool::{self, Pool};
use crate::api::scope::{Scope, in_place};
use crate::machine::commons::Commons;
use crate::machine::current;
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
    commons: Arc<Commons>,
}

impl Handle {
    pub(crate) fn new(commons: Arc<Commons>) -> Handle {
        Handle { commons }
    }

    /// The pool that the calling thread runs, or blocks, in.
    pub fn current() -> Option<Handle> {
        current::processor()
            .map(|processor| processor.commons())
            .or_else(current::home)
            .map(|commons| Handle::new(commons.arc()))
    }

    /// Whether the calling thread runs in this pool.
    #[inline]
    pub fn is_current(&self) -> bool {
        current::processor().is_some_and(|processor| ptr::eq(processor.commons(), &*self.commons))
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
        pool::run_in(&self.commons, Site::here(Kind::Run), f)
    }

    /// As [`Pool::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.commons.submit(pool::detached(&self.commons, Site::here(Kind::Run), f), &[]);
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
        let entry = pool::detached(&self.commons, Site::here(Kind::Run), f);
        match current::processor().filter(|_| self.is_current()) {
            Some(processor) => self.commons.submit(processor.fifo.push(entry), &[]),
            None => self.commons.inject(entry),
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
        broadcast(&self.commons, Site::here(Kind::Broadcast), f)
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
        process::assert_current(self.commons.generation());
        for (index, processor) in self.commons.processors().iter().enumerate() {
            let f = Arc::clone(&f);
            let part = move || f(Broadcast { index, processors });
            processor.private.post(pool::detached(&self.commons, site, part));
        }
        self.commons.wake_private();
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
        in_place(&self.commons, Site::here(Kind::Scope), f)
    }

    /// How many processors the pool has.
    #[inline]
    pub fn processors(&self) -> usize {
        self.commons.processors().len()
    }

    /// Ends the pool, without waiting for that: its carriers end when everything that was spawned has.
    pub fn close(&self) {
        process::assert_current(self.commons.generation());
        self.commons.close();
    }

    /// Keeps the pool running while somebody who does not own it uses it.
    fn guest(&self) -> Guest<'_> {
        Guest::of(&self.commons)
    }
}

/// Somebody who uses a pool without owning it. The carriers stay until this is dropped.
pub(crate) struct Guest<'a>(&'a Commons);

impl<'a> Guest<'a> {
    /// # Panics
    /// If the pool has ended.
    pub(crate) fn of(commons: &'a Commons) -> Guest<'a> {
        process::assert_current(commons.generation());
        commons.detached_started();
        Guest(commons)
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
        Handle::new(self.commons().arc())
    }
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        Arc::ptr_eq(&self.commons, &other.commons)
    }
}

impl Eq for Handle {}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("processors", &self.processors())
            .field("pool", &Arc::as_ptr(&self.commons).addr())
            .finish()
    }
}
