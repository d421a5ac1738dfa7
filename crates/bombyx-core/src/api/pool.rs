//! Pools: a number of processors, the carriers they run on, and the ways in from outside.

use crate::api::dropin::handle::Guest;
use crate::api::error::Error;
use crate::machine::current;
use crate::machine::fixed::Threads;
use crate::machine::handlers::Handlers;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::signal::Signal;
use crate::machine::stats::Stats;
use crate::machine::strategy::{Child, Counted, Strategy};
use crate::machine::visit::{STARVED, Visit};
use crate::profile::{self, Kind, Profile, Profiler, Site};
use crate::protocol::job::{Enabled, Entry, HeapJob, Job};
use crate::scheduler::Scheduler;
use crate::system::affinity::{self, CpuSet, Thread};
use crate::system::barrier;
use crate::system::guard::{Guard, guarded};
use crate::system::process::{self, Generation};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) const MAX_PROCESSORS: usize = 1 << 12;
/// How many carriers beyond one for each processor a small pool may have, unless its builder says. Large pools may have four
/// for each processor.
const MIN_SURPLUS: usize = 64;
pub(crate) const MIN_STACK: usize = 16 << 10;
pub(crate) const MAX_STACK: usize = 1 << 40;

/// The names of carriers, by their numbers.
type Names = Arc<Mutex<Vec<String>>>;

/// What a pool was built with.
pub(crate) struct Config {
    pub(crate) processors: usize,
    pub(crate) threads: Threads,
    pub(crate) strategy: Box<dyn Strategy>,
    /// What reports call the scheduler.
    pub(crate) scheduler: String,
    pub(crate) stack_size: Option<usize>,
    pub(crate) names: Option<Names>,
    pub(crate) max_carriers: usize,
    pub(crate) seed: u64,
    pub(crate) pin: bool,
    /// The CPUs that the thread which built the pool might use.
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) deterministic: bool,
    /// Waits keep to the order of the deque.
    pub(crate) ordered: bool,
    pub(crate) handlers: Handlers,
    /// A calling thread may be lent a processor.
    pub(crate) lends: bool,
    /// Forks never rely on the heavy barrier ([`crate::system::barrier`]).
    pub(crate) fence: bool,
    /// Living threads are counted: those of this half of every join.
    pub(crate) counts: Option<Child>,
    /// Somebody wants to know what is allocated.
    pub(crate) metered: bool,
    /// There are more processors than cores, so spinning takes time from others.
    pub(crate) crowded: bool,
    pub(crate) max_searchers: usize,
    pub(crate) profiler: Option<Arc<Profiler>>,
}

/// A number of processors that run fork-join programs.
///
/// Most programs need none of their own: outside of a pool, [`crate::join`] and its relatives use
/// [the global one](Pool::global). Dropping a pool waits for what was [spawned](Pool::spawn) on it and ends its
/// carriers.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(4).build()?;
/// let (a, b) = pool.run(|| bombyx::join(|| 6 * 7, || "ready"));
/// assert_eq!((a, b), (42, "ready"));
/// # Ok::<(), bombyx::Error>(())
/// ```
pub struct Pool {
    pool: Arc<PoolCore>,
    scheduler: Scheduler,
    /// Dropping it waits for the end.
    owned: bool,
}

impl Pool {
    /// The most processors that a pool can have.
    pub const MAX_PROCESSORS: usize = MAX_PROCESSORS;
    /// The smallest [stack size](Builder::stack_size) that carriers can have, in bytes.
    pub const MIN_STACK_SIZE: usize = MIN_STACK;

