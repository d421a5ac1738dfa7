//! [`Simulation`]: sets up a run and gives its [`Outcome`].

use crate::check::{Checker, Invariant, Violation, Watcher};
use crate::clock::Clock;
use crate::contention::Contention;
use crate::dummies::WithDummies;
use crate::engine::{Engine, Rules};
use crate::machine::Machine;
use crate::outcome::{Dollars, Outcome};
use crate::scheduler::{Mutation, Policy, Quota, Ready, Scheduler, Setup};
use crate::{ProcessorId, Speeds};
use bombyx_dag::Computation;
use std::fmt;

/// How finely the engine looks at time. Both give the same outcome and trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One event per strand, however many instructions it has, and none for attempts that must fail.
    #[default]
    Event,
    /// One event per unit instruction and per attempt; invariants are checked after each.
    Step,
}

/// A run to be made: a computation, a scheduler, and the machine it runs on.
///
/// ```
/// use bombyx_dag::generate;
/// use bombyx_sim::{Scheduler, Simulation};
///
/// let computation = generate::figure1(1);
/// let outcome = Simulation::new(&computation, Scheduler::WorkStealing).processors(2).seed(7).run()?;
/// assert_eq!(outcome.dollars.work, 23); // BL Lemma 7: exactly T1
/// assert!(outcome.makespan >= 23 / 2);
/// # Ok::<(), bombyx_sim::SimulationError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a simulation does nothing until it is run"]
pub struct Simulation<'c> {
    computation: &'c Computation,
    scheduler: Scheduler,
    processors: Option<usize>,
    speeds: Speeds,
    seed: u64,
    contention: Option<Contention>,
    steal_cost: u64,
    visits: bool,
    mode: Mode,
    trace: bool,
    space: bool,
    invariants: Vec<Invariant>,
    check_all: bool,
    mutation: Option<Mutation>,
    choices: Vec<Vec<Option<u32>>>,
}

impl<'c> Simulation<'c> {
    /// `scheduler` executes `computation`: on one processor, unless told otherwise.
    pub fn new(computation: &'c Computation, scheduler: Scheduler) -> Self {
        Self {
            computation,
            scheduler,
            processors: None,
            speeds: Speeds::equal(),
            seed: 0,
            contention: None,
            steal_cost: 1,
            visits: false,
            mode: Mode::default(),
            trace: false,
            space: false,
            invariants: Vec::new(),
            check_all: false,
            mutation: None,
            choices: Vec::new(),
        }
    }

    /// On so many processors.
    pub fn processors(mut self, count: usize) -> Self {
        self.processors = Some(count);
        self
    }

    /// On processors of these speeds. If they are listed one by one, the list also gives the number of processors.
    pub fn speeds(mut self, speeds: Speeds) -> Self {
        self.speeds = speeds;
        self
    }

    /// All random choices follow from this number; 0 unless told otherwise.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What happens when several thieves ask for one deque in the same step. Unless told otherwise,
    /// [`Contention::for_unit`] of the computation's weights.
    pub fn contention(mut self, contention: Contention) -> Self {
        self.contention = Some(contention);
        self
    }

    /// A steal attempt takes so many of the thief's steps; 1 unless told otherwise. The first is a STEAL dollar,
    /// the others are WAIT dollars.
    pub fn steal_cost(mut self, steps: u64) -> Self {
        self.steal_cost = steps;
        self
    }

    /// A processor without a thread visits the shared queue of `fifo` or `depth-first` as a thief visits a deque: the
    /// visit takes as long as a steal attempt, counts as one, and gets what is first in the queue when it ends. Unless
    /// told so, a thread comes to an idle processor at once, as in the papers' model; then the first forks of a
    /// computation are taken the moment they are made, and all processors unfold it from the top.
    ///
    /// ```
    /// use bombyx_dag::generate;
    /// use bombyx_sim::{Quota, Scheduler, Simulation};
    ///
    /// let computation = generate::figure1(1);
    /// let depth_first = Simulation::new(&computation, Scheduler::DepthFirst(Quota::Infinite)).processors(2);
    /// let (at_once, visits) = (depth_first.run()?, depth_first.visits().run()?);
    /// assert_eq!(at_once.attempts(), 0);
    /// assert!(visits.attempts() > 0 && visits.makespan >= at_once.makespan);
    /// # Ok::<(), bombyx_sim::SimulationError>(())
    /// ```
    pub fn visits(mut self) -> Self {
        self.visits = true;
        self
    }

