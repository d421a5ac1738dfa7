//! A ready deque per processor. This is what [`work_stealing`](super::work_stealing) and
//! [`heterogeneous`](super::heterogeneous) have in common: the rules of BL §4.

use super::{Deque, Mutation, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use bombyx_dag::ThreadId;
use std::collections::VecDeque;

/// A deque for each processor. The back is the bottom, and the front is the top.
#[derive(Debug)]
pub(super) struct Deques {
    deques: Vec<VecDeque<ThreadId>>,
    nonempty: usize,
    mutation: Option<Mutation>,
}

impl Deques {
    pub(super) fn new(setup: &Setup) -> Self {
        Self { deques: vec![VecDeque::new(); setup.processors], nonempty: 0, mutation: setup.mutation }
    }

    /// The root thread starts in one processor's deque; all others start stealing.
    pub(super) fn begin(&mut self, m: &mut Machine<'_>) {
        let mut processors = m.processors();
        let first = processors.next().expect("there is a processor");
        m.acquire(first, m.computation().root());
        processors.for_each(|p| m.steal(p));
    }

    /// Rule 1, spawns: the parent is placed on the bottom, the processor commences work on the child.
    pub(super) fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        match self.mutation {
            Some(Mutation::KeepParent) => {
                self.push_bottom(p, child);
                m.work(p, parent);
            }
            Some(Mutation::PushTop) => {
                self.push_top(p, parent);
                m.work(p, child);
            }
            Some(Mutation::Share) => {
                let next = self.after(p);
                m.place(next, parent);
                self.push_bottom(next, parent);
                m.work(p, child);
            }
            Some(Mutation::Wanders) => {
                self.push_bottom(p, parent);
                self.push_bottom(p, child);
                m.steal(p);
            }
            _ => {
                self.push_bottom(p, parent);
                m.work(p, child);
            }
        }
    }

    /// Rule 2, stalls.
    pub(super) fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId) {
        if self.mutation == Some(Mutation::BlocksAtStall) { m.rest(p) } else { self.next(m, p) }
    }

    /// Rule 3, dies.
    pub(super) fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId) {
        if self.mutation == Some(Mutation::LeavesParent) { m.steal(p) } else { self.next(m, p) }
    }

    /// What rules 2 and 3 have in common: the bottommost thread, or work stealing.
    fn next(&mut self, m: &mut Machine<'_>, p: ProcessorId) {
        let deque = &mut self.deques[p.index()];
        let top = self.mutation == Some(Mutation::PopTop);
        match if top { deque.pop_front() } else { deque.pop_back() } {
            Some(thread) => {
                self.nonempty -= usize::from(deque.is_empty());
                m.take_own(p, thread);
            }
            None => m.steal(p),
        }
    }

    /// Rule 4, enables: the now-ready thread is placed on the bottom.
    pub(super) fn enabled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        let home = m.home(thread);
        match self.mutation {
            Some(Mutation::BlocksAtStall) if home != p && m.is_idle(home) => m.work(home, thread),
            Some(Mutation::EnableElsewhere) => {
                let next = self.after(p);
                m.place(next, thread);
                self.push_bottom(next, thread);
            }
            _ => {
                m.place(p, thread);
                self.push_bottom(p, thread);
            }
        }
    }

    /// The thief removes and begins work on the top thread of the victim's deque, if there is one.
    pub(super) fn steal(
        &mut self,
        m: &mut Machine<'_>,
        thief: ProcessorId,
        victim: ProcessorId,
    ) -> Option<ThreadId> {
        let deque = &mut self.deques[victim.index()];
        let bottom = self.mutation == Some(Mutation::StealBottom);
        let thread = if bottom { deque.pop_back() } else { deque.pop_front() }?;
        let second = if self.mutation == Some(Mutation::StealTwo) { deque.pop_front() } else { None };
        self.nonempty -= usize::from(deque.is_empty());
        if let Some(second) = second {
            m.place(thief, second);
            self.push_bottom(thief, second);
        }
        m.acquire(thief, thread);
        Some(thread)
    }

    fn after(&self, p: ProcessorId) -> ProcessorId {
        ProcessorId((p.0 + 1) % self.deques.len() as u32)
    }

    pub(super) fn any(&self) -> bool {
        self.nonempty > 0
    }

    pub(super) fn ready(&self) -> Ready {
        let deque = |(p, threads): (usize, &VecDeque<ThreadId>)| Deque {
            owner: Some(ProcessorId(p as u32)),
            threads: threads.iter().rev().copied().collect(),
        };
        Ready::Deques(self.deques.iter().enumerate().map(deque).collect())
    }

    pub(super) fn count(&self) -> usize {
        self.deques.len()
    }

    fn push_bottom(&mut self, p: ProcessorId, thread: ThreadId) {
        let deque = &mut self.deques[p.index()];
        self.nonempty += usize::from(deque.is_empty());
        deque.push_back(thread);
    }

    fn push_top(&mut self, p: ProcessorId, thread: ThreadId) {
        let deque = &mut self.deques[p.index()];
        self.nonempty += usize::from(deque.is_empty());
        deque.push_front(thread);
    }
}
