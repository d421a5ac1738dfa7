//! The further tables of `bench --bars regions`: short parallel regions and loops that a thread outside of any pool
//! enters again and again.
//!
//! Here the contenders differ from those of other benchmarks. *Two threads* are plain threads that split the work in
//! halves and spin. They show what is possible. With the feature `fork-union` there is also fork_union, whose threads spin
//! as long as the pool exists. So both exist only while they are measured.

use super::bar::Bar;
use super::case::{Case, Entry, interleave};
use super::micro::{Micro, Outcome, Setup};
use crate::Result;
use crate::child::{Child, Neighbour};
use crate::host::cores;
use crate::programs::{busy, leaf, step_seconds};
use crate::sample::Sample;
use crate::statistics::{geometric_mean, median};
use bombyx_workloads::{Bombyx, Fork, Serial};
use std::fmt;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

/// What `bench --bars regions` measures besides `regions`.
pub(super) static TABLES: &[Micro] = &[
    Micro {
        name: "pauses",
        about: "16 leaves of 0.2 to 20 µs, entered from outside after pauses of 0 to 1000 µs",
        rounds: 7,
        measure: pauses,
    },
    Micro {
        name: "neighbour",
        about: "the same while a busy loop of another process is pinned to one of the CPUs",
        rounds: 5,
        measure: neighbour,
    },
    Micro {
        name: "loops",
        about: "loops from outside: 100 to 10,000,000 items with bodies of 0.3 to 100 ns",
        rounds: 9,
        measure: loops,
    },
    Micro {
        name: "crowded",
        about: "16 leaves of 0.2 to 100 µs, back to back, with P = 16",
        rounds: 9,
        measure: crowded,
    },
    Micro {
        name: "ticks",
        about: "processor time of 500 ticks, one each 2 ms, of 8 leaves of 20 µs; and of pools with nothing to do",
        rounds: 3,
        measure: ticks,
    },
    Micro {
        name: "first",
        about: "the first join of a process, and a whole program with one short region",
        rounds: 15,
        measure: first,
    },
];

/// How many leaves a region has.
const LEAVES: usize = 16;

/// Whoever enters regions.
enum Caller {
    Serial,
    Bombyx(bombyx::Pool),
    #[cfg(feature = "peers")]
    Rayon(rayon::ThreadPool),
    TwoThreads,
    #[cfg(feature = "fork-union")]
    ForkUnion,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serial => "serial",
            Self::Bombyx(_) => "bombyx",
            #[cfg(feature = "peers")]
            Self::Rayon(_) => "rayon",
            Self::TwoThreads => "two threads",
            #[cfg(feature = "fork-union")]
            Self::ForkUnion => "fork_union",
        })
    }
}

impl Caller {
    /// Serial, Bombyx and rayon.
    fn pools(processors: usize) -> Result<Vec<Self>> {
        Ok(Vec::from([
            Self::Serial,
            Self::Bombyx(bombyx::Pool::builder().processors(processors).build()?),
            #[cfg(feature = "peers")]
            Self::Rayon(rayon::ThreadPoolBuilder::new().num_threads(processors).build()?),
        ]))
    }

    /// The same, and those that spin, on two processors.
    fn all() -> Result<Vec<Self>> {
        let mut callers = Self::pools(2)?;
        callers.push(Self::TwoThreads);
        #[cfg(feature = "fork-union")]
        callers.push(Self::ForkUnion);
        Ok(callers)
    }

    /// Calls `measure` with a region of 16 leaves.
    fn with_tree(&self, steps: u64, measure: &dyn Fn(&mut dyn FnMut()) -> f64) -> f64 {
        match self {
            Self::Serial => measure(&mut || tree(&mut Serial, LEAVES, steps)),
            Self::Bombyx(pool) => measure(&mut || pool.run(|| tree(&mut Bombyx, LEAVES, steps))),
            #[cfg(feature = "peers")]
            Self::Rayon(pool) => {
                measure(&mut || pool.install(|| tree(&mut bombyx_workloads::Rayon, LEAVES, steps)))
            }
            Self::TwoThreads => two_threads(&|_| tree(&mut Serial, LEAVES / 2, steps), measure),
            #[cfg(feature = "fork-union")]
            Self::ForkUnion => {
                let mut pool = fork_union::spawn(2);
                measure(&mut || drop(pool.for_n(LEAVES, |_| leaf(steps))))
            }
        }
    }

