//! `blocking` and `checkpoint`: the processor goes on working while its carrier blocks.

mod common;

use bombyx::{blocking, checkpoint, current_processor, join, scope};
use common::{builder, bump, pool, wait_until, watchdog, with_both_barriers, with_every_scheduler};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

#[test]
fn outside_of_a_pool_it_is_a_call() {
    assert_eq!(blocking(current_processor), None);
    checkpoint();
}

#[test]
fn the_processor_is_given_up_and_got_back() {
    for processors in [1, 2] {
        with_every_scheduler(processors, |pool| {
            pool.run(|| {
                let (here, inside) =
                    (thread::current().id(), blocking(|| (thread::current().id(), current_processor())));
                assert_eq!(inside, (here, None));
                assert!(current_processor().is_some_and(|processor| processor < processors));
            });
        });
    }
}

/// On one processor the first half could wait for ever for the second.
#[test]
fn the_second_half_runs_while_the_first_blocks() {
    for processors in [1, 2, 4] {
        with_every_scheduler(processors, |pool| {
            watchdog("a first half that blocks", || {
                for n in 0..100 {
                    let (sender, receiver) = mpsc::channel();
                    let (received, ()) = pool.run(|| {
                        join(move || blocking(|| receiver.recv().unwrap()), move || sender.send(n).unwrap())
                    });
                    assert_eq!(received, n);
                }
            });
        });
    }
}

/// Joins on the stack of a carrier that blocks. Their second halves are left in the deque, some are taken, and the
/// carrier comes back on another processor.
#[test]
fn joins_around_a_blocking_call() {
    fn around(depth: usize, count: &AtomicUsize) -> usize {
        if depth == 0 {
            blocking(thread::yield_now);
            bump(count);
            return 1;
        }
        let (a, b) =
            join(|| around(depth - 1, count), || if depth % 2 == 0 { around(depth - 1, count) } else { 0 });
        a + b
    }
    for processors in [1, 2, 4] {
        with_every_scheduler(processors, |pool| {
            watchdog("joins around a blocking call", || {
                let count = AtomicUsize::new(0);
                let sum = pool.run(|| around(14, &count));
                assert_eq!((sum, count.into_inner()), (1 << 7, 1 << 7));
            });
        });
    }
}

/// Far more closures that block, all at the same time, than processors.
#[test]
fn many_block_at_once() {
    const BLOCKED: usize = 60;
    for processors in [1, 2] {
        with_every_scheduler(processors, |pool| {
            let barrier = Barrier::new(BLOCKED);
            watchdog("closures that meet at a barrier", || {
                pool.run(|| {
                    scope(|s| {
                        for _ in 0..BLOCKED {
                            s.spawn(|_| {
                                blocking(|| barrier.wait());
                            });
                        }
                    });
                });
            });
            let stats = pool.stats();
            assert!(stats.peak_carriers <= (BLOCKED + processors) as u64, "{stats}");
        });
    }
}

#[test]
fn blocking_nests_and_forks() {
    with_every_scheduler(2, |pool| {
        let count = AtomicUsize::new(0);
        watchdog("forks inside of blocking", || {
            pool.run(|| {
                for _ in 0..50 {
                    let inner = blocking(|| {
                        blocking(|| bump(&count));
                        join(|| current_processor().is_some(), || blocking(|| current_processor().is_none()))
                    });
                    assert_eq!(inner, (true, true), "a fork inside of blocking runs in the pool");
                    blocking(|| scope(|s| s.spawn(|_| bump(&count))));
                }
            });
        });
        assert_eq!(count.into_inner(), 100);
    });
}

#[test]
fn a_lock_inside_of_blocking() {
    with_every_scheduler(2, |pool| {
        let sum = Mutex::new(0);
        watchdog("a lock inside of blocking", || {
            pool.run(|| {
                bombyx::for_each(0..2_000, |i| {
                    let mut sum = blocking(|| sum.lock().unwrap());
                    *sum += i;
                });
            });
        });
        assert_eq!(sum.into_inner().unwrap(), 1_999_000);
    });
}

/// Far more closures than carriers wait for one lock: the pool keeps to its limit, and everything ends.
#[test]
fn a_contended_lock_does_not_make_carriers_without_end() {
    const CLOSURES: usize = 400;
    let pool = pool(2);
    let lock = Mutex::new(0);
    watchdog("a contended lock", || {
        pool.run(|| {
            scope(|s| {
                for _ in 0..CLOSURES {
                    s.defer(|_| {
                        let mut count = blocking(|| lock.lock().unwrap());
                        *count += 1;
                        thread::sleep(Duration::from_micros(50));
                    });
                }
            });
        });
    });
    assert_eq!(lock.into_inner().unwrap(), CLOSURES);
    let stats = pool.stats();
    assert!(stats.peak_carriers <= 2 + 64, "{stats}");
}

