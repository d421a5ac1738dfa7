//! `bombyx report`: a trace, a profile, or both, as one page of HTML.

use crate::terminal::{print, say, spinner};
use crate::{Result, Usage, files, host, output, text};
use bombyx_base::trace::MAGIC;
use bombyx_lab::profiled::load;
use bombyx_report::Report;
use bombyx_trace::{Timeline, read};
use clap::ValueHint;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show a trace or a profile as one page that opens from disk, in any browser.
///
/// A trace gives the timeline of every processor and thread, with zoom and search. A profile gives advice, predicted
/// speedups, fork sites, and what would happen if one of them were faster. For a page with everything, name both files. The
/// page loads nothing from elsewhere.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx trace --format native -o sort.trace -- ./sort 10000000
  bombyx profile --save sort.json -- ./sort 10000000
  bombyx report sort.trace sort.json -o sort.html")]
pub(crate) struct Args {
    /// Traces (`bombyx trace --format native`) and profiles (`bombyx profile --save`), at most one of each
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Where to put the page; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "report.html")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let standard = output::is_standard(&args.output);
    if !standard {
        files::expect_to_write(&args.output)?;
    }
    let (mut timeline, mut profile) = (None, None);
    let spinner = spinner("making the page".to_owned());
    for path in &args.files {
        let twice = |what: &str| format!("{} is another {what}, and a page shows one", path.display());
        if begins_like_a_trace(path)? {
            let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
            let trace = read(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            if timeline.replace(Timeline::of(&trace)).is_some() {
                return Err(Usage(twice("trace")).into());
            }
        } else if profile.replace(load(path)?).is_some() {
            return Err(Usage(twice("profile")).into());
        }
    }
    let program = match (&timeline, &profile) {
        (Some(timeline), _) => timeline.program.clone(),
        (None, Some(profile)) => profile.program.clone(),
        (None, None) => String::new(),
    };
    let mut report = Report::new(&program);
    if let Some(profile) = &profile {
        report = report.with_profile(profile, host::cores() as u32);
    }
    if let Some(timeline) = &timeline {
        report = report.with_trace(timeline);
    }
    let page = report.render();
    spinner.finish_and_clear();
    if standard {
        print(&page)?;
    } else {
        files::write(&args.output, page.as_bytes())?;
        let size = text::bytes(page.len() as u64);
        say(&format!("{}: {size}. Open it in a browser.\n", args.output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

/// Whether the file begins like a trace of any version. Everything else is read as a profile, whose reader says what is
/// wrong.
fn begins_like_a_trace(path: &Path) -> Result<bool> {
    use std::io::Read as _;
    let mut file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    let name = &MAGIC[..MAGIC.len() - 2];
    let mut start = Vec::new();
    file.by_ref().take(name.len() as u64).read_to_end(&mut start)?;
    Ok(start == name)
}
