//! The builder of pools: which settings there are, and how they become a [`Config`].

use crate::api::costs;
use crate::api::error::{Error, MAX_PROCESSORS, MAX_STACK, MIN_STACK};
use crate::api::pool::Pool;
use crate::machine::current;
use crate::machine::handlers::{Handlers, PoolEvent};
use crate::machine::new_carrier::NewCarrier;
use crate::machine::pool::PoolCore;
use crate::machine::pool::config::{Config, Names, Threads};
use crate::machine::processor::Processor;
use crate::machine::strategy::Counted;
use crate::profile::{self, Observing, Profiler};
use crate::scheduler::Scheduler;
use crate::system;
use crate::system::affinity::{self, CpuSet, Thread};
use crate::system::barrier;
use crate::trace;
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::{fmt, io, thread};

/// How many carriers a small pool may have beyond one for each processor, unless its builder says otherwise. Large
/// pools may have four for each processor.
const MIN_SURPLUS: usize = 64;

/// The settings of a new pool. From [`Pool::builder`].
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
    pub(super) processors: Option<usize>,
    max_processors: Option<usize>,
    threads: Option<Threads>,
    pub(super) scheduler: Option<Scheduler>,
    stack_size: Option<usize>,
    #[allow(clippy::type_complexity)]
    thread_name: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
    pub(super) names: Option<Names>,
    max_carriers: Option<usize>,
    seed: u64,
    pin: bool,
    deterministic: bool,
    pub(super) ordered: bool,
    pub(super) fence: bool,
    pub(super) counts: bool,
    metered: bool,
    pub(super) lend: Option<bool>,
    profiler: profile::Choice,
    pub(super) handlers: Handlers,
    pub(super) use_current_thread: bool,
    /// The pool may not start carriers itself, unless `max_carriers` allows it.
    pub(super) limited: bool,
}

impl Builder {
    /// The number of processors. Default: `BOMBYX_PROCESSORS`, else one for each CPU that the process may use.
    pub fn processors(mut self, processors: usize) -> Builder {
        self.processors = Some(processors);
        self
    }

    /// The most processors that the pool can be [resized](Pool::set_processors) to. Default: the number that it begins
    /// with. Processors that are not in service cost a few kilobytes each.
    pub fn max_processors(mut self, processors: usize) -> Builder {
        self.max_processors = Some(processors);
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

    /// The stack size of the carriers, in bytes. With this, [`Pool::run`] never runs on the caller's stack. If no carrier
    /// can run the caller's closure ([`Builder::max_carriers`]), the caller starts a thread with such a stack for it.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack_size = Some(bytes);
        self
    }

    /// Names the carriers, the pool's operating-system threads. `name` is called when the pool is built, once for each
    /// number from 0 up to the number of processors. Carriers that start later reuse these numbers and names.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Builder {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// The most carriers (OS threads) the pool may have at a time. Default: five for each processor, or 64 more than
    /// there are processors, whichever is more.
    ///
    /// At this limit, a carrier that waits cannot hand its processor to a new carrier. It then runs whatever work there
    /// is on its own stack. If a carrier [blocks](crate::blocking) at this limit, its processor rests until another
    /// carrier is free, or until a thread outside has waited for the pool's work in vain for some milliseconds. Such a
    /// thread then does the work itself.
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

    /// Splits loops in the same way in every run, so that [`crate::map_reduce`] over floats is repeatable. Also hides
    /// steals from [`crate::join_context`]. `BOMBYX_DETERMINISTIC=1` does both for all pools.
    pub fn deterministic(mut self, deterministic: bool) -> Builder {
        self.deterministic = deterministic;
        self
    }

    /// Counts what the processors allocate, for `heap` and `peak_heap` of [`Stats`](crate::Stats). The program must use
    /// a [metered](crate::api::alloc::Metered) allocator, or [report](crate::charge) its allocations. Schedulers with a
    /// quota and profiled pools always count.
    pub fn metered(mut self, metered: bool) -> Builder {
        self.metered = metered;
        self
    }

