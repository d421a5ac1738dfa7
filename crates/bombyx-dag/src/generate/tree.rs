//! The walk that all divide-and-conquer generators share: an explicit stack in place of recursion.

use super::{BuildError, Builder, Computation};

/// What a node of a divide-and-conquer tree becomes.
pub(super) enum Node<T> {
    /// One strand.
    Leaf {
        weight: u64,
        /// Heap bytes held while it runs.
        memory: u64,
    },
    /// Spawns every part as a child, then joins them all.
    Split {
        parts: Vec<T>,
        /// Weight of every spawning strand.
        divide: u64,
        /// Weight of the strand that waits for the children.
        combine: u64,
        /// Heap bytes held from the first strand to the last.
        memory: u64,
    },
}

enum Step<T> {
    /// Build the thread of this problem, in a thread that has begun already.
    Enter(T),
    /// Divide, spawn a child for this part, and then return to the parent.
    Spawn { part: T, divide: u64, memory: u64 },
    /// The child ended. Somebody must wait for it.
    EndChild,
    /// All parts are spawned: wait for the last `children` of them.
    Combine { children: usize, weight: u64, memory: u64 },
}

/// Builds a whole divide-and-conquer computation. `node` says what becomes of a problem.
pub(super) fn divide_and_conquer<T>(
    root: T,
    frame: u64,
    mut node: impl FnMut(&T) -> Node<T>,
) -> Result<Computation, BuildError> {
    let mut b = Builder::new(frame);
    let mut steps = vec![Step::Enter(root)];
    let mut ended = Vec::new();
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(problem) => match node(&problem) {
                Node::Leaf { weight, memory } => {
                    b.strand(weight);
                    hold(&mut b, memory);
                    give_back(&mut b, memory);
                }
                Node::Split { parts, divide, combine, memory } => {
                    steps.push(Step::Combine { children: parts.len(), weight: combine, memory });
                    let begin = steps.len();
                    for (nth, part) in parts.into_iter().enumerate() {
                        steps.push(Step::Spawn { part, divide, memory: if nth == 0 { memory } else { 0 } });
                    }
                    steps[begin..].reverse();
                }
            },
            Step::Spawn { part, divide, memory } => {
                b.strand(divide);
                hold(&mut b, memory);
                b.spawn(frame);
                steps.push(Step::EndChild);
                steps.push(Step::Enter(part));
            }
            Step::EndChild => ended.push(b.end()),
            Step::Combine { children, weight, memory } => {
                b.strand(1);
                b.strand(weight);
                for child in ended.drain(ended.len() - children..) {
                    b.wait_for(child);
                }
                give_back(&mut b, memory);
            }
        }
    }
    b.build()
}

fn hold(b: &mut Builder, memory: u64) {
    if memory > 0 {
        b.allocate(memory);
    }
}

fn give_back(b: &mut Builder, memory: u64) {
    if memory > 0 {
        b.free(memory);
    }
}
