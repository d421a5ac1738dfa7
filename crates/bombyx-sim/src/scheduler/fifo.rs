//! `fifo`: one queue of ready threads, as in the thread library that DFD §5 starts from.
//!
//! At a fork the parent goes on and the child goes to the end of the queue, so the computation unfolds breadth
//! first, with as many living threads as there is parallelism (DFD §2.2).

use super::pool::Pool;
use super::{Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use bombyx_dag::ThreadId;

struct Fifo(Pool);

pub(super) fn policy(_: &Setup) -> Box<dyn Policy> {
    Box::new(Fifo(Pool::default()))
}

impl Policy for Fifo {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.0.push(m.computation().root());
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.0.push(child);
        m.work(p, parent);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn enabled(&mut self, _: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.0.push(thread);
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        self.0.serve_idle(m);
    }

    fn ready(&self) -> Ready {
        self.0.ready()
    }
}
