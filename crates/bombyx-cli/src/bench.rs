//! `bombyx bench`: the command line of [`bombyx_lab::bench`].

use crate::args::{Input, Pools};
use crate::host::Record;
use crate::output::{self, Output};
use crate::{Result, terminal};
use bombyx::Scheduler;
use bombyx_lab::bench::{self, Plan, Target};
use clap::ValueHint;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare Bombyx with rayon and chili in the same run.
///
/// Every runtime first runs once to warm up, and its result is checked. Then the runtimes take turns. Tables show
/// medians, line by line as they are measured.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx bench                                all workloads, P = 1 and all cores (takes a while)
  bombyx bench cilksort nqueens -p 2          two programs on two processors
  bombyx bench --grain fine --plot fine.svg   with a picture
  bombyx bench regions fib38                  two micro-benchmarks
  bombyx bench fib --json -o fib.json         everything that was measured
  bombyx bench --bars                         all micro-benchmarks and whether they hold their bars
  bombyx bench --bars workloads               all workloads at both grains and whether they hold theirs

`bombyx bench --list` lists workloads and micro-benchmarks. Quote only figures of the profile bench-lto:
`cargo run --profile bench-lto -- bench`.")]
pub(crate) struct Args {
    /// Workloads, programs (with all their inputs), `workloads` (all of them) or micro-benchmarks [default: all
    /// workloads]
    #[arg(value_name = "NAMES", value_parser = Target::named)]
    targets: Vec<Target>,

    /// Compare with the bars, for all micro-benchmarks unless named otherwise; exit status 1 if a bar is missed
    #[arg(long, conflicts_with_all = ["size", "grain", "processors", "schedulers"])]
    bars: bool,

    #[command(flatten)]
    pools: Pools,

    /// Bombyx's schedulers for workloads, separated by commas
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    schedulers: Vec<Scheduler>,

    #[command(flatten)]
    input: Input,

    /// Measured rounds [default: 5 for workloads; micro-benchmarks choose their own number]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    repeat: Option<u16>,

    #[command(flatten)]
    output: Output,

    /// Draw the speedups, as SVG or PNG by the file's name
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    plot: Option<PathBuf>,

    /// List workloads and micro-benchmarks
    #[arg(long, conflicts_with_all = ["json", "csv", "to"])]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        let list = bench::list() + &bench::list_of_micros();
        terminal::print(&terminal::fitted(&list, terminal::style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::check([args.output.file()])?;
    output::check_pictures([&args.plot])?;
    // The table comes line by line, unless standard output is for programs. A file gets the whole table at the end.
    let silent = !args.output.is_text() && args.output.file().is_none();
    let mut text = String::new();
    let mut show = |line: &str| {
        text += line;
        if silent { Ok(()) } else { terminal::print(line) }
    };
    show(&format!("{}\n", Record::of_this_process().head()))?;
    let plan = Plan {
        targets: args.targets.clone(),
        bars: args.bars,
        size: args.input.size,
        grain: args.input.grain,
        seed: args.input.seed,
        rounds: args.repeat.map(usize::from),
        processors: args.pools.numbers().unwrap_or_default().to_vec(),
        schedulers: args.schedulers.clone(),
    };
    let results = plan.run(args.output.style(), &mut show)?;
    if !args.output.is_text() || args.output.file().is_some() {
        args.output.show(|_| Ok(text), || results.json(), || Ok(output::csv(&results.rows()?)))?;
    }
    if let Some(path) = &args.plot {
        output::picture(path, &results.plot()?)?;
    }
    Ok(if results.missed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
