//! Panics: they arrive where they belong with their payload, after everything that must end has ended. They leak
//! nothing and leave the pool usable.
//!
//! Most panics here are raised with `resume_unwind`, which does not call the hook that prints a message.

mod common;

use bombyx::dropin::HandleExt as _;
use bombyx::{Monoid, Pool, Reducer, TaskLocal, blocking, for_each, join, map_reduce, scope};
use common::{Census, Counted, builder, bump, child, pool, wait_until, watchdog, with_every_scheduler};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

type Payload = Counted<&'static str>;

fn boom(census: &Census, name: &'static str) -> ! {
    resume_unwind(Box::new(census.count(name)))
}

/// The name of the payload that arrives when `f` is called.
fn caught<R>(f: impl FnOnce() -> R) -> Option<&'static str> {
    catch_unwind(AssertUnwindSafe(f)).err().map(name_of)
}

fn name_of(payload: Box<dyn Any + Send>) -> &'static str {
    payload.downcast::<Payload>().unwrap_or_else(|other| resume_unwind(other)).0
}

fn still_works(pool: &Pool) {
    assert_eq!(pool.run(|| map_reduce(0..100, |i| i, || 0, |a, b| a + b)), 4950);
}

/// Every combination of panicking halves, with the second half popped, and with it taken by another processor.
#[test]
fn halves_of_a_join() {
    for (processors, taken) in [(1, false), (2, false), (2, true)] {
        with_every_scheduler(processors, |pool| {
            for (a_panics, b_panics, expected) in [
                (true, false, Some("a")),
                (false, true, Some("b")),
                (true, true, Some("a")),
                (false, false, None),
            ] {
                watchdog("a join that panics", || {
                    for _ in 0..50 {
                        halves(pool, taken, a_panics, b_panics, expected);
                    }
                });
            }
            still_works(pool);
        });
    }
}

fn halves(pool: &Pool, taken: bool, a_panics: bool, b_panics: bool, expected: Option<&str>) {
    let census = Census::default();
    let (started, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let a_captures = census.count("captured by a");
    let b_captures = census.count("captured by b");
    let arrived = pool.run(|| {
        let arrived = caught(|| {
            join(
                || {
                    let _captured = &a_captures;
                    if taken {
                        wait_until(|| started.load(SeqCst));
                    }
                    if a_panics { boom(&census, "a") } else { census.count("result of a") }
                },
                || {
                    let _captured = b_captures;
                    started.store(true, SeqCst);
                    std::thread::yield_now();
                    ended.store(true, SeqCst);
                    if b_panics { boom(&census, "b") } else { census.count("result of b") }
                },
            )
        });
        assert!(ended.load(SeqCst), "both halves end before the join does");
        arrived
    });
    drop(a_captures);
    assert_eq!(arrived, expected);
    assert_eq!(census.alive(), 0, "results, captures and payloads are dropped");
}

#[test]
fn an_ordinary_panic_keeps_its_message() {
    let message =
        catch_unwind(|| pool(2).run(|| join(|| (), || panic!("number {}", std::process::id())))).unwrap_err();
    assert_eq!(
        message.downcast_ref::<String>().map(String::as_str),
        Some(&*format!("number {}", std::process::id()))
    );
}

#[test]
fn deep_inside_of_a_tree() {
    fn tree(depth: usize, path: usize, bad: usize, census: &Census, leaves: &AtomicUsize) -> Counted<usize> {
        if depth == 0 {
            bump(leaves);
            return if path == bad { boom(census, "leaf") } else { census.count(path) };
        }
        let (a, b) = join(
            || tree(depth - 1, path * 2, bad, census, leaves),
            || tree(depth - 1, path * 2 + 1, bad, census, leaves),
        );
        census.count(a.0 + b.0)
    }
    for processors in [1, 2, 8] {
        with_every_scheduler(processors, |pool| {
            let census = Census::default();
            for bad in (0..256).step_by(17) {
                let leaves = AtomicUsize::new(0);
                let arrived = watchdog("a tree that panics", || {
                    caught(|| pool.run(|| tree(8, 0, bad, &census, &leaves)))
                });
                assert_eq!(arrived, Some("leaf"));
                assert_eq!(leaves.into_inner(), 256, "all other leaves run");
            }
            assert_eq!(census.alive(), 0);
            still_works(pool);
        });
    }
}

#[test]
fn in_a_scope() {
    for processors in [1, 4] {
        with_every_scheduler(processors, |pool| {
            for (body_panics, spawned_panic, expected) in
                [(true, false, Some("body")), (false, true, Some("spawned")), (true, true, Some("body"))]
            {
                let census = Census::default();
                let ended = AtomicUsize::new(0);
                let arrived = watchdog("a scope that panics", || {
                    caught(|| {
                        pool.run(|| {
                            scope(|s| {
                                for i in 0..600 {
                                    let captured = census.count("captured");
                                    let (census, ended) = (&census, &ended);
                                    s.spawn(move |_| {
                                        let _captured = captured;
                                        bump(ended);
                                        if spawned_panic && i % 3 == 0 {
                                            boom(census, "spawned");
                                        }
                                    });
                                }
                                if body_panics {
                                    boom(&census, "body");
                                }
                                census.count("result")
                            })
                        })
                    })
                });
                assert_eq!(arrived, expected);
                assert_eq!(ended.into_inner(), 600, "all that was spawned ends");
                assert_eq!(census.alive(), 0);
            }
            still_works(pool);
        });
    }
}

/// A payload whose destructor also panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("the bomb"));
    }
}