/// If the pool may start no further carrier, blocking blocks the processor's other work, but not for ever.
#[test]
fn blocking_without_spare_carriers() {
    for processors in [1, 2] {
        let pool = builder(processors).max_carriers(processors).build().unwrap();
        let count = AtomicUsize::new(0);
        watchdog("blocking without spare carriers", || {
            for _ in 0..20 {
                pool.run(|| {
                    scope(|s| {
                        for _ in 0..8 {
                            s.spawn(|_| {
                                join(|| blocking(thread::yield_now), || blocking(thread::yield_now));
                                bump(&count);
                            });
                        }
                    });
                });
            }
        });
        assert_eq!(count.into_inner(), 160);
    }
}

/// The first half never forks again. Without `membarrier` it can only be robbed; with it, the poll serves the thief.
#[test]
fn a_checkpoint_serves_thieves() {
    with_every_scheduler(2, |pool| {
        watchdog("a first half that only polls", || {
            for _ in 0..100 {
                let started = AtomicBool::new(false);
                let poll = || {
                    while !started.load(SeqCst) {
                        checkpoint();
                    }
                };
                pool.run(|| join(poll, || started.store(true, SeqCst)));
            }
        });
    });
    let pool = pool(1);
    let polled = AtomicBool::new(false);
    pool.run(|| join(checkpoint, || polled.store(true, SeqCst)));
    wait_until(|| polled.load(SeqCst));
}

/// A caller that may use one CPU makes the pool start another carrier, which may use all.
#[cfg(target_os = "linux")]
#[test]
fn carriers_do_not_inherit_the_cpus_of_callers() {
    use common::cpus;
    let all = cpus::allowed();
    let pool = pool(1);
    // The first carrier blocks, and so does the caller. So a second carrier is needed for what the caller spawns.
    let (blocks, blocked) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    pool.spawn(move || {
        blocking(|| {
            blocks.send(()).unwrap();
            gate.recv().unwrap();
        });
    });
    blocked.recv().unwrap();
    let caller = thread::spawn({
        let (pool, all) = (pool.handle(), all.clone());
        move || {
            cpus::pin(&all[..1]);
            let (sender, receiver) = mpsc::channel();
            pool.run(move || {
                bombyx::Handle::current().unwrap().spawn(move || sender.send(cpus::allowed()).unwrap());
                blocking(|| receiver.recv().unwrap())
            })
        }
    });
    assert_eq!(caller.join().unwrap(), all);
    go.send(()).unwrap();
}

/// A thread that takes the place of another begins on that thread's CPU, and may then use all of its own CPUs again.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_take_others_places_keep_their_cpus() {
    use common::cpus;
    let all = cpus::allowed();
    let pool = pool(2);
    let hand_overs = |own: &[usize]| {
        for _ in 0..50 {
            let lock = Mutex::new(0);
            pool.run(|| {
                scope(|scope| {
                    for _ in 0..8 {
                        scope.spawn(|_| {
                            let mut count = blocking(|| lock.lock().unwrap());
                            thread::yield_now();
                            *count += 1;
                            let now = cpus::allowed();
                            assert!(now == all || now == own, "{now:?} of {all:?}");
                        });
                    }
                });
            });
            assert_eq!((lock.into_inner().unwrap(), cpus::allowed()), (8, own.to_vec()));
        }
    };
    watchdog("threads that block on a lock", || hand_overs(&all));
    for &cpu in &all {
        thread::scope(|scope| {
            scope.spawn(|| {
                cpus::pin(&[cpu]);
                watchdog("one that is pinned among them", || hand_overs(&[cpu]));
            });
        });
    }
}

/// As many closures as processors block at once, although none of them says so: no processor waits in vain for another
/// that blocks. They meet at a barrier, so the test does not depend on time.
#[test]
fn all_processors_block_at_once_without_saying_so() {
    const PROCESSORS: usize = 64;
    fn tree(leaves: usize, meet: &(impl Fn() + Sync)) {
        match leaves {
            1 => meet(),
            _ => drop(join(|| tree(leaves / 2, meet), || tree(leaves - leaves / 2, meet))),
        }
    }
    with_both_barriers(PROCESSORS, |pool| {
        for round in 0..5 {
            let all = Barrier::new(PROCESSORS);
            let meet = || {
                all.wait();
            };
            watchdog(&format!("a barrier of all processors, round {round}"), || {
                pool.run(|| {
                    scope(|s| (0..PROCESSORS).for_each(|_| s.spawn(|_| meet())));
                    tree(PROCESSORS, &meet);
                });
            });
        }
    });
}
