//! The contenders of a measurement: the serial elision, or a pool of Bombyx or of a peer.

use crate::statistics::middle;
use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, Stats};
use bombyx_workloads::Runtime;
use std::fmt;

/// Bombyx and chili run the root of a computation on the calling thread, whose stack is 8 MiB. rayon runs it on a
/// separate thread, and the deepest search tree overflows its 2 MiB. chili's threads overflow theirs when they wait for
/// each other. So their threads get the same stack.
#[cfg(feature = "peers")]
const STACK: usize = 8 << 20;

/// Makes sure that threads that are started without a stack size, as chili does, have the same stacks as the others.
/// Call this first thing in the program, before it has any threads.
#[cfg(feature = "peers")]
pub fn same_stacks() {
    const VARIABLE: &str = "RUST_MIN_STACK";
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: no other thread exists that could look at the environment.
        unsafe { std::env::set_var(VARIABLE, STACK.to_string()) };
    }
}

/// Without peers there is nothing to do.
#[cfg(not(feature = "peers"))]
pub fn same_stacks() {}

/// A runtime with its pool, ready to run.
pub struct Contender {
    kind: Kind,
    pub processors: usize,
}

enum Kind {
    Serial,
    Bombyx(Pool),
    #[cfg(feature = "peers")]
    Rayon(rayon::ThreadPool),
    #[cfg(feature = "peers")]
    Chili(chili::ThreadPool),
}

/// How many carriers a pool under `fifo` may have beyond its processors. Every thread that waits keeps one, so the usual
/// limit would decide how many threads there are.
pub(crate) const FIFO_CARRIERS: usize = 1024;

/// A pool that measures a scheduler.
pub(crate) fn pool_of(processors: usize, scheduler: Scheduler) -> bombyx::Builder {
    let builder = Pool::builder().processors(processors).scheduler(scheduler);
    match scheduler {
        Scheduler::Fifo => builder.max_carriers(processors + FIFO_CARRIERS),
        _ => builder,
    }
}

impl Contender {
    pub fn serial() -> Self {
        Self { kind: Kind::Serial, processors: 1 }
    }

    /// A Bombyx pool. Without a scheduler, the one that the environment asks for, or the default.
    pub fn bombyx(processors: usize, scheduler: Option<Scheduler>) -> Result<Self, bombyx::Error> {
        let pool = match scheduler {
            Some(scheduler) => pool_of(processors, scheduler),
            None => Pool::builder().processors(processors),
        };
        Ok(Self::of(pool.build()?))
    }

    /// A Bombyx pool that exists already.
    pub fn of(pool: Pool) -> Self {
        Self { processors: pool.processors(), kind: Kind::Bombyx(pool) }
    }

    /// The contender with this name.
    pub fn named(name: &str, processors: usize) -> crate::Result<Self> {
        match name {
            "serial" => Ok(Self::serial()),
            "bombyx" => Ok(Self::bombyx(processors, None)?),
            #[cfg(feature = "peers")]
            "rayon" => Self::rayon(processors),
            #[cfg(feature = "peers")]
            "chili" => Ok(Self::chili(processors)),
            _ => Err(format!("there is no runtime `{name}` in this build").into()),
        }
    }

    /// Pools of all peers that need only forks and joins. Empty without the feature `peers`.
    #[cfg(feature = "peers")]
    pub fn peers(processors: usize) -> crate::Result<Vec<Self>> {
        Ok(vec![Self::rayon(processors)?, Self::chili(processors)])
    }

    /// Pools of all peers that need only forks and joins. Empty without the feature `peers`.
    #[cfg(not(feature = "peers"))]
    pub fn peers(_processors: usize) -> crate::Result<Vec<Self>> {
        Ok(Vec::new())
    }

