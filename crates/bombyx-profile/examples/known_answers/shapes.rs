//! Programs that differ in their shape: loops by every interface, trees, scopes, pipelines.

use super::{Known, grind};
use bombyx::prelude::*;
use bombyx::{for_each, join, map_reduce, scope};
use bombyx_profile::Rule;
use std::time::Duration;

pub(super) const ALL: &[Known] = &[
    Known {
        name: "for-each",
        parallelism: 800.0..=4100.0,
        fault: Rule::Fine,
        run: || for_each(0..4096, |_| grind(50)),
    },
    Known {
        name: "for-each-short",
        parallelism: 800.0..=1e9,
        fault: Rule::Fine,
        run: || for_each(0..400_000, |_| grind(1)),
    },
    Known {
        name: "for-each-sleep",
        parallelism: 85.0..=101.0,
        fault: Rule::Waiting,
        run: || for_each(0..100, |_| std::thread::sleep(Duration::from_millis(5))),
    },
    Known {
        name: "map-reduce",
        parallelism: 400.0..=1030.0,
        fault: Rule::Fine,
        run: || {
            map_reduce(0..1024, |_| grind(200), || (), |(), ()| ());
        },
    },
    Known {
        name: "par-iter",
        parallelism: 400.0..=1030.0,
        fault: Rule::Fine,
        run: || (0..1024).into_par_iter().for_each(|_| grind(200)),
    },
    Known {
        name: "par-iter-map-sum",
        parallelism: 400.0..=1030.0,
        fault: Rule::Fine,
        run: || {
            let numbers = vec![200; 1024];
            let sum: u64 = numbers
                .par_iter()
                .map(|&number| {
                    grind(number);
                    number
                })
                .sum();
            assert_eq!(sum, 1024 * 200);
        },
    },
    Known {
        name: "par-chunks",
        parallelism: 150.0..=260.0,
        fault: Rule::Fine,
        run: || vec![0_u8; 4096].par_chunks_mut(16).for_each(|_| grind(800)),
    },
    Known {
        name: "flat-map",
        parallelism: 400.0..=1030.0,
        fault: Rule::Fine,
        run: || (0..32).into_par_iter().flat_map(|_| (0..32).into_par_iter()).for_each(|_| grind(200)),
    },
    Known {
        name: "nested-loops",
        parallelism: 400.0..=1030.0,
        fault: Rule::Fine,
        run: || for_each(0..32, |_| for_each(0..32, |_| grind(200))),
    },
    Known {
        name: "scope",
        parallelism: 80.0..=260.0,
        fault: Rule::Fine,
        run: || {
            scope(|s| {
                for _ in 0..256 {
                    s.spawn(|_| grind(800));
                }
            });
        },
    },
    Known { name: "tree", parallelism: 400.0..=1030.0, fault: Rule::Fine, run: || tree(10, 200) },
    Known { name: "lopsided-tree", parallelism: 25.0..=64.1, fault: Rule::Fine, run: || line(64, 3_000) },
    Known {
        name: "two-loops",
        parallelism: 250.0..=520.0,
        fault: Rule::Fine,
        run: || {
            for_each(0..512, |_| grind(200));
            for_each(0..512, |_| grind(200));
        },
    },
    Known {
        name: "one-long",
        parallelism: 1.5..=1.8,
        fault: Rule::LongPiece,
        run: || for_each(0..100, |i| grind(if i == 40 { 150_000 } else { 1_000 })),
    },
    Known {
        name: "one-long-par-iter",
        parallelism: 1.5..=1.8,
        fault: Rule::LongPiece,
        run: || (0..100).into_par_iter().for_each(|i| grind(if i == 40 { 150_000 } else { 1_000 })),
    },
    Known {
        name: "few-pieces",
        parallelism: 2.6..=3.1,
        fault: Rule::FewPieces,
        run: || for_each(0..3, |_| grind(60_000)),
    },
    Known {
        name: "serial-half",
        parallelism: 1.8..=2.1,
        fault: Rule::LowParallelism,
        run: || {
            join(
                || {
                    grind(100_000);
                    for_each(0..512, |_| grind(200));
                },
                || (),
            );
        },
    },
    Known {
        name: "serial-merge",
        parallelism: 3.0..=5.4,
        fault: Rule::LowParallelism,
        run: || {
            // In a pool from the beginning, so that the last merge is, too.
            join(|| merging(8, 100_000), || ());
        },
    },
    Known {
        name: "pipeline",
        parallelism: 3.6..=4.4,
        fault: Rule::LowParallelism,
        run: || {
            scope(|s| {
                for _ in 0..20 {
                    grind(2_500);
                    s.spawn(|_| grind(10_000));
                }
            });
        },
    },
    Known {
        name: "wavefront",
        parallelism: 5.0..=8.6,
        fault: Rule::LowParallelism,
        run: || {
            // In a pool from the beginning. Otherwise each loop would be a run of its own, with few pieces.
            join(
                || {
                    for width in (1..=16).chain((1..16).rev()) {
                        for_each(0..width, |_| grind(800));
                    }
                },
                || (),
            );
        },
    },
];

/// A balanced tree whose leaves compute.
fn tree(depth: u32, microseconds: u64) {
    match depth {
        0 => grind(microseconds),
        _ => {
            join(|| tree(depth - 1, microseconds), || tree(depth - 1, microseconds));
        }
    }
}

/// One leaf, beside all the others.
fn line(count: u32, microseconds: u64) {
    if count > 0 {
        join(|| grind(microseconds), || line(count - 1, microseconds));
    }
}

/// Like a merge sort: the halves in parallel, and then as much serial work as there was on each level.
fn merging(depth: u32, microseconds: u64) {
    if depth > 0 {
        join(|| merging(depth - 1, microseconds / 2), || merging(depth - 1, microseconds / 2));
    }
    grind(microseconds);
}
