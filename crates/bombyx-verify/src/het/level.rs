//! Claim 3's schedule itself: at every moment, the i-th fastest processor runs the thread that is i-th farthest from
//! the end.
//!
//! If several threads are equally far, no assignment keeps the rule: the thread with the faster processor comes nearer
//! at once, and must give it up at once. The rule makes sense only as the limit of ever shorter turns, in which such
//! threads share their processors and proceed at the mean speed. That limit runs here, from one moment to the next at
//! which a strand ends, a thread catches up with another, or speeds change. It preempts infinitely often, as HET says.
//! The simulator's `critical-path` looks once per instruction instead.

use bombyx_dag::{Computation, StrandId, distances_to_end};
use bombyx_sim::Speeds;

/// How threads get processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// As Claim 3 says.
    Farthest,
    /// The fastest processor on the thread nearest to the end.
    Nearest,
    /// The slowest processors work, the slowest of them on the thread that is farthest.
    Slowest,
    /// As Claim 3 says when a strand ends or speeds change, but not in between.
    Seldom,
}

struct Thread {
    strand: StrandId,
    /// Instructions of the strand that are left.
    left: f64,
    /// Instructions from the end of the strand to the end of the computation.
    beyond: f64,
}

impl Thread {
    fn distance(&self) -> f64 {
        self.left + self.beyond
    }
}

/// The result of a run.
pub(super) struct Levelled {
    pub(super) time: f64,
    /// Capacity that was not used.
    pub(super) idle: f64,
    /// The least ratio of the speed of a farthest thread to the mean speed of the working processors, while some are
    /// idle. The proof of Claim 3 says that it is at least 1.
    pub(super) slowest_progress: f64,
}

/// Distances closer than this are equal.
const TINY: f64 = 1e-9;

/// Runs the computation on processors of these speeds.
pub(super) fn run(c: &Computation, speeds: &Speeds, rule: Rule) -> Result<Levelled, String> {
    let distances = distances_to_end(c);
    let mut waits: Vec<u32> = c.strands().map(|s| c.waits(s)).collect();
    let mut speed: Vec<f64> = speeds.list().unwrap_or_default().iter().map(|s| s.to_f64()).collect();
    let mut changes = speeds.changes().to_vec();
    changes.sort_by_key(|change| change.at);
    let mut changes = changes.into_iter().peekable();
    let fresh = |strand: StrandId| {
        let weight = c.weight(strand) as f64;
        Thread { strand, left: weight, beyond: distances[strand.index()] as f64 - weight }
    };
    let mut ready = vec![fresh(c.first_strand(c.root()))];
    let mut done = Levelled { time: 0.0, idle: 0.0, slowest_progress: f64::INFINITY };
    let mut rates: Vec<f64> = Vec::new();
    let mut settle = true;
    while !ready.is_empty() {
        if settle || rule != Rule::Seldom {
            rates = assign(&mut ready, &speed, rule);
            settle = false;
        }
        let working = rates.iter().sum::<f64>();
        let change = changes.peek().map_or(f64::INFINITY, |change| change.at.to_f64() - done.time);
        let working_on = ready.iter().zip(&rates).filter(|(_, rate)| **rate > 0.0);
        let end = working_on.map(|(t, rate)| t.left / rate).fold(f64::INFINITY, f64::min);
        let caught = match rule {
            Rule::Seldom => f64::INFINITY,
            _ => catch_up(&ready, &rates),
        };
        let passed = change.min(end).min(caught);
        if !passed.is_finite() {
            return Err("no processor can go on".to_owned());
        }
        if ready.len() < speed.len() {
            // Shortly before the moment ends. Until then the order stays as it is, if the rule is kept.
            let later = |(t, rate): (&Thread, &f64)| t.distance() - 0.9 * passed * rate;
            let farthest = ready.iter().zip(&rates).map(later).fold(0.0, f64::max);
            let most = ready.iter().zip(&rates).filter(|&pair| later(pair) >= farthest - TINY);
            let mean = working / ready.len() as f64;
            let least = most.map(|(_, rate)| rate / mean).fold(f64::INFINITY, f64::min);
            done.slowest_progress = done.slowest_progress.min(least);
        }
        done.time += passed;
        done.idle += passed * (speed.iter().sum::<f64>() - working);
        for (thread, rate) in ready.iter_mut().zip(&rates) {
            thread.left -= passed * rate;
        }
        while changes.peek().is_some_and(|change| change.at.to_f64() <= done.time + TINY) {
            let change = changes.next().expect("there is one");
            speed[change.processor.index()] = change.speed.to_f64();
            settle = true;
        }
        let (ended, rest): (Vec<Thread>, Vec<Thread>) = ready.into_iter().partition(|t| t.left <= TINY);
        ready = rest;
        settle |= !ended.is_empty();
        for Thread { strand, .. } in ended {
            for &to in c.joins_from(strand) {
                waits[to.index()] -= 1;
                let before = previous(c, to);
                // A strand whose thread has reached it, or reaches it now.
                let arrived = before.is_some_and(|before| waits[before.index()] == u32::MAX);
                if waits[to.index()] == 0 && arrived {
                    ready.push(fresh(to));
                }
            }
            waits[strand.index()] = u32::MAX;
            for next in c.next(strand).into_iter().chain(c.spawned(strand)) {
                if waits[next.index()] == 0 {
                    ready.push(fresh(next));
                }
            }
        }
    }
    Ok(done)
}

