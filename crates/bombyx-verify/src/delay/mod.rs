//! Delay sequences from traces, by the papers' own constructions (BL §6, LEC §5): why a run had so many steal attempts.
//!
//! **Not here:** the claims about delay sequences. They are with the papers.
//!
//! A [`History`] holds when every instruction was executed and when it was critical. From it come three things: the
//! path U of BL Lemma 9 and LEC Lemma 18, of which some instruction is critical at every step; the
//! [rounds](History::rounds) of steal attempts; and the partition Π of the rounds along U. Together they are a
//! [`DelaySequence`]. Everything is about computations of unit instructions. The constructions and the definitions that
//! they must satisfy are written independently: [`DelaySequence::check`] does not know how the sequence was made.

mod picture;

pub use picture::{explain, picture};

use bombyx_dag::{Augmented, Computation, StrandId};
use bombyx_sim::{EventKind, Outcome};
use std::ops::RangeInclusive;

/// The dag whose edges a path follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// G': with deque edges (BL §6).
    Augmented,
    /// G, without deque edges. The constructions fail with it. That is why there are deque edges.
    Plain,
}

impl Edges {
    fn from(self, c: &Computation, u: StrandId) -> impl Iterator<Item = StrandId> {
        let deque = match self {
            Self::Augmented => Augmented::of(c).deque_edge(u),
            Self::Plain => None,
        };
        c.spawned(u).into_iter().chain(c.next(u)).chain(deque).chain(c.joins_from(u).iter().copied())
    }
}

/// When every instruction was executed, and when steal attempts were initiated. Steps count from 1.
#[derive(Clone, Debug)]
pub struct History<'c> {
    computation: &'c Computation,
    executed: Vec<u64>,
    /// The step in which the last of all predecessors in G', direct and indirect, was executed. 0 if there are none.
    ready: Vec<u64>,
    /// Steps in which steal attempts were initiated, in order.
    attempts: Vec<u64>,
    steps: u64,
}

/// Why a run is not a history of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHistory {
    /// The run recorded no trace.
    NoTrace,
    /// Some strand has more than one instruction, or a processor's speed is not 1.
    NotInUnits,
}

impl std::fmt::Display for NoHistory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoTrace => "the run recorded no trace; ask for one",
            Self::NotInUnits => "delay sequences are about unit instructions on processors of speed 1",
        })
    }
}

impl std::error::Error for NoHistory {}

impl<'c> History<'c> {
    /// Reads the history of a traced run.
    ///
    /// # Errors
    /// If there is no trace, or if the run does not go by unit steps.
    pub fn of(computation: &'c Computation, outcome: &Outcome) -> Result<Self, NoHistory> {
        let trace = outcome.trace.as_ref().ok_or(NoHistory::NoTrace)?;
        if outcome.ticks_per_unit != 1 || computation.strands().any(|s| computation.weight(s) > 1) {
            return Err(NoHistory::NotInUnits);
        }
        let executed = trace.ends(computation.strand_count());
        let mut attempts: Vec<u64> = trace
            .events()
            .iter()
            .filter(|e| matches!(e.kind, EventKind::Attempt { .. }))
            .map(|e| e.from + 1)
            .collect();
        attempts.sort_unstable();
        let mut ready = vec![0; computation.strand_count()];
        for u in Augmented::of(computation).order() {
            let by_then = ready[u.index()].max(executed[u.index()]);
            for to in Edges::Augmented.from(computation, u) {
                ready[to.index()] = ready[to.index()].max(by_then);
            }
        }
        Ok(Self { computation, executed, ready, attempts, steps: outcome.makespan })
    }

    /// The step in which an instruction was executed.
    pub fn executed(&self, strand: StrandId) -> u64 {
        self.executed[strand.index()]
    }

    /// The computation that ran.
    pub(crate) fn computation(&self) -> &'c Computation {
        self.computation
    }

    /// How many steps the run took.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How many steal attempts were initiated.
    pub fn attempts(&self) -> usize {
        self.attempts.len()
    }

    /// The steps in which an instruction was critical: unexecuted although all its predecessors in G' were executed.
    /// The last is the step that executes it. `None` if it was executed before some predecessor in G'.
    pub fn critical(&self, strand: StrandId) -> Option<RangeInclusive<u64>> {
        let (first, last) = (self.ready[strand.index()] + 1, self.executed(strand));
        (first <= last).then_some(first..=last)
    }

    /// The steal attempts in rounds of at least `least`: each round ends with the first step by which it has as many.
    /// BL §6 takes 3P, LEC §5 P. Attempts after the last whole round belong to none.
    pub fn rounds(&self, least: usize) -> Vec<Round> {
        let mut rounds = Vec::new();
        let (mut begin, mut count) = (1, 0);
        for step in self.attempts.chunk_by(|a, b| a == b) {
            count += step.len();
            if count >= least {
                rounds.push(Round { begin, end: step[0], attempts: count });
                (begin, count) = (step[0] + 1, 0);
            }
        }
        rounds
    }

    /// The path U of BL Lemma 9: backwards from the last instruction, always to a predecessor with the latest execution
    /// time. If several were executed in that step, to one that has none of the others before it. Returned from first
    /// to last.
    pub fn path(&self, edges: Edges) -> Vec<StrandId> {
        let c = self.computation;
        // For each instruction: the step of the latest predecessor, that predecessor, and the edge that leads to it.
        let mut latest: Vec<Option<(u64, StrandId, StrandId)>> = vec![None; c.strand_count()];
        for u in Augmented::of(c).order() {
            let here = (self.executed(u), u);
            let (step, whom) = match latest[u.index()] {
                Some((step, before, _)) if step >= here.0 => (step, before),
                _ => here,
            };
            for to in edges.from(c, u) {
                let entry = &mut latest[to.index()];
                if entry.is_none_or(|(known, ..)| known < step) {
                    *entry = Some((step, whom, u));
                }
            }
        }
        let mut path = vec![c.last_strand(c.root())];
        while let Some((_, goal, _)) = latest[path[path.len() - 1].index()] {
            while path[path.len() - 1] != goal {
                let here = path[path.len() - 1];
                let (.., before) = latest[here.index()].expect("a predecessor lies on the way");
                path.push(before);
            }
        }
        path.reverse();
        path
    }
}

