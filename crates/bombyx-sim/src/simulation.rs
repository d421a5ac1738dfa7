//! [`Simulation`]: sets up a run and returns its [`Outcome`].

use crate::check::{Checker, Invariant, Violation, Watcher};
use crate::clock::{Clock, MOST_TICKS};
use crate::contention::Contention;
use crate::dummies::WithDummies;
use crate::engine::{Engine, Rules};
use crate::machine::Machine;
use crate::mutation::Mutation;
use crate::outcome::{Capacity, Dollars, Outcome};
use crate::scheduler::{Metering, Policy, Quota, Ready, Scheduler, Setup, Tariff};
use crate::{ProcessorId, Ratio, Speeds};
use bombyx_dag::{Computation, StrandId};
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

/// A run: a computation, a scheduler, and the machine it runs on.
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
    estimates: Vec<Ratio>,
    migration_cost: u64,
    at_victims_speed: bool,
    seed: u64,
    contention: Option<Contention>,
    steal_cost: u64,
    visits: bool,
    same_step: bool,
    metering: Metering,
    mode: Mode,
    trace: bool,
    space: bool,
    invariants: Vec<Invariant>,
    check_all: bool,
    mutation: Option<Mutation>,
    choices: Vec<Vec<Option<u32>>>,
}

impl<'c> Simulation<'c> {
    /// `scheduler` executes `computation`. Default: on one processor.
    pub fn new(computation: &'c Computation, scheduler: Scheduler) -> Self {
        Self {
            computation,
            scheduler,
            processors: None,
            speeds: Speeds::equal(),
            estimates: Vec::new(),
            migration_cost: 0,
            at_victims_speed: false,
            seed: 0,
            contention: None,
            steal_cost: 1,
            visits: false,
            same_step: false,
            metering: Metering::default(),
            mode: Mode::default(),
            trace: false,
            space: false,
            invariants: Vec::new(),
            check_all: false,
            mutation: None,
            choices: Vec::new(),
        }
    }

    /// On this many processors.
    pub fn processors(mut self, count: usize) -> Self {
        self.processors = Some(count);
        self
    }

    /// On processors of these speeds. If they are listed one by one, the list also sets the number of processors.
    pub fn speeds(mut self, speeds: Speeds) -> Self {
        self.speeds = speeds;
        self
    }

    /// The factor by which each processor misjudges its own speed, or 1 if it is right. Schedulers that compare speeds
    /// compare what processors believe theirs to be (HET §1: a processor's estimate is mostly accurate).
    pub fn estimates(mut self, factors: impl IntoIterator<Item = Ratio>) -> Self {
        self.estimates = factors.into_iter().collect();
        self
    }

    /// A processor spends this many instructions on a thread that has moved to it, before it works on it: the M of HET
    /// §2. Default: 0.
    pub fn migration_cost(mut self, instructions: u64) -> Self {
        self.migration_cost = instructions;
        self
    }

    /// A steal attempt takes steps of the victim, not of the thief. HET's footnote 2 warns of this: a victim that
    /// stands still holds up every thief that chooses it.
    pub fn steals_at_victims_speed(mut self) -> Self {
        self.at_victims_speed = true;
        self
    }

    /// The seed of all random choices. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What happens when several thieves ask for one deque in the same step. Default: [`Contention::for_computation`].
    pub fn contention(mut self, contention: Contention) -> Self {
        self.contention = Some(contention);
        self
    }

    /// A steal attempt takes this many of the thief's steps. The first is a STEAL dollar, and the others are WAIT
    /// dollars. Default: 1.
    pub fn steal_cost(mut self, steps: u64) -> Self {
        self.steal_cost = steps;
        self
    }

    /// A processor without a thread visits the shared queue of `fifo` or `depth-first` as a thief visits a deque. The
    /// visit takes as long as a steal attempt, counts as one, and gets what is first in the queue when it ends.
    /// Default: a thread comes to an idle processor at once, as in the papers' model. Then the first forks of a
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

