//! Start handlers: once for each index, and free to wait and to fork.

use crate::{Outcome, ensure, nested_loop};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

/// Builds a pool with this handler and makes its threads wait for each other, so that a pool that starts threads only
/// when it needs them does start them.
fn exercise(threads: usize, handler: impl Fn(usize) + Send + Sync + 'static) -> Result<(), String> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(handler);
    let pool = builder.build().map_err(|error| error.to_string())?;
    for _ in 0..10 {
        pool.install(|| nested_loop(200, 100, |_, _| ()));
    }
    // Every thread has started when this has reached it.
    pool.broadcast(|_| ());
    Ok(())
}

/// Counts the calls for each index.
pub(crate) fn once(threads: usize) -> Outcome {
    let calls: Arc<[AtomicUsize]> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let count = Arc::clone(&calls);
    exercise(threads, move |index| {
        count[index].fetch_add(1, SeqCst);
    })?;
    let calls: Vec<usize> = calls.iter().map(|calls| calls.load(SeqCst)).collect();
    ensure(calls.iter().all(|&calls| calls == 1), || format!("calls by index: {calls:?}"))
}

/// All threads begin together. Broken if this hangs.
pub(crate) fn barrier(threads: usize) -> Outcome {
    let barrier = Barrier::new(threads);
    exercise(threads, move |_| {
        barrier.wait();
    })?;
    Ok(Vec::new())
}

/// The handler of the global pool forks in it. Broken if this hangs.
pub(crate) fn forks(threads: usize) -> Outcome {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(|_| {
            rayon::join(|| (), || ());
        })
        .build_global()
        .map_err(|error| error.to_string())?;
    let sum = rayon::join(|| 1, || 2);
    ensure(sum == (1, 2), || format!("the join returned {sum:?}"))
}
