//! Exhaustive exploration: every interleaving of every step and flush, breadth first.
//!
//! Exploration is breadth first, so the first broken state found is one of the nearest, and its path is a shortest
//! counterexample. If no state is broken, [`super::liveness`] searches the collected graph for fair runs that never
//! end.

use std::collections::VecDeque;
use std::fmt;

use super::config::{Config, ConfigError};
use super::graph::{Full, Graph, Id, MAX_EXPLORED};
use super::liveness;
use super::machine::{Machine, Move};
use super::state::{MAX_CAPACITY, State};
use super::trace::{Step, narrate};
use super::violation::{Violation, Watched, check};

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// States are being collected.
    Exploring {
        /// States found so far.
        states: usize,
        /// States found but not yet expanded.
        waiting: usize,
        /// Moves from the initial state to the states being expanded.
        depth: usize,
    },
    /// Fair endless runs are being searched for: pass `pass` of `passes` over `states` states.
    Liveness {
        /// States in the graph.
        states: usize,
        /// The current pass, from 1.
        pass: usize,
        /// How many passes there will be.
        passes: usize,
    },
}

/// What an exploration counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Distinct states, after normalisation.
    pub states: usize,
    /// Transitions between them, including those that change nothing.
    pub transitions: u64,
    /// The largest number of moves needed to reach a state.
    pub depth: usize,
    /// States in which the program has exited.
    pub exits: usize,
    /// Most joins named by all watch lists together in any state; RW §6 bounds it by P − 1.
    pub watched_joins: u32,
    /// Most entries in all watch lists together: an open join has one for each side.
    pub watched_entries: u32,
    /// Most entries in one store buffer. If this stays below the capacity, no buffer was ever full, and the answer also
    /// holds for unbounded buffers.
    pub longest_buffer: usize,
    /// Bytes of the tables at their largest.
    pub bytes: usize,
}

/// A run that breaks a promise: a shortest one for a broken state, or one with a shortest prefix for an endless run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What is broken at the end, or by repeating the cycle for ever.
    pub violation: Violation,
    /// Moves up to the broken state or to the cycle. A move may be several steps.
    pub moves: usize,
    /// The steps of those moves.
    pub steps: Vec<Step>,
    /// For an endless run: the steps that repeat.
    pub cycle: Vec<Step>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |f: &mut fmt::Formatter<'_>, steps: &[Step], from: usize| {
            steps.iter().enumerate().try_for_each(|(i, step)| writeln!(f, "{:>4}  {step}", from + i))
        };
        number(f, &self.steps, 1)?;
        if !self.cycle.is_empty() {
            writeln!(f, "      and then for ever:")?;
            number(f, &self.cycle, self.steps.len() + 1)?;
        }
        write!(f, "      => {}", self.violation)
    }
}

/// The answer of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All states explored, nothing broken.
    Holds,
    /// Something is broken.
    Violated(Box<Counterexample>),
    /// There are more states than the configuration allows; nothing is broken in those seen.
    Incomplete,
}

/// An exploration's answer and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// The size.
    pub stats: Stats,
}

impl Outcome {
    /// The counterexample, if there is one.
    pub fn counterexample(&self) -> Option<&Counterexample> {
        match &self.verdict {
            Verdict::Violated(found) => Some(found),
            Verdict::Holds | Verdict::Incomplete => None,
        }
    }

    /// Whether everything was explored and nothing is broken.
    pub fn holds(&self) -> bool {
        self.verdict == Verdict::Holds
    }
}

const PROGRESS_EVERY: usize = 1 << 16;

/// Explores every run of `config` and calls `progress` now and then.
///
/// ```
/// use bombyx_sim::tso::{Config, Mutation, explore};
///
/// let config = Config::new(2, "(. .)".parse()?);
/// assert!(explore(&config, |_| {})?.holds());
///
/// let broken = explore(&config.with_mutation(Mutation::TieToBoth), |_| {})?;
/// assert_eq!(broken.counterexample().unwrap().violation.to_string(), "A.join runs twice");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explore(config: &Config, mut progress: impl FnMut(Progress)) -> Result<Outcome, ConfigError> {
    config.validate(MAX_EXPLORED)?;
    let machine = config.machine();
    let mut search =
        Search { machine: &machine, graph: Graph::new(config.processors), stats: Stats::default() };
    let found = search.breadth_first(config, &mut progress);
    search.stats.bytes = search.graph.bytes();
    let verdict = match found {
        Err(Full) => Verdict::Incomplete,
        Ok(Some(broken)) => Verdict::Violated(Box::new(broken)),
        Ok(None) if config.asks_liveness() => {
            match liveness::check(&machine, &search.graph, &mut search.stats, &mut progress) {
                None => Verdict::Holds,
                Some(lasso) => Verdict::Violated(Box::new(account(&machine, &search.graph, lasso))),
            }
        }
        // A reduced exploration speaks of unbounded buffers.
        Ok(None) if config.is_reduced() && search.stats.longest_buffer == MAX_CAPACITY => Verdict::Incomplete,
        Ok(None) => Verdict::Holds,
    };
    search.stats.states = search.graph.len();
    Ok(Outcome { verdict, stats: search.stats })
}