    /// Calls `measure` with a loop over `items`. `None` where nobody wrote it.
    fn with_loop<const STEPS: usize>(
        &self,
        items: usize,
        measure: &dyn Fn(&mut dyn FnMut()) -> f64,
    ) -> Option<f64> {
        // Each contender has closures of its own, as in a program. A closure that several loops share is not inlined if it
        // is large, and then none of these loops is vectorised.
        let add = u64::wrapping_add;
        match self {
            Self::Serial => Some(measure(&mut || serial_loop::<STEPS>(0, items))),
            Self::Bombyx(pool) => Some(measure(&mut || {
                let n = black_box(items);
                let map = |i: usize| body::<STEPS>(i as u64);
                black_box(pool.run(|| bombyx::map_reduce(0..n, map, || 0, add)));
            })),
            #[cfg(feature = "peers")]
            Self::Rayon(pool) => Some(measure(&mut || {
                use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
                let n = black_box(items);
                let map = |i: usize| body::<STEPS>(i as u64);
                black_box(pool.install(|| (0..n).into_par_iter().map(map).reduce(|| 0, add)));
            })),
            Self::TwoThreads => {
                let half = items / 2;
                Some(two_threads(&|who| serial_loop::<STEPS>(who * half, who * half + half), measure))
            }
            #[cfg(feature = "fork-union")]
            Self::ForkUnion => None,
        }
    }
}

fn tree<F: Fork>(fork: &mut F, leaves: usize, steps: u64) {
    if leaves == 1 {
        leaf(steps);
    } else {
        fork.join(|fork| tree(fork, leaves / 2, steps), |fork| tree(fork, leaves - leaves / 2, steps));
    }
}

/// The serial loop. It is a function of its own, so that the serial contender and two threads run the same machine code:
/// inlined into different callers, the compiler vectorises it in some and not in others.
#[inline(never)]
fn serial_loop<const STEPS: usize>(from: usize, to: usize) {
    black_box((from..to).map(|i| body::<STEPS>(i as u64)).fold(0, u64::wrapping_add));
}

/// An item's work.
#[inline(always)]
fn body<const STEPS: usize>(mut x: u64) -> u64 {
    for _ in 0..STEPS {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// Calls `measure` with a region in which this thread and another one, which spins between the regions, run `work`.
fn two_threads(work: &(dyn Fn(usize) + Sync), measure: &dyn Fn(&mut dyn FnMut()) -> f64) -> f64 {
    const STOP: usize = usize::MAX;
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut seen = 0;
            while seen != STOP {
                let now = begun.load(Acquire);
                if now != seen && now != STOP {
                    work(1);
                    ended.store(now, Release);
                }
                seen = now;
                spin_loop();
            }
        });
        busy(Duration::from_millis(2));
        let mut region = 0;
        let seconds = measure(&mut || {
            region += 1;
            begun.store(region, Release);
            work(0);
            while ended.load(Acquire) != region {
                spin_loop();
            }
        });
        begun.store(STOP, Release);
        seconds
    })
}

/// One thing measured on several callers.
fn compete(
    name: String,
    about: &str,
    (rounds, processors): (usize, usize),
    callers: &[Caller],
    mut once: impl FnMut(&Caller) -> Option<f64>,
) -> Result<Case> {
    let callers: Vec<&Caller> = callers.iter().collect();
    let samples = interleave(&name, rounds, &callers, |caller, _| {
        // What spun goes to sleep.
        busy(Duration::from_micros(300));
        Ok(Sample::seconds(once(caller).unwrap_or(f64::NAN)))
    })?;
    let entries = callers.iter().zip(samples).filter(|(_, samples)| !samples[0].seconds.is_nan());
    let entries = entries.map(|(caller, samples)| Entry::new(&caller.to_string(), None, processors, samples));
    Ok(Case { name, about: about.into(), entries: entries.collect() })
}

/// The median time of calls of `region`, each after a pause.
fn series(region: &mut dyn FnMut(), calls: usize, pause: Duration) -> f64 {
    /// The first calls find the others asleep.
    const FIRST: usize = 5;
    let mut seconds: Vec<f64> = (0..calls + FIRST)
        .map(|_| {
            busy(pause);
            let start = Instant::now();
            region();
            start.elapsed().as_secs_f64()
        })
        .skip(FIRST)
        .collect();
    seconds.sort_by(f64::total_cmp);
    median(&seconds)
}

/// A line that says what is possible, and what fork_union reaches.
fn beside(case: &Case) -> String {
    let ratios = ["two threads", "fork_union"].map(|runtime| {
        let over = case.entry(runtime, 2)?.over(case.entry("serial", 2)?);
        Some(format!("{runtime} {over:.2}"))
    });
    let ratios: Vec<String> = ratios.into_iter().flatten().collect();
    format!(
        "  × serial: bombyx {:.2}, {}\n",
        case.against("serial", 2).unwrap_or(f64::NAN),
        ratios.join(", ")
    )
}