    /// A thief that succeeds executes the first action of the stolen thread in the step of its attempt, as in the cost
    /// model of DFD §4.1. Only an attempt that fails takes a step. Attempts then cost one step. Default: every attempt
    /// takes a step (BL §5).
    ///
    /// ```
    /// use bombyx_dag::generate;
    /// use bombyx_sim::{Scheduler, Simulation};
    ///
    /// let computation = generate::figure1(1);
    /// let stealing = Simulation::new(&computation, Scheduler::WorkStealing).processors(2).seed(7);
    /// let outcome = stealing.same_step().run()?;
    /// let failed = outcome.attempts() - outcome.steals;
    /// assert_eq!(outcome.dollars.steal, failed); // every step is an action or a failed attempt
    /// # Ok::<(), bombyx_sim::SimulationError>(())
    /// ```
    pub fn same_step(mut self) -> Self {
        self.same_step = true;
        self
    }

    /// Which memory counts against the quota K of `dfdeques` and `depth-first`. Default: heap and stack.
    pub fn metering(mut self, metering: Metering) -> Self {
        self.metering = metering;
        self
    }

    /// The first choices of each processor's steal attempts, in place of random ones: a processor (for DFDeques a
    /// position in the list of deques), or `None` for a deque that does not exist. Use this to repeat a run, or to
    /// couple two.
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
    /// queue, they are not greedy.
    pub fn check_all(mut self) -> Self {
        self.check_all = true;
        self
    }

    /// Plants an error in the scheduler, to see whether an invariant catches it.
    pub fn mutate(mut self, mutation: Mutation) -> Self {
        self.mutation = Some(mutation);
        self
    }

    /// Runs the simulation.
    ///
    /// # Errors
    /// If the set-up makes no sense, or an invariant breaks.
    pub fn run(&self) -> Result<Outcome, SimulationError> {
        self.run_policy(|setup| self.scheduler.policy(setup))
    }

