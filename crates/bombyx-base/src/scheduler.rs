//! The names of all schedulers, in one table for threads and simulator, and how a name and its parameter are read.

use crate::{Beta, Paper, Quota, beta, nearest, quota};
use std::fmt;

/// A scheduler in the list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name with its parameter's letter: `work-stealing`, `dfdeques:K`.
    pub spelling: &'static str,
    /// The paper that proposed it, and the section.
    pub source: (Paper, &'static str),
    /// What it does, in one line.
    pub about: &'static str,
    /// Whether pools of threads have it.
    pub on_threads: bool,
    /// Whether the simulator has it.
    pub in_simulator: bool,
}

impl Entry {
    /// The name without the parameter.
    pub fn name(&self) -> &'static str {
        self.spelling.split_once(':').map_or(self.spelling, |(name, _)| name)
    }
}

const fn entry(spelling: &'static str, paper: Paper, section: &'static str, about: &'static str) -> Entry {
    Entry { spelling, source: (paper, section), about, on_threads: true, in_simulator: true }
}

const fn simulated(entry: Entry) -> Entry {
    Entry { on_threads: false, ..entry }
}

const fn threads(entry: Entry) -> Entry {
    Entry { in_simulator: false, ..entry }
}

/// Every scheduler.
pub const ALL: &[Entry] = &[
    entry(
        "work-stealing",
        Paper::Bl,
        "§4",
        "a deque per processor; idle processors steal the oldest entry of a random one",
    ),
    entry(
        "dfdeques:K",
        Paper::Dfd,
        "§3",
        "deques in depth-first order and a memory quota K: little space, good locality",
    ),
    entry(
        "depth-first:K",
        Paper::Dfd,
        "§2.2",
        "one list of ready threads in depth-first order, with a memory quota K",
    ),
    entry("fifo", Paper::Dfd, "§5", "one queue of ready threads: simple, and much memory"),
    entry(
        "busy-leaves",
        Paper::Bl,
        "§3",
        "one pool of living threads whose leaves are always at work: least memory",
    ),
    entry(
        "heterogeneous:BETA",
        Paper::Het,
        "§3",
        "work stealing where a processor BETA times as fast takes over a slow one's thread",
    ),
    threads(entry(
        "read-write",
        Paper::Rw,
        "§4",
        "private deques; thieves ask and joins answer with loads and stores only",
    )),
    threads(entry(
        "read-write-steals",
        Paper::Rw,
        "§4.3",
        "the steals of read-write, with the joins of work-stealing",
    )),
    threads(entry(
        "private-cas",
        Paper::Rw,
        "§5",
        "private deques with compare-and-swap: the baseline for read-write",
    )),
    simulated(entry(
        "greedy",
        Paper::Bl,
        "§2",
        "list scheduling: no processor idles while a strand is ready",
    )),
    simulated(entry("maximum-utilization", Paper::Het, "§2", "the fastest processors are always at work")),
    simulated(entry(
        "critical-path",
        Paper::Het,
        "Claim 3",
        "the fastest processor works on the longest path",
    )),
    simulated(entry("high-utilization:BETA", Paper::Het, "§2", "maximum utilization up to a factor BETA")),
];

/// Where a scheduler should run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsOn {
    /// A pool of threads.
    Threads,
    /// The simulator.
    Simulator,
}

impl RunsOn {
    const fn has(self, entry: &Entry) -> bool {
        match self {
            Self::Threads => entry.on_threads,
            Self::Simulator => entry.in_simulator,
        }
    }
}

const fn count(on: RunsOn) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < ALL.len() {
        count += on.has(&ALL[at]) as usize;
        at += 1;
    }
    count
}

const fn listed<const N: usize>(on: RunsOn) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut from, mut to) = (0, 0);
    while from < ALL.len() {
        if on.has(&ALL[from]) {
            names[to] = ALL[from].spelling;
            to += 1;
        }
        from += 1;
    }
    names
}

/// The schedulers of pools of threads.
pub const ON_THREADS: [&str; count(RunsOn::Threads)] = listed(RunsOn::Threads);
/// The schedulers of the simulator.
pub const IN_SIMULATOR: [&str; count(RunsOn::Simulator)] = listed(RunsOn::Simulator);

/// The parameter of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// It has none.
    None,
    /// K.
    Quota(Quota),
    /// BETA.
    Beta(Beta),
}

