//! The schedulers: one file each, and the table that names them.
//!
//! **Not here:** time, contention and bookkeeping. The engine does those.
//!
//! A scheduler is a [`Policy`]: where ready threads wait, and what a processor does when its thread spawns, stalls,
//! dies or enables another. The engine does everything else: time, join edges, random choices, contention,
//! accounting, traces, invariants.
//!
//! # To add a scheduler
//! 1. Write `scheduler/yours.rs` with a struct that implements [`Policy`] and a function
//!    `pub(super) fn policy(setup: &Setup) -> Box<dyn Policy>` (with the parameter as second argument, if it has
//!    one). [`fifo`] is the shortest example of a shared pool, [`work_stealing`] of deques.
//! 2. Add one line to the table below: the variant, its spelling, its module.
//!
//! Spelling, parsing, the conformance tests and golden traces follow from the table.
//!
//! # What happens at an instant
//! All strands that end at the same tick end together: first their join edges are resolved and their children born,
//! then the rules are applied processor by processor, then steal attempts are served, then idle processors are
//! given work ([`Policy::settle`]). So an instruction is ready exactly if all its predecessors were executed in
//! earlier steps, and a thief that asks during a step finds what the step's instructions left.

mod deques;
mod meter;
mod pool;
mod ready;
mod setup;

use crate::ProcessorId;
use crate::machine::Machine;
use crate::mutation::Mutation;
use crate::trace::AttemptResult;
use bombyx_base::scheduler::{self as names, Parameter, RunsOn};
use bombyx_dag::{StrandId, ThreadId};
use std::fmt;
use std::str::FromStr;

pub use bombyx_base::{Beta, Quota, SchedulerError};
pub use meter::Tariff;
pub use ready::{Deque, Ready};
pub use setup::{Metering, Setup};

/// The rules of a scheduler. See the [module](self) documentation for when they are applied.
///
/// A rule must leave its processor with an order: work, steal or rest.
pub trait Policy {
    /// The run begins with the root thread ready and every processor idle.
    fn begin(&mut self, m: &mut Machine<'_>);

    /// `p`'s thread `parent` has spawned `child`. Both are ready.
    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId);

    /// `p`'s thread cannot go on: its next strand waits for a join edge.
    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId);

    /// `p`'s thread has executed its last strand.
    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId);

    /// `p`'s thread has resolved the last join edge that the stalled `thread` waited for. This comes before the rule
    /// for what else `p`'s thread did (BL §4), and needs no order.
    fn enabled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId);

    /// `p`'s thread has ended a strand and can go on.
    fn continued(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        m.work(p, thread);
    }

    /// `p` has crashed and lost what it had done of its strand. `thread` is ready, and must be executed by another
    /// processor, or by `p` once it is back. What else `p` holds stays where it is.
    fn crashed(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.enabled(m, p, thread);
        m.rest(p);
    }

    /// Whether `p` may begin `strand` of `thread` now. If not, the policy has given `p` another order.
    fn admit(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId, strand: StrandId) -> bool {
        let _ = (m, p, thread, strand);
        true
    }

    /// Whether the policy wants to be told of every strand that was [`executed`](Self::executed), to meter memory.
    fn is_metered(&self) -> bool {
        false
    }

    /// `p` has executed a strand; the rules for it follow.
    fn executed(&mut self, p: ProcessorId, strand: StrandId) {
        let _ = (p, strand);
    }

    /// The queue in which a thief that chose `slot` among P waits, or `None` if it chose a deque that does not exist.
    fn queue(&self, slot: u32) -> Option<u32> {
        Some(slot)
    }

    /// The processor that answers for a queue, if one does.
    fn victim(&self, queue: u32) -> Option<ProcessorId> {
        Some(ProcessorId(queue))
    }

    /// A thief's request is served. On success the policy has given `thief` its work.
    fn attempt(&mut self, m: &mut Machine<'_>, thief: ProcessorId, queue: u32) -> AttemptResult {
        let _ = (m, thief, queue);
        AttemptResult::Empty
    }

    /// Whether some attempt could succeed in the present state. While it is false the engine passes over attempts.
    fn may_succeed(&self, m: &Machine<'_>) -> bool {
        let _ = m;
        true
    }

    /// All rules of this instant have been applied: give work to idle processors, preempt others.
    fn settle(&mut self, m: &mut Machine<'_>) {
        let _ = m;
    }

    /// Whether [`settle`](Self::settle) must be called after every single instruction, not only after strands.
    fn settles_every_instruction(&self) -> bool {
        false
    }

    /// How many deques there are.
    fn deque_count(&self) -> usize {
        0
    }

    /// Where the ready threads wait, for invariants and pictures.
    fn ready(&self) -> Ready;
}

