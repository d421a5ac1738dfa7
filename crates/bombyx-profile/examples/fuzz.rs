//! Fuzzes the readers of profiles, dag files and traces for a time: `fuzz [seconds [seed]]`. See `scripts/fuzz`.

#[path = "../fuzz/mod.rs"]
mod fuzz;

use fuzz::Fuzzer;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a whole number"));
    let seconds = arguments.next().unwrap_or(60);
    let seed = arguments.next().unwrap_or_else(|| u64::from(std::process::id()));
    println!("seed {seed}");
    let mut fuzzers =
        [fuzz::profiles(), fuzz::dags(), fuzz::traces()].map(|target| Fuzzer::new(target, seed));
    let (start, mut told) = (Instant::now(), Instant::now());
    loop {
        let over = start.elapsed() >= Duration::from_secs(seconds);
        if over || told.elapsed() >= Duration::from_secs(60) {
            told = Instant::now();
            for (name, fuzzer) in ["profiles", "dag files", "traces"].into_iter().zip(&fuzzers) {
                println!(
                    "{:>5} s  {name:9}  {:>11} executions, {} accepted, {} different answers",
                    start.elapsed().as_secs(),
                    fuzzer.executions,
                    fuzzer.accepted,
                    fuzzer.answers()
                );
            }
        }
        if over {
            return println!("no findings");
        }
        fuzzers.iter_mut().for_each(|fuzzer| (0..500).for_each(|_| fuzzer.step()));
    }
}
