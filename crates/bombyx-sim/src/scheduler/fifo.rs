//! `fifo`: one queue of ready threads, as in the thread library that DFD §5 starts from.
//!
//! At a fork the parent goes on and the child goes to the end of the queue, so the computation unfolds breadth
//! first, with as many living threads as there is parallelism (DFD §2.2).

use super::pool::{Pool, leave};
use super::{Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use crate::trace::AttemptResult;
use bombyx_dag::ThreadId;

struct Fifo {
    pool: Pool,
    visits: bool,
}

pub(super) fn policy(setup: &Setup) -> Box<dyn Policy> {
    Box::new(Fifo { pool: Pool::default(), visits: setup.visits })
}

impl Policy for Fifo {
    fn begin(&mut self, m: &mut Machine<'_>) {
        let mut processors = m.processors();
        m.acquire(processors.next().expect("there is a processor"), m.computation().root());
        processors.for_each(|p| leave(m, p, self.visits));
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.pool.push(child);
        m.work(p, parent);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        leave(m, p, self.visits);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        leave(m, p, self.visits);
    }

    fn enabled(&mut self, _: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.pool.push(thread);
    }

    fn crashed(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.enabled(m, p, thread);
        leave(m, p, self.visits);
    }

    /// There is one queue, whatever the visitor chose.
    fn queue(&self, _: u32) -> Option<u32> {
        Some(0)
    }

    fn victim(&self, _: u32) -> Option<ProcessorId> {
        None
    }

    fn attempt(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: u32) -> AttemptResult {
        let Some(thread) = self.pool.pop() else { return AttemptResult::Empty };
        m.acquire(p, thread);
        AttemptResult::Stolen(thread)
    }

    fn may_succeed(&self, _: &Machine<'_>) -> bool {
        !self.pool.is_empty()
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        self.pool.serve_idle(m);
    }

    fn ready(&self) -> Ready {
        self.pool.ready()
    }
}
