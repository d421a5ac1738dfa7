//! `broadcast` reaches the threads that run tasks, all of them.

use crate::{Outcome, ensure, nested_loop, pool, spin};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

thread_local! {
    static CONTEXT: Cell<bool> = const { Cell::new(false) };
    static TALLY: Cell<u64> = const { Cell::new(0) };
}

/// Sets a thread-local on every thread, and uses it.
pub(crate) fn set(threads: usize) -> Outcome {
    let pool = pool(threads)?;
    pool.broadcast(|_| CONTEXT.set(true));
    let missing = AtomicUsize::new(0);
    pool.install(|| {
        for _ in 0..200 {
            (0..64).into_par_iter().for_each(|_| {
                (0..16).into_par_iter().for_each(|task| {
                    spin(if task % 5 == 0 { 30 } else { 2 });
                    missing.fetch_add(usize::from(!CONTEXT.get()), Relaxed);
                });
            });
        }
    });
    let missing = missing.into_inner();
    ensure(missing == 0, || format!("{missing} of 204800 tasks ran where the thread-local was not set"))
}

/// Counts in thread-locals and collects the counts.
pub(crate) fn collected(threads: usize) -> Outcome {
    collect_from(&pool(threads)?)
}

/// The same with a spawn handler.
pub(crate) fn of_own_threads(threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .spawn_handler(|thread| {
            thread::spawn(|| thread.run());
            Ok(())
        })
        .build()
        .map_err(|error| error.to_string())?;
    collect_from(&pool)
}

fn collect_from(pool: &ThreadPool) -> Outcome {
    const ROUNDS: usize = 10;
    let counts: Vec<u64> = (0..ROUNDS)
        .map(|_| {
            pool.install(|| nested_loop(2000, 100, |_, _| TALLY.set(TALLY.get() + 1)));
            pool.broadcast(|_| TALLY.take()).into_iter().sum()
        })
        .collect();
    let wrong: Vec<u64> = counts.into_iter().filter(|&count| count != 200_000).collect();
    ensure(wrong.is_empty(), || {
        format!("{} of {ROUNDS} rounds wrong: counted {wrong:?} of 200000", wrong.len())
    })
}
