//! The shortest schedule of a small computation without preemption, by branch and bound. The approximation ratios of
//! HET §1.6 are relative to it.

use bombyx_dag::{Computation, distances_to_end};
use bombyx_sim::Ratio;

/// Computations with more strands are too large.
pub(super) const STRANDS: usize = 11;

/// A search. Times are in ticks. An instruction takes a whole number of ticks on every processor.
struct Search<'a> {
    weights: Vec<u64>,
    /// Instructions from the beginning of a strand to the end of the computation.
    distances: Vec<u64>,
    before: Vec<Vec<usize>>,
    /// Ticks per instruction of each processor, the fastest first.
    ticks: &'a [u64],
    /// When each strand that was placed ends.
    ends: Vec<Option<u64>>,
    /// When each processor is free.
    free: Vec<u64>,
    best: u64,
}

impl Search<'_> {
    /// Places one more strand in every way. Strands are placed in the order in which they begin, so none begins before
    /// `latest`.
    fn place(&mut self, latest: u64, end: u64) {
        if self.ends.iter().all(Option::is_some) {
            self.best = self.best.min(end);
            return;
        }
        for strand in 0..self.weights.len() {
            let ready = self.before[strand].iter().map(|&before| self.ends[before]);
            let Some(ready) = ready.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).unwrap_or(Some(0)) else {
                continue;
            };
            if self.ends[strand].is_some() {
                continue;
            }
            // What is left of the longest path, at the greatest speed.
            if ready + self.distances[strand] * self.ticks[0] >= self.best {
                return;
            }
            for p in 0..self.ticks.len() {
                // Of processors that are equally fast and free at the same time, one is enough.
                let same = |q: usize| self.ticks[q] == self.ticks[p] && self.free[q] == self.free[p];
                if (0..p).any(same) {
                    continue;
                }
                let begin = ready.max(self.free[p]);
                let done = begin + self.weights[strand] * self.ticks[p];
                let rest = (self.distances[strand] - self.weights[strand]) * self.ticks[0];
                if begin < latest || done + rest >= self.best {
                    continue;
                }
                let freed = std::mem::replace(&mut self.free[p], done);
                self.ends[strand] = Some(done);
                self.place(begin, end.max(done));
                self.ends[strand] = None;
                self.free[p] = freed;
            }
        }
    }
}

/// The least time in which processors of these speeds, whole numbers, execute the computation without preemption.
/// `None` if it has more than [`STRANDS`] strands.
pub(super) fn optimum(c: &Computation, speeds: &[Ratio]) -> Option<f64> {
    let strands: Vec<_> = c.strands().collect();
    if strands.len() > STRANDS {
        return None;
    }
    let mut speeds: Vec<u64> = speeds.iter().map(|speed| speed.to_f64() as u64).collect();
    speeds.sort_unstable_by_key(|&speed| std::cmp::Reverse(speed));
    let unit: u64 = speeds.iter().fold(1, |unit, &speed| unit / common_divisor(unit, speed) * speed);
    let ticks: Vec<u64> = speeds.iter().map(|speed| unit / speed).collect();
    let mut before = vec![Vec::new(); strands.len()];
    for &strand in &strands {
        for to in
            c.next(strand).into_iter().chain(c.spawned(strand)).chain(c.joins_from(strand).iter().copied())
        {
            before[to.index()].push(strand.index());
        }
    }
    let weights: Vec<u64> = strands.iter().map(|&strand| c.weight(strand)).collect();
    // Running everything on the fastest processor is a schedule.
    let best = weights.iter().sum::<u64>() * ticks[0] + 1;
    let mut search = Search {
        distances: distances_to_end(c),
        ends: vec![None; weights.len()],
        free: vec![0; ticks.len()],
        ticks: &ticks,
        weights,
        before,
        best,
    };
    search.place(0, 0);
    Some(search.best as f64 / unit as f64)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Named;

    fn best(spec: &str, speeds: &str) -> f64 {
        let speeds: bombyx_sim::Speeds = speeds.parse().unwrap();
        optimum(Named::new(spec).computation(), speeds.list().unwrap()).unwrap()
    }

    /// By hand: a fan of 2 children of 6 has spawns and joins of one instruction each around them.
    #[test]
    fn small_optima_are_found() {
        assert_eq!(best("chain:length=1,work=10", "1,1"), 10.0);
        assert_eq!(best("chain:length=1,work=10", "5,1"), 2.0);
        let fan = "fan:children=2,work=6";
        let (serial, two, three) = (best(fan, "1"), best(fan, "2x1"), best(fan, "3x1"));
        assert!(serial > two && two >= three, "{serial}, {two}, {three}");
        assert_eq!(
            best(fan, "4,1"),
            (serial - 2.0) / 4.0,
            "the slow one takes two instructions of the parent"
        );
        assert_eq!(
            best(fan, "100,1"),
            serial / 100.0,
            "the slow one takes longer for one instruction than all of it"
        );
    }

    /// No schedule of the simulator is shorter.
    #[test]
    fn nothing_without_preemption_is_shorter() {
        for spec in ["fan:children=3,work=5", "skewed:leaves=3,work=4", "greedy-trap:long=9,short=3,rounds=1"]
        {
            let named = Named::new(spec);
            let Some(least) =
                optimum(named.computation(), "3,2,1".parse::<bombyx_sim::Speeds>().unwrap().list().unwrap())
            else {
                continue;
            };
            let run = crate::run::Run::right(&named, bombyx_sim::Scheduler::Greedy, 1).speeds("3,2,1");
            let greedy = run.outcome().unwrap().time();
            assert!(greedy >= least - 1e-9, "{spec}: {greedy} and {least}");
        }
    }
}