/// The runtime drops all but the first of the panics of a scope, and nothing may unwind there.
#[test]
fn payloads_that_panic_when_they_are_dropped() {
    for processors in [1, 2] {
        with_every_scheduler(processors, |pool| {
            let ended = AtomicUsize::new(0);
            let arrived = watchdog("a scope with bombs", || {
                catch_unwind(AssertUnwindSafe(|| {
                    pool.run(|| {
                        scope(|s| {
                            for i in 0..20 {
                                let ended = &ended;
                                s.spawn(move |_| {
                                    bump(ended);
                                    if i % 2 == 1 {
                                        resume_unwind(Box::new(Bomb));
                                    }
                                });
                            }
                        })
                    })
                }))
            });
            let payload = arrived.expect_err("the first panic arrives");
            assert!(payload.is::<Bomb>());
            std::mem::forget(payload);
            assert_eq!(ended.into_inner(), 20, "all that was spawned ends");
            still_works(pool);
        });
    }
}

/// What a join, a scope or a broadcast drops because another panic is under way may panic in its destructor. The first
/// panic still arrives, and everything that was begun ends.
#[test]
fn what_nobody_gets_may_panic_when_it_is_dropped() {
    fn bomb() -> ! {
        resume_unwind(Box::new(Bomb))
    }
    for (processors, taken) in [(1, false), (2, true)] {
        with_every_scheduler(processors, |pool| {
            let census = Census::default();
            let begun = AtomicBool::new(false);
            let boom_later = |name| {
                wait_until(|| !taken || begun.swap(false, SeqCst));
                boom(&census, name)
            };
            let begin = || begun.store(true, SeqCst);
            watchdog("bombs", || {
                let bomb_b = || -> () {
                    begin();
                    bomb()
                };
                let payload = || join(|| -> () { boom_later("a") }, bomb_b);
                assert_eq!(caught(|| pool.run(payload)), Some("a"));
                let result = || {
                    drop(join(
                        || -> () { boom_later("a") },
                        || {
                            begin();
                            Bomb
                        },
                    ))
                };
                assert_eq!(caught(|| pool.run(result)), Some("a"));
                let body = || {
                    scope(|s| {
                        s.spawn(|_| {
                            begin();
                            bomb()
                        });
                        boom_later("body")
                    })
                };
                assert_eq!(caught(|| pool.run(body)), Some("body"));
                begun.store(false, SeqCst);
                let result = || {
                    std::mem::forget(scope(|s| {
                        s.spawn(|_| boom(&census, "spawned"));
                        Bomb
                    }));
                };
                assert_eq!(caught(|| pool.run(result)), Some("spawned"));
                let broadcast = || {
                    pool.handle().broadcast(|place| match place.index() {
                        0 => boom(&census, "part"),
                        _ if taken => Bomb,
                        _ => bomb(),
                    })
                };
                assert_eq!(caught(|| broadcast().into_iter().for_each(std::mem::forget)), Some("part"));
            });
            assert_eq!(census.alive(), 0);
            still_works(pool);
        });
    }
}

/// A value whose destructor panics, unless a panic is under way, and counts.
struct Grenade(Arc<AtomicUsize>);

impl Drop for Grenade {
    fn drop(&mut self) {
        bump(&self.0);
        if !std::thread::panicking() {
            resume_unwind(Box::new("a grenade"));
        }
    }
}

