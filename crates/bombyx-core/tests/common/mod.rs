//! What the tests of the runtime share: a seeded random generator, a watchdog against hangs, child processes, and
//! the list of configurations that every scheduler must pass. Relies on the public API only.

// Every test file compiles this module for itself and uses its part of it.
#![allow(dead_code)]

pub(crate) mod child;
#[cfg(target_os = "linux")]
pub(crate) mod cpus;
pub(crate) mod program;
pub(crate) mod trace;

use bombyx::lab::BuilderExt as _;
use bombyx::{Builder, Error, Pool, Scheduler};
use std::alloc::System;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Every test is metered, so that schedulers with a quota use it up.
#[global_allocator]
static ALLOCATOR: bombyx::alloc::Metered<System> = bombyx::alloc::Metered::new(System);

/// The parameters of those schedulers that take one.
const PARAMETERS: &[(&str, &[&str])] =
    &[("heterogeneous", &["1.25"]), ("dfdeques", &["1000", "auto", "inf"]), ("depth-first", &["1000"])];

/// The names of all schedulers, with their parameters. All of them must pass the conformance suite.
fn names() -> impl Iterator<Item = String> {
    Scheduler::NAMES.iter().flat_map(|name| match name.split_once(':') {
        None => vec![(*name).to_owned()],
        Some((name, _)) => {
            let (_, given) = PARAMETERS.iter().find(|(of, _)| *of == name).expect("parameters for each name");
            given.iter().map(|parameter| format!("{name}:{parameter}")).collect()
        }
    })
}

/// Every scheduler that this machine allows, with `membarrier` and without.
pub(crate) fn configurations() -> impl Iterator<Item = (Scheduler, bool)> {
    schedulers().flat_map(|scheduler| [(scheduler, false), (scheduler, true)])
}

/// Every scheduler that this machine allows. Some need several CPUs, and threads that can be pinned to them. If
/// `BOMBYX_TEST_SCHEDULER` is set, only those that it names, separated by commas.
pub(crate) fn schedulers() -> impl Iterator<Item = Scheduler> {
    let chosen = std::env::var("BOMBYX_TEST_SCHEDULER").ok();
    let chosen =
        move |name: &String| chosen.as_ref().is_none_or(|list| list.split(',').any(|one| one == name));
    names().filter(chosen).filter_map(|name| {
        let scheduler: Scheduler = name.parse().expect("the table names schedulers that exist");
        match Pool::builder().processors(1).scheduler(scheduler).build() {
            Err(error @ (Error::Pin(_) | Error::OneCpu)) => {
                eprintln!("{scheduler} is left out: {error}");
                None
            }
            _ => Some(scheduler),
        }
    })
}

/// A builder for `processors` processors that ignores the environment.
pub(crate) fn builder(processors: usize) -> Builder {
    Pool::builder().processors(processors).scheduler(Scheduler::default())
}

/// A pool of `processors` processors with the defaults.
pub(crate) fn pool(processors: usize) -> Pool {
    builder(processors).build().expect("a small pool can be built")
}

/// Runs `f` with a pool of `processors` processors, once with `membarrier` and once without.
pub(crate) fn with_both_barriers(processors: usize, f: impl Fn(&Pool)) {
    for fence in [false, true] {
        f(&builder(processors).fence(fence).build().expect("a small pool can be built"));
    }
}

/// Runs `f` with a pool of `processors` processors for every scheduler, with `membarrier` and without.
pub(crate) fn with_every_scheduler(processors: usize, f: impl Fn(&Pool)) {
    with_schedulers(processors, |_| true, f);
}

/// Like [`with_every_scheduler`], for schedulers under which a frame can always go on unless it waits for something.
/// Under the others, a frame that holds a lock can lack a processor, while the threads that want the lock have all
/// processors, unless they wait for it in `blocking`.
pub(crate) fn with_schedulers_that_stop_no_frame(processors: usize, f: impl Fn(&Pool)) {
    use bombyx::Quota;
    let stops = |scheduler| match scheduler {
        Scheduler::DfDeques(quota) => quota != Quota::Infinite,
        Scheduler::DepthFirst(_) | Scheduler::Fifo => true,
        _ => false,
    };
    with_schedulers(processors, |scheduler| !stops(scheduler), f);
}

fn with_schedulers(processors: usize, wanted: impl Fn(Scheduler) -> bool, f: impl Fn(&Pool)) {
    for (scheduler, fence) in configurations().filter(|&(scheduler, _)| wanted(scheduler)) {
        println!("{scheduler}, fence {fence}, P = {processors}");
        let pool = Pool::builder().processors(processors).scheduler(scheduler).fence(fence);
        f(&pool.build().expect("a small pool can be built"));
    }
}

/// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// True with probability 1/`n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The seed of this run: `BOMBYX_TEST_SEED`, or always the same. Printed, so that a failure shows it.
pub(crate) fn seed() -> u64 {
    let seed = std::env::var("BOMBYX_TEST_SEED")
        .map_or(20_251_115, |given| given.parse().expect("BOMBYX_TEST_SEED is a number"));
    println!("BOMBYX_TEST_SEED={seed}");
    seed
}

/// How much of a long list of cases a test takes: every n-th. `BOMBYX_TEST_EVERY`, or all.
pub(crate) fn every() -> usize {
    std::env::var("BOMBYX_TEST_EVERY")
        .map_or(1, |given| given.parse().expect("BOMBYX_TEST_EVERY is a number"))
}

/// Runs `f`. If that takes more than about two minutes, says so and aborts the process.
///
/// The watchdog counts time in its own short slices, so it does not bark at a process that is stopped or starved. Like
/// the programs that it watches, it yields: on a busy machine, a yield takes much longer than a wake-up after a sleep.
pub(crate) fn watchdog<R>(what: &str, f: impl FnOnce() -> R) -> R {
    const SLICES: u32 = 1_200;
    let (ended, wait) = mpsc::channel::<()>();
    let what = what.to_owned();
    let dog = thread::spawn(move || {
        for _ in 0..SLICES {
            match wait.recv_timeout(Duration::from_millis(100)) {
                Err(mpsc::RecvTimeoutError::Timeout) => thread::yield_now(),
                _ => return,
            }
        }
        eprintln!("{what} hangs; process {} is aborted", std::process::id());
        std::process::abort();
    });
    let result = f();
    drop(ended);
    dog.join().expect("the watchdog sleeps");
    result
}

/// Waits until `condition` holds, leaving the CPU to others, and giving work away if processors must be asked for it.
/// Call this under a [`watchdog`].
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        bombyx::checkpoint();
        thread::yield_now();
    }
}

/// Adds one.
pub(crate) fn bump(count: &AtomicUsize) {
    count.fetch_add(1, SeqCst);
}

/// Counts the values that are alive, so that leaks and double drops show.
#[derive(Clone, Default)]
pub(crate) struct Census(Arc<AtomicIsize>);

/// One value that a [`Census`] counts.
pub(crate) struct Counted<T>(pub(crate) T, Census);

impl Census {
    pub(crate) fn count<T>(&self, value: T) -> Counted<T> {
        self.0.fetch_add(1, SeqCst);
        Counted(value, self.clone())
    }

    pub(crate) fn alive(&self) -> isize {
        self.0.load(SeqCst)
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.1.0.fetch_sub(1, SeqCst);
    }
}
