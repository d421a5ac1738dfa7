//! How the processors of a pool fall asleep and wake each other, in virtual time, with the costs of a machine that has
//! many cores. Compares the protocol of `bombyx-core` with that of rayon, on the same regions.
//!
//! The model is coarse on purpose. A region is a balanced tree of leaves. A processor forks by putting half of what it
//! has into its deque, and steals from others if it has nothing. What is modelled in detail are the costs of the sleep
//! protocols: every transfer of a cache line, every interrupt and every wake-up takes its time on the processor that
//! pays for it, and is counted. The caller takes part in each region and pauses after it.

use bombyx_base::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What things cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// To get a cache line that another core has changed.
    pub line: u64,
    /// To be interrupted by a barrier.
    pub interrupt: u64,
    /// To wake a thread, for the thread that does it.
    pub wake: u64,
    /// From the wake-up until the thread runs.
    pub arrival: u64,
    /// To fork.
    pub fork: u64,
}

impl Costs {
    /// A machine with 64 cores.
    pub const LARGE: Self = Self { line: 100, interrupt: 2_000, wake: 5_000, arrival: 5_000, fork: 5 };
}

/// How processors fall asleep and wake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// That of `bombyx-core`: forks compare with their own limit. A round tells everybody that somebody rests, at most once in
    /// the given time per processor.
    Limits {
        /// Nanoseconds per processor between two rounds.
        apart: u64,
    },
    /// That of rayon 1.12: forks read a shared word, and whoever finds work wakes up to two others.
    Counters,
}

/// What the caller does.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many regions.
    pub regions: u32,
    /// Leaves of a region.
    pub leaves: u32,
    /// Nanoseconds of a leaf.
    pub leaf: u64,
    /// Nanoseconds between two regions.
    pub pause: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// Nanoseconds in regions, of the caller.
    pub time: u64,
    /// Nanoseconds from the first region to the end of the last.
    pub elapsed: u64,
    /// Steals.
    pub steals: u64,
    /// Times a processor fell asleep.
    pub sleeps: u64,
    /// Cache lines that were transferred for stealing and sleeping.
    pub lines: u64,
    /// Interrupts of processors that ran something.
    pub interrupts: u64,
    /// Wake-ups.
    pub wakes: u64,
}

/// For how long a processor searches, in nanoseconds, alone and while another one searches.
const SEARCH: (u64, u64) = (100_000, 10_000);
/// After how many rounds of looking everywhere a thread of rayon sleeps, and how long it yields in each.
const ROUNDS: (u32, u64) = (33, 300);
/// How long a searcher waits before it looks again.
const AGAIN: u64 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Has this many leaves in hand.
    Runs(u32),
    /// Is in its last leaf, which ends at its next step.
    InLeaf,
    Searches {
        since: u64,
        rounds: u32,
    },
    Asleep,
    /// The caller between two regions.
    Pauses,
}

struct Processor {
    state: State,
    /// Sizes of subtrees, oldest first.
    deque: VecDeque<u32>,
    /// Time that others have cost it since its last step.
    stall: u64,
    poisoned: bool,
    /// Which version of the shared word it has seen.
    seen: u64,
}

impl Processor {
    fn asleep() -> Self {
        Self { state: State::Asleep, deque: VecDeque::new(), stall: 0, poisoned: true, seen: 0 }
    }
}

struct Pool {
    protocol: Protocol,
    costs: Costs,
    processors: Vec<Processor>,
    agenda: BinaryHeap<Reverse<(u64, usize)>>,
    rng: Random,
    /// Version of the shared word.
    word: u64,
    last_round: Option<u64>,
    /// Leaves of the present region that have not ended.
    left: u32,
    bill: Bill,
}

/// Simulates a load on so many processors.
pub fn simulate(protocol: Protocol, processors: usize, load: Load, costs: Costs, seed: u64) -> Bill {
    let mut pool = Pool {
        protocol,
        costs,
        processors: (0..processors).map(|_| Processor::asleep()).collect(),
        agenda: BinaryHeap::new(),
        rng: Random::new(seed),
        word: 1,
        last_round: None,
        left: 0,
        bill: Bill::default(),
    };
    pool.processors[0].state = State::Pauses;
    pool.agenda.push(Reverse((0, 0)));
    let (mut regions, mut begun) = (0, 0);
    while let Some(Reverse((now, who))) = pool.agenda.pop() {
        let now = now + std::mem::take(&mut pool.processors[who].stall);
        if who == 0 && pool.processors[0].state == State::Pauses {
            if regions == load.regions {
                pool.bill.elapsed = now;
                break;
            }
            (regions, begun, pool.left) = (regions + 1, now, load.leaves);
            pool.processors[0].state = State::Runs(load.leaves);
            pool.processors[0].poisoned = true;
        }
        let next = pool.step(who, now, load.leaf);
        if who == 0 && pool.left == 0 {
            pool.bill.time += next - begun;
            if let State::Searches { .. } = pool.processors[0].state {
                pool.word += 1;
            }
            pool.processors[0].state = State::Pauses;
            pool.agenda.push(Reverse((next + load.pause, 0)));
        } else if pool.processors[who].state != State::Asleep {
            pool.agenda.push(Reverse((next, who)));
        }
    }
    pool.bill
}

