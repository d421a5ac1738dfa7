//! `depth-first:K`: the asynchronous depth-first scheduler (ADF) that DFD §2.2 and §5 compare with.
//!
//! One list holds all ready threads in the order of the serial depth-first execution, and a processor takes the first.
//! At a fork the child preempts its parent. A thread may allocate K bytes net until it is preempted. An allocation
//! above K waits for its dummy threads. Space is close to the serial one, S1 + O(K·P·D), but processors return to the
//! list after almost every thread.

use super::meter::Meters;
use super::pool::leave;
use super::{Policy, Quota, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use crate::trace::AttemptResult;
use bombyx_dag::{StrandId, ThreadId};
use std::collections::BTreeSet;

struct DepthFirst {
    /// Ready threads by priority: strand ids are in the serial order.
    list: BTreeSet<(StrandId, ThreadId)>,
    /// What each processor's thread has allocated since it was last scheduled.
    meters: Meters,
    visits: bool,
}

pub(super) fn policy(setup: &Setup, quota: Quota) -> Box<dyn Policy> {
    Box::new(DepthFirst { list: BTreeSet::new(), meters: Meters::new(quota, setup), visits: setup.visits })
}

impl DepthFirst {
    fn put(&mut self, m: &Machine<'_>, thread: ThreadId) {
        let strand = m.next_strand(thread).expect("a ready thread has a strand");
        self.list.insert((strand, thread));
    }

    fn take(&mut self, m: &mut Machine<'_>, p: ProcessorId) -> Option<ThreadId> {
        let (_, thread) = self.list.pop_first()?;
        self.meters.reset(p);
        m.acquire(p, thread);
        Some(thread)
    }
}

impl Policy for DepthFirst {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.put(m, m.computation().root());
        let mut processors = m.processors();
        self.take(m, processors.next().expect("there is a processor"));
        processors.for_each(|p| leave(m, p, self.visits));
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.put(m, parent);
        self.meters.reset(p);
        m.work(p, child);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        leave(m, p, self.visits);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        leave(m, p, self.visits);
    }

    fn enabled(&mut self, m: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.put(m, thread);
    }

    fn crashed(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.enabled(m, p, thread);
        leave(m, p, self.visits);
    }

    /// The quota is used up: the thread goes back to the list, where it may well be the first.
    fn admit(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId, strand: StrandId) -> bool {
        if self.meters.charge(p, strand) {
            return true;
        }
        m.interrupt(p);
        self.put(m, thread);
        leave(m, p, self.visits);
        false
    }

    fn is_metered(&self) -> bool {
        self.meters.is_on()
    }

    fn executed(&mut self, p: ProcessorId, strand: StrandId) {
        self.meters.credit(p, strand);
    }

    /// There is one list, whatever the visitor chose.
    fn queue(&self, _: u32) -> Option<u32> {
        Some(0)
    }

    fn victim(&self, _: u32) -> Option<ProcessorId> {
        None
    }

    fn attempt(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: u32) -> AttemptResult {
        self.take(m, p).map_or(AttemptResult::Empty, AttemptResult::Stolen)
    }

    fn may_succeed(&self, _: &Machine<'_>) -> bool {
        !self.list.is_empty()
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        while !self.list.is_empty()
            && let Some(p) = m.first_idle()
        {
            self.take(m, p);
        }
    }

    fn ready(&self) -> Ready {
        Ready::Pool(self.list.iter().map(|&(_, thread)| thread).collect())
    }
}