    /// A builder with the defaults, or what the environment asks for.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The pool that is used outside of any other, built when it is first needed.
    ///
    /// Size and scheduler come from `BOMBYX_PROCESSORS` and `BOMBYX_SCHEDULER`, or [`Builder::build_global`].
    /// If those are not usable, that is said on standard error and the defaults are used; if the system starts
    /// no threads, the callers do the work.
    ///
    /// A child of fork(2) that goes on without exec has a global pool of its own, built when it first needs one (on Linux).
    /// To use any other pool of its parent's, whose threads it does not have, panics there; to drop one does nothing.
    ///
    /// ```
    /// assert!(bombyx::Pool::global().processors() >= 1);
    /// ```
    pub fn global() -> &'static Pool {
        Pool::global_or(|| Pool::builder().build())
    }

    /// The same, built by `build`. For the drop-in core.
    #[doc(hidden)]
    pub fn global_or<E: fmt::Display>(build: impl FnOnce() -> Result<Pool, E>) -> &'static Pool {
        global::slot().get_or_init(|| {
            build().unwrap_or_else(|error| {
                eprintln!("bombyx: {error}; using the defaults");
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

    /// Runs `f` in this pool and returns its result. Forks inside of `f` use the processors of this pool.
    ///
    /// If a processor is idle it is lent to the calling thread, which runs `f` itself; else `f` is queued and the
    /// calling thread waits. With a chosen stack size `f` always runs on a carrier. While it holds a pinned processor the
    /// calling thread runs on that one's CPU; afterwards it may run wherever it could before.
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

    /// Gives up ownership: the pool runs until the handle [closes](crate::Handle::close) it.
    pub fn into_handle(mut self) -> crate::Handle {
        self.owned = false;
        self.handle()
    }

    /// Runs `f` where the calling thread, which holds no processor, belongs: in the pool whose carrier it is, if
    /// it is one that blocks, else in the global one.
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

    /// Starts `f` on this pool and returns at once. It runs until it ends; dropping the pool waits for it.
    ///
    /// If `f` panics, [`Builder::on_panic`] is told, or else the process is aborted. Spawn in a [`crate::scope`] if
    /// you want the panic where you wait.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// pool.spawn(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.pool.submit(detached(&self.pool, Site::here(Kind::Run), f), &[]);
    }

    /// How many processors the pool has.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(3).build()?;
    /// assert_eq!(pool.processors(), 3);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn processors(&self) -> usize {
        self.pool.processors().len()
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

    /// Makes the peaks in [`Pool::stats`], other than that of carriers, count from now on.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(1).count_threads(true).build()?;
    /// pool.run(|| bombyx::join(|| (), || ()));
    /// pool.forget_peaks();
    /// assert_eq!(pool.stats().peak_threads, 0);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn forget_peaks(&self) {
        process::assert_current(self.pool.generation());
        self.pool.forget_peaks();
    }

    /// What the profiler has measured of the runs that have ended, if the pool is profiled: because its builder
    /// [says so](Builder::profile), or because of `BOMBYX_PROFILE`; then of all pools of the process together.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).profile(true).build()?;
    /// pool.run(|| bombyx::for_each(0..1000, |_| ()));
    /// assert!(pool.profile().unwrap().span_ns > 0);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn profile(&self) -> Option<Profile> {
        process::assert_current(self.pool.generation());
        self.pool.config.profiler.as_ref().map(|profiler| profiler.profile())
    }

    /// How fast the processors are, as last estimated: the capacity of the processor's CPU relative to the best one,
    /// times the share of its time that the processor receives. Only [`Scheduler::Heterogeneous`] estimates; with
    /// others all are 1.
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
            // Nothing of it may be touched, and nobody is left to be waited for.
            return mem::forget(pool);
        }
        if current::is_carrier_of(&pool) {
            // A carrier cannot wait for its own end. If no thread can be had for that, the carriers stay.
            let _ = thread::Builder::new().spawn(move || pool.shut_down());
        } else {
            crate::blocking(|| pool.shut_down());
        }
    }
}

mod global {
    //! The global pool of this process: in a child of fork(2) another one than in its parent.

    use super::Pool;
    use crate::system::process::Generation;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicPtr;
    use std::sync::atomic::Ordering::{AcqRel, Acquire};

    struct Slot {
        generation: Generation,
        pool: OnceLock<Pool>,
    }