    /// Measures work and span of everything that runs in the pool, for [`Pool::profile`]. Each fork then costs some
    /// fifty nanoseconds more. `BOMBYX_PROFILE=file` profiles all pools of a process whose builders do not ask for a
    /// profile.
    #[cfg(feature = "profile")]
    pub fn profile(mut self, profile: bool) -> Builder {
        self.profiler = if profile { profile::Choice::Own } else { profile::Choice::Process };
        self
    }

    /// A pool for measuring costs: this many processors, and this profiler or none.
    pub(crate) fn measuring(processors: usize, profiler: Option<Arc<Profiler>>) -> Builder {
        Builder {
            processors: Some(processors),
            scheduler: Some(Scheduler::WorkStealing),
            profiler: profiler.map_or(profile::Choice::Off, profile::Choice::Given),
            ..Builder::default()
        }
    }

    /// The handler that receives the panic of a [spawned](crate::Pool::spawn) closure or of another handler. Without
    /// it, such a panic aborts the process. A panic of this handler aborts the process too.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = bombyx::Pool::builder().processors(1).on_panic(move |payload| sender.send(payload).unwrap()).build()?;
    /// pool.spawn(|| panic!("nobody waits for this"));
    /// assert_eq!(receiver.recv().unwrap().downcast_ref::<&str>(), Some(&"nobody waits for this"));
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn on_panic(mut self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Builder {
        self.handlers.panic = Some(Box::new(handler));
        self
    }

    /// The handler that is told what happens on the slow paths of the pool: steals, sleeps, hand-overs, calls that had to
    /// wait. Forks are no events. Without a handler, each of these places costs one comparison.
    ///
    /// The handler runs in the middle of the runtime, so it must be short. It must not use a pool or wait for anything. A
    /// panic goes to [`Builder::on_panic`], or aborts the process.
    ///
    /// ```
    /// use bombyx::PoolEvent;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// static SLEEPS: AtomicUsize = AtomicUsize::new(0);
    /// let count = |event| if let PoolEvent::Sleeps(_) = event { SLEEPS.fetch_add(1, Relaxed); };
    /// let pool = bombyx::Pool::builder().processors(2).on_event(count).build()?;
    /// pool.run(|| bombyx::join(|| 1, || 2));
    /// drop(pool);
    /// assert!(SLEEPS.load(Relaxed) > 0);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn on_event(mut self, handler: impl Fn(PoolEvent) + Send + Sync + 'static) -> Builder {
        self.handlers.event = Some(Box::new(handler));
        self
    }

    /// Builds the pool. It starts one thread, and others when there is work for them. If only the pool's own threads can
    /// run what callers bring ([`Builder::stack_size`], [`Threads::Fixed`]), it starts a thread for each processor.
    ///
    /// # Errors
    /// If the configuration or the environment asks for something unusable, or if one of these threads cannot be started.
    pub fn build(self) -> Result<Pool, Error> {
        if self.use_current_thread {
            return self.assemble(|carrier| carrier.thread().spawn(|| carrier.run()).map(drop));
        }
        let (config, scheduler) = self.config()?;
        let pool = if system::THREADS {
            PoolCore::new(config).map_err(Error::Thread)?
        } else {
            // Whoever calls does the work.
            PoolCore::with_what_can_be_had(config)
        };
        Ok(Pool::new(pool, scheduler))
    }

