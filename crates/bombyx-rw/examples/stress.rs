//! Random small computations with a random delay before every access to a shared cell, on the scheduler with loads and
//! stores only. Each value is compared with that of plain recursion, and the threads that ran are counted.
//! `scripts/stress-rw` runs a million of them.
//!
//! `cargo run --release -p bombyx-rw --example stress -- [COMPUTATIONS [SEED]]`

#[path = "../tests/common/mod.rs"]
mod common;

use bombyx_rw::{Count, Discipline, Pool, Shaken, Ws, WsJr};
use std::time::Instant;

/// The most processors.
const PROCESSORS: u64 = 16;

fn stress<K: Discipline>(computations: u64, seed: u64) {
    let start = Instant::now();
    let each = computations.div_ceil(PROCESSORS);
    let mut done = 0;
    for processors in 1..=PROCESSORS {
        let pool = Pool::<K>::with_seed(processors as usize, seed ^ processors);
        let mut pool = pool.unwrap_or_else(|e| panic!("{e}"));
        let first = seed + (processors - 1) * each;
        common::check(&mut pool, first..first + each, 24);
        done += each;
        let counts: Vec<String> = Count::ALL
            .iter()
            .filter(|what| !what.name().starts_with("ticks"))
            .map(|&what| format!("{} {}", pool.counted(what), what.name()))
            .collect();
        println!("{}, {processors} processors: {each} computations right; {}", K::NAME, counts.join(", "));
    }
    println!("{}: {done} computations right, {:.1} s", K::NAME, start.elapsed().as_secs_f64());
}

fn main() {
    let mut args =
        std::env::args().skip(1).map(|arg| arg.parse::<u64>().unwrap_or_else(|e| panic!("`{arg}`: {e}")));
    let computations = args.next().unwrap_or(10_000);
    let seed = args.next().unwrap_or(1);
    println!("{computations} computations from seed {seed}, a delay before every access to a shared cell");
    stress::<Shaken<WsJr>>(computations, seed);
    stress::<Shaken<Ws>>(computations / 10, seed);
}
