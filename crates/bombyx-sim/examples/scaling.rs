//! How the cost of a simulation grows: prints a table of computations, processors, events, seconds (of processor time
//! and by the clock) and peak memory.
//!
//! `cargo run --release -p bombyx-sim --example scaling`

use bombyx_dag::generate::Spec;
use bombyx_sim::{Contention, Scheduler, Simulation};
use std::time::Instant;

/// Computations of about 10^4 … 10^7 strands, and the numbers of processors to run them on.
const RUNS: &[(&str, &[usize])] = &[
    ("fib:17", &[64]),
    ("fib:22", &[64, 4096]),
    ("fib:27", &[64, 4096]),
    ("fib:31", &[64]),
    ("loop:n=200k,work=50", &[64, 4096]),
    ("loop:n=2M,work=5", &[64]),
    ("geometric:depth=16,grain=4000", &[4096]),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("work-stealing; one line per run");
    println!(
        "{:30} {:>10} {:>5} {:>7} {:>10} {:>10} {:>11} {:>7} {:>7} {:>9} {:>9}",
        "computation",
        "strands",
        "P",
        "model",
        "makespan",
        "attempts",
        "events",
        "cpu s",
        "wall s",
        "ns/event",
        "peak MiB"
    );
    for (spec, processors) in RUNS {
        let computation = spec.parse::<Spec>()?.build()?;
        for &p in *processors {
            for contention in [Contention::default(), Contention::Denied] {
                let simulation = Simulation::new(&computation, Scheduler::WorkStealing).processors(p);
                let (begin, begin_cpu) = (Instant::now(), cpu_seconds());
                let outcome = simulation.contention(contention).run()?;
                let wall = begin.elapsed().as_secs_f64();
                let cpu = cpu_seconds().zip(begin_cpu).map_or(wall, |(end, begin)| end - begin);
                println!(
                    "{spec:30} {:>10} {p:>5} {:>7} {:>10} {:>10} {:>11} {cpu:>7.2} {wall:>7.2} {:>9.0} {:>9}",
                    computation.strand_count(),
                    contention.to_string(),
                    outcome.makespan,
                    outcome.attempts(),
                    outcome.events,
                    cpu * 1e9 / outcome.events as f64,
                    peak_mebibytes().map_or_else(|| "?".to_owned(), |m| m.to_string()),
                );
            }
        }
    }
    Ok(())
}

/// The processor time of this process so far, if the system says. On a busy machine it says more than the clock.
fn cpu_seconds() -> Option<f64> {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanoseconds: f64 = schedule.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// The most memory this process has held, if the system says.
fn peak_mebibytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 1024)
}
