//! How long it takes to send a closure from an asynchronous runtime (tokio, with one thread) to a pool, and to await its
//! result. Compares with `rayon::spawn` and a oneshot channel. The ways take turns.
//!
//! `cargo run --profile bench-lto -p bombyx --example round_trip -- [trips [rounds]]`. Defaults: 5,000 and 21.

use bombyx::Pool;
use std::hint::black_box;
use std::time::Instant;
use tokio::sync::oneshot;

async fn with_bombyx(pool: &Pool, trips: u64) -> u64 {
    let mut sum = 0;
    for n in 0..trips {
        sum += pool.run_async(move || black_box(n)).await;
    }
    sum
}

async fn with_task(pool: &Pool, trips: u64) -> u64 {
    let mut sum = 0;
    for n in 0..trips {
        sum += pool.spawn(move || black_box(n)).await.expect("no panic");
    }
    sum
}

async fn with_rayon(pool: &rayon::ThreadPool, trips: u64) -> u64 {
    let mut sum = 0;
    for n in 0..trips {
        let (sender, receiver) = oneshot::channel();
        pool.spawn(move || sender.send(black_box(n)).expect("the caller waits"));
        sum += receiver.await.expect("the closure sends");
    }
    sum
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let trips = arguments.next().map_or(Ok(5_000), |n| n.parse::<u64>())?;
    let rounds = arguments.next().map_or(Ok(21), |n| n.parse::<usize>())?.max(1);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    println!("{trips} round trips, {rounds} interleaved rounds\n");
    println!(
        "| processors | `rayon::spawn` and oneshot | `run_async` | × | `spawn` | × |\n|---|---|---|---|---|---|"
    );
    for processors in [1, std::thread::available_parallelism()?.get()] {
        let pool = Pool::builder().processors(processors).build()?;
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(processors).build()?;
        let mut times = [const { Vec::new() }; 3];
        for round in 0..=rounds {
            for (way, times) in times.iter_mut().enumerate() {
                let start = Instant::now();
                let sum = runtime.block_on(async {
                    match way {
                        0 => with_rayon(&rayon, trips).await,
                        1 => with_bombyx(&pool, trips).await,
                        _ => with_task(&pool, trips).await,
                    }
                });
                assert_eq!(sum, trips * (trips - 1) / 2);
                // The first round warms up.
                if round > 0 {
                    times.push(start.elapsed().as_secs_f64() * 1e6 / trips as f64);
                }
            }
        }
        let [rayon, run_async, task] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!(
            "| {processors} | {rayon:.2} us | {run_async:.2} us | {:.2} | {task:.2} us | {:.2} |",
            run_async / rayon,
            task / rayon
        );
    }
    Ok(())
}