    #[cfg(feature = "peers")]
    fn rayon(processors: usize) -> crate::Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(processors).stack_size(STACK).build()?;
        Ok(Self { kind: Kind::Rayon(pool), processors })
    }

    #[cfg(feature = "peers")]
    fn chili(processors: usize) -> Self {
        let thread_count = std::num::NonZero::new(processors);
        let config = chili::Config { thread_count, ..chili::Config::default() };
        Self { kind: Kind::Chili(chili::ThreadPool::with_config(config)), processors }
    }

    /// What a workload runs on.
    pub fn runtime(&self) -> Runtime<'_> {
        match &self.kind {
            Kind::Serial => Runtime::Serial,
            Kind::Bombyx(pool) => Runtime::Bombyx(pool),
            #[cfg(feature = "peers")]
            Kind::Rayon(pool) => Runtime::Rayon(pool),
            #[cfg(feature = "peers")]
            Kind::Chili(pool) => Runtime::Chili(pool),
        }
    }

    pub fn name(&self) -> &'static str {
        self.runtime().name()
    }

    /// The scheduler of a Bombyx pool.
    pub fn scheduler(&self) -> Option<Scheduler> {
        match &self.kind {
            Kind::Bombyx(pool) => Some(pool.scheduler()),
            _ => None,
        }
    }

    /// The counters of a Bombyx pool.
    pub fn stats(&self) -> Option<Stats> {
        match &self.kind {
            Kind::Bombyx(pool) => Some(pool.stats()),
            _ => None,
        }
    }

    /// Resets the peaks of a Bombyx pool.
    pub fn forget_peaks(&self) {
        if let Kind::Bombyx(pool) = &self.kind {
            pool.forget_peaks();
        }
    }

    /// What a profiled Bombyx pool has measured.
    pub fn profile(&self) -> Option<bombyx::Profile> {
        match &self.kind {
            Kind::Bombyx(pool) => pool.profile(),
            _ => None,
        }
    }

    /// The most living threads of `run` at a time, in the median of this many runs on a pool like this one that counts
    /// them. If this pool counts anyway, those of the last run. `None` for runtimes and schedulers that cannot count.
    /// Also `None` if forks are most of the work, judged by the seconds that the serial elision and this pool took,
    /// because counting keeps forks on their slow path.
    pub fn living_threads<R>(
        &self,
        serial: f64,
        taken: f64,
        runs: usize,
        mut run: impl FnMut(Runtime<'_>) -> R,
    ) -> crate::Result<Option<u64>> {
        /// If all processors together take this many times the serial time, most of it goes into forks.
        const MOSTLY_FORKS: f64 = 1.8;
        /// This is short enough to run once more, whatever it consists of.
        const SHORT: f64 = 0.05;
        let Some(scheduler) = self.scheduler() else { return Ok(None) };
        if let Some(counted) =
            self.stats().map(|stats| stats.threads.peak_threads).filter(|threads| *threads > 0)
        {
            return Ok(Some(counted));
        }
        if taken > SHORT && taken * self.processors as f64 > MOSTLY_FORKS * serial {
            return Ok(None);
        }
        let pool = pool_of(self.processors, scheduler).count_threads(true).build()?;
        let peaks = (0..runs).map(|_| {
            pool.forget_peaks();
            run(Runtime::Bombyx(&pool));
            pool.stats().threads.peak_threads
        });
        Ok(middle(peaks).filter(|threads| *threads > 0))
    }

    /// How fast the processors of a Bombyx pool are, if its scheduler measures that.
    pub fn speeds(&self) -> Option<Vec<f64>> {
        match &self.kind {
            Kind::Bombyx(pool) if matches!(pool.scheduler(), Scheduler::Heterogeneous(_)) => {
                Some(pool.speeds())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Serial => f.write_str("serial"),
            Kind::Bombyx(pool) => write!(f, "bombyx, {}, P = {}", pool.scheduler(), self.processors),
            #[cfg(feature = "peers")]
            Kind::Rayon(_) | Kind::Chili(_) => write!(f, "{}, P = {}", self.name(), self.processors),
        }
    }
}
