//! The tree of the flame graphs: closures below those that forked them, by fork site.
//!
//! A closure that is forked below another one of the same site belongs to that one's node. So loops and recursion take one
//! node, also if several sites take turns, and no path is longer than the number of sites.

use super::names::Names;
use bombyx_dag::{Computation, longest_path};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The most nodes. What comes after them belongs to the node above it.
const MOST: usize = 3000;

struct Node {
    parent: usize,
    entry: usize,
    work: u64,
    span: u64,
    forks: u64,
}

/// The nodes, parents first: parent, entry, work, span, forks. Work and span are without the nodes below.
pub(crate) fn data(c: &Computation, names: &Names) -> Value {
    let nodes = nodes(c, names);
    let row = |node: &Node| json!([node.parent, node.entry, node.work, node.span, node.forks]);
    json!(nodes.iter().map(row).collect::<Vec<_>>())
}

fn nodes(c: &Computation, names: &Names) -> Vec<Node> {
    let mut nodes = vec![Node { parent: 0, entry: 0, work: 0, span: 0, forks: 0 }];
    // Where a fork at an entry leads from a node.
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    let mut of_threads: Vec<usize> = Vec::with_capacity(c.thread_count());
    for thread in c.threads() {
        let Some(parent) = c.parent(thread) else {
            of_threads.push(0);
            continue;
        };
        let from = of_threads[parent.index()];
        let Some(site) = c.site(thread) else {
            of_threads.push(from);
            continue;
        };
        let entry = names.entry(site.index() + 1);
        let node = *known.entry((from, entry)).or_insert_with(|| {
            let above = std::iter::successors(Some(from), |&node| (node != 0).then(|| nodes[node].parent));
            if let Some(same) = above.into_iter().find(|&node| nodes[node].entry == entry) {
                return same;
            }
            if nodes.len() == MOST {
                return from;
            }
            nodes.push(Node { parent: from, entry, work: 0, span: 0, forks: 0 });
            nodes.len() - 1
        });
        nodes[node].forks += 1;
        of_threads.push(node);
    }
    for strand in c.strands() {
        nodes[of_threads[c.thread_of(strand).index()]].work += c.weight(strand);
    }
    for strand in longest_path(c) {
        nodes[of_threads[c.thread_of(strand).index()]].span += c.weight(strand);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::{Builder, Sites};

    /// Two sites that take turns, ten levels deep.
    #[test]
    fn recursion_is_folded() {
        let mut b = Builder::new(0);
        let sites = [b.site("a"), b.site("b")];
        let mut ends = vec![];
        for level in 0..10 {
            b.strand(1);
            b.spawn_at(sites[level % 2], 0);
        }
        b.strand(100);
        for _ in 0..10 {
            ends.push(b.end());
            b.strand(1);
            b.strand(1);
            b.wait_for(ends.pop().unwrap());
        }
        let c = b.build().unwrap();
        let names = Names::of(&c, &Sites::of(&c).measures(&c));
        let nodes = nodes(&c, &names);
        assert_eq!(nodes.len(), 3);
        assert_eq!((nodes[1].parent, nodes[2].parent), (0, 1));
        assert_eq!((nodes[1].forks, nodes[2].forks), (5, 5));
        assert_eq!(nodes.iter().map(|node| node.work).sum::<u64>(), 130);
        assert_eq!(nodes.iter().map(|node| node.span).sum::<u64>(), c.span());
    }
}
