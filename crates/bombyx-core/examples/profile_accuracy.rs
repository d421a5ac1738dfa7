//! Checks the profiler against the clock: programs whose leaves spin for a fixed time, so that work and span are known,
//! on one processor and on two. Run it by hand, on a quiet machine:
//!
//! ```text
//! cargo run --release -p bombyx-core --example profile_accuracy [MICROSECONDS]
//! ```
//!
//! A leaf spins for a fixed time, or longer if it is interrupted. So each leaf reports how long it really took by the
//! system's clock, and the program adds that up to the work and span that the profiler should find. (What reading the
//! clock takes is measured first, and printed.) All runs of a program are in one pool, and each run repeats it several
//! times. The first run, which finds new stacks, does not count. What the others find in cold caches, some microseconds
//! of the first repetition, has little weight. What remains is what forks cost without a profiler, which is work, and
//! the profiler's error. Ends with an error if the median of the runs is off by more than 3 % on one processor, or 5 %
//! on two. The spread, half of the distance between the quartiles, shows how quiet the machine was.

use bombyx::{Pool, join, map_reduce, scope};
use std::env;
use std::fmt;
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// How long a leaf spins by default, in microseconds.
const LEAF: u64 = 50;
const ROUNDS: usize = 15;
/// How often a program is repeated in one run.
const REPEATED: usize = 8;

fn leaf() -> u64 {
    static LENGTH: LazyLock<u64> =
        LazyLock::new(|| env::args().nth(1).and_then(|micros| micros.parse().ok()).unwrap_or(LEAF));
    *LENGTH
}

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
    let took = start.elapsed().as_nanos() as u64 + reading();
    Took { work: took, span: took }
}

/// The part of two readings of the clock that is not between them, in nanoseconds. It is as long as one reading takes.
fn reading() -> u64 {
    static READING: LazyLock<u64> = LazyLock::new(|| {
        let pairs = (0..10_000).map(|_| Instant::now().elapsed().as_nanos() as u64);
        pairs.min().unwrap_or(0)
    });
    *READING
}

fn fork(a: impl FnOnce() -> Took + Send, b: impl FnOnce() -> Took + Send) -> Took {
    let (a, b) = join(a, b);
    a.beside(b)
}

fn tree(depth: u32) -> Took {
    if depth == 0 { spin(leaf()) } else { fork(|| tree(depth - 1), || tree(depth - 1)) }
}

fn fib(n: u64) -> Took {
    if n < 2 { spin(leaf()) } else { fork(|| fib(n - 1), || fib(n - 2)) }
}

/// Splits, then combines serially in time proportional to the size: the span is about twice the last combination.
fn sort(size: u64) -> Took {
    if size == 1 {
        spin(leaf())
    } else {
        fork(|| sort(size / 2), || sort(size / 2)).then(spin(leaf() * size / 4))
    }
}

/// A body that spins between spawns.
fn spawns() -> Took {
    let ends = Mutex::new(Took::default());
    let body = scope(|s| {
        let mut body = Took::default();
        for i in 0..100 {
            body = body.then(spin(leaf() / 2));
            let (ends, start) = (&ends, body);
            s.spawn(move |_| {
                let took = spin(leaf() + i % 10);
                let mut ends = ends.lock().expect("nothing panics");
                ends.work += took.work;
                ends.span = ends.span.max(start.span + took.span);
            });
        }
        body.then(spin(leaf() * 5))
    });
    body.beside(ends.into_inner().expect("nothing panics"))
}

type Program = (&'static str, fn() -> Took);

const PROGRAMS: [Program; 6] = [
    ("balanced tree", || tree(8)),
    ("fib", || fib(10)),
    ("sort", || sort(64)),
    ("long second half", || {
        spin(leaf() * 5).then(fork(|| tree(3), || spin(leaf() * 50))).then(spin(leaf() * 2))
    }),
    ("scope", spawns),
    // As long as the loop's tree of halves is fixed, its combination knows work and span.
    ("loop", || map_reduce(0..256, |_| spin(leaf()), Took::default, Took::beside)),
];

/// Relative errors in percent.
struct Errors {
    median: f64,
    /// Half of the distance between the quartiles.
    spread: f64,
}

impl Errors {
    fn of(mut values: Vec<f64>) -> Errors {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values[values.len() * part / 4];
        Errors { median: at(2), spread: (at(3) - at(1)) / 2.0 }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>+6.2} ± {:<5.2} %", self.median, self.spread)
    }
}

/// The errors of work and span, and the steals.
fn errors(program: fn() -> Took, processors: usize) -> (Errors, Errors, u64) {
    let builder = Pool::builder().processors(processors).deterministic(true);
    let pool = builder.profile(true).build().expect("a pool can be had");
    let profile = || pool.profile().expect("the builder asks for it");
    let repeated = || (0..REPEATED).fold(Took::default(), |before, _| before.then(program()));
    pool.run(repeated);
    let first = profile();
    let (mut work, mut span, mut last) = (Vec::new(), Vec::new(), first.clone());
    for _ in 0..ROUNDS {
        let took = pool.run(repeated);
        // Runs that follow one another count in series.
        let next = profile();
        let off = |after: u64, before: u64, took: u64| 100.0 * ((after - before) as f64 / took as f64 - 1.0);
        work.push(off(next.work_ns, last.work_ns, took.work));
        span.push(off(next.span_ns, last.span_ns, took.span));
        last = next;
    }
    (Errors::of(work), Errors::of(span), last.steals - first.steals)
}

fn main() -> ExitCode {
    let mut failed = false;
    println!(
        "leaves of {} µs, {ROUNDS} runs of {REPEATED} repetitions; a reading of the clock takes {} ns",
        leaf(),
        reading()
    );
    println!("{:<18} {:>2} {:>16} {:>16} {:>8}", "program", "P", "work", "span", "steals");
    for (name, program) in PROGRAMS {
        for (processors, allowed) in [(1, 3.0), (2, 5.0)] {
            let (work, span, steals) = errors(program, processors);
            let off = work.median.abs() > allowed || span.median.abs() > allowed;
            failed |= off;
            println!(
                "{name:<18} {processors:>2} {work} {span} {steals:>8}{}",
                if off { "  off" } else { "" }
            );
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
