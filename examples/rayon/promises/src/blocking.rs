//! Closures that block, without saying so, in pools that are larger than the machine.

use crate::{Outcome, ensure, pool};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a closure blocks.
const BLOCKED: Duration = Duration::from_millis(1);

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// As many closures as threads: all are asleep at the same time. A closure sleeps until all do, or until its patience
/// is over.
pub(crate) fn together(threads: usize) -> Outcome {
    static ASLEEP: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    pool(threads)?.scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|_| {
                let asleep = ASLEEP.fetch_add(1, SeqCst) + 1;
                MOST.fetch_max(asleep, SeqCst);
                let begin = Instant::now();
                while MOST.load(SeqCst) < threads && begin.elapsed() < Duration::from_secs(2) {
                    sleep(Duration::from_millis(5));
                }
                ASLEEP.fetch_sub(1, SeqCst);
            });
        }
    });
    let most = MOST.load(SeqCst);
    ensure(most == threads, || format!("at most {most} of {threads} slept at the same time"))
}

/// Many spawns of a scope.
pub(crate) fn in_scope(threads: usize) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| error.to_string())?;
    let begin = Instant::now();
    rayon::scope(|scope| {
        for _ in 0..10_000 {
            scope.spawn(|_| sleep(BLOCKED));
        }
    });
    Ok(vec![("ms", milliseconds(begin))])
}

/// Many spawns outside a scope, from inside the pool.
pub(crate) fn detached(threads: usize) -> Outcome {
    const TASKS: usize = 5000;
    let pool = pool(threads)?;
    let (done, ended) = channel();
    let begin = Instant::now();
    pool.install(move || {
        for _ in 0..TASKS {
            let done = done.clone();
            rayon::spawn(move || {
                sleep(BLOCKED);
                done.send(()).expect("the receiver waits for all");
            });
        }
    });
    ensure(ended.iter().count() == TASKS, || "a task has panicked".to_string())?;
    Ok(vec![("ms", milliseconds(begin))])
}
