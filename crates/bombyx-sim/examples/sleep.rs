//! Simulates how processors fall asleep and wake each other, with the costs of a machine with 64 cores: Bombyx's
//! protocol, with and without a least time between its rounds, and rayon's.
//!
//! ```text
//! cargo run --release -p bombyx-sim --example sleep
//! ```

use bombyx_sim::sleep::{Costs, Load, Protocol, simulate};

fn main() {
    println!("{:?}, in nanoseconds; per region of 256 leaves", Costs::LARGE);
    println!("leaf us  pause us    P  protocol        time us   lines  interrupts   wakes  steals  sleeps");
    for (leaf, pause) in
        [(200, 0), (1_000, 0), (1_000, 50_000), (1_000, 1_000_000), (20_000, 0), (20_000, 300_000)]
    {
        for processors in [4, 16, 64] {
            let protocols = [
                ("bombyx", Protocol::Limits { apart: 8_000 }),
                ("no least time", Protocol::Limits { apart: 0 }),
                ("rayon", Protocol::Counters),
            ];
            for (name, protocol) in protocols {
                let load = Load { regions: 1_000, leaves: 256, leaf, pause };
                let bill = simulate(protocol, processors, load, Costs::LARGE, 1);
                let per = |count: u64| count as f64 / f64::from(load.regions);
                println!(
                    "{:>7}  {:>8}  {processors:>3}  {name:<14} {:>8.1} {:>7.1} {:>11.2} {:>7.2} {:>7.1} {:>7.2}",
                    leaf as f64 / 1e3,
                    pause / 1000,
                    per(bill.time) / 1e3,
                    per(bill.lines),
                    per(bill.interrupts),
                    per(bill.wakes),
                    per(bill.steals),
                    per(bill.sleeps),
                );
            }
        }
    }
}