const LEAF: [f64; 4] = [0.2, 1.0, 5.0, 20.0];

/// A row for each leaf and each pause. `bars` gets the case, the number of the leaf, and the pause.
fn tree_rows(setup: &Setup, title: &str, bars: impl Fn(&Case, usize, u64) -> Vec<Bar>) -> Result<Outcome> {
    let per_step = step_seconds();
    let callers = Caller::all()?;
    let mut outcome = Outcome::default();
    for (nth, us) in LEAF.into_iter().enumerate().take(setup.pick(1, LEAF.len())) {
        for &pause in setup.pick(&[0][..], &[0, 10, 50, 200, 1000][..]) {
            let steps = (us * 1e-6 / per_step) as u64;
            let calls = setup.pick(5, if pause >= 200 { 40 } else { 150 });
            let name = format!("16 of {us} µs, pause {pause}{title}");
            let case =
                compete(name, "entered from outside; pauses in µs", (setup.rounds, 2), &callers, |caller| {
                    let run = |region: &mut dyn FnMut()| series(region, calls, Duration::from_micros(pause));
                    Some(caller.with_tree(steps, &run))
                })?;
            outcome.bars.extend(bars(&case, nth, pause));
            outcome.notes.push(beside(&case));
            outcome.cases.push(case);
        }
    }
    Ok(outcome)
}

fn pauses(setup: &Setup) -> Result<Outcome> {
    /// While regions recur, by leaf; or this many times what two threads reach.
    const RECURRING: [f64; 4] = [0.9, 0.65, 0.56, 0.53];
    const OF_LIMIT: f64 = 1.15;
    tree_rows(setup, "", |case, leaf, pause| {
        if pause > 50 {
            return vec![Bar::against(case, 2, "serial", 1.15), Bar::against(case, 2, "rayon", 1.0)];
        }
        let limit = case.entry("two threads", 2).zip(case.entry("serial", 2));
        let limit = limit.map_or(0.0, |(two, serial)| OF_LIMIT * two.over(serial));
        vec![Bar::against(case, 2, "serial", RECURRING[leaf].max(limit))]
    })
}

fn neighbour(setup: &Setup) -> Result<Outcome> {
    let _busy = Neighbour::start(cores() - 1)?;
    tree_rows(setup, ", busy", |case, leaf, _| {
        let limit = if leaf == 0 { 1.6 } else { 1.3 };
        vec![Bar::against(case, 2, "serial", limit), Bar::against(case, 2, "rayon", 1.0)]
    })
}

fn loops(setup: &Setup) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let callers = Caller::all()?;
    for n in setup.pick(&[100][..], &[100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000][..]) {
        loop_row::<1>(setup, &callers, *n, &mut outcome)?;
        loop_row::<3>(setup, &callers, *n, &mut outcome)?;
        loop_row::<20>(setup, &callers, *n, &mut outcome)?;
        if *n <= 1_000_000 {
            loop_row::<68>(setup, &callers, *n, &mut outcome)?;
        }
    }
    let mean = geometric_mean(outcome.cases.iter().filter_map(|case| case.against("rayon", 2)));
    outcome.bars.push(Bar::times("loops, geometric mean".into(), mean, 1.0, "rayon"));
    Ok(outcome)
}

/// A loop with bodies of so many steps.
fn loop_row<const STEPS: usize>(
    setup: &Setup,
    callers: &[Caller],
    items: usize,
    outcome: &mut Outcome,
) -> Result<()> {
    /// How long a sample should take.
    const ENOUGH: f64 = 5e-4;
    let repeated = |region: &mut dyn FnMut()| {
        let mut times = 1;
        loop {
            let start = Instant::now();
            for _ in 0..times {
                region();
            }
            let seconds = start.elapsed().as_secs_f64();
            if seconds >= ENOUGH {
                return seconds / f64::from(times);
            }
            times *= 2;
        }
    };
    let name = format!("{items} × {STEPS} steps");
    let case = compete(name, "a sum from outside, back to back", (setup.rounds, 2), callers, |caller| {
        caller.with_loop::<STEPS>(items, &repeated)
    })?;
    let serial = case.entry("serial", 2).map_or(f64::NAN, Entry::median);
    outcome.bars.push(Bar::against(&case, 2, "serial", 1.1 + 1e-7 / serial));
    outcome.bars.push(Bar::against(&case, 2, "rayon", 1.1));
    if serial >= 1e-4 {
        outcome.bars.push(Bar::against(&case, 2, "two threads", 1.1));
    }
    outcome.notes.push(beside(&case));
    outcome.cases.push(case);
    Ok(())
}

