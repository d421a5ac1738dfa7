//! What a reducer costs: finding a view, a sum over the leaves of a tree, and a sum over a loop, compared with other ways
//! to write the same program. The ways take turns. Prints medians, and their ratios to the first way of each table.
//!
//! `cargo run --profile bench-lto -p bombyx --example reducers -- [leaves [rounds]]`. Defaults: 10,000,000 and 15.

use bombyx::{Pool, Reducer, reducers::Sum};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

type Total = Reducer<Sum<u64>>;

/// The value of a leaf.
fn leaf(n: u64) -> u64 {
    n ^ (n >> 3)
}

fn returned(from: u64, to: u64) -> u64 {
    if to - from == 1 {
        return leaf(from);
    }
    let middle = from + (to - from) / 2;
    let (a, b) = bombyx::join(|| returned(from, middle), || returned(middle, to));
    a + b
}

fn reduced(from: u64, to: u64, total: &Total) {
    if to - from == 1 {
        return total.with(|total| *total += leaf(from));
    }
    let middle = from + (to - from) / 2;
    bombyx::join(|| reduced(from, middle, total), || reduced(middle, to, total));
}

fn locked(from: u64, to: u64, total: &Mutex<u64>) {
    if to - from == 1 {
        *total.lock().unwrap() += leaf(from);
        return;
    }
    let middle = from + (to - from) / 2;
    bombyx::join(|| locked(from, middle, total), || locked(middle, to, total));
}

fn rayon_returned(from: u64, to: u64) -> u64 {
    if to - from == 1 {
        return leaf(from);
    }
    let middle = from + (to - from) / 2;
    let (a, b) = rayon::join(|| rayon_returned(from, middle), || rayon_returned(middle, to));
    a + b
}

/// A name, and what computes the sum.
type Way<'a> = (&'a str, Box<dyn Fn() -> u64 + 'a>);

/// Prints the medians of `rounds` rounds, in which the ways take turns after one round that warms up.
fn compare(title: &str, leaves: u64, rounds: usize, ways: &[Way<'_>]) {
    let expected = (0..leaves).map(leaf).sum::<u64>();
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..=rounds {
        for ((name, way), times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            assert_eq!(black_box(way()), expected, "{name} is wrong");
            if round > 0 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    println!("\n| {title} | median | per leaf | × |\n|---|---|---|---|");
    let mut first = None;
    for ((name, _), times) in ways.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let ratio = median / *first.get_or_insert(median);
        let each = median * 1e9 / leaves as f64;
        println!("| {name} | {:.1} ms | {each:.2} ns | {ratio:.2} |", median * 1e3);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let leaves = arguments.next().map_or(Ok(10_000_000), |n| n.parse())?;
    let rounds = arguments.next().map_or(Ok(15), |n| n.parse::<usize>())?.max(1);
    let processors = std::thread::available_parallelism()?.get();
    println!("{leaves} leaves, {rounds} interleaved rounds");

    let serial: [Way<'_>; 2] = [
        ("a local variable", Box::new(|| (0..leaves).fold(0, |sum, n| black_box(sum + leaf(n))))),
        (
            "`Reducer::with`",
            Box::new(|| {
                let total = Total::new(Sum::new());
                (0..leaves).for_each(|n| total.with(|sum| *sum = black_box(*sum + leaf(n))));
                total.into_inner()
            }),
        ),
    ];
    compare("serial loop", leaves, rounds, &serial);

    for processors in [1, processors] {
        let pool = Pool::builder().processors(processors).build()?;
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(processors).build()?;
        let reduce = |f: &(dyn Fn(&Total) + Sync)| {
            let total = Total::new(Sum::new());
            pool.run(|| f(&total));
            total.into_inner()
        };
        let lock = |f: &(dyn Fn(&Mutex<u64>) + Sync)| {
            let total = Mutex::new(0);
            pool.run(|| f(&total));
            total.into_inner().unwrap()
        };
        let tree: [Way<'_>; 4] = [
            ("values returned by hand", Box::new(|| pool.run(|| returned(0, leaves)))),
            ("`Reducer`", Box::new(|| reduce(&|total| reduced(0, leaves, total)))),
            ("`Mutex`", Box::new(|| lock(&|total| locked(0, leaves, total)))),
            ("rayon, values returned by hand", Box::new(|| rayon.install(|| rayon_returned(0, leaves)))),
        ];
        compare(&format!("tree of joins, P = {processors}"), leaves, rounds, &tree);

        let each = |total: &Total| bombyx::for_each(0..leaves, |n| total.with(|sum| *sum += leaf(n)));
        let each_locked =
            |total: &Mutex<u64>| bombyx::for_each(0..leaves, |n| *total.lock().unwrap() += leaf(n));
        let fold =
            || (0..leaves).into_par_iter().fold(|| 0, |sum, n| sum + leaf(n)).reduce(|| 0, |a, b| a + b);
        let looped: [Way<'_>; 4] = [
            (
                "`map_reduce`",
                Box::new(|| pool.run(|| bombyx::map_reduce(0..leaves, leaf, || 0, |a, b| a + b))),
            ),
            ("`for_each` with `Reducer`", Box::new(|| reduce(&each))),
            ("`for_each` with `Mutex`", Box::new(|| lock(&each_locked))),
            ("rayon, `fold` and `reduce`", Box::new(|| rayon.install(fold))),
        ];
        compare(&format!("loop, P = {processors}"), leaves, rounds, &looped);
    }
    Ok(())
}
