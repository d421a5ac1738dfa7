//! `bombyx bench`: Bombyx and its peers on the same programs in the same run.
//!
//! This file is the command line; [`case`] takes the measurements, [`workload`] and [`micro`] say of what, [`bar`] and
//! [`judge`] say what must hold of them, [`report`] and [`plot`] show them.

mod bar;
pub mod case;
mod judge;
mod micro;
mod plot;
mod report;
pub mod workload;

pub use case::{Sample, median};

use crate::contender::Contender;
use crate::host::{Record, cores};
use crate::input::Input;
use crate::terminal::{coloured, print};
use crate::{Result, files};
use bar::{Bar, Verdict};
use bombyx::Scheduler;
use bombyx_workloads::{Grain, Suite, Workload};
use case::Case;
use clap::ValueHint;
use micro::{MICROS, Micro};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compare Bombyx with rayon and chili in the same run.
///
/// Every runtime runs once to warm up and is checked, then all of them take turns. Tables show medians.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx bench                                all workloads, P = 1 and all cores (takes a while)
  bombyx bench cilksort nqueens -p 2          two programs on two processors
  bombyx bench --grain fine --plot fine.svg   with a picture
  bombyx bench regions fib38                  two micro-benchmarks
  bombyx bench --bars                         all micro-benchmarks and whether they hold their bars
  bombyx bench --bars workloads               all workloads at both grains and whether they hold theirs

`bombyx bench --list` lists workloads and micro-benchmarks. Quote only figures of the profile bench-lto:
`cargo run --profile bench-lto -- bench`.")]
pub struct Args {
    /// Workloads, programs (all their inputs), `workloads` (all of them) or micro-benchmarks; unless given, all workloads
    #[arg(value_name = "NAMES", value_parser = target)]
    targets: Vec<Target>,

    /// Compare with what must hold, the micro-benchmarks unless named otherwise; exit status 1 if a bar is missed
    #[arg(long, conflicts_with_all = ["size", "grain", "processors", "schedulers"])]
    bars: bool,

    /// Numbers of processors for workloads, separated by commas; unless given, 1 and all cores
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    processors: Vec<u16>,

    /// Bombyx's schedulers for workloads, separated by commas
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    schedulers: Vec<Scheduler>,

    #[command(flatten)]
    input: Input,

    /// Measured rounds; unless given, 5 for workloads, and what suits a micro-benchmark
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    repeat: Option<u16>,

    /// Write everything that was measured as JSON; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write a line of comma-separated values per runtime; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    csv: Option<PathBuf>,

    /// Draw the speedups as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    plot: Option<PathBuf>,

    /// List workloads and micro-benchmarks
    #[arg(long)]
    list: bool,
}

/// A workload that misses a bar is measured on, for so many times the rounds.
const FURTHER: usize = 6;

