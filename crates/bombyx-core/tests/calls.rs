//! `join_all` and `PerProcessor`.

mod common;

use bombyx::{PerProcessor, join_all};
use common::{Census, bump, pool, watchdog, with_every_scheduler};
use std::collections::HashSet;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn join_all_keeps_the_order() {
    watchdog("join_all", || {
        with_every_scheduler(3, |pool| {
            pool.run(|| {
                assert_eq!(join_all((|| 1, || 'b')), (1, 'b'));
                let all = join_all((|| 1, || '2', || "3", || 4u8, || 5i8, || 6u16, || 7i16, || 8.0));
                assert_eq!(all, (1, '2', "3", 4, 5, 6, 7, 8.0));
                assert_eq!(join_all([1, 2, 3, 4, 5].map(|n| move || n * n)), [1, 4, 9, 16, 25]);
                assert_eq!(
                    join_all((0..100).map(|n| move || n).collect::<Vec<_>>()),
                    (0..100).collect::<Vec<_>>()
                );
                assert_eq!(join_all(Vec::<fn() -> u8>::new()), []);
            });
        });
    });
}

/// All closures end, the first panic is resumed, and every result is dropped once.
#[test]
fn join_all_ends_everything_when_one_panics() {
    for guilty in 0..7 {
        let census = Census::default();
        let ran = AtomicUsize::new(0);
        let closures: Vec<_> = (0..7)
            .map(|n| {
                let (ran, census) = (&ran, &census);
                move || {
                    bump(ran);
                    if n >= guilty {
                        panic::panic_any(n);
                    }
                    census.count(n)
                }
            })
            .collect();
        let result = pool(2).run(|| panic::catch_unwind(AssertUnwindSafe(|| join_all(closures).len())));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&guilty));
        assert_eq!((ran.load(SeqCst), census.alive()), (7, 0));
    }
}

/// A closure that joins inside keeps its value, whatever else runs meanwhile.
#[test]
fn a_value_belongs_to_one_closure_at_a_time() {
    watchdog("values", || {
        with_every_scheduler(4, |pool| {
            let made = AtomicUsize::new(0);
            let in_use = Mutex::new(HashSet::new());
            let mut values = PerProcessor::new(|| {
                bump(&made);
                (made.load(SeqCst), 0)
            });
            fn tree(
                values: &PerProcessor<(usize, usize), impl Fn() -> (usize, usize) + Sync>,
                in_use: &Mutex<HashSet<usize>>,
                depth: u32,
            ) {
                values.with(|value| {
                    let address = std::ptr::from_mut(value).addr();
                    assert!(in_use.lock().unwrap().insert(address), "two closures have one value");
                    value.1 += 1;
                    if depth > 0 {
                        bombyx::join(|| tree(values, in_use, depth - 1), || tree(values, in_use, depth - 1));
                    }
                    assert!(in_use.lock().unwrap().remove(&address));
                });
            }
            pool.run(|| tree(&values, &in_use, 6));
            assert_eq!(values.drain().map(|(_, calls)| calls).sum::<usize>(), 127);
        });
    });
}

/// A loop without forks inside makes at most one value per processor, and a panic leaves its value in place.
#[test]
fn values_are_made_only_when_needed() {
    let pool = pool(3);
    let census = Census::default();
    let values = PerProcessor::new(|| census.count(0));
    pool.run(|| bombyx::for_each(0..10_000, |_| values.with(|count| count.0 += 1)));
    let made = census.alive();
    assert!((1..=3).contains(&made), "{made} values");
    let panics = panic::catch_unwind(AssertUnwindSafe(|| {
        values.with(|count| {
            count.0 += 1;
            panic::panic_any(())
        })
    }));
    assert!(panics.is_err());
    assert_eq!(census.alive(), made);
    assert_eq!(values.into_iter().map(|count| count.0).sum::<i32>(), 10_001);
    assert_eq!(census.alive(), 0);
}