impl Pool {
    /// The next step of a processor. Returns when it ends.
    fn step(&mut self, who: usize, now: u64, leaf: u64) -> u64 {
        match self.processors[who].state {
            State::Runs(1) => {
                self.processors[who].state = State::InLeaf;
                now + leaf
            }
            State::InLeaf => {
                self.left -= 1;
                self.processors[who].state = match self.processors[who].deque.pop_back() {
                    Some(own) => State::Runs(own),
                    None => {
                        self.word += u64::from(self.protocol == Protocol::Counters);
                        State::Searches { since: now, rounds: 0 }
                    }
                };
                now
            }
            State::Runs(leaves) => {
                let was_empty = self.processors[who].deque.is_empty();
                self.processors[who].deque.push_back(leaves / 2);
                self.processors[who].state = State::Runs(leaves - leaves / 2);
                now + self.costs.fork + self.after_fork(who, now, was_empty)
            }
            State::Searches { since, rounds } => self.search(who, now, since, rounds),
            State::Asleep | State::Pauses => now,
        }
    }

    fn line(&mut self) -> u64 {
        self.bill.lines += 1;
        self.costs.line
    }

    /// What a fork pays for those who sleep.
    fn after_fork(&mut self, who: usize, now: u64, was_empty: bool) -> u64 {
        match self.protocol {
            Protocol::Limits { .. } => {
                if !std::mem::take(&mut self.processors[who].poisoned) {
                    return 0;
                }
                let cost = self.line();
                if self.searching() == 0 { cost + self.wake(now) } else { cost }
            }
            Protocol::Counters => {
                let mut cost = 0;
                if self.processors[who].seen != self.word {
                    self.processors[who].seen = self.word;
                    cost = self.line();
                }
                if !was_empty || self.searching() == 0 { cost + self.wake(now) } else { cost }
            }
        }
    }

    fn searching(&self) -> usize {
        self.processors.iter().filter(|one| matches!(one.state, State::Searches { .. })).count()
    }

    /// Wakes a sleeper, if there is one. Returns what that costs.
    fn wake(&mut self, now: u64) -> u64 {
        let Some(sleeper) = self.processors.iter().skip(1).position(|one| one.state == State::Asleep) else {
            return 0;
        };
        let arrives = now + self.costs.wake + self.costs.arrival;
        self.processors[sleeper + 1].state = State::Searches { since: arrives, rounds: 0 };
        self.processors[sleeper + 1].poisoned = true;
        self.agenda.push(Reverse((arrives, sleeper + 1)));
        self.bill.wakes += 1;
        self.word += 1;
        self.costs.wake + self.line()
    }

    fn search(&mut self, who: usize, now: u64, since: u64, rounds: u32) -> u64 {
        let others = self.processors.len() - 1;
        let first = if others > 0 { self.rng.index(others) } else { 0 };
        let mut time = now;
        for nth in 0..others {
            let victim = (who + 1 + (first + nth) % others) % (others + 1);
            // A line that has not changed since the last look is still there.
            if self.processors[victim].deque.is_empty() {
                continue;
            }
            time += self.line();
            let stolen = self.processors[victim].deque.pop_front().expect("it is not empty");
            // Request and answer, or a compare-and-swap.
            let further = if let Protocol::Limits { .. } = self.protocol { 2 } else { 1 };
            time += (0..further).map(|_| self.line()).sum::<u64>();
            self.processors[victim].stall += self.line();
            self.bill.steals += 1;
            self.processors[who].state = State::Runs(stolen);
            return time + self.found(time);
        }
        let tired = match self.protocol {
            Protocol::Limits { .. } => {
                now.saturating_sub(since) > if self.searching() > 1 { SEARCH.1 } else { SEARCH.0 }
            }
            Protocol::Counters => rounds >= ROUNDS.0,
        };
        // The caller waits for its region, and does not sleep.
        if tired && who != 0 {
            return self.rest(who, now);
        }
        self.processors[who].state = State::Searches { since, rounds: rounds + 1 };
        time + if self.protocol == Protocol::Counters { ROUNDS.1 } else { AGAIN }
    }

    fn anybody_sleeps(&self) -> bool {
        self.processors.iter().any(|one| one.state == State::Asleep)
    }

    /// A searcher has found work. Returns what that costs beyond the steal.
    fn found(&mut self, now: u64) -> u64 {
        match self.protocol {
            Protocol::Limits { .. } if self.searching() > 0 || !self.anybody_sleeps() => 0,
            Protocol::Limits { .. } if self.processors.iter().any(|one| !one.deque.is_empty()) => {
                self.wake(now)
            }
            Protocol::Limits { .. } => self.round(now).unwrap_or_else(|| self.wake(now)),
            Protocol::Counters => {
                self.word += 1;
                self.line() + self.wake(now) + self.wake(now)
            }
        }
    }

