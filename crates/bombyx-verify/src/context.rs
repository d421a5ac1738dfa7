//! How claims are tried: over many cases, judged one by one ([`Context::always`]), on average ([`Context::on_average`])
//! or by the frequency of an event ([`Context::rarely`]). Counterexamples are made small.
//!
//! A case is a [`Subject`]: something with a computation, a number of processors and a seed. All randomness comes from
//! the plan's seed, so a claim gives the same finding wherever it is tried and in whatever order.

use crate::finding::{Constant, Counterexample, Finding, Tried, Verdict, Worst, ratio};
use crate::mutant::Mutant;
use crate::statistics;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How much is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// A few small cases: for tests.
    Quick,
    /// All claims together take at most a minute and a half on two cores.
    #[default]
    Normal,
    /// More and larger cases. All claims together take at most ten minutes.
    Thorough,
}

/// What to try, and with which random numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// How much to try.
    pub effort: Effort,
    /// The seed of all random choices.
    pub seed: u64,
    /// A wrong scheduler to try the claim on, in place of the right one.
    pub mutant: Option<Mutant>,
}

/// A case in which a claim can be tried.
pub(crate) trait Subject: Clone + fmt::Display {
    /// The name of the computation. Equal names count as one computation in [`Tried`].
    fn computation(&self) -> String;
    fn processors(&self) -> usize;
    fn seed(&self) -> u64;
    fn with_seed(&self, seed: u64) -> Self;
    /// Cases that are simpler, simplest first.
    fn smaller(&self) -> Vec<Self>;
    /// A command that shows the case, with this many seeds from its own on.
    fn replay(&self, seeds: u64) -> Option<String>;
}

/// One measurement against its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) measured: f64,
    pub(crate) bound: f64,
    pub(crate) constant: Option<Constant>,
}

impl Sample {
    pub(crate) fn new(measured: impl Into<f64>, bound: impl Into<f64>) -> Self {
        Self { measured: measured.into(), bound: bound.into(), constant: None }
    }

    /// Whole numbers, exact up to 2^53.
    pub(crate) fn of(measured: u64, bound: u64) -> Self {
        Self { measured: measured as f64, bound: bound as f64, constant: None }
    }

    /// There was nothing to measure: the claim held.
    pub(crate) const HELD: Self = Self { measured: 0.0, bound: 0.0, constant: None };

    /// Adds the constant of the bound's main term in this case: the measured one, the checked one, and what the proof
    /// allows.
    pub(crate) fn constant(
        self,
        unit: &'static str,
        measured: f64,
        checked: f64,
        proof: impl Into<Option<f64>>,
    ) -> Self {
        Self { constant: Some(Constant::at_most(unit, measured, checked, proof)), ..self }
    }

    /// Like [`Sample::constant`], if the bound is one from below.
    pub(crate) fn constant_at_least(
        self,
        unit: &'static str,
        measured: f64,
        checked: f64,
        proof: impl Into<Option<f64>>,
    ) -> Self {
        let constant = Constant { from_below: true, ..Constant::at_most(unit, measured, checked, proof) };
        Self { constant: Some(constant), ..self }
    }

    /// Whether the measurement is beyond the bound by more than the rounding of the bound itself.
    fn is_broken(self) -> bool {
        self.measured > self.bound * (1.0 + 1e-9)
    }
}

/// What a measurement gives: a sample, or in words what is broken.
pub(crate) type Measured = Result<Sample, String>;

/// Counts of events that should be rare, by key.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: BTreeMap<(u32, u32), Count>,
    constant: Option<Constant>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    events: u64,
    trials: u64,
    bound: f64,
}

impl Tally {
    /// The event with this key, whose chance is at most `bound`, occurred or not.
    pub(crate) fn count(&mut self, key: (u32, u32), bound: f64, occurred: bool) {
        let count = self.counts.entry(key).or_default();
        count.events += u64::from(occurred);
        count.trials += 1;
        count.bound = bound;
    }

