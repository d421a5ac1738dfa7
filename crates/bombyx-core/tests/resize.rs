//! Pools that are resized while they work: nothing is lost, the number is respected, and everything ends.

mod common;

use bombyx::dropin::{HandleExt as _, ScopeExt as _};
use bombyx::{Error, Pool, Threads, blocking, for_each, join, scope};
use common::{Rng, builder, bump, pool, schedulers, seed, wait_until, watchdog};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

/// A tree of joins with `leaves` leaves.
fn tree(leaves: usize, count: &AtomicUsize) {
    if leaves <= 1 {
        bump(count);
        if leaves == 1 && count.load(SeqCst) % 31 == 0 {
            thread::yield_now();
        }
        return;
    }
    join(|| tree(leaves / 2, count), || tree(leaves - leaves / 2, count));
}

/// Every scheduler that can be resized, with this many processors at most. Each pool is watched.
fn with_pools(most: usize, limited: bool, f: impl Fn(&Pool)) {
    for scheduler in schedulers() {
        let mut builder = Pool::builder().processors(1).max_processors(most).scheduler(scheduler);
        if limited {
            builder = builder.max_carriers(most);
        }
        let pool = match builder.build() {
            Err(Error::NotResizable) => continue,
            pool => pool.unwrap(),
        };
        let what = format!("{scheduler}, at most {most} processors, limited {limited}");
        println!("{what}");
        watchdog(&what, || f(&pool));
        // However it ended, it can be used.
        assert_eq!(watchdog(&what, || pool.run(|| join(|| 1, || 2))), (1, 2));
        watchdog(&what, || drop(pool));
    }
}

/// How many calls each of the two users makes.
const ROUNDS: usize = 15;

/// One call into a pool, of a random kind. Returns how often it bumps `count`.
fn use_somehow(pool: &Pool, most: usize, rng: &mut Rng, count: &Arc<AtomicUsize>) -> usize {
    let (size, number) = (1 + rng.below(200), 1 + rng.below(most));
    let both = |left: &(dyn Fn() + Sync), right: &(dyn Fn() + Sync)| {
        pool.run(|| join(left, right));
    };
    match rng.below(8) {
        0 => pool.run(|| tree(size, count)),
        1 => pool.run(|| for_each(0..size, |_| bump(count))),
        2 => pool.run(|| scope(|s| (0..size).for_each(|_| s.spawn(|_| bump(count))))),
        3 => both(&|| blocking(|| tree(size, count)), &|| thread::yield_now()),
        // Somebody inside resizes, perhaps the holder of a processor that is surplus from then on.
        4 => both(&|| tree(size, count), &|| pool.set_processors(number).unwrap()),
        5 => {
            let count = Arc::clone(count);
            pool.spawn(move || tree(size, &count)).join().unwrap();
        }
        6 => {
            let count = Arc::clone(count);
            drop(pool.spawn(move || tree(size, &count)));
        }
        _ => return pool.handle().broadcast(|_| bump(count)).len(),
    }
    size
}

/// Somebody resizes the pool all the time, while several threads use it in all ways.
#[test]
fn work_goes_on_while_the_pool_is_resized() {
    let seed = seed();
    for (most, limited) in [(2, false), (5, false), (3, true)] {
        with_pools(most, limited, |pool| {
            let (over, count) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
            let expected = AtomicUsize::new(0);
            thread::scope(|threads| {
                let resizer = threads.spawn(|| {
                    let mut rng = Rng::new(seed);
                    while !over.load(SeqCst) {
                        pool.set_processors(1 + rng.below(most)).unwrap();
                        (0..rng.below(8)).for_each(|_| thread::yield_now());
                    }
                });
                let users: Vec<_> = (1..3)
                    .map(|user| {
                        let (count, expected) = (&count, &expected);
                        threads.spawn(move || {
                            let mut rng = Rng::new(seed + user);
                            for _ in 0..ROUNDS {
                                expected.fetch_add(use_somehow(pool, most, &mut rng, count), SeqCst);
                            }
                        })
                    })
                    .collect();
                users.into_iter().for_each(|user| user.join().unwrap());
                over.store(true, SeqCst);
                resizer.join().unwrap();
            });
            // Tasks that nobody waits for end, too.
            wait_until(|| count.load(SeqCst) >= expected.load(SeqCst));
            assert_eq!(count.load(SeqCst), expected.load(SeqCst));
        });
    }
}

