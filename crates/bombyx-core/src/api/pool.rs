//! Pools, as their owners see them, and the global pool.

use crate::api::blocking::blocking;
use crate::api::builder::{Builder, available_parallelism};
use crate::api::enter::{enter, run_in};
use crate::api::error::{Error, MAX_PROCESSORS, MIN_STACK};
use crate::api::handle::Handle;
use crate::machine::current;
use crate::machine::metrics::Metrics;
use crate::machine::pool::PoolCore;
use crate::machine::stats::Stats;
use crate::profile::{self, Kind, Profile, Site};
use crate::scheduler::Scheduler;
use crate::system::{output, process};
use std::sync::Arc;
use std::{fmt, mem, thread};

/// A set of processors that run fork-join programs.
///
/// Most programs do not need a pool: outside a pool, [`crate::join`] and its relatives use [the global
/// pool](Pool::global). Dropping a pool waits for everything that was [spawned](Pool::spawn) on it, and then ends its
/// carriers, the operating-system threads that run its work.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(4).build()?;
/// let (a, b) = pool.run(|| bombyx::join(|| 6 * 7, || "ready"));
/// assert_eq!((a, b), (42, "ready"));
/// # Ok::<(), bombyx::Error>(())
/// ```
pub struct Pool {
    pub(super) pool: Arc<PoolCore>,
    scheduler: Scheduler,
    /// Whether dropping this waits for the end of the pool.
    owned: bool,
}

impl Pool {
    /// The most processors that a pool can have.
    pub const MAX_PROCESSORS: usize = MAX_PROCESSORS;
    /// The smallest [stack size](Builder::stack_size) that carriers can have, in bytes.
    pub const MIN_STACK_SIZE: usize = MIN_STACK;

