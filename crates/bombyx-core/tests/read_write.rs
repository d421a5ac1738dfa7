//! The schedulers with private deques: what they count, and the bound on watch lists (Acar, Charguéraud, Muller and
//! Rainey, Appendix C: all watch lists of P processors together hold at most P − 1 joins).

mod common;

use bombyx::{Pool, Scheduler, Stats, checkpoint, join};
use common::{Rng, seed, wait_until, watchdog};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

const PRIVATE: [Scheduler; 3] = [Scheduler::ReadWrite, Scheduler::ReadWriteSteals, Scheduler::PrivateCas];

fn pool(scheduler: Scheduler, processors: usize) -> Pool {
    Pool::builder().processors(processors).scheduler(scheduler).build().expect("a small pool can be built")
}

/// A tree of joins with uneven leaves, and its number of leaves.
fn tree(depth: usize, rng: &mut Rng) -> usize {
    if depth == 0 {
        let end = Instant::now() + Duration::from_micros(rng.below(20) as u64);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        return 1;
    }
    let (mut left, mut right) = (rng.clone(), Rng::new(rng.next()));
    let cut = rng.below(depth.min(3));
    let (a, b) = join(|| tree(depth - 1, &mut left), || tree(depth - 1 - cut, &mut right));
    a + b
}

fn leaves(depth: usize, rng: &mut Rng) -> usize {
    if depth == 0 {
        rng.below(20);
        return 1;
    }
    let (mut left, mut right) = (rng.clone(), Rng::new(rng.next()));
    let cut = rng.below(depth.min(3));
    leaves(depth - 1, &mut left) + leaves(depth - 1 - cut, &mut right)
}

/// Runs uneven trees on a pool until `enough` was counted.
fn run_until(pool: &Pool, seed: u64, enough: impl Fn(&Stats) -> bool) -> Stats {
    for round in 0.. {
        let rng = Rng::new(seed.wrapping_add(round));
        let expected = leaves(10, &mut rng.clone());
        assert_eq!(pool.run(|| tree(10, &mut rng.clone())), expected);
        if enough(&pool.stats()) {
            break;
        }
    }
    pool.stats()
}

#[test]
fn watch_lists_are_short() {
    let seed = seed();
    for processors in [2, 3, 4, 8] {
        watchdog(&format!("read-write, {processors} processors"), || {
            let pool = pool(Scheduler::ReadWrite, processors);
            let stats = run_until(&pool, seed, |stats| {
                stats.private_deques.served > 20
                    && stats.read_write.joins_tied
                        + stats.read_write.joins_acknowledged
                        + stats.read_write.joins_unanswered
                        > 10
            });
            println!("{processors} processors: {stats}");
            assert!(stats.read_write.longest_watch_list >= 1);
            assert!(stats.read_write.longest_watch_list < processors as u64, "{stats}");
        });
    }
}

#[test]
fn every_query_has_an_end() {
    let seed = seed();
    for scheduler in PRIVATE {
        watchdog(&scheduler.to_string(), || {
            let pool = pool(scheduler, 4);
            let stats = run_until(&pool, seed, |stats| stats.private_deques.served > 20);
            println!("{scheduler}: {stats}");
            assert!(stats.private_deques.served <= stats.private_deques.queries, "{stats}");
            assert_eq!(stats.escalations, 0, "nobody is robbed without its help");
            if scheduler == Scheduler::PrivateCas {
                assert_eq!(stats.private_deques.overwritten, 0);
            }
            if scheduler != Scheduler::ReadWrite {
                assert_eq!(
                    stats.read_write.joins_tied
                        + stats.read_write.joins_acknowledged
                        + stats.read_write.joins_unanswered,
                    0
                );
            }
        });
    }
}

/// A victim that does not fork serves its thieves when it polls.
#[test]
fn a_checkpoint_serves() {
    for scheduler in PRIVATE {
        watchdog(&scheduler.to_string(), || {
            let pool = pool(scheduler, 2);
            let taken = AtomicBool::new(false);
            pool.run(|| {
                join(
                    || {
                        wait_until(|| {
                            checkpoint();
                            taken.load(SeqCst)
                        });
                    },
                    || taken.store(true, SeqCst),
                )
            });
        });
    }
}

/// A loop also does, between its blocks.
#[test]
fn a_loop_serves() {
    for scheduler in PRIVATE {
        watchdog(&scheduler.to_string(), || {
            let pool = pool(scheduler, 2);
            let elsewhere = AtomicBool::new(false);
            let count = AtomicUsize::new(0);
            pool.run(|| {
                let first = bombyx::current_processor();
                while !elsewhere.load(SeqCst) {
                    bombyx::for_each(0..10_000, |_| {
                        count.fetch_add(1, SeqCst);
                        if bombyx::current_processor() != first {
                            elsewhere.store(true, SeqCst);
                        }
                    });
                }
            });
            assert_eq!(count.into_inner() % 10_000, 0);
        });
    }
}

/// The left half of a join ends long before the right one, which does not poll. So its processor is put to other use.
#[test]
fn a_frame_leaves_without_an_answer() {
    watchdog("read-write", || {
        let pool = pool(Scheduler::ReadWrite, 2);
        while pool.stats().read_write.joins_unanswered == 0 {
            let [awake, started, release] = [(); 3].map(|()| AtomicBool::new(false));
            let serve_until = |flag: &AtomicBool| {
                wait_until(|| {
                    checkpoint();
                    flag.load(SeqCst)
                })
            };
            pool.run(|| {
                // A processor that sleeps would be woken with the right half as a gift. One that has just run something
                // asks for it.
                join(|| serve_until(&awake), || awake.store(true, SeqCst));
                join(
                    || {
                        serve_until(&started);
                        pool.spawn(|| ());
                        release.store(true, SeqCst);
                    },
                    || {
                        started.store(true, SeqCst);
                        wait_until(|| release.load(SeqCst));
                        std::thread::sleep(Duration::from_millis(2));
                    },
                )
            });
        }
    });
}
