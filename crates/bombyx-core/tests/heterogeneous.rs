//! `heterogeneous` in its element: CPUs that become slow and fast again while programs run. Checks results, muggings
//! and the places of carriers, never times. `examples/slow_cpu` measures how much faster it is.

#![cfg(target_os = "linux")]

mod common;

use bombyx::{Pool, Scheduler, blocking, join};
use common::program::Program;
use common::{Rng, cpus, pool, schedulers, seed, watchdog};
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const SEEDS: u64 = 20;
const PROGRAMS: usize = 8;

/// The schedulers of this file: eager and moderate. Empty if there is only one CPU.
fn heterogeneous() -> impl Iterator<Item = Scheduler> {
    let possible = schedulers().any(|scheduler| matches!(scheduler, Scheduler::Heterogeneous(_)));
    ["heterogeneous:1", "heterogeneous:1.25"]
        .into_iter()
        .filter(move |_| possible)
        .map(|name| name.parse().expect("it exists"))
}

fn build(scheduler: Scheduler, processors: usize) -> Pool {
    Pool::builder().processors(processors).scheduler(scheduler).build().expect("the pool can be built")
}

/// Runs `f` while a competing thread comes and goes on one CPU after the other.
fn with_load<R>(f: impl FnOnce() -> R) -> R {
    /// Stops even when `f` panics.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for &cpu in cpus::allowed().iter().take(2).cycle() {
                cpus::pin(&[cpu]);
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(30) {
                    if stop.load(SeqCst) {
                        return;
                    }
                    hint::spin_loop();
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        let _stop = Stop(&stop);
        f()
    })
}

/// Runs `f` while this many threads compete for a CPU, as soon as `f` has named one.
fn with_competitors<R>(competitors: usize, f: impl FnOnce(&(dyn Fn(usize) + Sync)) -> R) -> R {
    const UNNAMED: usize = usize::MAX;
    const STOP: usize = usize::MAX - 1;
    /// Stops even when `f` panics.
    struct Stop<'a>(&'a AtomicUsize);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(STOP, SeqCst);
        }
    }
    let named = AtomicUsize::new(UNNAMED);
    thread::scope(|s| {
        for _ in 0..competitors {
            s.spawn(|| {
                while named.load(SeqCst) == UNNAMED {
                    thread::sleep(Duration::from_millis(1));
                }
                if let cpu @ ..STOP = named.load(SeqCst) {
                    cpus::pin(&[cpu]);
                }
                while named.load(SeqCst) != STOP {
                    hint::spin_loop();
                }
            });
        }
        let _stop = Stop(&named);
        f(&|cpu| named.store(cpu, SeqCst))
    })
}

/// Work without forks, long enough to be mugged.
fn long_leaf() -> u64 {
    (0..20_000_000u64)
        .fold(1, |x, i| hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i)))
}

#[test]
fn conforms_under_a_load_that_comes_and_goes() {
    let first = seed();
    with_load(|| {
        for scheduler in heterogeneous() {
            for seed in (0..SEEDS).map(|offset| first.wrapping_add(offset)) {
                let (main, other) = (build(scheduler, 2), pool(2));
                let mut rng = Rng::new(seed);
                for number in 0..PROGRAMS {
                    let size = 1 + rng.below(100);
                    let program = Program::random(&mut rng, size);
                    watchdog(&format!("{scheduler}, seed {seed}, program {number}"), || {
                        program.check(&main, &other);
                    });
                }
            }
        }
    });
}

#[test]
fn long_leaves_keep_their_results_and_threads() {
    let expected = long_leaf();
    with_load(|| {
        for scheduler in heterogeneous() {
            let pool = build(scheduler, 2);
            for _ in 0..4 {
                let leaf = || {
                    let thread = thread::current().id();
                    (long_leaf(), thread == thread::current().id())
                };
                assert_eq!(pool.run(|| join(leaf, || ())).0, (expected, true));
                assert_eq!(pool.run(|| join(|| (), leaf)).1, (expected, true));
            }
            assert_eq!(pool.stats().heterogeneous.refused, 0);
            let speeds = pool.speeds();
            assert_eq!(speeds.len(), 2);
            assert!(speeds.iter().all(|speed| (0.0..=1.0).contains(speed)), "{speeds:?}");
        }
    });
}

/// A strand names the CPU that it is on, competitors come there, and the strand goes on until it is somewhere else.
/// Only a mugging can bring it there: it is pinned, and forks nothing that could be stolen. This many competitors make
/// the CPU far slower than the other one, whatever else runs on this machine. It does not matter how long this takes.
#[test]
fn a_strand_on_a_slow_cpu_is_mugged_and_ends_elsewhere() {
    const COMPETITORS: usize = 12;
    for scheduler in heterogeneous() {
        let pool = build(scheduler, 2);
        let before = pool.stats().heterogeneous.muggings;
        let (from, to) = watchdog(&format!("{scheduler}: a strand waits to be mugged"), || {
            with_competitors(COMPETITORS, |slow_down| {
                pool.run(|| {
                    let from = cpus::here();
                    slow_down(from);
                    while cpus::here() == from {
                        hint::black_box((0..1000u64).fold(1, |x, i| x ^ i.rotate_left(7)));
                    }
                    (from, cpus::here())
                })
            })
        });
        assert_ne!(from, to, "{scheduler}");
        assert!(
            pool.stats().heterogeneous.muggings > before,
            "{scheduler}: a strand has moved, and nobody was mugged"
        );
        assert_eq!(pool.stats().heterogeneous.refused, 0);
    }
}

#[test]
fn a_carrier_runs_on_one_cpu_and_the_caller_on_all() {
    let all = cpus::allowed();
    for scheduler in heterogeneous() {
        for processors in [1, 2, 5] {
            let pool = build(scheduler, processors);
            let places = pool.run(|| {
                blocking(|| ());
                join(cpus::allowed, cpus::allowed)
            });
            assert_eq!((places.0.len(), places.1.len()), (1, 1));
        }
        assert_eq!(cpus::allowed(), all);
    }
}

#[test]
fn a_caller_stays_on_the_cpus_that_it_came_with() {
    for scheduler in heterogeneous() {
        let pool = build(scheduler, 2);
        for cpu in cpus::allowed() {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    cpus::pin(&[cpu]);
                    for _ in 0..20 {
                        pool.run(|| join(cpus::allowed, || blocking(|| ())));
                        assert_eq!(cpus::allowed(), [cpu]);
                    }
                });
            });
        }
    }
}

#[test]
fn pools_come_and_go() {
    for scheduler in heterogeneous() {
        for processors in (1..=4).cycle().take(40) {
            let pool = build(scheduler, processors);
            pool.spawn(|| ());
            assert_eq!(pool.run(|| join(|| 1, || 2)), (1, 2));
        }
    }
}

#[test]
fn pools_inside_of_each_other() {
    for scheduler in heterogeneous() {
        let (outer, inner) = (build(scheduler, 2), build(scheduler, 3));
        let sum = outer.run(|| join(|| inner.run(|| join(|| 1, || 2)), || build(scheduler, 2).run(|| 3)));
        assert_eq!(sum, ((1, 2), 3));
    }
}