    /// Runs with your own policy in place of the scheduler's. The scheduler still names the outcome, and decides which
    /// invariants [`check_all`](Self::check_all) means and whether there are dummy threads.
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
        if self.same_step && self.steal_cost != 1 {
            return Err(SimulationError::SlowSameStep(self.steal_cost));
        }
        let quota = match self.scheduler {
            Scheduler::Dfdeques(Quota::Bytes(quota)) | Scheduler::DepthFirst(Quota::Bytes(quota)) => {
                Some(quota.get())
            }
            Scheduler::Dfdeques(Quota::Auto) | Scheduler::DepthFirst(Quota::Auto) => {
                return Err(SimulationError::AutoQuota);
            }
            _ => None,
        };
        if let Some(quota) = quota {
            let dummies = WithDummies::demanded(self.computation, quota, self.metering);
            if dummies > MOST_DUMMIES {
                return Err(SimulationError::TooManyDummies { quota, dummies });
            }
        }
        let dummies_wanted = !matches!(self.mutation, Some(Mutation::NoDummies));
        let with_dummies = quota
            .filter(|_| dummies_wanted)
            .and_then(|quota| WithDummies::insert(self.computation, quota, self.metering));
        let c = with_dummies.as_ref().map_or(self.computation, |with| &with.computation);
        let work = c.strands().map(|s| c.weight(s)).fold(0, u64::saturating_add);
        let dollars = u128::from(work) * u128::from(self.steal_cost);
        if dollars >= (1 << 61) / processors as u128 || dollars >= MOST_TICKS {
            return Err(SimulationError::TooLong { work, steal_cost: self.steal_cost, processors });
        }
        let most = dollars + u128::from(self.migration_cost) * c.strand_count() as u128;
        if most >= MOST_TICKS {
            return Err(SimulationError::DearMigrations(self.migration_cost));
        }
        let clock = Clock::new(&self.speeds, &self.estimates, processors, most as u64)?;
        let mut machine = Machine::new(c, clock, processors, self.seed, self.trace, self.mutation);
        machine.charge_migrations(self.migration_cost);
        if let Some(with) = &with_dummies {
            machine.leave_out(with.inserted.clone());
        }
        if self.space {
            machine.space.record_series();
        }
        let dummies = with_dummies.as_ref().map_or_else(Vec::new, |with| with.dummy.clone());
        let tariff = quota.map(|quota| Tariff::new(c, quota, self.metering));
        let setup = Setup { processors, mutation: self.mutation, dummies, visits: self.visits, tariff };
        let checker = Checker::new(&self.invariants(), c, self.scheduler, watcher);
        let rules = Rules {
            contention: self.contention_model(),
            steal_cost: self.steal_cost,
            at_victims_speed: self.at_victims_speed,
            single_steps: self.mode == Mode::Step,
            same_step: self.same_step,
            seed: self.seed,
            mutation: self.mutation,
        };
        let machine = Engine::new(machine, policy(&setup), checker, rules, self.choices.clone()).run()?;
        let (fastest, quanta) = (machine.clock.rates().1, machine.clock.quanta());
        let outcome = self.outcome(machine);
        lower_bounds(&outcome, c, work, u128::from(fastest), u128::from(quanta))?;
        Ok(Outcome { with_dummies: with_dummies.map(Box::new), ..outcome })
    }

    /// The invariants that this run will check.
    pub fn invariants(&self) -> Vec<Invariant> {
        let mut invariants = self.invariants.clone();
        if self.check_all {
            let greedy = |i: Invariant| i == Invariant::Greedy && self.visits;
            // The papers' lemmas about deques and leaves do not cover crashes.
            let crashes = self.speeds.changes().iter().any(|change| change.crash);
            let despite =
                |i: Invariant| !crashes || matches!(i, Invariant::Greedy | Invariant::HighUtilization);
            let proven = |&i: &Invariant| {
                i.applies(self.scheduler, self.computation.class()) && !greedy(i) && despite(i)
            };
            invariants.extend(Invariant::ALL.into_iter().filter(proven));
        }
        invariants
    }

    fn contention_model(&self) -> Contention {
        self.contention.unwrap_or_else(|| Contention::for_computation(self.computation))
    }

    fn outcome(&self, m: Machine<'_>) -> Outcome {
        let counters = m.counters;
        let steps_saved = if self.same_step { counters.steals + counters.muggings } else { 0 };
        let steal = counters.attempts - steps_saved;
        let capacity = account(&m, steal, self.migration_cost);
        let program_acquisitions = m.processors.iter().map(|p| p.acquired).sum();
        let per_steal = m.processors.iter().map(|p| p.own as f64 / p.acquired.max(1) as f64);
        let threads_per_steal = per_steal.sum::<f64>() / m.processors.len() as f64;
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
                steal,
                wait: counters.wait,
                idle: (capacity.idle / u128::from(capacity.instruction)) as u64,
            },
            attempts: counters.attempts,
            steals: counters.steals,
            muggings: counters.muggings,
            migrations: counters.migrations,
            preemptions: counters.preemptions,
            rounded: counters.rounded,
            bytes: counters.bytes,
            acquisitions: counters.acquisitions,
            program_acquisitions,
            threads_per_steal,
            with_dummies: None,
            peak,
            space,
            capacity,
            trace: m.trace,
            events: counters.events,
        }
    }
}

/// Where the processors' capacity went.
fn account(m: &Machine<'_>, steal: u64, migration_cost: u64) -> Capacity {
    let counters = m.counters;
    let instruction = m.clock.quanta();
    let quanta = |instructions: u64| u128::from(instructions) * u128::from(instruction);
    let total = m.processors().map(|p| m.clock.between(p, 0, m.now)).sum();
    let work = quanta(counters.work);
    // A crash may cut short what a processor pays for a thread that has moved.
    let migrations = quanta(counters.tolls * migration_cost).min(counters.executed - work);
    // Lulls count attempts, not quanta. Where they are possible, the two are the same.
    let stealing = match m.clock.steps_are_ticks() {
        true => quanta(steal + counters.wait),
        false => counters.stealing,
    };
    let lost = counters.executed - work - migrations;
    let idle = u128::saturating_sub(total, counters.executed + stealing);
    Capacity { instruction, total, work, migrations, lost, stealing, idle }
}

/// No schedule on these processors is shorter: T ≥ T1/P and T ≥ T∞ (BL §2), for speeds in the units of the clock. And
/// every instruction was executed once.
fn lower_bounds(
    outcome: &Outcome,
    c: &Computation,
    work: u64,
    fastest: u128,
    quanta: u128,
) -> Result<(), SimulationError> {
    let impossible = |what: &str| Err(SimulationError::Impossible(what.to_owned()));
    if outcome.dollars.work != work {
        return impossible(&format!("{} instructions were executed of {work}", outcome.dollars.work));
    }
    if outcome.capacity.total < u128::from(work) * quanta {
        return impossible("it was shorter than T1/P");
    }
    if u128::from(outcome.makespan) * fastest < u128::from(c.span()) * quanta {
        return impossible(&format!("it was shorter than T∞ = {}", c.span()));
    }
    Ok(())
}