    /// Builds the pool. `start` starts its carriers.
    pub(super) fn assemble(
        mut self,
        mut start: impl FnMut(NewCarrier) -> io::Result<()>,
    ) -> Result<Pool, Error> {
        /// If not all carriers could be started, or if `start` panics, ends those that were.
        struct Unfinished<'a> {
            pool: &'a PoolCore,
            /// The calling thread holds a processor.
            here: bool,
        }
        impl Drop for Unfinished<'_> {
            fn drop(&mut self) {
                if self.here {
                    self.pool.dismiss_current_thread();
                }
                self.pool.close();
            }
        }
        let here = std::mem::take(&mut self.use_current_thread);
        if here && current::processor().is_some() {
            return Err(Error::CurrentThreadInPool);
        }
        let (config, scheduler) = self.config()?;
        let pool = PoolCore::without_carriers(config);
        let unfinished = Unfinished { pool: &pool, here };
        if here {
            pool.adopt_current_thread();
        }
        for _ in usize::from(here)..pool.processors().len() {
            start(pool.new_carrier().map_err(Error::Thread)?).map_err(Error::Thread)?;
        }
        pool.start_watcher().map_err(Error::Thread)?;
        std::mem::forget(unfinished);
        if here {
            // The calling thread holds its processor until it ends, and nobody knows when that is.
            std::mem::forget(Arc::clone(&pool));
        }
        Ok(Pool::new(pool, scheduler))
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

    /// Builds the pool with as many carriers as the system grants. For the global pool, where no caller could receive
    /// an error.
    pub(super) fn build_tolerant(self) -> Pool {
        let (config, scheduler) =
            self.config().unwrap_or_else(|error| unreachable!("defaults are usable: {error}"));
        Pool::new(PoolCore::with_what_can_be_had(config), scheduler)
    }

    /// The configuration of the pool, and the name of its scheduler.
    pub(crate) fn config(self) -> Result<(Config, Scheduler), Error> {
        let generation = current::begin_generation();
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
        let in_service = processors;
        let processors = self.max_processors.unwrap_or(processors).max(processors);
        if processors > MAX_PROCESSORS {
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
        if processors > in_service && (fixed || strategy.cpus().least() > 0) {
            return Err(Error::NotResizable);
        }
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
            return Err(Error::Pin("this system does not say which CPUs the process may use".to_owned()));
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
        let measures_costs = matches!(self.profiler, profile::Choice::Off | profile::Choice::Given(_));
        let profiler = self.profiler.profiler(costs::measure);
        let metered = self.metered || strategy.quota() != i64::MAX || profiler.is_some();
        let config = Config {
            generation,
            processors,
            in_service,
            threads,
            strategy,
            scheduler: scheduler.to_string(),
            stack_size: self.stack_size,
            names,
            max_carriers,
            seed: self.seed,
            pin,
            cpus: carriers_cpus(fixed && !pin),
            deterministic: self.deterministic
                || std::env::var_os("BOMBYX_DETERMINISTIC").is_some_and(|on| on == "1"),
            ordered: self.ordered,
            handlers: self.handlers,
            lends: self.lend.unwrap_or(true) && self.stack_size.is_none() && !fixed,
            fence: self.fence,
            counts,
            metered,
            cores,
            observer: profiler.map(|profiler| Box::new(Observing(profiler)) as _),
            tracer: if measures_costs { None } else { trace::tracer() },
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

/// The CPUs that each carrier of a new pool must ask for. A thread that holds a pinned processor may use only one CPU.
/// So if such a thread builds a pool, the new pool gets the CPUs of the thread's own pool. The carriers of a `still` pool,
/// whose threads are fixed and not pinned, need not ask: they inherit the CPUs of the thread that builds the pool.
fn carriers_cpus(still: bool) -> Option<CpuSet> {
    match current::processor().map(Processor::pool).filter(|pool| pool.config.pin) {
        Some(pool) => pool.config.cpus,
        None if still => None,
        None => Thread::HERE.allowed(),
    }
}

/// How many cores the process may use. [`available_parallelism`] also respects quotas of CPU time. But it reads files for
/// that, which takes longer than the rest of building a pool.
fn cores() -> usize {
    match affinity::cpus().len() {
        0 => available_parallelism(),
        cpus => cpus,
    }
}

pub(super) fn available_parallelism() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_PROCESSORS))
}
