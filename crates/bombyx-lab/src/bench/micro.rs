//! Micro-benchmarks: each measures one property of a runtime and knows the bars that Bombyx must hold at it. The
//! programs are in [`crate::programs`], the same for all runtimes.

use super::bar::Bar;
use super::case::{Case, Entry, compete, interleave};
use crate::Result;
use crate::child::Child;
use crate::contender::Contender;
use crate::host::cores;
use crate::programs;
use crate::progress::Progress;
use crate::sample::Sample;
use crate::statistics::median;
use bombyx_workloads::Size;
use std::time::{Duration, Instant};

/// A micro-benchmark.
pub(crate) struct Micro {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Rounds, unless the user says otherwise.
    pub(super) rounds: usize,
    pub(super) measure: fn(&Setup) -> Result<Outcome>,
}

/// What the user may choose.
pub(super) struct Setup {
    /// `small` is for trying things out; the bars are about the default.
    size: Size,
    pub(super) rounds: usize,
}

/// What was measured, and what must hold of it.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) cases: Vec<Case>,
    pub(crate) bars: Vec<Bar>,
    /// A line below each of the first cases, or nothing.
    pub(crate) notes: Vec<String>,
}

pub(crate) static MICROS: &[Micro] = &[
    Micro {
        name: "fib38",
        about: "the price of a fork: fib(38) on one and two processors",
        rounds: 7,
        measure: fib38,
    },
    Micro {
        name: "two-leaves",
        about: "how soon a coarse half is taken: join of two 50 ms leaves",
        rounds: 9,
        measure: two_leaves,
    },
    Micro {
        name: "regions",
        about: "short parallel regions: join trees of 16 leaves of 0.2 to 100 µs, back to back",
        rounds: 15,
        measure: regions,
    },
    Micro {
        name: "spawns",
        about: "5,000,000 empty tasks spawned by one: time, and growth of memory",
        rounds: 5,
        measure: spawns,
    },
    Micro {
        name: "install",
        about: "entering a warm pool from outside and leaving it",
        rounds: 9,
        measure: install,
    },
    Micro {
        name: "idle",
        about: "processor time of an idle pool in the 10 s after a burst",
        rounds: 1,
        measure: idle,
    },
    Micro {
        name: "oversubscribed",
        about: "many more processors than cores: fib(38) with P = 16 against P = 2",
        rounds: 7,
        measure: oversubscribed,
    },
];

impl Micro {
    pub(crate) fn run(&self, size: Size, rounds: Option<usize>) -> Result<Outcome> {
        (self.measure)(&Setup { size, rounds: rounds.unwrap_or(self.rounds) })
    }
}

impl Setup {
    /// The quantity of the bar, or a small one.
    pub(super) fn pick<T>(&self, small: T, default: T) -> T {
        if self.size == Size::Small { small } else { default }
    }

    /// Bombyx and the peers of these names.
    fn field(&self, processors: usize, peers: &[&str]) -> Result<Vec<Contender>> {
        let mut field = vec![Contender::bombyx(processors, None)?];
        field.extend(Contender::peers(processors)?.into_iter().filter(|peer| peers.contains(&peer.name())));
        Ok(field)
    }
}

/// The names of the runtimes that can spawn.
const SPAWNERS: &[&str] = if cfg!(feature = "peers") { &["bombyx", "rayon"] } else { &["bombyx"] };

/// The names of all runtimes with pools.
const POOLS: &[&str] = if cfg!(feature = "peers") { &["bombyx", "rayon", "chili"] } else { &["bombyx"] };

/// fib(n), checked.
fn fib(contender: &Contender, n: u32) -> Result<Sample> {
    let mut result = 0;
    let sample = Sample::per(contender, 1, || result = programs::fib(contender.runtime(), n));
    match result == programs::fib_value(n) {
        true => Ok(sample),
        false => Err(format!("fib({n}) on {contender} is {result}, not {}", programs::fib_value(n)).into()),
    }
}

fn fib38(setup: &Setup) -> Result<Outcome> {
    let n = setup.pick(20, 38);
    let mut contenders = vec![Contender::serial()];
    for processors in [1, 2] {
        contenders.extend(setup.field(processors, &["rayon", "chili"])?);
    }
    let entries = compete("fib38", setup.rounds, &contenders, |contender, _| fib(contender, n))?;
    let about = format!("{} forks, none of them cut off", crate::text::grouped(programs::fib_forks(n)));
    let case = Case { name: format!("fib({n})"), about, entries };
    let bars = vec![
        Bar::against(&case, 1, "serial", 2.2),
        Bar::against(&case, 1, "chili", 1.05),
        Bar::against(&case, 1, "rayon", 0.4),
        Bar::against(&case, 2, "rayon", 0.4),
        Bar::against(&case, 2, "chili", 1.05),
    ];
    Ok(Outcome { cases: vec![case], bars, ..Outcome::default() })
}

fn two_leaves(setup: &Setup) -> Result<Outcome> {
    let leaf = Duration::from_millis(setup.pick(1, 50));
    let mut contenders = vec![Contender::serial()];
    contenders.extend(setup.field(2, &["rayon", "chili"])?);
    let entries = compete("two-leaves", setup.rounds, &contenders, |contender, _| {
        Ok(Sample::per(contender, 1, || programs::tree(contender.runtime(), 1, 1, leaf)))
    })?;
    let name = format!("two leaves of {} ms", leaf.as_millis());
    let case = Case { name, about: "entered from outside".into(), entries };
    let measured = case.entry("bombyx", 2).map(Entry::median);
    let bars = vec![Bar::seconds(format!("{}, P = 2", case.name), measured, 0.053)];
    Ok(Outcome { cases: vec![case], bars, ..Outcome::default() })
}

