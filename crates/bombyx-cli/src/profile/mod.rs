//! `bombyx profile`: why a program scales as it does.
//!
//! **Not here:** how a profile is taken (`bombyx-core`), and what it means (`bombyx-profile`).
//!
//! This file has the command line and the order of events. [`report`] prints the profile, and [`plot`] draws it.
//! `bombyx-profile` says what a profile means, and `bombyx` measures it.

pub(crate) mod plot;
mod report;

use crate::args::{Pools, ProgramUnlessRead};
use crate::launch::wrote_nothing;
use crate::output::{self, Output};
use crate::terminal::{complain, error_style, print, say};
use crate::{Result, Usage, files, host};
use bombyx_lab::profiled::{To, add_companion, load, profiled};
use bombyx_lab::progress::Progress;
use bombyx_profile::{Profile, Scaling};
use clap::ValueHint;
use report::Report;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and say how well it scales, and why.
///
/// The program must use Bombyx, or rayon on Bombyx. You need not compile it again. It runs twice: on the processors that
/// you ask for, and then, without input and with its output discarded, on one processor (or on all CPUs, if you ask for
/// one). It takes two runs to find the speedup, and how much processors slow each other down. --once leaves the second run
/// out.
///
/// The program's output stays as it is, and the report goes to standard error. With --json or --csv, the report goes to
/// standard output, and the program's output to standard error. -o sends the report to a file. With --csv, work and span
/// have Cilkscale's column names, for its plotter.
#[derive(clap::Args)]
#[command(
    override_usage = "bombyx profile [OPTIONS] -- <PROGRAM>...\n       bombyx profile [OPTIONS] --read <FILE>"
)]
#[command(after_help = "\
Examples:
  bombyx profile -- ./sort 10000000               work, span, predicted speedups, advice
  bombyx profile --once -p 1 -- bombyx run fft    one run on one processor: no noise from stealing
  bombyx profile --explain -- ./sort 10000000     why the predictions are as wide as they are
  bombyx profile --plot sort.svg --save sort.json -- ./sort 10000000
  bombyx profile --read sort.json --json          the same profile again, for programs

The exit status is the program's own.")]
pub(crate) struct Args {
    #[command(flatten)]
    program: ProgramUnlessRead,

    #[command(flatten)]
    pools: Pools,

    /// Run the program only once. Its speedup is then not known
    #[arg(long, conflicts_with = "read")]
    once: bool,

    /// Say why the bands of predicted speedups are as wide as they are
    #[arg(long)]
    explain: bool,

    /// How many fork sites to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,

    /// Show a profile that was kept with --save
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "program")]
    read: Option<PathBuf>,

    /// Keep the profile in a file, for --read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    save: Option<PathBuf>,

    #[command(flatten)]
    output: Output,

    /// Plot predicted speedups with their band, as SVG or PNG by the file's name
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    plot: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    output::check([args.output.file(), args.save.as_deref()])?;
    output::check_pictures([&args.plot])?;
    let processors = args.pools.one("profile")?;
    if args.read.is_some() && processors.is_some() {
        return Err(Usage("`--read` shows an existing profile, so `-p` has no effect".to_owned()).into());
    }
    if let Some(path) = &args.read {
        show(args, &load(path)?, &[])?;
        return Ok(ExitCode::SUCCESS);
    }
    let program = Path::new(&args.program.words[0]);
    // What goes to standard output must be what was asked for, and nothing else.
    let aside = !args.output.is_text() && args.output.file().is_none();
    let (ended, profile) =
        profiled(&args.program.words, processors, if aside { To::Errors } else { To::Same })?;
    let complaint = ended.complaint();
    let Some(profile) = profile else {
        complain(&wrote_nothing(program, "profile", complaint.as_deref()));
        return Ok(if complaint.is_some() { ended.exit_code() } else { ExitCode::FAILURE });
    };
    if let Some(complaint) = &complaint {
        complain(&format!("{} {complaint}; this is its profile up to then", program.display()));
    }
    let mut profile = profile?;
    let mut notes = Vec::new();
    if let Some(asked) = processors.filter(|&asked| asked as u32 != profile.processors) {
        notes.push(format!(
            "asked for -p {asked}, but the program used {} processors: it builds its pools itself, or runs on several \
             nodes; BOMBYX_PROCESSORS and RAYON_NUM_THREADS tell it what to use",
            profile.processors
        ));
    } else if complaint.is_none() && !args.once {
        let progress = Progress::new(1);
        progress.doing("running it once more, to compare");
        notes.extend(add_companion(&mut profile, &args.program.words)?);
    }
    show(args, &profile, &notes)?;
    Ok(ended.exit_code())
}

/// A profile as part of a larger object, as its file spells it.
pub(crate) fn as_value(profile: &Profile) -> serde_json::Value {
    serde_json::from_str(&profile.to_json()).expect("the file of a profile is JSON")
}

/// Prints the report and writes the files that were asked for.
fn show(args: &Args, profile: &Profile, notes: &[String]) -> Result<()> {
    let scaling = Scaling::of(profile);
    if let Some(path) = &args.save {
        let json = profile.to_json();
        if output::is_standard(path) { print(&json)? } else { files::write(path, json.as_bytes())? }
    }
    if let Some(path) = &args.plot {
        output::picture(path, &plot::of_profile(profile, &scaling)?)?;
    }
    let cores = host::cores() as u32;
    let report = Report { profile, scaling: &scaling, cores, notes };
    // The program's own output goes to standard output, so the report goes elsewhere.
    let aside = args.output.to.is_none() && args.read.is_none();
    let text = |style| report.text(args.top, args.explain, style);
    if aside && args.output.is_text() {
        say(&text(error_style()));
        return Ok(());
    }
    args.output.show(|style| Ok(text(style)), || Ok(report.json()), || Ok(report.csv()))
}
