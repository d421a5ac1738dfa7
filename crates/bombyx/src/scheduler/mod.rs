//! Schedulers: what idle, waiting and polled processors do. The fork path and joins are common to all; a
//! scheduler is a strategy on the slow path (design: "Fast path and joins are common").

mod beta;
pub(crate) mod heterogeneous;
pub(crate) mod speed;
pub(crate) mod work_stealing;

pub use beta::{Beta, BetaError};

use crate::Error;
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
}

impl Scheduler {
    /// The names of all schedulers.
    pub const NAMES: &[&str] = &["work-stealing", "heterogeneous:BETA"];
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
            Scheduler::Heterogeneous(beta) => write!(f, "heterogeneous:{beta}"),
        }
    }
}
