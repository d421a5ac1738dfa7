//! What a call costs: the same work in calls of 1 ms to 1 s, on `local` and on another engine, in turns. Prints a
//! table. The column `limit` is the overhead if no core had ever been idle: what the engine computes beside the calls, spread
//! over all cores. It means something if as many calls run at a time as there are cores, and nothing else runs.
//!
//! `BOMBYX_PYTHON=… cargo run --release -p bombyx-cluster --example grain -- dask-local:2 2`. Arguments: the engine,
//! the number of calls that run at a time, seconds of work for each of them (default 2), turns (default 3), and one
//! grain in milliseconds (default: 1 to 1000).

use bombyx_cluster::{Cluster, remote, work_if_worker};
use std::time::{Duration, Instant};

/// This many rounds of arithmetic: the same work wherever it runs.
#[remote]
fn work(rounds: u64) -> u64 {
    (0..rounds)
        .fold(1, |x: u64, i| std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i)))
}

/// The time that all cores together have been busy since the machine started. `None` where the kernel does not tell.
fn busy() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>().ok()?;
    // user, nice, system, idle, waiting for input, interrupts, soft interrupts; in hundredths of a second
    let [user, nice, system, _, _, hard, soft, ..] = fields[..] else { return None };
    Some(Duration::from_millis(10 * (user + nice + system + hard + soft)))
}

/// How long the calls take, and how long all cores together were busy meanwhile.
fn time(cluster: &Cluster, calls: usize, rounds: u64, in_flight: usize) -> (f64, Option<f64>) {
    let (began, busy_before) = (Instant::now(), busy());
    let sum = cluster.map(work, std::iter::repeat_n(rounds, calls)).in_flight(in_flight);
    sum.for_each(|result| {
        std::hint::black_box(result.expect("no call is lost"));
    });
    let time = began.elapsed().as_secs_f64();
    (time, busy().zip(busy_before).map(|(after, before)| (after - before).as_secs_f64()))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    work_if_worker();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = arguments.first().map_or("processes:2", String::as_str);
    let slots: usize = arguments.get(1).map_or(Ok(2), |text| text.parse())?;
    let seconds: f64 = arguments.get(2).map_or(Ok(2.0), |text| text.parse())?;
    let turns: usize = arguments.get(3).map_or(Ok(3), |text| text.parse())?;
    let local = Cluster::builder().address(format_args!("local:{slots}")).start()?;
    let other = Cluster::builder().address(address).start()?;
    let cores = std::thread::available_parallelism()?.get() as f64;
    let began = Instant::now();
    work(100_000_000);
    let per_second = 1e8 / began.elapsed().as_secs_f64();
    println!("{address} against local:{slots}, {seconds} s of work each, medians of {turns} turns");
    println!(
        "{:>8} {:>7} {:>10} {:>10} {:>10} {:>10} {:>14} {:>12}",
        "grain", "calls", "local", "engine", "overhead", "limit", "added per call", "calls per s"
    );
    let grains = match arguments.get(4) {
        Some(milliseconds) => vec![milliseconds.parse::<f64>()? / 1e3],
        None => vec![0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
    };
    for grain in grains {
        let calls = ((seconds * slots as f64 / grain) as usize).max(2 * slots);
        let rounds = (grain * per_second) as u64;
        let (mut here, mut there, mut busy) = (Vec::new(), Vec::new(), Vec::new());
        time(&other, 4 * slots, 1, 4 * slots);
        for _ in 0..turns {
            here.push(time(&local, calls, rounds, 8 * slots).0);
            let (time, all_cores) = time(&other, calls, rounds, 8 * slots);
            there.push(time);
            busy.extend(all_cores);
        }
        let (here, there) = (median(here), median(there));
        let percent = |time: f64| 100.0 * (time / here - 1.0);
        let limit = match busy[..] {
            [] => "-".to_owned(),
            _ => format!("{:.1} %", percent(median(busy) / cores)),
        };
        println!(
            "{:>5.0} ms {:>7} {:>8.3} s {:>8.3} s {:>8.1} % {:>10} {:>11.3} ms {:>12.0}",
            grain * 1e3,
            calls,
            here,
            there,
            percent(there),
            limit,
            1e3 * (there - here) * slots as f64 / calls as f64,
            calls as f64 / there
        );
    }
    Ok(())
}
