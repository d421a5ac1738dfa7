//! Measures parallel iterators against an ordinary loop, rayon, orx-parallel and paralight, all in one run. The
//! contenders of a row take turns, and the median of each counts.
//!
//! ```text
//! cargo run --release -p bombyx --example iterators [-- --threads 2 --rounds 9 --only sum]
//! ```
//!
//! A row is an operation, a number of items, what an item costs, and whether the loop is entered from outside or inside
//! a pool. Rows whose ordinary loop takes longer than 30 ms are left out.

use bombyx::iter::{IndexedParallelIterator as _, ParallelIterator as _};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// An item's work: `K` steps that depend on each other.
#[inline(always)]
fn body<const K: usize>(mut x: u64) -> u64 {
    for _ in 0..K {
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29);
    }
    x
}

fn hit(x: u64) -> bool {
    x.is_multiple_of(3)
}

type Run<'a> = Box<dyn FnMut() -> u64 + Send + 'a>;

/// The contenders of an operation, the ordinary loop first.
fn contenders<'a, const K: usize>(
    op: &str,
    v: &'a [u64],
    paralight: &'a std::sync::Mutex<paralight::threads::ThreadPool>,
) -> Vec<(&'static str, Run<'a>)> {
    use orx_parallel::{IterIntoParIter as _, Par as _, Parallelizable as _};
    use rayon::iter::{IndexedParallelIterator as _, ParallelIterator as _};
    macro_rules! all {
        ($($name:literal => $run:expr),* $(,)?) => { vec![$(($name, Box::new($run) as Run<'a>)),*] };
    }
    macro_rules! light {
        () => {
            &mut *paralight.lock().unwrap()
        };
    }
    match op {
        "sum" => all! {
            "serial" => move || v.iter().map(|&x| body::<K>(x)).fold(0, u64::wrapping_add),
            "bombyx" => move || bombyx_par(v).map(|&x| body::<K>(x)).map(Wrapping).sum::<Wrapping>().0,
            "rayon" => move || rayon_par(v).map(|&x| body::<K>(x)).map(Wrapping).sum::<Wrapping>().0,
            "orx" => move || v.par().map(|&x| body::<K>(x)).reduce(u64::wrapping_add).unwrap_or(0),
            "paralight" => move || {
                use paralight::iter::{IntoExactParallelRefSource as _, ParallelIteratorExt as _, ExactParallelSourceExt as _};
                v.par_iter().with_thread_pool(light!()).map(|&x| body::<K>(x)).reduce(|| 0, u64::wrapping_add)
            },
        },
        "filter-collect" => all! {
            "serial" => move || v.iter().map(|&x| body::<K>(x)).filter(|&x| hit(x)).collect::<Vec<_>>().len() as u64,
            "bombyx" => move || bombyx_par(v).map(|&x| body::<K>(x)).filter(|&x| hit(x)).collect::<Vec<_>>().len() as u64,
            "rayon" => move || rayon_par(v).map(|&x| body::<K>(x)).filter(|&x| hit(x)).collect::<Vec<_>>().len() as u64,
            "orx" => move || v.par().map(|&x| body::<K>(x)).filter(|&x| hit(x)).collect::<Vec<_>>().len() as u64,
        },
        "collect" => all! {
            "serial" => move || v.iter().map(|&x| body::<K>(x)).collect::<Vec<_>>().len() as u64,
            "bombyx" => move || bombyx_par(v).map(|&x| body::<K>(x)).collect::<Vec<_>>().len() as u64,
            "rayon" => move || rayon_par(v).map(|&x| body::<K>(x)).collect::<Vec<_>>().len() as u64,
            "orx" => move || v.par().map(|&x| body::<K>(x)).collect::<Vec<_>>().len() as u64,
        },
        "flat_map" => all! {
            "serial" => move || v.iter().flat_map(|&x| [body::<K>(x), x]).fold(0, u64::wrapping_add),
            "bombyx" => move || bombyx_par(v).flat_map_iter(|&x| [body::<K>(x), x]).reduce(|| 0, u64::wrapping_add),
            "rayon" => move || rayon_par(v).flat_map_iter(|&x| [body::<K>(x), x]).reduce(|| 0, u64::wrapping_add),
            "orx" => move || v.par().flat_map(|&x| [body::<K>(x), x]).reduce(u64::wrapping_add).unwrap_or(0),
        },
        "find" => all! {
            "serial" => move || v.iter().position(|&x| body::<K>(x) == 7).map_or(0, |i| i as u64),
            "bombyx" => move || bombyx_par(v).position_first(|&x| body::<K>(x) == 7).map_or(0, |i| i as u64),
            "rayon" => move || rayon_par(v).position_first(|&x| body::<K>(x) == 7).map_or(0, |i| i as u64),
            "orx" => move || v.par().find(|&&x| body::<K>(x) == 7).map_or(0, |&x| x),
            "paralight" => move || {
                use paralight::iter::{IntoExactParallelRefSource as _, ParallelIteratorExt as _, ExactParallelSourceExt as _};
                v.par_iter().with_thread_pool(light!()).find_first(|&&x| body::<K>(x) == 7).map_or(0, |&x| x)
            },
        },
        "find-early" => all! {
            "serial" => move || v.iter().position(|&x| body::<K>(x) % 16 == 3).map_or(0, |i| i as u64),
            "bombyx" => move || bombyx_par(v).position_first(|&x| body::<K>(x) % 16 == 3).map_or(0, |i| i as u64),
            "rayon" => move || rayon_par(v).position_first(|&x| body::<K>(x) % 16 == 3).map_or(0, |i| i as u64),
            "orx" => move || v.par().find(|&&x| body::<K>(x) % 16 == 3).map_or(0, |&x| x),
        },
        "min_by" => all! {
            "serial" => move || v.iter().map(|&x| body::<K>(x)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
            "bombyx" => move || bombyx_par(v).map(|&x| body::<K>(x)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
            "rayon" => move || rayon_par(v).map(|&x| body::<K>(x)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
            "orx" => move || v.par().map(|&x| body::<K>(x)).min_by(|a, b| a.cmp(b)).unwrap_or(0),
            "paralight" => move || {
                use paralight::iter::{IntoExactParallelRefSource as _, ParallelIteratorExt as _, ExactParallelSourceExt as _};
                v.par_iter().with_thread_pool(light!()).map(|&x| body::<K>(x)).min_by(|a, b| a.cmp(b)).unwrap_or(0)
            },
        },
        "fold" => all! {
            "serial" => move || v.iter().fold([0u64; 4], |mut a, &x| { let y = body::<K>(x); a[(y & 3) as usize] += 1; a })[0],
            "bombyx" => move || bombyx_par(v).fold(|| [0u64; 4], |mut a, &x| { let y = body::<K>(x); a[(y & 3) as usize] += 1; a }).map(|a| a[0]).reduce(|| 0, |a, b| a + b),
            "rayon" => move || rayon_par(v).fold(|| [0u64; 4], |mut a, &x| { let y = body::<K>(x); a[(y & 3) as usize] += 1; a }).map(|a| a[0]).reduce(|| 0, |a, b| a + b),
        },
        "zip" => all! {
            "serial" => move || v.iter().zip(v).map(|(&x, &y)| body::<K>(x) ^ y).fold(0, u64::wrapping_add),
            "bombyx" => move || bombyx_par(v).zip(v).map(|(&x, &y)| body::<K>(x) ^ y).reduce(|| 0, u64::wrapping_add),
            "rayon" => move || rayon_par(v).zip(v).map(|(&x, &y)| body::<K>(x) ^ y).reduce(|| 0, u64::wrapping_add),
        },
        "chunks" => all! {
            "serial" => move || v.chunks(16).map(|c| c.iter().map(|&x| body::<K>(x)).fold(0, u64::wrapping_add)).max().unwrap_or(0),
            "bombyx" => move || bombyx::slice::ParallelSlice::par_chunks(v, 16).map(|c| c.iter().map(|&x| body::<K>(x)).fold(0, u64::wrapping_add)).max().unwrap_or(0),
            "rayon" => move || rayon::slice::ParallelSlice::par_chunks(v, 16).map(|c| c.iter().map(|&x| body::<K>(x)).fold(0, u64::wrapping_add)).max().unwrap_or(0),
        },
        "bridge" => all! {
            "serial" => move || v.iter().filter(|x| **x != 1).map(|&x| body::<K>(x)).fold(0, u64::wrapping_add),
            "bombyx" => move || bombyx::iter::ParallelBridge::par_bridge(v.iter().filter(|x| **x != 1)).map(|&x| body::<K>(x)).reduce(|| 0, u64::wrapping_add),
            "rayon" => move || rayon::iter::ParallelBridge::par_bridge(v.iter().filter(|x| **x != 1)).map(|&x| body::<K>(x)).reduce(|| 0, u64::wrapping_add),
            "orx" => move || v.iter().filter(|x| **x != 1).iter_into_par().map(|&x| body::<K>(x)).reduce(u64::wrapping_add).unwrap_or(0),
        },
        "sort" | "sort_unstable" if K == 1 => {
            let stable = op == "sort";
            all! {
                "serial" => move || { let mut w = v.to_vec(); if stable { w.sort() } else { w.sort_unstable() }; w[0] },
                "bombyx" => move || { let mut w = v.to_vec(); { use bombyx::slice::ParallelSliceMut as _; if stable { w.par_sort() } else { w.par_sort_unstable() } }; w[0] },
                "rayon" => move || { let mut w = v.to_vec(); { use rayon::slice::ParallelSliceMut as _; if stable { w.par_sort() } else { w.par_sort_unstable() } }; w[0] },
            }
        }
        _ => Vec::new(),
    }
}

fn rayon_par(v: &[u64]) -> rayon::slice::Iter<'_, u64> {
    rayon::iter::IntoParallelRefIterator::par_iter(v)
}

fn bombyx_par(v: &[u64]) -> bombyx::slice::Iter<'_, u64> {
    bombyx::iter::IntoParallelRefIterator::par_iter(v)
}

/// Sums that wrap around, whatever the profile.
#[derive(Clone, Copy)]
struct Wrapping(u64);

impl std::iter::Sum for Wrapping {
    fn sum<I: Iterator<Item = Wrapping>>(iter: I) -> Wrapping {
        Wrapping(iter.fold(0, |a, b| a.wrapping_add(b.0)))
    }
}

const OPERATIONS: [&str; 13] = [
    "sum",
    "collect",
    "filter-collect",
    "flat_map",
    "find",
    "find-early",
    "min_by",
    "fold",
    "zip",
    "chunks",
    "bridge",
    "sort",
    "sort_unstable",
];

fn main() {
    let (mut threads, mut rounds, mut only) = (2, 9, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        match argument.as_str() {
            "--threads" => threads = value.parse().expect("a number of threads"),
            "--rounds" => rounds = value.parse().expect("a number of rounds"),
            "--only" => only = value,
            _ => panic!("unknown option {argument}"),
        }
    }
    bombyx::Pool::builder().processors(threads).build_global().expect("no pool yet");
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("no pool yet");
    println!(
        "threads {threads}, rounds {rounds}, cores {}",
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    let light = paralight::threads::ThreadPoolBuilder {
        num_threads: threads.try_into().expect("some threads"),
        range_strategy: paralight::threads::RangeStrategy::WorkStealing,
        cpu_pinning: paralight::threads::CpuPinningPolicy::No,
    };
    let light = std::sync::Mutex::new(light.build());
    let mut rows = Vec::new();
    println!(
        "{:<15} {:>8} {:>6} {:>8} {:>12} {:>7} {:>7} {:>7} {:>9}",
        "operation", "n", "body", "entered", "serial ns", "bombyx", "rayon", "orx", "paralight"
    );
    for op in OPERATIONS.into_iter().filter(|op| op.contains(&only)) {
        for n in [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000] {
            let v: Vec<u64> = (0..n as u64).map(|i| i.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1).collect();
            for (name, nanoseconds, list) in [
                ("1ns", 1, contenders::<1>(op, &v, &light)),
                ("20ns", 20, contenders::<12>(op, &v, &light)),
                ("1us", 1000, contenders::<600>(op, &v, &light)),
            ] {
                if list.is_empty() || n * nanoseconds > 30_000_000 {
                    continue;
                }
                let mut list = list;
                for entered in ["outside", "inside"] {
                    let medians = measure(&mut list, rounds, entered == "inside");
                    let serial = medians["serial"];
                    let ratio = |name| {
                        medians.get(name).map_or_else(|| "-".to_owned(), |t| format!("{:.2}", t / serial))
                    };
                    println!(
                        "{op:<15} {n:>8} {name:>6} {entered:>8} {serial:>12.0} {:>7} {:>7} {:>7} {:>9}",
                        ratio("bombyx"),
                        ratio("rayon"),
                        ratio("orx"),
                        ratio("paralight")
                    );
                    rows.push(medians);
                }
            }
        }
    }
    summary(&rows);
}

/// Nanoseconds per call, by contender.
fn measure(list: &mut [(&'static str, Run<'_>)], rounds: usize, inside: bool) -> BTreeMap<&'static str, f64> {
    let start = Instant::now();
    black_box(list[0].1());
    let once = start.elapsed().as_nanos().max(1) as usize;
    let calls = (200_000 / once).clamp(1, 2000);
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); list.len()];
    for round in 0..=rounds {
        for (i, (name, run)) in list.iter_mut().enumerate() {
            let mut timed = || {
                let start = Instant::now();
                for _ in 0..calls {
                    black_box(run());
                }
                start.elapsed().as_nanos() as f64 / calls as f64
            };
            let time = match (*name, inside) {
                ("bombyx", true) => bombyx::Pool::global().run(timed),
                ("rayon", true) => rayon::scope(|_| timed()),
                _ => timed(),
            };
            // The first round warms up.
            if round > 0 {
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

fn summary(rows: &[BTreeMap<&'static str, f64>]) {
    let mean =
        |ratios: &[f64]| (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
    let to_rayon: Vec<f64> = rows.iter().map(|row| row["bombyx"] / row["rayon"]).collect();
    let to_best: Vec<f64> = rows
        .iter()
        .map(|row| {
            let best = ["rayon", "orx", "paralight"]
                .iter()
                .filter_map(|name| row.get(name))
                .copied()
                .fold(f64::MAX, f64::min);
            row["bombyx"] / best
        })
        .collect();
    let slower = rows.iter().filter(|row| row["bombyx"] > 1.15 * row["serial"] + 200.0).count();
    println!("rows {}", rows.len());
    println!(
        "geometric mean of bombyx / rayon {:.2}, of bombyx / best peer {:.2}",
        mean(&to_rayon),
        mean(&to_best)
    );
    println!("rows above 1.1 x the best peer: {}", to_best.iter().filter(|&&r| r > 1.1).count());
    println!("rows above 1.25 x the best peer: {}", to_best.iter().filter(|&&r| r > 1.25).count());
    println!("rows above 1.15 x serial + 200 ns: {slower}");
}
