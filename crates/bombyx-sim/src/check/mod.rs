//! The papers' invariants, checked while a run goes on.
//!
//! **Not here:** theorems about whole runs. `bombyx-verify` has them.
//!
//! An [`Invariant`] is a lemma about the state between two steps. [`Simulation::check`](crate::Simulation::check)
//! checks it at every instant. The run ends with a [`Violation`] at the first state that breaks it. Checking looks at
//! all deques and living threads, so it suits small computations. For each invariant there is a
//! [`Mutation`](crate::Mutation) that breaks it.

mod critical;
mod deques;
mod leaves;
mod processors;

use crate::SimulationError;
use crate::machine::Machine;
use crate::scheduler::{Beta, Policy, Quota, Ready, Scheduler};
use bombyx_dag::{Class, Computation, StrandId};
use std::fmt;

/// A lemma of the papers about every state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invariant {
    /// BL §3: every living thread without living children has a processor working on it.
    BusyLeaves,
    /// BL Lemma 4: a deque is a chain of parents, and only its top may have been worked on since it spawned.
    Lemma4,
    /// BL Lemma 10: a critical instruction has at most one thread above it in its deque.
    Lemma10,
    /// LEC Lemma 3: depths fall strictly from the bottom of a deque to its top, and the thread that its owner works
    /// on is at least as deep as the bottom.
    DepthLemma,
    /// LEC Proposition 7: an instruction without unexecuted predecessors in G' is executing or on top of a deque.
    Proposition7,
    /// DFD Lemma 3.1: the deques of R from left to right, each led by its owner's running thread and then from
    /// bottom to top, hold the threads in the order of their priorities.
    Lemma31,
    /// BL §2: no processor is idle while a thread is ready.
    Greedy,
    /// HET §2: the fastest idle processor is at most β times as fast as the slowest busy one.
    HighUtilization,
}

impl Invariant {
    /// All invariants.
    pub const ALL: [Self; 8] = [
        Self::BusyLeaves,
        Self::Lemma4,
        Self::Lemma10,
        Self::DepthLemma,
        Self::Proposition7,
        Self::Lemma31,
        Self::Greedy,
        Self::HighUtilization,
    ];

    /// Whether the papers prove the invariant for a scheduler and a class of computations.
    pub fn applies(self, scheduler: Scheduler, class: Class) -> bool {
        let steals = matches!(
            scheduler,
            Scheduler::WorkStealing | Scheduler::Heterogeneous(_) | Scheduler::Dfdeques(Quota::Infinite)
        );
        let deques = matches!(scheduler, Scheduler::Dfdeques(_));
        match self {
            Self::BusyLeaves if scheduler == Scheduler::BusyLeaves => class <= Class::Strict,
            Self::BusyLeaves | Self::Lemma4 | Self::Lemma10 => steals && class <= Class::FullyStrict,
            Self::DepthLemma | Self::Proposition7 => steals && class <= Class::NestedParallel,
            Self::Lemma31 => deques && class <= Class::NestedParallel,
            Self::Greedy => !steals && !deques,
            Self::HighUtilization => threshold(scheduler).is_some(),
        }
    }
}

/// The β that a scheduler promises to keep.
fn threshold(scheduler: Scheduler) -> Option<Beta> {
    match scheduler {
        Scheduler::MaximumUtilization | Scheduler::CriticalPath => Some(Beta::ONE),
        Scheduler::HighUtilization(beta) => Some(beta),
        _ => None,
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BusyLeaves => "busy leaves (BL §3)",
            Self::Lemma4 => "BL Lemma 4",
            Self::Lemma10 => "BL Lemma 10",
            Self::DepthLemma => "depth lemma (LEC Lemma 3)",
            Self::Proposition7 => "LEC Proposition 7",
            Self::Lemma31 => "DFD Lemma 3.1",
            Self::Greedy => "greedy (BL §2)",
            Self::HighUtilization => "high utilization (HET §2)",
        })
    }
}

/// A state that breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was broken.
    pub invariant: Invariant,
    /// When.
    pub tick: u64,
    /// How.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at tick {} {} is broken: {}", self.tick, self.invariant, self.text)
    }
}

/// One invariant being checked.
trait Check {
    /// A strand has executed.
    fn executed(&mut self, strand: StrandId) {
        let _ = strand;
    }

    /// Looks at a state. If something is wrong with it, says what.
    fn check(&mut self, m: &Machine<'_>, ready: &Ready) -> Result<(), String>;
}

/// An observer that looks at every state.
pub(crate) type Watcher<'c> = Box<dyn FnMut(&Machine<'_>, &Ready) + 'c>;

/// What looks at the states of a run: invariants, and perhaps a watcher.
pub(crate) struct Checker<'c> {
    checks: Vec<(Invariant, Box<dyn Check + 'c>)>,
    watcher: Option<Watcher<'c>>,
}

impl<'c> Checker<'c> {
    /// A checker, unless there is nothing to check and nobody to watch.
    pub(crate) fn new(
        invariants: &[Invariant],
        c: &'c Computation,
        scheduler: Scheduler,
        watcher: Option<Watcher<'c>>,
    ) -> Option<Self> {
        let check = |invariant: Invariant| -> Box<dyn Check + 'c> {
            match invariant {
                Invariant::BusyLeaves => Box::new(leaves::BusyLeaves),
                Invariant::Lemma4 => Box::new(deques::Lemma4),
                Invariant::Lemma10 => Box::new(critical::Critical::new(c, 1, true)),
                Invariant::Proposition7 => Box::new(critical::Critical::new(c, 0, false)),
                Invariant::DepthLemma => Box::new(deques::Depth::new(c)),
                Invariant::Lemma31 => Box::new(deques::Lemma31),
                Invariant::Greedy => Box::new(processors::Greedy),
                Invariant::HighUtilization => {
                    Box::new(processors::HighUtilization(threshold(scheduler).unwrap_or(Beta::ONE)))
                }
            }
        };
        let checks: Vec<_> = invariants.iter().map(|&i| (i, check(i))).collect();
        (!checks.is_empty() || watcher.is_some()).then_some(Self { checks, watcher })
    }

    pub(crate) fn executed(&mut self, strand: StrandId) {
        self.checks.iter_mut().for_each(|(_, check)| check.executed(strand));
    }

    pub(crate) fn check(&mut self, m: &Machine<'_>, policy: &dyn Policy) -> Result<(), SimulationError> {
        let ready = policy.ready();
        if let Some(watcher) = &mut self.watcher {
            watcher(m, &ready);
        }
        for (invariant, check) in &mut self.checks {
            check.check(m, &ready).map_err(|text| {
                SimulationError::Violation(Violation { invariant: *invariant, tick: m.now(), text })
            })?;
        }
        Ok(())
    }
}