    /// The slot of this process or, in a child that has not looked yet, of its parent. Never freed: who has a pool has it for
    /// good. The parent's may have been locked when the child was made, so the child does not touch it.
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
        let new = Box::into_raw(Box::new(Slot { generation: Generation::begin(), pool: OnceLock::new() }));
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

/// How many processors the pool has that the calling thread runs in.
///
/// ```
/// assert_eq!(bombyx::current_processors(), None);
/// let pool = bombyx::Pool::builder().processors(2).build()?;
/// assert_eq!(pool.run(|| bombyx::current_processors()), Some(2));
/// # Ok::<(), bombyx::Error>(())
/// ```
#[inline]
pub fn current_processors() -> Option<usize> {
    current::processor()
        .map(|processor| processor.pool())
        .or_else(current::home)
        .map(|pool| pool.processors().len())
}

// ---- The ways in ------------------------------------------------------------------------------------------

/// Runs `f` in the pool of `pool`.
pub(crate) fn run_in<F, R>(pool: &PoolCore, site: Site, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    process::assert_current(pool.generation());
    match current::processor() {
        Some(processor) if ptr::eq(processor.pool(), pool) => f(),
        Some(processor) if pool.config.lends && !processor.pool().has_fixed_threads() => {
            crate::blocking(|| enter(pool, site, f))
        }
        Some(_) => injected(pool, site, f),
        None => enter(pool, site, f),
    }
}

/// Runs `f` in the pool of `pool`, for a thread that holds no processor.
fn enter<F, R>(pool: &PoolCore, site: Site, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    if current::home().is_some_and(|home| ptr::eq(home, pool)) {
        // A carrier that blocks in a job of this pool has a stack for `f`, and perhaps the last one.
        return lent(pool, pool.acquire(current::carrier()), site, f);
    }
    match pool.config.lends.then(|| pool.borrow_processor()).flatten() {
        Some(processor) => lent(pool, processor, site, f),
        None => injected(pool, site, f),
    }
}

/// Runs `f` on the calling thread, with a processor lent to it.
fn lent<F, R>(pool: &PoolCore, processor: NonNull<Processor>, site: Site, f: F) -> R
where
    F: FnOnce() -> R,
{
    let (_visit, _run) = guarded(|| (Visit::begin(pool, processor), profile::Run::begin(pool, site)));
    f()
}

/// Queues `f` and waits for it.
fn injected<F, R>(pool: &PoolCore, site: Site, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    // The carriers stay until the closure has ended, also if somebody closes the pool meanwhile.
    let _guest = Guest::of(pool);
    let job = Injected {
        head: HeapJob::new(Injected::<F, R>::exec, 0),
        site,
        closure: UnsafeCell::new(ManuallyDrop::new(f)),
        result: UnsafeCell::new(MaybeUninit::uninit()),
        signal: Signal::from(pool),
    };
    let blocked = profile::Blocked::begin();
    let entry = Entry::heap(NonNull::from(&job).cast());
    let guard = Guard::new();
    pool.inject(entry);
    while pool.config.lends && pool.has_queued() && !job.signal.wait_outside(STARVED) {
        // A processor may have come free that no carrier can be had for; this thread is as good as one.
        let Some(processor) = pool.borrow_processor() else { continue };
        if pool.withdraw(entry) {
            guard.passed();
            drop(blocked);
            // SAFETY: the entry was withdrawn, so nobody else has the closure.
            let closure = unsafe { ManuallyDrop::take(&mut *job.closure.get()) };
            return lent(pool, processor, site, closure);
        }
        pool.retire(processor, None, None);
        break;
    }
    job.signal.wait(pool, ptr::from_ref(&job) as usize);
    guard.passed();
    drop(blocked);
    // SAFETY: the signal is set, so the result is written and nobody touches the job any more.
    let result = unsafe { job.result.into_inner().assume_init() };
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// A closure that a thread outside of the pool, or a carrier of another one, waits for.
#[repr(C)]
struct Injected<F, R> {
    head: HeapJob,
    site: Site,
    closure: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
    signal: Signal,
}

impl<F, R> Injected<F, R>
where
    F: FnOnce() -> R,
{
    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of an `Injected`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        let this = job.cast::<Injected<F, R>>();
        // SAFETY: the calling thread waits until the signal is set.
        unsafe {
            let closure = ManuallyDrop::take(&mut *(*this).closure.get());
            let run = profile::Run::begin(current::held().pool(), (*this).site);
            (*(*this).result.get()).write(panic::catch_unwind(AssertUnwindSafe(closure)));
            drop(run);
            Signal::set(&raw const (*this).signal)
        }
    }
}

/// The entry of a closure that nobody waits for. It must be pushed or queued somewhere.
pub(crate) fn detached<F>(pool: &Arc<PoolCore>, site: Site, f: F) -> Entry
where
    F: FnOnce() + Send + 'static,
{
    process::assert_current(pool.generation());
    pool.detached_started();
    pool.thread_created();
    let head = HeapJob::new(Detached::<F>::exec, 0);
    let job = Detached { head, site, pool: Arc::clone(pool), closure: f };
    Entry::heap(NonNull::from(Box::leak(Box::new(job))).cast())
}

/// A closure that nobody waits for.
#[repr(C)]
struct Detached<F> {
    head: HeapJob,
    site: Site,
    pool: Arc<PoolCore>,
    closure: F,
}

impl<F> Detached<F>
where
    F: FnOnce() + Send + 'static,
{
    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of a boxed `Detached<F>`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        // SAFETY: made from a box in `detached`, and run once.
        let memory = unsafe { Box::from_raw(job.cast_mut().cast::<MaybeUninit<Detached<F>>>()) };
        // SAFETY: `detached` wrote it, and this reads it once.
        let Detached { site, pool, closure, .. } = unsafe { memory.assume_init_read() };
        let run = profile::Run::begin(&pool, site);
        // What the spawn allocated is freed by what was spawned, in the eyes of the recorder.
        drop(memory);
        pool.handlers().guard(closure);
        drop(run);
        pool.thread_ended();
        pool.detached_ended();
        None
    }
}