macro_rules! schedulers {
    ($( $(#[$doc:meta])* $variant:ident $(($parameter:ident))? = $name:literal in $module:ident; )*) => {
        $(pub mod $module;)*

        /// Every scheduler of the simulator, spelled as on the command line: `work-stealing`, `dfdeques:50000`,
        /// `heterogeneous:1.5`.
        ///
        /// ```
        /// use bombyx_sim::{Quota, Scheduler};
        /// let scheduler: Scheduler = "dfdeques:50000".parse().unwrap();
        /// assert_eq!(scheduler, Scheduler::Dfdeques(Quota::of(50_000)));
        /// assert_eq!(scheduler.to_string(), "dfdeques:50000");
        /// assert!("dfdeques".parse::<Scheduler>().unwrap_err().to_string().contains("dfdeques:K"));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Scheduler {
            $( $(#[$doc])* $variant $(($parameter))?, )*
        }

        impl Scheduler {
            /// How every scheduler is spelled, with the names of parameters: `greedy`, …, `dfdeques:K`.
            pub const SPELLINGS: &'static [&'static str] = &names::IN_SIMULATOR;

            /// A policy for one run.
            pub fn policy(self, setup: &Setup) -> Box<dyn Policy> {
                match self {
                    $( schedulers!(@pattern $variant parameter $($parameter)?) =>
                        schedulers!(@build $module setup parameter $($parameter)?), )*
                }
            }
        }

        impl fmt::Display for Scheduler {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $( schedulers!(@pattern $variant parameter $($parameter)?) =>
                        schedulers!(@display f $name parameter $($parameter)?), )*
                }
            }
        }

        impl FromStr for Scheduler {
            type Err = SchedulerError;

            fn from_str(text: &str) -> Result<Self, SchedulerError> {
                let (name, parameter) = names::parse(text, RunsOn::Simulator)?;
                Ok(match name {
                    $( $name => schedulers!(@read $variant parameter $($parameter)?), )*
                    _ => unreachable!("the table of names has {name}, which the simulator does not know"),
                })
            }
        }
    };
    (@pattern $variant:ident $binding:ident) => { Self::$variant };
    (@pattern $variant:ident $binding:ident $parameter:ident) => { Self::$variant($binding) };
    (@build $module:ident $setup:ident $binding:ident) => { $module::policy($setup) };
    (@build $module:ident $setup:ident $binding:ident $parameter:ident) => { $module::policy($setup, $binding) };
    (@display $f:ident $name:literal $binding:ident) => { $f.write_str($name) };
    (@display $f:ident $name:literal $binding:ident $parameter:ident) => {
        write!($f, "{}:{}", $name, $binding)
    };
    (@read $variant:ident $given:ident) => { Self::$variant };
    (@read $variant:ident $given:ident $parameter:ident) => {
        match $given {
            Parameter::$parameter(value) => Self::$variant(value),
            _ => unreachable!("the table of names gives another parameter"),
        }
    };
}

schedulers! {
    /// BL §2: list scheduling of strands.
    Greedy = "greedy" in greedy;
    /// BL §3: one pool of living threads.
    BusyLeaves = "busy-leaves" in busy_leaves;
    /// BL §4: a deque per processor, random victims.
    WorkStealing = "work-stealing" in work_stealing;
    /// DFD §3: a list of deques in depth-first order, and a memory quota.
    Dfdeques(Quota) = "dfdeques" in dfdeques;
    /// DFD §2.2: one list of ready threads in depth-first order, and a memory quota.
    DepthFirst(Quota) = "depth-first" in depth_first;
    /// DFD §5: one queue of ready threads.
    Fifo = "fifo" in fifo;
    /// HET §2: the fastest processors work.
    MaximumUtilization = "maximum-utilization" in maximum_utilization;
    /// HET Claim 3: the fastest processor on the longest path.
    CriticalPath = "critical-path" in critical_path;
    /// HET §2: maximum utilization up to a factor β.
    HighUtilization(Beta) = "high-utilization" in high_utilization;
    /// HET §3: work stealing with muggings.
    Heterogeneous(Beta) = "heterogeneous" in heterogeneous;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_read_back() {
        for spelling in Scheduler::SPELLINGS {
            for value in ["1", "50000", "1.5", "4/3", "inf"] {
                let text =
                    spelling.replace(":K", &format!(":{value}")).replace(":BETA", &format!(":{value}"));
                let takes = match spelling.split_once(':') {
                    Some((_, "K")) => !value.contains(['.', '/']),
                    Some(_) => value != "inf",
                    None => true,
                };
                match text.parse::<Scheduler>() {
                    Ok(scheduler) => assert!(takes && scheduler.to_string() == text, "{text}"),
                    Err(error) => assert!(!takes && error.to_string().contains(spelling), "{error}"),
                }
            }
        }
    }

    #[test]
    fn there_is_no_quota_to_be_found() {
        assert!("dfdeques:auto".parse::<Scheduler>().is_err());
    }
}
