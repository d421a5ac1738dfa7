//! `bombyx` without a command: shows in 20 seconds what you gain on this machine with real programs, beside rayon, and
//! what a fork costs.

use crate::Result;
use crate::contender::Contender;
use crate::host::{busy_elsewhere, cores};
use crate::table::{Cell, Style, Table, Tone};
use crate::terminal::{print, style};
use crate::text::{grouped, ratio, time, wrapped};
use bombyx_lab::programs;
use bombyx_lab::progress::Progress;
use bombyx_workloads::{Grain, Prepared, Size, find};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The workloads of the tour, and the names by which a reader knows them.
const STOPS: &[(&str, &str)] = &[
    ("cilksort-random", "merge sort"),
    ("quickhull-uniform", "convex hull"),
    ("matmul", "matrix product"),
    ("fft", "Fourier transform"),
    ("nqueens", "search for queens"),
    ("mandelbrot", "Mandelbrot set"),
    ("uts-t1", "unbalanced tree"),
];

/// Every stop runs once, and again while time is left in its share of this budget.
const BUDGET: Duration = Duration::from_secs(13);

/// Shorter runs say nothing about a program, because starting the processors takes as long.
const SHORTEST: Duration = Duration::from_millis(2);

/// If other programs keep more than this share of the cores busy, the figures are not worth much.
const BUSY: f64 = 0.15;

/// The best times of a stop: the serial elision, then every contender.
struct Measured {
    serial: Duration,
    ours: Duration,
    rayon: Option<Duration>,
}

pub(crate) fn run(quick: bool) -> Result<ExitCode> {
    let (cores, style) = (cores(), style());
    let mut contenders = vec![Contender::serial(), Contender::bombyx(cores, None)?];
    contenders.extend(rayon(cores)?);
    let (size, share) = match quick {
        true => (Size::Small, Duration::ZERO),
        false => (Size::Default, BUDGET / STOPS.len() as u32),
    };
    let several = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    print(&format!("Bombyx on {several}: real programs, every result checked.\n\n"))?;
    warn(cores, style)?;
    let table = table(style);
    print(&table.head())?;
    let progress = Progress::new(STOPS.len() * contenders.len());
    for (name, about) in STOPS {
        progress.doing(format!("{about}: making the input"));
        let mut prepared = find(name)?.prepare(size, Grain::Medium, 42);
        let measured = measure(name, &mut *prepared, &contenders, share, &progress)?;
        print(&line(&table, about, &measured))?;
    }
    drop(progress);
    print(&table.left_out().unwrap_or_default())?;
    let forks = forks(if quick { 24 } else { 35 })?;
    print(&format!("\n{}\n{}", wrapped(&forks, style.prose(), 0), closing(style, built_by_cargo())))?;
    Ok(ExitCode::SUCCESS)
}

/// Rayon's pool, in a build that has it.
fn rayon(processors: usize) -> Result<Option<Contender>> {
    Ok(Contender::peers(processors)?.into_iter().find(|peer| peer.name() == "rayon"))
}

/// Warns if other programs use this machine.
fn warn(cores: usize, style: Style) -> Result<()> {
    let Some(busy) = busy_elsewhere().filter(|busy| *busy > BUSY * cores as f64) else { return Ok(()) };
    let text = format!(
        "Other programs keep {busy:.1} of the {cores} cores busy: expect less speedup than on a quiet machine, and figures \
         that vary."
    );
    let tone = if style.coloured { anstyle::AnsiColor::Yellow.on_default() } else { anstyle::Style::new() };
    print(&format!("{tone}{}{tone:#}\n\n", wrapped(&text, style.prose(), 0)))
}

fn table(style: Style) -> Table {
    let width = STOPS.iter().map(|(_, about)| about.len()).max().unwrap_or(0);
    Table::new(style)
        .words("program", width)
        .numbers("serial", 8)
        .numbers("rayon", 8)
        .numbers("bombyx", 8)
        .numbers("speedup", 9)
        .words("beside rayon", 12)
        .extra()
}

fn line(table: &Table, about: &str, measured: &Measured) -> String {
    let shown = |taken: Duration| Cell::from(time(taken.as_secs_f64()));
    let told = measured.serial >= SHORTEST && measured.ours >= SHORTEST;
    let speedup = measured.serial.as_secs_f64() / measured.ours.as_secs_f64();
    let beside = measured.rayon.map(|rayon| rayon.as_secs_f64() / measured.ours.as_secs_f64());
    let beside = match beside.filter(|_| told) {
        None => Cell::none(),
        Some(faster) if faster >= 1.02 => Cell::new(format!("{} × faster", ratio(faster)), Tone::Good),
        Some(faster) if faster <= 0.98 => Cell::new(format!("{} × slower", ratio(1.0 / faster)), Tone::Bad),
        Some(_) => Cell::from("equal"),
    };
    table.line([
        about.into(),
        shown(measured.serial),
        measured.rayon.map_or_else(Cell::none, shown),
        Cell::new(time(measured.ours.as_secs_f64()), Tone::Strong),
        if told { Cell::new(ratio(speedup), Tone::Strong) } else { Cell::new("too short", Tone::Faint) },
        beside,
    ])
}

