//! `bombyx` without a command: a tour of under a minute through what forking costs and what it gains on this machine.

use crate::Result;
use crate::contender::Contender;
use crate::host::cores;
use crate::table::{Cell, Table, Tone};
use crate::terminal::{Progress, coloured, print};
use crate::text::{grouped, ratio, time};
use bombyx::Stats;
use bombyx_workloads::{Grain, Prepared, Size, find};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What the tour shows: a fork at its dearest, then programs of different kinds.
const STOPS: &[(&str, Grain)] = &[
    ("fib", Grain::Fine),
    ("nqueens", Grain::Medium),
    ("cilksort-random", Grain::Medium),
    ("matmul", Grain::Medium),
    ("quickhull-uniform", Grain::Medium),
    ("uts-t1", Grain::Medium),
    ("fft", Grain::Medium),
    ("mandelbrot", Grain::Medium),
];

/// Every stop is run once, and again while there is time left of its share of this.
const BUDGET: Duration = Duration::from_secs(34);

/// The best times of a stop.
struct Measured {
    serial: Duration,
    one: Duration,
    all: Duration,
    /// What the pool counted in the best run on all processors.
    stats: Stats,
}

pub(crate) fn run(quick: bool) -> Result<ExitCode> {
    let cores = cores();
    let [serial, one, all] =
        [Contender::serial(), Contender::bombyx(1, None)?, Contender::bombyx(cores, None)?];
    let size = if quick { Size::Small } else { Size::Default };
    print(&format!(
        "Bombyx on {cores} core{}: {} workloads, each as its serial elision, on one processor and on {}.\n\n",
        if cores == 1 { "" } else { "s" },
        STOPS.len(),
        if cores == 1 { "all (there is one)".into() } else { format!("all {cores}") },
    ))?;
    let table = Table::new(coloured())
        .words("workload", 18)
        .words("grain", 6)
        .numbers("serial", 7)
        .numbers("overhead P=1", 7)
        .numbers(format!("time P={cores}"), 8)
        .numbers("speedup", 7)
        .numbers("steals", 7)
        .numbers("hand-overs", 7)
        .words("result", 7);
    let progress = Progress::new(STOPS.len() * 3);
    progress.print(&table.head())?;
    for (name, grain) in STOPS {
        progress.doing(format!("{name}: making the input"));
        let mut prepared = find(name)?.prepare(size, *grain, 42);
        let share = if quick { Duration::ZERO } else { BUDGET / STOPS.len() as u32 };
        let measured = measure(name, &mut *prepared, [&serial, &one, &all], share, &progress)?;
        let seconds = |time: Duration| time.as_secs_f64();
        progress.print(&table.line([
            Cell::from(*name),
            grain.to_string().into(),
            time(seconds(measured.serial)).into(),
            format!("{} ×", ratio(seconds(measured.one) / seconds(measured.serial))).into(),
            time(seconds(measured.all)).into(),
            Cell::new(ratio(seconds(measured.serial) / seconds(measured.all)), Tone::Strong),
            grouped(measured.stats.steals).into(),
            grouped(measured.stats.hand_overs).into(),
            Cell::new("correct", Tone::Good),
        ]))?;
    }
    drop(progress);
    print(&closing(quick))?;
    Ok(ExitCode::SUCCESS)
}

/// Best of as many rounds as fit into `share`, at least one; every result is checked.
fn measure(
    name: &str,
    prepared: &mut dyn Prepared,
    contenders: [&Contender; 3],
    share: Duration,
    progress: &Progress,
) -> Result<Measured> {
    let start = Instant::now();
    let mut best = [Duration::MAX; 3];
    let mut counted = [Stats::default(); 3];
    let mut expected = None;
    for round in 1.. {
        for (nth, contender) in contenders.iter().enumerate() {
            progress.doing(format!("{name}: {contender}"));
            let before = contender.stats().unwrap_or_default();
            let run = prepared.run(contender.runtime());
            let during = contender.stats().unwrap_or_default() - before;
            prepared.check().map_err(|wrong| format!("{name} on {contender} is wrong: {wrong}"))?;
            if *expected.get_or_insert(run.checksum) != run.checksum {
                return Err(format!("{name} on {contender} differs from the serial elision").into());
            }
            if run.time < best[nth] {
                best[nth] = run.time;
                counted[nth] = during;
            }
            if round == 1 {
                progress.step();
            }
        }
        let next = start.elapsed() * (round + 1) / round;
        if next > share {
            break;
        }
    }
    let ([serial, one, all], [.., stats]) = (best, counted);
    Ok(Measured { serial, one, all, stats })
}

fn closing(quick: bool) -> String {
    let again = if quick { "" } else { "cargo run --release -- --quick" };
    let mut out = String::from(
        "\nOverhead is the time on one processor over that of the serial elision; speedup is serial over parallel.\n\
         Every result was checked and equals that of the serial elision.\n\nTry next:\n",
    );
    for (command, what) in [
        (again, "the same on small inputs"),
        ("cargo run --release -- run nqueens --stats", "one workload, and what the scheduler did"),
        ("cargo run --release -- bench cilksort", "beside rayon and chili"),
        (
            "cargo run --release -- simulate fib:20",
            "the same schedulers in virtual time, up to 64 processors",
        ),
    ] {
        if !command.is_empty() {
            out += &format!("  {command:44}{what}\n");
        }
    }
    out
}