/// A broken run as moves and states of the graph.
pub(super) struct Run {
    pub(super) violation: Violation,
    /// The state where the path from the initial state ends.
    pub(super) end: Id,
    /// A last move that breaks something and so leads to no state of the graph.
    pub(super) last: Option<Move>,
    /// For an endless run: the moves that lead from `end` back to it.
    pub(super) cycle: Vec<Move>,
}

struct Search<'a> {
    machine: &'a Machine,
    graph: Graph,
    stats: Stats,
}

impl Search<'_> {
    fn breadth_first(
        &mut self,
        config: &Config,
        progress: &mut impl FnMut(Progress),
    ) -> Result<Option<Counterexample>, Full> {
        let broken = |search: &Search<'_>, violation, end, last| {
            Ok(Some(account(search.machine, &search.graph, Run { violation, end, last, cycle: Vec::new() })))
        };
        self.graph.insert_initial(&self.machine.initial())?;
        let mut moves = Vec::new();
        let mut ended = VecDeque::new();
        let mut level_end = 1;
        let mut at = 0;
        while at < self.graph.len() {
            if at == level_end {
                self.stats.depth += 1;
                level_end = self.graph.len();
            }
            if at % PROGRESS_EVERY == 0 {
                let (states, depth) = (self.graph.len(), self.stats.depth);
                progress(Progress::Exploring { states, waiting: states - at, depth });
            }
            // The run broke something that nobody asked about. It ends here.
            if ended.front() == Some(&(at as Id)) {
                ended.pop_front();
                if config.asks_liveness() {
                    self.graph.close_state();
                }
                at += 1;
                continue;
            }
            let state = self.graph.state(at as Id);
            self.machine.moves(&state, &mut moves);
            self.stats.exits += usize::from(moves.is_empty());
            for &m in &moves {
                let mut next = state;
                if let Err(violation) = self.machine.apply(&mut next, m) {
                    // A violation that nobody asked about ends the run.
                    if !self.machine.asks(&violation) {
                        continue;
                    }
                    return broken(self, violation, at as Id, Some(m));
                }
                self.stats.transitions += 1;
                let (id, new) = self.graph.insert(&next, &state, at as Id)?;
                if config.asks_liveness() {
                    self.graph.add_edge(id);
                }
                if !new {
                    continue;
                }
                self.measure(&next);
                match check(self.machine, &next) {
                    Err(violation) if self.machine.asks(&violation) => {
                        return broken(self, violation, id, None);
                    }
                    Err(_) => ended.push_back(id),
                    Ok(()) => {}
                }
                if self.graph.len() > config.max_states {
                    return Err(Full);
                }
            }
            if config.asks_liveness() {
                self.graph.close_state();
            }
            at += 1;
        }
        Ok(None)
    }

    fn measure(&mut self, s: &State) {
        let Watched { joins, entries } = Watched::of(s);
        let longest = s.locals().iter().map(|local| local.buffer.len()).max().unwrap_or(0);
        self.stats.longest_buffer = self.stats.longest_buffer.max(longest);
        self.stats.watched_joins = self.stats.watched_joins.max(joins);
        self.stats.watched_entries = self.stats.watched_entries.max(entries);
    }
}

fn account(machine: &Machine, graph: &Graph, run: Run) -> Counterexample {
    let path = graph.path(run.end);
    let mut moves: Vec<_> = Vec::new();
    // Under symmetry, a state stands for all that differ in names. The account follows one processor under one name.
    let plain = Machine { symmetry: false, ..machine.clone() };
    let mut state = plain.initial();
    for &to in &path[1..] {
        let (m, next) = connecting_move(machine, &plain, &state, &graph.state(to));
        moves.push(m);
        state = next;
    }
    if let Some(last) = run.last {
        moves.push(breaking_move(&plain, &state, last));
    }
    let [steps, cycle] = narrate(&plain, &moves, &run.cycle);
    Counterexample { violation: run.violation, moves: moves.len(), steps, cycle }
}

/// A move from `state` to a state whose representative is `target`.
fn connecting_move(machine: &Machine, plain: &Machine, state: &State, target: &State) -> (Move, State) {
    let mut moves = Vec::new();
    plain.moves(state, &mut moves);
    let arrival = |m: Move| {
        let mut next = *state;
        plain.apply(&mut next, m).ok()?;
        (machine.normalised(next) == *target).then_some((m, next))
    };
    moves.into_iter().find_map(arrival).expect("a state's parent has a move to it")
}

/// The move that breaks something, with the names of the account.
fn breaking_move(plain: &Machine, state: &State, wanted: Move) -> Move {
    let mut moves = Vec::new();
    plain.moves(state, &mut moves);
    let breaks = |m: &Move| {
        let mut next = *state;
        plain.apply(&mut next, *m).is_err()
    };
    if breaks(&wanted) && moves.contains(&wanted) {
        return wanted;
    }
    moves.into_iter().find(breaks).unwrap_or(wanted)
}
