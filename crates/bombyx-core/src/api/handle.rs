//! Handles: the ways into a pool for code that does not own it.

use crate::api::enter::run_in;
use crate::api::error::Error;
use crate::machine::current;
use crate::machine::metrics::Metrics;
use crate::machine::pool::PoolCore;
use crate::profile::{Kind, Site};
use crate::system::process;
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// A reference to a pool that does not keep it running. From [`crate::Pool::handle`], or [`Handle::current`].
///
/// Once the pool has been dropped (or [closed](Handle::close)) and its last closure has ended, the methods that
/// start something panic.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(3).build()?;
/// let handle = pool.run(|| bombyx::Handle::current().unwrap());
/// assert_eq!(handle, pool.handle());
/// assert_eq!(handle.processors(), 3);
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pub(super) pool: Arc<PoolCore>,
}

impl Handle {
    pub(crate) fn new(pool: Arc<PoolCore>) -> Handle {
        Handle { pool }
    }

    /// The pool in which the calling thread runs, or in which it blocks.
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

    /// Like [`crate::Pool::run`].
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
        run_in(&self.pool, Site::here(Kind::Run), f)
    }

    /// How many processors the pool has.
    #[inline]
    pub fn processors(&self) -> usize {
        self.pool.in_service()
    }

    /// The most processors that the pool can have.
    pub fn max_processors(&self) -> usize {
        self.pool.processors().len()
    }

    /// Like [`crate::Pool::set_processors`].
    ///
    /// # Errors
    /// As there.
    pub fn set_processors(&self, processors: usize) -> Result<(), Error> {
        let pool = &*self.pool;
        process::assert_current(pool.generation());
        if pool.has_fixed_threads() || pool.config.strategy.cpus().least() > 0 {
            return Err(Error::NotResizable);
        }
        if !(1..=pool.processors().len()).contains(&processors) {
            return Err(Error::Processors(processors.to_string()));
        }
        pool.serve_with(processors);
        Ok(())
    }

    /// Like [`crate::Pool::metrics`].
    pub fn metrics(&self) -> Metrics {
        process::assert_current(self.pool.generation());
        self.pool.metrics()
    }

    /// Closes the pool and returns at once. The carriers end when everything that was spawned has ended.
    pub fn close(&self) {
        process::assert_current(self.pool.generation());
        self.pool.close();
    }

    /// Keeps the pool running while a caller that does not own the pool uses it.
    pub(super) fn guest(&self) -> Guest<'_> {
        Guest::of(&self.pool)
    }
}

/// A caller that uses a pool without owning it. The carriers stay until this is dropped.
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