    /// Notes the constant that a run had.
    pub(crate) fn constant(&mut self, constant: Constant) {
        keep_worst(&mut self.constant, Some(constant));
    }
}

/// Keeps the constant that came nearer to its bound.
fn keep_worst(kept: &mut Option<Constant>, other: Option<Constant>) {
    if let Some(other) = other
        && kept.is_none_or(|kept| other.is_beyond(&kept))
    {
        *kept = Some(other);
    }
}

/// Making a counterexample smaller takes at most this many runs, or `SHRINKING_TRIES` tries if each takes many runs.
const SHRINKING_RUNS: usize = 300;
const SHRINKING_TRIES: usize = 12;

/// A claim being tried.
pub(crate) struct Context<'a> {
    pub(crate) plan: Plan,
    id: &'static str,
    progress: &'a (dyn Fn(u64, u64) + 'a),
    total: Cell<u64>,
    shrinks: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(plan: Plan, id: &'static str, progress: &'a (dyn Fn(u64, u64) + 'a)) -> Self {
        Self { plan, id, progress, total: Cell::new(0), shrinks: true }
    }

    /// Leaves counterexamples as they were found.
    pub(crate) fn without_shrinking(self) -> Self {
        Self { shrinks: false, ..self }
    }

    /// Whether the claim is tried on a mutant.
    pub(crate) fn mutated(&self) -> bool {
        self.plan.mutant.is_some()
    }

    /// Whether the claim is tried on its own mutant of this name.
    pub(crate) fn own(&self, wanted: &str) -> bool {
        matches!(self.plan.mutant, Some(Mutant::Own { name, .. }) if name == wanted)
    }

    /// One of three values, depending on the effort.
    pub(crate) fn by_effort<T>(&self, quick: T, normal: T, thorough: T) -> T {
        match self.plan.effort {
            Effort::Quick => quick,
            Effort::Normal => normal,
            Effort::Thorough => thorough,
        }
    }

    /// The `nth` seed of this plan.
    pub(crate) fn seed(&self, nth: u64) -> u64 {
        self.plan.seed.wrapping_mul(100_000).wrapping_add(nth)
    }

    /// In every case the measurement stays within its bound.
    pub(crate) fn always<S: Subject>(&self, cases: Vec<S>, measure: impl Fn(&S) -> Measured) -> Finding {
        self.total.set(cases.len() as u64);
        let mut book = Book::default();
        for (done, case) in (0..).zip(&cases) {
            (self.progress)(done, self.total.get());
            book.note(case, 1);
            match measure(case) {
                Ok(sample) if !sample.is_broken() => book.nearest(sample, None, || case.to_string()),
                broken => {
                    if let Ok(sample) = broken {
                        book.nearest(sample, None, || case.to_string());
                    }
                    let text = |case: &S| match measure(case) {
                        Ok(sample) if sample.is_broken() => Some(beyond(sample)),
                        Ok(_) => None,
                        Err(text) => Some(text),
                    };
                    return book.broken(self.shrink(case, 1, SHRINKING_RUNS, text));
                }
            }
        }
        book.held()
    }

    /// In every case the expectation over `runs` seeds stays within its bound. If the bound depends on the seed too,
    /// measure their ratio against 1.
    pub(crate) fn on_average<S: Subject>(
        &self,
        cases: Vec<S>,
        runs: u64,
        measure: impl Fn(&S) -> Measured,
    ) -> Finding {
        self.total.set(cases.len() as u64 * runs);
        let mut book = Book::default();
        let average = |case: &S| -> Result<(Sample, statistics::Interval), String> {
            let (mut measured, mut constants) = (Vec::new(), Vec::new());
            let (mut bounds, mut constant) = (0.0, None);
            for nth in 0..runs {
                let sample = measure(&case.with_seed(self.seed(nth)))?;
                measured.push(sample.measured);
                bounds += sample.bound;
                constants.extend(sample.constant.map(|constant| constant.measured));
                constant = sample.constant;
            }
            let measured_constant = constants.iter().sum::<f64>() / constants.len().max(1) as f64;
            let constant = constant.map(|constant| Constant { measured: measured_constant, ..constant });
            let (mean, interval) = statistics::mean(&measured);
            Ok((Sample { measured: mean, bound: bounds / runs as f64, constant }, interval))
        };
        let is_broken = |sample: Sample, interval: statistics::Interval| {
            Sample { measured: interval.low, ..sample }.is_broken()
        };
        for (done, case) in (0..).zip(&cases) {
            (self.progress)(done * runs, self.total.get());
            (0..runs).for_each(|nth| book.note(&case.with_seed(self.seed(nth)), 1));
            let first = case.with_seed(self.seed(0));
            match average(case) {
                Ok((sample, interval)) if !is_broken(sample, interval) => {
                    book.nearest(sample, Some(interval), || format!("{case}, {runs} seeds"));
                }
                broken => {
                    if let Ok((sample, interval)) = broken {
                        book.nearest(sample, Some(interval), || format!("{case}, {runs} seeds"));
                    }
                    let text = |case: &S| match average(case) {
                        Ok((sample, interval)) if is_broken(sample, interval) => {
                            Some(format!("on average {}", beyond(sample)))
                        }
                        Ok(_) => None,
                        Err(text) => Some(text),
                    };
                    return book.broken(self.shrink(&first, runs, 2 * SHRINKING_TRIES, text));
                }
            }
        }
        book.held()
    }

    /// In every case each event that `measure` counts is as rare over `runs` seeds as its bound says. `name` names an
    /// event by its key.
    pub(crate) fn rarely<S: Subject>(
        &self,
        cases: Vec<S>,
        runs: u64,
        name: impl Fn((u32, u32)) -> String,
        measure: impl Fn(&S, &mut Tally) -> Result<(), String>,
    ) -> Finding {
        self.total.set(cases.len() as u64 * runs);
        let mut book = Book::default();
        let worst = |case: &S| -> Result<Option<Frequency>, String> {
            let mut tally = Tally::default();
            for nth in 0..runs {
                measure(&case.with_seed(self.seed(nth)), &mut tally)?;
            }
            Ok(Frequency::worst(&tally))
        };
        let describe = |f: &Frequency| format!("{}: {} of {} runs", name(f.key), f.events, f.trials);
        for (done, case) in (0..).zip(&cases) {
            (self.progress)(done * runs, self.total.get());
            (0..runs).for_each(|nth| book.note(&case.with_seed(self.seed(nth)), 1));
            let found = worst(case);
            if let Ok(Some(f)) = &found {
                book.nearest(f.sample(), Some(f.interval), || format!("{case}, {}", describe(f)));
            }
            if !matches!(&found, Ok(f) if f.as_ref().is_none_or(|f| !f.is_broken())) {
                let text = |case: &S| match worst(case) {
                    Ok(f) => f.filter(Frequency::is_broken).map(|f| {
                        format!("{}, although the chance should be at most {:.4}", describe(&f), f.bound)
                    }),
                    Err(text) => Some(text),
                };
                return book.broken(self.shrink(&case.with_seed(self.seed(0)), runs, SHRINKING_TRIES, text));
            }
        }
        book.held()
    }

    /// Makes a broken case smaller as long as it stays broken.
    fn shrink<S: Subject>(
        &self,
        case: &S,
        seeds: u64,
        tries: usize,
        broken: impl Fn(&S) -> Option<String>,
    ) -> Counterexample {
        let found = case.to_string();
        let mut text = broken(case).unwrap_or_else(|| "what was broken is not".to_owned());
        let (mut case, mut left) = (case.clone(), if self.shrinks { tries } else { 0 });
        'smaller: loop {
            for candidate in case.smaller() {
                if left == 0 {
                    break 'smaller;
                }
                left -= 1;
                if let Some(why) = broken(&candidate) {
                    (case, text) = (candidate, why);
                    continue 'smaller;
                }
            }
            break;
        }
        let replay = case.replay(seeds).filter(|_| !self.mutated()).unwrap_or_else(|| {
            let option = if self.mutated() { "--mutate" } else { "--only" };
            format!("bombyx verify {option} {} --seed {}", self.id, self.plan.seed)
        });
        Counterexample { text, run: case.to_string(), found, replay }
    }
}

