//! Schedulers: what idle, waiting and polled processors do. The fork path and joins are common to all; a
//! scheduler is a strategy on the slow path (design: "Fast path and joins are common").

mod beta;
pub(crate) mod heterogeneous;
pub(crate) mod join_resolution;
pub(crate) mod private_cas;
pub(crate) mod private_deques;
pub(crate) mod query;
pub(crate) mod read_write;
pub(crate) mod resolution;
pub(crate) mod speed;
pub(crate) mod work_stealing;

pub use beta::{Beta, BetaError};
pub(crate) use work_stealing::{Patience, Wait};

use crate::Error;
use crate::job::Entry;
use crate::processor::Processor;
use std::fmt;
use std::str::FromStr;

/// Which scheduler a pool uses. Parsed from, and printed as, its name.
///
/// ```
/// use bombyx::Scheduler;
/// let scheduler: Scheduler = "work-stealing".parse()?;
/// assert_eq!(scheduler, Scheduler::WorkStealing);
/// assert_eq!(scheduler.to_string(), "work-stealing");
/// let scheduler: Scheduler = "heterogeneous:1.25".parse()?;
/// assert_eq!(scheduler.to_string(), "heterogeneous:1.25");
/// assert!("wrok-stealing".parse::<Scheduler>().unwrap_err().to_string().contains("work-stealing"));
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduler {
    /// Random victim, oldest entry: Blumofe and Leiserson, §4.
    #[default]
    WorkStealing,
    /// The same on CPUs of different speeds: an idle processor that is more than β times as fast as a busy one with
    /// an empty deque exchanges CPUs with it. Bender and Rabin, §3. Processors are [pinned](crate::Builder::pin).
    Heterogeneous(Beta),
    /// Random victim, oldest entry, with loads and stores only: a thief leaves a query, its victim answers when it polls;
    /// the sides of a join exchange messages. Acar, Charguéraud, Muller and Rainey, §4.
    ReadWrite,
    /// The same steals (§4.3), with joins as in the other schedulers.
    ReadWriteSteals,
    /// The baseline that they compare with: the same with queries left by compare-and-swap.
    PrivateCas,
}

impl Scheduler {
    /// The names of all schedulers.
    pub const NAMES: &[&str] =
        &["work-stealing", "heterogeneous:BETA", "read-write", "read-write-steals", "private-cas"];

    /// Whether nobody but its holder touches the deque of a processor.
    pub(crate) fn has_private_deques(self) -> bool {
        matches!(self, Scheduler::ReadWrite | Scheduler::ReadWriteSteals | Scheduler::PrivateCas)
    }
}

impl FromStr for Scheduler {
    type Err = Error;

    fn from_str(name: &str) -> Result<Scheduler, Error> {
        let (kind, parameter) = match name.trim().split_once(':') {
            Some((kind, parameter)) => (kind, Some(parameter)),
            None => (name.trim(), None),
        };
        match (kind, parameter) {
            ("work-stealing", None) => Ok(Scheduler::WorkStealing),
            ("read-write", None) => Ok(Scheduler::ReadWrite),
            ("read-write-steals", None) => Ok(Scheduler::ReadWriteSteals),
            ("private-cas", None) => Ok(Scheduler::PrivateCas),
            ("heterogeneous", beta) => {
                beta.unwrap_or_default().parse().map(Scheduler::Heterogeneous).map_err(Error::Beta)
            }
            _ => Err(Error::UnknownScheduler(name.to_owned())),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduler::WorkStealing => f.write_str("work-stealing"),
            Scheduler::ReadWrite => f.write_str("read-write"),
            Scheduler::ReadWriteSteals => f.write_str("read-write-steals"),
            Scheduler::PrivateCas => f.write_str("private-cas"),
            Scheduler::Heterogeneous(beta) => write!(f, "heterogeneous:{beta}"),
        }
    }
}

// ---- The strategies: which scheduler answers when the runtime asks ------------------------------------

/// The next entry for an idle processor, or None when it has searched long enough. The caller is counted as a
/// searcher, and no longer when an entry is found.
pub(crate) fn search(processor: &Processor) -> Option<Entry> {
    match processor.commons().config.scheduler {
        Scheduler::WorkStealing | Scheduler::Heterogeneous(_) => work_stealing::search(processor),
        Scheduler::ReadWrite => read_write::search(processor),
        Scheduler::ReadWriteSteals => read_write::search_steals(processor),
        Scheduler::PrivateCas => private_cas::search(processor),
    }
}

/// One round of waiting for something whose descendants have the root `key`.
pub(crate) fn wait(
    patience: &mut Patience,
    processor: &Processor,
    key: usize,
    done: impl Fn() -> bool,
) -> Wait {
    match processor.commons().config.scheduler {
        Scheduler::WorkStealing | Scheduler::Heterogeneous(_) => patience.wait(processor, key, done),
        Scheduler::ReadWrite => read_write::wait(patience, processor, key, &done),
        Scheduler::ReadWriteSteals => read_write::wait_steals(patience, processor, key, &done),
        Scheduler::PrivateCas => private_cas::wait(patience, processor, key, &done),
    }
}

/// What a processor still has itself.
pub(crate) fn take_own(processor: &Processor) -> Option<Entry> {
    match processor.commons().config.scheduler {
        Scheduler::WorkStealing | Scheduler::Heterogeneous(_) => work_stealing::take_own(processor),
        _ => private_deques::take_own(processor),
    }
}

/// Whatever can be had now, for a carrier that cannot hand its processor over.
pub(crate) fn take_anything(processor: &Processor) -> Option<Entry> {
    match processor.commons().config.scheduler {
        Scheduler::WorkStealing | Scheduler::Heterogeneous(_) => work_stealing::take_anything(processor),
        Scheduler::ReadWrite => read_write::take_anything(processor),
        Scheduler::ReadWriteSteals => read_write::take_anything_steals(processor),
        Scheduler::PrivateCas => private_cas::take_anything(processor),
    }
}

/// The processor has nothing to run: its carrier waits.
pub(crate) fn cease(processor: &Processor) {
    match processor.commons().config.scheduler {
        Scheduler::WorkStealing | Scheduler::Heterogeneous(_) => processor.set_busy(false),
        Scheduler::ReadWrite => read_write::cease(processor),
        Scheduler::ReadWriteSteals => read_write::cease_steals(processor),
        Scheduler::PrivateCas => private_cas::cease(processor),
    }
}
