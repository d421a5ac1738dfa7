//! `bombyx report`: traces, profiles and recordings as one page of HTML.

use crate::terminal::{print, say, spinner};
use crate::{Result, Usage, files, host, output, text};
use bombyx_base::trace::MAGIC;
use bombyx_dag::{Computation, format, text as dag_text};
use bombyx_lab::profiled::load;
use bombyx_profile::Profile;
use bombyx_report::Report;
use bombyx_trace::{Timeline, read};
use clap::ValueHint;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show a run, or compare two, as one page that opens from disk, in any browser.
///
/// A trace gives the timeline of every processor and thread, with zoom and search. A profile gives advice, predicted
/// speedups and fork sites. A recording gives the grain graph, flame graphs of work and span, simulated speedups, and memory
/// over time. Give one of each for a page with everything. If you give two files of a kind, the page shows two runs side by
/// side: the first file of each kind belongs to the run before, the second to the run after. The page loads nothing from
/// elsewhere.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx trace --format native -o sort.trace -- ./sort 10000000
  bombyx profile --save sort.json -- ./sort 10000000
  bombyx record -p 1 -o sort.dag -- ./sort 10000000
  bombyx report sort.trace sort.json sort.dag -o sort.html
  bombyx report before.dag after.dag -o change.html         two runs side by side")]
pub(crate) struct Args {
    /// Traces (`bombyx trace --format native`), profiles (`bombyx profile --save`) and recordings (`bombyx record`), at
    /// most two of each
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Where to put the page; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "report.html")]
    output: PathBuf,
}

/// What the files say of a run.
#[derive(Default)]
struct Run {
    timeline: Option<Timeline>,
    profile: Option<Profile>,
    recording: Option<Computation>,
    /// The name of its first file.
    file: Option<String>,
}

impl Run {
    fn is_empty(&self) -> bool {
        self.file.is_none()
    }

    /// The program that ran, if a file says so.
    fn program(&self) -> Option<String> {
        let noted = |computation: &Computation| {
            computation.notes().iter().find(|(name, _)| name == "program").map(|(_, value)| value.clone())
        };
        let timeline = self.timeline.as_ref().map(|timeline| timeline.program.clone());
        timeline
            .or_else(|| self.profile.as_ref().map(|profile| profile.program.clone()))
            .or_else(|| self.recording.as_ref().and_then(noted))
    }

    /// What the page says of it, under this name.
    fn report(&self, name: &str) -> Report {
        let mut report = Report::new(name);
        if let Some(profile) = &self.profile {
            report = report.with_profile(profile, host::cores() as u32);
        }
        if let Some(recording) = &self.recording {
            report = report.with_recording(recording);
        }
        match &self.timeline {
            Some(timeline) => report.with_trace(timeline),
            None => report,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let standard = output::is_standard(&args.output);
    if !standard {
        files::expect_to_write(&args.output)?;
    }
    let spinner = spinner("making the page".to_owned());
    let mut runs = [Run::default(), Run::default()];
    for path in &args.files {
        match kind(path)? {
            Kind::Trace => {
                let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
                let trace = read(&bytes).map_err(|error| wrong(path, &error))?;
                put(&mut runs, |run| &mut run.timeline, Timeline::of(&trace), "traces", path)?;
            }
            Kind::Dag => {
                let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
                let recording = format::read(file).map_err(|error| wrong(path, &error))?;
                put(&mut runs, |run| &mut run.recording, recording, "recordings", path)?;
            }
            Kind::DagText => {
                let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
                let recording = dag_text::read(&text).map_err(|error| wrong(path, &error))?;
                put(&mut runs, |run| &mut run.recording, recording, "recordings", path)?;
            }
            Kind::Profile => put(&mut runs, |run| &mut run.profile, load(path)?, "profiles", path)?,
            Kind::Foreign => return Err(foreign(path).into()),
        }
    }
    let [before, after] = runs;
    let page = if after.is_empty() {
        let name = before.program().or(before.file.clone()).unwrap_or_default();
        before.report(&name).render()
    } else {
        let names = [&before, &after].map(|run| run.file.clone().unwrap_or_default());
        let short = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let differ = short(&names[0]) != short(&names[1]);
        let name = |run: &Run| {
            let path = run.file.clone().unwrap_or_default();
            short(&path).filter(|_| differ).unwrap_or(path)
        };
        before.report(&name(&before)).render_beside(&after.report(&name(&after)))
    };
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

/// Gives what a file has to the first run that has no such thing.
fn put<T>(
    runs: &mut [Run; 2],
    of: fn(&mut Run) -> &mut Option<T>,
    value: T,
    kind: &str,
    path: &Path,
) -> Result<()> {
    let Some(run) = runs.iter_mut().find_map(|run| of(run).is_none().then_some(run)) else {
        let why = format!(
            "{} is the third of the {kind}, and a page compares two runs; leave one out",
            path.display()
        );
        return Err(Usage(why).into());
    };
    *of(run) = Some(value);
    run.file.get_or_insert_with(|| path.display().to_string());
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// What a file is, by its first bytes.
enum Kind {
    Trace,
    Dag,
    DagText,
    Profile,
    Foreign,
}

/// Looks at the beginning of a file. A version that is not known is still of its kind, and the reader says so.
fn kind(path: &Path) -> Result<Kind> {
    use std::io::Read as _;
    let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut start = Vec::new();
    file.take(64).read_to_end(&mut start).map_err(|error| unreadable(path, &error))?;
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    Ok(match &start[..] {
        [] => {
            return Err(format!(
                "{} is empty; its program was stopped before it could write",
                path.display()
            )
            .into());
        }
        trace if trace.starts_with(&MAGIC[..MAGIC.len() - 2]) => Kind::Trace,
        dag if dag.starts_with(b"\x89DAG") => Kind::Dag,
        text if dag_text::begins(text) => Kind::DagText,
        _ if first == Some(&b'{') => Kind::Profile,
        _ => Kind::Foreign,
    })
}

fn foreign(path: &Path) -> String {
    format!(
        "{} is neither a trace nor a profile nor a recording; make one with `bombyx trace --format native`, `bombyx profile \
         --save` or `bombyx record`",
        path.display()
    )
}
