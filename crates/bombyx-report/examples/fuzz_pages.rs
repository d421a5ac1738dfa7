//! Fuzzes pages and the files of other programs for a time: `fuzz_pages [seconds [seed]]`. See `scripts/fuzz`.

#[path = "../fuzz/mod.rs"]
mod fuzz;

use fuzz::{Fuzzer, targets};
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a whole number"));
    let seconds = arguments.next().unwrap_or(60);
    let seed = arguments.next().unwrap_or_else(|| u64::from(std::process::id()));
    println!("pages, seed {seed}");
    let mut fuzzers = targets().map(|(name, share, target)| (name, share, Fuzzer::new(target, seed)));
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        fuzzers.iter_mut().for_each(|(_, share, fuzzer)| (0..20 * *share).for_each(|_| fuzzer.step()));
    }
    for (name, _, fuzzer) in &fuzzers {
        let (tried, accepted, answers) = (fuzzer.executions, fuzzer.accepted, fuzzer.answers());
        println!(
            "{seconds:>5} s  {name:10}  {tried:>9} executions, {accepted} accepted, {answers} different answers"
        );
    }
    println!("no findings");
}
