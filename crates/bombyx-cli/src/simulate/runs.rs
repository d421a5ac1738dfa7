//! The runs that a command line asks for, and what they measured.

use super::input::Input;
use super::{Args, Result, Usage, spinner};
use bombyx_sim::{Contention, Metering, Mode, Outcome, Ratio, Scheduler, Simulation, Speeds, Trace};
use indicatif::{ProgressBar, ProgressStyle};

/// `--check` looks at every step of runs whose work is at most this.
const MOST_STEPS: u64 = 10_000_000;

/// What to run: every scheduler on every number of processors with every seed.
pub(super) struct Plan<'a> {
    pub(super) input: &'a Input,
    pub(super) schedulers: Vec<Scheduler>,
    pub(super) processors: Vec<usize>,
    pub(super) seeds: std::ops::Range<u64>,
    pub(super) contention: Contention,
    pub(super) steal_cost: u64,
    pub(super) visits: bool,
    pub(super) same_step: bool,
    pub(super) heap_quota: bool,
    pub(super) speeds: Speeds,
    estimates: Vec<Ratio>,
    migration_cost: u64,
    at_victims_speed: bool,
    pub(super) check: bool,
    trace: bool,
}

/// One run.
pub(super) struct Run {
    pub(super) outcome: Outcome,
    /// No schedule takes less time.
    pub(super) least_time: f64,
    /// When the processors could have executed T1 + P·T∞. With constant speeds: T1 over the total speed, plus T∞ over
    /// the mean speed (BL Theorem 1, HET Theorem 4 with β = 1).
    pub(super) greedy_time: f64,
}

impl Run {
    pub(super) fn time(&self) -> f64 {
        self.outcome.time()
    }
}

impl<'a> Plan<'a> {
    pub(super) fn of(args: &Args, input: &'a Input) -> Result<Self> {
        let speeds = args.speeds.clone().unwrap_or_default();
        let processors = match (&args.processors, speeds.processors()) {
            (Some(numbers), _) => numbers.0.iter().map(|&n| n as usize).collect(),
            (None, Some(count)) => vec![count],
            (None, None) => vec![1, 2, 4, 8, 16, 32, 64],
        };
        let seeds = args.seed
            ..args.seed.checked_add(args.seeds).ok_or_else(|| Usage("the seeds run past 2^64".to_owned()))?;
        let plan = Self {
            input,
            schedulers: args.schedulers.0.clone(),
            processors,
            seeds,
            contention: args.contention.unwrap_or_else(|| Contention::for_computation(&input.computation)),
            visits: args.visits,
            same_step: args.same_step,
            heap_quota: args.heap_quota,
            steal_cost: args.steal_cost.or(input.noted_ns("steal_ns")).unwrap_or(1),
            speeds,
            estimates: args.estimates()?,
            migration_cost: args.migration_cost,
            at_victims_speed: args.victims_speed,
            check: args.check,
            trace: args.steps || args.trace.is_some() || args.gantt.is_some(),
        };
        if plan.count() == 0 {
            return Err(Usage("there is nothing to run; ask for at least one seed".to_owned()).into());
        }
        if plan.trace && plan.count() > 1 {
            return Err(Usage(format!(
                "steps, traces and Gantt charts show one run, and this would be {}; choose one scheduler, one number \
                 of processors and one seed, say `-s {} -p {}`",
                plan.count(),
                plan.schedulers[0],
                plan.processors.iter().copied().find(|&p| p > 1).unwrap_or(4).min(4)
            ))
            .into());
        }
        Ok(plan)
    }

    /// Whether `--check` looks at every step. In a long run it looks only when something has changed. In between there
    /// are only instructions within strands and failed attempts, and no invariant is about those.
    fn looks_at_steps(&self) -> bool {
        self.input.measures.work <= MOST_STEPS
    }

    /// Which invariants `--check` looks at, a line for each scheduler; none without `--check`.
    pub(super) fn checked(&self) -> Vec<String> {
        let class = self.input.computation.class();
        let when = match self.looks_at_steps() {
            true => "at every step",
            false => "whenever a strand ends or a thread moves",
        };
        let line = |&scheduler: &Scheduler| {
            let invariants = self.simulation(scheduler, self.processors[0], 0).invariants();
            let names: Vec<String> = invariants.iter().map(ToString::to_string).collect();
            match names.as_slice() {
                [] => format!(
                    "nothing is checked under {scheduler}: no invariant is proved for it on {class} computations{}",
                    self.beside()
                ),
                names => format!("checked {when} under {scheduler}: {}", names.join(", ")),
            }
        };
        if self.check { self.schedulers.iter().map(line).collect() } else { Vec::new() }
    }

