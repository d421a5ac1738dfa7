//! [`Runs`]: the simulator's runs of a recording on some numbers of processors.

use crate::model::processors;
use bombyx_dag::Computation;
use bombyx_sim::{Contention, Outcome, Scheduler, Simulation};
use serde_json::{Value, json};

/// How many strands may be simulated for a page, all runs together.
const MOST_STRANDS: usize = 12_000_000;

/// With more processors than this, only powers of two are simulated.
const ONE_BY_ONE: u32 = 16;

/// How many points a curve of memory has at most.
const POINTS: usize = 300;

/// For how many numbers of processors memory is shown.
const MEMORIES: [u32; 4] = [1, 4, 16, 64];

/// Memory over time in one run.
struct Memory {
    processors: u32,
    time: f64,
    peak: u64,
    /// Shares of the time, and bytes.
    points: Vec<(f64, u64)>,
}

/// What the simulator found.
pub(crate) struct Runs {
    /// Numbers of processors, and the time on them.
    pub(crate) times: Vec<(u32, f64)>,
    /// On how many processors it was recorded.
    pub(crate) recorded: u32,
    memory: Vec<Memory>,
    simulated: bool,
}

impl Runs {
    /// Runs work stealing on the computation as often as its size allows.
    pub(crate) fn of(c: &Computation) -> Runs {
        let note = |key: &str| {
            let (_, value) = c.notes().iter().find(|(name, _)| name == key)?;
            value.parse::<f64>().ok().filter(|number| (1.0..1e12).contains(number))
        };
        let recorded = note("processors").map_or(4, |number| number.clamp(1.0, 1024.0) as u32);
        let steal_cost = note("steal_ns").map_or(1, |ns| ns.round() as u64);
        let mut numbers = processors(recorded);
        let allowed = MOST_STRANDS / c.strand_count().max(1);
        if numbers.len() > allowed {
            numbers.retain(|p| p.is_power_of_two() || *p == recorded);
        }
        numbers.retain(|p| *p <= ONE_BY_ONE || p.is_power_of_two() || *p == recorded);
        let enough = allowed >= 6;
        numbers.truncate(allowed);
        let mut runs = Runs { times: vec![], recorded, memory: vec![], simulated: true };
        for p in numbers {
            let simulation = Simulation::new(c, Scheduler::WorkStealing)
                .processors(p as usize)
                .seed(1)
                .steal_cost(steal_cost)
                .contention(Contention::for_computation(c));
            let shown = enough && c.uses_heap() && (MEMORIES.contains(&p) || p == recorded);
            let simulation = if shown { simulation.space_series() } else { simulation };
            // A run that would take too many steps is left out.
            let Some(outcome) = enough.then(|| simulation.run().ok()).flatten() else { continue };
            runs.times.push((p, outcome.time()));
            if shown {
                let (peak, points) = (outcome.peak.total, curve(&outcome));
                runs.memory.push(Memory { processors: p, time: outcome.time(), peak, points });
            }
        }
        if runs.times.is_empty() {
            runs.simulated = false;
            runs.times = processors(recorded).into_iter().map(|p| (p, greedy(c, p))).collect();
        }
        runs
    }

    /// Whether the times are the simulator's.
    pub(crate) fn simulated(&self) -> bool {
        self.simulated
    }

    /// What the page's code needs.
    pub(crate) fn memory(&self) -> Value {
        let one = |run: &Memory| json!({ "processors": run.processors, "time": run.time, "peak": run.peak, "points": run.points });
        json!(self.memory.iter().map(one).collect::<Vec<_>>())
    }
}

/// T1/P + (1 − 1/P)·T∞.
fn greedy(c: &Computation, p: u32) -> f64 {
    let work: f64 = c.strands().map(|strand| c.weight(strand) as f64).sum();
    let p = f64::from(p);
    work / p + (1.0 - 1.0 / p) * c.span() as f64
}

/// The most memory in each of some stretches of time, as shares of the whole time.
fn curve(outcome: &Outcome) -> Vec<(f64, u64)> {
    let whole = outcome.makespan.max(1) as f64;
    let mut points: Vec<(f64, u64)> = Vec::new();
    let mut bucket = usize::MAX;
    for sample in &outcome.space {
        let at = sample.tick as f64 / whole;
        let this = (at * POINTS as f64) as usize;
        if this == bucket {
            let last = points.last_mut().expect("the bucket has begun");
            last.1 = last.1.max(sample.space.total);
        } else {
            points.push((at, sample.space.total));
            bucket = this;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::generate::Spec;

    #[test]
    fn memory_has_its_peak_on_the_curve() {
        let c = "geometric:8".parse::<Spec>().unwrap().build().unwrap();
        assert!(c.uses_heap());
        let runs = Runs::of(&c);
        assert!(runs.simulated() && runs.memory.len() == MEMORIES.len());
        for Memory { processors, peak, points, .. } in &runs.memory {
            assert_eq!(points.iter().map(|point| point.1).max(), Some(*peak), "on {processors}");
            assert!(points.len() <= POINTS + 1 && points.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
