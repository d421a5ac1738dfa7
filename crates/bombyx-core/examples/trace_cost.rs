//! What tracing costs: the time of an event, and the time of a tree of forks with and without a trace. Runs itself several
//! times, with and without `BOMBYX_TRACE` in turns, and prints medians.

use bombyx::{Pool, join, scope};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

const ROUNDS: usize = 9;
const SCOPES: u32 = 1_000_000;
/// An empty scope is entered and left.
const EVENTS_PER_SCOPE: f64 = 2.0;

fn tree(depth: u32) -> u64 {
    if depth == 0 {
        // About 20 µs: a medium grain.
        return (0..20_000_u64).fold(1, |a, b| black_box(a.wrapping_mul(31) ^ b));
    }
    let (left, right) = join(|| tree(depth - 1), || tree(depth - 1));
    left ^ right
}

/// Nanoseconds per scope on one processor, and per tree on two.
fn measure() -> [f64; 2] {
    let one = Pool::builder().processors(1).build().expect("a small pool");
    let two = Pool::builder().processors(2).build().expect("a small pool");
    let start = Instant::now();
    one.run(|| (0..SCOPES).for_each(|_| scope(|_| ())));
    let scopes = start.elapsed().as_nanos() as f64 / f64::from(SCOPES);
    two.run(|| tree(10));
    let start = Instant::now();
    black_box(two.run(|| (0..20).fold(0, |sum, _| sum ^ tree(10))));
    [scopes, start.elapsed().as_nanos() as f64 / 20.0]
}

fn main() {
    if env::args().nth(1).as_deref() == Some("measure") {
        let [scope, tree] = measure();
        return println!("{scope} {tree}");
    }
    let file = env::temp_dir().join(format!("bombyx-trace-cost-{}.trace", std::process::id()));
    let run = |traced: bool| -> [f64; 2] {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        command.arg("measure").env_remove("BOMBYX_TRACE");
        if traced {
            command.env("BOMBYX_TRACE", &file);
        }
        let output = command.output().expect("this program can be run again");
        let text = String::from_utf8(output.stdout).expect("numbers");
        let mut numbers = text.split_whitespace().map(|number| number.parse().expect("a number"));
        [(); 2].map(|()| numbers.next().expect("two numbers"))
    };
    let rounds: Vec<[[f64; 2]; 2]> = (0..ROUNDS).map(|_| [run(false), run(true)]).collect();
    let median = |mut all: Vec<f64>| {
        all.sort_unstable_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let of = |traced: usize, what: usize| median(rounds.iter().map(|round| round[traced][what]).collect());
    let event = (of(1, 0) - of(0, 0)) / EVENTS_PER_SCOPE;
    println!("an empty scope: {:.1} ns, traced {:.1} ns: {event:.1} ns per event", of(0, 0), of(1, 0));
    let ratio = median(rounds.iter().map(|round| round[1][1] / round[0][1]).collect());
    println!(
        "a tree of 1,024 leaves of about 20 µs on 2 processors: traced {:.2} % longer",
        100.0 * (ratio - 1.0)
    );
    let size = fs::metadata(&file).map_or(0, |file| file.len());
    println!("the last trace has {size} bytes");
    let _ = fs::remove_file(&file);
}
