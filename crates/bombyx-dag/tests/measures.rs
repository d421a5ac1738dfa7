//! Measures against a second, naive computation of each, on unit instructions and by search.

use bombyx_dag::generate::Spec;
use bombyx_dag::{Augmented, Computation, Measures, StrandId, ThreadId, distances_to_end, path_lengths};

/// Every edge as a pair, found without the library's own walks.
fn edges(c: &Computation) -> Vec<(StrandId, StrandId)> {
    let mut edges = Vec::new();
    for thread in c.threads() {
        let strands: Vec<StrandId> = c.strands().filter(|&s| c.thread_of(s) == thread).collect();
        edges.extend(strands.windows(2).map(|pair| (pair[0], pair[1])));
        edges.extend(c.spawner(thread).map(|spawner| (spawner, strands[0])));
    }
    for strand in c.strands() {
        edges.extend(c.joins_from(strand).iter().map(|&to| (strand, to)));
    }
    edges
}

/// Longest paths by relaxing all edges until nothing changes.
fn relax(c: &Computation, edges: &[(StrandId, StrandId)]) -> Vec<u64> {
    let mut length: Vec<u64> = c.strands().map(|s| c.weight(s)).collect();
    let mut rounds = 0;
    loop {
        let mut changed = false;
        for &(from, to) in edges {
            let through = length[from.index()] + c.weight(to);
            if through > length[to.index()] {
                length[to.index()] = through;
                changed = true;
            }
        }
        if !changed {
            return length;
        }
        rounds += 1;
        assert!(rounds <= c.strand_count(), "the edges form a cycle");
    }
}

fn stack(c: &Computation, thread: ThreadId) -> u64 {
    c.frame(thread) + c.parent(thread).map_or(0, |parent| stack(c, parent))
}

fn samples() -> impl Iterator<Item = (String, Computation)> {
    let random =
        (0..60).map(|seed| format!("random:threads=12,strands=4,spawn=50,join=40,memory=50,seed={seed}"));
    let others =
        ["figure1", "fib:6", "wavefront:rows=4,columns=4,reach=3", "chain:6", "fan:6", "geometric:depth=3"];
    random.chain(others.map(str::to_owned)).map(|text| {
        let c = text.parse::<Spec>().unwrap().build().unwrap();
        (text, c)
    })
}

#[test]
fn agree_with_a_naive_search() {
    for (text, c) in samples() {
        let m = Measures::of(&c);
        let edges = edges(&c);
        let lengths = relax(&c, &edges);
        assert_eq!(path_lengths(&c), lengths, "{text}");
        assert_eq!(m.span, *lengths.iter().max().unwrap(), "{text}");
        let reversed: Vec<_> = edges.iter().map(|&(from, to)| (to, from)).collect();
        assert_eq!(distances_to_end(&c), relax(&c, &reversed), "{text}");
        assert_eq!(m.work, c.strands().map(|s| c.weight(s)).sum::<u64>(), "{text}");
        assert_eq!(m.stack, c.threads().map(|t| stack(&c, t)).max().unwrap(), "{text}");
    }
}

#[test]
fn the_augmented_dag_agrees_with_a_naive_search() {
    for (text, c) in samples() {
        let g = Augmented::of(&c);
        let mut edges = edges(&c);
        for u in c.strands() {
            if let (Some(v), Some(w)) = (c.spawned(u), c.next(u)) {
                edges.push((w, v));
                assert_eq!((g.deque_edge(w), g.deque_edge_into(v)), (Some(v), Some(w)), "{text}");
            }
        }
        assert_eq!(
            c.strands().filter(|&w| g.deque_edge(w).is_some()).count(),
            c.thread_count() - 1,
            "{text}"
        );
        assert_eq!(g.path_lengths(), relax(&c, &edges), "{text}");
    }
}

#[test]
fn serial_space_agrees_with_a_walk_by_threads() {
    for (text, c) in samples() {
        // Living threads recomputed from scratch at every strand.
        let mut most = 0;
        let mut heap = 0;
        for strand in c.strands() {
            let frames = |after: bool| -> u64 {
                let begun = |t: ThreadId| c.spawner(t).is_none_or(|s| s < strand || after && s == strand);
                let alive = |t: ThreadId| begun(t) && c.last_strand(t) >= strand;
                c.threads().filter(|&t| alive(t)).map(|t| c.frame(t)).sum()
            };
            heap += c.allocated(strand);
            most = most.max(frames(false) + heap);
            heap -= c.freed(strand);
            most = most.max(frames(true) + heap);
        }
        assert_eq!(Measures::of(&c).serial_space, most, "{text}");
    }
}