    /// A searcher has found nothing for long.
    fn rest(&mut self, who: usize, now: u64) -> u64 {
        self.bill.sleeps += 1;
        self.word += 1;
        self.processors[who].state = State::Asleep;
        let cost = self.line();
        if let Protocol::Limits { apart } = self.protocol
            && self.searching() == 0
            && self.round(now).is_none()
        {
            // As the sentry, it looks again when a round is allowed.
            self.processors[who].state = State::Searches { since: now, rounds: 0 };
            return now + cost + apart * self.processors.len() as u64;
        }
        now + cost
    }

    /// Tells everybody that somebody rests. Returns what that costs the caller. None if it is too early.
    fn round(&mut self, now: u64) -> Option<u64> {
        let Protocol::Limits { apart } = self.protocol else { return Some(0) };
        let apart = apart * self.processors.len() as u64;
        if self.last_round.is_some_and(|last| now < last + apart) {
            return None;
        }
        self.last_round = Some(now);
        for one in &mut self.processors {
            one.poisoned = true;
            if matches!(one.state, State::Runs(_) | State::InLeaf) {
                one.stall += self.costs.interrupt;
                self.bill.interrupts += 1;
            }
        }
        let stores = self.processors.len() as u64;
        self.bill.lines += stores;
        Some(stores * self.costs.line + self.costs.interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITED: Protocol = Protocol::Limits { apart: 8_000 };

    fn load(leaf: u64, pause: u64) -> Load {
        Load { regions: 200, leaves: 256, leaf, pause }
    }

    #[test]
    fn a_serial_machine_takes_the_serial_time() {
        let load = load(1_000, 10_000);
        let bill = simulate(LIMITED, 1, load, Costs::LARGE, 1);
        let forks = u64::from(load.leaves - 1) * Costs::LARGE.fork;
        let least = u64::from(load.regions) * (u64::from(load.leaves) * load.leaf + forks);
        // The first fork of a region looks for sleepers.
        assert_eq!(bill.time, least + u64::from(load.regions) * Costs::LARGE.line);
        assert_eq!((bill.steals, bill.wakes, bill.interrupts), (0, 0, 0));
    }

    /// All leaves run, on any number of processors, and more processors do not take longer by much.
    #[test]
    fn processors_help() {
        for protocol in [LIMITED, Protocol::Counters] {
            let time = |processors| simulate(protocol, processors, load(20_000, 0), Costs::LARGE, 1).time;
            assert!(time(4) < time(1) / 3, "{protocol:?}");
            assert!(time(16) < time(4) / 2, "{protocol:?}");
        }
    }

    /// Interrupts per time stay below the bound, whatever the load and the number of processors.
    #[test]
    fn interrupts_are_bounded() {
        let mut most = 0.0f64;
        for (leaf, pause) in [(200, 0), (1_000, 0), (1_000, 150_000), (20_000, 50_000), (100_000, 300_000)] {
            for processors in [4, 16, 64] {
                let bill = simulate(LIMITED, processors, load(leaf, pause), Costs::LARGE, 1);
                most = most.max(bill.interrupts as f64 / (bill.elapsed as f64 / 1e9));
            }
        }
        assert!(most > 0.0 && most <= 126_000.0, "{most} interrupts a second");
    }

    /// A round that comes too early does not take place.
    #[test]
    fn rounds_keep_their_distance() {
        let mut pool = Pool {
            protocol: LIMITED,
            costs: Costs::LARGE,
            processors: (0..4).map(|_| Processor::asleep()).collect(),
            agenda: BinaryHeap::new(),
            rng: Random::new(1),
            word: 1,
            last_round: None,
            left: 0,
            bill: Bill::default(),
        };
        pool.processors[0].state = State::InLeaf;
        assert_eq!(pool.round(1_000), Some(4 * Costs::LARGE.line + Costs::LARGE.interrupt));
        assert_eq!(pool.round(32_999), None);
        assert!(pool.round(33_000).is_some());
        assert_eq!((pool.bill.interrupts, pool.processors[0].stall), (2, 2 * Costs::LARGE.interrupt));
    }

    /// What a steal costs in lines and wake-ups, everything included, does not grow with the number of processors.
    #[test]
    fn costs_per_steal_do_not_grow() {
        for (leaf, pause) in [(1_000, 0), (20_000, 50_000)] {
            let per_steal = |processors| {
                let bill = simulate(LIMITED, processors, load(leaf, pause), Costs::LARGE, 1);
                (bill.lines as f64 / bill.steals as f64, bill.wakes as f64 / bill.steals as f64)
            };
            let (few, many) = (per_steal(4), per_steal(64));
            assert!(
                many.0 <= 2.0 * few.0 + 1.0 && many.1 <= few.1 + 1.0,
                "{few:?} at P = 4, {many:?} at P = 64"
            );
        }
    }
}
