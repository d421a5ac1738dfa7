//! What a workload is to its users ([`Workload`], [`Prepared`], [`Runtime`]) and to its authors ([`Kernel`],
//! [`Entry`]). A kernel is generic over the runtime it forks on. This file turns it into the object that the registry
//! hands out. Generating inputs, restoring them and checking results stay outside the timed part.

use bombyx_base::mix;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::continuations::Visit;
use crate::record::Recorder;
use crate::timed::Timed;
use crate::unknown_name::UnknownName;
use crate::{Bombyx, Fork, Meter, RwPool, Serial, StrandTime};
use bombyx_dag::{Accesses, BuildError, Computation};
use bombyx_rw::{Discipline, Pool};

/// How much work a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Size {
    /// Milliseconds: for tests.
    Small,
    /// About one second on one processor.
    #[default]
    Default,
    /// Several seconds on one processor.
    Large,
}

/// How small the serial pieces of a run are: the two granularities of Narlikar, SPAA 1999, §5.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Pieces so large that the cost of a fork does not show, and still many more than processors.
    #[default]
    Medium,
    /// The smallest pieces with which forks take up to 5 % of the serial time on one processor, or the natural unit of
    /// the program if that is larger: a row, a ray, a body. `fib` and the tree searches only fork.
    Fine,
}

/// Where a workload comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// The tables of Acar, Charguéraud, Muller and Rainey: three Cilk programs and the Problem Based Benchmark Suite.
    ReadWrite,
    /// The figures of Narlikar's DFDeques paper.
    DfDeques,
    /// Programs that every fork-join runtime is measured with.
    Classics,
}

/// What limits a workload at its default size on one processor, and so how far more processors can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Arithmetic and calls: the data in use fits into a processor's own cache.
    Compute,
    /// The memory that processors share.
    Memory,
}

/// Gives an enum its spelling, in both directions.
macro_rules! spelled {
    ($type:ident, $what:literal: $($variant:ident = $text:literal),+) => {
        impl $type {
            /// All values, in order.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($type::$variant => $text),+ })
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                match text {
                    $($text => Ok($type::$variant),)+
                    _ => Err(UnknownName::new($what, text, &[$($text),+])),
                }
            }
        }
    };
}

spelled!(Size, "size": Small = "small", Default = "default", Large = "large");
spelled!(Grain, "grain": Medium = "medium", Fine = "fine");
spelled!(Suite, "suite": ReadWrite = "read-write", DfDeques = "dfdeques", Classics = "classics");
spelled!(Bound, "bound": Compute = "compute", Memory = "memory");

/// The runtime that a workload runs on. [`Prepared::compute`] enters its pool.
#[derive(Clone, Copy, Debug)]
pub enum Runtime<'a> {
    /// The serial elision on the calling thread.
    Serial,
    /// A Bombyx pool.
    Bombyx(&'a bombyx::Pool),
    /// A Bombyx pool, with the time spent in strands added up.
    Timed(&'a bombyx::Pool, &'a StrandTime),
    /// A rayon pool.
    #[cfg(feature = "peers")]
    Rayon(&'a rayon::ThreadPool),
    /// A chili pool; the calling thread takes part.
    #[cfg(feature = "peers")]
    Chili(&'a chili::ThreadPool),
}

impl Runtime<'_> {
    /// `serial`, `bombyx`, `rayon` or `chili`.
    pub fn name(&self) -> &'static str {
        match self {
            Runtime::Serial => "serial",
            Runtime::Bombyx(_) | Runtime::Timed(..) => "bombyx",
            #[cfg(feature = "peers")]
            Runtime::Rayon(_) => "rayon",
            #[cfg(feature = "peers")]
            Runtime::Chili(_) => "chili",
        }
    }
}

/// A digest of a result: equal on all runtimes for the same workload, size, grain and seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checksum(u64);

