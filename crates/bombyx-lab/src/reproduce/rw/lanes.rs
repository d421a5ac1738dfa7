//! The runs behind the exhibits: each benchmark on the schedulers of `bombyx-rw`, on rayon and serially, in rounds, one
//! after the other. Also the same computation, recorded, on 30 processors in virtual time.

use super::super::lab::{Lab, SEED, contender};
use crate::Result;
use crate::progress::Progress;
use crate::statistics::{median, middle};
use bombyx_rw::{Count, Joins, Steals};
use bombyx_sim::timed::Timed;
use bombyx_workloads::{Checksum, Grain, Prepared, Runtime, RwLane, RwPool, Size, find};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// Lanes of the paper's tables, with the steals and joins that they combine.
pub(super) const LANES: [(&str, RwLane, Steals, Joins); 4] = [
    (PD_CAS, RwLane::PdCas, Steals::PrivateCas, Joins::FetchAdd),
    (CHASE_LEV, RwLane::ChaseLev, Steals::ChaseLev, Joins::FetchAdd),
    (WS, RwLane::Ws, Steals::ReadWrite, Joins::FetchAdd),
    (WS_JR, RwLane::WsJr, Steals::ReadWrite, Joins::ReadWrite),
];
pub(super) const PD_CAS: &str = "PD/CAS";
pub(super) const CHASE_LEV: &str = "Chase Lev";
pub(super) const WS: &str = "WS";
pub(super) const WS_JR: &str = "WS+JR";
pub(super) const RAYON: &str = "rayon";
pub(super) const SERIAL: &str = "serial";

/// The paper's number of cores.
pub(super) const THIRTY: usize = 30;
/// Virtual time: the longest time without a poll, and until a store is visible, in nanoseconds.
pub(super) const TAU: u64 = 10_000;
pub(super) const DELTA: u64 = 500;
/// Virtual time: how many runs with different random choices. The medians of all figures count.
const SEEDS: u64 = 5;

/// The result of one run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) seconds: f64,
    pub(super) steals: u64,
    /// Shares of the processors' time: in search of work, and in the waiting loops of joins.
    pub(super) idle: f64,
    pub(super) waiting: f64,
}

/// All runs of one benchmark: the nth run of each lane belongs to the nth round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Runs {
    /// What was run.
    pub(super) input: String,
    pub(super) lanes: BTreeMap<String, Vec<Run>>,
    /// The same lanes on 30 processors in virtual time.
    pub(super) thirty: BTreeMap<String, Thirty>,
}

/// Medians of runs in virtual time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Thirty {
    /// T1 over the time.
    pub(super) speedup: f64,
    pub(super) steals: u64,
    /// In search of work, in per cent of the processors' time.
    pub(super) idle: f64,
    /// The slowest steal and the latest query that was too old, against τ + 2Δ and 2Δ.
    pub(super) slowest_steal: u64,
    pub(super) latest_stale: u64,
}

impl Runs {
    /// A figure of a lane's runs, run by run.
    pub(super) fn figures(&self, lane: &str, of: impl Fn(&Run) -> f64) -> Option<Vec<f64>> {
        Some(self.lanes.get(lane)?.iter().map(of).collect())
    }

    /// The median of a figure.
    pub(super) fn median(&self, lane: &str, of: impl Fn(&Run) -> f64) -> Option<f64> {
        let mut figures = self.figures(lane, of)?;
        figures.sort_by(f64::total_cmp);
        (!figures.is_empty()).then(|| median(&figures))
    }

    /// One lane against another, round by round.
    pub(super) fn against(&self, lane: &str, base: &str, of: impl Fn(&Run) -> f64) -> Option<Interval> {
        let (ours, theirs) = (self.figures(lane, &of)?, self.figures(base, &of)?);
        Interval::of(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect())
    }

    /// Seconds in threads, over all processors.
    pub(super) fn work(processors: usize) -> impl Fn(&Run) -> f64 {
        move |run| run.seconds * processors as f64 * (1.0 - run.idle - run.waiting)
    }
}

