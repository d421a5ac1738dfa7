//! Cancellation: what has not started is dropped, what has started ends, the result says so, and nothing is leaked.

mod common;

use bombyx::{CancelToken, Cancelled, Pool, Threads, scope, try_for_each};
use common::{Census, Rng, builder, bump, pool, seed, watchdog, with_every_scheduler};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// Every scheduler, and fixed threads.
fn everywhere(processors: usize, check: impl Fn(&Pool)) {
    with_every_scheduler(processors, &check);
    check(&builder(processors).threads(Threads::Fixed).build().unwrap());
}

#[test]
fn a_cancelled_token_starts_nothing() {
    watchdog("cancelled", || {
        everywhere(2, |pool| {
            let token = CancelToken::new();
            token.cancel();
            let nothing = || unreachable!("nothing starts");
            pool.run(|| {
                assert_eq!(token.join(nothing, nothing), Err::<((), ()), _>(Cancelled));
                assert_eq!(token.scope(|_| nothing()), Err::<(), _>(Cancelled));
                assert_eq!(token.for_each(0..10, |_: u8| nothing()), Err(Cancelled));
                assert_eq!(token.map_reduce(0..10, |_: i64| 1, || 0, |a, b| a + b), Err(Cancelled));
                assert_eq!(
                    token.map_reduce(0..0, |_: i64| 1, || 0, |a, b| a + b),
                    Ok(0),
                    "nothing is missing"
                );
            });
        });
    });
}

/// The first half of a join cancels. The second half runs or is dropped, and the result says which.
#[test]
fn a_join_says_whether_its_second_half_ran() {
    watchdog("join", || {
        everywhere(2, |pool| {
            for round in 0..50 {
                let census = Census::default();
                let (token, ran) = (CancelToken::new(), AtomicUsize::new(0));
                let (left, right) = (census.count(1), census.count(2));
                let result = pool.run(|| {
                    token.join(
                        || {
                            (0..round * 20).for_each(|_| std::hint::spin_loop());
                            token.cancel();
                            left
                        },
                        || {
                            bump(&ran);
                            right
                        },
                    )
                });
                assert_eq!(result.is_ok(), ran.into_inner() == 1);
                drop(result);
                assert_eq!(census.alive(), 0);
            }
        });
    });
}

/// Some closure cancels its scope. Each closure runs or is dropped, and the result says whether all ran.
#[test]
fn a_scope_says_whether_all_closures_ran() {
    let seed = seed();
    for processors in [1, 3] {
        watchdog("scope", || {
            everywhere(processors, |pool| {
                let mut rng = Rng::new(seed);
                for _ in 0..10 {
                    let (closures, culprit) = (rng.below(400), rng.below(400));
                    let (census, ran) = (Census::default(), AtomicUsize::new(0));
                    let result = pool.run(|| {
                        CancelToken::new().scope(|s| {
                            for n in 0..closures {
                                let (ran, value) = (&ran, census.count(n));
                                s.spawn(move |s| {
                                    bump(ran);
                                    if n == culprit {
                                        s.cancel();
                                    }
                                    drop(value);
                                });
                            }
                            census.count(closures)
                        })
                    });
                    assert_eq!(result.is_ok(), ran.load(SeqCst) == closures);
                    assert!(culprit < closures || result.is_ok(), "nobody cancelled");
                    drop(result);
                    assert_eq!(census.alive(), 0);
                }
            });
        });
    }
}

/// Loops end soon after they are cancelled, by an iteration, by another thread, or by a deadline, also where they are cut
/// in the same way in every run. Results that were made are dropped.
#[test]
fn endless_loops_end_when_cancelled() {
    let endless = 0..u64::MAX;
    watchdog("loops", || {
        for deterministic in [false, true] {
            for processors in [1, 3] {
                let pool = builder(processors).deterministic(deterministic).build().unwrap();
                let token = CancelToken::new();
                let by_itself = |n| {
                    if n == 1000 {
                        token.cancel()
                    }
                };
                assert_eq!(pool.run(|| token.for_each(endless.clone(), by_itself)), Err(Cancelled));

                let token = CancelToken::new();
                let from_outside = thread::scope(|threads| {
                    let endless = endless.clone();
                    let run = threads.spawn(|| pool.run(|| token.for_each(endless, |_| ())));
                    thread::sleep(Duration::from_millis(2));
                    token.cancel();
                    run.join().unwrap()
                });
                assert_eq!(from_outside, Err(Cancelled));
            }
        }
        everywhere(2, |pool| {
            let (census, token) = (Census::default(), CancelToken::with_timeout(Duration::from_millis(1)));
            let all = |mut list: Vec<_>, next: Vec<_>| {
                list.extend(next);
                list
            };
            let list = |n| vec![census.count(n)];
            let result = pool.run(|| token.map_reduce(endless.clone(), list, Vec::new, all));
            assert!(matches!(result, Err(Cancelled)));
            assert_eq!(census.alive(), 0);
        });
    });
}

