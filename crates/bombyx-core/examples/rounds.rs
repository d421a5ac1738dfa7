//! Rounds of a random program of 10,000 threads with random delays and allocations, on every scheduler: nothing is
//! lost, nothing is run twice, and the heap returns to its start.
//!
//! `cargo run --release -p bombyx-core --example rounds -- [rounds [seed [scheduler]]]`; 1,000 rounds are about a minute per
//! scheduler. Aborts with a message when a round hangs for two minutes.

#[path = "../tests/common/mod.rs"]
mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, join};
use common::{Rng, schedulers, watchdog};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Instant;

const THREADS: usize = 10_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(100), |rounds| rounds.parse::<u64>());
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse::<u64>());
    let only = arguments.next().map(|name| name.parse::<Scheduler>());
    let (Ok(rounds), Ok(seed), Ok(only)) = (rounds, seed, only.transpose()) else {
        eprintln!("usage: rounds [rounds [seed [scheduler]]]");
        std::process::exit(2);
    };
    let all: Vec<Scheduler> = only.map_or_else(|| schedulers().collect(), |only| vec![only]);
    for scheduler in all {
        let start = Instant::now();
        let mut rng = Rng::new(seed);
        for round in 0..rounds {
            let processors = 1 + rng.below(16);
            let what = format!("{scheduler}, P = {processors}, seed {seed}, round {round}");
            watchdog(&what, || run(scheduler, processors, rng.next(), &what));
        }
        println!("{scheduler}: {rounds} rounds of {THREADS} threads in {:.1?}", start.elapsed());
    }
}

fn run(scheduler: Scheduler, processors: usize, seed: u64, what: &str) {
    let pool = Pool::builder().processors(processors).scheduler(scheduler).metered(true).seed(seed);
    let pool = pool.lend(false).build().expect("the pool is built");
    let runs: Vec<AtomicU8> = (0..THREADS).map(|_| AtomicU8::new(0)).collect();
    let sum = pool.run(|| thread(0..THREADS, seed, &runs));
    assert_eq!(sum, (0..THREADS as u64).sum(), "{what}: a result is wrong");
    assert!(runs.iter().all(|runs| runs.load(Relaxed) == 1), "{what}: a thread was lost or run twice");
    let stats = pool.stats();
    // What the pool itself keeps: buffers of deques and lists, and a little for each thread it started.
    let kept = 4096 * processors as u64 + 256 * stats.peak_carriers + (1 << 17);
    assert!(stats.heap <= kept, "{what}: the heap does not return to its start: {stats}");
}

/// The threads of `range`. The first one is this, and the others are divided at random among the two that it forks.
fn thread(range: std::ops::Range<usize>, seed: u64, runs: &[AtomicU8]) -> u64 {
    let Some(this) = range.clone().next() else { return 0 };
    runs[this].fetch_add(1, Relaxed);
    let mut rng = Rng::new(seed ^ (this as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let bytes = if rng.one_in(50) { 100_000 } else { rng.below(4_000) };
    let block = std::hint::black_box(vec![this as u8; bytes]);
    match rng.below(16) {
        0 => std::thread::yield_now(),
        1..4 => (0..rng.below(2_000)).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
    let rest = this + 1..range.end;
    let middle = rest.start + if rest.is_empty() { 0 } else { rng.below(rest.len() + 1) };
    let (left, right) = if rest.is_empty() {
        (0, 0)
    } else {
        join(|| thread(rest.start..middle, seed, runs), || thread(middle..rest.end, seed, runs))
    };
    assert!(block.iter().all(|&byte| byte == this as u8), "memory of a frame was overwritten");
    this as u64 + left + right
}