/// Something that can be measured by name.
#[derive(Clone)]
enum Target {
    Workloads(Vec<&'static dyn Workload>),
    Micro(&'static Micro),
}

fn target(name: &str) -> std::result::Result<Target, String> {
    if let Some(micro) = MICROS.iter().find(|micro| micro.name == name) {
        return Ok(Target::Micro(micro));
    }
    if name == "workloads" {
        return Ok(Target::Workloads(bombyx_workloads::all().to_vec()));
    }
    bombyx_workloads::select(name).map(Target::Workloads).map_err(|unknown| {
        let near = MICROS.iter().find(|micro| strsim::damerau_levenshtein(micro.name, name) <= 2);
        match near {
            Some(micro) => format!("there is no benchmark `{name}`; did you mean {}?", micro.name),
            None => unknown.to_string(),
        }
    })
}

/// Everything that a command measured.
pub struct Results {
    record: Record,
    workloads: Vec<Case>,
    micros: Vec<Case>,
    bars: Vec<Bar>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        print(&list())?;
        print(&report::list_of_micros())?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = [&args.json, &args.csv, &args.plot].into_iter().flatten();
    files.filter(|path| *path != Path::new("-")).try_for_each(|path| files::expect_to_write(path))?;
    let (workloads, micros) = args.chosen();
    let contenders = if workloads.is_empty() { Vec::new() } else { args.contenders()? };
    let names = workloads.iter().map(|workload| workload.name());
    let several_schedulers = args.schedulers.len() > 1 || (args.bars && !workloads.is_empty());
    let report = report::Report::new(names, !micros.is_empty(), several_schedulers, coloured());
    let show = |text: &str| if args.prints_table() { print(text) } else { Ok(()) };

    let mut outlook = None;
    let mut results =
        Results { record: Record::of_this_process(), workloads: vec![], micros: vec![], bars: vec![] };
    show(&format!("{}\n\n", results.record.line()))?;
    show(&report.head())?;
    let mut known = Vec::new();
    for setup in args.setups() {
        let first = results.workloads.len();
        if args.bars && !workloads.is_empty() {
            show(&report.section(setup.grain))?;
        }
        for workload in &workloads {
            let mut case = workload::measure(*workload, &setup, &contenders)?;
            // Near a bar, a few rounds on a restless machine decide nothing. All rounds count, and nothing is tried again.
            let (suite, bound, grain) = (workload.suite(), workload.bound(), setup.grain);
            if args.bars && judge::misses(judge::Judged { case: &case, suite, bound, grain }) {
                let longer = workload::Setup { rounds: FURTHER * setup.rounds, ..setup };
                case.add(workload::measure(*workload, &longer, &contenders)?);
            }
            show(&report.lines(&case))?;
            case.name = args.label(*workload, setup.grain);
            results.workloads.push(case);
            known.push((suite, bound, grain));
        }
        if results.workloads.len() > first + 1 {
            show(&report.means(&results.workloads[first..]))?;
        }
    }
    if args.bars && !known.is_empty() {
        let judged = results.workloads.iter().zip(known);
        let judged: Vec<_> =
            judged.map(|(case, (suite, bound, grain))| judge::Judged { case, suite, bound, grain }).collect();
        results.bars.extend(judge::bars(&judged));
        outlook = judge::outlook(&judged, coloured());
    }
    for micro in micros {
        let outcome = micro.run(args.input.size, args.repeat.map(usize::from))?;
        outcome.cases.iter().try_for_each(|case| show(&report.lines(case)))?;
        results.micros.extend(outcome.cases);
        results.bars.extend(outcome.bars);
    }
    show(&report.legend())?;
    if !args.bars {
        results.bars.clear();
    } else {
        show(&format!("\n{}", bar::table(&results.bars, coloured())))?;
        outlook.iter().try_for_each(|table| show(&format!("\n{table}")))?;
    }

    for (path, render) in
        [(&args.json, report::json as fn(&Results) -> Result<String>), (&args.csv, report::csv)]
    {
        match path {
            Some(path) if path == Path::new("-") => print(&render(&results)?)?,
            Some(path) => files::write(path, render(&results)?.as_bytes())?,
            None => {}
        }
    }
    if let Some(path) = &args.plot {
        files::write(path, plot::speedups(&results)?.as_bytes())?;
    }
    let missed = results.bars.iter().any(|bar| bar.verdict() == Verdict::Missed);
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Args {
    fn prints_table(&self) -> bool {
        ![&self.json, &self.csv].iter().any(|path| path.as_deref() == Some(Path::new("-")))
    }

    /// What a workload is called where both grains stand side by side.
    fn label(&self, workload: &dyn Workload, grain: Grain) -> String {
        match grain {
            Grain::Fine if self.bars => format!("{}, fine", workload.name()),
            _ => workload.name().to_owned(),
        }
    }

    /// How to measure workloads: at the grain that was asked for, or for the bars at both.
    fn setups(&self) -> Vec<workload::Setup> {
        let rounds = self.repeat.map_or(if self.bars { 3 } else { 5 }, usize::from);
        let grains = if self.bars { Grain::ALL.to_vec() } else { vec![self.input.grain] };
        let setup = |grain| workload::Setup {
            size: self.input.size,
            grain,
            seed: self.input.seed,
            rounds,
            counts: 1,
        };
        grains.into_iter().map(setup).collect()
    }

    /// What to measure, each once.
    fn chosen(&self) -> (Vec<&'static dyn Workload>, Vec<&'static Micro>) {
        let (mut workloads, mut micros) = (Vec::<&dyn Workload>::new(), Vec::<&Micro>::new());
        for target in &self.targets {
            match target {
                Target::Micro(micro) if !micros.iter().any(|known| known.name == micro.name) => {
                    micros.push(micro)
                }
                Target::Micro(_) => {}
                Target::Workloads(several) => workloads.extend(several),
            }
        }
        let mut seen = std::collections::HashSet::new();
        workloads.retain(|workload| seen.insert(workload.name()));
        if self.bars && self.targets.is_empty() {
            micros = MICROS.iter().collect();
        } else if self.targets.is_empty() {
            workloads = bombyx_workloads::all().to_vec();
        }
        (workloads, micros)
    }

    /// The serial elision, and every runtime on every number of processors; for the bars, only those that they name.
    fn contenders(&self) -> Result<Vec<Contender>> {
        if self.bars {
            let mut contenders = vec![Contender::serial(), Contender::bombyx(1, None)?];
            contenders.push(Contender::bombyx(judge::PROCESSORS, None)?);
            contenders.extend(Contender::peers(judge::PROCESSORS)?);
            for scheduler in judge::SCHEDULERS {
                // Not all can be had everywhere: pinned processors need more than one CPU. What is missing is not judged.
                contenders.extend(Contender::bombyx(judge::PROCESSORS, Some(scheduler.parse()?)).ok());
            }
            return Ok(contenders);
        }
        let mut numbers: Vec<usize> = self.processors.iter().copied().map(usize::from).collect();
        if numbers.is_empty() {
            numbers = vec![1, cores()];
        }
        numbers.sort_unstable();
        numbers.dedup();
        let schedulers: Vec<Option<Scheduler>> = match self.schedulers[..] {
            [] => vec![None],
            ref chosen => chosen.iter().copied().map(Some).collect(),
        };
        let mut contenders = vec![Contender::serial()];
        for processors in numbers {
            for scheduler in &schedulers {
                contenders.push(Contender::bombyx(processors, *scheduler)?);
            }
            contenders.extend(Contender::peers(processors)?);
        }
        Ok(contenders)
    }
}

/// All workloads with what they compute, suite by suite.
pub fn list() -> String {
    let mut out = String::new();
    for suite in Suite::ALL {
        let heading = match suite {
            Suite::ReadWrite => "Acar, Charguéraud, Muller and Rainey's (read-write)",
            Suite::DfDeques => "Narlikar's (dfdeques)",
            Suite::Classics => "Classics",
        };
        let _ = writeln!(out, "{}{heading}", if out.is_empty() { "" } else { "\n" });
        for workload in bombyx_workloads::all().iter().filter(|workload| workload.suite() == *suite) {
            let _ = writeln!(out, "  {:24}{}", workload.name(), workload.about());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_typos_answered() {
        assert!(matches!(target("fib38"), Ok(Target::Micro(_))));
        assert!(matches!(target("fib"), Ok(Target::Workloads(several)) if several.len() == 1));
        assert!(matches!(target("cilksort"), Ok(Target::Workloads(several)) if several.len() == 2));
        assert_eq!(
            target("regoins").err().unwrap(),
            "there is no benchmark `regoins`; did you mean regions?"
        );
        assert!(target("nquens").err().unwrap().contains("did you mean nqueens?"));
    }

    #[test]
    fn no_micro_benchmark_hides_a_workload() {
        for micro in MICROS {
            assert!(bombyx_workloads::find(micro.name).is_err(), "{}", micro.name);
        }
    }
}
