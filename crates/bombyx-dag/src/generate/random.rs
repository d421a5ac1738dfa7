//! `random`: fully strict computations of random shape, for tests that want every case.

use super::{BuildError, Builder, Computation, FRAME, Generator, SEED, bytes, parameter, weight};
use crate::{StrandId, rng::Rng};

pub(super) const GENERATOR: Generator = Generator {
    name: "random",
    about: "a random fully strict computation",
    parameters: &[
        parameter("threads", 100, 1, 1 << 30, "how many threads, unless none may spawn"),
        parameter("spawn", 40, 0, 100, "percent of strands that spawn"),
        parameter("join", 30, 0, 100, "percent of a child's strands, besides its last, with a join edge"),
        weight("work", 5, "mean weight of a strand"),
        parameter("strands", 6, 1, 1 << 20, "mean number of strands in a thread, syncs not counted"),
        bytes("memory", 0, "mean heap bytes a strand allocates, freed at its thread's end"),
        SEED,
        FRAME,
    ],
    // Up to twice the mean of strands in a thread, two more at its end, and one in the root to spawn it.
    size: |values| values[0] as f64 * (values[4] as f64 * 2.0 + 3.0),
    build,
};

/// A thread that is being built.
struct Open {
    strands_left: u64,
    /// Strands of ended children that this thread must still wait for.
    unjoined: Vec<StrandId>,
    /// This thread's own strands that its parent will wait for.
    outgoing: Vec<StrandId>,
    memory: u64,
}

fn build(values: &[u64]) -> Result<Computation, BuildError> {
    let &[threads, spawn, join, work, strands, memory, seed, frame] = values else {
        unreachable!("a spec holds every parameter")
    };
    let mut rng = Rng::new(seed);
    let mut b = Builder::new(frame);
    let mut threads_left = threads - 1;
    let begin = |rng: &mut Rng| Open {
        strands_left: rng.around(strands),
        unjoined: Vec::new(),
        outgoing: Vec::new(),
        memory: 0,
    };
    let mut open = vec![begin(&mut rng)];
    let mut after_spawn = false;
    while !open.is_empty() {
        // The root goes on until all threads are spawned.
        let must_spawn = open.len() == 1 && open[0].strands_left == 0 && threads_left > 0 && spawn > 0;
        let here = open.last_mut().expect("the loop ends with the root");
        if here.strands_left > 0 || must_spawn {
            here.strands_left = here.strands_left.saturating_sub(1);
            let strand = b.strand(rng.around(work));
            if memory > 0 {
                let bytes = rng.around(memory);
                b.allocate(bytes);
                here.memory = here.memory.saturating_add(bytes);
            }
            if !after_spawn {
                // Waits here for some of what children handed over, in no particular order.
                here.unjoined.retain(|&from| {
                    let now = rng.chance(25);
                    if now {
                        b.wait_for(from);
                    }
                    !now
                });
            }
            if rng.chance(join) {
                here.outgoing.push(strand);
            }
            after_spawn = false;
            if threads_left > 0 && (must_spawn || rng.chance(spawn)) {
                threads_left -= 1;
                b.spawn(frame);
                open.push(begin(&mut rng));
            }
            continue;
        }
        // The thread's last strand waits for everything that is left, and the parent waits for it.
        if after_spawn {
            b.strand(1);
        }
        let last = b.strand(1);
        for from in here.unjoined.drain(..) {
            b.wait_for(from);
        }
        if here.memory > 0 {
            b.free(here.memory);
        }
        let mut ended = open.pop().expect("the loop looked at it");
        if let Some(parent) = open.last_mut() {
            b.end();
            ended.outgoing.push(last);
            parent.unjoined.extend(ended.outgoing);
        }
        after_spawn = true;
    }
    b.build()
}