/// Reads the name of a scheduler and its parameter.
///
/// # Errors
/// If there is no such scheduler in that place, or its parameter is missing, superfluous or out of range. The error says
/// what to write.
///
/// ```
/// use bombyx_base::{Quota, scheduler::{Parameter, RunsOn, parse}};
/// let (name, parameter) = parse("dfdeques:50k", RunsOn::Threads).unwrap();
/// assert_eq!((name, parameter), ("dfdeques", Parameter::Quota(Quota::of(50_000))));
/// let typo = parse("wrok-stealing", RunsOn::Simulator).unwrap_err().to_string();
/// assert!(typo.contains("did you mean `work-stealing`?"));
/// ```
pub fn parse(text: &str, on: RunsOn) -> Result<(&'static str, Parameter), SchedulerError> {
    let text = text.trim();
    let (name, given) = text.split_once(':').map_or((text, None), |(name, given)| (name, Some(given)));
    let entry = ALL.iter().find(|entry| entry.name() == name);
    let Some(entry) = entry.filter(|entry| on.has(entry)) else {
        let elsewhere = entry.map(|_| on);
        return Err(SchedulerError::Unknown { given: text.to_owned(), on, elsewhere: elsewhere.is_some() });
    };
    let bad = |rule| SchedulerError::Parameter { given: text.to_owned(), spelling: entry.spelling, rule };
    let parameter = match entry.spelling.split_once(':').map(|(_, letter)| letter) {
        None if given.is_some() => return Err(bad("it takes no parameter")),
        None => Parameter::None,
        Some("K") => {
            let quota = given.and_then(|text| text.parse().ok());
            let auto = on == RunsOn::Threads && name == "dfdeques";
            Parameter::Quota(
                quota.filter(|quota| *quota != Quota::Auto || auto).ok_or_else(|| bad(quota::RULE))?,
            )
        }
        Some(_) => Parameter::Beta(given.and_then(|text| text.parse().ok()).ok_or_else(|| bad(beta::RULE))?),
    };
    Ok((entry.name(), parameter))
}

/// The text names no scheduler, or gives it a wrong parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchedulerError {
    /// No scheduler has this name.
    Unknown {
        /// What was given.
        given: String,
        /// Where it should run.
        on: RunsOn,
        /// Whether it exists in the other place.
        elsewhere: bool,
    },
    /// The parameter is missing, superfluous or out of range.
    Parameter {
        /// What was given.
        given: String,
        /// How the scheduler is spelled.
        spelling: &'static str,
        /// What its parameter must be.
        rule: &'static str,
    },
    /// There is such a scheduler, but the program was built without it.
    NotBuilt {
        /// Its name.
        name: &'static str,
        /// The feature of `bombyx` that adds it.
        feature: &'static str,
    },
}

impl SchedulerError {
    /// The error for a scheduler that was built in code, not parsed, with a quota that it cannot have.
    pub fn quota(given: String, spelling: &'static str) -> Self {
        Self::Parameter { given, spelling, rule: quota::RULE }
    }
}

impl fmt::Display for SchedulerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { given, on, elsewhere } => {
                let known: &[&str] = match on {
                    RunsOn::Threads => &ON_THREADS,
                    RunsOn::Simulator => &IN_SIMULATOR,
                };
                match (elsewhere, on) {
                    (true, RunsOn::Threads) => write!(f, "`{given}` is a scheduler of the simulator only; ")?,
                    (true, RunsOn::Simulator) => {
                        write!(f, "`{given}` runs on threads only, not in the simulator; ")?
                    }
                    (false, _) => {
                        write!(f, "unknown scheduler `{given}`; ")?;
                        let name = given.split(':').next().unwrap_or_default();
                        let names = known.iter().map(|known| known.split(':').next().unwrap_or_default());
                        if let Some(near) = nearest(name, names) {
                            write!(f, "did you mean `{near}`? ")?;
                        }
                    }
                }
                write!(f, "known: {}", known.join(", "))
            }
            Self::Parameter { given, spelling, rule } => {
                write!(f, "`{given}` should be spelled `{spelling}`: {rule}")
            }
            Self::NotBuilt { name, feature } => {
                write!(f, "`{name}` is not in this program: build it with the feature `{feature}` of bombyx")
            }
        }
    }
}

impl std::error::Error for SchedulerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_places_read_the_same_parameters_and_give_the_same_errors() {
        for entry in ALL.iter().filter(|entry| entry.on_threads && entry.in_simulator) {
            for value in ["", "0", "1", "50k", "1.5", "4/3", "inf", "-1", "1000000001", "0.9"] {
                let text = format!("{}:{value}", entry.name());
                assert_eq!(parse(&text, RunsOn::Threads), parse(&text, RunsOn::Simulator));
            }
            assert_eq!(parse(entry.name(), RunsOn::Threads), parse(entry.name(), RunsOn::Simulator));
        }
    }

    #[test]
    fn errors_say_what_to_write() {
        let error = |text: &str, on| parse(text, on).unwrap_err().to_string();
        assert_eq!(
            error("fifo:3", RunsOn::Simulator),
            "`fifo:3` should be spelled `fifo`: it takes no parameter"
        );
        for text in ["dfdeques", "dfdeques:", "dfdeques:0", "dfdeques:-1", "dfdeques:1K", "depth-first:auto"]
        {
            assert!(error(text, RunsOn::Threads).ends_with(quota::RULE), "{text}");
        }
        assert!(parse("dfdeques:auto", RunsOn::Threads).is_ok());
        assert!(error("dfdeques:auto", RunsOn::Simulator).ends_with(quota::RULE));
        assert!(
            error("greedy", RunsOn::Threads)
                .starts_with("`greedy` is a scheduler of the simulator only; known: work-stealing,")
        );
        assert!(error("read-write", RunsOn::Simulator).contains("runs on threads only"));
        assert!(error("heterogeneous:0.5", RunsOn::Threads).contains("at least 1"));
    }

    #[test]
    fn names_are_listed_once() {
        let mut names: Vec<_> = ALL.iter().map(Entry::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.iter().all(|entry| entry.on_threads || entry.in_simulator));
    }
}