    /// What about the machine keeps invariants from being checked that are proved without it.
    fn beside(&self) -> &'static str {
        match () {
            () if self.speeds.changes().iter().any(|change| change.crash) => " if processors crash",
            () if self.visits => " if processors visit its queue",
            () => "",
        }
    }

    fn count(&self) -> u64 {
        (self.schedulers.len() * self.processors.len()) as u64 * (self.seeds.end - self.seeds.start)
    }

    /// Makes all runs, in the order scheduler, processors, seed, with a progress bar if they take long.
    pub(super) fn run(&self) -> Result<Vec<Run>> {
        let bar = self.progress();
        let mut runs = Vec::new();
        for &scheduler in &self.schedulers {
            for &processors in &self.processors {
                bar.set_message(format!("{scheduler} on {processors}"));
                for seed in self.seeds.clone() {
                    let outcome = self.simulation(scheduler, processors, seed).run().map_err(|error| {
                        format!("{scheduler} on {processors} processors, seed {seed}: {error}")
                    })?;
                    runs.push(self.measured(outcome));
                    bar.inc(1);
                }
            }
        }
        bar.finish_and_clear();
        Ok(runs)
    }

    /// The runs of one scheduler on one number of processors.
    pub(super) fn group<'r>(&self, runs: &'r [Run], scheduler: usize, processors: usize) -> &'r [Run] {
        let seeds = (self.seeds.end - self.seeds.start) as usize;
        let begin = (scheduler * self.processors.len() + processors) * seeds;
        &runs[begin..begin + seeds]
    }

    /// The trace of the only run.
    pub(super) fn trace<'r>(&self, runs: &'r [Run]) -> Result<&'r Trace> {
        runs.first().and_then(|run| run.outcome.trace.as_ref()).ok_or_else(|| "no trace was recorded".into())
    }

    /// The speeds of `processors` processors at the beginning.
    pub(super) fn speeds_of(&self, processors: usize) -> Vec<Ratio> {
        match self.speeds.list() {
            Some(list) => list.iter().copied().cycle().take(processors).collect(),
            None => vec![Ratio::ONE; processors],
        }
    }

    /// The speeds of `processors` processors, with their changes.
    fn speeds_on(&self, processors: usize) -> Speeds {
        let speeds = match self.speeds.list() {
            Some(_) => Speeds::from_list(self.speeds_of(processors)),
            None => Speeds::equal(),
        };
        speeds.with_changes(self.speeds.changes().iter().copied())
    }

    /// Whether all processors always have speed 1, so that the papers' bounds on steps apply as they are.
    pub(super) fn has_unit_speeds(&self) -> bool {
        let list = self.speeds.list().unwrap_or_default();
        self.speeds.changes().is_empty() && list.iter().all(|&speed| speed == Ratio::ONE)
    }

    fn simulation(&self, scheduler: Scheduler, processors: usize, seed: u64) -> Simulation<'a> {
        let speeds = self.speeds_on(processors);
        let mut simulation = Simulation::new(&self.input.computation, scheduler)
            .processors(processors)
            .speeds(speeds)
            .seed(seed)
            .contention(self.contention)
            .steal_cost(self.steal_cost)
            .migration_cost(self.migration_cost)
            .estimates(self.estimates.iter().copied().cycle().take(processors));
        if self.at_victims_speed {
            simulation = simulation.steals_at_victims_speed();
        }
        if self.visits {
            simulation = simulation.visits();
        }
        if self.same_step {
            simulation = simulation.same_step();
        }
        if self.heap_quota {
            simulation = simulation.metering(Metering::Heap);
        }
        if self.check {
            let mode = if self.looks_at_steps() { Mode::Step } else { Mode::Event };
            simulation = simulation.mode(mode).check_all();
        }
        if self.trace {
            simulation = simulation.trace();
        }
        simulation
    }

    fn measured(&self, outcome: Outcome) -> Run {
        let processors = outcome.processors;
        let speeds = self.speeds_on(processors);
        let (work, span) = (self.input.measures.work, self.input.measures.span);
        Run {
            least_time: speeds.least_time(processors, work, span),
            greedy_time: speeds.time_for(processors, work as f64 + processors as f64 * span as f64),
            outcome,
        }
    }

    fn progress(&self) -> ProgressBar {
        let bar = spinner(String::new());
        bar.set_length(self.count());
        let style = ProgressStyle::with_template("{spinner} {msg} {wide_bar} {pos}/{len} runs, {eta} left");
        bar.set_style(style.expect("the template is well formed"));
        bar
    }
}
