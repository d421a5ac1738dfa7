//! `bombyx profile`: why a program scales as it does.
//!
//! This file has the command line and the order of events. [`report`] prints the profile, and [`plot`] draws it.
//! `bombyx-profile` says what a profile means, and `bombyx` measures it.

pub(crate) mod plot;
mod report;

use crate::args::Pools;
use crate::launch::{Ended, Launch, Scratch, wrote_nothing};
use crate::output::{self, Output};
use crate::{Result, Usage, contention, files, host, terminal};
use bombyx_profile::{Contention, Profile, Scaling, add_node, read};
use clap::ValueHint;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and say how well it scales, and why.
///
/// The program must use Bombyx, or rayon on Bombyx. It need not be compiled again. Its own output is not changed. The
/// report goes to standard error, JSON and CSV go to standard output, and -o sends any of them to a file. With --csv,
/// work and span have Cilkscale's column names, for its plotter.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx profile -- ./sort 10000000               work, span, predicted speedups, advice
  bombyx profile -p 1 -- bombyx run fft           one processor: no noise from stealing
  bombyx profile --plot sort.svg --save sort.json -- ./sort 10000000
  bombyx profile --read sort.json --json          the same profile again, for programs

The exit status is the program's own.")]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_hint = ValueHint::CommandWithArguments,
        required_unless_present = "read"
    )]
    program: Vec<OsString>,

    #[command(flatten)]
    pools: Pools,

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

    /// Plot predicted speedups with their bounds, as SVG or PNG by the file's name
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
        let profile = load(path)?;
        show(args, &profile, None, None)?;
        return Ok(ExitCode::SUCCESS);
    }
    let program = Path::new(&args.program[0]);
    let (ended, profile) = profiled(&args.program, processors, false)?;
    let complaint = ended.complaint();
    let Some(profile) = profile else {
        eprintln!("bombyx: {}", wrote_nothing(program, "profile", complaint.as_deref()));
        return Ok(if complaint.is_some() { ended.exit_code() } else { ExitCode::FAILURE });
    };
    if let Some(complaint) = complaint {
        eprintln!("bombyx: {} {complaint}; this is its profile up to then", program.display());
    }
    show(args, &profile?, Some(&ended), contention::measured())?;
    Ok(ended.exit_code())
}

/// Runs a program. Returns how it ended, and its profile if it wrote one.
pub(crate) fn profiled(
    program: &[OsString],
    processors: Option<usize>,
    quiet: bool,
) -> Result<(Ended, Option<Result<Profile>>)> {
    let scratch = Scratch::new()?;
    let path = scratch.file("profile.json");
    let launch = Launch::new(program).with("BOMBYX_PROFILE", &path).processors(processors);
    let ended = if quiet { launch.quiet() } else { launch }.run()?;
    let profile = match fs::exists(&path)? {
        true => Some(load(&path)),
        false => None,
    };
    Ok((ended, with_nodes(&path, profile)?))
}

/// Adds the profiles of a cluster's workers, which lie beside that of the program. The program itself may have none.
fn with_nodes(path: &Path, own: Option<Result<Profile>>) -> Result<Option<Result<Profile>>> {
    let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let mut nodes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        let text = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if text.strip_prefix(&*name.to_string_lossy()).is_some_and(|rest| rest.starts_with(".node-")) {
            nodes.push(file);
        }
    }
    nodes.sort();
    let mut nodes = nodes.iter().map(|file| load(file));
    let sum = match own.or_else(|| nodes.next()) {
        Some(Ok(sum)) => sum,
        other => return Ok(other),
    };
    let (mut sum, mut longest) = (sum, None);
    for node in nodes {
        add_node(&mut sum, &node?, &mut longest);
    }
    Ok(Some(Ok(sum)))
}

/// A profile as part of a larger object, as its file spells it.
pub(crate) fn as_value(profile: &Profile) -> serde_json::Value {
    serde_json::from_str(&profile.to_json()).expect("the file of a profile is JSON")
}

fn load(path: &Path) -> Result<Profile> {
    let explain = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| explain(&error))?;
    Ok(read(file).map_err(|error| explain(&error))?)
}

/// Prints the report and writes the files that were asked for.
fn show(args: &Args, profile: &Profile, ended: Option<&Ended>, contention: Option<Contention>) -> Result<()> {
    let scaling = contention.into_iter().fold(Scaling::of(profile), Scaling::on);
    if let Some(path) = &args.save {
        let json = profile.to_json();
        if output::is_standard(path) { terminal::print(&json)? } else { files::write(path, json.as_bytes())? }
    }
    if let Some(path) = &args.plot {
        output::picture(path, &plot::of_profile(profile, &scaling)?)?;
    }
    let cores = host::cores() as u32;
    // The program's own output goes to standard output, so the report goes elsewhere.
    let aside = args.output.to.is_none() && args.read.is_none();
    let time = ended.map(|ended| ended.elapsed);
    let text = |style| report::text(profile, &scaling, cores, args.top, time, style);
    if aside && args.output.is_text() {
        eprint!("{}", text(terminal::error_style()));
        return Ok(());
    }
    args.output.show(
        |style| Ok(text(style)),
        || Ok(report::json(profile, &scaling, cores)),
        || Ok(report::csv(profile)),
    )
}
