//! What a fork costs with each scheduler: fib without cut-off on one processor. The schedulers take turns. Prints
//! medians, bests, and their ratios to `work-stealing`.
//!
//! `cargo run --release -p bombyx-core --example fork_cost -- [N [rounds [scheduler…]]]`. Defaults: 38, 15 and six
//! schedulers.

use bombyx::{Pool, Scheduler, join};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const SCHEDULERS: [&str; 6] =
    ["work-stealing", "dfdeques:inf", "dfdeques:50000", "private-cas", "read-write-steals", "read-write"];

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(move || fib(n - 1), move || fib(n - 2));
    a + b
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let n: u64 = arguments.first().map_or(Ok(38), |n| n.parse())?;
    let rounds = arguments.get(1).map_or(Ok(15), |rounds| rounds.parse::<usize>())?.max(1);
    let mut names: Vec<&str> = arguments.iter().skip(2).map(String::as_str).collect();
    if names.is_empty() {
        names = SCHEDULERS.to_vec();
    }
    let pools = names
        .iter()
        .map(|name| Ok(Pool::builder().processors(1).scheduler(name.parse::<Scheduler>()?).build()?))
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let mut times = vec![Vec::new(); pools.len()];
    for round in 0..=rounds {
        for (pool, times) in pools.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(pool.run(|| fib(black_box(n))));
            // The first round warms up.
            if round > 0 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    println!("fib({n}), P = 1, {rounds} interleaved rounds");
    println!("| scheduler | median | × | best | × |");
    println!("|---|---|---|---|---|");
    let mut first = None;
    for (name, times) in names.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let (median, best) = (times[times.len() / 2], times[0]);
        let &mut (median0, best0) = first.get_or_insert((median, best));
        println!(
            "| `{name}` | {:.0} ms | {:.3} | {:.0} ms | {:.3} |",
            median * 1e3,
            median / median0,
            best * 1e3,
            best / best0
        );
    }
    Ok(())
}