impl Checksum {
    /// Digests words in order.
    pub fn of(words: impl IntoIterator<Item = u64>) -> Self {
        Checksum(words.into_iter().fold(0, |digest: u64, word| mix(digest.rotate_left(5) ^ word)))
    }

    /// Digests the bits of floats in order.
    pub fn of_floats<'a>(floats: impl IntoIterator<Item = &'a f64>) -> Self {
        Self::of(floats.into_iter().map(|x| x.to_bits()))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A benchmark program.
pub trait Workload: Sync {
    /// Its name, unique in the registry. Programs with several inputs are called `program-input`.
    fn name(&self) -> &'static str;

    /// What it computes, in one line.
    fn about(&self) -> &'static str;

    /// Where it comes from.
    fn suite(&self) -> Suite;

    /// What limits it.
    fn bound(&self) -> Bound;

    /// Generates the inputs. Equal arguments give equal inputs on every machine.
    fn prepare(&self, size: Size, grain: Grain, seed: u64) -> Box<dyn Prepared>;
}

/// A workload with its inputs in memory, to be run any number of times.
pub trait Prepared: Send {
    /// The instance in a few words: problem size and leaf size.
    fn input(&self) -> String;

    /// Puts everything back as it was before the first computation.
    fn reset(&mut self);

    /// Runs the computation once on inputs that are as [`reset`](Self::reset) leaves them. This is what to time.
    fn compute(&mut self, on: Runtime<'_>);

    /// Runs the computation once in continuation-passing style, as [`compute`](Self::compute) does directly. Returns
    /// whether the workload has that form. The programs of Acar, Charguéraud, Muller and Rainey's tables have it.
    fn continue_on(&mut self, pool: &mut RwPool) -> bool;

    /// Digests the result of the last computation.
    fn checksum(&self) -> Checksum;

    /// Checks the result of the last computation against an invariant or an independent method.
    ///
    /// # Errors
    /// Says what is wrong with the result.
    fn check(&self) -> Result<(), String>;

    /// Resets and runs the serial elision once, recording it as a computation for the simulator.
    ///
    /// # Errors
    /// If the computation is larger than a [`Computation`] can be.
    fn record(&mut self, meter: Meter<'_>) -> Result<Computation, BuildError>;

    /// Like [`record`](Self::record), with the memory that every strand touches, by address. Empty for workloads that
    /// do not report it.
    ///
    /// ```
    /// use bombyx_workloads::{Grain, Meter, Reading, Size, find};
    ///
    /// let mut dense = find("dense-mm")?.prepare(Size::Small, Grain::Fine, 42);
    /// let (computation, accesses) = dense.record_accesses(Meter::new(&mut Reading::default, 0))?;
    /// assert!(computation.strands().any(|strand| !accesses.of(strand).is_empty()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`record`](Self::record).
    fn record_accesses(&mut self, meter: Meter<'_>) -> Result<(Computation, Accesses), BuildError>;

    /// Resets, computes and digests. Times only the computation, including the entry into the pool.
    fn run(&mut self, on: Runtime<'_>) -> Run {
        self.reset();
        let start = Instant::now();
        self.compute(on);
        let time = start.elapsed();
        Run { time, checksum: self.checksum() }
    }
}

/// The result of one run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Wall-clock time of the computation.
    pub time: Duration,
    /// Digest of its result.
    pub checksum: Checksum,
}

/// A workload as its author writes it: once, for every runtime.
pub(crate) trait Kernel: Send {
    fn input(&self) -> String;
    fn reset(&mut self) {}
    fn compute<F: Fork>(&mut self, fork: &mut F);
    /// The computation in continuation-passing style, if the workload has that form.
    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        let _ = pool;
        false
    }
    fn checksum(&self) -> Checksum;
    fn check(&self) -> Result<(), String>;
}

/// A line of the registry.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) suite: Suite,
    pub(crate) bound: Bound,
    pub(crate) prepare: fn(Size, Grain, u64) -> Box<dyn Prepared>,
}

impl Workload for Entry {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn suite(&self) -> Suite {
        self.suite
    }

    fn bound(&self) -> Bound {
        self.bound
    }

    fn prepare(&self, size: Size, grain: Grain, seed: u64) -> Box<dyn Prepared> {
        (self.prepare)(size, grain, seed)
    }
}

/// Makes a kernel ready for the registry.
pub(crate) fn prepared<K: Kernel + 'static>(kernel: K) -> Box<dyn Prepared> {
    Box::new(Instance(kernel))
}