/// A median, and an interval in which the true one lies with a confidence of at least 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) median: f64,
    /// `None` if there are too few figures.
    pub(super) ends: Option<[f64; 2]>,
}

impl Interval {
    /// From the order of the figures alone, whatever their distribution. k of them lie outside on each side, where
    /// fewer than k of that many coins show heads with a probability of at most 2.5 %.
    pub(super) fn of(mut figures: Vec<f64>) -> Option<Interval> {
        figures.retain(|figure| figure.is_finite());
        figures.sort_by(f64::total_cmp);
        let n = figures.len();
        if n == 0 {
            return None;
        }
        let (mut below, mut ways, mut k) = (0.0, 0.5f64.powi(n as i32), 0);
        while below + ways <= 0.025 {
            below += ways;
            ways *= (n - k) as f64 / (k + 1) as f64;
            k += 1;
        }
        let ends = (k > 0).then(|| [figures[k - 1], figures[n - k]]);
        Some(Interval { median: median(&figures), ends })
    }

    /// 1 if it is surely more than 1, −1 if it is surely less, 0 if that is open.
    pub(super) fn direction(self) -> i32 {
        match self.ends {
            Some([low, _]) if low > 1.0 => 1,
            Some([_, high]) if high < 1.0 => -1,
            _ => 0,
        }
    }
}

/// The runs of a benchmark.
pub(super) fn runs(lab: &Lab, workload: &str) -> Result<Runs> {
    let key = format!("{workload}, {}, {} processors", lab.size(), lab.processors());
    lab.journaled(&key, || {
        let mut runs = measure(lab, workload)?;
        runs.thirty = thirty(lab, workload)?;
        Ok(runs)
    })
}

fn measure(lab: &Lab, workload: &str) -> Result<Runs> {
    let rounds = lab.pick(2, 20);
    let progress = Progress::new(rounds);
    progress.doing(format!("{workload}: making its input"));
    let mut prepared = find(workload)?.prepare(lab.size(), Grain::Medium, SEED);
    let rayon = contender(RAYON, lab.processors())?;
    let mut runs = Runs { input: prepared.input(), ..Runs::default() };
    let expected = prepared.run(Runtime::Serial).checksum;
    for round in 0..rounds {
        progress.doing(format!("{workload}, round {} of {rounds}", round + 1));
        // Each round begins with another lane.
        for nth in 0..LANES.len() {
            let (name, lane, ..) = LANES[(nth + round) % LANES.len()];
            let run = continued(&mut *prepared, lane, lab.processors(), expected)?;
            runs.lanes.entry(name.to_owned()).or_default().push(run);
        }
        if let Some(rayon) = &rayon {
            let run = directly(&mut *prepared, rayon.runtime(), expected)?;
            runs.lanes.entry(RAYON.to_owned()).or_default().push(run);
        }
        if round % 4 == 0 {
            let run = directly(&mut *prepared, Runtime::Serial, expected)?;
            runs.lanes.entry(SERIAL.to_owned()).or_default().push(run);
        }
        progress.step();
    }
    Ok(runs)
}

fn right(prepared: &dyn Prepared, expected: Checksum, on: &str) -> Result<()> {
    match prepared.checksum() == expected {
        true => Ok(()),
        false => Err(format!("{} on {on} gave another result than serially", prepared.input()).into()),
    }
}

fn directly(prepared: &mut dyn Prepared, on: Runtime<'_>, expected: Checksum) -> Result<Run> {
    let run = prepared.run(on);
    right(prepared, expected, on.name())?;
    Ok(Run { seconds: run.time.as_secs_f64(), ..Run::default() })
}

