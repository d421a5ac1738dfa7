//! `join` and `join_context`: results, order, parallelism, depth, and thread-affine values across a join.

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, current_processor, join, join_context};
use common::{builder, pool, wait_until, watchdog, with_every_scheduler};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn smoke() {
    for processors in [1, 2, 3, 8, 64] {
        with_every_scheduler(processors, |pool| assert_eq!(pool.run(|| fib(17)), 1597));
    }
}

#[test]
fn halves_run_in_order_on_one_processor() {
    with_every_scheduler(1, |pool| {
        let order = AtomicUsize::new(0);
        let halves = pool.run(|| join(|| order.fetch_add(1, SeqCst), || order.fetch_add(1, SeqCst)));
        assert_eq!(halves, (0, 1));
    });
}

#[test]
fn halves_borrow_and_return_what_they_like() {
    let mut words = [String::from("fork"), String::from("join")];
    let (first, second) = words.split_at_mut(1);
    let (length, boxed) = pool(2).run(|| {
        join(
            || {
                first[0].push('s');
                first[0].len()
            },
            || {
                second[0].push('s');
                Box::new(second[0].clone())
            },
        )
    });
    assert_eq!((length, &**boxed), (5, "joins"));
    assert_eq!(words, ["forks", "joins"]);
}

/// Neither half ends before both have begun, so only two processors can do it. The second half must be taken from a
/// first half that never forks again.
#[test]
fn both_halves_run_at_the_same_time() {
    with_every_scheduler(2, |pool| {
        watchdog("a join whose halves meet", || {
            for _ in 0..200 {
                let met = AtomicUsize::new(0);
                let meet = || {
                    met.fetch_add(1, SeqCst);
                    wait_until(|| met.load(SeqCst) == 2);
                    current_processor()
                };
                let (a, b) = pool.run(|| join(meet, meet));
                assert_ne!(a, b, "two closures that run at the same time hold two processors");
            }
        });
    });
}

#[test]
fn all_processors_meet() {
    fn meet(count: usize, met: &AtomicUsize, all: usize) {
        if count > 1 {
            join(|| meet(count / 2, met, all), || meet(count - count / 2, met, all));
            return;
        }
        met.fetch_add(1, SeqCst);
        wait_until(|| met.load(SeqCst) == all);
    }
    for processors in [3, 4, 16] {
        with_every_scheduler(processors, |pool| {
            let met = AtomicUsize::new(0);
            watchdog("as many leaves as processors that meet", || {
                pool.run(|| meet(processors, &met, processors))
            });
        });
    }
}

#[test]
fn context_tells_who_was_taken() {
    with_every_scheduler(2, |pool| {
        let (a, b) = pool.run(|| join_context(|context| context.migrated(), |_| ()));
        assert!(!a, "the first half stays (the second may go: {b:?})");
        let started = AtomicBool::new(false);
        let (a, b) = watchdog("a join whose second half is taken", || {
            pool.run(|| {
                join_context(
                    |context| {
                        wait_until(|| started.load(SeqCst));
                        context.migrated()
                    },
                    |context| {
                        started.store(true, SeqCst);
                        context.migrated()
                    },
                )
            })
        });
        assert!(!a && b, "the second half can only have started elsewhere");
    });
    assert_eq!(pool(1).run(|| join_context(|a| a.migrated(), |b| b.migrated())), (false, false));
}

/// The frame that waits keeps its stack and its thread.
#[test]
fn a_join_stays_on_its_thread() {
    fn descend(depth: usize) {
        let before = thread::current().id();
        let value = Rc::new(depth);
        if depth > 0 {
            join(|| descend(depth - 1), || descend(depth - 1));
        }
        assert_eq!(thread::current().id(), before);
        assert_eq!((Rc::strong_count(&value), *value), (1, depth));
    }
    with_every_scheduler(4, |pool| pool.run(|| descend(10)));
}

/// A borrow of a thread-local across a join (rayon issue 1253). Nothing else that borrows it may run on this stack
/// meanwhile. The second half does not end before something else has run.
#[test]
fn thread_local_borrowed_across_a_join() {
    thread_local!(static LOCAL: RefCell<usize> = const { RefCell::new(0) });
    with_every_scheduler(2, |pool| {
        watchdog("a thread-local borrowed across a join", || {
            for _ in 0..100 {
                let (started, ended) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
                let second = || {
                    started.store(true, SeqCst);
                    let result = Arc::clone(&ended);
                    pool.spawn(move || {
                        result.store(
                            1 + usize::from(LOCAL.with(|local| local.try_borrow_mut().is_ok())),
                            SeqCst,
                        )
                    });
                    wait_until(|| ended.load(SeqCst) > 0);
                };
                pool.run(|| {
                    LOCAL.with_borrow_mut(|_| join(|| wait_until(|| started.load(SeqCst)), second));
                });
                assert_eq!(ended.load(SeqCst), 2, "the other closure found the thread-local borrowed");
            }
        });
    });
}

fn nest_first(depth: usize) -> usize {
    if depth == 0 { 0 } else { join(|| nest_first(depth - 1), || 1).0 + 1 }
}

fn nest_second(depth: usize) -> usize {
    if depth == 0 { 0 } else { join(|| 1, || nest_second(depth - 1)).1 + 1 }
}

#[test]
fn two_hundred_thousand_nested_joins() {
    const DEPTH: usize = 200_000;
    for (processors, fence) in [(1, false), (2, false), (2, true)] {
        let pool = builder(processors).fence(fence).stack_size(1 << 30).build().unwrap();
        watchdog("deeply nested joins", || {
            assert_eq!(pool.run(|| nest_first(DEPTH)), DEPTH);
            assert_eq!(pool.run(|| nest_second(DEPTH)), DEPTH);
        });
    }
}

#[test]
fn outside_of_any_pool() {
    watchdog("many threads outside of any pool", || {
        assert_eq!(current_processor(), None);
        thread::scope(|s| {
            for n in 0..16 {
                s.spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(fib(10), 55);
                        assert_eq!(join(|| n, || current_processor().is_some()), (n, true));
                    }
                });
            }
        });
        assert!(Pool::global().stats().peak_carriers >= 1);
    });
}

/// A thread's last destructors run when other thread-locals of the thread are gone.
#[test]
fn join_in_the_destructor_of_a_thread_local() {
    struct Joins;
    impl Drop for Joins {
        fn drop(&mut self) {
            // If something was freed already, these have its memory now. Nobody else may write there.
            let mine: Vec<Box<[usize; 4]>> = (0..64).map(|_| Box::new([usize::MAX; 4])).collect();
            join(
                || assert!(mine.iter().all(|block| **block == [usize::MAX; 4]), "freed memory was used"),
                || (),
            );
            SUM.fetch_add(fib(12) as usize, SeqCst);
        }
    }
    thread_local!(static EARLY: RefCell<Option<Joins>> = const { RefCell::new(None) });
    thread_local!(static LATE: RefCell<Option<Joins>> = const { RefCell::new(None) });
    static SUM: AtomicUsize = AtomicUsize::new(0);
    watchdog("a join in the destructor of a thread-local", || {
        let thread = thread::spawn(|| {
            EARLY.set(Some(Joins));
            fib(12);
            LATE.set(Some(Joins));
        });
        thread.join().unwrap();
    });
    assert_eq!(SUM.load(SeqCst), 2 * 144);
}
