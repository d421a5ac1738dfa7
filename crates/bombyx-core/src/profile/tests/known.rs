//! Programs whose parallelism and fault are known, in virtual time: the answers are exact, and the same on any number of
//! processors. Those whose fault shows only in real time are in `bombyx-profile` (`scripts/known-answers`).

use super::{NOTHING, advance, instant, pool};
use crate::{blocking, for_each, join, map_reduce, scope};
use bombyx_profile::{Rule, advise};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;

struct Known {
    name: &'static str,
    /// Work and span.
    work: u64,
    span: u64,
    fault: Rule,
    run: fn(),
}

fn tree(depth: u32, ticks: u64) {
    if depth == 0 {
        instant(ticks);
    } else {
        join(|| tree(depth - 1, ticks), || tree(depth - 1, ticks));
    }
}

fn line(count: u32, ticks: u64) {
    if count > 0 {
        join(|| instant(ticks), || line(count - 1, ticks));
    }
}

/// Serial work after the halves, as much on each level.
fn merging(depth: u32, ticks: u64) {
    if depth > 0 {
        join(|| merging(depth - 1, ticks / 2), || merging(depth - 1, ticks / 2));
    }
    instant(ticks);
}

/// Each piece makes a list of its own, so pieces are not cut below 100 µs.
fn lists() {
    let item = |i| {
        instant(20 * US);
        vec![i]
    };
    let pieces = AtomicUsize::new(0);
    let list = || {
        pieces.fetch_add(1, Relaxed);
        Vec::new()
    };
    let all = map_reduce(0..1024, item, list, |first, second| [first, second].concat());
    assert!(all.into_iter().eq(0..1024));
    // Until a piece has ended, its length is not known. Until then, each of up to 16 processors makes two cuts too many.
    assert!((256..=256 + 2 * 16).contains(&pieces.into_inner()));
}

const ALL: &[Known] = &[
    Known {
        name: "equal items",
        work: 4096 * 100 * US,
        span: 100 * US,
        fault: Rule::Fine,
        run: || for_each(0..4096, |_| instant(100 * US)),
    },
    Known {
        name: "items of 5 ms",
        work: 500 * MS,
        span: 5 * MS,
        fault: Rule::Fine,
        run: || for_each(0..100, |_| instant(5 * MS)),
    },
    Known {
        name: "a reduction",
        work: 1024 * 20 * US,
        span: 20 * US,
        fault: Rule::Fine,
        run: || {
            map_reduce(0..1024, |_| instant(20 * US), || (), |(), ()| ());
        },
    },
    Known {
        name: "a reduction of lists",
        work: 1024 * 20 * US,
        span: 20 * US,
        fault: Rule::Fine,
        run: lists,
    },
    Known {
        name: "one long item",
        work: 498 * MS,
        span: 300 * MS,
        fault: Rule::LongPiece,
        run: || for_each(0..100, |i| instant(if i == 40 { 300 * MS } else { 2 * MS })),
    },
    Known {
        name: "three items",
        work: 180 * MS,
        span: 60 * MS,
        fault: Rule::FewPieces,
        run: || for_each(0..3, |_| instant(60 * MS)),
    },
    Known {
        name: "loops in a loop",
        work: 1024 * 50 * US,
        span: 50 * US,
        fault: Rule::Fine,
        run: || for_each(0..32, |_| for_each(0..32, |_| instant(50 * US))),
    },
    Known {
        name: "two loops",
        work: 1024 * 50 * US,
        span: 100 * US,
        fault: Rule::Fine,
        run: || {
            for_each(0..512, |_| instant(50 * US));
            for_each(0..512, |_| instant(50 * US));
        },
    },
    Known {
        name: "a tree",
        work: 1024 * 50 * US,
        span: 50 * US,
        fault: Rule::Fine,
        run: || tree(10, 50 * US),
    },
    Known {
        name: "a line",
        work: 256 * 50 * US,
        span: 50 * US,
        fault: Rule::Fine,
        run: || line(256, 50 * US),
    },
    Known {
        name: "a serial half",
        work: 102_400 * US,
        span: 51_300 * US,
        fault: Rule::LowParallelism,
        run: || {
            instant(51_200 * US);
            for_each(0..512, |_| instant(100 * US));
        },
    },
    Known {
        name: "serial merges",
        work: 5 * 16 * MS,
        span: 31 * MS,
        fault: Rule::LowParallelism,
        run: || merging(4, 16 * MS),
    },
    Known {
        name: "a pipeline",
        work: 20 * 25 * MS,
        span: (20 * 5 + 20) * MS,
        fault: Rule::LowParallelism,
        run: || {
            scope(|s| {
                for _ in 0..20 {
                    instant(5 * MS);
                    s.spawn(|_| instant(20 * MS));
                }
            });
        },
    },
    Known {
        name: "closures of a scope",
        work: 256 * MS,
        span: MS,
        fault: Rule::Fine,
        run: || {
            scope(|s| (0..256).for_each(|_| s.spawn(|_| instant(MS))));
        },
    },
    Known {
        name: "blocking",
        work: 64 * MS,
        span: 4 * MS,
        fault: Rule::Blocked,
        run: || {
            for_each(0..64, |_| {
                instant(MS);
                blocking(|| advance(3 * MS));
            });
        },
    },
    Known { name: "tiny leaves", work: 50 << 14, span: 50, fault: Rule::FineGrain, run: || tree(14, 50) },
    Known {
        name: "nothing forked",
        work: 9 * MS,
        span: 9 * MS,
        fault: Rule::NoForks,
        run: || instant(9 * MS),
    },
];

#[test]
fn answers_are_right_on_any_number_of_processors() {
    for known in ALL {
        for processors in [1, 2, 16] {
            let pool = pool(processors, NOTHING);
            pool.run(known.run);
            let mut profile = pool.profile().unwrap();
            assert_eq!(
                (profile.work_ns, profile.span_ns),
                (known.work, known.span),
                "{} on {processors} processors",
                known.name
            );
            // Idle processors and the time between runs pass in real time.
            profile.per_processor.clear();
            profile.gaps.clear();
            let advice = advise(&profile, 8);
            assert_eq!(advice[0].rule, known.fault, "{} on {processors} processors: {advice:?}", known.name);
        }
    }
}