// ---- Building -----------------------------------------------------------------------------------------------

/// Collects what a pool is to be like. From [`Pool::builder`].
///
/// ```
/// let pool = bombyx::Pool::builder()
///     .processors(2)
///     .scheduler("work-stealing".parse()?)
///     .stack_size(4 << 20)
///     .thread_name(|index| format!("worker-{index}"))
///     .seed(42)
///     .build()?;
/// assert_eq!(pool.processors(), 2);
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Default)]
pub struct Builder {
    processors: Option<usize>,
    threads: Option<Threads>,
    scheduler: Option<Scheduler>,
    stack_size: Option<usize>,
    #[allow(clippy::type_complexity)]
    thread_name: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
    names: Option<Names>,
    max_carriers: Option<usize>,
    seed: u64,
    pin: bool,
    deterministic: bool,
    ordered: bool,
    fence: bool,
    counts: bool,
    metered: bool,
    lend: Option<bool>,
    profiler: profile::Choice,
    pub(crate) handlers: Handlers,
    pub(crate) use_current_thread: bool,
    /// The pool may not start carriers of its own, unless `max_carriers` says so.
    pub(crate) limited: bool,
}

impl Builder {
    /// The number of processors. Default: `BOMBYX_PROCESSORS`, else one for each CPU that the process may use.
    pub fn processors(mut self, processors: usize) -> Builder {
        self.processors = Some(processors);
        self
    }

    /// The scheduler. Default: `BOMBYX_SCHEDULER`, else work stealing.
    pub fn scheduler(mut self, scheduler: Scheduler) -> Builder {
        self.scheduler = Some(scheduler);
        self
    }

