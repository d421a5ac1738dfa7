//! `busy-leaves`: the Busy-Leaves Algorithm of BL §3.
//!
//! All living threads that nobody works on are in one pool. Idle processors take the thread that has been ready
//! longest. For strict computations, a processor works on every leaf of the spawn subtree, so time and space are
//! bounded together: T ≤ T1/P + T∞ and S ≤ S1·P (Theorem 3). BL Figure 2 is its schedule of Figure 1.
//!
//! The machine keeps the pool's stalled threads. Only the ready ones are here.

use super::{Mutation, Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::{Machine, Status};
use bombyx_dag::ThreadId;
use std::collections::{BTreeMap, HashMap};

#[derive(Default)]
struct BusyLeaves {
    /// The pool's ready threads, by when they became ready in it.
    pool: BTreeMap<u64, ThreadId>,
    place: HashMap<ThreadId, u64>,
    next_place: u64,
    /// Processors that wait for a stalled thread. Empty unless a mutation makes them wait.
    blocked: HashMap<ThreadId, ProcessorId>,
    mutation: Option<Mutation>,
}

pub(super) fn policy(setup: &Setup) -> Box<dyn Policy> {
    Box::new(BusyLeaves { mutation: setup.mutation, ..BusyLeaves::default() })
}

impl BusyLeaves {
    fn put(&mut self, thread: ThreadId) {
        self.pool.insert(self.next_place, thread);
        self.place.insert(thread, self.next_place);
        self.next_place += 1;
    }

    /// Takes a given thread out of the pool, if it is there and ready.
    fn take(&mut self, thread: ThreadId) -> bool {
        self.place.remove(&thread).and_then(|place| self.pool.remove(&place)).is_some()
    }
}

impl Policy for BusyLeaves {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.put(m.computation().root());
    }

    /// Rule 1: return the parent to the pool, begin the next step working on the child.
    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        let (kept, returned) = if self.mutation == Some(Mutation::KeepParent) { (parent, child) } else { (child, parent) };
        self.put(returned);
        m.work(p, kept);
    }

    /// Rule 2: return the thread to the pool, begin the next step idle.
    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        m.rest(p);
        if self.mutation == Some(Mutation::BlocksAtStall) {
            self.blocked.insert(thread, p);
        }
    }

    /// Rule 3: if the parent has no living children and no other processor works on it, take it from the pool;
    /// otherwise begin the next step idle.
    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        match m.computation().parent(thread) {
            Some(parent)
                if self.mutation != Some(Mutation::LeavesParent)
                    && m.living_children(parent) == 0
                    && m.status(parent) == Status::Ready
                    && self.take(parent) =>
            {
                m.acquire(p, parent);
            }
            _ => m.rest(p),
        }
    }

    fn enabled(&mut self, m: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        match self.blocked.remove(&thread) {
            Some(p) => m.work(p, thread),
            None => self.put(thread),
        }
    }

    /// Idle processors begin the step by removing ready threads from the pool.
    fn settle(&mut self, m: &mut Machine<'_>) {
        let free = |m: &Machine<'_>, blocked: &HashMap<_, ProcessorId>| {
            m.idle().find(|p| !blocked.values().any(|waiting| waiting == p))
        };
        while !self.pool.is_empty()
            && let Some(p) = free(m, &self.blocked)
        {
            let (_, thread) = self.pool.pop_first().expect("the pool is not empty");
            self.place.remove(&thread);
            m.acquire(p, thread);
        }
    }

    fn ready(&self) -> Ready {
        Ready::Pool(self.pool.values().copied().collect())
    }
}
