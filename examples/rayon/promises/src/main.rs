//! What programs rely on in rayon beyond its results: that a thread has one index and an index has one thread, that
//! handlers run once, that a pool is as large as it says, and what it costs to use one. Each promise is a small program
//! that either holds or says how it was broken, or measures itself.
//!
//! `promises run NAME THREADS` runs one. `promises compare OTHER-BUILD` runs them on this build and on the other one,
//! in turn, each time in a separate process, and prints a table. `scripts/rayon-promises` makes both builds.

mod across;
mod blocking;
mod buried;
mod compare;
mod costs;
mod handlers;
mod identity;
mod limits;
mod locals;
mod owners;

use cores::CORE;
use std::process::ExitCode;

/// The outcome of a program: the figures that it measured, or how the promise was broken.
type Outcome = Result<Vec<Figure>, String>;

/// Something measured: its name and value. Less is better.
type Figure = (&'static str, f64);

/// A promise, and the program that checks it.
struct Promise {
    name: &'static str,
    about: &'static str,
    /// The sizes of the pool to check it with. 0 is the size that a program gets that does not ask for one.
    threads: &'static [usize],
    /// How many runs of it count as one. More for a program that measures one short moment.
    repeats: usize,
    /// Figures and the most they may be, as multiples of the original's. `cpu` is that of the whole process.
    bounds: &'static [Figure],
    check: fn(usize) -> Outcome,
}

/// A promise that is kept or broken.
const fn kept(
    name: &'static str,
    about: &'static str,
    threads: &'static [usize],
    check: fn(usize) -> Outcome,
) -> Promise {
    Promise { name, about, threads, repeats: 1, bounds: &[], check }
}

/// A promise about figures.
const fn measured(
    name: &'static str,
    about: &'static str,
    threads: &'static [usize],
    bounds: &'static [Figure],
    check: fn(usize) -> Outcome,
) -> Promise {
    Promise { name, about, threads, repeats: 1, bounds, check }
}

impl Promise {
    const fn repeated(self, repeats: usize) -> Promise {
        Promise { repeats, ..self }
    }
}

const PROMISES: &[Promise] = &[
    kept("index-across-join", "an index taken before a join is one's own after it", &[2, 4], identity::loops),
    kept("index-across-join-forced", "the same, with the bad order of events forced", &[2], identity::forced),
    kept(
        "own-threads-keep-their-index",
        "threads that the program started keep their index",
        &[2, 8],
        identity::own_threads,
    ),
    kept(
        "locals-set",
        "a thread-local that broadcast has set is set for every task",
        &[2, 4, 8],
        locals::set,
    ),
    kept(
        "locals-collected",
        "broadcast collects the thread-locals of all tasks",
        &[2, 4, 8],
        locals::collected,
    ),
    kept(
        "locals-of-own-threads",
        "the same with threads that the program started",
        &[2, 8],
        locals::of_own_threads,
    ),
    kept("start-handler-once", "the start handler runs once for each index", &[2, 4], handlers::once),
    kept("start-handler-barrier", "the start handlers may wait for each other", &[4], handlers::barrier),
    kept("start-handler-forks", "a start handler may use the pool", &[2], handlers::forks),
    kept("one-thread", "all tasks of a pool of one thread run on that thread", &[1], owners::one_thread),
    kept(
        "join-outlives-its-halves",
        "join does not return, or unwind, before both halves have ended",
        &[2],
        limits::join_outlives,
    ),
    kept(
        "filtered-system-calls",
        "a filter that allows what the original needs does not end the program",
        &[2],
        limits::filtered,
    ),
    kept(
        "sleep-together",
        "as many closures block at the same time as the pool has threads",
        &[64],
        blocking::together,
    ),
    measured(
        "blocking-in-scope",
        "spawned closures that block",
        &[64, 32, 16, 8],
        &[("ms", 1.1), ("cpu", 1.1)],
        blocking::in_scope,
    ),
    measured(
        "blocking-detached",
        "detached closures that block",
        &[64],
        &[("ms", 1.1), ("cpu", 1.1)],
        blocking::detached,
    ),
    measured(
        "first-loop",
        "the first parallel loop of a program that has another thread already",
        &[0, 2],
        &[("ms", 1.1)],
        costs::first_loop,
    )
    .repeated(5),
    measured(
        "pool-per-request",
        "build a pool, run a loop, drop it",
        &[2],
        &[("ms", 1.1), ("threads", 1.0)],
        costs::pool_per_request,
    ),
    measured(
        "pinned",
        "loops on threads that the start handler has pinned",
        &[2],
        &[("median", 1.1), ("quartile", 1.1)],
        costs::pinned,
    ),
    measured(
        "after-rest",
        "a join of 2 × 50 µs after 16 ms of rest",
        &[2],
        &[("µs", 1.05)],
        costs::after_rest,
    ),
    measured(
        "buried",
        "tasks that run on top of a wait they are no part of, and how many of these on one stack",
        &[2, 4, 8],
        &[("buried", 1.0), ("deepest", 1.0)],
        buried::trees,
    ),
    measured(
        "install-across",
        "install from a thread of one pool into another",
        &[2],
        &[("µs", 1.1)],
        across::one_by_one,
    ),
    measured(
        "installs-across",
        "many closures of one pool install into another",
        &[2],
        &[("ms", 1.1), ("cpu", 1.1)],
        across::many,
    ),
    measured(
        "threads-across",
        "the most threads while 64 installs into another pool block",
        &[64],
        &[("threads", 1.1)],
        across::threads,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", name, threads] => run(name, threads),
        ["compare", other, ref options @ ..] => compare::compare(other, options),
        _ => Err(format!("usage: run NAME THREADS | compare OTHER-BUILD {}", compare::OPTIONS)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{CORE}: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs one program: prints its figures, or how the promise was broken.
fn run(name: &str, threads: &str) -> Result<bool, String> {
    let promise = find(name)?;
    let threads = threads.parse().map_err(|_| "THREADS must be a number")?;
    if !promise.threads.contains(&0) && threads == 0 {
        return Err(format!("{name} needs a number of threads above 0"));
    }
    println!("core {CORE}");
    match (promise.check)(threads) {
        Ok(figures) => {
            for (name, value) in figures {
                println!("figure {name} {value}");
            }
            Ok(true)
        }
        Err(how) => {
            println!("broken {how}");
            Ok(false)
        }
    }
}

fn find(name: &str) -> Result<&'static Promise, String> {
    PROMISES.iter().find(|promise| promise.name == name).ok_or_else(|| {
        let names: Vec<&str> = PROMISES.iter().map(|promise| promise.name).collect();
        format!("there is no promise `{name}`; choose from {}", names.join(", "))
    })
}

/// A pool of this many threads, with nothing else chosen.
fn pool(threads: usize) -> Result<rayon::ThreadPool, String> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| error.to_string())
}

/// Fails with `how` unless `holds`.
fn ensure(holds: bool, how: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(Vec::new()) } else { Err(how()) }
}

/// Keeps a core busy for this many microseconds.
fn spin(microseconds: u64) {
    let begin = std::time::Instant::now();
    while begin.elapsed().as_micros() < u128::from(microseconds) {
        std::hint::spin_loop();
    }
}

/// A nested loop of uneven parts, which makes threads wait for each other. Calls `leaf` `rows` × `columns` times.
fn nested_loop(rows: u64, columns: u64, leaf: impl Fn(u64, u64) + Sync) {
    use rayon::prelude::*;
    (0..rows).into_par_iter().for_each(|row| {
        (0..columns).into_par_iter().for_each(|column| {
            let rounds = 200 + 800 * u64::from((row + column) % 7 == 0);
            let mixed = (0..rounds)
                .fold(row ^ column, |mixed, round| std::hint::black_box(mixed.rotate_left(3) ^ round));
            std::hint::black_box(mixed);
            leaf(row, column);
        });
    });
}
