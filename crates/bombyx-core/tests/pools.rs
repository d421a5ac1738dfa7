//! Pools: nested, side by side, dropped at awkward times, called from outside.

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, Threads, current_processor, join, map_reduce, scope};
use common::{Census, builder, bump, child, pool, wait_until, watchdog};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn sum(n: usize) -> usize {
    map_reduce(0..n, |i| i, || 0, |a, b| a + b)
}

#[test]
fn a_pool_says_what_it_is() {
    let pool = builder(3).build().unwrap();
    assert_eq!((pool.processors(), pool.scheduler()), (3, Scheduler::WorkStealing));
    assert!(format!("{pool:?}").contains("processors: 3"));
    assert!(format!("{:?}", Pool::builder()).contains("Builder"));
    let stats = pool.stats().to_string();
    assert!(stats.contains("steals 0") && stats.contains("carriers 1"), "{stats}");
}

#[test]
fn carriers_have_the_names_and_the_stacks_that_were_asked_for() {
    let pool = builder(2).thread_name(|index| format!("silk-{index}")).stack_size(64 << 20).build().unwrap();
    let name = pool.run(|| thread::current().name().map(str::to_owned)).unwrap();
    assert!(["silk-0", "silk-1"].contains(&&*name), "{name}");
    fn consume(bytes: usize) -> usize {
        let block = std::hint::black_box([1u8; 4096]);
        if bytes <= block.len() {
            block[7].into()
        } else {
            usize::from(block[9]) + consume(bytes - block.len())
        }
    }
    assert_eq!(pool.run(|| consume(8 << 20)), 2048);
}

#[test]
fn pinned_processors_work() {
    match builder(2).pin(true).build() {
        Ok(pool) => assert_eq!(pool.run(|| sum(1_000)), 499_500),
        Err(error) => assert!(error.to_string().contains("pinned"), "{error}"),
    }
}

/// A thread that holds a pinned processor may use one CPU. The carriers of a pool that it builds may use all of them.
#[cfg(target_os = "linux")]
#[test]
fn a_pool_built_inside_a_pinned_one_may_use_all_cpus() {
    let all = common::cpus::allowed();
    for (pinned, inner) in
        [Threads::Moving, Threads::Fixed].map(|kind| (kind, [Threads::Moving, Threads::Fixed]))
    {
        for threads in inner {
            let Ok(outer) = builder(2).pin(true).threads(pinned).build() else { return };
            let pool = outer.run(|| builder(2).threads(threads).build().unwrap());
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(common::cpus::allowed()).unwrap());
            assert_eq!(receiver.recv().unwrap(), all, "{threads} inside {pinned}");
        }
    }
}

#[test]
fn run_returns_to_its_thread() {
    let pool = pool(2);
    for _ in 0..100 {
        assert_eq!(current_processor(), None);
        let id = thread::current().id();
        assert!(pool.run(|| current_processor().is_some()));
        assert_eq!((thread::current().id(), current_processor()), (id, None));
    }
}

#[test]
fn nested_pools() {
    for processors in [1, 2, 4] {
        let (a, b) = (pool(processors), builder(processors).stack_size(1 << 20).build().unwrap());
        watchdog("A inside of B inside of A", || {
            for _ in 0..50 {
                let total = a.run(|| {
                    let (x, y) = join(
                        || b.run(|| sum(10) + a.run(|| sum(100))),
                        || b.run(|| a.run(|| b.run(|| sum(10)))),
                    );
                    x + y + a.run(|| sum(10))
                });
                assert_eq!(total, 45 + 4950 + 45 + 45);
            }
        });
    }
}

#[test]
fn pools_side_by_side() {
    let pools: Vec<Pool> = (1..=6).map(pool).collect();
    watchdog("six pools side by side", || {
        thread::scope(|s| {
            for pool in &pools {
                s.spawn(|| (0..50).for_each(|_| assert_eq!(pool.run(|| sum(1_000)), 499_500)));
            }
        });
    });
}

#[test]
fn many_threads_call_one_pool() {
    for pool in [pool(2), builder(2).stack_size(1 << 20).build().unwrap()] {
        let count = AtomicUsize::new(0);
        watchdog("many threads that call one pool", || {
            thread::scope(|s| {
                for _ in 0..32 {
                    s.spawn(|| {
                        for _ in 0..20 {
                            pool.run(|| join(|| bump(&count), || scope(|s| s.spawn(|_| bump(&count)))));
                        }
                    });
                }
            });
        });
        assert_eq!(count.into_inner(), 2 * 32 * 20);
    }
}

#[test]
fn many_threads_call_the_global_pool_at_once() {
    const TEST: &str = "many_threads_call_the_global_pool_at_once";
    if !child::is_child(TEST) {
        child::pass(TEST, &[("BOMBYX_PROCESSORS", "3")]);
        return;
    }
    watchdog("the first use of the global pool", || {
        thread::scope(|s| {
            for _ in 0..32 {
                s.spawn(|| assert_eq!(sum(1_000), 499_500));
            }
        });
    });
    assert_eq!(Pool::global().processors(), 3);
}

#[test]
fn dropping_a_pool_loses_no_spawned_work() {
    watchdog("a pool dropped with work pending", || {
        for processors in [1, 2, 8] {
            for from_inside in [false, true] {
                let (count, census) = (Arc::new(AtomicUsize::new(0)), Census::default());
                let pool = pool(processors);
                let spawn_all = || {
                    for i in 0..500 {
                        let (count, value) = (Arc::clone(&count), census.count(i));
                        pool.spawn(move || {
                            if value.0 % 100 == 0 {
                                thread::sleep(Duration::from_micros(200));
                            }
                            join(|| bump(&count), || bump(&count));
                        });
                    }
                };
                if from_inside {
                    pool.run(spawn_all)
                } else {
                    spawn_all()
                }
                drop(pool);
                assert_eq!(count.load(SeqCst), 1_000);
                assert_eq!(census.alive(), 0);
            }
        }
    });
}

