//! Random fork-join programs, for as long as you like, each on a pool of random size with random options. They are the
//! programs of the conformance suite, which use the whole interface, with delays, blocking, panics, nested pools,
//! callers from several threads, and pools without spare carriers.
//!
//! `BOMBYX_TEST_SCHEDULER` and `BOMBYX_TEST_PROCESSORS` choose among the schedulers and fix the number of processors;
//! `BOMBYX_TEST_CARRIERS` is `any`, `few`, `few-unblocked` or `fixed`: what carriers the programs may rely on.
//!
//! `scripts/stress [seconds [seed]]`. Prints the seed of every round, and in the end how many programs have passed.
//! `scripts/stress 1 <its seed>` repeats a round.
//! Aborts with a message when a program hangs for two minutes.

#[path = "../tests/common/mod.rs"]
mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler};
use common::program::{Program, Threads};
use common::{Rng, schedulers, watchdog};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Programs in a round, that is, on one pool.
const PROGRAMS: usize = 20;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Ok(seconds), Ok(first)) =
        (arguments.next().unwrap_or(Ok(60)), arguments.next().unwrap_or_else(|| Ok(clock())))
    else {
        eprintln!("usage: stress [seconds [seed]]");
        std::process::exit(2);
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = first;
    let mut passed = Passed::new();
    while passed.is_empty() || Instant::now() < end {
        let (scheduler, threads, programs) = round(seed);
        *passed.entry(scheduler.to_string()).or_default().entry(threads).or_default() += programs;
        seed = seed.wrapping_add(1);
    }
    report(&passed);
    let programs: usize = passed.values().flat_map(BTreeMap::values).sum();
    println!("{programs} programs passed; seeds {first} to {}", seed.wrapping_sub(1));
}

/// How many programs have passed, by scheduler and by the carriers that they rely on.
type Passed = BTreeMap<String, BTreeMap<Threads, usize>>;

fn report(passed: &Passed) {
    const KINDS: [(Threads, &str); 4] = [
        (Threads::Any, "any"),
        (Threads::Few, "few"),
        (Threads::Fixed, "fixed"),
        (Threads::FewAndNoneBlocks, "few-unblocked"),
    ];
    let row = |name: &str, cells: [String; 4]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>15}")).collect();
        println!("{name:<20}{cells}");
    };
    row("carriers", KINDS.map(|(_, name)| name.to_owned()));
    for (scheduler, programs) in passed {
        row(scheduler, KINDS.map(|(kind, _)| programs.get(&kind).copied().unwrap_or(0).to_string()));
    }
}

/// A seed that differs from run to run.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() * 1_000)
}

/// Builds a pool and executes programs on it, from one thread or from several; returns how many, and on what.
fn round(seed: u64) -> (Scheduler, Threads, usize) {
    let mut rng = Rng::new(seed);
    let most = [1, 2, 4, 16, 64][rng.below(5)];
    let random = 1 + rng.below(most);
    let processors = std::env::var("BOMBYX_TEST_PROCESSORS")
        .map_or(random, |given| given.parse().expect("BOMBYX_TEST_PROCESSORS is a number"));
    let schedulers: Vec<Scheduler> = schedulers().collect();
    let scheduler = schedulers[rng.below(schedulers.len())];
    let (fence, callers) = (rng.one_in(2), if rng.one_in(3) { 4 } else { 1 });
    let drawn = [Threads::Few, Threads::FewAndNoneBlocks, Threads::Fixed, Threads::Any][rng.below(10).min(3)];
    let threads = match std::env::var("BOMBYX_TEST_CARRIERS").as_deref() {
        Err(_) => drawn,
        Ok("any") => Threads::Any,
        Ok("few") => Threads::Few,
        Ok("few-unblocked") => Threads::FewAndNoneBlocks,
        Ok("fixed") => Threads::Fixed,
        Ok(other) => panic!("BOMBYX_TEST_CARRIERS is any, few, few-unblocked or fixed, not {other}"),
    };
    let fixed = threads == Threads::Fixed;
    let scheduler = if fixed { Scheduler::WorkStealing } else { scheduler };
    let starved = threads != Threads::Any && !fixed;
    let size = 1 << (2 + rng.below(7));
    let what = format!(
        "seed {seed}: {scheduler}, {processors} processors, fence {fence}, {callers} callers, size {size}, \
         carriers {threads:?}"
    );
    println!("{what}");
    let kind = if fixed { bombyx::Threads::Fixed } else { bombyx::Threads::Moving };
    let builder =
        Pool::builder().processors(processors).scheduler(scheduler).threads(kind).fence(fence).seed(seed);
    let pool =
        if starved { builder.max_carriers(processors) } else { builder }.build().expect("the pool is built");
    let other =
        Pool::builder().processors(1 + rng.below(4)).scheduler(scheduler).build().expect("the pool is built");
    let seeds: Vec<u64> = (0..callers).map(|_| rng.next()).collect();
    watchdog(&what, || {
        thread::scope(|s| {
            for seed in seeds {
                let (pool, other) = (&pool, &other);
                s.spawn(move || {
                    let mut rng = Rng::new(seed);
                    for _ in 0..PROGRAMS {
                        let draw = if callers > 1 { Program::draw_beside_others } else { Program::draw };
                        draw(&mut rng, size, threads).check(pool, other);
                    }
                });
            }
        });
        drop(pool);
    });
    (scheduler, threads, callers * PROGRAMS)
}