/// More processors than any real machine will soon have. Ids share a word with the phase of their events.
const MOST_PROCESSORS: usize = 1 << 20;

/// Each takes some hundred bytes of memory and a microsecond.
const MOST_DUMMIES: u64 = 5_000_000;

/// Why a simulation could not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimulationError {
    /// No processors, or too many.
    ProcessorCount(usize),
    /// The quota should be found while the program runs, which the simulator cannot do.
    AutoQuota,
    /// The list of speeds does not match the number of processors.
    SpeedCount {
        /// Speeds given.
        speeds: usize,
        /// Processors asked for.
        processors: usize,
    },
    /// The list of estimates does not match the number of processors.
    EstimateCount {
        /// Estimates given.
        estimates: usize,
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
    /// Thieves can execute in the step of their attempt only if that takes one step.
    SlowSameStep(u64),
    /// The quota is so small that there is no room for the dummy threads before large allocations.
    TooManyDummies {
        /// K.
        quota: u64,
        /// Dummy threads that it demands.
        dummies: u64,
    },
    /// A given choice is not below the number of processors.
    UnknownChoice,
    /// The work times the cost of a steal attempt times the processors is more than virtual time can count.
    TooLong {
        /// T1.
        work: u64,
        /// Steps that a steal attempt takes.
        steal_cost: u64,
        /// Processors.
        processors: usize,
    },
    /// So many instructions for each strand that moves are more than virtual time can count.
    DearMigrations(u64),
    /// A strand began before its predecessors had executed: an error in the scheduler.
    TooEarly {
        /// The strand.
        strand: StrandId,
        /// When.
        tick: u64,
    },
    /// Such a run is impossible: an error in the simulator.
    Impossible(String),
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
            Self::AutoQuota => {
                f.write_str("a quota of `auto` is found while a program runs on threads; give a number of bytes or inf")
            }
            Self::SpeedCount { speeds, processors } => write!(
                f,
                "{speeds} speeds were given for {processors} processors; give one for each, or none"
            ),
            Self::UnknownProcessor { processor, processors } => write!(
                f,
                "a change of speed names {processor}; the processors are numbered from p1 to p{processors}"
            ),
            Self::EstimateCount { estimates, processors } => write!(
                f,
                "{estimates} estimates were given for {processors} processors; give one for each, or none"
            ),
            Self::SpeedsTooFine => f.write_str(
                "the speeds or the times at which they change have no small common measure, or the run is too long \
                 for it; use smaller numbers or rounder fractions",
            ),
            Self::TooLong { work, steal_cost: 1, processors } => write!(
                f,
                "the weights are too large: T1 = {work} on {processors} processors is more than 2^58 steps, or 2^61 in all"
            ),
            Self::TooLong { work, steal_cost, processors } => write!(
                f,
                "the cost of a steal attempt is too large: {steal_cost} steps for each of T1 = {work} instructions on \
                 {processors} processors are more than 2^58, or 2^61 in all"
            ),
            Self::DearMigrations(cost) => write!(
                f,
                "the cost of a migration is too large: {cost} instructions for every strand are more than 2^58"
            ),
            Self::TooEarly { strand, tick } => {
                write!(f, "at tick {tick} {strand} began before its predecessors had executed")
            }
            Self::Impossible(what) => write!(f, "no schedule is like this run: {what}"),
            Self::FreeSteals => f.write_str("a steal attempt must take at least one step"),
            Self::SlowSameStep(cost) => write!(
                f,
                "an attempt takes {cost} steps; thieves can execute in the step of their attempt only if it takes 1"
            ),
            Self::TooManyDummies { quota, dummies } => write!(
                f,
                "the quota K = {quota} demands {dummies} dummy threads (DFD §3.3: m/K for every m bytes above K); at most \
                 {MOST_DUMMIES} are simulated: choose a larger K"
            ),
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
