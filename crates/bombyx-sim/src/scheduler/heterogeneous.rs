//! `heterogeneous:BETA`: the Enhanced Cilk Scheduler for processors of different speeds (HET §3, Fig. 2).
//!
//! This is work stealing with one more rule. If a thief chose a victim with an empty deque that works on a thread and
//! is more than β times as slow as the thief, the thief *mugs* it: it takes that thread in the middle of its work. The
//! mugged processor becomes a thief. If all speeds are within a factor β of each other, this is exactly
//! `work-stealing`. Time is W1/(p·π_ave) + O(W∞/π_ave) with high probability (Theorem 6).

use super::deques::Deques;
use super::{Beta, Mutation, Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use crate::trace::AttemptResult;
use bombyx_dag::ThreadId;

struct Heterogeneous {
    deques: Deques,
    beta: Beta,
    /// Whether any two processors ever differ enough for a mugging.
    may_mug: bool,
    mutation: Option<Mutation>,
}

pub(super) fn policy(setup: &Setup, beta: Beta) -> Box<dyn Policy> {
    Box::new(Heterogeneous { deques: Deques::new(setup), beta, may_mug: false, mutation: setup.mutation })
}

impl Heterogeneous {
    /// The condition of line 3.
    fn mugs(&self, thief: u64, victim: u64) -> bool {
        match self.mutation {
            Some(Mutation::NoMugging) => false,
            Some(Mutation::MugFaster) => victim > thief,
            Some(Mutation::MugAnyone) => true,
            _ => self.beta.exceeded_by(thief, victim),
        }
    }
}

impl Heterogeneous {
    /// Whether any processor would mug under the mutation. Without a mutation, a thief that is fast enough may always
    /// come.
    fn someone_would_mug(&self, m: &Machine<'_>) -> bool {
        if self.mutation.is_none() {
            return true;
        }
        let moving = || m.processors().filter(|&p| !m.is_stopped(p));
        let mut working = m.processors().filter(|&p| m.thread_of(p).is_some());
        working.any(|victim| moving().any(|thief| self.mugs(m.estimate(thief), m.estimate(victim))))
    }
}

impl Policy for Heterogeneous {
    fn begin(&mut self, m: &mut Machine<'_>) {
        let (slowest, fastest) = m.estimate_range();
        self.may_mug =
            self.beta.exceeded_by(fastest, slowest) || self.mutation == Some(Mutation::MugAnyone);
        self.deques.begin(m);
    }

    /// Line 4(a).
    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.deques.spawned(m, p, parent, child);
    }

    /// Line 4(c).
    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        self.deques.stalled(m, p);
    }

    /// Line 4(b). A parent that can be executed was enabled by this thread, and lies in the deque by now.
    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        self.deques.died(m, p);
    }

    fn enabled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.deques.enabled(m, p, thread);
    }

    /// The thread goes to the bottom of the deque, where thieves can reach it. A processor that comes back is a thief.
    fn crashed(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.enabled(m, p, thread);
        m.steal(p);
    }

    /// Lines 2, 3, 4(d) and 5.
    fn attempt(&mut self, m: &mut Machine<'_>, thief: ProcessorId, queue: u32) -> AttemptResult {
        let victim = ProcessorId(queue);
        if let Some(thread) = self.deques.steal(m, thief, victim) {
            return AttemptResult::Stolen(thread);
        }
        if m.thread_of(victim).is_none() || !self.mugs(m.estimate(thief), m.estimate(victim)) {
            return AttemptResult::Empty;
        }
        let thread = m.interrupt(victim);
        if self.mutation == Some(Mutation::MugInVain) {
            m.work(victim, thread);
            return AttemptResult::Empty;
        }
        m.acquire(thief, thread);
        m.steal(victim);
        AttemptResult::Mugged(thread)
    }

    fn may_succeed(&self, m: &Machine<'_>) -> bool {
        self.deques.any() || (self.may_mug && m.working() > 0 && self.someone_would_mug(m))
    }

    fn deque_count(&self) -> usize {
        self.deques.count()
    }

    fn ready(&self) -> Ready {
        self.deques.ready()
    }
}
