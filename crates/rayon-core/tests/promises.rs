//! What this package promises beyond what the original's own tests check.

use rayon_core::{ThreadPoolBuilder, join};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// However many tasks wait, `spawn` does not run one in place: the spawner may hold a lock that they take.
#[test]
fn a_spawn_never_runs_in_place() {
    const TASKS: usize = 10_000;
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let count = Mutex::new(0);
        pool.scope(|s| {
            let _held = count.lock().unwrap();
            for _ in 0..TASKS {
                s.spawn(|_| *count.lock().unwrap() += 1);
            }
        });
        assert_eq!(count.into_inner().unwrap(), TASKS);
    }
}

/// Tasks that open a scope in another pool pile up on one stack, but only to the depth that docs/rayon.md promises: 65, and one
/// more for every 100 ms in which no thread begins a task. The other pool answers late, so that they could all pile up.
#[test]
fn tasks_that_wait_for_another_pool_pile_up_to_a_limit() {
    const TASKS: usize = 400;
    thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
    let [here, there] = [(); 2].map(|()| ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let deepest = AtomicUsize::new(0);
    let start = Instant::now();
    here.scope(|s| {
        for _ in 0..TASKS {
            s.spawn(|_| {
                DEPTH.set(DEPTH.get() + 1);
                deepest.fetch_max(DEPTH.get(), Ordering::SeqCst);
                there.scope(|_| while start.elapsed() < Duration::from_millis(30) {});
                DEPTH.set(DEPTH.get() - 1);
            });
        }
    });
    let (deepest, limit) = (deepest.into_inner(), 65 + start.elapsed().as_millis() as usize / 100);
    assert!(deepest <= limit, "{deepest} tasks on one stack, and the limit is {limit}");
}

/// No task of a pool runs on a thread that does not belong to the pool, and every thread has called the start handler.
#[test]
fn tasks_run_on_threads_that_called_the_start_handler() {
    let started = Arc::new(Mutex::new(HashSet::new()));
    let record = Arc::clone(&started);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(move |index| {
            assert!(index < 2);
            record.lock().unwrap().insert(thread::current().id());
        })
        .build()
        .unwrap();
    let check = || assert!(started.lock().unwrap().contains(&thread::current().id()));
    let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.scope(|s| {
        for _ in 0..100 {
            s.spawn(|_| {
                check();
                // Makes the pool start further threads.
                other.install(thread::yield_now);
                check();
            });
        }
    });
}

/// A pool whose threads the caller starts has no others, even when all of them wait.
#[test]
fn custom_threads_are_the_only_ones() {
    let run = AtomicUsize::new(0);
    let count = &run;
    thread::scope(|scope| {
        let ids = Arc::new(Mutex::new(HashSet::new()));
        let record = Arc::clone(&ids);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(move |builder| {
                let record = Arc::clone(&record);
                scope.spawn(move || {
                    record.lock().unwrap().insert(thread::current().id());
                    builder.run();
                });
                Ok(())
            })
            .build()
            .unwrap();
        let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.scope(|s| {
            for _ in 0..50 {
                s.spawn(|_| {
                    // There and back: the threads of the pool wait for each other.
                    other.install(|| pool.install(|| count.fetch_add(1, Ordering::Relaxed)));
                    assert!(ids.lock().unwrap().contains(&thread::current().id()));
                });
            }
        });
        // A thread may start after all work is done.
        while ids.lock().unwrap().len() < 2 {
            thread::yield_now();
        }
    });
    assert_eq!(run.into_inner(), 50);
}

/// As many tasks as there are threads run at the same time.
#[test]
fn all_threads_run() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let barrier = Barrier::new(4);
    for _ in 0..20 {
        pool.install(|| {
            join(|| join(|| barrier.wait(), || barrier.wait()), || join(|| barrier.wait(), || barrier.wait()))
        });
    }
}

/// The thread that the pool was built on stays part of it, and its joins use it.
#[test]
fn the_current_thread_can_be_part_of_a_pool() {
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!(rayon_core::current_thread_index(), Some(0));
        assert_eq!(rayon_core::current_num_threads(), 2);
        let barrier = Barrier::new(2);
        join(|| barrier.wait(), || barrier.wait());
        assert!(pool.current_thread_index().is_some());
        let mut indices = pool.broadcast(|context| context.index());
        indices.sort_unstable();
        assert_eq!(indices, [0, 1]);
    })
    .join()
    .unwrap();
}
