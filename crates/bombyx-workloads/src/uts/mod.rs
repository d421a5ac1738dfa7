//! Unbalanced tree search (Olivier et al., LCPC 2006): counts the nodes of a tree that exists only as a rule by
//! which a node's 20-byte SHA-1 state gives the number and the states of its children. Nothing about a subtree's
//! size is known before it is visited.

use sha1::{Digest, Sha1};

use crate::Fork;
use crate::workload::{Bound, Checksum, Entry, Grain, Kernel, Prepared, Suite, ensure, prepared};

pub(crate) static T1: Entry = Entry {
    name: "uts-t1",
    about: "unbalanced tree search, geometric tree T1",
    suite: Suite::Classics,
    bound: Bound::Compute,
    prepare: |size, grain, _seed| {
        let (depth, root_seed, counts) = size.pick(
            (5, 19, None),
            (10, 19, Some(Counts { nodes: 4_130_071, leaves: 3_305_118, depth: 10 })),
            (13, 29, Some(Counts { nodes: 102_181_082, leaves: 81_746_377, depth: 13 })),
        );
        prepare(Shape::Geometric { branching: 4.0, depth }, root_seed, counts, grain)
    },
};

pub(crate) static T3: Entry = Entry {
    name: "uts-t3",
    about: "unbalanced tree search, binomial tree T3",
    suite: Suite::Classics,
    bound: Bound::Compute,
    prepare: |size, grain, _seed| {
        let (root_children, probability, counts) = size.pick(
            (5, 0.124875, None),
            (2000, 0.124875, Some(Counts { nodes: 4_112_897, leaves: 3_599_034, depth: 1572 })),
            // The published large trees are ten times as deep, deeper than ordinary stacks allow.
            (320_000, 0.124, None),
        );
        prepare(Shape::Binomial { root_children, children: 8, probability }, 42, counts, grain)
    },
};

fn prepare(shape: Shape, root_seed: u32, published: Option<Counts>, grain: Grain) -> Box<dyn Prepared> {
    prepared(Uts {
        shape,
        root: Node::root(root_seed),
        published,
        siblings: grain.pick(4, 1),
        result: Counts::default(),
    })
}

struct Uts {
    shape: Shape,
    root: Node,
    /// What the authors of the benchmark count, for the trees they define.
    published: Option<Counts>,
    /// How many children of a node are visited one after the other.
    siblings: u32,
    result: Counts,
}

/// The rule that gives a node its number of children.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Geometrically distributed with the given mean, down to a fixed depth.
    Geometric { branching: f64, depth: u32 },
    /// `children` with the given probability, else none. The root has its own number.
    Binomial { root_children: u32, children: u32, probability: f64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    nodes: u64,
    leaves: u64,
    depth: u32,
}

impl Counts {
    fn plus(self, other: Counts) -> Counts {
        Counts {
            nodes: self.nodes + other.nodes,
            leaves: self.leaves + other.leaves,
            depth: self.depth.max(other.depth),
        }
    }
}

#[derive(Clone, Copy)]
struct Node {
    state: [u8; 20],
    depth: u32,
}

impl Node {
    fn root(seed: u32) -> Node {
        let mut zeros_and_seed = [0; 20];
        zeros_and_seed[16..].copy_from_slice(&seed.to_be_bytes());
        Node { state: Sha1::digest(zeros_and_seed).into(), depth: 0 }
    }

    fn child(&self, number: u32) -> Node {
        let mut bytes = [0; 24];
        bytes[..20].copy_from_slice(&self.state);
        bytes[20..].copy_from_slice(&number.to_be_bytes());
        Node { state: Sha1::digest(bytes).into(), depth: self.depth + 1 }
    }

    /// The state's last 31 bits as a number in `[0, 1)`.
    fn uniform(&self) -> f64 {
        let last = u32::from_be_bytes([self.state[16], self.state[17], self.state[18], self.state[19]]);
        f64::from(last & 0x7fff_ffff) / 2_147_483_648.0
    }
}

impl Shape {
    fn children(&self, node: &Node) -> u32 {
        match *self {
            Shape::Geometric { branching, depth } => {
                if node.depth >= depth {
                    return 0;
                }
                let stop = 1.0 / (1.0 + branching);
                ((1.0 - node.uniform()).ln() / (1.0 - stop).ln()).floor() as u32
            }
            Shape::Binomial { root_children, .. } if node.depth == 0 => root_children,
            Shape::Binomial { children, probability, .. } => {
                if node.uniform() < probability {
                    children
                } else {
                    0
                }
            }
        }
    }

    fn visit(&self, node: &Node) -> (u32, Counts) {
        let children = self.children(node);
        (children, Counts { nodes: 1, leaves: u64::from(children == 0), depth: node.depth })
    }
}

/// Counts the subtree below and including `node`.
fn search<F: Fork>(fork: &mut F, shape: &Shape, siblings: u32, node: &Node) -> Counts {
    match shape.visit(node) {
        (0, own) => own,
        (children, own) => own.plus(search_children(fork, shape, siblings, node, 0, children)),
    }
}

/// Counts the subtrees of the children `from..to`, of which there is at least one.
fn search_children<F: Fork>(
    fork: &mut F,
    shape: &Shape,
    siblings: u32,
    parent: &Node,
    from: u32,
    to: u32,
) -> Counts {
    if to - from <= siblings {
        return (from..to)
            .map(|number| search(fork, shape, siblings, &parent.child(number)))
            .fold(Counts::default(), Counts::plus);
    }
    let middle = from + (to - from) / 2;
    let (a, b) = fork.join(
        move |fork| search_children(fork, shape, siblings, parent, from, middle),
        move |fork| search_children(fork, shape, siblings, parent, middle, to),
    );
    a.plus(b)
}

impl Kernel for Uts {
    fn input(&self) -> String {
        match self.shape {
            Shape::Geometric { branching, depth } => {
                format!("geometric, mean {branching}, depth {depth}, {} children a leaf", self.siblings)
            }
            Shape::Binomial { root_children, children, probability } => {
                format!(
                    "binomial, root {root_children}, {children} × {probability}, {} children a leaf",
                    self.siblings
                )
            }
        }
    }

    fn reset(&mut self) {
        self.result = Counts::default();
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        self.result = search(fork, &self.shape, self.siblings, &self.root);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of([self.result.nodes, self.result.leaves, u64::from(self.result.depth)])
    }

    fn check(&self) -> Result<(), String> {
        let expected = self.published.unwrap_or_else(|| {
            let mut waiting = vec![self.root];
            let mut counts = Counts::default();
            while let Some(node) = waiting.pop() {
                let (children, own) = self.shape.visit(&node);
                counts = counts.plus(own);
                waiting.extend((0..children).map(|number| node.child(number)));
            }
            counts
        });
        ensure(self.result == expected, || format!("counted {:?} instead of {expected:?}", self.result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    /// SHA-1 of 16 zero bytes and the number 19, and of that state and the number 0, computed with coreutils.
    #[test]
    fn states_are_those_of_the_benchmark() {
        let hex = |bytes: [u8; 20]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let root = Node::root(19);
        assert_eq!(hex(root.state), "c6988ab70cc9559ae4d6cba254e29a845a85f86b");
        assert_eq!(hex(root.child(0).state), "2fb3131030280c1617a81d6a49c1e29effb19645");
    }

    #[test]
    fn geometric_trees_stop_at_their_depth() {
        let shape = Shape::Geometric { branching: 4.0, depth: 3 };
        assert!(search(&mut Serial, &shape, 1, &Node::root(19)).depth <= 3);
    }
}
