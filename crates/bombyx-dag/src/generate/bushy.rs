//! `bushy`: random computations with much parallelism, unequal frames and several join edges per thread, of any class.
//!
//! A thread is given the number of threads in its subtree, and hands random parts of it to a few children. So the spawn
//! tree is as shallow as a search tree. `class` says where join edges lead: 0 makes nested-parallel computations, 1
//! fully strict, 2 strict and 3 general ones. In general ones a strand, even the first of its thread, may wait for any
//! thread that ends before it in the serial order.

use super::{BuildError, Builder, Computation, Generator, SEED, bytes, parameter, weight};
use crate::{StrandId, rng::Rng};

pub(super) const GENERATOR: Generator = Generator {
    name: "bushy",
    about: "a random computation with much parallelism and unequal frames, of any class",
    parameters: &[
        parameter("threads", 100, 1, 1 << 30, "how many threads"),
        parameter("class", 1, 0, 3, "0 nested-parallel, 1 fully strict, 2 strict, 3 general"),
        parameter("join", 40, 0, 100, "percent of a child's strands, besides its last, with a join edge"),
        weight("work", 4, "mean weight of a strand"),
        parameter("branch", 4, 1, 1 << 20, "mean number of children of a thread that has any"),
        bytes("frame", 64, "mean bytes of a frame; one in eight is eight times as large"),
        bytes("memory", 0, "mean heap bytes a strand allocates, freed at its thread's end"),
        SEED,
    ],
    // A thread's strands: one to spawn each child, up to two besides, and three at its end.
    size: |values| values[0] as f64 * 6.0,
    build,
};

/// A thread that is being built.
struct Open {
    /// Threads that are still to be spawned in its subtree.
    budget: u64,
    children_left: u64,
    /// Strands of descendants that this thread must still wait for.
    unjoined: Vec<StrandId>,
    /// This thread's own strands that an ancestor waits for, and how many levels up the ancestor is.
    outgoing: Vec<(StrandId, usize)>,
    memory: u64,
    /// Strands before the first spawn.
    lead: u64,
}

fn build(values: &[u64]) -> Result<Computation, BuildError> {
    let &[threads, class, join, work, branch, frame, memory, seed] = values else {
        unreachable!("a spec holds every parameter")
    };
    let mut rng = Rng::new(seed);
    let size = |rng: &mut Rng| if rng.below(8) == 0 { 8 * rng.around(frame) } else { rng.around(frame) };
    let begin = |rng: &mut Rng, budget: u64| Open {
        budget,
        children_left: if budget == 0 { 0 } else { rng.around(branch).min(budget) },
        unjoined: Vec::new(),
        outgoing: Vec::new(),
        memory: 0,
        lead: 1 + rng.below(2),
    };
    let mut b = Builder::new(size(&mut rng));
    let mut open = vec![begin(&mut rng, threads - 1)];
    let mut ended: Vec<StrandId> = Vec::new();
    let mut after_spawn = false;
    while let Some(here) = open.last_mut() {
        let spawns = here.lead == 0 && here.children_left > 0;
        if here.lead > 0 || spawns {
            here.lead = here.lead.saturating_sub(1);
            let strand = b.strand(rng.around(work));
            if memory > 0 {
                let bytes = rng.around(memory);
                b.allocate(bytes);
                here.memory = here.memory.saturating_add(bytes);
            }
            if !after_spawn && class > 0 {
                wait_for_some(&mut b, &mut rng, &mut here.unjoined);
            }
            if !after_spawn && class == 3 && !ended.is_empty() && rng.chance(30) {
                let from = ended[rng.below(ended.len() as u64) as usize];
                // There may be such an edge already.
                if !b.waits_for(from) {
                    b.wait_for(from);
                }
            }
            if class > 0 && rng.chance(join) {
                let up = if class >= 2 && open.len() > 2 { 1 + rng.below(2) as usize } else { 1 };
                open.last_mut().expect("it is open").outgoing.push((strand, up));
            }
            after_spawn = false;
            if spawns {
                let here = open.last_mut().expect("it is open");
                here.children_left -= 1;
                // The last child gets what is left. Each of the others gets about an equal part of it.
                let part = match here.children_left {
                    0 => here.budget - 1,
                    left => rng.around(here.budget / (left + 1)).min(here.budget - left) - 1,
                };
                here.budget -= part + 1;
                let frame = size(&mut rng);
                b.spawn(frame);
                let child = begin(&mut rng, part);
                open.push(child);
            }
            continue;
        }
        if after_spawn {
            b.strand(1);
        }
        let last = b.strand(rng.around(work));
        if class == 0 {
            here.unjoined.reverse();
        }
        for from in here.unjoined.drain(..) {
            if !b.waits_for(from) {
                b.wait_for(from);
            }
        }
        if here.memory > 0 {
            b.free(here.memory);
        }
        let closed = open.pop().expect("the loop looked at it");
        if !open.is_empty() {
            b.end();
            ended.push(last);
            open.last_mut().expect("there is a parent").unjoined.push(last);
            for (strand, up) in closed.outgoing {
                let at = open.len().saturating_sub(up);
                open[at].unjoined.push(strand);
            }
        }
        after_spawn = true;
    }
    b.build()
}

/// Lets the latest strand wait for some of what descendants hand over.
fn wait_for_some(b: &mut Builder, rng: &mut Rng, unjoined: &mut Vec<StrandId>) {
    unjoined.retain(|&from| {
        let now = rng.chance(25);
        if now && !b.waits_for(from) {
            b.wait_for(from);
        }
        !now
    });
}
