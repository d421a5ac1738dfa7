//! Measures what `heterogeneous` is for: a computation with a long critical path of serial threads, on two CPUs, one of
//! which is slowed by processes that take its time ([`load`]). Compares the figures with bars.
//!
//! The computation is a chain of phases, each of one long leaf and many short ones. Whoever begins a phase runs the
//! short leaves, and whoever ends the long leaf begins the next phase. So on pinned processors the long leaves
//! alternate between the CPUs. Contenders take turns. The table shows medians, and medians of the ratios of each round.
//! The limit is what no schedule could beat: the long leaves one after the other on a fast CPU, relative to pinned
//! processors.
//!
//! `cargo run --release -p bombyx-core --example slow_cpu -- [rounds [part of the names of rows]]` prints the table.
//! `… slow_cpu -- --losses [rounds [part]]` shows where the time goes ([`losses`]). `… slow_cpu -- --timeline FILE.svg`
//! draws one run with and one without muggings ([`timeline`]). The exit status is 0 only if every bar holds.
//! `scripts/slow-cpu` runs and records it. It needs Linux and at least two CPUs. Nothing else should run meanwhile.

#[cfg(target_os = "linux")]
#[path = "../../tests/common/cpus.rs"]
mod cpus;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod losses;
#[cfg(target_os = "linux")]
mod timeline;

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("slow_cpu slows CPUs by pinning processes to them, and knows how on Linux only");
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::cpus::{allowed, pin};
    use crate::load::{self, FLIP, Load, Slowed, TAKE, spin};
    use crate::losses::{self, Losses};
    use crate::timeline;
    use bombyx::{Builder, HeterogeneousStats, Pool, for_each, join};
    use std::env;
    use std::process::exit;
    use std::thread;
    use std::time::{Duration, Instant};

    pub(crate) const PHASES: usize = 8;
    pub(crate) const LONG: Duration = Duration::from_millis(90);
    pub(crate) const SHORT: Duration = Duration::from_micros(500);
    pub(crate) const SHORTS: usize = 30;
    const PAUSE: Duration = Duration::from_millis(61);

    /// What one row measures, and the most that its ratios may be.
    struct Row {
        what: &'static str,
        load: Load,
        /// Whether the load changes sides.
        flips: bool,
        against_pinned: f64,
        against_unpinned: Option<f64>,
        /// Muggings in a second.
        muggings: Option<f64>,
    }

    const fn row(what: &'static str, load: Load, against_pinned: f64) -> Row {
        Row { what, load, flips: false, against_pinned, against_unpinned: Some(1.03), muggings: None }
    }

    const fn flipping(what: &'static str, load: Load) -> Row {
        Row { flips: true, against_unpinned: None, ..row(what, load, 0.75) }
    }

    const ROWS: [Row; 10] = [
        Row { muggings: Some(1.0), ..row("equal", Load::None, 1.03) },
        row("competitor, 1/2", Load::Competitors(1), 0.80),
        row("competitors, 1/4", Load::Competitors(3), 0.55),
        flipping("competitor, changing sides", Load::Competitors(1)),
        row("quota, 10 of 20 ms", Load::Quota(10, 20), 0.80),
        row("quota, 5 of 20 ms", Load::Quota(5, 20), 0.55),
        flipping("quota, changing sides", Load::Quota(10, 20)),
        row("quota, 50 of 100 ms", Load::Quota(50, 100), 0.80),
        row("quota, 25 of 100 ms", Load::Quota(25, 100), 0.55),
        flipping("50 of 100, changing sides", Load::Quota(50, 100)),
    ];

    pub(crate) fn main() {
        let arguments: Vec<String> = env::args().skip(1).collect();
        if let Some((TAKE, rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
            load::take(rest);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (losses, arguments) = match arguments[..] {
            ["--losses", ref rest @ ..] => (true, rest),
            _ => (false, &arguments[..]),
        };
        let (rounds, chosen, picture) = match arguments[..] {
            [] => (5, "", None),
            ["--timeline", file] => (1, "", Some(file)),
            [rounds, ref chosen @ ..] if chosen.len() < 2 => {
                let rounds = rounds.parse().ok().filter(|&rounds| rounds > 0).unwrap_or_else(|| usage());
                (rounds, *chosen.first().unwrap_or(&""), None)
            }
            _ => usage(),
        };
        let rows: Vec<&Row> = ROWS.iter().filter(|row| row.what.contains(chosen)).collect();
        let cpus = allowed();
        if cpus.len() < 2 {
            eprintln!("slow_cpu needs two CPUs, and this process may use {}", cpus.len());
            exit(1);
        }
        // Only two CPUs, so that unpinned contenders have no more either.
        pin(&cpus[..2]);
        let per_millisecond = calibrate();
        if let Some(file) = picture {
            return draw(file, &cpus[..2], per_millisecond);
        }
        let phases = format!("{PHASES} phases of one leaf of {LONG:?} and {SHORTS} of {SHORT:?}");
        if losses {
            println!(
                "{phases}; means of {rounds} runs, lost milliseconds beside the {} of the long leaves\n",
                (LONG * PHASES as u32).as_millis()
            );
            let headings: String = losses::HEADINGS.iter().map(|heading| format!("{heading:>9}")).collect();
            println!("{:<28}{:<14}{:>8}{headings}{:>7}", "one CPU is slowed by", "scheduler", "time", "mugs");
        } else {
            println!(
                "{phases}; medians of {rounds} rounds\n\n\
             {:<28}{:>10}{:>10}{:>10}{:>9}{:>8}{:>11}{:>8}  bars",
                "one CPU is slowed by",
                "pinned",
                "unpinned",
                "hetero",
                "/pinned",
                "limit",
                "/unpinned",
                "mugs/s"
            );
        }
        let quotas = load::has_quotas();
        let mut missed = 0;
        for row in &rows {
            if matches!(row.load, Load::Quota(..)) && !quotas {
                println!("{:<28}not measured: the system allows us no real-time process", row.what);
                missed += 1;
                continue;
            }
            let places = if row.flips { vec![cpus[1], cpus[0]] } else { vec![cpus[1]] };
            let _slowed = Slowed::start(row.load, &places);
            if losses {
                lose(row, rounds, per_millisecond);
            } else {
                missed += usize::from(!measure(row, rounds, per_millisecond));
            }
        }
        if losses {
            return;
        }
        match missed {
            0 => println!("\nall bars hold"),
            _ => println!("\n{missed} of {} rows miss a bar, or could not be measured", ROWS.len()),
        }
        exit(i32::from(missed > 0));
    }

    fn usage() -> ! {
        eprintln!("usage: slow_cpu [[--losses] [rounds [part of the names of rows]] | --timeline FILE.svg]");
        exit(2);
    }

    fn named(scheduler: &str) -> Builder {
        Pool::builder().processors(2).scheduler(scheduler.parse().expect("it exists"))
    }

    fn build(builder: Builder) -> Pool {
        builder.build().unwrap_or_else(|error| {
            eprintln!("slow_cpu: {error}");
            exit(1);
        })
    }

    /// Draws a run on pinned processors, and one with muggings, with the second CPU at about a half.
    fn draw(file: &str, cpus: &[usize], per_millisecond: u64) {
        let _slowed = Slowed::start(Load::Competitors(1), &cpus[1..]);
        let runs = [
            ("work-stealing, pinned", named("work-stealing").pin(true)),
            ("heterogeneous:1.25", named("heterogeneous:1.25")),
        ]
        .map(|(name, builder)| {
            let pool = build(builder);
            let recorder = timeline::Recorder::start();
            let step = |time: Duration| spin(per_millisecond * time.as_micros() as u64 / 1000);
            pool.run(|| chain(|time| recorder.leaf(time, step)));
            recorder.finish(name)
        });
        if let Err(error) = std::fs::write(file, timeline::svg(&runs, cpus)) {
            eprintln!("slow_cpu cannot write {file}: {error}");
            exit(1);
        }
        println!("wrote {file}");
    }

    /// Where the time of a row goes, for each contender.
    fn lose(row: &Row, rounds: usize, per_millisecond: u64) {
        let mut pause = Duration::ZERO;
        for (name, builder) in contenders() {
            let (pool, losses) = (build(builder), Losses::default());
            let mut time = Duration::ZERO;
            for _ in 0..rounds {
                pause = next(pause);
                thread::sleep(pause);
                let start = Instant::now();
                pool.run(|| losses.chain(|time| spin(per_millisecond * time.as_micros() as u64 / 1000)));
                time += start.elapsed();
            }
            let mean = |milliseconds: f64| milliseconds / rounds as f64;
            let lost: String = losses.milliseconds().map(|lost| format!("{:>9.1}", mean(lost))).concat();
            let (time, muggings) =
                (mean(time.as_secs_f64() * 1e3), mean(pool.stats().heterogeneous.muggings as f64));
            println!("{:<28}{name:<14}{time:>8.0}{lost}{muggings:>7.1}", row.what);
        }
    }

    /// Pinned, unpinned, and with muggings.
    fn contenders() -> [(&'static str, Builder); 3] {
        [
            ("pinned", named("work-stealing").pin(true)),
            ("unpinned", named("work-stealing")),
            ("hetero", named("heterogeneous:1.25")),
        ]
    }

    /// Each run meets the load at another point of its course, so that none is always lucky.
    fn next(pause: Duration) -> Duration {
        Duration::from_nanos(((pause + PAUSE).as_nanos() % (2 * FLIP).as_nanos()) as u64)
    }

    /// Measures and prints a row. Returns whether all of its bars hold.
    fn measure(row: &Row, rounds: usize, per_millisecond: u64) -> bool {
        let pools = contenders().map(|(_, builder)| build(builder));
        let mut times = [const { Vec::new() }; 3];
        let mut pause = Duration::ZERO;
        for _ in 0..rounds {
            for (pool, times) in pools.iter().zip(&mut times) {
                pause = next(pause);
                thread::sleep(pause);
                let start = Instant::now();
                pool.run(|| chain(|time| spin(per_millisecond * time.as_micros() as u64 / 1000)));
                times.push(start.elapsed().as_secs_f64());
            }
        }
        let seconds: f64 = times[2].iter().sum();
        let HeterogeneousStats { muggings, refused, .. } = pools[2].stats().heterogeneous;
        let rate = muggings as f64 / seconds;
        let ratio = |other: usize| median(times[2].iter().zip(&times[other]).map(|(a, b)| a / b).collect());
        let (against_pinned, against_unpinned) = (ratio(0), ratio(1));
        let mut bars = vec![("/pinned", against_pinned, row.against_pinned)];
        bars.extend(row.against_unpinned.map(|bar| ("/unpinned", against_unpinned, bar)));
        bars.extend(row.muggings.map(|bar| ("mugs/s", rate, bar)));
        let [pinned, unpinned, heterogeneous] = times.map(|times| median(times) * 1e3);
        let judged: Vec<String> = bars
            .iter()
            .map(|(what, value, bar)| {
                let verdict = if value <= bar { "holds" } else { "MISSED" };
                format!("{what} <= {bar:.2} {verdict}")
            })
            .collect();
        let what = row.what;
        // The long leaves one after the other, each on a CPU that is all ours: no schedule is faster.
        let limit = (LONG * PHASES as u32).as_secs_f64() * 1e3 / pinned;
        println!(
            "{what:<28}{pinned:>7.0} ms{unpinned:>7.0} ms{heterogeneous:>7.0} ms{against_pinned:>9.2}{limit:>8.2}\
             {against_unpinned:>11.2}{rate:>8.1}  {}",
            judged.join(", ")
        );
        if refused > 0 {
            println!("{:<28}{refused} exchanges were refused", "");
        }
        bars.iter().all(|(_, value, bar)| value <= bar)
    }

    /// The computation.
    fn chain(work: impl Fn(Duration) + Sync) {
        let shorts = || for_each(0..SHORTS, |_| work(SHORT));
        for _ in 0..PHASES {
            join(shorts, || work(LONG));
        }
    }

    /// How many steps of [`spin`] take a millisecond, at best.
    fn calibrate() -> u64 {
        const STEPS: u64 = 1_000_000;
        let once = || {
            let start = Instant::now();
            spin(STEPS);
            start.elapsed().as_secs_f64()
        };
        let best = (0..20).map(|_| once()).fold(f64::INFINITY, f64::min);
        (STEPS as f64 / best / 1e3) as u64
    }

    fn median(mut times: Vec<f64>) -> f64 {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}
