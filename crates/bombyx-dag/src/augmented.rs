//! [`Augmented`]: the augmented dag G' of BL §6, on which the delay-sequence arguments run.
//!
//! For a spawn edge (u, v) and a continue edge (u, w), G' has the deque edge (w, v) in addition to the edges of the
//! computation. This relies on no join edge entering right after a spawn. Then G' is acyclic.

use crate::measures::successors;
use crate::{Computation, StrandId};

/// The augmented dag G' of a computation.
///
/// ```
/// use bombyx_dag::{Augmented, StrandId, generate::figure1};
/// let c = figure1(1);
/// let g = Augmented::of(&c);
/// // v2 spawns v3 and continues with v16.
/// assert_eq!(g.deque_edge(StrandId(15)), Some(StrandId(2)));
/// assert!(g.span() <= 2 * 10);
/// ```
pub struct Augmented<'a> {
    computation: &'a Computation,
}

impl<'a> Augmented<'a> {
    /// Augments a computation. This costs nothing, because the computation's tables imply the deque edges.
    pub fn of(computation: &'a Computation) -> Self {
        Self { computation }
    }

    /// The deque edge (w, v) that leaves `w`: the first strand of the child that was spawned right before `w`.
    pub fn deque_edge(&self, w: StrandId) -> Option<StrandId> {
        let c = self.computation;
        let thread = c.thread_of(w);
        if w == c.first_strand(thread) {
            return None;
        }
        // The strand told before `w` ends the subtree between `w` and the spawn, if there is one.
        let mut child = c.thread_of(StrandId(w.0 - 1));
        if child == thread {
            return None;
        }
        while c.parent(child) != Some(thread) {
            child = c.parent(child).expect("the strands before w belong to a child's subtree");
        }
        Some(c.first_strand(child))
    }

    /// The deque edge (w, v) that enters `v`: the strand after the one that spawned `v`'s thread.
    pub fn deque_edge_into(&self, v: StrandId) -> Option<StrandId> {
        let c = self.computation;
        let thread = c.thread_of(v);
        if v == c.first_strand(thread) { c.next(c.spawner(thread)?) } else { None }
    }

    /// All strands in a topological order of G'. At a run of spawning strands, the run and the strand after it come
    /// first, then the children in the order of their spawns, then the rest of the thread.
    pub fn order(&self) -> Vec<StrandId> {
        let c = self.computation;
        let mut order = Vec::with_capacity(c.strand_count());
        let mut rest = vec![c.first_strand(c.root())];
        while let Some(mut strand) = rest.pop() {
            let begin = order.len();
            order.push(strand);
            while c.spawned(strand).is_some() {
                strand = c.next(strand).expect("a spawning strand is never the last");
                order.push(strand);
            }
            rest.extend(c.next(strand));
            rest.extend(order[begin..].iter().rev().filter_map(|&s| c.spawned(s)));
        }
        order
    }

    /// For every strand, the weight of a heaviest path in G' that ends with it, itself included.
    pub fn path_lengths(&self) -> Vec<u64> {
        let c = self.computation;
        let mut length = vec![0_u64; c.strand_count()];
        let mut previous = None;
        for strand in self.order() {
            let here = length[strand.index()] + c.weight(strand);
            length[strand.index()] = here;
            // In this order a strand that follows a spawn comes right after the spawning strand.
            let deque_edge = previous.filter(|&u| c.next(u) == Some(strand)).and_then(|u| c.spawned(u));
            for to in successors(c, strand).chain(deque_edge) {
                length[to.index()] = length[to.index()].max(here);
            }
            previous = Some(strand);
        }
        length
    }

    /// The weight of a heaviest path of G'. On unit instructions it is at most 2·T∞ (BL §6).
    pub fn span(&self) -> u64 {
        self.path_lengths().into_iter().max().expect("a computation has a strand")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::figure1;

    #[test]
    fn figure1_has_one_deque_edge_per_spawn() {
        let c = figure1(1);
        let g = Augmented::of(&c);
        let edges: Vec<_> = c.strands().filter_map(|w| Some((w.0 + 1, g.deque_edge(w)?.0 + 1))).collect();
        assert_eq!(edges, [(6, 4), (9, 7), (13, 10), (16, 3), (21, 18)]);
        for &(w, v) in &edges {
            assert_eq!(g.deque_edge_into(StrandId(v - 1)), Some(StrandId(w - 1)));
        }
    }

    #[test]
    fn the_order_respects_every_edge() {
        let c = figure1(1);
        let g = Augmented::of(&c);
        let mut position = vec![usize::MAX; c.strand_count()];
        for (at, strand) in g.order().into_iter().enumerate() {
            position[strand.index()] = at;
        }
        for strand in c.strands() {
            for to in successors(&c, strand).chain(g.deque_edge(strand)) {
                assert!(position[strand.index()] < position[to.index()], "{strand} → {to}");
            }
        }
    }

    #[test]
    fn spans_are_longest_paths() {
        // v1 v2 v16 v3 v6 v9 v13 v10 v11 v12 v15 v23
        assert_eq!(Augmented::of(&figure1(1)).span(), 12);
    }
}
