//! A queue of ready threads that all processors share. This is what [`fifo`](super::fifo), [`greedy`](super::greedy)
//! and [`high_utilization`](super::high_utilization) have in common. Also what a processor without a thread does if
//! visits of the queue take time.

use super::Ready;
use crate::ProcessorId;
use crate::machine::Machine;
use bombyx_dag::ThreadId;
use std::collections::VecDeque;

/// First in, first out.
#[derive(Debug, Default)]
pub(super) struct Pool {
    queue: VecDeque<ThreadId>,
}

impl Pool {
    pub(super) fn push(&mut self, thread: ThreadId) {
        self.queue.push_back(thread);
    }

    pub(super) fn pop(&mut self) -> Option<ThreadId> {
        self.queue.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Idle processors take threads, both in order.
    pub(super) fn serve_idle(&mut self, m: &mut Machine<'_>) {
        while !self.queue.is_empty()
            && let Some(p) = m.first_idle()
        {
            let thread = self.queue.pop_front().expect("the queue is not empty");
            m.acquire(p, thread);
        }
    }

    pub(super) fn ready(&self) -> Ready {
        Ready::Pool(self.queue.iter().copied().collect())
    }
}

/// `p` has no thread: it visits the queue, or waits until a thread comes to it.
pub(super) fn leave(m: &mut Machine<'_>, p: ProcessorId, visits: bool) {
    if visits {
        m.steal(p);
    } else {
        m.rest(p);
    }
}