/// One run on a scheduler of `bombyx-rw`. Its pool ends with the run, so that no processor of another pool is in the
/// way.
fn continued(
    prepared: &mut dyn Prepared,
    lane: RwLane,
    processors: usize,
    expected: Checksum,
) -> Result<Run> {
    let mut pool = RwPool::new(lane, processors)?;
    prepared.reset();
    let start = Instant::now();
    if !prepared.continue_on(&mut pool) {
        return Err(format!("{} has no form in continuation-passing style", prepared.input()).into());
    }
    let seconds = start.elapsed().as_secs_f64();
    right(prepared, expected, lane.name())?;
    let ticks = pool.counted(Count::RunTicks) as f64 * processors as f64;
    Ok(Run {
        seconds,
        steals: pool.counted(Count::Steals),
        idle: pool.counted(Count::IdleTicks) as f64 / ticks,
        waiting: pool.counted(Count::WaitTicks) as f64 / ticks,
    })
}

/// The recorded computation on 30 processors in virtual time.
fn thirty(lab: &Lab, workload: &str) -> Result<BTreeMap<String, Thirty>> {
    let recorded = lab.recorded(workload, Grain::Medium)?;
    let progress = Progress::new(LANES.len());
    let mut lanes = BTreeMap::new();
    for (name, _, steals, joins) in LANES {
        progress.doing(format!("{workload}: {name} on {THIRTY} processors in virtual time"));
        let mut outcomes = Vec::new();
        for seed in (SEED..).take(SEEDS as usize) {
            let run =
                Timed::new(&recorded.computation, THIRTY, steals, joins).tau(TAU).delta(DELTA).seed(seed);
            outcomes.push(run.run()?);
        }
        let of = |figure: &dyn Fn(&bombyx_sim::timed::Outcome) -> f64| {
            middle(outcomes.iter().map(figure)).unwrap_or(f64::NAN)
        };
        let worst =
            |figure: fn(&bombyx_sim::timed::Outcome) -> u64| outcomes.iter().map(figure).max().unwrap_or(0);
        lanes.insert(
            name.to_owned(),
            Thirty {
                speedup: of(&|run| recorded.measures.work as f64 / run.time as f64),
                steals: of(&|run| run.steals as f64) as u64,
                idle: of(&|run| 100.0 * run.idle as f64 / (run.time * THIRTY as u64) as f64),
                slowest_steal: worst(|run| run.slowest_steal),
                latest_stale: worst(|run| run.latest_stale),
            },
        );
        progress.step();
    }
    Ok(lanes)
}

/// What a fork and its join take on one processor, in nanoseconds: fib at fine grain, which does nothing else. Lane by lane,
/// round by round.
pub(super) fn spawns(lab: &Lab) -> Result<BTreeMap<String, Vec<f64>>> {
    let key = format!("spawns, {} rounds", lab.pick(2, 20));
    lab.journaled(&key, || {
        let mut prepared = find("fib")?.prepare(Size::Small, Grain::Fine, SEED);
        let mut pools = Vec::new();
        for (name, lane, ..) in LANES {
            pools.push((name, RwPool::new(lane, 1)?));
        }
        let repeats = lab.pick(2, 100);
        let mut lanes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for _ in 0..lab.pick(2, 20) {
            for (name, pool) in &mut pools {
                let before = pool.counted(Count::Threads);
                let start = Instant::now();
                for _ in 0..repeats {
                    prepared.continue_on(pool);
                }
                let nanoseconds = start.elapsed().as_nanos() as f64;
                // A fork makes three threads, and one more begins.
                let forks = (pool.counted(Count::Threads) - before - repeats) / 3;
                lanes.entry((*name).to_owned()).or_default().push(nanoseconds / forks as f64);
            }
        }
        Ok(lanes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_comes_from_the_order() {
        let interval = Interval::of((1..=20).map(f64::from).collect()).unwrap();
        // Fewer than 6 of 20 coins show heads with a probability of 2.07 %.
        assert_eq!(interval, Interval { median: 10.5, ends: Some([6.0, 15.0]) });
        assert_eq!(interval.direction(), 1);
        let few = Interval::of(vec![0.5, 0.6, 0.4]).unwrap();
        assert_eq!((few.median, few.ends, few.direction()), (0.5, None, 0));
        assert_eq!(Interval::of(vec![0.5; 6]).unwrap().direction(), -1);
        assert_eq!(Interval::of(vec![f64::NAN]), None);
    }
}
