//! What rayon's iterators do not have: sums of floats that do not depend on who helped, and streams in bounded memory.

use bombyx::prelude::*;
use bombyx::{Error, Pool, Scheduler};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// Calls `f` in pools of all schedulers, with one to sixteen processors.
fn everywhere(f: impl Fn() + Sync) {
    for scheduler in SCHEDULERS {
        for processors in [1, 2, 3, 7, 16] {
            let scheduler: Scheduler =
                scheduler.parse().unwrap_or_else(|error| panic!("{scheduler}: {error}"));
            match Pool::builder().processors(processors).scheduler(scheduler).build() {
                Ok(pool) => pool.run(&f),
                Err(error @ (Error::Pin(_) | Error::OneCpu)) => eprintln!("{scheduler} is left out: {error}"),
                Err(error) => panic!("{scheduler}: {error}"),
            }
        }
    }
}

const SCHEDULERS: [&str; 6] =
    ["work-stealing", "heterogeneous:1.25", "dfdeques:inf", "read-write", "private-cas", "depth-first:64k"];

/// A term whose sum depends on the order.
fn term(n: u32) -> f64 {
    (f64::from(n) * 0.7).sin() * 10f64.powi((n % 19) as i32 - 9)
}

/// The bits of sums over iterators of all kinds: indexed, filtered, with inner loops, from a tree, and from a bridge.
fn sums() -> [u64; 7] {
    const N: u32 = 20_000;
    let slice: Vec<f64> = (0..N).map(term).collect();
    let children = |n: &u32| [2 * n, 2 * n + 1].into_iter().filter(|child| *child < N);
    let halves = |(a, b): (u32, u32)| {
        if b - a > 100 { ((a, a + (b - a) / 2), Some((a + (b - a) / 2, b))) } else { ((a, b), None) }
    };
    [
        (0..N).into_par_iter().map(term).deterministic().sum::<f64>(),
        slice.par_iter().deterministic().sum::<f64>(),
        (0..N).into_par_iter().filter(|n| n % 3 != 0).map(term).deterministic().sum::<f64>(),
        (0..N / 100)
            .into_par_iter()
            .flat_map(|n| (0..100 * n % 317).into_par_iter().map(term))
            .deterministic()
            .sum::<f64>(),
        bombyx::iter::walk_tree(1, children).map(term).deterministic().sum::<f64>(),
        bombyx::iter::split((0, N), halves)
            .map(|(a, b)| (a..b).map(term).sum::<f64>())
            .deterministic()
            .sum::<f64>(),
        (0..N).par_bridge().map(term).deterministic().reduce(|| 0.0, |a, b| a + b),
    ]
    .map(f64::to_bits)
}

#[test]
fn deterministic_sums_are_the_same_everywhere() {
    let expected = sums();
    for _ in 0..20 {
        assert_eq!(sums(), expected, "in the global pool");
    }
    everywhere(|| {
        for _ in 0..2 {
            assert_eq!(sums(), expected);
        }
    });
    // The check can fail: the terms in another order have another sum.
    let backwards = (0..20_000u32).rev().map(term).sum::<f64>();
    assert_ne!(backwards.to_bits(), expected[0]);
}