#[test]
fn spawned_work_spawns_while_the_pool_is_dropped() {
    fn chain(pool: &Arc<Pool>, left: usize, ended: mpsc::Sender<usize>) {
        let next = Arc::clone(pool);
        pool.spawn(move || {
            ended.send(left).unwrap();
            if left > 0 {
                chain(&next, left - 1, ended);
            }
        });
    }
    watchdog("a chain of closures that own their pool", || {
        for processors in [1, 2] {
            let (sender, receiver) = mpsc::channel();
            let pool = Arc::new(pool(processors));
            chain(&pool, 50, sender);
            drop(pool);
            assert_eq!(receiver.into_iter().collect::<Vec<_>>(), (0..=50).rev().collect::<Vec<_>>());
        }
    });
}

/// The last owner of the pool is a job of the pool. A carrier cannot wait for its own end.
#[test]
fn dropping_a_pool_inside_of_its_own_job() {
    watchdog("a pool dropped by its own job", || {
        for _ in 0..20 {
            let (dropped, wait) = mpsc::channel();
            let owner = Arc::new(pool(2));
            let inside = Arc::clone(&owner);
            let go = Arc::new(AtomicBool::new(false));
            let gate = Arc::clone(&go);
            owner.spawn(move || {
                wait_until(|| gate.load(SeqCst));
                drop(inside);
                assert_eq!(join(|| sum(10), || 1), (45, 1), "the job goes on in its pool");
                dropped.send(()).unwrap();
            });
            drop(owner);
            go.store(true, SeqCst);
            wait.recv().unwrap();
        }
    });
}

/// The job's thread runs in three pools, one inside the other, and drops the outermost.
#[test]
fn dropping_a_pool_inside_of_its_own_job_in_other_pools() {
    watchdog("a pool dropped by its own job, two pools farther in", || {
        let (dropped, wait) = mpsc::channel();
        let owner = Arc::new(pool(1));
        let inside = Arc::clone(&owner);
        let (second, third) = (pool(1), pool(1));
        let go = Arc::new(AtomicBool::new(false));
        let gate = Arc::clone(&go);
        owner.spawn(move || {
            wait_until(|| gate.load(SeqCst));
            second.run(|| third.run(|| drop(inside)));
            dropped.send(()).unwrap();
        });
        drop(owner);
        go.store(true, SeqCst);
        wait.recv().unwrap();
    });
}

/// The only carrier blocks, and the processor comes free after a second thread has queued what the first one waits for.
#[test]
fn a_caller_works_itself_where_no_carrier_can_be_had() {
    watchdog("a caller without a carrier", || {
        let pool = builder(1).max_carriers(1).build().unwrap();
        let (sender, receiver) = mpsc::channel();
        let (blocks, blocked) = mpsc::channel();
        pool.spawn(move || {
            bombyx::blocking(|| {
                blocks.send(()).unwrap();
                receiver.recv().unwrap();
            });
        });
        blocked.recv().unwrap();
        let (entered, go) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| {
                pool.run(|| {
                    entered.store(true, SeqCst);
                    wait_until(|| go.load(SeqCst));
                })
            });
            wait_until(|| entered.load(SeqCst));
            let calls = threads.spawn(|| pool.run(|| sender.send(()).unwrap()));
            // So that it is most likely queued before the processor is free. If not, it is lent the processor at once.
            thread::sleep(Duration::from_millis(20));
            go.store(true, SeqCst);
            calls.join().unwrap();
        });
    });
}

#[test]
fn a_closed_pool_refuses_to_run() {
    watchdog("a closed pool", || {
        let pool = builder(1).lend(false).build().unwrap();
        assert_eq!(pool.run(|| 1), 1);
        pool.handle().close();
        let payload = std::panic::catch_unwind(AssertUnwindSafe(|| pool.run(|| 2))).unwrap_err();
        assert!(payload.downcast_ref::<String>().is_some_and(|text| text.contains("closed")));
    });
}

#[test]
fn dropping_a_pool_inside_of_another() {
    watchdog("a pool dropped inside of another", || {
        let outer = pool(1);
        let count = Arc::new(AtomicUsize::new(0));
        outer.run(|| {
            for _ in 0..20 {
                let inner = pool(2);
                let count = Arc::clone(&count);
                inner.spawn(move || {
                    thread::yield_now();
                    bump(&count);
                });
            }
        });
        assert_eq!(count.load(SeqCst), 20);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_threads_of_a_dropped_pool_are_gone() {
    const TEST: &str = "the_threads_of_a_dropped_pool_are_gone";
    if !child::is_child(TEST) {
        child::pass(TEST, &[]);
        return;
    }
    // A thread that was joined may still be on its way out of the kernel. It is marked before whoever joins it goes on.
    let ends = |stat: &str| {
        const PF_EXITING: u64 = 4;
        let flags = stat.rsplit(')').next().unwrap().split_whitespace().nth(6).unwrap();
        flags.parse::<u64>().unwrap() & PF_EXITING != 0
    };
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).ok());
        stats.filter(|stat| !ends(stat)).count()
    };
    // The first pool starts what the process needs only once: a profiler, if the environment asks for one.
    drop(pool(1));
    let before = threads();
    for processors in [1, 4, 16] {
        let pool = pool(processors);
        pool.run(|| sum(10_000));
        assert!(threads() > before);
        drop(pool);
        assert_eq!(threads(), before, "dropping a pool joins its carriers");
    }
}
