//! How long a thief waits for a victim that is deep in a serial piece, with each scheduler.
//!
//! There are two processors. One is busy for a quarter of the time that a leaf takes. Meanwhile the other one forks a
//! second leaf and runs the first. A scheduler that robs without the victim's help starts the second leaf when the
//! first processor has become idle, so both have ended after 1.25 leaves. With private deques, the second leaf starts
//! when the victim polls: at a checkpoint, or else at its end. In the latter case both together take 2 leaves.
//!
//! `cargo run --release -p bombyx-core --example serial_leaf`

use bombyx::{Pool, checkpoint, join};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LEAF: Duration = Duration::from_millis(8);
const ROUNDS: usize = 9;

fn main() -> Result<(), bombyx::Error> {
    println!("time until two leaves of {LEAF:?} have ended, in leaves (median of {ROUNDS})");
    println!("{:<20} {:>10} {:>17}", "scheduler", "no polls", "a poll per 100 µs");
    for scheduler in ["work-stealing", "private-cas", "read-write-steals", "read-write"] {
        let pool = Pool::builder().processors(2).scheduler(scheduler.parse()?).build()?;
        println!("{scheduler:<20} {:>10.2} {:>17.2}", median(&pool, false), median(&pool, true));
    }
    Ok(())
}

fn median(pool: &Pool, polls: bool) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| round(pool, polls)).collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// The time that the two leaves take, in leaves.
fn round(pool: &Pool, polls: bool) -> f64 {
    let busy = AtomicBool::new(false);
    let (time, ()) = pool.run(|| {
        join(
            || {
                while !busy.load(Ordering::Acquire) {
                    checkpoint();
                }
                let start = Instant::now();
                join(|| leaf(LEAF, polls), || leaf(LEAF, polls));
                start.elapsed().as_secs_f64() / LEAF.as_secs_f64()
            },
            || {
                busy.store(true, Ordering::Release);
                leaf(LEAF / 4, false);
            },
        )
    });
    time
}

/// Takes this long.
fn leaf(time: Duration, polls: bool) {
    let start = Instant::now();
    let mut polled = start;
    while start.elapsed() < time {
        if polls && polled.elapsed() > Duration::from_micros(100) {
            checkpoint();
            polled = Instant::now();
        }
        std::hint::spin_loop();
    }
}
