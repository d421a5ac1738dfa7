//! `install` from one pool into another.

use crate::costs::threads_now;
use crate::{Outcome, pool};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// One thread of a pool installs small loops into another, one after the other.
pub(crate) fn one_by_one(threads: usize) -> Outcome {
    const CALLS: u32 = 5000;
    let (from, into) = (pool(threads)?, pool(threads)?);
    let time = from.install(|| {
        let begin = Instant::now();
        for call in 0..CALLS {
            std::hint::black_box(into.install(|| call));
        }
        begin.elapsed()
    });
    Ok(vec![("µs", time.as_secs_f64() * 1e6 / f64::from(CALLS))])
}

/// All closures of loops install, with a loop inside.
pub(crate) fn many(threads: usize) -> Outcome {
    let (from, into) = (pool(threads)?, pool(threads)?);
    let begin = Instant::now();
    for _ in 0..300 {
        from.install(|| {
            // Few at a time, because on either core a closure that waits for the other pool takes room on a stack.
            (0..64u32).into_par_iter().with_max_len(1).for_each(|task| {
                let sum =
                    into.install(|| (0..200u64).into_par_iter().map(|x| x ^ u64::from(task)).sum::<u64>());
                std::hint::black_box(sum);
            });
        });
    }
    Ok(vec![("ms", begin.elapsed().as_secs_f64() * 1e3)])
}

/// Closures of a large pool wait for closures of another one, which block.
pub(crate) fn threads(threads: usize) -> Outcome {
    let (from, into) = (pool(threads)?, pool(threads)?);
    let over = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let count = scope.spawn(|| {
            let mut most = 0;
            while !over.load(SeqCst) {
                most = most.max(threads_now()?);
                sleep(Duration::from_millis(1));
            }
            Ok::<_, String>(most)
        });
        from.scope(|scope| {
            for _ in 0..2000 {
                scope.spawn(|_| into.install(|| sleep(Duration::from_millis(2))));
            }
        });
        over.store(true, SeqCst);
        count.join().map_err(|_| "the count has panicked")?
    })?;
    Ok(vec![("threads", most as f64)])
}
