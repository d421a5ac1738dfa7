//! What it costs to start a pool, to wake one, and to use one whose threads are pinned.

use crate::{Outcome, pool, spin};
use cores::process::median;
use rayon::prelude::*;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

fn milliseconds(f: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    f();
    begin.elapsed().as_secs_f64() * 1e3
}

fn small_loop(length: u64) {
    std::hint::black_box((0..length).into_par_iter().map(|x| x * x % 7).sum::<u64>());
}

/// The first loop in the global pool, in a program that has another thread already. With 0 threads the loop itself builds
/// the pool, which finds out how many threads it should have.
pub(crate) fn first_loop(threads: usize) -> Outcome {
    let (end, ended) = channel::<()>();
    let other = thread::spawn(move || ended.recv().is_err());
    thread::sleep(Duration::from_millis(5));
    let time = milliseconds(|| {
        if threads > 0 {
            let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
            built.expect("the global pool is built once");
        }
        small_loop(10_000);
    });
    drop(end);
    other.join().map_err(|_| "the other thread has panicked")?;
    Ok(vec![("ms", time)])
}

/// A pool for each request.
pub(crate) fn pool_per_request(threads: usize) -> Outcome {
    let mut most = 0;
    let mut times = Vec::new();
    for round in 0..500 {
        let begin = Instant::now();
        let pool = pool(threads)?;
        pool.install(|| small_loop(2000));
        if round % 50 == 0 {
            // Not timed: counts the pool's threads, including those of pools that are ending.
            thread::sleep(Duration::from_millis(2));
            most = most.max(threads_now()?);
        } else {
            drop(pool);
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(vec![("ms", median(&mut times)), ("threads", most as f64)])
}

/// How many threads this process has.
pub(crate) fn threads_now() -> Result<usize, String> {
    std::fs::read_dir("/proc/self/task").map(Iterator::count).map_err(|error| error.to_string())
}

/// Uneven nested loops on threads that were pinned to the CPU with their index.
pub(crate) fn pinned(threads: usize) -> Outcome {
    let cpus = thread::available_parallelism().map_err(|error| error.to_string())?.get();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(move |index| pin_to(index % cpus))
        .build()
        .map_err(|error| error.to_string())?;
    let mut times: Vec<f64> = (0..60)
        .map(|_| {
            milliseconds(|| {
                pool.install(|| {
                    (0..64u64).into_par_iter().for_each(|row| {
                        (0..32u64)
                            .into_par_iter()
                            .for_each(|column| count_to(400 * (1 + (row * 7 + column * 13) % 60)));
                    });
                });
            })
        })
        .collect();
    let median = median(&mut times);
    Ok(vec![("median", median), ("quartile", times[times.len() * 3 / 4])])
}

fn count_to(length: u64) {
    let mixed =
        (0..length).fold(length, |x, _| std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005) + 1));
    std::hint::black_box(mixed);
}

fn pin_to(cpu: usize) {
    // SAFETY: zeros are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` is far below the size of the set, which is there for the call.
    let done = unsafe {
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
    };
    assert_eq!(done, 0, "pinning to CPU {cpu} failed");
}

/// A join from outside the pool, which has gone to sleep.
pub(crate) fn after_rest(threads: usize) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| error.to_string())?;
    rayon::join(|| (), || ());
    let mut times: Vec<f64> = (0..100)
        .map(|_| {
            thread::sleep(Duration::from_millis(16));
            1e3 * milliseconds(|| {
                rayon::join(|| spin(50), || spin(50));
            })
        })
        .collect();
    Ok(vec![("µs", median(&mut times))])
}
