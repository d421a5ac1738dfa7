//! What a pool was built with.

use crate::machine::handlers::Handlers;
use crate::machine::observer::Observer;
use crate::machine::strategy::{Child, Strategy};
use crate::machine::tracer::Tracer;
use crate::system::affinity::CpuSet;
use crate::system::process::Generation;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;

/// Whether the threads of a pool are fixed. Parsed from, and printed as, `fixed` or `moving`.
///
/// ```
/// use bombyx::Threads;
/// assert_eq!("fixed".parse::<Threads>()?, Threads::Fixed);
/// assert_eq!(Threads::Moving.to_string(), "moving");
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// A thread that waits gives its processor to another thread, so there are more threads than processors. A lock that is
    /// held across a `join` cannot deadlock with other work of the pool, and the bounds on time and space hold.
    #[default]
    Moving,
    /// Exactly one thread per processor, for the life of the pool: [`crate::current_processor`] of a thread never changes.
    /// A thread that waits helps with what it waits for. It runs other work on top of its stack only if no other thread
    /// takes that work.
    Fixed,
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Threads::Fixed => "fixed",
            Threads::Moving => "moving",
        })
    }
}

/// The names of carriers, by their numbers.
pub(crate) type Names = Arc<Mutex<Vec<String>>>;

/// What a pool was built with.
pub(crate) struct Config {
    /// The generation of the process that builds the pool.
    pub(crate) generation: Generation,
    /// How many processors there are.
    pub(crate) processors: usize,
    /// How many of them are in service at first.
    pub(crate) in_service: usize,
    pub(crate) threads: Threads,
    pub(crate) strategy: Box<dyn Strategy>,
    /// The name of the scheduler in reports.
    pub(crate) scheduler: String,
    pub(crate) stack_size: Option<usize>,
    pub(crate) names: Option<Names>,
    pub(crate) max_carriers: usize,
    pub(crate) seed: u64,
    pub(crate) pin: bool,
    /// The CPUs that carriers ask for when they start; None if they inherit what they need.
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) deterministic: bool,
    /// Whether waits keep to the order of the deque.
    pub(crate) ordered: bool,
    pub(crate) handlers: Handlers,
    /// Whether the pool's closures may run on the stacks of its callers.
    pub(crate) lends: bool,
    /// Whether forks never rely on the heavy barrier ([`crate::system::barrier`]).
    pub(crate) fence: bool,
    /// Whether living threads are counted, and if so, which half of a join is one.
    pub(crate) counts: Option<Child>,
    /// Whether somebody wants to know what is allocated.
    pub(crate) metered: bool,
    /// How many cores the process may use.
    pub(crate) cores: usize,
    /// The profiler, if the pool has one.
    pub(crate) observer: Option<Box<dyn Observer>>,
    /// The tracer, if the pool has one.
    pub(crate) tracer: Option<Box<dyn Tracer>>,
}

impl Config {
    /// A builder for a thread that runs the pool's closures.
    pub(crate) fn thread(&self, name: Option<&str>) -> thread::Builder {
        let builder = thread::Builder::new();
        let builder = name.into_iter().fold(builder, |builder, name| builder.name(name.to_owned()));
        self.stack_size.into_iter().fold(builder, thread::Builder::stack_size)
    }
}