#[test]
fn a_child_is_cancelled_with_its_parent() {
    let parent = CancelToken::new();
    let soon = parent.child_with_deadline(Instant::now() + Duration::from_millis(5));
    let child = parent.child();
    let grandchild = child.child();
    while !soon.is_cancelled() {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(!parent.is_cancelled() && !grandchild.is_cancelled());
    child.cancel();
    assert!(grandchild.is_cancelled() && !parent.is_cancelled());
    assert_eq!(grandchild.check().unwrap_err().to_string(), "the work was cancelled before it was done");
    assert!(CancelToken::with_timeout(Duration::MAX).check().is_ok(), "this deadline never comes");
}

/// A panic goes before a cancellation, and everything is dropped once.
#[test]
fn a_panic_of_a_cancelled_scope_arrives() {
    watchdog("panic", || {
        everywhere(2, |pool| {
            let census = Census::default();
            let result = pool.run(|| {
                panic::catch_unwind(AssertUnwindSafe(|| {
                    CancelToken::new().scope(|s| {
                        for n in 0..50 {
                            let value = census.count(n);
                            s.spawn(move |s| {
                                s.cancel();
                                panic::panic_any(value);
                            });
                        }
                    })
                }))
            });
            assert!(result.unwrap_err().is::<common::Counted<i32>>());
            assert_eq!(census.alive(), 0);
        });
    });
}

/// A plain scope is cancelled by its closures. What is spawned after that is dropped at once.
#[test]
fn a_plain_scope_can_be_cancelled() {
    let (census, ran) = (Census::default(), AtomicUsize::new(0));
    pool(2).run(|| {
        scope(|s| {
            s.cancel();
            assert!(s.is_cancelled());
            let value = census.count(0);
            s.spawn(move |_| drop(value));
            assert_eq!(census.alive(), 0, "dropped at once");
            s.defer(|_| bump(&ran));
        });
    });
    assert_eq!(ran.into_inner(), 0);
}

/// `try_for_each` returns the error of the serial loop, whatever runs first.
#[test]
fn the_first_error_is_found() {
    let seed = seed();
    for processors in [1, 2, 5] {
        watchdog("first error", || {
            everywhere(processors, |pool| {
                let mut rng = Rng::new(seed);
                for _ in 0..20 {
                    let bad: Vec<i32> = (0..3).map(|_| rng.below(3_000) as i32 - 1_000).collect();
                    let ran: Vec<AtomicUsize> = (0..2_000).map(|_| AtomicUsize::new(0)).collect();
                    let result = pool.run(|| {
                        try_for_each(-1_000..1_000, |n: i32| {
                            bump(&ran[(n + 1_000) as usize]);
                            if n % 97 == 0 {
                                thread::yield_now();
                            }
                            if bad.contains(&n) { Err(n) } else { Ok(()) }
                        })
                    });
                    let first = bad.iter().copied().filter(|&n| n < 1_000).min();
                    assert_eq!(result.err(), first);
                    let end = first.map_or(2_000, |first| first + 1_001) as usize;
                    assert!(ran[..end].iter().all(|count| count.load(SeqCst) == 1), "all before it ran once");
                    assert!(ran[end..].iter().all(|count| count.load(SeqCst) <= 1));
                }
            });
        });
    }
}

#[test]
fn a_search_in_an_endless_range_ends() {
    watchdog("search", || {
        let found =
            pool(2).run(|| try_for_each(0..u128::MAX, |n| if n == 123_456 { Err(n) } else { Ok(()) }));
        assert_eq!(found, Err(123_456));
    });
}
