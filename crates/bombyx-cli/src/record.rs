//! `bombyx record`: a run of a program as a dag file, for `bombyx simulate`.

use crate::args::{Pools, Program};
use crate::launch::{Launch, Scratch, wrote_nothing};
use crate::output::{Form, is_standard};
use crate::terminal::{self, complain, say};
use crate::{Result, files, simulate};
use clap::ValueHint;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and record its computation, for `bombyx simulate` to answer what-if questions.
///
/// The recording has strands with their durations, forks, joins and allocations. The program must use Bombyx, or rayon
/// on Bombyx. You need not compile it again, and its output stays as it is. A summary of the recording goes to standard
/// error. With --json or --csv it goes to standard output, and the program's output to standard error.
#[derive(clap::Args)]
#[command(override_usage = "bombyx record [OPTIONS] -- <PROGRAM>...")]
#[command(after_help = "\
Examples:
  bombyx record -p 1 -o sort.dag -- ./sort 10000000     one processor: durations without noise from stealing
  bombyx simulate sort.dag -p 1..1024                   more cores
  bombyx simulate sort.dag --speeds 2,4x1               fast and slow cores
  bombyx simulate sort.dag --faster sort.rs:41=2        if this fork site were twice as fast

The exit status is the program's own.")]
pub(crate) struct Args {
    #[command(flatten)]
    program: Program,

    #[command(flatten)]
    pools: Pools,

    #[command(flatten)]
    form: Form,

    /// Where to put the dag file; `-` is standard output, and then the program's own output goes to standard error
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "run.dag")]
    output: PathBuf,
}

/// A file that is removed unless it is kept.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // The file is gone already if it was kept or never written.
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    args.form.check_beside(&args.output)?;
    let standard = is_standard(&args.output);
    if !standard {
        files::expect_to_write(&args.output)?;
    }
    let processors = args.pools.one("record")?;
    let program = Path::new(&args.program.words[0]);
    // Beside the target, because recordings are large and moving them across file systems copies them.
    let name = args.output.file_name().ok_or("the output needs a name")?.to_string_lossy();
    let folder = std::path::absolute(args.output.parent().unwrap_or(Path::new("")).join("."))?;
    let scratch = standard.then(Scratch::new).transpose()?;
    let temporary = Temporary(match &scratch {
        Some(scratch) => scratch.file("run.dag"),
        None => folder.join(format!(".{name}.{}.part", std::process::id())),
    });
    let launch = Launch::new(&args.program.words).with("BOMBYX_RECORD", &temporary.0).processors(processors);
    let ended = if standard || !args.form.is_text() { launch.output_to_errors() } else { launch }.run()?;
    let complaint = ended.complaint();
    if !fs::exists(&temporary.0)? {
        complain(&wrote_nothing(program, "recording", complaint.as_deref()));
        return Ok(if complaint.is_some() { ended.exit_code() } else { ExitCode::FAILURE });
    }
    let spinner = terminal::spinner(format!("reading what {} recorded", program.display()));
    let described = simulate::describe(&temporary.0, &args.output.display().to_string());
    spinner.finish_and_clear();
    let described = described.map_err(|error| match &complaint {
        Some(complaint) => {
            format!("{} {complaint}, and its recording is incomplete: {error}", program.display())
        }
        None => format!("{} did not record a computation: {error}", program.display()),
    })?;
    if standard {
        match std::io::copy(&mut fs::File::open(&temporary.0)?, &mut std::io::stdout().lock()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
    } else {
        fs::rename(&temporary.0, &args.output)
            .map_err(|error| format!("cannot write {}: {error}", args.output.display()))?;
    }
    if let Some(complaint) = complaint {
        complain(&format!("{} {complaint}; this is what it recorded up to then", program.display()));
    }
    if args.form.is_text() {
        say(&format!("\n{}\nTry `bombyx simulate {} -p 1..1024`.\n", described.text, args.output.display()));
    }
    let figures = described.figures;
    args.form.print(|| Ok(json!({ "computation": figures })), || Ok(vec![figures.clone()]))?;
    Ok(ended.exit_code())
}
