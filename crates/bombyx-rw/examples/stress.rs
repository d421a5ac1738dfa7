//! Random small computations with a random delay before every access to a shared cell, on the scheduler with loads and
//! stores only; each value is compared with plain recursion's. `scripts/stress-rw` runs a million of them.
//!
//! `cargo run --release -p bombyx-rw --example stress -- [COMPUTATIONS [SEED]]`

#[path = "../tests/common/mod.rs"]
mod common;

use bombyx_rw::{Count, Discipline, Pool, Shaken, Ws, WsJr};
use std::time::Instant;

/// The numbers of processors, in turn.
const PROCESSORS: [usize; 8] = [2, 3, 4, 5, 6, 8, 12, 16];

fn stress<K: Discipline>(computations: u64, seed: u64) {
    let start = Instant::now();
    let each = computations.div_ceil(PROCESSORS.len() as u64);
    let mut done = 0;
    for (nth, processors) in PROCESSORS.into_iter().enumerate() {
        let mut pool = Pool::<K>::with_seed(processors, seed ^ nth as u64).unwrap_or_else(|e| panic!("{e}"));
        let first = seed + nth as u64 * each;
        common::check(&mut pool, first..first + each, 24);
        done += each;
        let counts: Vec<String> = Count::ALL
            .iter()
            .filter(|what| !matches!(what, Count::IdleTicks | Count::WaitTicks))
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