    /// A builder with the default settings, or those that the environment asks for.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The pool that is used outside any other pool. It is built when it is first needed.
    ///
    /// Size and scheduler come from `BOMBYX_PROCESSORS` and `BOMBYX_SCHEDULER`, or from [`Builder::build_global`]. If
    /// these are not usable, a message on standard error says so and the defaults are used. If the system starts no
    /// threads, the callers do the work.
    ///
    /// On Linux, a child of fork(2) that goes on without exec gets its own global pool when it first needs one. The
    /// child does not have the threads of its parent's other pools. Using such a pool there panics; dropping one does
    /// nothing.
    ///
    /// ```
    /// assert!(bombyx::Pool::global().processors() >= 1);
    /// ```
    pub fn global() -> &'static Pool {
        Pool::global_or(|| Pool::builder().build())
    }

    /// Like [`Pool::global`], but built by `build`. For the drop-in core.
    #[doc(hidden)]
    pub fn global_or<E: fmt::Display>(build: impl FnOnce() -> Result<Pool, E>) -> &'static Pool {
        global::slot().get_or_init(|| {
            build().unwrap_or_else(|error| {
                output::say(format_args!("{error}; using the defaults"));
                let mut builder = Pool::builder();
                builder.processors = Some(available_parallelism());
                builder.scheduler = Some(Scheduler::default());
                builder.build_tolerant()
            })
        })
    }

    /// Whether there is a global pool in this process. For the drop-in core.
    #[doc(hidden)]
    pub fn has_global() -> bool {
        global::slot().get().is_some()
    }

    /// Runs `f` in this pool and returns its result. Forks inside `f` use the processors of this pool.
    ///
    /// If a processor is idle, it is lent to the calling thread, which runs `f` itself. Otherwise `f` is queued and the
    /// calling thread waits. With a chosen stack size or with fixed threads, `f`
    /// always runs on a carrier.
    ///
    /// While the calling thread holds a pinned processor, it runs on the CPU of that processor. Afterwards it may run
    /// wherever it could before.
    ///
    /// # Panics
    /// If `f` does.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// assert_eq!(pool.run(|| bombyx::current_processor().is_some()), true);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        run_in(&self.pool, Site::here(Kind::Run), f)
    }

    pub(crate) fn new(pool: Arc<PoolCore>, scheduler: Scheduler) -> Pool {
        Pool { pool, scheduler, owned: true }
    }

    pub(crate) fn pool(&self) -> &PoolCore {
        &self.pool
    }

    /// Makes this pool the [global](Pool::global) one.
    ///
    /// # Errors
    /// If there is a global pool already.
    pub fn into_global(self) -> Result<&'static Pool, Error> {
        let slot = global::slot();
        slot.set(self).map_err(|_| Error::GlobalPoolExists)?;
        Ok(Pool::global())
    }

    /// A handle to this pool.
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.pool))
    }

    /// Gives up ownership. The pool runs until the handle [closes](crate::Handle::close) it.
    pub fn into_handle(mut self) -> Handle {
        self.owned = false;
        self.handle()
    }

    /// Runs `f` in the pool where the calling thread belongs. The thread holds no processor. If it is a carrier that
    /// blocks, that is the carrier's pool; otherwise it is the global pool.
    pub(crate) fn run_at_home<F, R>(site: Site, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let site = Site { kind: Kind::Run, ..site };
        match current::home() {
            Some(pool) => enter(pool, site, f),
            None => enter(&Pool::global().pool, site, f),
        }
    }

    /// How many processors the pool has.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(3).build()?;
    /// assert_eq!(pool.processors(), 3);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn processors(&self) -> usize {
        self.pool.in_service()
    }

    /// Changes the number of processors, while the pool works: between 1 and
    /// [`Builder::max_processors`](crate::Builder::max_processors).
    ///
    /// If the number rises, the new processors begin to work at once. If it falls, the surplus processors finish the stolen
    /// half or the closure that they have begun, and then take no more work. Nothing is interrupted or lost.
    ///
    /// # Errors
    /// If the number is out of range, or if the threads of the pool are fixed, or with [`Scheduler::Heterogeneous`].
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).max_processors(8).build()?;
    /// pool.set_processors(8)?;
    /// assert_eq!(pool.processors(), 8);
    /// pool.set_processors(1)?;
    /// assert_eq!(pool.run(|| bombyx::join(|| 1, || 2)), (1, 2));
    /// assert!(pool.set_processors(9).is_err());
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn set_processors(&self, processors: usize) -> Result<(), Error> {
        self.handle().set_processors(processors)
    }

    /// The scheduler of the pool.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(1).build()?;
    /// assert_eq!(pool.scheduler().to_string(), "work-stealing");
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn scheduler(&self) -> Scheduler {
        self.scheduler
    }

    /// What the pool has done so far.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// pool.run(|| bombyx::for_each(0..1000, |_| ()));
    /// println!("{}", pool.stats());
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn stats(&self) -> Stats {
        process::assert_current(self.pool.generation());
        self.pool.stats()
    }

    /// What the pool is doing now: busy processors, calls that wait, carriers, and everything in [`Pool::stats`].
    ///
    /// This reads a few words for each processor, and takes the lock of the pool for a moment.
    pub fn metrics(&self) -> Metrics {
        process::assert_current(self.pool.generation());
        self.pool.metrics()
    }

    /// Resets the peaks in [`Pool::stats`], except the peak of carriers: they count from now on.
    ///
    /// ```
    /// use bombyx::lab::BuilderExt as _;
    /// let pool = bombyx::Pool::builder().processors(1).count_threads(true).build()?;
    /// pool.run(|| bombyx::join(|| (), || ()));
    /// pool.forget_peaks();
    /// assert_eq!(pool.stats().threads.peak_threads, 0);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn forget_peaks(&self) {
        process::assert_current(self.pool.generation());
        self.pool.forget_peaks();
    }

    /// What the profiler has measured of the runs that have ended. `None` if the pool is not profiled. A pool is
    /// profiled because its builder [says so](Builder::profile), or because of `BOMBYX_PROFILE`. In the second case the
    /// profile covers all pools of the process together.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).profile(true).build()?;
    /// pool.run(|| bombyx::for_each(0..1000, |_| ()));
    /// assert!(pool.profile().unwrap().span_ns > 0);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[cfg(feature = "profile")]
    pub fn profile(&self) -> Option<Profile> {
        process::assert_current(self.pool.generation());
        profile::measured(&self.pool)
    }

    /// The latest estimate of how fast each processor is. The speed of a processor is how fast its CPU computes,
    /// relative to the fastest CPU, times the share of the CPU's time that the processor receives. Only
    /// [`Scheduler::Heterogeneous`] measures speeds; with other schedulers all speeds are 1.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// assert_eq!(pool.speeds(), [1.0, 1.0]);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn speeds(&self) -> Vec<f64> {
        self.pool.config.strategy.cpus().speeds(self.processors())
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("processors", &self.processors())
            .field("scheduler", &self.scheduler())
            .finish_non_exhaustive()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let pool = Arc::clone(&self.pool);
        if !pool.generation().is_current() {
            // This process may not touch any part of the pool, and has nobody to wait for.
            return mem::forget(pool);
        }
        if current::is_carrier_of(&pool) {
            // A carrier cannot wait for its own end. If no thread can be started to wait for it, the carriers stay.
            let _ = thread::Builder::new().spawn(move || pool.shut_down());
        } else {
            blocking(|| pool.shut_down());
        }
    }
}

