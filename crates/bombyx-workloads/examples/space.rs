//! Time and memory of one workload on several schedulers: rounds in which each scheduler runs once, one after the
//! other; medians, and ratios to the first scheduler.
//!
//! `cargo run --release -p bombyx-workloads --example space -- dense-mm 8 fine 5 work-stealing dfdeques:50000 …`: the
//! workload, processors, grain, rounds, schedulers. Threads and granularity are counted in one more round, because
//! counting keeps every fork on its slow path.
//!
//! With `one-pool` before the workload, all rounds of a scheduler run one after the other on one pool, and each is shown: how
//! what a pool has learnt (`dfdeques:auto`) changes.

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, Stats};
use bombyx_workloads::{Grain, Runtime, Size};
use std::alloc::System;
use std::error::Error;

#[global_allocator]
static ALLOCATOR: bombyx::alloc::Metered<System> = bombyx::alloc::Metered::new(System);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let one_pool = arguments.first().is_some_and(|first| first == "one-pool");
    arguments.drain(..usize::from(one_pool));
    let [workload, processors, grain, rounds, schedulers @ ..] = &arguments[..] else {
        return Err("usage: space [one-pool] WORKLOAD PROCESSORS GRAIN ROUNDS SCHEDULER…".into());
    };
    let (processors, rounds): (usize, usize) = (processors.parse()?, rounds.parse()?);
    let grain: Grain = grain.parse()?;
    let schedulers: Vec<Scheduler> = schedulers.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
    let mut prepared = bombyx_workloads::find(workload)?.prepare(Size::Default, grain, 42);
    if one_pool {
        println!("{workload}, {grain} grain, P = {processors}, {rounds} runs on one pool");
        println!("| scheduler | run | time | peak heap | give-ups | dummies | K after it |");
        println!("|---|---|---|---|---|---|---|");
        for scheduler in schedulers {
            let pool = Pool::builder().processors(processors).scheduler(scheduler).metered(true).build()?;
            let mut before = pool.stats();
            for nth in 1..=rounds {
                pool.forget_peaks();
                let run = prepared.run(Runtime::Bombyx(&pool));
                prepared.check()?;
                let stats = pool.stats();
                println!(
                    "| `{scheduler}` | {nth} | {:.0} ms | {:.1} MB | {} | {} | {} |",
                    run.time.as_secs_f64() * 1e3,
                    stats.peak_heap as f64 / 1e6,
                    stats.quotas.give_ups - before.quotas.give_ups,
                    stats.quotas.dummies - before.quotas.dummies,
                    stats.quotas.quota
                );
                before = stats;
            }
        }
        return Ok(());
    }
    let mut run = |scheduler: Scheduler, counts: bool| -> Result<(f64, Stats), Box<dyn Error>> {
        let pool = Pool::builder().processors(processors).scheduler(scheduler);
        let pool = pool.metered(true).count_threads(counts).build()?;
        let run = prepared.run(Runtime::Bombyx(&pool));
        prepared.check()?;
        Ok((run.time.as_secs_f64(), pool.stats()))
    };
    let mut measured: Vec<Vec<(f64, Stats)>> = vec![Vec::new(); schedulers.len()];
    for _ in 0..rounds {
        for (scheduler, runs) in schedulers.iter().zip(&mut measured) {
            runs.push(run(*scheduler, false)?);
        }
    }
    println!("{workload}, {grain} grain, P = {processors}, medians of {rounds} interleaved rounds");
    println!(
        "| scheduler | time | × | peak heap | × | granularity | peak threads | peak deques | give-ups | dummies | K |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut first = None;
    for (scheduler, runs) in schedulers.iter().zip(&measured) {
        let time = median(runs.iter().map(|(time, _)| *time));
        let heap = median(runs.iter().map(|(_, stats)| stats.peak_heap as f64));
        let (_, stats) = run(*scheduler, true)?;
        let &mut (time0, heap0) = first.get_or_insert((time, heap));
        println!(
            "| `{scheduler}` | {:.0} ms | {:.2} | {:.1} MB | {:.2} | {:.1} | {} | {} | {} | {} | {} |",
            time * 1e3,
            time / time0,
            heap / 1e6,
            heap / heap0,
            stats.granularity().unwrap_or(0.0),
            stats.threads.peak_threads,
            stats.quotas.peak_deques,
            stats.quotas.give_ups,
            stats.quotas.dummies,
            stats.quotas.quota,
        );
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
