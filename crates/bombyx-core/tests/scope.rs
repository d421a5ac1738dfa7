//! `scope` and `spawn`: everything ends before the scope does, in bounded memory, and nothing else delays it.

mod common;

use bombyx::{Pool, Scope, join, scope};
use common::{
    Census, bump, child, pool, wait_until, watchdog, with_every_scheduler, with_schedulers_that_stop_no_frame,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
fn smoke() {
    for processors in [1, 2, 16] {
        with_every_scheduler(processors, |pool| {
            let mut squares = vec![0; 1_000];
            pool.run(|| {
                scope(|s| {
                    for (i, square) in squares.iter_mut().enumerate() {
                        s.spawn(move |_| *square = i * i);
                    }
                });
            });
            assert!(squares.iter().enumerate().all(|(i, &square)| square == i * i));
        });
    }
}

#[test]
fn empty_scope_returns_the_result_of_its_body() {
    assert_eq!(pool(2).run(|| scope(|_| "nothing spawned")), "nothing spawned");
    assert_eq!(scope(|_| 7), 7);
}

#[test]
fn spawned_closures_spawn() {
    fn grow<'scope>(s: &Scope<'scope>, depth: usize, count: &'scope AtomicUsize) {
        count.fetch_add(1, SeqCst);
        if depth > 0 {
            s.spawn(move |s| grow(s, depth - 1, count));
            s.spawn(move |s| grow(s, depth - 1, count));
        }
    }
    for processors in [1, 2, 8] {
        with_every_scheduler(processors, |pool| {
            let count = AtomicUsize::new(0);
            watchdog("a scope that grows", || pool.run(|| scope(|s| grow(s, 10, &count))));
            assert_eq!(count.into_inner(), (1 << 11) - 1);
        });
    }
}

#[test]
fn scopes_and_joins_nest() {
    fn mixed(depth: usize, count: &AtomicUsize) {
        count.fetch_add(1, SeqCst);
        if depth == 0 {
            return;
        }
        scope(|s| {
            s.spawn(|_| mixed(depth - 1, count));
            join(|| mixed(depth - 1, count), || mixed(depth - 1, count));
            s.spawn(|_| mixed(depth - 1, count));
        });
    }
    with_every_scheduler(4, |pool| {
        let count = AtomicUsize::new(0);
        watchdog("scopes and joins inside of each other", || pool.run(|| mixed(5, &count)));
        assert_eq!(count.into_inner(), (4usize.pow(6) - 1) / 3);
    });
}

/// Closures of an inner scope spawn in it and in the outer one, by turns, and fork, block, and wait meanwhile. Each scope
/// counts its own closures, on whichever processor they begin and end.
#[test]
fn scopes_count_their_own() {
    fn inside<'outer>(outer: &Scope<'outer>, depth: usize, count: &'outer AtomicUsize) {
        let inner_count = AtomicUsize::new(0);
        scope(|inner| {
            for i in 0..5 {
                let inner_count = &inner_count;
                inner.spawn(move |inner| {
                    outer.spawn(move |_| bump(count));
                    inner.spawn(move |_| bump(inner_count));
                    join(|| bump(inner_count), || outer.spawn(move |_| bump(count)));
                    if i % 2 == 0 {
                        bombyx::blocking(thread::yield_now);
                    }
                    bump(inner_count);
                });
            }
        });
        assert_eq!(inner_count.into_inner(), 15);
        bump(count);
        if depth > 0 {
            outer.spawn(move |outer| inside(outer, depth - 1, count));
            outer.spawn(move |outer| inside(outer, depth - 1, count));
        }
    }
    for processors in [1, 2, 5] {
        with_every_scheduler(processors, |pool| {
            let count = AtomicUsize::new(0);
            pool.run(|| scope(|s| inside(s, 4, &count)));
            assert_eq!(count.into_inner(), 31 * 11);
        });
    }
}

#[test]
fn spawn_from_elsewhere() {
    let (one, two) = (pool(2), pool(2));
    let count = AtomicUsize::new(0);
    watchdog("a scope that is spawned into from elsewhere", || {
        one.run(|| {
            scope(|s| {
                two.run(|| s.spawn(|_| bump(&count)));
                bombyx::blocking(|| s.spawn(|_| bump(&count)));
                thread::scope(|threads| {
                    threads.spawn(|| s.spawn(|_| bump(&count)));
                });
            });
            assert_eq!(count.load(SeqCst), 3, "all have ended when the scope has");
        });
    });
}

/// The detached closure runs until the scope has returned. So a scope that runs it while it waits never returns.
#[test]
fn a_scope_waits_for_nothing_else() {
    for processors in [1, 2] {
        with_schedulers_that_stop_no_frame(processors, |pool| {
            watchdog("a scope beside an endless closure", || {
                for _ in 0..50 {
                    let returned = Arc::new(AtomicBool::new(false));
                    pool.run(|| {
                        let count = AtomicUsize::new(0);
                        scope(|s| {
                            s.spawn(|_| bump(&count));
                            let returned = Arc::clone(&returned);
                            pool.spawn(move || wait_until(|| returned.load(SeqCst)));
                            s.spawn(|_| bump(&count));
                        });
                        assert_eq!(count.into_inner(), 2);
                        returned.store(true, SeqCst);
                    });
                }
            });
        });
    }
}

#[test]
fn destructors() {
    with_every_scheduler(4, |pool| {
        let census = Census::default();
        pool.run(|| {
            scope(|s| {
                for i in 0..2_000 {
                    let value = census.count(i);
                    s.spawn(move |_| assert!(value.0 < 2_000));
                }
            });
            assert_eq!(census.alive(), 0, "closures are gone when the scope has ended");
        });
    });
}

#[cfg(target_os = "linux")]
#[test]
fn five_million_spawns_in_bounded_memory() {
    const TEST: &str = "five_million_spawns_in_bounded_memory";
    if !child::is_child(TEST) {
        child::pass(TEST, &[]);
        return;
    }
    let pool: Pool = pool(2);
    let count = AtomicUsize::new(0);
    let flood = |spawns: usize| {
        pool.run(|| {
            scope(|s| {
                for _ in 0..spawns {
                    s.spawn(|_| bump(&count));
                }
            });
        });
    };
    flood(1_000);
    let before = child::kibibytes("VmRSS");
    watchdog("five million spawns", || flood(5_000_000));
    assert_eq!(count.load(SeqCst), 5_001_000);
    let growth = child::kibibytes("VmHWM").saturating_sub(before);
    assert!(growth <= 32 << 10, "peak memory grew by {growth} KiB");
}