/// Whoever ends last drops the value of a task-local: the frame that has bound it, a closure of a scope, a task or a
/// closure that nobody waits for. If the destructor panics, only the panic hook sees it.
#[test]
fn values_of_task_locals_may_panic_when_they_are_dropped() {
    static BOUND: TaskLocal<Grenade> = TaskLocal::new();
    let dropped = Arc::new(AtomicUsize::new(0));
    let bind = |f: &mut dyn FnMut()| BOUND.scope(Grenade(Arc::clone(&dropped)), f);
    let all_dropped = |expected| wait_until(|| dropped.load(SeqCst) == expected);
    // The frame that binds the value has left when the only processor gets to the closure.
    let pool = pool(1);
    let seen = || BOUND.with(|bound| assert!(bound.is_some()));
    watchdog("grenades", || {
        pool.run(|| {
            bind(&mut seen.clone());
            assert_eq!(dropped.load(SeqCst), 1, "the frame drops the value");
            assert_eq!(caught(|| bind(&mut || boom(&Census::default(), "inside"))), Some("inside"));
            scope(|s| bind(&mut || s.spawn(move |_| seen())));
        });
        all_dropped(3);
        pool.run(|| bind(&mut || pool.handle().spawn_detached(seen)));
        all_dropped(4);
        let mut task = None;
        pool.run(|| bind(&mut || task = Some(pool.spawn(seen))));
        task.take().unwrap().join().unwrap();
        all_dropped(5);
        pool.run(|| bind(&mut || drop(pool.spawn(seen))));
        all_dropped(6);
    });
    still_works(&pool);
}

/// Each closure binds a value and spawns the next one, so the last one has inherited all of them.
#[test]
fn a_long_list_of_bindings_needs_no_deep_stack() {
    static BOUND: TaskLocal<usize> = TaskLocal::new();
    fn next<'s>(s: &bombyx::Scope<'s>, left: usize, ended: &'s AtomicUsize) {
        assert_eq!(BOUND.get(), Some(left));
        match left.checked_sub(1) {
            Some(left) => BOUND.scope(left, || s.defer(move |s| next(s, left, ended))),
            None => bump(ended),
        }
    }
    let ended = AtomicUsize::new(0);
    watchdog("many bindings", || {
        pool(1).run(|| BOUND.scope(200_000, || scope(|s| next(s, 200_000, &ended))));
    });
    assert_eq!(ended.into_inner(), 1);
}

/// If merging panics, and the reducer was leaked, its views go when the task ends.
#[test]
fn views_may_panic_when_they_are_dropped() {
    struct Fails;
    impl Monoid for Fails {
        type View = Vec<Grenade>;

        fn identity(&self) -> Vec<Grenade> {
            Vec::new()
        }

        fn combine(&self, _: &mut Vec<Grenade>, right: Vec<Grenade>) {
            std::mem::forget(right);
            resume_unwind(Box::new("combine"));
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let pool = pool(1);
    let task = pool.spawn(move || {
        let list: &Reducer<Fails> = Box::leak(Box::new(Reducer::new(Fails)));
        let add = |list: &Reducer<Fails>, made: &Arc<AtomicUsize>| {
            list.with(|list| list.push(Grenade(Arc::clone(made))));
        };
        let count = Arc::clone(&dropped);
        let merged = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                s.spawn(|_| ());
                add(list, &dropped);
                s.spawn(|_| add(list, &dropped));
                add(list, &dropped);
            });
        }));
        assert!(merged.is_err(), "combine was called");
        count
    });
    let dropped = watchdog("views", || task.join()).expect("the task has ended");
    wait_until(|| dropped.load(SeqCst) > 0);
    still_works(&pool);
}

/// When the second half runs, popped or elsewhere, the first half's panic has been caught. So a lock that the second
/// half leaves in the middle of an update is poisoned.
#[test]
fn the_second_half_does_not_run_inside_of_an_unwinding() {
    for (processors, taken) in [(1, false), (2, true)] {
        with_every_scheduler(processors, |pool| {
            watchdog("a join that panics", || {
                for _ in 0..20 {
                    let (census, lock) = (Census::default(), std::sync::Mutex::new(0));
                    let (begun, seen) = (AtomicBool::new(false), AtomicBool::new(true));
                    let first = || -> () {
                        wait_until(|| !taken || begun.load(SeqCst));
                        boom(&census, "a")
                    };
                    let second = || -> () {
                        begun.store(true, SeqCst);
                        // Descendants, which the waiting first half may help with.
                        join(|| (), || assert!(!std::thread::panicking()));
                        seen.store(std::thread::panicking(), SeqCst);
                        *lock.lock().unwrap() += 1;
                        let _half = lock.lock().unwrap();
                        boom(&census, "b")
                    };
                    assert_eq!(caught(|| pool.run(|| join(first, second))), Some("a"));
                    assert!(!seen.into_inner(), "the panic of the first half was caught");
                    assert!(lock.is_poisoned());
                }
            });
        });
    }
}