/// Streams from a source that never ends, and asserts that nothing is taken from it before `ahead` allows.
fn bounded(buffer: usize) {
    const CONSUMED: usize = 500;
    let taken = AtomicUsize::new(0);
    let computed = AtomicUsize::new(0);
    let source = || {
        (0..).inspect(|_| {
            taken.fetch_add(1, SeqCst);
        })
    };
    let op = |n: usize| {
        computed.fetch_add(1, SeqCst);
        n * n
    };

    // Item by item: never more than the buffer.
    for (n, square) in source().par_stream(buffer).map(op).take(CONSUMED).enumerate() {
        assert_eq!(square, n * n);
        let ahead = taken.load(SeqCst) - n;
        assert!(ahead <= buffer, "{ahead} items were taken before item {n} was consumed");
        assert_eq!(computed.load(SeqCst), taken.load(SeqCst), "batches are computed as a whole");
    }

    // All at once: one more batch is computed meanwhile.
    taken.store(0, SeqCst);
    computed.store(0, SeqCst);
    let stop = source().par_stream(buffer).map(op).try_fold(0, |n, square| {
        assert_eq!(square, n * n);
        (n < CONSUMED).then_some(n + 1)
    });
    assert_eq!(stop, None);
    assert!(taken.load(SeqCst) <= CONSUMED + 1 + buffer);
    taken.store(0, SeqCst);
    computed.store(0, SeqCst);
    let mut n = 0;
    source().take(CONSUMED).par_stream(buffer).map(op).for_each(|square| {
        assert_eq!(square, n * n);
        let ahead = taken.load(SeqCst) - n;
        assert!(ahead <= 2 * buffer, "{ahead} items were taken before item {n} was consumed");
        n += 1;
    });
    assert_eq!((n, computed.load(SeqCst)), (CONSUMED, CONSUMED));
}

#[test]
fn streams_are_never_far_ahead() {
    for buffer in [1, 2, 7, 64] {
        bounded(buffer);
    }
    everywhere(|| [1, 2, 7, 64].into_iter().for_each(bounded));
}

/// Outside a pool, too, [`Iterator::fold`] computes the next batch while the last one is consumed: the consumer waits until
/// it has begun.
#[test]
fn streams_overlap_with_their_consumer() {
    let overlaps = || {
        let (begun, waiting) = std::sync::mpsc::channel();
        let stream = (0..30).par_stream(10).map(move |n| begun.send(n).map(|()| n));
        stream.for_each(|n| {
            let n = n.expect("somebody listens");
            if n % 10 == 0 && n < 20 {
                while waiting.recv().expect("the stream is still there") < n + 10 {}
            }
        });
    };
    overlaps();
    Pool::builder().processors(2).build().unwrap().run(overlaps);
}

/// A stream whose consumer or whose closure panics ends with that panic, and not before the batch that is computed meanwhile.
#[test]
fn streams_panic() {
    std::panic::set_hook(Box::new(|_| ()));
    for position in 0..40 {
        for in_consumer in [true, false] {
            let run = || {
                let fail = |n| assert!(n != position, "planned");
                let stream = (0..40).par_stream(8).map(|n| {
                    if !in_consumer {
                        fail(n);
                    }
                    n
                });
                stream.for_each(|n| {
                    if in_consumer {
                        fail(n);
                    }
                });
            };
            assert!(std::panic::catch_unwind(run).is_err());
            let pool = Pool::builder().processors(2).build().unwrap();
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.run(run))).is_err());
        }
    }
}

/// The positions in between tell their progress, too, and no item is counted twice.
#[test]
fn progress_keeps_positions() {
    let done = AtomicUsize::new(0);
    let tell = |so_far, total| {
        assert_eq!(total, Some(1000));
        done.fetch_max(so_far, SeqCst);
    };
    let mut numbers = Vec::new();
    (0..1000).into_par_iter().progress(tell).collect_into_vec(&mut numbers);
    assert_eq!((numbers.len(), done.swap(0, SeqCst)), (1000, 1000));
    let zipped: Vec<_> = (0..1000).into_par_iter().progress(tell).rev().zip(numbers).collect();
    assert_eq!((zipped[0], zipped[999], done.load(SeqCst)), ((999, 0), (0, 999), 1000));
}

/// Two closures never have the same value at a time, even if closures wait for their joins.
#[test]
fn states_are_not_shared() {
    everywhere(|| {
        let states = (0..200u64).into_par_iter().with_state(|| (false, 0)).for_each(|state, n| {
            assert!(!std::mem::replace(&mut state.0, true), "in use");
            let (a, b) = bombyx::join(|| std::hint::black_box(n), || std::hint::black_box(n));
            state.1 += a + b;
            state.0 = false;
        });
        assert_eq!(states.iter().map(|state| state.1).sum::<u64>(), 200 * 199);
    });
}
