//! How long it takes to send a closure from an asynchronous runtime (tokio, with one thread) to a pool, and to await its
//! result. Compares with `rayon::spawn` and a oneshot channel, and with the least that any pool can do: a thread that does
//! nothing but wait for the next call, and wakes the caller. The ways take turns.
//!
//! `cargo run --profile bench-lto -p bombyx --example round_trip -- [trips [rounds]]`. Defaults: 5,000 and 21.

use bombyx::Pool;
use std::future::poll_fn;
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
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

/// Calls to a thread that does nothing else.
#[derive(Default)]
struct Least {
    called: AtomicU64,
    ends: AtomicBool,
    /// How many calls have ended, and who waits for the next one.
    ended: Mutex<(u64, Option<Waker>)>,
}

impl Least {
    async fn call(&self, n: u64) {
        self.called.store(n, Release);
        poll_fn(|context| {
            let mut ended = self.ended.lock().expect("nobody panics");
            if ended.0 == n {
                return Poll::Ready(());
            }
            ended.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn serve(&self) {
        let (mut served, mut since) = (0, Instant::now());
        while !self.ends.load(Relaxed) {
            let called = self.called.load(Acquire);
            if called == served {
                // The caller may have no other core.
                if since.elapsed() > Duration::from_micros(5) {
                    thread::yield_now();
                }
                continue;
            }
            served = called;
            let waker = {
                let mut ended = self.ended.lock().expect("nobody panics");
                ended.0 = called;
                ended.1.take()
            };
            waker.into_iter().for_each(Waker::wake);
            since = Instant::now();
        }
    }
}

fn with_least(runtime: &tokio::runtime::Runtime, trips: u64) -> u64 {
    let least = Least::default();
    thread::scope(|threads| {
        threads.spawn(|| least.serve());
        runtime.block_on(async {
            for n in 1..=trips {
                least.call(n).await;
            }
        });
        least.ends.store(true, Relaxed);
    });
    trips * (trips - 1) / 2
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let trips = arguments.next().map_or(Ok(5_000), |n| n.parse::<u64>())?;
    let rounds = arguments.next().map_or(Ok(21), |n| n.parse::<usize>())?.max(1);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    println!("{trips} round trips, {rounds} interleaved rounds\n");
    println!(
        "| processors | the least | `rayon::spawn` and oneshot | `run_async` | × rayon | `spawn` | × rayon |\n\
         |---|---|---|---|---|---|---|"
    );
    for processors in [1, std::thread::available_parallelism()?.get()] {
        let pool = Pool::builder().processors(processors).build()?;
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(processors).build()?;
        let mut times = [const { Vec::new() }; 4];
        for round in 0..=rounds {
            for (way, times) in times.iter_mut().enumerate() {
                let start = Instant::now();
                let sum = match way {
                    0 => with_least(&runtime, trips),
                    1 => runtime.block_on(with_rayon(&rayon, trips)),
                    2 => runtime.block_on(with_bombyx(&pool, trips)),
                    _ => runtime.block_on(with_task(&pool, trips)),
                };
                assert_eq!(sum, trips * (trips - 1) / 2);
                // The first round warms up.
                if round > 0 {
                    times.push(start.elapsed().as_secs_f64() * 1e6 / trips as f64);
                }
            }
        }
        let [least, rayon, run_async, task] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!(
            "| {processors} | {least:.2} us | {rayon:.2} us | {run_async:.2} us | {:.2} | {task:.2} us | {:.2} |",
            run_async / rayon,
            task / rayon
        );
    }
    Ok(())
}
