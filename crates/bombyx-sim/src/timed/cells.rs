//! Main memory and store buffers with a clock.

use super::program::Thread;
use bombyx_base::Random;
use bombyx_rw::protocol::{Cont, Id, Query, Side, Status};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub(super) type Edge = Cont<Thread>;
/// The number of a watch list that is on its way.
pub(super) type List = u32;

/// A store on its way to memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Store {
    Round {
        of: Id,
        round: u64,
    },
    Query {
        to: Id,
        query: Query<u64>,
    },
    Received {
        to: Id,
        thread: Option<Thread>,
    },
    Status {
        of: Edge,
        value: Status<List>,
    },
    /// Private deques with compare-and-swap: whether it is worth asking.
    HasWork {
        of: Id,
        worth: bool,
    },
    /// Private deques with compare-and-swap: the request is answered.
    Free {
        of: Id,
    },
    /// Private deques with compare-and-swap: the answer.
    Answer {
        to: Id,
        thread: Option<Thread>,
    },
}

/// The shared cells as memory holds them.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) round: Vec<u64>,
    pub(super) query: Vec<Query<u64>>,
    pub(super) received: Vec<Option<Thread>>,
    pub(super) status: Vec<[Status<List>; 2]>,
    pub(super) counter: Vec<u8>,
    pub(super) has_work: Vec<bool>,
    pub(super) request: Vec<Option<Id>>,
    pub(super) answer: Vec<Option<Option<Thread>>>,
}

struct Pending {
    due: u64,
    nth: u64,
    store: Store,
}

/// Memory and buffers.
pub(super) struct Memory {
    pub(super) shared: Shared,
    buffers: Vec<VecDeque<Pending>>,
    due: BinaryHeap<Reverse<(u64, u64, Id)>>,
    stored: u64,
    delta: u64,
    random: Random,
    /// When each processor stored each of its rounds.
    rounds: Vec<Vec<u64>>,
    /// How many queries came too late, and how late at most.
    pub(super) stale: (u64, u64),
}

impl Memory {
    pub(super) fn new(processors: usize, threads: usize, delta: u64, seed: u64) -> Memory {
        let shared = Shared {
            round: vec![1; processors],
            query: vec![Query { id: 0, round: 0 }; processors],
            received: vec![None; processors],
            status: vec![[Status::Work; 2]; threads],
            counter: vec![2; threads],
            has_work: vec![false; processors],
            request: vec![None; processors],
            answer: vec![None; processors],
        };
        Memory {
            shared,
            buffers: (0..processors).map(|_| VecDeque::new()).collect(),
            due: BinaryHeap::new(),
            stored: 0,
            delta,
            random: Random::stream(seed, u64::MAX),
            rounds: vec![vec![0; 2]; processors],
            stale: (0, 0),
        }
    }

    /// Processor `p` stores at `now`. Memory has the value after at most Δ, and after what `p` stored before.
    pub(super) fn store(&mut self, p: Id, now: u64, store: Store) {
        if let Store::Round { of, .. } = store {
            self.rounds[of as usize].push(now);
        }
        let delay = (u128::from(self.random.bits()) * u128::from(self.delta + 1)) >> 64;
        let buffer = &mut self.buffers[p as usize];
        let due = buffer.back().map_or(0, |last| last.due).max(now + delay as u64);
        buffer.push_back(Pending { due, nth: self.stored, store });
        self.due.push(Reverse((due, self.stored, p)));
        self.stored += 1;
    }

    /// Lets all stores that are due reach memory.
    pub(super) fn advance(&mut self, now: u64) {
        while let Some(&Reverse((due, nth, p))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            // A locked instruction or a fence may have emptied the buffer before.
            if self.buffers[p as usize].front().is_some_and(|pending| pending.nth == nth)
                && let Some(pending) = self.buffers[p as usize].pop_front()
            {
                self.apply(pending.due, pending.store);
            }
        }
    }

    /// Empties a buffer.
    pub(super) fn flush(&mut self, p: Id, now: u64) {
        while let Some(pending) = self.buffers[p as usize].pop_front() {
            self.apply(now, pending.store);
        }
    }

    fn apply(&mut self, now: u64, store: Store) {
        let shared = &mut self.shared;
        match store {
            Store::Round { of, round } => shared.round[of as usize] = round,
            Store::Query { to, query } => {
                shared.query[to as usize] = query;
                let next = self.rounds[to as usize].get(query.round as usize + 1);
                if let Some(late) = next.filter(|_| query.id != to).map(|&since| now.saturating_sub(since)) {
                    self.stale = (self.stale.0 + 1, self.stale.1.max(late));
                }
            }
            Store::Received { to, thread } => shared.received[to as usize] = thread,
            Store::Status { of, value } => shared.status[of.join as usize][side(of)] = value,
            Store::HasWork { of, worth } => shared.has_work[of as usize] = worth,
            Store::Free { of } => shared.request[of as usize] = None,
            Store::Answer { to, thread } => shared.answer[to as usize] = Some(thread),
        }
    }

    /// What processor `p` sees: its own newest store that `of` accepts, else memory.
    pub(super) fn load<T>(
        &self,
        p: Id,
        of: impl Fn(&Store) -> Option<T>,
        memory: impl Fn(&Shared) -> T,
    ) -> T {
        let own = self.buffers[p as usize].iter().rev().find_map(|pending| of(&pending.store));
        own.unwrap_or_else(|| memory(&self.shared))
    }
}

pub(super) fn side(of: Edge) -> usize {
    match of.side {
        Side::Left => 0,
        Side::Right => 1,
    }
}
