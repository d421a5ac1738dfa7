//! What it costs a profiled program that the profiler finds the line of a loop of rayon. Run it by hand, on a quiet machine,
//! in this folder:
//!
//! ```text
//! cargo run --release --example loop_cost
//! ```
//!
//! A loop of two items forks once, inside rayon. A `join` forks once, too, but in the program itself, so nobody has to look
//! for its line. What profiling adds to the loop, less what it adds to the `join`, is the cost of looking. Ends with an error
//! above 1 µs per loop, inside a pool or outside. The first loop of each kind takes a backtrace, and costs more, once.

use rayon::prelude::*;
use std::error::Error;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The most nanoseconds that finding the line may add to a loop.
const ALLOWED: f64 = 1000.0;
const LOOPS: u32 = 20_000;
const ROUNDS: usize = 15;
const CHILD: &str = "measure";

/// A kind of loop for each number.
fn two_items<const KIND: usize>() {
    black_box([0_u8; 2]).par_iter().for_each(|item| _ = black_box((KIND, item)));
}

fn one_fork() {
    rayon::join(|| black_box(()), || black_box(()));
}

/// Nanoseconds of one call: the least of several rounds.
fn time(call: fn()) -> f64 {
    let round = || {
        let start = Instant::now();
        (0..LOOPS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(LOOPS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// The mean of the first calls of several kinds of loops.
fn first_time() -> f64 {
    const KINDS: [fn(); 8] = [
        two_items::<1>,
        two_items::<2>,
        two_items::<3>,
        two_items::<4>,
        two_items::<5>,
        two_items::<6>,
        two_items::<7>,
        two_items::<8>,
    ];
    let start = Instant::now();
    KINDS.iter().for_each(|call| call());
    start.elapsed().as_nanos() as f64 / KINDS.len() as f64
}

/// Loops and joins inside a pool, the same outside, and first loops.
fn measure() -> [f64; 5] {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool can be had");
    let inside = pool.install(|| [time(two_items::<0>), time(one_fork)]);
    let outside = [time(two_items::<0>), time(one_fork)];
    [inside[0], inside[1], outside[0], outside[1], pool.install(first_time)]
}

/// What [`measure`] finds in a process of its own.
fn measured(profiled: bool) -> Result<Vec<f64>, Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("loop-cost-{}.json", std::process::id()));
    let mut child = Command::new(std::env::current_exe()?);
    child.arg(CHILD).env("RAYON_NUM_THREADS", "1").env_remove("BOMBYX_PROFILE");
    if profiled {
        child.env("BOMBYX_PROFILE", &file);
    }
    let ended = child.output()?;
    if profiled {
        // Without it, nothing was profiled.
        std::fs::remove_file(&file)?;
    }
    let said = String::from_utf8(ended.stdout)?;
    Ok(said.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some(CHILD) {
        println!("{}", measure().map(|ns| ns.to_string()).join(" "));
        return Ok(ExitCode::SUCCESS);
    }
    let (plain, profiled) = (measured(false)?, measured(true)?);
    let mut good = true;
    for (place, at) in [("inside a pool", 0), ("outside", 2)] {
        let more = |at: usize| profiled[at] - plain[at];
        let line = more(at) - more(at + 1);
        good &= line <= ALLOWED;
        println!(
            "{place}: profiling adds {:.0} ns to a loop and {:.0} ns to a join: {line:.0} ns for the line",
            more(at),
            more(at + 1)
        );
    }
    println!("the first loop of a kind: {:.1} µs, {:.1} not profiled", profiled[4] / 1e3, plain[4] / 1e3);
    if !good {
        println!("more than the {ALLOWED:.0} ns that a line may cost");
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
