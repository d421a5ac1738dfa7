//! A program to look at with `bombyx top`: it works, waits and blocks for a time, and ends as it is told.
//!
//! ```sh
//! cargo run --example busy -- SECONDS [well|status|crash|fork]
//! ```
//!
//! With `fork`, it also starts a child, which uses no pool and lives as long.

use bombyx::{blocking, join};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn fork() -> i32;
    fn _exit(status: i32) -> !;
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn rest() {
    blocking(|| std::thread::sleep(Duration::from_millis(20)));
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.first().and_then(|word| word.parse().ok()).unwrap_or(10.0);
    let end = words.get(1).map_or("well", String::as_str);
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    // Before the first line, so that whoever has read the line finds a pool.
    bombyx::Pool::global();
    println!("working for {seconds} s");
    #[cfg(target_os = "linux")]
    if end == "fork" {
        // SAFETY: the child only sleeps and ends.
        let child = unsafe { fork() };
        if child == 0 {
            std::thread::sleep(Duration::from_secs_f64(seconds));
            // SAFETY: the process ends here.
            unsafe { _exit(0) };
        }
        println!("child {child}");
    }
    while Instant::now() < until {
        join(|| std::hint::black_box(fib(22)), rest);
    }
    match end {
        "crash" => std::process::abort(),
        "status" => std::process::exit(3),
        _ => println!("done"),
    }
}