/// The strand before this one in its thread.
fn previous(c: &Computation, strand: StrandId) -> Option<StrandId> {
    let first = c.first_strand(c.thread_of(strand));
    std::iter::successors(Some(first), |&s| c.next(s)).take_while(|&s| s != strand).last()
}

/// Sorts the threads by distance and gives each its speed.
fn assign(ready: &mut [Thread], speed: &[f64], rule: Rule) -> Vec<f64> {
    ready.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
    if rule == Rule::Nearest {
        ready.reverse();
    }
    let mut speed = speed.to_vec();
    speed.sort_by(|a, b| b.total_cmp(a));
    if rule == Rule::Slowest {
        speed.reverse();
    }
    let mut rates = Vec::new();
    let equal = |a: &Thread, b: &Thread| (a.distance() - b.distance()).abs() <= TINY;
    for group in ready.chunk_by(equal) {
        let mine = speed.iter().skip(rates.len()).take(group.len());
        let share = mine.sum::<f64>() / group.len() as f64;
        rates.extend(std::iter::repeat_n(share, group.len()));
    }
    rates
}

/// When the first thread comes as near to the end as the next one in the order.
fn catch_up(ready: &[Thread], rates: &[f64]) -> f64 {
    let pairs = ready.windows(2).zip(rates.windows(2)).filter_map(|(threads, rates)| {
        let apart = (threads[0].distance() - threads[1].distance()).abs();
        let closing = (rates[0] - rates[1]).abs();
        (apart > TINY && closing > 0.0).then_some(apart / closing)
    });
    pairs.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::Builder;

    fn two(a: u64, b: u64) -> Computation {
        let mut builder = Builder::new(1);
        builder.strand(1);
        builder.spawn(1);
        builder.strand(a);
        let end = builder.end();
        builder.strand(b);
        builder.strand(1);
        builder.wait_for(end);
        builder.build().unwrap()
    }

    /// Two threads of 6 on speeds 2 and 1 share them from the beginning, and both end after 4. Of threads of 8 and 5,
    /// the longer one has the faster processor for 3 units. Then both have 2 left and share: 4 1/3.
    #[test]
    fn threads_that_are_equally_far_share_processors() {
        let speeds: Speeds = "2,1".parse().unwrap();
        let time = |a, b| run(&two(a, b), &speeds, Rule::Farthest).unwrap().time - 1.0;
        assert!((time(6, 6) - 4.0).abs() < 1e-9);
        assert!((time(8, 5) - (3.0 + 4.0 / 3.0)).abs() < 1e-9, "{}", time(8, 5));
        let nearest = run(&two(8, 5), &speeds, Rule::Nearest).unwrap();
        assert!(nearest.time - 1.0 > 5.0);
    }

    /// The simulator's `critical-path` looks once per instruction. Finer instructions come nearer to the limit, with
    /// more and more preemptions: without bound, as HET says.
    #[test]
    fn the_rule_needs_ever_more_preemptions() {
        let speeds: Speeds = "2,1".parse().unwrap();
        let exact = run(&two(6, 6), &speeds, Rule::Farthest).unwrap().time - 1.0;
        let mut before = 0;
        for finer in [1, 4, 16, 64] {
            let c = two(6 * finer, 6 * finer);
            let simulation = bombyx_sim::Simulation::new(&c, bombyx_sim::Scheduler::CriticalPath);
            let outcome = simulation.speeds(speeds.clone()).run().unwrap();
            let time = outcome.time() / finer as f64;
            assert!(time >= exact && time <= exact + 2.0 / finer as f64, "{time} for {finer}");
            assert!(outcome.preemptions >= 2 * before, "{} after {before}", outcome.preemptions);
            before = outcome.preemptions.max(1);
        }
    }
}
