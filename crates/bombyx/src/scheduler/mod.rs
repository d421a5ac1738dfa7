//! Schedulers: what idle, waiting and polled processors do. The fork path and joins are common to all; a
//! scheduler is a strategy on the slow path (design: "Fast path and joins are common").

pub(crate) mod work_stealing;

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
/// assert!("wrok-stealing".parse::<Scheduler>().unwrap_err().to_string().contains("work-stealing"));
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduler {
    /// Random victim, oldest entry: Blumofe and Leiserson, §4.
    #[default]
    WorkStealing,
}

impl Scheduler {
    /// The names of all schedulers.
    pub const NAMES: &[&str] = &["work-stealing"];
}

impl FromStr for Scheduler {
    type Err = Error;

    fn from_str(name: &str) -> Result<Scheduler, Error> {
        match name.trim() {
            "work-stealing" => Ok(Scheduler::WorkStealing),
            _ => Err(Error::UnknownScheduler(name.to_owned())),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduler::WorkStealing => f.write_str("work-stealing"),
        }
    }
}
