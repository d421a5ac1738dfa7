//! Pools with fixed threads: one thread per index, and what waits do there.

use bombyx::dropin::{BuilderExt as _, HandleExt as _};
use bombyx::{Pool, Threads, current_processor, join, scope};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

fn pool(processors: usize) -> Pool {
    Pool::builder().processors(processors).threads(Threads::Fixed).build().unwrap()
}

fn until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

/// Computes without calling the runtime.
fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// A tree of uneven joins, which calls `leaf` often.
fn tree(depth: u32, leaf: &(impl Fn() + Sync)) {
    if depth == 0 {
        compute(Duration::from_micros(2));
        return leaf();
    }
    let before = current_processor();
    join(|| tree(depth - 1, leaf), || tree(depth.saturating_sub(3), leaf));
    assert_eq!(current_processor(), before, "the index changed across a join");
}

#[test]
fn a_thread_keeps_its_index_and_there_are_no_others() {
    for processors in [1, 2, 4, 8] {
        let pool = pool(processors);
        let seen: Mutex<HashMap<ThreadId, usize>> = Mutex::default();
        for _ in 0..5 {
            pool.run(|| {
                tree(12, &|| {
                    let index = current_processor().unwrap();
                    let before = seen.lock().unwrap().insert(thread::current().id(), index);
                    assert!(before.is_none_or(|before| before == index));
                })
            });
        }
        let indices: HashSet<_> = seen.lock().unwrap().values().copied().collect();
        assert_eq!(indices.len(), seen.lock().unwrap().len(), "two threads have one index");
        assert_eq!(pool.stats().peak_carriers, processors as u64);
        assert_eq!(pool.stats().hand_overs, 0);
    }
}

#[test]
fn a_broadcast_collects_what_threads_have_counted() {
    thread_local!(static TALLY: Cell<usize> = const { Cell::new(0) });
    for processors in [1, 2, 4] {
        let pool = pool(processors);
        for _ in 0..10 {
            let leaves = AtomicUsize::new(0);
            pool.run(|| {
                tree(10, &|| {
                    TALLY.set(TALLY.get() + 1);
                    leaves.fetch_add(1, SeqCst);
                })
            });
            let counted: usize = pool.handle().broadcast(|_| TALLY.take()).into_iter().sum();
            assert_eq!(counted, leaves.into_inner());
        }
    }
}

