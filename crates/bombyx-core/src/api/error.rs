//! What can go wrong when a pool is built.

use crate::machine::pool::config::Threads;
use crate::scheduler::Scheduler;
use bombyx_base::SchedulerError;
use std::fmt;
use std::io;
use std::str::FromStr;

/// The most processors that a pool can have.
pub(super) const MAX_PROCESSORS: usize = 1 << 12;
/// The limits of stack sizes, in bytes.
pub(super) const MIN_STACK: usize = 16 << 10;
pub(super) const MAX_STACK: usize = 1 << if usize::BITS > 32 { 40 } else { 30 };

/// Why a pool could not be built. The message says what to do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The number of processors is zero or too large.
    Processors(String),
    /// The stack size is out of range.
    StackSize(usize),
    /// No scheduler has this name, or the scheduler does not take this parameter.
    Scheduler(SchedulerError),
    /// `heterogeneous` needs a second CPU to exchange with.
    OneCpu,
    /// There is a global pool already.
    GlobalPoolExists,
    /// The thread that should become the first carrier already runs in a pool.
    CurrentThreadInPool,
    /// The system refused to start a thread.
    Thread(io::Error),
    /// Processors cannot be pinned to CPUs here.
    Pin(String),
    /// `BOMBYX_THREADS` is neither `fixed` nor `moving`.
    Threads(String),
    /// The scheduler has to move threads.
    FixedThreads(crate::Scheduler),
    /// The number of processors cannot change in this kind of pool.
    NotResizable,
    /// The limit of carriers is lower than the number of processors.
    MaxCarriers {
        /// The limit.
        limit: usize,
        /// The number of processors.
        processors: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Processors(given) => {
                write!(
                    f,
                    "the number of processors must be between 1 and {}, not {given}",
                    MAX_PROCESSORS
                )
            }
            Error::StackSize(given) => write!(
                f,
                "a stack size of {given} bytes is not usable: choose at least {} KiB and less than {} GiB",
                MIN_STACK >> 10,
                MAX_STACK >> 30
            ),
            Error::Scheduler(error) => error.fmt(f),
            Error::OneCpu => f.write_str(
                "heterogeneous exchanges CPUs between processors, and this process may use only one: \
                 use work-stealing, or allow the process more CPUs",
            ),
            Error::NotResizable => f.write_str(
                "the number of processors cannot change with fixed threads or with the scheduler heterogeneous, \
                 because each thread or CPU belongs to one processor",
            ),
            Error::GlobalPoolExists => f.write_str(
                "there is a global pool already: call build_global before anything uses it, and only once",
            ),
            Error::CurrentThreadInPool => f.write_str(
                "the current thread runs in a pool already: build the pool on another thread, or without use_current_thread",
            ),
            Error::Thread(error) => {
                write!(
                    f,
                    "the system refused to start a thread ({error}): use fewer processors or a smaller stack"
                )
            }
            Error::Pin(reason) => write!(f, "processors cannot be pinned to CPUs: {reason}"),
            Error::Threads(given) => {
                write!(f, "the threads of a pool are `fixed` or `moving`, not `{given}`")
            }
            Error::FixedThreads(scheduler) => write!(
                f,
                "the scheduler {scheduler} has to move its threads: use work-stealing for a pool with fixed threads"
            ),
            Error::MaxCarriers { limit, processors } => write!(
                f,
                "max_carriers({limit}) is less than the {processors} processors: every processor needs a carrier"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Thread(error) => Some(error),
            Error::Scheduler(error) => Some(error),
            _ => None,
        }
    }
}

impl From<SchedulerError> for Error {
    fn from(error: SchedulerError) -> Error {
        Error::Scheduler(error)
    }
}

impl FromStr for Scheduler {
    type Err = Error;

    fn from_str(given: &str) -> Result<Scheduler, Error> {
        Ok(Scheduler::named(given.trim())?.checked()?)
    }
}

impl FromStr for Threads {
    type Err = Error;

    fn from_str(given: &str) -> Result<Threads, Error> {
        match given.trim() {
            "fixed" => Ok(Threads::Fixed),
            "moving" => Ok(Threads::Moving),
            _ => Err(Error::Threads(given.to_owned())),
        }
    }
}
