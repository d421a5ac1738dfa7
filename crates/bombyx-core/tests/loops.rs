//! `for_each` and `map_reduce`: edges of ranges, order, and the deterministic option.

mod common;

use bombyx::{for_each, map_reduce};
use common::{builder, bump, pool, watchdog, with_every_scheduler};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const RANGES: &[Range<usize>] = &[
    0..0,
    5..5,
    0..1,
    7..8,
    0..2,
    3..1_000,
    0..10_007,
    usize::MAX - 100..usize::MAX,
    usize::MAX..usize::MAX,
];

#[test]
fn every_iteration_once() {
    for processors in [1, 2, 16] {
        for deterministic in [false, true] {
            let pool = builder(processors).deterministic(deterministic).build().unwrap();
            for range in RANGES {
                let counts: Vec<AtomicUsize> = range.clone().map(|_| AtomicUsize::new(0)).collect();
                pool.run(|| for_each(range.clone(), |i| bump(&counts[i - range.start])));
                assert!(counts.iter().all(|count| count.load(SeqCst) == 1), "{range:?}");
            }
        }
    }
}

#[test]
#[allow(clippy::reversed_empty_ranges)]
fn reversed_ranges_are_empty() {
    for deterministic in [false, true] {
        let pool = builder(2).deterministic(deterministic).build().unwrap();
        pool.run(|| for_each(9..3, |_| unreachable!("there is nothing in 9..3")));
        assert_eq!(pool.run(|| map_reduce(9..3, |i| i, || 42, |a, b| a + b)), 42);
    }
}

/// Concatenation is associative, and anything but commutative.
#[test]
fn results_are_combined_in_order() {
    for processors in [1, 2, 8] {
        with_every_scheduler(processors, |pool| {
            for range in RANGES {
                let list = pool.run(|| {
                    map_reduce(
                        range.clone(),
                        |i| {
                            if i % 64 == 0 {
                                std::thread::yield_now();
                            }
                            vec![i]
                        },
                        Vec::new,
                        |mut a, mut b| {
                            a.append(&mut b);
                            a
                        },
                    )
                });
                assert!(list.into_iter().eq(range.clone()), "{range:?}");
            }
        });
    }
}

#[test]
fn deterministic_sums_of_floats_are_equal_to_the_bit() {
    let sum = |processors: usize| {
        let pool = builder(processors).deterministic(true).build().unwrap();
        pool.run(|| map_reduce(0..50_000, |i| 1.0 / (i as f64 + 0.1), || 0.0, |a, b| a + b)).to_bits()
    };
    let expected = sum(1);
    for processors in [1, 2, 3, 4, 7, 16] {
        for _ in 0..3 {
            assert_eq!(sum(processors), expected, "{processors} processors");
        }
    }
}

#[test]
fn loops_nest_and_run_outside_of_pools() {
    watchdog("nested loops", || {
        let sum = AtomicUsize::new(0);
        for_each(0..50, |i| for_each(0..i, |_| bump(&sum)));
        assert_eq!(sum.into_inner(), (0..50).sum::<usize>());
        assert_eq!(map_reduce(10..20, |i| i, || 0, |a, b| a + b), 145);
    });
}

/// Few iterations that meet: a loop must not keep what others could run.
#[test]
fn few_long_iterations_run_at_the_same_time() {
    let pool = pool(2);
    watchdog("a loop whose two iterations meet", || {
        for _ in 0..50 {
            let met = AtomicUsize::new(0);
            pool.run(|| {
                for_each(0..2, |_| {
                    met.fetch_add(1, SeqCst);
                    common::wait_until(|| met.load(SeqCst) == 2);
                });
            });
        }
    });
}

/// Ranges of all integer types, up to their ends.
#[test]
fn every_integer_type() {
    fn check<N: bombyx::Integer + std::fmt::Debug + PartialEq>(range: Range<N>)
    where
        Range<N>: Iterator<Item = N>,
    {
        let append = |mut list: Vec<N>, mut next: Vec<N>| {
            list.append(&mut next);
            list
        };
        let list = pool(3).run(|| map_reduce(range.clone(), |n| vec![n], Vec::new, append));
        assert_eq!(list, range.collect::<Vec<N>>());
    }
    watchdog("integers", || {
        check(0..u8::MAX);
        check(i8::MIN..i8::MAX);
        check(0..u16::MAX);
        check(i16::MIN..0);
        check(u32::MAX - 500..u32::MAX);
        check(-300..300i32);
        check(i64::MIN..i64::MIN + 300);
        check(u64::MAX - 300..u64::MAX);
        check(-300..300isize);
        check(u128::MAX - 300..u128::MAX);
        check(i128::MIN..i128::MIN + 300);
        check(5..5u8);
    });
}
