//! Programs that hang on runtimes that run unrelated work on top of a waiting frame. There, a lock that is held across
//! a join is taken again, on the same stack, by work that has nothing to do with it (rayon issue 592).

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, join, scope};
use common::{
    builder, bump, pool, wait_until, watchdog, with_every_scheduler, with_schedulers_that_stop_no_frame,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// How often to try: all `times` with the default scheduler, a third of them with each of the others.
fn repetitions(pool: &Pool, times: usize) -> usize {
    if pool.scheduler() == Scheduler::default() { times } else { times / 3 }
}

fn work() {
    thread::yield_now();
}

/// Long enough that a thread that waits for it looks for something else to do.
fn long() {
    (0..3_000).for_each(|_| std::hint::spin_loop());
    join(work, work);
}

/// A task that holds the lock while it joins.
fn task(lock: &Mutex<usize>) {
    let mut count = lock.lock().unwrap();
    join(|| (), long);
    *count += 1;
}

#[test]
fn mutex_held_across_a_join() {
    fn tasks(count: usize, lock: &Mutex<usize>) {
        if count == 1 {
            return task(lock);
        }
        join(|| tasks(count / 2, lock), || tasks(count - count / 2, lock));
    }
    with_schedulers_that_stop_no_frame(2, |pool| {
        for repetition in 0..repetitions(pool, 1_000) {
            let lock = Mutex::new(0);
            watchdog(&format!("a mutex held across a join, repetition {repetition}"), || {
                pool.run(|| tasks(4, &lock))
            });
            assert_eq!(lock.into_inner().unwrap(), 4);
        }
    });
}

/// Threads that want the lock leave their processors to others meanwhile.
#[test]
fn mutex_held_across_a_join_and_waited_for_in_blocking() {
    fn tasks(count: usize, lock: &Mutex<usize>) {
        if count == 1 {
            let mut count = bombyx::blocking(|| lock.lock().unwrap());
            bombyx::charge(5_000);
            join(|| (), long);
            bombyx::release(5_000);
            *count += 1;
        } else {
            join(|| tasks(count / 2, lock), || tasks(count - count / 2, lock));
        }
    }
    with_every_scheduler(2, |pool| {
        for repetition in 0..50 {
            let lock = Mutex::new(0);
            watchdog(&format!("a mutex waited for in blocking, repetition {repetition}"), || {
                pool.run(|| tasks(4, &lock))
            });
            assert_eq!(lock.into_inner().unwrap(), 4);
        }
    });
}

#[test]
fn mutex_held_across_a_join_in_a_scope() {
    with_schedulers_that_stop_no_frame(2, |pool| {
        for repetition in 0..repetitions(pool, 200) {
            let lock = Mutex::new(0);
            watchdog(&format!("a mutex in a scope, repetition {repetition}"), || {
                pool.run(|| {
                    scope(|s| {
                        for _ in 0..8 {
                            s.spawn(|_| task(&lock));
                        }
                    });
                });
            });
            assert_eq!(lock.into_inner().unwrap(), 8);
        }
    });
}

/// What the second half starts on the pool is not a part of the second half. A thread that waits for the second half
/// with the lock held must leave it alone.
#[test]
fn mutex_held_while_a_detached_closure_wants_it() {
    with_schedulers_that_stop_no_frame(2, |pool| {
        watchdog("a detached closure that wants a lock held across a join", || {
            for _ in 0..100 {
                let lock = Arc::new(Mutex::new(()));
                let detached = Arc::new(AtomicBool::new(false));
                let started = AtomicBool::new(false);
                pool.run(|| {
                    let guard = lock.lock().unwrap();
                    join(
                        || wait_until(|| started.load(SeqCst)),
                        || {
                            let (lock, detached) = (Arc::clone(&lock), Arc::clone(&detached));
                            pool.spawn(move || {
                                detached.store(true, SeqCst);
                                drop(lock.lock().unwrap());
                            });
                            started.store(true, SeqCst);
                            for _ in 0..2_000 {
                                bombyx::checkpoint();
                                work();
                            }
                        },
                    );
                    drop(guard);
                });
                wait_until(|| detached.load(SeqCst));
                drop(lock.lock().unwrap());
            }
        });
    });
}

/// What the second half spawns in a scope outside the join is not a part of the second half either.
#[test]
fn mutex_held_while_a_closure_of_an_outer_scope_wants_it() {
    with_schedulers_that_stop_no_frame(2, |pool| {
        watchdog("a closure of an outer scope that wants a lock held across a join", || {
            for _ in 0..100 {
                let lock = Mutex::new(());
                let started = AtomicBool::new(false);
                pool.run(|| {
                    scope(|s| {
                        let guard = lock.lock().unwrap();
                        join(
                            || wait_until(|| started.load(SeqCst)),
                            || {
                                started.store(true, SeqCst);
                                s.spawn(|_| drop(lock.lock().unwrap()));
                                // Long enough for the waiting thread to help.
                                for _ in 0..100 {
                                    join(work, work);
                                }
                            },
                        );
                        drop(guard);
                    });
                });
            }
        });
    });
}

/// Two locks, taken in order. The second is held across joins by threads that hold the first.
#[test]
fn locks_nest() {
    fn inner(lock: &Mutex<()>, count: &AtomicUsize) {
        let _guard = lock.lock().unwrap();
        join(work, || bump(count));
    }
    fn outer(first: &Mutex<()>, second: &Mutex<()>, count: &AtomicUsize) {
        let _guard = first.lock().unwrap();
        join(|| inner(second, count), || inner(second, count));
    }
    for processors in [2, 4] {
        with_schedulers_that_stop_no_frame(processors, |pool| {
            let (first, second, count) = (Mutex::new(()), Mutex::new(()), AtomicUsize::new(0));
            watchdog("nested locks", || {
                for _ in 0..100 {
                    pool.run(|| {
                        join(
                            || join(|| outer(&first, &second, &count), || inner(&second, &count)),
                            || join(|| inner(&second, &count), || outer(&first, &second, &count)),
                        )
                    });
                }
            });
            assert_eq!(count.into_inner(), 600);
        });
    }
}

fn tree(depth: usize, count: &AtomicUsize) {
    if depth == 0 {
        work();
        return bump(count);
    }
    join(|| tree(depth - 1, count), || scope(|s| s.spawn(|_| tree(depth - 1, count))));
}

/// Without a spare carrier, a waiting frame runs what there is in place. It must neither hang nor lose work.
#[test]
fn no_more_carriers_than_processors() {
    for processors in [1, 2, 3, 8] {
        for fence in [false, true] {
            let pool = builder(processors).max_carriers(processors).fence(fence).build().unwrap();
            let count = AtomicUsize::new(0);
            watchdog("a pool without spare carriers", || {
                for _ in 0..20 {
                    pool.run(|| tree(7, &count));
                }
            });
            assert_eq!(count.into_inner(), 20 << 7);
            let stats = pool.stats();
            assert!(stats.peak_carriers <= processors as u64, "{stats}");
        }
    }
}

/// The only carrier comes back from blocking while its processor is lent to another thread. It must get the processor
/// when that thread returns it, although there is no spare to pass it on.
#[test]
fn the_last_carrier_comes_back_from_blocking() {
    let pool = builder(1).max_carriers(1).build().unwrap();
    let step = Arc::new(AtomicUsize::new(0));
    watchdog("a carrier that comes back from blocking", || {
        for _ in 0..20 {
            step.store(0, SeqCst);
            let steps = Arc::clone(&step);
            pool.spawn(move || {
                bombyx::blocking(|| {
                    steps.store(1, SeqCst);
                    wait_until(|| steps.load(SeqCst) == 2);
                });
                steps.store(3, SeqCst);
            });
            wait_until(|| step.load(SeqCst) == 1);
            pool.run(|| {
                step.store(2, SeqCst);
                thread::sleep(std::time::Duration::from_millis(5));
            });
            wait_until(|| step.load(SeqCst) == 3);
        }
    });
}

/// The same carrier forks while it blocks. It needs the processor for that, too.
#[test]
fn the_last_carrier_forks_while_it_blocks() {
    let pool = builder(1).max_carriers(1).build().unwrap();
    let step = Arc::new(AtomicUsize::new(0));
    watchdog("a carrier that forks while it blocks", || {
        for _ in 0..20 {
            step.store(0, SeqCst);
            let steps = Arc::clone(&step);
            pool.spawn(move || {
                bombyx::blocking(|| {
                    steps.store(1, SeqCst);
                    wait_until(|| steps.load(SeqCst) == 2);
                    assert_eq!(join(|| 1, bombyx::current_processor), (1, Some(0)));
                });
                steps.store(3, SeqCst);
            });
            wait_until(|| step.load(SeqCst) == 1);
            pool.run(|| {
                step.store(2, SeqCst);
                thread::sleep(std::time::Duration::from_millis(5));
            });
            wait_until(|| step.load(SeqCst) == 3);
        }
    });
}

#[test]
fn a_join_inside_of_a_lock_inside_of_another_pool() {
    let (one, two) = (pool(2), pool(2));
    let lock = Mutex::new(0);
    watchdog("a lock and two pools", || {
        for _ in 0..100 {
            one.run(|| join(|| two.run(|| task(&lock)), || join(|| task(&lock), || two.run(|| task(&lock)))));
        }
    });
    assert_eq!(lock.into_inner().unwrap(), 300);
}