/// A round of steal attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The step after the end of the round before.
    pub begin: u64,
    /// The step in which its last attempts were initiated.
    pub end: u64,
    /// How many attempts it has.
    pub attempts: usize,
}

/// A delay sequence (U, R, Π) (BL Definition 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySequence {
    /// U: a maximal directed path in G'.
    pub path: Vec<StrandId>,
    /// R and when each round was.
    pub rounds: Vec<Round>,
    /// π_i: how many rounds lie wholly within the critical time of the i-th instruction.
    pub within: Vec<u64>,
    /// π'_i: whether a round begins while the i-th instruction is critical and ends later.
    pub across: Vec<u64>,
}

impl DelaySequence {
    /// Makes the delay sequence of a run with rounds of at least `least` attempts, along a path in `edges`.
    pub fn of(history: &History<'_>, least: usize, edges: Edges) -> Self {
        Self::along(history, history.path(edges), least)
    }

    /// Like [`DelaySequence::of`], along any path.
    pub(crate) fn along(history: &History<'_>, path: Vec<StrandId>, least: usize) -> Self {
        let rounds = history.rounds(least);
        let (mut within, mut across) = (vec![0; path.len()], vec![0; path.len()]);
        let mut left = rounds.iter().peekable();
        for (i, &u) in path.iter().enumerate() {
            let Some(critical) = history.critical(u) else { continue };
            while let Some(round) = left.next_if(|round| critical.contains(&round.begin)) {
                *(if critical.contains(&round.end) { &mut within[i] } else { &mut across[i] }) += 1;
            }
        }
        Self { path, rounds, within, across }
    }

    /// Whether it is a delay sequence by BL Definition 8 and occurred in the run.
    ///
    /// # Errors
    /// The first condition that it does not meet.
    pub fn check(&self, history: &History<'_>) -> Result<(), String> {
        let c = history.computation;
        self.check_path(c)?;
        if let Some(i) = self.across.iter().position(|&rounds| rounds > 1) {
            return Err(format!("π' of {} is {}, not 0 or 1", self.path[i], self.across[i]));
        }
        let counted: u64 = self.within.iter().chain(&self.across).sum();
        if counted != self.rounds.len() as u64 {
            return Err(format!("Π counts {counted} rounds of {}", self.rounds.len()));
        }
        let mut rounds = self.rounds.iter();
        for ((&u, &within), &across) in self.path.iter().zip(&self.within).zip(&self.across) {
            let critical = history.critical(u);
            for round in rounds.by_ref().take(within as usize) {
                let throughout =
                    |steps: &RangeInclusive<u64>| steps.contains(&round.begin) && steps.contains(&round.end);
                if !critical.as_ref().is_some_and(throughout) {
                    return Err(format!(
                        "{u} is not critical throughout its round of steps {}–{}",
                        round.begin, round.end
                    ));
                }
            }
            rounds.by_ref().take(across as usize).for_each(drop);
        }
        Ok(())
    }

    /// Whether U is a path in G' from the first instruction to the last.
    fn check_path(&self, c: &Computation) -> Result<(), String> {
        let (first, last) = (c.first_strand(c.root()), c.last_strand(c.root()));
        if self.path.first() != Some(&first) || self.path.last() != Some(&last) {
            return Err(format!("U does not lead from {first} to {last}"));
        }
        for pair in self.path.windows(2) {
            if !Edges::Augmented.from(c, pair[0]).any(|to| to == pair[1]) {
                return Err(format!("U goes from {} to {} without an edge", pair[0], pair[1]));
            }
        }
        Ok(())
    }

    /// Whether at every step some instruction of U is critical (LEC Lemma 18).
    ///
    /// # Errors
    /// The first step at which none is.
    pub fn check_coverage(&self, history: &History<'_>) -> Result<(), String> {
        self.check_path(history.computation)?;
        let mut covered = vec![false; history.steps as usize + 1];
        for critical in self.path.iter().filter_map(|&u| history.critical(u)) {
            covered[*critical.start() as usize..=*critical.end() as usize].fill(true);
        }
        match covered.iter().skip(1).position(|covered| !covered) {
            Some(step) => Err(format!("at step {} no instruction of U is critical", step + 1)),
            None => Ok(()),
        }
    }
}
