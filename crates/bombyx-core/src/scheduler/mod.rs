//! The schedulers: what idle, waiting and attending processors do. Each scheduler is a type that implements
//! [`Strategy`], in its own file or folder.
//!
//! **Not here:** forks, joins and hand-overs, which are the same for all schedulers ([`crate::machine`]); and the structures
//! in which entries wait ([`crate::protocol`]).
//!
//! The table below lists them all. To add a scheduler, write its file and add its line. From that line come the variant
//! of [`Scheduler`], its name, how the name is parsed and printed, and the value that a pool asks.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the table |
//! | `work_stealing/`, `heterogeneous/` | `work-stealing`; the exchange of CPUs, which `heterogeneous` adds |
//! | `dfdeques/` | `dfdeques` |
//! | `shared_pool/` | `depth-first`, `fifo`, `busy-leaves` |
//! | `private_deques/` | `read-write`, `read-write-steals`, `private-cas` |
//! | `give_up.rs` | how a frame gives way when the quota is used up, or when it is another frame's turn |
//! | `round_robin.rs` | the worked example |

#[cfg(feature = "schedulers")]
mod dfdeques;
#[cfg(feature = "schedulers")]
mod give_up;
#[cfg(feature = "schedulers")]
mod heterogeneous;
#[cfg(feature = "schedulers")]
mod private_deques;
#[cfg(feature = "example-scheduler")]
mod round_robin;
#[cfg(feature = "schedulers")]
mod shared_pool;
mod work_stealing;

pub use bombyx_base::{Beta, BetaError, Quota, QuotaError, SchedulerError};

use crate::machine::strategy::{AnyCpus, Strategy};
use bombyx_base::scheduler::{self as names, Parameter, RunsOn};
#[cfg(feature = "example-scheduler")]
use round_robin::RoundRobin;
use std::fmt;
use work_stealing::WorkStealing;
#[cfg(feature = "schedulers")]
use {
    dfdeques::Dfdeques,
    heterogeneous::Heterogeneous,
    private_deques::PrivateDeques,
    private_deques::private_cas::Cas,
    private_deques::read_write::{Steals, StealsAndJoins},
    shared_pool::{Shared, busy_leaves, depth_first, fifo},
    std::sync::Arc,
};

