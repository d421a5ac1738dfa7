//! `greedy`: list scheduling of strands (Brent, Graham; BL Theorem 1, HET Theorem 1).
//!
//! All ready strands wait in one list in the order in which they became ready, whatever their threads. A processor that
//! ends a strand takes the first of the list. So no processor is idle while a strand is ready, and nothing more is
//! promised: T ≤ T1/P + T∞, with no bound on space or locality.

use super::pool::Pool;
use super::{Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use bombyx_dag::ThreadId;

struct Greedy(Pool);

pub(super) fn policy(_: &Setup) -> Box<dyn Policy> {
    Box::new(Greedy(Pool::default()))
}

impl Policy for Greedy {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.0.push(m.computation().root());
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.0.push(child);
        self.0.push(parent);
        m.rest(p);
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

    fn continued(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.0.push(thread);
        m.rest(p);
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        self.0.serve_idle(m);
    }

    fn ready(&self) -> Ready {
        self.0.ready()
    }
}