    /// The first choices of each processor's steal attempts, in place of random ones: a processor (for DFDeques a
    /// position in the list of deques), or none for a deque that does not exist. To repeat a run, or to couple two.
    pub fn choices(mut self, choices: Vec<Vec<Option<u32>>>) -> Self {
        self.choices = choices;
        self
    }

    /// How finely to look at time.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Records what every processor does, in [`Outcome::trace`].
    pub fn trace(mut self) -> Self {
        self.trace = true;
        self
    }

    /// Records space over time, in [`Outcome::space`].
    pub fn space_series(mut self) -> Self {
        self.space = true;
        self
    }

    /// Checks an invariant at every instant: with [`Mode::Step`], at every step. The run fails where it breaks.
    pub fn check(mut self, invariant: Invariant) -> Self {
        self.invariants.push(invariant);
        self
    }

    /// Checks every invariant that the papers prove for this scheduler and this computation. While processors visit a
    /// queue they are not greedy.
    pub fn check_all(mut self) -> Self {
        self.check_all = true;
        self
    }

    /// Plants an error in the scheduler, to see whether an invariant catches it.
    pub fn mutate(mut self, mutation: Mutation) -> Self {
        self.mutation = Some(mutation);
        self
    }

    /// Runs.
    ///
    /// # Errors
    /// If the set-up makes no sense, or an invariant breaks.
    pub fn run(&self) -> Result<Outcome, SimulationError> {
        self.run_policy(|setup| self.scheduler.policy(setup))
    }

    /// Runs with a policy of your own in place of the scheduler's. The scheduler still names the outcome, decides
    /// which invariants [`check_all`](Self::check_all) means, and whether there are dummy threads.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_policy(
        &self,
        policy: impl FnOnce(&Setup) -> Box<dyn Policy>,
    ) -> Result<Outcome, SimulationError> {
        self.execute(policy, None)
    }

    /// Runs, and shows `watch` every state between two instants, from the first step to the last: with
    /// [`Mode::Step`], the state in which each step begins.
    ///
    /// ```
    /// use bombyx_dag::generate;
    /// use bombyx_sim::{Mode, Scheduler, Simulation};
    ///
    /// let computation = generate::figure1(1);
    /// let mut working = Vec::new();
    /// let simulation = Simulation::new(&computation, Scheduler::BusyLeaves).processors(2).mode(Mode::Step);
    /// simulation.watch(|machine, _| working.push(machine.working()))?;
    /// assert_eq!(working, [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 1, 1]); // BL Figure 2
    /// # Ok::<(), bombyx_sim::SimulationError>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn watch(&self, watch: impl FnMut(&Machine<'_>, &Ready)) -> Result<Outcome, SimulationError> {
        self.execute(|setup| self.scheduler.policy(setup), Some(Box::new(watch)))
    }

    fn execute(
        &self,
        policy: impl FnOnce(&Setup) -> Box<dyn Policy>,
        watcher: Option<Watcher<'_>>,
    ) -> Result<Outcome, SimulationError> {
        let processors = self.processors.or(self.speeds.processors()).unwrap_or(1);
        if !(1..=MOST_PROCESSORS).contains(&processors) {
            return Err(SimulationError::ProcessorCount(processors));
        }
        let known = |choice: &Option<u32>| choice.is_none_or(|slot| (slot as usize) < processors);
        if !self.choices.iter().flatten().all(known) {
            return Err(SimulationError::UnknownChoice);
        }
        if self.steal_cost == 0 {
            return Err(SimulationError::FreeSteals);
        }
        let with_dummies = match self.scheduler {
            Scheduler::Dfdeques(Quota::Bytes(quota)) | Scheduler::DepthFirst(Quota::Bytes(quota)) => {
                WithDummies::insert(self.computation, quota)
            }
            _ => None,
        };
        let c = with_dummies.as_ref().map_or(self.computation, |with| &with.computation);
        let work = c.strands().map(|s| c.weight(s)).fold(0, u64::saturating_add);
        let clock = Clock::new(&self.speeds, processors, work.saturating_mul(self.steal_cost))?;
        let mut machine = Machine::new(c, clock, processors, self.seed, self.trace);
        if let Some(with) = &with_dummies {
            machine.leave_out(with.inserted.clone());
        }
        if self.space {
            machine.space.record_series();
        }
        let dummies = with_dummies.as_ref().map_or_else(Vec::new, |with| with.dummy.clone());
        let setup = Setup { processors, mutation: self.mutation, dummies, visits: self.visits };
        let checker = Checker::new(&self.invariants(), c, self.scheduler, watcher);
        let rules = Rules {
            contention: self.contention_model(),
            steal_cost: self.steal_cost,
            single_steps: self.mode == Mode::Step,
            seed: self.seed,
        };
        let machine = Engine::new(machine, policy(&setup), checker, rules, self.choices.clone()).run()?;
        let outcome = self.outcome(machine);
        Ok(Outcome { with_dummies: with_dummies.map(Box::new), ..outcome })
    }

    fn invariants(&self) -> Vec<Invariant> {
        let mut invariants = self.invariants.clone();
        if self.check_all {
            let greedy = |i: Invariant| i == Invariant::Greedy && self.visits;
            let proven = |&i: &Invariant| i.applies(self.scheduler, self.computation.class()) && !greedy(i);
            invariants.extend(Invariant::ALL.into_iter().filter(proven));
        }
        invariants
    }

    fn contention_model(&self) -> Contention {
        self.contention.unwrap_or_else(|| Contention::for_unit(self.computation.weight_unit()))
    }

    fn outcome(&self, m: Machine<'_>) -> Outcome {
        let counters = m.counters;
        let capacity = m.processors().map(|p| m.clock.capacity(p, m.now)).sum::<u64>();
        let busy = counters.work + counters.attempts + counters.wait;
        let (peak, space) = m.space.finish();
        Outcome {
            scheduler: self.scheduler,
            processors: m.processors.len(),
            seed: self.seed,
            contention: self.contention_model(),
            makespan: m.now,
            ticks_per_unit: m.clock.ticks_per_unit(),
            dollars: Dollars {
                work: counters.work,
                steal: counters.attempts,
                wait: counters.wait,
                idle: capacity.saturating_sub(busy),
            },
            steals: counters.steals,
            muggings: counters.muggings,
            migrations: counters.migrations,
            bytes: counters.bytes,
            acquisitions: counters.acquisitions,
            with_dummies: None,
            peak,
            space,
            capacity,
            trace: m.trace,
            events: counters.events,
        }
    }
}

