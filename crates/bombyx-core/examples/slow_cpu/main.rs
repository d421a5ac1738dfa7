//! Measures what `heterogeneous` is for: a computation with a long critical path of serial threads, on two CPUs, one
//! of which is slowed by competing processes that are pinned to it.
//!
//! The computation is a chain of phases, each of one long leaf and many short ones. Whoever begins a phase runs the
//! short ones, and whoever ends the long leaf begins the next one; so on pinned processors the long leaves alternate
//! between the CPUs. Contenders take turns, and the table shows medians and ratios, against what should hold.
//!
//! `cargo run --release --example slow_cpu [rounds]`, or `… slow_cpu --timeline FILE.svg` for a picture of one run with
//! and one without muggings ([`timeline`]). Linux, at least two CPUs; nothing else should run meanwhile.

#[cfg(target_os = "linux")]
#[path = "../../tests/common/cpus.rs"]
mod cpus;
#[cfg(target_os = "linux")]
mod timeline;

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("slow_cpu slows CPUs by pinning competing processes to them, and knows how on Linux only");
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::cpus::{allowed, pin};
    use crate::timeline;
    use bombyx::{Builder, Pool, Stats, for_each, join};
    use std::env;
    use std::hint::black_box;
    use std::process::{Child, Command, exit};
    use std::thread;
    use std::time::{Duration, Instant};

    /// The first argument of a competing process; the CPUs on which it takes turns follow.
    const COMPETE: &str = "--compete";
    const PHASES: usize = 8;
    pub(crate) const LONG: Duration = Duration::from_millis(90);
    const SHORT: Duration = Duration::from_micros(500);
    const SHORTS: usize = 30;
    const FLIP_MILLIS: u64 = 200;
    const PAUSE_MILLIS: u64 = 61;

    pub(crate) fn main() {
        let arguments: Vec<String> = env::args().skip(1).collect();
        if let Some((COMPETE, cpus)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
            compete(cpus);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (rounds, picture) = match arguments[..] {
            [] => (5, None),
            ["--timeline", file] => (1, Some(file)),
            [rounds] => (rounds.parse().unwrap_or_else(|_| usage()), None),
            _ => usage(),
        };
        let cpus = allowed();
        if cpus.len() < 2 {
            eprintln!("slow_cpu needs two CPUs, and this process may use {}", cpus.len());
            exit(1);
        }
        // Just two, so that unpinned contenders have no more either.
        pin(&cpus[..2]);
        let per_millisecond = calibrate();
        if let Some(file) = picture {
            return draw(file, &cpus[..2], per_millisecond);
        }
        println!(
            "{PHASES} phases of one leaf of {LONG:?} and {SHORTS} of {SHORT:?}; medians of {rounds} rounds"
        );
        println!("heterogeneous against pinned and unpinned work stealing, and what should hold\n");
        println!(
            "{:<26}{:>10}{:>10}{:>10}{:>10}{:>12}  bars",
            "CPU", "pinned", "unpinned", "hetero", "/pinned", "/unpinned"
        );
        let (slow, fast) = (cpus[1], cpus[0]);
        for (what, competitors, places, bars) in [
            ("equal", 0, vec![], "<= 1.03, muggings < 1/s"),
            ("one at about 1/2", 1, vec![slow], "<= 0.75, <= 1.05"),
            ("one at about 1/4", 3, vec![slow], "<= 0.75, <= 1.05"),
            ("1/2, sides change", 1, vec![slow, fast], "<= 0.85"),
        ] {
            let _load: Vec<Competitor> = (0..competitors).map(|_| Competitor::start(&places)).collect();
            report(what, rounds, per_millisecond, bars);
        }
    }

    fn usage() -> ! {
        eprintln!("usage: slow_cpu [rounds | --timeline FILE.svg]");
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
        let _load = Competitor::start(&cpus[1..]);
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

    fn report(what: &str, rounds: usize, per_millisecond: u64, bars: &str) {
        let contenders: [Builder; 3] =
            [named("work-stealing").pin(true), named("work-stealing"), named("heterogeneous:1.25")];
        let pools = contenders.map(build);
        let mut times = [const { Vec::new() }; 3];
        let mut pauses = 0;
        for _ in 0..rounds {
            for (pool, times) in pools.iter().zip(&mut times) {
                // Each run meets the competitors at another point of their way, so that none is always lucky.
                pauses = (pauses + PAUSE_MILLIS) % (2 * FLIP_MILLIS);
                thread::sleep(Duration::from_millis(pauses));
                let start = Instant::now();
                pool.run(|| chain(|time| spin(per_millisecond * time.as_micros() as u64 / 1000)));
                times.push(start.elapsed().as_secs_f64());
            }
        }
        let total: f64 = times[2].iter().sum();
        let [pinned, unpinned, heterogeneous] = times.map(median);
        println!(
            "{what:<26}{:>7.0} ms{:>7.0} ms{:>7.0} ms{:>10.2}{:>12.2}  {bars}",
            pinned * 1e3,
            unpinned * 1e3,
            heterogeneous * 1e3,
            heterogeneous / pinned,
            heterogeneous / unpinned
        );
        let Stats { muggings, refused, .. } = pools[2].stats();
        println!(
            "{:<26}{muggings} muggings ({:.1}/s), {refused} refused, speeds {:.2?}",
            "",
            muggings as f64 / total,
            pools[2].speeds()
        );
    }

    /// The computation.
    fn chain(work: impl Fn(Duration) + Sync) {
        let shorts = || for_each(0..SHORTS, |_| work(SHORT));
        for _ in 0..PHASES {
            join(shorts, || work(LONG));
        }
    }

    fn spin(steps: u64) {
        let mut x = black_box(1u64);
        for _ in 0..steps {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
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

    /// A process that takes CPU time, until it is dropped.
    struct Competitor(Child);

    impl Competitor {
        fn start(cpus: &[usize]) -> Competitor {
            let this = env::current_exe().expect("the program has a path");
            let cpus = cpus.iter().map(usize::to_string);
            Competitor(Command::new(this).arg(COMPETE).args(cpus).spawn().expect("a process can be started"))
        }
    }

    impl Drop for Competitor {
        fn drop(&mut self) {
            // It has ended already if this fails, and is waited for either way.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Takes turns on the CPUs for ever.
    fn compete(cpus: &[String]) -> ! {
        // SAFETY: the call only asks to be ended together with the parent.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        let cpus: Vec<usize> = cpus.iter().map(|cpu| cpu.parse().unwrap_or_else(|_| usage())).collect();
        for &cpu in cpus.iter().cycle() {
            pin(&[cpu]);
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(FLIP_MILLIS) {
                spin(1000);
            }
        }
        usage()
    }
}
