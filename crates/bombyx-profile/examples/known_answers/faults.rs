//! Programs with exactly one fault that is not their shape: locks, shared cache lines, memory, serial code, blocking, a
//! busy machine.

use super::{Known, grind};
use bombyx::{Pool, blocking, for_each, join};
use bombyx_profile::Rule;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

/// The parallelism of a loop whose iterations disturb each other, measured with nobody to disturb them.
const LOOP: std::ops::RangeInclusive<f64> = 100.0..=1e9;

pub(super) const ALL: &[Known] = &[
    Known {
        name: "lock",
        parallelism: LOOP,
        fault: Rule::Lock,
        run: || {
            let lock = Mutex::new(());
            for_each(0..2000, |_| {
                let _held = lock.lock();
                grind(100);
            });
        },
    },
    Known {
        name: "lock-for-half",
        parallelism: LOOP,
        fault: Rule::Lock,
        run: || {
            let lock = Mutex::new(());
            for_each(0..1000, |_| {
                {
                    let _held = lock.lock();
                    grind(140);
                }
                grind(60);
            });
        },
    },
    Known {
        name: "lock-in-tree",
        parallelism: LOOP,
        fault: Rule::Lock,
        run: || {
            fn tree(depth: u32, lock: &Mutex<()>) {
                if depth == 0 {
                    let _held = lock.lock();
                    grind(200);
                } else {
                    join(|| tree(depth - 1, lock), || tree(depth - 1, lock));
                }
            }
            tree(10, &Mutex::new(()));
        },
    },
    Known {
        name: "lock-short",
        parallelism: LOOP,
        fault: Rule::Lock,
        run: || {
            let lock = Mutex::new(());
            for_each(0..20_000, |_| {
                let _held = lock.lock();
                grind(8);
            });
        },
    },
    Known {
        name: "lock-around-a-map",
        parallelism: LOOP,
        fault: Rule::Lock,
        run: || {
            let counts = Mutex::new(HashMap::new());
            for_each(0..10_000, |block| {
                let mut counts = counts.lock().expect("nobody panics");
                for word in 0..1_000 {
                    *counts.entry((block * 1_000 + word) * 7_919 % 10_007).or_insert(0) += 1;
                }
            });
            black_box(counts);
        },
    },
    Known {
        name: "spin-lock",
        parallelism: LOOP,
        fault: Rule::Sharing,
        run: || {
            let held = AtomicBool::new(false);
            for_each(0..2_000, |_| {
                while held.swap(true, Acquire) {
                    std::hint::spin_loop();
                }
                grind(100);
                held.store(false, Release);
            });
        },
    },
    Known {
        name: "false-sharing",
        parallelism: LOOP,
        fault: Rule::Sharing,
        run: || {
            let counts: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
            for_each(0..2000, |i| {
                for _ in 0..10_000 {
                    counts[i % 8].fetch_add(1, Relaxed);
                }
            });
        },
    },
    Known {
        name: "shared-counter",
        parallelism: LOOP,
        fault: Rule::Sharing,
        run: || {
            let count = AtomicU64::new(0);
            for_each(0..20_000_000, |_| {
                count.fetch_add(1, Relaxed);
            });
        },
    },
    Known { name: "memory", parallelism: LOOP, fault: Rule::Memory, run: || stream(64 << 20, 30) },
    Known {
        name: "serial-prefix",
        parallelism: 250.0..=520.0,
        fault: Rule::Outside,
        run: || {
            grind(150_000);
            for_each(0..512, |_| grind(200));
        },
    },
    Known {
        name: "serial-end",
        parallelism: 250.0..=520.0,
        fault: Rule::Outside,
        run: || {
            for_each(0..512, |_| grind(200));
            grind(150_000);
        },
    },
    Known {
        name: "serial-between",
        parallelism: 15.0..=33.0,
        fault: Rule::Outside,
        run: || {
            for _ in 0..30 {
                grind(4_000);
                for_each(0..32, |_| grind(200));
            }
        },
    },
    Known {
        name: "blocking-sleep",
        parallelism: 0.0..=101.0,
        fault: Rule::Blocked,
        run: || for_each(0..100, |_| blocking(|| std::thread::sleep(Duration::from_millis(2)))),
    },
    Known {
        name: "lock-in-blocking",
        parallelism: 0.0..=101.0,
        fault: Rule::Blocked,
        run: || {
            let lock = Mutex::new(());
            for_each(0..100, |_| {
                let _held = blocking(|| lock.lock());
                grind(1_500);
            });
        },
    },
    Known {
        name: "files-in-blocking",
        parallelism: 0.0..=101.0,
        fault: Rule::Blocked,
        run: || {
            for_each(0..64, |_| {
                grind(500);
                blocking(|| std::thread::sleep(Duration::from_millis(3)));
            });
        },
    },
    Known {
        name: "sleep-and-work",
        parallelism: 85.0..=129.0,
        fault: Rule::Waiting,
        run: || {
            for_each(0..128, |_| {
                grind(1_000);
                std::thread::sleep(Duration::from_millis(1));
            });
        },
    },
    Known {
        name: "fine-grain",
        parallelism: 100.0..=1e9,
        fault: Rule::FineGrain,
        run: || {
            black_box(fib(33));
        },
    },
    Known {
        name: "short-runs",
        parallelism: 1.0..=2.1,
        fault: Rule::ShortRuns,
        run: || {
            for _ in 0..3000 {
                join(|| grind(5), || grind(5));
            }
        },
    },
    Known {
        name: "no-forks",
        parallelism: 0.9..=1.1,
        fault: Rule::NoForks,
        run: || {
            let pool = Pool::builder().build().expect("a pool of the usual size");
            pool.run(|| grind(100_000));
        },
    },
    Known {
        name: "busy-machine",
        parallelism: 300.0..=1030.0,
        fault: Rule::MachineBusy,
        run: || {
            let done = AtomicBool::new(false);
            std::thread::scope(|threads| {
                for _ in 0..2 * std::thread::available_parallelism().map_or(2, usize::from) {
                    threads.spawn(|| {
                        while !done.load(Relaxed) {
                            grind(10);
                        }
                    });
                }
                for_each(0..1024, |_| grind(200));
                done.store(true, Relaxed);
            });
        },
    },
];

/// Adds the words of an array to those of another one, so often.
fn stream(bytes: usize, times: usize) {
    let words = bytes / size_of::<u64>();
    let from = vec![1_u64; words];
    let to: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    const BLOCK: usize = 1 << 13;
    for_each(0..times * (words / BLOCK), |block| {
        let at = block % (words / BLOCK) * BLOCK;
        for (to, from) in to[at..at + BLOCK].iter().zip(&from[at..at + BLOCK]) {
            to.store(to.load(Relaxed) + from, Relaxed);
        }
    });
    black_box(&to);
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}