/// The best of as many rounds as fit into `share`, at least one. Every result is checked.
fn measure(
    name: &str,
    prepared: &mut dyn Prepared,
    contenders: &[Contender],
    share: Duration,
    progress: &Progress,
) -> Result<Measured> {
    let start = Instant::now();
    let mut best = vec![Duration::MAX; contenders.len()];
    let mut expected = None;
    for round in 1.. {
        for (nth, contender) in contenders.iter().enumerate() {
            progress.doing(format!("{name}: {contender}"));
            let run = prepared.run(contender.runtime());
            prepared.check().map_err(|wrong| format!("{name} on {contender} is wrong: {wrong}"))?;
            if *expected.get_or_insert(run.checksum) != run.checksum {
                return Err(format!("{name} on {contender} differs from the serial elision").into());
            }
            best[nth] = best[nth].min(run.time);
            if round == 1 {
                progress.step();
            }
        }
        let next = start.elapsed() * (round + 1) / round;
        if next > share {
            break;
        }
    }
    Ok(Measured { serial: best[0], ours: best[1], rayon: best.get(2).copied() })
}

/// What a fork costs: a recursion that does nothing else, on one processor.
fn forks(n: u32) -> Result<String> {
    const ROUNDS: usize = 3;
    let mut contenders = vec![Contender::serial(), Contender::bombyx(1, None)?];
    contenders.extend(rayon(1)?);
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..ROUNDS {
        for (contender, best) in contenders.iter().zip(&mut best) {
            let start = Instant::now();
            let result = programs::fib(contender.runtime(), n);
            *best = best.min(start.elapsed().as_secs_f64());
            if result != programs::fib_value(n) {
                return Err(format!("fib({n}) on {contender} is wrong: {result}").into());
            }
        }
    }
    let forks = programs::fib_forks(n);
    let cost = |taken: f64| time((taken - best[0]).max(0.0) / forks as f64);
    let rayon = best.get(2).map_or(String::new(), |&taken| format!(", rayon's {}", cost(taken)));
    Ok(format!("{} empty forks, to see what a fork costs: {}{rayon}.", grouped(forks), cost(best[1])))
}

/// What to do next. `built_by_cargo`: the program is not installed, so it may not be found by its name.
fn closing(style: Style, built_by_cargo: bool) -> String {
    let try_it = "Try it on your own program (one that uses bombyx, or rayon on Bombyx):";
    let mut out = format!("\n{}\n", wrapped(try_it, style.prose(), 0));
    let line = |command: &str, what: &str| {
        wrapped(&format!("  bombyx {command:24}{what}"), style.width.unwrap_or(usize::MAX), 6) + "\n"
    };
    out += &line("profile -- ./program", "why does it scale as it does?");
    out += &line("scale -- ./program", "measured against predicted speedups");
    out += &line("doctor ./project", "is this machine, and the project, ready?");
    out += "And on ours:\n";
    out += &line("run nqueens --stats", "one program, and what the scheduler did");
    out += &line("bench cilksort", "beside rayon and chili, with medians");
    out += &line("simulate fib:20", "the same scheduler on up to 64 processors");
    if built_by_cargo {
        let install = "`cargo install --locked --path crates/bombyx-cli` installs `bombyx`. In this clone, `cargo run \
                       --release --` does the same without installing it.";
        out += &format!("{}\n", wrapped(install, style.prose(), 0));
    }
    out
}

/// Whether this program lies where cargo builds programs: below a folder that cargo has marked.
fn built_by_cargo() -> bool {
    let folders = |path: &Path| path.ancestors().any(|folder| folder.join(".rustc_info.json").exists());
    std::env::current_exe().is_ok_and(|path| folders(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_installed_program() {
        let installed = closing(Style::default(), false);
        assert!(!installed.contains("cargo"), "{installed}");
        assert_eq!(installed.matches("\n  bombyx ").count(), 6, "{installed}");
        assert!(closing(Style::default(), true).contains("cargo install --locked"));
        assert!(built_by_cargo(), "this test is built by cargo");
    }
}