mod global {
    //! The global pool of this process. A child of fork(2) has another one than its parent.

    use super::Pool;
    use crate::machine::current::begin_generation;
    use crate::system::process::Generation;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicPtr;
    use std::sync::atomic::Ordering::{AcqRel, Acquire};

    struct Slot {
        generation: Generation,
        pool: OnceLock<Pool>,
    }

    /// The slot of this process. In a child process that has not looked yet, it is still the parent's slot. A slot is
    /// never freed, so references to its pool stay valid. The parent's slot may have been locked when the child was
    /// made, so the child does not touch it.
    static SLOT: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

    pub(super) fn slot() -> &'static OnceLock<Pool> {
        let found = SLOT.load(Acquire);
        // SAFETY: null, or leaked below.
        match unsafe { found.as_ref() } {
            Some(slot) if slot.generation.is_current() => &slot.pool,
            _ => &replace(found).pool,
        }
    }

    #[cold]
    fn replace(old: *mut Slot) -> &'static Slot {
        let new = Box::into_raw(Box::new(Slot { generation: begin_generation(), pool: OnceLock::new() }));
        match SLOT.compare_exchange(old, new, AcqRel, Acquire) {
            // SAFETY: made above, and never freed.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: made above, and nobody has seen it.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: another thread of this process made it, and it is never freed.
                unsafe { &*other }
            }
        }
    }
}

/// The index of the processor that the calling thread holds, if it runs in a pool.
///
/// It may change across any `join`, `scope` or `blocking`.
///
/// ```
/// assert_eq!(bombyx::current_processor(), None);
/// let pool = bombyx::Pool::builder().processors(2).build()?;
/// assert!(pool.run(|| bombyx::current_processor()).unwrap() < 2);
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn current_processor() -> Option<usize> {
    current::processor().map(|processor| processor.index)
}

/// Whether the calling thread runs in a pool.
///
/// ```
/// assert!(!bombyx::in_pool());
/// assert!(bombyx::scope(|_| bombyx::in_pool()));
/// ```
#[inline(always)]
pub fn in_pool() -> bool {
    current::processor().is_some()
}

/// How many processors the calling thread's pool has.
///
/// ```
/// assert_eq!(bombyx::processor_count(), None);
/// let pool = bombyx::Pool::builder().processors(2).build()?;
/// assert_eq!(pool.run(|| bombyx::processor_count()), Some(2));
/// # Ok::<(), bombyx::Error>(())
/// ```
#[inline]
pub fn processor_count() -> Option<usize> {
    current::processor().map(|processor| processor.pool()).or_else(current::home).map(PoolCore::in_service)
}