#[test]
fn in_blocking() {
    with_every_scheduler(2, |pool| {
        let census = Census::default();
        for _ in 0..50 {
            pool.run(|| {
                assert_eq!(caught(|| blocking(|| boom(&census, "blocking"))), Some("blocking"));
                assert!(bombyx::current_processor().is_some(), "the processor is got back");
                let arrived =
                    caught(|| join(|| blocking(|| boom(&census, "a")), || blocking(|| boom(&census, "b"))));
                assert_eq!(arrived, Some("a"));
            });
        }
        assert_eq!(census.alive(), 0);
        still_works(pool);
    });
}

#[test]
fn in_a_loop() {
    with_every_scheduler(4, |pool| {
        let census = Census::default();
        let bad = |i: usize| if i == 700 { boom(&census, "iteration") } else { census.count(i) };
        assert_eq!(caught(|| pool.run(|| for_each(0..1_000, |i| drop(bad(i))))), Some("iteration"));
        let sum = |a: Counted<usize>, b: Counted<usize>| census.count(a.0 + b.0);
        assert_eq!(
            caught(|| pool.run(|| map_reduce(0..1_000, bad, || census.count(0), sum))),
            Some("iteration")
        );
        assert_eq!(census.alive(), 0);
        still_works(pool);
    });
}

/// Through `Pool::run` on the caller's stack, on a carrier's, and from one pool into another.
#[test]
fn across_pools() {
    let census = Census::default();
    let (lending, queueing) = (pool(2), builder(2).stack_size(1 << 20).build().unwrap());
    for pool in [&lending, &queueing] {
        assert_eq!(caught(|| pool.run(|| boom(&census, "run"))), Some("run"));
    }
    for (outer, inner) in [(&lending, &queueing), (&queueing, &lending)] {
        let arrived =
            caught(|| outer.run(|| join(|| (), || inner.run(|| join(|| boom(&census, "inner"), || ())))));
        assert_eq!(arrived, Some("inner"));
    }
    assert_eq!(census.alive(), 0);
    still_works(&lending);
    still_works(&queueing);
}

/// A destructor that joins, once normally and once during a panic: two pairs of closures that meet.
#[test]
fn a_destructor_joins_while_unwinding() {
    struct Joins<'a>(&'a AtomicUsize);
    impl Drop for Joins<'_> {
        fn drop(&mut self) {
            let met = AtomicUsize::new(0);
            let meet = || {
                bump(&met);
                wait_until(|| met.load(SeqCst) == 2);
                1
            };
            let (a, b) = join(meet, meet);
            self.0.fetch_add(a + b, SeqCst);
            assert_eq!(caught(|| scope(|_| boom(&Census::default(), "inner"))), Some("inner"));
        }
    }
    with_every_scheduler(4, |pool| {
        let (census, sum) = (Census::default(), AtomicUsize::new(0));
        watchdog("a destructor that joins", || {
            for _ in 0..50 {
                let in_a = || {
                    let _joins = Joins(&sum);
                    boom(&census, "a")
                };
                assert_eq!(caught(|| pool.run(|| join(in_a, || drop(Joins(&sum))))), Some("a"));
            }
        });
        assert_eq!(sum.into_inner(), 50 * 4);
        assert_eq!(census.alive(), 0);
        still_works(pool);
    });
}

#[test]
fn a_thousand_panics_cost_no_carrier() {
    let (pool, census) = (pool(2), Census::default());
    for _ in 0..1_000 {
        assert_eq!(caught(|| pool.run(|| join(|| boom(&census, "a"), || boom(&census, "b")))), Some("a"));
    }
    assert_eq!(census.alive(), 0);
    let stats = pool.stats();
    assert!(stats.peak_carriers <= 4, "{stats}");
    still_works(&pool);
}

#[test]
fn in_a_detached_closure_the_process_aborts() {
    const TEST: &str = "in_a_detached_closure_the_process_aborts";
    if child::is_child(TEST) {
        pool(2).spawn(|| panic!("nobody hears this"));
        return;
    }
    let output = child::run(TEST, &[]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(err.contains("nobody hears this") && err.contains("Pool::spawn panicked"), "{err}");
}
