//! Pools whose carriers all wait or block: what can be run is run.

mod common;

use bombyx::dropin::{HandleExt as _, yield_now};
use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, block_on, blocking, join};
use common::{schedulers, watchdog};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// One carrier blocks until the other has broadcast. The first one has let its processor go. Only the second carrier
/// can run that processor's part, and it waits for it.
#[test]
fn who_waits_for_a_broadcast_runs_the_parts_that_nobody_else_can() {
    for scheduler in schedulers() {
        watchdog(&format!("a broadcast, {scheduler}"), || {
            let pool = Pool::builder().processors(2).max_carriers(2).scheduler(scheduler).build().unwrap();
            let (done, result) = mpsc::channel();
            let handle = pool.handle();
            pool.spawn(move || {
                let (go, wait) = mpsc::channel::<()>();
                let (blocks, blocked) = mpsc::channel();
                handle.spawn(move || {
                    blocking(|| {
                        blocks.send(()).unwrap();
                        wait.recv().unwrap();
                    })
                });
                while blocked.try_recv().is_err() {
                    bombyx::checkpoint();
                    thread::yield_now();
                }
                let indices = handle.broadcast(|place| place.index());
                go.send(()).unwrap();
                done.send(indices).unwrap();
            });
            assert_eq!(result.recv().unwrap(), [0, 1], "{scheduler}");
        });
    }
}

/// A guest ends what the only carrier waits for, and leaves. Nobody is left who would find the carrier among what is
/// ready, but it goes on.
#[test]
fn a_guest_leaves_a_ready_carrier_behind() {
    for scheduler in schedulers() {
        watchdog(&format!("a guest, {scheduler}"), || {
            let pool = one_carrier(scheduler);
            let taken = Arc::new(AtomicBool::new(false));
            let begun = Arc::clone(&taken);
            let (ends, end) = mpsc::channel();
            pool.spawn(move || {
                let (tell, told) = mpsc::channel();
                join(
                    move || blocking(|| told.recv()),
                    move || {
                        begun.store(true, SeqCst);
                        tell.send(()).unwrap();
                        // Meanwhile the first half comes back and waits for this one.
                        blocking(|| thread::sleep(Duration::from_millis(30)));
                    },
                )
                .0
                .unwrap();
                ends.send(()).unwrap();
            });
            while !taken.load(SeqCst) {
                pool.run(yield_now);
            }
            end.recv().unwrap();
        });
    }
}

fn one_carrier(scheduler: Scheduler) -> Pool {
    Pool::builder().processors(1).max_carriers(1).scheduler(scheduler).build().unwrap()
}

/// The only carrier blocks until a task has ended that nobody else can run.
#[test]
fn who_blocks_for_a_task_runs_it_if_nobody_else_can() {
    for scheduler in schedulers() {
        watchdog(&format!("a task, {scheduler}"), || {
            let pool = one_carrier(scheduler);
            let handle = pool.handle();
            let (ends, end) = mpsc::channel();
            pool.spawn(move || {
                let joined = blocking(|| handle.spawn(|| 1).join().unwrap());
                let awaited = blocking(|| block_on(handle.spawn(|| 2)).unwrap());
                ends.send(joined + awaited).unwrap();
            });
            assert_eq!(end.recv(), Ok(3));
        });
    }
}

/// The only carrier blocks for longer than somebody outside, or in another pool, waits for a task.
#[test]
fn who_joins_a_task_runs_it_if_nobody_else_can() {
    for scheduler in schedulers() {
        watchdog(&format!("a joiner, {scheduler}"), || {
            let pool = one_carrier(scheduler);
            let (goes, go) = mpsc::channel();
            let (blocks, blocked) = mpsc::channel();
            let blocker = pool.spawn(move || {
                blocking(|| {
                    blocks.send(()).unwrap();
                    go.recv().unwrap();
                });
            });
            blocked.recv().unwrap();
            assert_eq!(pool.spawn(|| 1).join().unwrap(), 1);
            let handle = pool.handle();
            assert_eq!(one_carrier(scheduler).run(|| handle.spawn(|| 2).join().unwrap()), 2);
            // A future that awaits tasks, of one pool or of two.
            assert_eq!(block_on(pool.spawn(|| 3)).unwrap(), 3);
            let other = one_carrier(scheduler);
            let both = other.handle();
            let sum =
                other.run(|| block_on(async { handle.run_async(|| 4).await + both.run_async(|| 5).await }));
            assert_eq!(sum, 9);
            goes.send(()).unwrap();
            blocker.join().unwrap();
        });
    }
}

/// Uses at least this many bytes of stack.
#[inline(never)]
fn dig(bytes: usize) -> u8 {
    let place = std::hint::black_box([1u8; 4096]);
    if bytes < place.len() { place[0] } else { dig(bytes - place.len()) | place[0] }
}

/// The only carrier blocks until a closure has run that nobody else can run, in pools that run nothing on their callers'
/// stacks. The closure of a pool with large stacks gets a large one.
#[test]
fn who_calls_a_pool_of_large_stacks_gets_help() {
    const LARGE: usize = 64 << 20;
    for scheduler in schedulers() {
        watchdog(&format!("large stacks, {scheduler}"), || {
            let builder = || Pool::builder().processors(1).max_carriers(1).scheduler(scheduler);
            for (pool, digs) in [(builder().stack_size(LARGE), LARGE / 4), (builder().lend(false), 0)] {
                let pool = pool.build().unwrap();
                let (blocks, blocked) = mpsc::channel();
                let (goes, go) = mpsc::channel();
                thread::scope(|threads| {
                    let waits = threads.spawn(|| {
                        pool.run(move || {
                            blocking(|| {
                                blocks.send(()).unwrap();
                                go.recv().unwrap()
                            })
                        })
                    });
                    blocked.recv().unwrap();
                    let here = thread::current().id();
                    let elsewhere = || assert_ne!(thread::current().id(), here);
                    pool.run(elsewhere);
                    assert_eq!(pool.spawn(move || dig(digs)).join().unwrap(), 1);
                    assert_eq!(one_carrier(scheduler).run(|| pool.run(|| dig(digs))), 1);
                    assert_eq!(pool.run(|| join(|| dig(digs), || dig(digs))), (1, 1));
                    assert_eq!(pool.handle().in_place_scope(|s| s.spawn(|_| elsewhere())), ());
                    pool.run(|| goes.send(7).unwrap());
                    assert_eq!(waits.join().unwrap(), 7);
                });
            }
        });
    }
}