#[test]
fn handlers_run_once_for_each_index_and_may_use_the_pool() {
    let processors = 3;
    let started: Arc<Vec<OnceLock<ThreadId>>> = Arc::new((0..processors).map(|_| OnceLock::new()).collect());
    let ended: Arc<Vec<AtomicUsize>> = Arc::new((0..processors).map(|_| AtomicUsize::new(0)).collect());
    let (starts, ends, together) = (Arc::clone(&started), Arc::clone(&ended), Barrier::new(processors));
    let pool = Pool::builder()
        .processors(processors)
        .threads(Threads::Fixed)
        .on_start(move |index| {
            starts[index].set(thread::current().id()).expect("one thread per index");
            together.wait();
            assert_eq!(join(current_processor, || 7), (Some(index), 7));
        })
        .on_exit(move |index| {
            assert_eq!(join(current_processor, || 7), (Some(index), 7));
            ends[index].fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    pool.run(|| {
        tree(8, &|| assert_eq!(started[current_processor().unwrap()].get(), Some(&thread::current().id())))
    });
    drop(pool);
    assert!(started.iter().all(|thread| thread.get().is_some()));
    assert!(ended.iter().all(|count| count.load(SeqCst) == 1));
}

/// In pools with moving threads, a start handler also has a pool, but no processor until it needs one.
#[test]
fn handlers_of_moving_threads_may_use_the_pool() {
    let pool = Pool::builder()
        .processors(2)
        .on_start(|_| assert_eq!(join(|| current_processor().is_some(), || 7), (true, 7)))
        .on_exit(|_| assert_eq!(join(|| 6, || 7), (6, 7)))
        .build()
        .unwrap();
    assert_eq!(pool.run(|| join(|| 1, || 2)), (1, 2));
}

#[test]
fn the_thread_that_builds_a_pool_keeps_its_index() {
    thread::spawn(|| {
        let pool =
            Pool::builder().processors(2).threads(Threads::Fixed).use_current_thread().build().unwrap();
        let here = thread::current().id();
        assert_eq!(current_processor(), Some(0));
        for _ in 0..20 {
            tree(10, &|| assert_eq!(current_processor() == Some(0), thread::current().id() == here));
        }
        assert_eq!(pool.stats().peak_carriers, 1, "beside the thread that has built it");
        std::mem::forget(pool);
    })
    .join()
    .unwrap();
}

/// A lock is held across a join whose other half takes its time, and another call wants the lock. The waiting thread
/// leaves that call to others, so it does not meet its own lock. It takes the call only if no entry has begun for as long
/// as `STUCK` says (`work_stealing/fixed.rs`). A machine that holds the other half up for so long can cause that.
#[test]
fn a_lock_across_a_join_is_not_met_by_the_thread_that_holds_it() {
    const STUCK: Duration = Duration::from_millis(100);
    let pool = pool(2);
    let lock = Mutex::new(0);
    let met = AtomicUsize::new(0);
    for _ in 0..20 {
        let (holder, begun) = (OnceLock::new(), OnceLock::new());
        let taken = AtomicBool::new(false);
        let call = || {
            // On the thread of the holder, the lock is taken only if the holder is below on the same stack.
            if holder.get() == Some(&thread::current().id()) && lock.try_lock().is_err() {
                let after = Instant::elapsed(begun.get().expect("the half has begun"));
                assert!(after >= STUCK, "the holder of the lock has met it after {after:?}");
                met.fetch_add(1, SeqCst);
                return;
            }
            *lock.lock().unwrap() += 1;
        };
        thread::scope(|threads| {
            threads.spawn(|| {
                until(&taken);
                pool.run(call);
            });
            pool.run(|| {
                let mut held = lock.lock().unwrap();
                holder.set(thread::current().id()).unwrap();
                join(
                    || until(&taken),
                    || {
                        begun.set(Instant::now()).unwrap();
                        taken.store(true, SeqCst);
                        compute(Duration::from_millis(3));
                    },
                );
                *held += 1;
            });
        });
    }
    assert_eq!(lock.into_inner().unwrap() + met.into_inner(), 40);
}

/// A thread waits for a half that can end only after a closure has run that nobody else can take.
#[test]
fn work_that_nobody_else_can_take_is_run_in_the_end() {
    let pool = pool(2);
    let handle = pool.handle();
    let (taken, begun) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    pool.run(|| {
        join(
            || {
                until(&taken);
                let begun = Arc::clone(&begun);
                handle.spawn(move || begun.store(true, SeqCst));
            },
            || {
                taken.store(true, SeqCst);
                until(&begun);
            },
        )
    });
    assert_eq!(pool.stats().in_place, 1);
}

/// The first thread waits for the second, which waits for the third. All help with what the third one forks, although
/// the first one waits for none of it directly, and the second one may have to take it from the first.
///
/// A thread that cannot help buries its frame, and a long pause of the machine can cause that, too. So one round of ten
/// must do without.
#[test]
fn waiting_threads_help_with_what_their_helpers_wait_for() {
    assert!((0..10).any(|_| frames_buried_by_a_chain_of_waits() == 0));
}

fn frames_buried_by_a_chain_of_waits() -> u64 {
    let pool = pool(3);
    let at_work: HashSet<ThreadId> = pool.run(|| {
        let [second, third] = [(); 2].map(|()| AtomicBool::new(false));
        let seen: Mutex<HashSet<ThreadId>> = Mutex::default();
        // All three at a time, or this does not end.
        let together = Barrier::new(3);
        let meet = || {
            seen.lock().unwrap().insert(thread::current().id());
            together.wait();
        };
        join(
            || until(&second),
            || {
                second.store(true, SeqCst);
                join(
                    || until(&third),
                    || {
                        third.store(true, SeqCst);
                        join(meet, || join(meet, meet));
                    },
                );
            },
        );
        seen.into_inner().unwrap()
    });
    assert_eq!(at_work.len(), 3);
    pool.stats().in_place
}

#[test]
fn scopes_spawns_yields_and_blocking_work() {
    for processors in [1, 2, 5] {
        let pool = pool(processors);
        let count = AtomicUsize::new(0);
        pool.run(|| {
            scope(|s| {
                for _ in 0..300 {
                    s.spawn(|s| {
                        bombyx::blocking(|| count.fetch_add(1, SeqCst));
                        s.spawn(|_| {
                            bombyx::dropin::yield_now();
                            join(|| count.fetch_add(1, SeqCst), || count.fetch_add(1, SeqCst));
                        });
                    });
                }
            });
        });
        assert_eq!(count.into_inner(), 900);
    }
}

/// Each pool waits for the other one, nested deeper than the number of frames that may be buried at once.
#[test]
fn pools_that_wait_for_each_other_end() {
    fn ping(depth: u32, here: &Pool, there: &Pool) -> u32 {
        if depth == 0 { 0 } else { 1 + there.run(|| ping(depth - 1, there, here)) }
    }
    let (a, b) = (pool(1), pool(1));
    assert_eq!(a.run(|| ping(20, &a, &b)), 20);
}

/// The parts of many broadcasts wait for another pool, which does not answer yet. They do not pile up on the stack of their
/// thread beyond its limit.
#[test]
fn broadcasts_do_not_pile_up() {
    const BROADCASTS: usize = 300;
    thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
    let (here, there) = (pool(1), Arc::new(pool(1)));
    let deepest: Arc<AtomicUsize> = Arc::default();
    let (open, ended): (Arc<AtomicBool>, Arc<AtomicUsize>) = Default::default();
    for _ in 0..BROADCASTS {
        let there = Arc::clone(&there);
        let (deepest, open, ended) = (Arc::clone(&deepest), Arc::clone(&open), Arc::clone(&ended));
        here.handle().spawn_broadcast(move |_| {
            DEPTH.set(DEPTH.get() + 1);
            deepest.fetch_max(DEPTH.get(), SeqCst);
            there.run(|| until(&open));
            DEPTH.set(DEPTH.get() - 1);
            ended.fetch_add(1, SeqCst);
        });
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(30) && deepest.load(SeqCst) < BROADCASTS {
        thread::yield_now();
    }
    open.store(true, SeqCst);
    while ended.load(SeqCst) < BROADCASTS {
        thread::yield_now();
    }
    // The limit is 64. If this test is held up, one more begins every 100 ms.
    let deepest = deepest.load(SeqCst);
    assert!(deepest < BROADCASTS / 2, "{deepest} frames on one stack");
}

#[test]
fn schedulers_that_move_threads_say_so() {
    let error =
        Pool::builder().threads(Threads::Fixed).scheduler("fifo".parse().unwrap()).build().unwrap_err();
    assert!(error.to_string().contains("work-stealing"), "{error}");
    assert!("loose".parse::<Threads>().unwrap_err().to_string().contains("`fixed` or `moving`"));
}

/// A thread that is woken by a fork begins on a CPU that no processor runs on, and may use the same CPUs as before from there on.
#[cfg(target_os = "linux")]
#[test]
fn wake_ups_leave_the_cpus_of_a_thread_alone() {
    fn allowed() -> Vec<usize> {
        // SAFETY: an all-zero set is the empty one; the call writes to it, as long as it is.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set), 0);
            set
        };
        // SAFETY: the index is below the size of a set.
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
    }
    let all = allowed();
    // As many processors as CPUs: smaller and larger pools leave it to the kernel where threads begin.
    let pool = pool(all.len());
    for _ in 0..10 {
        // Long enough for all to fall asleep.
        thread::sleep(Duration::from_millis(2));
        pool.run(|| tree(8, &|| ()));
    }
    assert!(pool.handle().broadcast(|_| allowed()).iter().all(|cpus| *cpus == all));
}
