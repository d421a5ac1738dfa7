//! What a fork costs while it is profiled: fib without leaves, plain and profiled, in turns, the least of several runs.
//! Run it by hand, on a quiet machine:
//!
//! ```text
//! cargo run --release -p bombyx-core --example profile_cost
//! ```
//!
//! Ends with an error above 60 ns. With an argument N it runs fib(N) once, profiled, or with `N plain`, plain. Then it
//! prints the number of forks, so that instructions can be counted:
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect=profile_cost::run target/release/examples/profile_cost 25
//! ```

use bombyx::{Pool, join};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

const N: u64 = 30;
const ROUNDS: usize = 7;
/// The most nanoseconds that profiling may add to a fork.
const ALLOWED: f64 = 60.0;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn forks(n: u64) -> u64 {
    if n < 2 { 0 } else { 1 + forks(n - 1) + forks(n - 2) }
}

/// Seconds of fib(`n`).
#[inline(never)]
fn run(n: u64, profiled: bool) -> f64 {
    let pool = Pool::builder().processors(1).profile(profiled).build().expect("a pool can be had");
    let start = Instant::now();
    black_box(pool.run(|| fib(black_box(n))));
    start.elapsed().as_secs_f64()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(n) = arguments.first().and_then(|n| n.parse().ok()) {
        run(n, arguments.get(1).is_none_or(|how| how != "plain"));
        println!("{}", forks(n));
        return ExitCode::SUCCESS;
    }
    let (mut plain, mut profiled) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        plain = plain.min(run(N, false));
        profiled = profiled.min(run(N, true));
    }
    let [plain, profiled] = [plain, profiled].map(|seconds| seconds * 1e9 / forks(N) as f64);
    let more = profiled - plain;
    println!("fib({N}): {plain:.1} ns per fork, {profiled:.1} profiled: {more:.1} ns more");
    if more <= ALLOWED { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