/// A line of the table has the name of a scheduler, its variant, and the strategy for a pool of `$processors`
/// processors. A parameter is given in parentheses, with its type, which parses and prints it, and with its letter in
/// the list of names. A line may end with the feature that adds it.
macro_rules! schedulers {
    (
        for a pool of $processors:ident:
        $(
            $(#[$about:meta])*
            $name:literal => $Variant:ident $(($parameter:ident: $Type:ident = $letter:literal))?,
            $strategy:expr $(, if $cfg:meta)?;
        )*
    ) => {
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
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Scheduler {
            $($(#[$about])* $(#[cfg($cfg)])? $Variant $(($Type))?,)*
        }

        impl Scheduler {
            /// The names of all schedulers.
            pub const NAMES: &[&str] = &[$($(#[cfg($cfg)])? concat!($name $(, ":", $letter)?),)*];

            /// The scheduler with this name.
            pub(crate) fn named(given: &str) -> Result<Scheduler, SchedulerError> {
                $($(#[cfg($cfg)])?
                schedulers!(@plain given, $name, $Variant $(, $Type)?);)*
                let (name, parameter) = names::parse(given, RunsOn::Threads)?;
                $($(#[cfg($cfg)])?
                schedulers!(@with name, parameter, $name, $Variant $(, $Type)?);)*
                let _ = parameter;
                Err(SchedulerError::NotBuilt { name, feature: "schedulers" })
            }

            /// The strategy of a pool with this many processors.
            pub(crate) fn strategy(self, $processors: usize) -> Box<dyn Strategy> {
                // Work stealing alone does not ask.
                let _ = $processors;
                match self {
                    $($(#[cfg($cfg)])? Scheduler::$Variant $(($parameter))? => $strategy,)*
                }
            }
        }

        impl fmt::Display for Scheduler {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[cfg($cfg)])? Scheduler::$Variant $(($parameter))? => {
                        f.write_str($name)?;
                        $(write!(f, ":{}", $parameter)?;)?
                    })*
                }
                Ok(())
            }
        }
    };
    // What follows the variant tells schedulers with a parameter from those without.
    (@plain $given:ident, $name:literal, $Variant:ident) => {
        if $given == $name {
            return Ok(Scheduler::$Variant);
        }
    };
    (@plain $given:ident, $name:literal, $Variant:ident, $Type:ident) => {};
    (@with $found:ident, $parameter:ident, $name:literal, $Variant:ident) => {};
    (@with $found:ident, $parameter:ident, $name:literal, $Variant:ident, $Type:ident) => {
        if let ($name, Parameter::$Type(parameter)) = ($found, $parameter) {
            return Ok(Scheduler::$Variant(parameter));
        }
    };
}

schedulers! {
    for a pool of processors:
    /// Random victim, oldest entry: Blumofe and Leiserson, §4.
    "work-stealing" => WorkStealing, Box::new(WorkStealing { cpus: AnyCpus });
    /// A list of deques in the order of the serial execution, and a memory quota: Narlikar, §3. Without a quota, this
    /// is work stealing.
    "dfdeques" => DfDeques(quota: Quota = "K"), match quota {
        Quota::Infinite => Box::new(WorkStealing { cpus: AnyCpus }),
        quota => Box::new(Dfdeques::new(quota, processors)),
    }, if feature = "schedulers";
    /// One list of ready threads in the order of the serial execution, and a memory quota: Narlikar, §2.2 and §5.
    "depth-first" => DepthFirst(quota: Quota = "K"),
        Box::new(Shared::new(depth_first::RULES, quota.limit(), processors)), if feature = "schedulers";
    /// One queue of ready threads: Narlikar, §5.
    "fifo" => Fifo, Box::new(Shared::new(fifo::RULES, i64::MAX, processors)), if feature = "schedulers";
    /// One pool of living threads whose leaves are always worked on: Blumofe and Leiserson, §3.
    "busy-leaves" => BusyLeaves, Box::new(Shared::new(busy_leaves::RULES, i64::MAX, processors)),
        if feature = "schedulers";
    /// Work stealing on CPUs of different speeds: an idle processor that is more than β times as fast as a busy one
    /// with an empty deque exchanges CPUs with it. Bender and Rabin, §3. Processors are [pinned](crate::Builder::pin).
    "heterogeneous" => Heterogeneous(beta: Beta = "BETA"),
        Box::new(WorkStealing { cpus: Arc::new(Heterogeneous::new(beta, processors)) }), if feature = "schedulers";
    /// Random victim, oldest entry, with loads and stores only. A thief leaves a query, and its victim answers when it
    /// polls. The two sides of a join exchange messages. Acar, Charguéraud, Muller and Rainey, §4.
    ///
    /// The paper's threads are heap objects with continuations, and its idle processors spin for ever. Here closures wait
    /// on stacks, and idle processors sleep. So these things differ (the crate `bombyx-rw` runs the paper's scheduler to
    /// the letter):
    ///
    /// - An idle processor closes its round. The paper's sends a query to itself (Figure 6, `block`), and must repeat it.
    /// - A processor that goes to sleep withdraws its query, with `membarrier`. Its waker uses locked instructions.
    ///   If it had asked in vain, it is given an entry, by compare-and-swap ([`PrivateDequeStats::gifts`](crate::PrivateDequeStats::gifts)).
    /// - Only right halves are watched. The frame of the left half waits or helps, and takes the join itself (Figure 7).
    /// - A frame that leaves its processor asks the right half first. If no answer comes, it leaves by `membarrier`.
    /// - A processor that helps sets the waiting frame's watch list aside.
    "read-write" => ReadWrite, Box::new(PrivateDeques::<StealsAndJoins>::new()), if feature = "schedulers";
    /// The steals of `read-write` (§4.3), with the same differences from the paper. Joins are as in the other schedulers: by
    /// a latch and a locked instruction.
    "read-write-steals" => ReadWriteSteals, Box::new(PrivateDeques::<Steals>::new()), if feature = "schedulers";
    /// The baseline that the authors of `read-write` compare with: thieves leave their queries by compare-and-swap.
    "private-cas" => PrivateCas, Box::new(PrivateDeques::<Cas>::new()), if feature = "schedulers";
    /// An example: work stealing that asks victims in turn. Only with the feature `example-scheduler`.
    "round-robin" => RoundRobin, Box::new(RoundRobin::new(processors)), if feature = "example-scheduler";
}

// Not derived: the table has no place for `#[default]`.
#[allow(clippy::derivable_impls)]
impl Default for Scheduler {
    fn default() -> Scheduler {
        Scheduler::WorkStealing
    }
}

impl Scheduler {
    /// Whether a pool with this scheduler can have [fixed threads](crate::Threads::Fixed). The other schedulers give a
    /// processor to another thread when a quota is used up, or when it is another thread's turn.
    ///
    /// ```
    /// use bombyx::Scheduler;
    /// assert!(Scheduler::WorkStealing.allows_fixed_threads());
    /// assert!(!Scheduler::BusyLeaves.allows_fixed_threads());
    /// ```
    pub fn allows_fixed_threads(self) -> bool {
        self.strategy(1).allows_fixed_threads()
    }

    /// Refuses a quota that cannot be chosen while the program runs.
    pub(crate) fn checked(self) -> Result<Scheduler, SchedulerError> {
        match self {
            #[cfg(feature = "schedulers")]
            Scheduler::DepthFirst(Quota::Auto) => {
                Err(SchedulerError::quota(self.to_string(), "depth-first:K"))
            }
            scheduler => Ok(scheduler),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_schedulers_that_are_listed() {
        let built = |name: &&str| cfg!(feature = "schedulers") || *name == "work-stealing";
        let listed: Vec<&str> = names::ON_THREADS.into_iter().filter(built).collect();
        // The table may have more. They take no parameter, because only listed schedulers do.
        let (found, more): (Vec<&str>, Vec<&str>) =
            Scheduler::NAMES.iter().partition(|name| names::ON_THREADS.contains(name));
        assert_eq!(found, listed);
        for name in more {
            assert_eq!(Scheduler::named(name).unwrap().to_string(), name);
        }
    }
}