/// How many closures run at the same time, at most, while so many could.
fn most_at_once(pool: &Pool) -> usize {
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.run(|| {
        scope(|s| {
            for _ in 0..40 {
                s.defer(|_| {
                    let running = now.fetch_add(1, SeqCst) + 1;
                    most.fetch_max(running, SeqCst);
                    // Few, because on a busy machine each takes milliseconds.
                    (0..3).for_each(|_| thread::yield_now());
                    now.fetch_sub(1, SeqCst);
                });
            }
        });
    });
    most.into_inner()
}

#[test]
fn no_more_processors_work_than_are_in_service() {
    with_pools(6, false, |pool| {
        for processors in [1, 3, 6, 2, 1] {
            pool.set_processors(processors).unwrap();
            assert_eq!(pool.processors(), processors);
            wait_until(|| pool.metrics().finishing == 0);
            assert!(most_at_once(pool) <= processors);
            assert_eq!(pool.run(bombyx::processor_count), Some(processors));
            assert!(pool.run(bombyx::current_processor).unwrap() < processors);
        }
    });
}

/// A processor that goes out of service runs its own closures, however many, and nothing from the queue.
#[test]
fn a_surplus_processor_leaves_the_queue_alone() {
    with_pools(2, false, |pool| {
        pool.set_processors(2).unwrap();
        let both = Arc::new(Barrier::new(3));
        let here = || bombyx::current_processor().unwrap();
        let tasks = [(); 2].map(|()| {
            let (pool, both) = (pool.handle(), Arc::clone(&both));
            pool.clone().spawn(move || {
                both.wait();
                if here() == 0 {
                    // This processor is in service, and does not look into the queue meanwhile.
                    return wait_until(|| pool.processors() == 1 && pool.metrics().finishing == 0);
                }
                wait_until(|| pool.metrics().queued == 1);
                pool.set_processors(1).unwrap();
                (0..200).for_each(|_| drop(pool.spawn(thread::yield_now)));
            })
        });
        both.wait();
        // Both processors are busy, so this waits in the queue.
        assert_eq!(pool.run(here), 0);
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

/// Processors that are put into service take part without being called.
#[test]
fn more_processors_help_at_once() {
    with_pools(2, false, |pool| {
        for _ in 0..10 {
            pool.set_processors(1).unwrap();
            let met = AtomicBool::new(false);
            pool.run(|| {
                let left = || {
                    pool.set_processors(2).unwrap();
                    // The other half can run only on the other processor.
                    wait_until(|| met.load(SeqCst));
                };
                join(left, || met.store(true, SeqCst))
            });
        }
    });
}

/// A broadcast reaches each processor in service once, also while others finish.
#[test]
fn broadcasts_reach_the_processors_in_service() {
    with_pools(4, false, |pool| {
        for processors in [4, 2, 3, 1, 4] {
            pool.set_processors(processors).unwrap();
            let indices = pool.handle().broadcast(|place| place.index());
            assert_eq!(indices, (0..processors).collect::<Vec<_>>());
            let count = AtomicUsize::new(0);
            pool.run(|| scope(|s| s.spawn_broadcast(|_, _| bump(&count))));
            assert_eq!(count.into_inner(), processors);
        }
        // Parts that wait when their processor goes out of service still run.
        pool.set_processors(4).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let part = Arc::clone(&count);
        pool.run(|| {
            pool.handle().spawn_broadcast(move |_| bump(&part));
            pool.set_processors(1).unwrap();
        });
        wait_until(|| count.load(SeqCst) == 4);
    });
}

#[test]
fn some_pools_cannot_be_resized() {
    let fixed = || builder(2).threads(Threads::Fixed);
    assert!(matches!(fixed().build().unwrap().set_processors(1), Err(Error::NotResizable)));
    assert!(matches!(fixed().max_processors(3).build(), Err(Error::NotResizable)));
    assert!(matches!(pool(2).set_processors(0), Err(Error::Processors(_))));
    assert!(matches!(pool(2).set_processors(3), Err(Error::Processors(_))));
    assert_eq!(builder(3).max_processors(2).build().unwrap().processors(), 3);
}
