//! Loops in a profiled pool fork down to their iterations, on any number of processors. So the profile shows the loop, and not
//! the splits that thieves happened to ask for.

use bombyx::Pool;
use bombyx::prelude::*;
use std::hint::black_box;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::Duration;

const ITEMS: usize = 16;
/// Longer than any piece that the profiler takes for one strand. The test does not mind if it takes longer.
const LONG: Duration = Duration::from_millis(1);

/// How many forks the profile of a loop shows.
fn forks(processors: usize, run: impl Fn() + Send + Sync) -> u64 {
    let pool = Pool::builder().processors(processors).profile(true).build().unwrap();
    pool.run(&run);
    pool.profile().expect("profiled").forks
}

#[test]
fn long_iterations_are_forked_one_by_one() {
    for processors in [1, 4] {
        let loops: [fn(); 5] = [
            || (0..ITEMS).par_bridge().for_each(|_| sleep(LONG)),
            || bombyx::for_each(0..ITEMS, |_| sleep(LONG)),
            || (0..ITEMS).into_par_iter().for_each(|_| sleep(LONG)),
            || {
                assert_eq!(
                    vec![1; ITEMS]
                        .par_iter()
                        .map(|x| {
                            sleep(LONG);
                            x
                        })
                        .sum::<i32>(),
                    ITEMS as i32
                )
            },
            || [(); ITEMS].par_chunks(1).for_each(|_| sleep(LONG)),
        ];
        for (number, run) in loops.iter().enumerate() {
            assert_eq!(forks(processors, run), ITEMS as u64 - 1, "loop {number} on {processors} processors");
        }
    }
}

#[test]
fn inner_loops_are_forked_too() {
    let forks = forks(1, || {
        (0..4).into_par_iter().flat_map(|_| (0..4).into_par_iter()).for_each(|_| sleep(LONG));
    });
    assert_eq!(forks, 15);
}

/// Sources that are not known as a whole are cut batch by batch.
#[test]
fn batches_are_forked_in_fixed_places() {
    let parity = |n: usize| n % 2 == 0;
    for processors in [1, 4] {
        let pools = [
            Pool::builder().processors(processors).profile(true).build().unwrap(),
            Pool::builder().processors(processors).deterministic(true).build().unwrap(),
            Pool::builder().processors(processors).build().unwrap(),
        ];
        for pool in pools {
            pool.run(|| {
                assert_eq!((0..10_000).filter(|n| parity(*n)).par_bridge().sum::<usize>(), 24_995_000);
                assert_eq!((0..10_000).par_bridge().deterministic().count(), 10_000);
                assert_eq!((0..).par_bridge().find_any(|n| *n == 9_999), Some(9_999));
                assert_eq!(bombyx::iter::repeat(7).find_any(|n| *n == 7), Some(7));
                let children = |n: &usize| [2 * n, 2 * n + 1].into_iter().filter(|c| *c < 10_000);
                assert_eq!(bombyx::iter::walk_tree(1, children).deterministic().count(), 9_999);
                assert_eq!(bombyx::iter::walk_tree(1, children).max(), Some(9_999));
            });
        }
    }
}

/// How many values of their own the pieces of a loop make.
fn values<T>(new: fn() -> T, run: impl Fn(&(dyn Fn() -> T + Sync)) + Send + Sync) -> usize {
    let made = AtomicUsize::new(0);
    let counted = || {
        made.fetch_add(1, Relaxed);
        new()
    };
    Pool::builder().processors(1).profile(true).build().unwrap().run(|| run(&counted));
    made.into_inner()
}

/// Pieces that carry a map or a list are longer than others. Otherwise the profiled loop would mostly make and combine them.
#[test]
fn pieces_that_carry_something_are_longer() {
    const ITEMS: usize = 100_000;
    let items = || (0..ITEMS).into_par_iter();
    let work = |n| black_box((0..8).fold(n, |sum: usize, k| sum.rotate_left(k) ^ n));
    let list = || vec![0];
    let loops = [
        (
            "fold",
            values(|| 0, |new| assert!(items().fold(new, |sum, n| sum.max(work(n))).max().is_some())),
            values(list, |new| {
                let longest = items().fold(new, |sums, n| vec![sums[0].max(work(n))]);
                assert!(longest.max().is_some());
            }),
        ),
        (
            "reduce",
            values(|| 0, |new| assert!(items().map(|n| vec![work(n)][0]).reduce(new, usize::max) > 0)),
            values(list, |new| {
                assert!(items().map(|n| vec![work(n)]).reduce(new, |a, b| a.max(b))[0] > 0);
            }),
        ),
        (
            "for_each_init",
            values(|| 0, |new| items().for_each_init(new, |last, n| *last = work(n))),
            values(list, |new| items().for_each_init(new, |last, n| last[0] = work(n))),
        ),
    ];
    // About 25 times as long, if an item takes as long in both.
    for (name, light, heavy) in loops {
        assert!(heavy * 4 < light, "{name}: {heavy} values instead of {light}");
    }
}