    /// Whether the threads of the pool are fixed. Default: `BOMBYX_THREADS`, else [`Threads::Moving`].
    ///
    /// ```
    /// use bombyx::Threads;
    /// let pool = bombyx::Pool::builder().processors(2).threads(Threads::Fixed).build()?;
    /// let (before, after) = pool.run(|| {
    ///     let before = bombyx::current_processor();
    ///     bombyx::join(|| (), || ());
    ///     (before, bombyx::current_processor())
    /// });
    /// assert_eq!(before, after);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn threads(mut self, threads: Threads) -> Builder {
        self.threads = Some(threads);
        self
    }

    /// The stack size of the carriers, in bytes. With this, [`Pool::run`] never runs on the caller's stack.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack_size = Some(bytes);
        self
    }

    /// Names the carriers: called when the pool is built, once for each number below that of the processors. Carriers that
    /// start later repeat the numbers, and the names.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Builder {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// Names carriers by what is in there when they start, if that reaches to their numbers and holds no null character. For the drop-in core, which is
    /// asked for names while carriers start.
    #[doc(hidden)]
    pub fn thread_names(mut self, names: Arc<Mutex<Vec<String>>>) -> Builder {
        self.names = Some(names);
        self
    }

    /// The most carriers (OS threads) the pool may have at a time. Default: four for each processor and one more, or 64 more
    /// than processors if that is more. When a waiting carrier would need another one to hand its processor to, it runs what
    /// there is on its own stack instead. When a carrier [blocks](crate::blocking), its processor rests until a carrier is free.
    pub fn max_carriers(mut self, carriers: usize) -> Builder {
        self.max_carriers = Some(carriers);
        self
    }

    /// Seeds the choice of victims. Schedules still depend on timing.
    pub fn seed(mut self, seed: u64) -> Builder {
        self.seed = seed;
        self
    }

    /// Pins each processor to a CPU: whichever carrier holds it runs there. [`Scheduler::Heterogeneous`] always does.
    pub fn pin(mut self, pin: bool) -> Builder {
        self.pin = pin;
        self
    }

    /// Splits loops in the same way in every run, so that [`crate::map_reduce`] over floats is repeatable, and hides
    /// steals from [`crate::join_context`]. `BOMBYX_DETERMINISTIC=1` does the same for all pools.
    pub fn deterministic(mut self, deterministic: bool) -> Builder {
        self.deterministic = deterministic;
        self
    }

    /// Does without `membarrier(2)`, as on systems that have none: slower forks, for tests and for sandboxes that end the
    /// process at that call. A system that merely refuses it, then or later, needs no such choice: the pool goes on without,
    /// and that is said once on standard error. `BOMBYX_BARRIER=fence` does the same for all pools.
    pub fn fence(mut self, fence: bool) -> Builder {
        self.fence = fence;
        self
    }

    /// Counts living threads, and the threads that processors take from their own deques, for [`Stats`]: `peak_threads` and
    /// [`Stats::granularity`]. A thread, in the sense of the papers, is a spawned closure, or that half of a join which
    /// runs before the rest of its parent: the first, but with `fifo`, where the second is queued and the parent
    /// goes on, the second. It is alive until that closure has ended. Keeps every fork and join on its slow path.
    /// Schedulers with one pool of threads (`fifo`, `busy-leaves`, `depth-first:K`) always count; those whose processors
    /// keep their deques to themselves (`read-write`, `read-write-steals`, `private-cas`) never do.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(1).count_threads(true).build()?;
    /// pool.run(|| bombyx::join(|| bombyx::join(|| (), || ()), || ()));
    /// assert_eq!(pool.stats().peak_threads, 2);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn count_threads(mut self, count: bool) -> Builder {
        self.counts = count;
        self
    }

    /// Counts what the processors allocate, for [`Stats`]: `heap` and `peak_heap`, in a program whose allocator is
    /// [metered](crate::api::alloc::Metered) or which [says itself](crate::charge). Schedulers with a quota, and pools that are
    /// profiled, always do.
    pub fn metered(mut self, metered: bool) -> Builder {
        self.metered = metered;
        self
    }

    /// Whether a scope that waits leaves what was spawned later in other scopes, on the same processor, to go first, as
    /// on a single stack of closures. Default: no, it runs its own closures, whatever lies between them.
    pub fn ordered(mut self, ordered: bool) -> Builder {
        self.ordered = ordered;
        self
    }

    /// Whether [`Pool::run`] may run on the caller's stack when a processor is idle. Default: yes, unless a stack
    /// size is chosen. Without, everything in the pool runs on its own carriers.
    pub fn lend(mut self, lend: bool) -> Builder {
        self.lend = Some(lend);
        self
    }

    /// Measures work and span of everything that runs in the pool, for [`Pool::profile`]. Forks cost some fifty nanoseconds
    /// more then. `BOMBYX_PROFILE=file` does it for all pools of a process that do not ask for it themselves.
    pub fn profile(mut self, profile: bool) -> Builder {
        self.profiler = if profile { profile::Choice::Own } else { profile::Choice::Process };
        self
    }

    /// For measuring what things cost: just so many processors, and this profiler or none.
    pub(crate) fn measuring(processors: usize, profiler: Option<Arc<Profiler>>) -> Builder {
        Builder {
            processors: Some(processors),
            scheduler: Some(Scheduler::WorkStealing),
            profiler: profiler.map_or(profile::Choice::Off, profile::Choice::Given),
            ..Builder::default()
        }
    }

    /// Builds the pool.
    ///
    /// # Errors
    /// If the configuration, or what the environment asks for, is not usable, or a thread cannot be started.
    pub fn build(self) -> Result<Pool, Error> {
        if self.use_current_thread {
            return self.assemble(|carrier| carrier.thread().spawn(|| carrier.run()).map(drop));
        }
        let (config, scheduler) = self.config()?;
        Ok(Pool::new(PoolCore::new(config).map_err(Error::Thread)?, scheduler))
    }

    /// Builds the pool and makes it the global one.
    ///
    /// # Errors
    /// As [`Builder::build`], and if there is a global pool already.
    pub fn build_global(self) -> Result<(), Error> {
        if Pool::has_global() {
            return Err(Error::GlobalPoolExists);
        }
        self.build()?.into_global().map(drop)
    }

    /// Builds the pool with as many carriers as can be had, for the global pool, where nobody can be told.
    fn build_tolerant(self) -> Pool {
        let (config, scheduler) =
            self.config().unwrap_or_else(|error| unreachable!("defaults are usable: {error}"));
        Pool::new(PoolCore::with_what_can_be_had(config), scheduler)
    }

    /// What the pool is to be like, and the name of its scheduler.
    pub(crate) fn config(self) -> Result<(Config, Scheduler), Error> {
        Generation::begin();
        let cores = cores();
        let processors = match self.processors {
            Some(processors) => processors,
            None => match std::env::var("BOMBYX_PROCESSORS") {
                Ok(given) => given.trim().parse().map_err(|_| Error::Processors(format!("`{given}`")))?,
                Err(_) => available_parallelism(),
            },
        };
        if processors == 0 || processors > MAX_PROCESSORS {
            return Err(Error::Processors(processors.to_string()));
        }
        let scheduler = match self.scheduler {
            Some(scheduler) => scheduler,
            None => match std::env::var("BOMBYX_SCHEDULER") {
                Ok(given) => given.parse()?,
                Err(_) => Scheduler::default(),
            },
        };
        let strategy = scheduler.checked()?.strategy(processors);
        if let Some(size) = self.stack_size.filter(|size| !(MIN_STACK..MAX_STACK).contains(size)) {
            return Err(Error::StackSize(size));
        }
        let threads = match self.threads {
            Some(threads) => threads,
            None => match std::env::var("BOMBYX_THREADS") {
                Ok(given) => given.parse()?,
                Err(_) => Threads::default(),
            },
        };
        let fixed = threads == Threads::Fixed;
        if fixed && !strategy.allows_fixed_threads() {
            return Err(Error::FixedThreads(scheduler));
        }
        let max_carriers = self.max_carriers.unwrap_or(if self.limited {
            processors
        } else {
            processors + (4 * processors).max(MIN_SURPLUS)
        });
        if max_carriers < processors {
            return Err(Error::MaxCarriers { limit: max_carriers, processors });
        }
        let least_cpus = strategy.cpus().least();
        let pin = self.pin || least_cpus > 0;
        let cpus = affinity::cpus().len();
        if pin && cpus == 0 {
            return Err(Error::Pin("this system does not tell which CPUs the process may use".to_owned()));
        }
        if cpus < least_cpus {
            return Err(Error::OneCpu);
        }
        if !self.fence {
            barrier::prepare();
        }
        let counts = match strategy.counted() {
            Counted::Always(child) => Some(child),
            Counted::OnRequest(child) => self.counts.then_some(child),
            Counted::Never => None,
        };
        let names = match self.thread_name {
            Some(name) => {
                let names: Vec<String> = (0..processors).map(name).collect();
                if names.iter().any(|name| name.contains('\0')) {
                    let kind = std::io::ErrorKind::InvalidInput;
                    let why = "the name of a thread contains a null character";
                    return Err(Error::Thread(std::io::Error::new(kind, why)));
                }
                Some(Arc::new(Mutex::new(names)))
            }
            None => self.names,
        };
        let profiler = self.profiler.profiler();
        let metered = self.metered || strategy.quota() != i64::MAX || profiler.is_some();
        let config = Config {
            processors,
            threads,
            strategy,
            scheduler: scheduler.to_string(),
            stack_size: self.stack_size,
            names,
            max_carriers,
            seed: self.seed,
            pin,
            // A thread that holds a pinned processor may use one CPU only while it does.
            cpus: current::processor()
                .filter(|processor| processor.pool().config.pin)
                .map_or_else(|| Thread::HERE.allowed(), |processor| processor.pool().config.cpus),
            deterministic: self.deterministic
                || std::env::var_os("BOMBYX_DETERMINISTIC").is_some_and(|on| on == "1"),
            ordered: self.ordered,
            handlers: self.handlers,
            lends: self.lend.unwrap_or(true) && self.stack_size.is_none() && !fixed,
            fence: self.fence,
            counts,
            metered,
            crowded: processors > cores,
            max_searchers: processors.min(cores).div_ceil(2),
            profiler,
        };
        Ok((config, scheduler))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("processors", &self.processors)
            .field("scheduler", &self.scheduler)
            .finish_non_exhaustive()
    }
}

/// How many cores there were when the first pool was built. The system reads files to tell, which takes longer than the rest
/// of building a pool.
fn cores() -> usize {
    static CORES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *CORES.get_or_init(available_parallelism)
}

fn available_parallelism() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_PROCESSORS))
}
