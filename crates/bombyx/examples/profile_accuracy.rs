//! Checks the profiler against the clock: programs whose leaves spin for a fixed time, so that work and span are known, on one
//! processor and on two. To be run by hand, on a quiet machine:
//!
//! ```text
//! cargo run --release -p bombyx --example profile_accuracy
//! ```
//!
//! A leaf spins for a fixed time, or longer if it is interrupted; so each tells how long it really took, and the program adds
//! that up to the work and span that the profiler should find. Medians of several runs count. Ends with an error if one is off
//! by more than 3 % on one processor, or 5 % on two.

use bombyx::{Pool, join, map_reduce, scope};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a leaf spins, in microseconds.
const LEAF: u64 = 20;
const ROUNDS: usize = 15;

/// What a piece of a program took, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Took {
    work: u64,
    span: u64,
}

impl Took {
    fn then(self, next: Took) -> Took {
        Took { work: self.work + next.work, span: self.span + next.span }
    }

    fn beside(self, other: Took) -> Took {
        Took { work: self.work + other.work, span: self.span.max(other.span) }
    }
}

fn spin(micros: u64) -> Took {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(micros) {}
    let took = start.elapsed().as_nanos() as u64;
    Took { work: took, span: took }
}

fn fork(a: impl FnOnce() -> Took + Send, b: impl FnOnce() -> Took + Send) -> Took {
    let (a, b) = join(a, b);
    a.beside(b)
}

fn tree(depth: u32) -> Took {
    if depth == 0 { spin(LEAF) } else { fork(|| tree(depth - 1), || tree(depth - 1)) }
}

fn fib(n: u64) -> Took {
    if n < 2 { spin(LEAF) } else { fork(|| fib(n - 1), || fib(n - 2)) }
}

/// Splits, then combines serially in time proportional to the size: the span is about twice the last combination.
fn sort(size: u64) -> Took {
    if size == 1 {
        spin(LEAF)
    } else {
        fork(|| sort(size / 2), || sort(size / 2)).then(spin(LEAF * size / 4))
    }
}

/// A body that spins between spawns.
fn spawns() -> Took {
    let ends = Mutex::new(Took::default());
    let body = scope(|s| {
        let mut body = Took::default();
        for i in 0..100 {
            body = body.then(spin(10));
            let (ends, start) = (&ends, body);
            s.spawn(move |_| {
                let took = spin(LEAF + i % 10);
                let mut ends = ends.lock().expect("nothing panics");
                ends.work += took.work;
                ends.span = ends.span.max(start.span + took.span);
            });
        }
        body.then(spin(100))
    });
    body.beside(ends.into_inner().expect("nothing panics"))
}

type Program = (&'static str, fn() -> Took);

const PROGRAMS: [Program; 6] = [
    ("balanced tree", || tree(8)),
    ("fib", || fib(10)),
    ("sort", || sort(64)),
    ("long second half", || spin(100).then(fork(|| tree(3), || spin(1000))).then(spin(50))),
    ("scope", spawns),
    // As long as the loop's tree of halves is fixed, its combination knows work and span.
    ("loop", || map_reduce(0..256, |_| spin(LEAF), Took::default, Took::beside)),
];

/// The relative errors of work and span, in percent, medians; and the steals.
fn errors(program: fn() -> Took, processors: usize) -> (f64, f64, u64) {
    let (mut work, mut span, mut steals) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        let builder = Pool::builder().processors(processors).deterministic(true);
        let pool = builder.profile(true).build().expect("a pool can be had");
        let took = pool.run(program);
        let profile = pool.profile().expect("the builder asks for it");
        work.push(100.0 * (profile.work_ns as f64 / took.work as f64 - 1.0));
        span.push(100.0 * (profile.span_ns as f64 / took.span as f64 - 1.0));
        steals += profile.steals;
    }
    (median(work), median(span), steals)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let mut failed = false;
    println!("{:<18} {:>2} {:>12} {:>12} {:>8}", "program", "P", "work", "span", "steals");
    for (name, program) in PROGRAMS {
        for (processors, allowed) in [(1, 3.0), (2, 5.0)] {
            let (work, span, steals) = errors(program, processors);
            let off = work.abs() > allowed || span.abs() > allowed;
            failed |= off;
            println!(
                "{name:<18} {processors:>2} {work:>+10.2} % {span:>+10.2} % {steals:>8}{}",
                if off { "  off" } else { "" }
            );
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