fn beyond(sample: Sample) -> String {
    format!("{} measured, at most {} allowed", number(sample.measured), number(sample.bound))
}

/// A number for people: whole if it is, else with a few digits.
pub(crate) fn number(value: f64) -> String {
    match value {
        v if v == v.trunc() && v.abs() < 1e15 => format!("{v:.0}"),
        v if v.abs() >= 100.0 => format!("{v:.1}"),
        v if v.abs() >= 0.1 => format!("{v:.3}"),
        v => format!("{v:.2e}"),
    }
}

/// How often an event came up.
struct Frequency {
    key: (u32, u32),
    events: u64,
    trials: u64,
    bound: f64,
    interval: statistics::Interval,
    constant: Option<Constant>,
}

impl Frequency {
    /// The event that exceeds its chance most, or comes nearest to it.
    fn worst(tally: &Tally) -> Option<Self> {
        let questions = tally.counts.len();
        let frequency = |(&key, &Count { events, trials, bound }): (&(u32, u32), &Count)| {
            let interval = statistics::chance(events, trials, questions);
            Self { key, events, trials, bound, interval, constant: tally.constant }
        };
        let all = tally.counts.iter().map(frequency);
        all.max_by(|a, b| a.rank().partial_cmp(&b.rank()).expect("chances are numbers"))
    }