fn crowded(setup: &Setup) -> Result<Outcome> {
    const PROCESSORS: usize = 16;
    let per_step = step_seconds();
    let callers = Caller::pools(PROCESSORS)?;
    let mut outcome = Outcome::default();
    for &us in setup.pick(&[1.0][..], &[0.2, 1.0, 5.0, 10.0, 20.0, 50.0, 100.0][..]) {
        let steps = (us * 1e-6 / per_step) as u64;
        let calls = setup.pick(5, (20_000.0 / (us * LEAVES as f64)) as usize + 10);
        let name = format!("16 of {us} µs, crowded");
        let about = "entered from outside, back to back";
        let case = compete(name, about, (setup.rounds, PROCESSORS), &callers, |caller| {
            Some(caller.with_tree(steps, &|region| series(region, calls, Duration::ZERO)))
        })?;
        outcome.bars.push(Bar::against(&case, PROCESSORS, "rayon", 1.05));
        outcome.cases.push(case);
    }
    Ok(outcome)
}

/// The runtimes that can be measured in a separate process.
const RUNTIMES: &[&str] = if cfg!(feature = "peers") { &["bombyx", "rayon"] } else { &["bombyx"] };

/// A figure that separate processes measure, which get these words besides the runtime.
fn in_processes(
    name: &str,
    about: &str,
    (rounds, processors): (usize, usize),
    once: impl Fn(&str) -> Result<Sample>,
) -> Result<Case> {
    let samples = interleave(name, rounds, RUNTIMES, |runtime, _| once(runtime))?;
    let entry = |(runtime, samples): (&&str, _)| Entry::new(runtime, None, processors, samples);
    let entries = RUNTIMES.iter().zip(samples).map(entry).collect();
    Ok(Case { name: name.into(), about: about.into(), entries })
}

fn ticks(setup: &Setup) -> Result<Outcome> {
    let count = setup.pick("5", "500");
    let mut outcome = Outcome::default();
    for processors in [2, 16, 64] {
        let words = processors.to_string();
        let case = in_processes(
            "ticks",
            "processor time, not elapsed time",
            (setup.rounds, processors),
            |runtime| Child::start(&["ticks", runtime, &words, count])?.sample(),
        )?;
        let measured = case.entry("bombyx", processors).map(Entry::median);
        outcome.bars.push(Bar::seconds(format!("{count} ticks, P = {processors}"), measured, 0.16));
        outcome.bars.push(Bar::against(&case, processors, "rayon", 1.0));
        outcome.cases.push(case);
    }
    let seconds = setup.pick("0.1", "3");
    let case = in_processes("beside a serial leaf", "processor time beyond the leaf's", (1, 2), |runtime| {
        Child::start(&["beside", runtime, "2", seconds])?.sample()
    })?;
    let measured = case.entry("bombyx", 2).map(Entry::median);
    outcome.bars.push(Bar::seconds(format!("processor time beside a leaf of {seconds} s"), measured, 0.005));
    outcome.cases.push(case);
    let seconds = setup.pick("0.1", "2");
    let about = "processor time after regions of 16 leaves of 0.2 µs, 200 µs apart";
    let case = in_processes("idle after short regions", about, (setup.rounds, 2), |runtime| {
        Child::start(&["quiet", runtime, "2", seconds])?.sample()
    })?;
    let measured = case.entry("bombyx", 2).map(Entry::median);
    outcome.bars.push(Bar::seconds(format!("idle for {seconds} s after short regions"), measured, 0.005));
    outcome.cases.push(case);
    Ok(outcome)
}

fn first(setup: &Setup) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let about = "with one other thread; each in its own process";
    let join = in_processes("first join", about, (setup.rounds, 2), |runtime| {
        Child::start(&["first", runtime, "2"])?.sample()
    })?;
    let whole = in_processes("whole program", "one region of 100 µs", (setup.rounds, 2), |runtime| {
        let start = Instant::now();
        Child::start(&["region", runtime, "2"])?.sample()?;
        Ok(Sample::seconds(start.elapsed().as_secs_f64()))
    })?;
    for case in [join, whole] {
        outcome.bars.push(Bar::against(&case, 2, "rayon", 1.0));
        outcome.cases.push(case);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The halves of two threads make the whole, and all leaves run.
    #[test]
    fn two_threads_share_each_region() {
        let runs = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let work = |who: usize| {
            runs[who].fetch_add(1, Release);
        };
        two_threads(&work, &|region| {
            (0..100).for_each(|_| region());
            0.0
        });
        assert_eq!(runs.map(AtomicUsize::into_inner), [100, 100]);
    }

    #[test]
    fn the_first_calls_do_not_count() {
        let mut calls = 0;
        series(&mut || calls += 1, 7, Duration::ZERO);
        assert_eq!(calls, 12);
    }
}
