//! How often a waiting thread runs a task that is no part of what the thread waits for, on top of its stack.

use crate::{Outcome, pool, spin};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The levels of the tree of tasks, and the bits that tell the children of a task apart.
const LEVELS: u32 = 6;
const BITS: u32 = 7;

thread_local! {
    /// The task that this thread runs, and how many tasks are buried below it under tasks that are no parts of them.
    static TOP: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
}

/// What the tasks have seen.
#[derive(Default)]
struct Seen {
    buried: AtomicUsize,
    deepest: AtomicUsize,
}

/// A scope of tasks, each of which is an uneven tree of joins.
pub(crate) fn trees(threads: usize) -> Outcome {
    let pool = pool(threads)?;
    let seen = Seen::default();
    for _ in 0..20 {
        pool.install(|| {
            task(1, &seen, || {
                rayon::scope(|scope| {
                    for child in 0..100 {
                        let seen = &seen;
                        scope.spawn(move |_| tree(1 << BITS | child, LEVELS, seen));
                    }
                });
            });
        });
    }
    let figure = |count: AtomicUsize| count.into_inner() as f64;
    Ok(vec![("buried", figure(seen.buried)), ("deepest", figure(seen.deepest))])
}

/// Runs the task `name` and its parts.
fn tree(name: u64, levels: u32, seen: &Seen) {
    task(name, seen, || {
        if levels == 0 {
            return spin(5 + name % 40);
        }
        rayon::join(
            || tree(name << BITS, levels - 1, seen),
            || tree(name << BITS | 1, levels.saturating_sub(3), seen),
        );
    });
}

/// Runs `body` as the task `name`, and notes whether the task below it on the stack is one that the task is a part of.
fn task(name: u64, seen: &Seen, body: impl FnOnce()) {
    let (below, depth) = TOP.get();
    let mut part_of = name;
    while part_of > below {
        part_of >>= BITS;
    }
    let depth = if part_of == below {
        depth
    } else {
        seen.buried.fetch_add(1, Relaxed);
        seen.deepest.fetch_max(depth + 1, Relaxed);
        depth + 1
    };
    TOP.set((name, depth));
    body();
    TOP.set((below, depth - usize::from(part_of != below)));
}