struct Instance<K>(K);

struct Continued<'a, W>(&'a mut W);

impl<W: Kernel> Visit for Continued<'_, W> {
    type Out = bool;

    fn visit<K: Discipline>(self, pool: &mut Pool<K>) -> bool {
        self.0.continue_on(pool)
    }
}

impl<K: Kernel> Prepared for Instance<K> {
    fn input(&self) -> String {
        self.0.input()
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn compute(&mut self, on: Runtime<'_>) {
        match on {
            Runtime::Serial => self.0.compute(&mut Serial),
            Runtime::Bombyx(pool) => pool.run(|| self.0.compute(&mut Bombyx)),
            Runtime::Timed(pool, time) => pool.run(|| Timed::run(time, |fork| self.0.compute(fork))),
            #[cfg(feature = "peers")]
            Runtime::Rayon(pool) => pool.install(|| self.0.compute(&mut crate::Rayon)),
            #[cfg(feature = "peers")]
            Runtime::Chili(pool) => crate::Chili::enter(pool, |fork| self.0.compute(fork)),
        }
    }

    fn continue_on(&mut self, pool: &mut RwPool) -> bool {
        pool.visit(Continued(&mut self.0))
    }

    fn record(&mut self, meter: Meter<'_>) -> Result<Computation, BuildError> {
        self.reset();
        let mut recorder = Recorder::new(meter);
        self.0.compute(&mut recorder);
        recorder.finish()
    }

    fn record_accesses(&mut self, meter: Meter<'_>) -> Result<(Computation, Accesses), BuildError> {
        self.reset();
        let mut recorder = Recorder::with_accesses(meter);
        self.0.compute(&mut recorder);
        let computation = recorder.finish()?;
        Ok((computation, Recorder::accesses()))
    }

    fn checksum(&self) -> Checksum {
        self.0.checksum()
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
}

/// `Ok` if `holds`, else the complaint. For the last line of a check.
pub(crate) fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(complaint()) }
}

impl Size {
    /// Chooses a parameter.
    pub(crate) fn pick<T>(self, small: T, default: T, large: T) -> T {
        match self {
            Size::Small => small,
            Size::Default => default,
            Size::Large => large,
        }
    }

    /// Chooses a parameter from those for small, default and large runs.
    pub(crate) fn of<T>(self, [small, default, large]: [T; 3]) -> T {
        self.pick(small, default, large)
    }
}

impl Grain {
    /// Chooses a leaf size.
    pub(crate) fn pick<T>(self, medium: T, fine: T) -> T {
        match self {
            Grain::Medium => medium,
            Grain::Fine => fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_round_trip() {
        for size in Size::ALL {
            assert_eq!(size.to_string().parse(), Ok(*size));
        }
        for grain in Grain::ALL {
            assert_eq!(grain.to_string().parse(), Ok(*grain));
        }
        for suite in Suite::ALL {
            assert_eq!(suite.to_string().parse(), Ok(*suite));
        }
        let error = "huge".parse::<Size>().unwrap_err();
        assert_eq!(error.to_string(), "there is no size `huge`; choose one of small, default, large");
    }

    #[test]
    fn checksums_see_order() {
        assert_ne!(Checksum::of([1, 2]), Checksum::of([2, 1]));
        assert_eq!(Checksum::of_floats(&[1.0]), Checksum::of([1f64.to_bits()]));
    }
}
