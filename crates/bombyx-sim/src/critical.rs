//! [`CriticalStrands`]: which instructions are critical as an execution goes on (BL §6, LEC Definition 9).
//!
//! A strand is critical when all its predecessors in the augmented dag G', direct and indirect, have executed and it
//! has not. An executed strand may still have an unexecuted predecessor in G'. So a strand counts as *closed* only when
//! it and all its predecessors have executed. An unexecuted strand is critical when its direct predecessors are closed.
//! Every edge of G' is looked at once.

use bombyx_dag::{Augmented, Computation, StrandId};
use std::collections::BTreeSet;

/// The critical strands of an execution.
///
/// ```
/// use bombyx_dag::{StrandId, generate::figure1};
/// use bombyx_sim::CriticalStrands;
///
/// let computation = figure1(1);
/// let mut critical = CriticalStrands::new(&computation);
/// critical.execute(StrandId(0));
/// critical.execute(StrandId(1)); // v2 spawns v3 and continues with v16: v3 also waits for v16 in G'
/// assert!(critical.iter().eq([StrandId(15)]));
/// ```
#[derive(Clone, Debug)]
pub struct CriticalStrands<'c> {
    computation: &'c Computation,
    /// Predecessors in G' that are not closed, by strand.
    open: Vec<u32>,
    executed: Vec<bool>,
    critical: BTreeSet<StrandId>,
}

impl<'c> CriticalStrands<'c> {
    /// The state before anything has executed: the first strand is critical.
    pub fn new(c: &'c Computation) -> Self {
        let g = Augmented::of(c);
        let first = c.first_strand(c.root());
        let predecessors = |s: StrandId| {
            let spawn_or_continue = u32::from(s != first);
            c.waits(s) + spawn_or_continue + u32::from(g.deque_edge_into(s).is_some())
        };
        Self {
            computation: c,
            open: c.strands().map(predecessors).collect(),
            executed: vec![false; c.strand_count()],
            critical: BTreeSet::from([first]),
        }
    }

    /// A strand has executed, after its predecessors in the computation but perhaps before some in G'.
    pub fn execute(&mut self, strand: StrandId) {
        self.executed[strand.index()] = true;
        if self.critical.remove(&strand) {
            self.close(strand);
        }
    }

    /// The critical strands, in serial order.
    pub fn iter(&self) -> impl Iterator<Item = StrandId> {
        self.critical.iter().copied()
    }

    /// Whether a strand is critical.
    pub fn contains(&self, strand: StrandId) -> bool {
        self.critical.contains(&strand)
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

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_base::Random;
    use bombyx_dag::generate::Spec;

    /// The definition, word for word: unexecuted, and every direct or indirect predecessor in G' has executed.
    fn by_definition(c: &Computation, executed: &[bool]) -> Vec<StrandId> {
        let g = Augmented::of(c);
        let mut held_up = vec![false; c.strand_count()];
        for u in g.order() {
            let holds_up = held_up[u.index()] || !executed[u.index()];
            let edges = c.spawned(u).into_iter().chain(c.next(u)).chain(g.deque_edge(u));
            for to in edges.chain(c.joins_from(u).iter().copied()) {
                held_up[to.index()] |= holds_up;
            }
        }
        c.strands().filter(|s| !executed[s.index()] && !held_up[s.index()]).collect()
    }

    #[test]
    fn as_defined_in_any_legal_order_of_execution() {
        for seed in 0..10 {
            let c = format!("random:threads=15,seed={seed}").parse::<Spec>().unwrap().build().unwrap();
            let mut random = Random::stream(seed, 0);
            let mut critical = CriticalStrands::new(&c);
            let mut executed = vec![false; c.strand_count()];
            let mut waits: Vec<u32> = c.strands().map(|s| c.waits(s)).collect();
            let mut reached = vec![c.first_strand(c.root())];
            while !reached.is_empty() {
                let ready: Vec<usize> =
                    (0..reached.len()).filter(|&i| waits[reached[i].index()] == 0).collect();
                let strand = reached.swap_remove(ready[random.index(ready.len())]);
                executed[strand.index()] = true;
                critical.execute(strand);
                reached.extend(c.spawned(strand).into_iter().chain(c.next(strand)));
                c.joins_from(strand).iter().for_each(|to| waits[to.index()] -= 1);
                assert!(critical.iter().eq(by_definition(&c, &executed)), "seed {seed}");
            }
            assert_eq!(critical.iter().count(), 0);
        }
    }
}