fn regions(setup: &Setup) -> Result<Outcome> {
    const DEPTH: u32 = 4;
    let mut contenders = vec![Contender::serial()];
    contenders.extend(setup.field(2, &["rayon"])?);
    let mut outcome = Outcome::default();
    for nanoseconds in [200, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000] {
        let leaf = Duration::from_nanos(nanoseconds);
        // So many that a sample takes some 30 ms of serial work.
        let trees = (setup.pick(1, 30) * 1_000_000 / (nanoseconds << DEPTH)).max(1) as u32;
        let name = format!("16 leaves of {} µs", nanoseconds as f64 / 1e3);
        let entries = compete(&name, setup.rounds, &contenders, |contender, _| {
            let work = || programs::tree(contender.runtime(), trees, DEPTH, leaf);
            Ok(Sample::per(contender, trees, work))
        })?;
        let case = Case { name, about: format!("time per tree, {trees} trees back to back"), entries };
        outcome.bars.extend([Bar::against(&case, 2, "rayon", 1.05), Bar::against(&case, 2, "serial", 1.15)]);
        outcome.cases.push(case);
    }
    Ok(outcome)
}

fn spawns(setup: &Setup) -> Result<Outcome> {
    let count: u64 = setup.pick(10_000, 5_000_000);
    let samples = interleave("spawns", setup.rounds, SPAWNERS, |runtime, _| {
        Child::start(&["spawns", runtime, "2", &count.to_string()])?.sample()
    })?;
    let entry = |(runtime, samples): (&&str, _)| Entry::new(runtime, None, 2, samples);
    let case = Case {
        name: format!("{} empty spawns", crate::text::grouped(count)),
        about: "each run in its own process; memory is the growth of the resident set".into(),
        entries: SPAWNERS.iter().zip(samples).map(entry).collect(),
    };
    let memory = case.entry("bombyx", 2).and_then(Entry::memory).and_then(|memory| memory.growth);
    let bars = vec![
        Bar::against(&case, 2, "rayon", 0.5),
        Bar::bytes(format!("{}, growth of memory", case.name), memory, 32 << 20),
    ];
    Ok(Outcome { cases: vec![case], bars, ..Outcome::default() })
}

fn install(setup: &Setup) -> Result<Outcome> {
    /// Long enough for a pool to come to rest, short enough for it to stay warm.
    const APART: Duration = Duration::from_micros(50);
    let calls = setup.pick(20, 500);
    let contenders = setup.field(2, &["rayon"])?;
    let entries = compete("install", setup.rounds, &contenders, |contender, _| {
        let mut seconds: Vec<f64> = (0..calls)
            .map(|_| {
                programs::busy(APART);
                let start = Instant::now();
                programs::enter(contender.runtime());
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        Ok(Sample::seconds(median(&seconds)))
    })?;
    let about = format!("each sample is the median of {calls} calls, {} µs apart", APART.as_micros());
    let case = Case { name: "empty run from outside".into(), about, entries };
    let bars = vec![Bar::against(&case, 2, "rayon", 1.0)];
    Ok(Outcome { cases: vec![case], bars, ..Outcome::default() })
}

fn idle(setup: &Setup) -> Result<Outcome> {
    let seconds = setup.pick("0.2", "10");
    let processors = cores().max(2);
    let progress = Progress::new(setup.rounds);
    let mut samples = vec![Vec::new(); POOLS.len()];
    for _ in 0..setup.rounds {
        progress.doing(format!("idle: watching for {seconds} s"));
        // All at the same time: what idles does not disturb.
        let start = |runtime: &&str| Child::start(&["idle", runtime, &processors.to_string(), seconds]);
        let children: Vec<Child> = POOLS.iter().map(start).collect::<Result<_>>()?;
        for (samples, child) in samples.iter_mut().zip(children) {
            samples.push(child.sample()?);
        }
        progress.step();
    }
    let entry = |(runtime, samples): (&&str, _)| Entry::new(runtime, None, processors, samples);
    let case = Case {
        name: format!("idle for {seconds} s"),
        about: "processor time, not elapsed time; each in its own process".into(),
        entries: POOLS.iter().zip(samples).map(entry).collect(),
    };
    let measured = case.entry("bombyx", processors).map(Entry::median);
    let bars = vec![Bar::seconds(format!("{} after a burst, processor time", case.name), measured, 0.05)];
    Ok(Outcome { cases: vec![case], bars, ..Outcome::default() })
}

fn oversubscribed(setup: &Setup) -> Result<Outcome> {
    let n = setup.pick(20, 38);
    let mut contenders = Vec::new();
    for processors in [2, 16] {
        contenders.extend(setup.field(processors, &["rayon"])?);
    }
    let entries = compete("oversubscribed", setup.rounds, &contenders, |contender, _| fib(contender, n))?;
    let about = format!("on {} cores", cores());
    let case = Case { name: format!("fib({n}), oversubscribed"), about, entries };
    let crowded = case.entry("bombyx", 16).zip(case.entry("bombyx", 2));
    let measured = crowded.map(|(crowded, alone)| crowded.median() / alone.median());
    let bars = vec![Bar::times(format!("{}, P = 16", case.name), measured, 1.3, "P = 2")];
    Ok(Outcome { cases: vec![case], bars, ..Outcome::default() })
}
