//! The path U of a delay sequence (BL Lemma 9, LEC Lemma 18), as the proofs find it, and as it must not be found.

use crate::context::Context;
use crate::delay::{Edges, History};
use crate::mutant::Mutant;
use bombyx_dag::{Augmented, Computation, StrandId};

/// Wrong ways to find U. Delay sequences occur under every scheduler, even a wrong one, so only U itself can be wrong.
pub(crate) const WRONG: &[Mutant] = &[
    Mutant::Own { name: "plain-edges", about: "the path U is sought without deque edges" },
    Mutant::Own { name: "longest-path", about: "U is a longest path of G', whatever was executed when" },
    Mutant::Own { name: "root-path", about: "U goes along the root thread" },
];

/// U as the proof finds it, or as the context's mutant does.
pub(crate) fn path(cx: &Context<'_>, history: &History<'_>) -> Vec<StrandId> {
    let c = history.computation();
    match () {
        () if cx.own("plain-edges") => history.path(Edges::Plain),
        () if cx.own("longest-path") => longest(c),
        () if cx.own("root-path") => c.strands_of(c.root()).collect(),
        () => history.path(Edges::Augmented),
    }
}

/// The instructions of a longest path of G', first to last.
pub(crate) fn longest(c: &Computation) -> Vec<StrandId> {
    let g = Augmented::of(c);
    let mut best: Vec<(u64, Option<StrandId>)> = vec![(1, None); c.strand_count()];
    for u in g.order() {
        let (length, _) = best[u.index()];
        let edges = c.spawned(u).into_iter().chain(c.next(u)).chain(g.deque_edge(u));
        for to in edges.chain(c.joins_from(u).iter().copied()) {
            if best[to.index()].0 < length + 1 {
                best[to.index()] = (length + 1, Some(u));
            }
        }
    }
    let mut path = vec![c.last_strand(c.root())];
    while let Some(before) = best[path[path.len() - 1].index()].1 {
        path.push(before);
    }
    path.reverse();
    path
}