/// More processors than any machine to be bought soon; ids share a word with the phase of their events.
const MOST_PROCESSORS: usize = 1 << 20;

/// Why a simulation could not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimulationError {
    /// No processors, or too many.
    ProcessorCount(usize),
    /// The list of speeds does not match the number of processors.
    SpeedCount {
        /// Speeds given.
        speeds: usize,
        /// Processors asked for.
        processors: usize,
    },
    /// A change of speed names a processor that does not exist.
    UnknownProcessor {
        /// The processor named.
        processor: ProcessorId,
        /// Processors there are.
        processors: usize,
    },
    /// The speeds have no common measure that fits 64 bits, or the run would take too many ticks of it.
    SpeedsTooFine,
    /// A steal attempt must take at least one step.
    FreeSteals,
    /// A given choice is not among as many as there are processors.
    UnknownChoice,
    /// An invariant broke.
    Violation(Violation),
    /// No processor can go on although threads are unfinished: a scheduler lost a thread.
    Stuck {
        /// When.
        tick: u64,
        /// How many threads are unfinished.
        unfinished: usize,
    },
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProcessorCount(count) => {
                write!(f, "{count} processors were asked for; choose 1 to {MOST_PROCESSORS}")
            }
            Self::SpeedCount { speeds, processors } => write!(
                f,
                "{speeds} speeds were given for {processors} processors; give one for each, or none"
            ),
            Self::UnknownProcessor { processor, processors } => write!(
                f,
                "a change of speed names processor {}, but there are {processors}, numbered from 0",
                processor.0
            ),
            Self::SpeedsTooFine => f.write_str(
                "the speeds have no small common measure; use smaller numbers or rounder fractions",
            ),
            Self::FreeSteals => f.write_str("a steal attempt must take at least one step"),
            Self::UnknownChoice => f.write_str("a given choice is not below the number of processors"),
            Self::Violation(violation) => violation.fmt(f),
            Self::Stuck { tick, unfinished } => write!(
                f,
                "at tick {tick} no processor can go on although {unfinished} threads are unfinished"
            ),
        }
    }
}

impl std::error::Error for SimulationError {}
