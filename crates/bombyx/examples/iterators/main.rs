//! Measures parallel iterators against an ordinary loop, rayon, orx-parallel and paralight, all in one run. The
//! contenders of a row take turns, and the median of each counts.
//!
//! ```text
//! cargo run --release -p bombyx --example iterators [-- --threads 2 --only slice/map-sum --n 100..1000000 --rounds 9]
//! ```
//!
//! A row is a source, an operation, a number of items, what an item costs, and whether the loop is entered from outside
//! or inside a pool. Only Bombyx and rayon have pools that a thread can be inside of: in the rows of the inside,
//! orx-parallel and paralight run as in those of the outside. Sorts have further rows, for slices that are not random. A row that misses a bar is measured once more, with five times the rounds. Rows whose ordinary loop
//! takes longer than `--limit` milliseconds are left out, and rows with long loops are measured in fewer rounds. A round of
//! a contender takes `--round` microseconds (500), in which it calls its loop again and again. With one thread, only the
//! ordinary loop and Bombyx run.

mod contenders;

use contenders::{Contenders, Items, OPERATIONS, Paralight, Run, SOURCES, contenders};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// What the arguments say.
struct Options {
    threads: usize,
    rounds: usize,
    only: Vec<String>,
    n: (usize, usize),
    bodies: String,
    limit: f64,
    /// How long a round of a contender should take, in nanoseconds.
    round: f64,
}

/// Nanoseconds per call, by contender.
type Medians = BTreeMap<&'static str, f64>;

const PEERS: [&str; 3] = ["rayon", "orx", "paralight"];

fn main() {
    let options = options();
    bombyx::Pool::builder().processors(options.threads).build_global().expect("no pool yet");
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global().expect("no pool yet");
    let light = paralight::threads::ThreadPoolBuilder {
        num_threads: options.threads.try_into().expect("some threads"),
        range_strategy: paralight::threads::RangeStrategy::WorkStealing,
        cpu_pinning: paralight::threads::CpuPinningPolicy::No,
    };
    let light = std::sync::Mutex::new(light.build());
    println!(
        "threads {}, rounds {}, cores {}",
        options.threads,
        options.rounds,
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    println!(
        "{:<30} {:>8} {:>5} {:>8} {:>12} {:>7} {:>7} {:>7} {:>9}  (times the serial time)",
        "source/operation", "n", "body", "entered", "serial ns", "bombyx", "rayon", "orx", "paralight"
    );
    println!(
        "(inside: bombyx and rayon in their pools; orx and paralight from outside, as nobody can be inside theirs)"
    );
    let mut rows = Vec::new();
    for source in SOURCES {
        for op in OPERATIONS {
            let name = format!("{source}/{op}");
            if !options.only.is_empty() && !options.only.iter().any(|only| name.contains(only)) {
                continue;
            }
            for n in [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000] {
                if n >= options.n.0 && n <= options.n.1 {
                    size(&options, (source, op), n, &light, &mut rows);
                }
            }
        }
    }
    if options.threads == 1 { alone(&rows) } else { summary(&rows) }
}

fn options() -> Options {
    let mut options = Options {
        threads: 2,
        rounds: 9,
        only: Vec::new(),
        n: (0, usize::MAX),
        bodies: "1ns,20ns,1us".to_owned(),
        limit: 2000.0,
        round: 500e3,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        let number =
            |text: &str| text.parse().unwrap_or_else(|_| panic!("{argument}: `{text}` is no number"));
        match argument.as_str() {
            "--threads" => options.threads = number(&value),
            "--rounds" => options.rounds = number(&value),
            "--only" => options.only = value.split(',').map(str::to_owned).collect(),
            "--n" => {
                let (from, to) = value.split_once("..").unwrap_or((&value, &value));
                options.n = (number(from), number(to));
            }
            "--bodies" => options.bodies = value,
            "--limit" => options.limit = number(&value) as f64,
            "--round" => options.round = 1e3 * number(&value) as f64,
            _ => panic!("unknown option {argument}: see the head of this program"),
        }
    }
    options
}

/// All rows of a number of items.
fn size(
    options: &Options,
    (source, op): (&str, &str),
    n: usize,
    light: &Paralight,
    rows: &mut Vec<(String, Medians)>,
) {
    let items = Items::new(n, source, op);
    for (body, nanoseconds, mut list) in [
        ("1ns", 1.0, contenders::<4>(op, source, 0, &items, light)),
        ("20ns", 20.0, contenders::<0>(op, source, 36, &items, light)),
        ("1us", 1000.0, contenders::<0>(op, source, 1150, &items, light)),
    ] {
        let longest = n as f64 * nanoseconds / 1e6;
        if list.is_empty() || longest > options.limit || !options.bodies.split(',').any(|b| b == body) {
            continue;
        }
        if options.threads == 1 {
            list.retain(|(name, _)| !PEERS.contains(name));
        }
        for entered in ["outside", "inside"] {
            let inside = entered == "inside";
            let mut medians = measure(&mut list, (options.rounds, options.round), inside);
            let again = misses(&medians, options.threads);
            if again {
                medians = measure(&mut list, (5 * options.rounds, options.round), inside);
            }
            let serial = medians["serial"];
            let ratio =
                |name| medians.get(name).map_or_else(|| "-".to_owned(), |t| format!("{:.2}", t / serial));
            let name = format!("{:<30} {n:>8} {body:>5} {entered:>8}", format!("{source}/{op}"));
            println!(
                "{name} {serial:>12.0} {:>7} {:>7} {:>7} {:>9}{}{}",
                ratio("bombyx"),
                ratio("rayon"),
                ratio("orx"),
                ratio("paralight"),
                if again { "  again" } else { "" },
                if misses(&medians, options.threads) { " missed" } else { "" }
            );
            rows.push((name, medians));
        }
    }
}

/// Nanoseconds of the shorter one of two calls, or of the only one if it is long.
fn shortest(run: &mut Run<'_>) -> f64 {
    let mut once = || {
        let start = Instant::now();
        black_box(run());
        start.elapsed().as_nanos().max(1) as f64
    };
    let first = once();
    if first > 50e6 { first } else { first.min(once()) }
}

/// The medians of all contenders, in rounds of so many nanoseconds.
fn measure(list: &mut Contenders<'_>, (rounds, round): (usize, f64), inside: bool) -> Medians {
    /// How long a row should take.
    const ROW: f64 = 1e9;
    let expected = list[0].1();
    // Each contender makes as many calls as fit a round: some take a thousand times as long as others.
    let each: Vec<f64> = list.iter_mut().map(|(_, run)| shortest(run)).collect();
    let (once, all) = (each[0], each.iter().sum::<f64>());
    let calls: Vec<usize> = each.iter().map(|once| (round / once).clamp(1.0, 4000.0) as usize).collect();
    let least = if once > 500e6 { 1.0 } else { 3.0 };
    // Rounds of a row with long loops are fewer.
    let rounds = (rounds as f64 * (ROW / (9.0 * all)).min(1.0)).max(least) as usize;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); list.len()];
    for nth in usize::from(once > 500e6)..=rounds {
        for (i, (name, run)) in list.iter_mut().enumerate() {
            let mut timed = || {
                // The threads of the contender before come to rest, and those of this one wake up.
                if once < 50e6 {
                    assert_eq!(run(), expected, "{name} is wrong");
                }
                let start = Instant::now();
                for _ in 0..calls[i] {
                    black_box(run());
                }
                start.elapsed().as_nanos() as f64 / calls[i] as f64
            };
            let time = match (*name, inside) {
                ("bombyx", true) => bombyx::Pool::global().run(timed),
                ("rayon", true) => rayon::scope(|_| timed()),
                _ => timed(),
            };
            // The first round warms up.
            if nth > 0 {
                times[i].push(time);
            }
        }
    }
    list.iter()
        .zip(times)
        .map(|((name, _), mut times)| {
            times.sort_by(f64::total_cmp);
            (*name, times[times.len() / 2])
        })
        .collect()
}

