//! Where critical instructions are: LEC Proposition 7 and BL Lemma 10.
//!
//! An instruction is critical when all its predecessors in the augmented dag G', direct and indirect, have executed
//! (BL §6). An executed instruction may still have an unexecuted predecessor in G', so a strand counts as *closed*
//! only when it and all its predecessors have executed; an unexecuted strand is critical when all its direct
//! predecessors are closed.

use super::Check;
use crate::machine::{Machine, Status};
use crate::scheduler::Ready;
use bombyx_dag::{Augmented, Computation, StrandId};
use std::collections::BTreeSet;

pub(super) struct Critical<'c> {
    computation: &'c Computation,
    /// How many threads may lie above a critical one.
    above: usize,
    /// Predecessors in G' that are not closed, by strand.
    open: Vec<u32>,
    executed: Vec<bool>,
    critical: BTreeSet<StrandId>,
}

impl<'c> Critical<'c> {
    pub(super) fn new(c: &'c Computation, above: usize) -> Self {
        let g = Augmented::of(c);
        let predecessors = |s: StrandId| {
            let chain = u32::from(s != c.first_strand(c.root())); // a spawn or continue edge
            c.waits(s) + chain + u32::from(g.deque_edge_into(s).is_some())
        };
        Self {
            computation: c,
            above,
            open: c.strands().map(predecessors).collect(),
            executed: vec![false; c.strand_count()],
            critical: BTreeSet::from([c.first_strand(c.root())]),
        }
    }

    fn close(&mut self, strand: StrandId) {
        let (c, g) = (self.computation, Augmented::of(self.computation));
        let mut closing = vec![strand];
        while let Some(closed) = closing.pop() {
            let edges = c.spawned(closed).into_iter().chain(c.next(closed)).chain(g.deque_edge(closed));
            for to in edges.chain(c.joins_from(closed).iter().copied()) {
                self.open[to.index()] -= 1;
                if self.open[to.index()] > 0 {
                    continue;
                }
                if self.executed[to.index()] {
                    closing.push(to);
                } else {
                    self.critical.insert(to);
                }
            }
        }
    }
}

impl Check for Critical<'_> {
    fn executed(&mut self, strand: StrandId) {
        self.executed[strand.index()] = true;
        if self.critical.remove(&strand) {
            self.close(strand);
        }
    }

    fn check(&mut self, m: &Machine<'_>, ready: &Ready) -> Result<(), String> {
        let Ready::Deques(deques) = ready else { return Ok(()) };
        for &strand in &self.critical {
            let thread = m.computation().thread_of(strand);
            if m.status(thread) == Status::Running {
                continue;
            }
            let near_top = |threads: &[_]| threads.iter().rev().take(self.above + 1).any(|&t| t == thread);
            if !deques.iter().any(|deque| near_top(&deque.threads)) {
                return Err(format!(
                    "{strand} of {thread} is critical but neither executing nor within {} of the top of a deque",
                    self.above
                ));
            }
        }
        Ok(())
    }
}
