//! `work-stealing`: the randomized Work-Stealing Algorithm of BL §4.
//!
//! A processor works at the bottom of its own deque. When that is empty, it takes the top thread of a processor chosen
//! uniformly at random among all P, itself included. For fully strict computations it keeps Lemma 4 and the busy-leaves
//! property. Its time is T1/P + O(T∞) (Theorem 13), and its space at most S1·P (Theorem 5).

use super::deques::Deques;
use super::{Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use crate::trace::AttemptResult;
use bombyx_dag::ThreadId;

struct WorkStealing(Deques);

pub(super) fn policy(setup: &Setup) -> Box<dyn Policy> {
    Box::new(WorkStealing(Deques::new(setup)))
}

impl Policy for WorkStealing {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.0.begin(m);
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.0.spawned(m, p, parent, child);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        self.0.stalled(m, p);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        self.0.died(m, p);
    }

    fn enabled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.0.enabled(m, p, thread);
    }

    /// The thread goes to the bottom of the deque, where thieves can reach it. A processor that comes back is a thief.
    fn crashed(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.enabled(m, p, thread);
        m.steal(p);
    }

    fn attempt(&mut self, m: &mut Machine<'_>, thief: ProcessorId, queue: u32) -> AttemptResult {
        match self.0.steal(m, thief, ProcessorId(queue)) {
            Some(thread) => AttemptResult::Stolen(thread),
            None => AttemptResult::Empty,
        }
    }

    fn may_succeed(&self, _: &Machine<'_>) -> bool {
        self.0.any()
    }

    fn deque_count(&self) -> usize {
        self.0.count()
    }

    fn ready(&self) -> Ready {
        self.0.ready()
    }
}