fn best_peer(row: &Medians) -> f64 {
    PEERS.iter().filter_map(|name| row.get(name)).copied().fold(f64::MAX, f64::min)
}

/// Whether a row is above one of the bars for single rows.
fn misses(row: &Medians, threads: usize) -> bool {
    let (bombyx, serial) = (row["bombyx"], row["serial"]);
    if threads == 1 {
        return serial >= 10e3 && bombyx > 1.05 * serial;
    }
    bombyx > 1.1 * best_peer(row) || bombyx > 1.15 * serial + 200.0
}

fn mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    f64::exp(sum / f64::max(count, 1.0))
}

/// Lists the rows with a ratio above the bar.
fn above(what: &str, rows: &[(String, Medians)], miss: impl Fn(&Medians) -> Option<f64>) {
    let found: Vec<_> = rows.iter().filter_map(|(name, row)| miss(row).map(|ratio| (name, ratio))).collect();
    println!("rows above {what}: {} of {}", found.len(), rows.len());
    for (name, ratio) in found {
        println!("    {name} {ratio:.2}");
    }
}

fn summary(rows: &[(String, Medians)]) {
    println!(
        "{} rows: geometric mean of bombyx / rayon {:.2}, of bombyx / best peer {:.2}",
        rows.len(),
        mean(rows.iter().map(|(_, row)| row["bombyx"] / row["rayon"])),
        mean(rows.iter().map(|(_, row)| row["bombyx"] / best_peer(row)))
    );
    let over = |row: &Medians, bar: f64| Some(row["bombyx"] / best_peer(row)).filter(|ratio| *ratio > bar);
    above("1.10 x the best peer", rows, |row| over(row, 1.1));
    above("1.25 x the best peer", rows, |row| over(row, 1.25));
    above("1.15 x serial + 200 ns", rows, |row| {
        (row["bombyx"] > 1.15 * row["serial"] + 200.0).then(|| row["bombyx"] / row["serial"])
    });
}

/// The summary of a run with one thread.
fn alone(rows: &[(String, Medians)]) {
    let long = || rows.iter().filter(|(_, row)| row["serial"] >= 10e3);
    println!(
        "{} rows of 10 us and more: geometric mean of bombyx / serial {:.3}",
        long().count(),
        mean(long().map(|(_, row)| row["bombyx"] / row["serial"]))
    );
    above("1.05 x serial where serial takes 10 us", rows, |row| {
        misses(row, 1).then(|| row["bombyx"] / row["serial"])
    });
}