    fn rank(&self) -> (f64, f64) {
        (self.interval.low / self.bound, ratio(self.sample().measured, self.bound))
    }

    fn sample(&self) -> Sample {
        let measured = self.events as f64 / self.trials as f64;
        Sample { measured, bound: self.bound, constant: self.constant }
    }

    fn is_broken(&self) -> bool {
        self.interval.low > self.bound
    }
}

/// What has been tried so far.
#[derive(Default)]
struct Book {
    computations: BTreeSet<String>,
    processors: BTreeSet<usize>,
    seeds: BTreeSet<u64>,
    runs: u64,
    worst: Option<Worst>,
    constant: Option<Constant>,
}

impl Book {
    fn note<S: Subject>(&mut self, case: &S, runs: u64) {
        self.computations.insert(case.computation());
        self.processors.insert(case.processors());
        self.seeds.insert(case.seed());
        self.runs += runs;
    }

    fn nearest(&mut self, sample: Sample, interval: Option<statistics::Interval>, at: impl Fn() -> String) {
        keep_worst(&mut self.constant, sample.constant);
        let now = ratio(sample.measured, sample.bound);
        if self.worst.as_ref().is_none_or(|worst| now > worst.ratio()) {
            self.worst = Some(Worst { measured: sample.measured, bound: sample.bound, interval, at: at() });
        }
    }

    fn finding(self, verdict: Verdict, counterexample: Option<Counterexample>) -> Finding {
        let tried = Tried {
            computations: self.computations.len(),
            processors: self.processors.len(),
            seeds: self.seeds.len(),
            runs: self.runs,
        };
        let (worst, constant) = (self.worst, self.constant);
        Finding { verdict, tried, worst, counterexample, constant, mutants: Vec::new() }
    }

    fn held(self) -> Finding {
        self.finding(Verdict::Holds, None)
    }

    fn broken(self, counterexample: Counterexample) -> Finding {
        self.finding(Verdict::Broken, Some(counterexample))
    }
}
