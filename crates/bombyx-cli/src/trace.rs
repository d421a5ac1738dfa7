//! `bombyx trace`: what every processor and thread of a program did, for a viewer.

use crate::args::{Pools, ProgramUnlessRead};
use crate::launch::{Launch, Scratch, wrote_nothing};
use crate::{Result, Usage, files, output, text};
use bombyx_trace::{Category, Timeline, Trace, TrackKind, Unfinished, chrome, firefox, perfetto, read};
use clap::{ValueEnum, ValueHint};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and show what its processors and threads did, moment by moment.
///
/// The trace has one track per processor and one per thread: what runs, who steals from whom, who waits, searches, blocks
/// or hands its processor over, and the program's own marks. The program must use Bombyx, or rayon on Bombyx. It need
/// not be compiled again. Its own output is not changed. A summary goes to standard error.
///
/// Forks leave no trace, so tracing costs next to nothing. What nobody steals is a part of the closure around it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx trace -- ./sort 10000000                 run.pftrace, for https://ui.perfetto.dev
  bombyx trace -p 4 -o sort.pftrace -- ./sort 10000000
  bombyx trace --format chrome -o sort.json -- ./sort 10000000
  bombyx trace --format firefox -o sort.json -- ./sort 10000000
  bombyx trace --format native -o sort.trace -- ./sort 10000000
  bombyx trace --read sort.trace -o sort.pftrace  the same trace in another format

The exit status is the program's own.")]
pub(crate) struct Args {
    #[command(flatten)]
    program: ProgramUnlessRead,

    #[command(flatten)]
    pools: Pools,

    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "perfetto")]
    format: Format,

    /// Where to put it; `-` is standard output. Default: run.pftrace, run.json, run.profile.json or run.trace
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// How many MiB the events may take in the program. The newest are kept
    #[arg(long, value_name = "MIB", conflicts_with = "read")]
    memory: Option<usize>,

    /// Read a trace that was kept with `--format native`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "program")]
    read: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Perfetto's own format, for <https://ui.perfetto.dev> and trace_processor
    Perfetto,
    /// Chrome's trace events, JSON that many viewers read
    Chrome,
    /// The Firefox Profiler's format, JSON for <https://profiler.firefox.com> and `samply load`
    Firefox,
    /// The trace as the program wrote it, for `--read`
    Native,
}

impl Format {
    fn default_file(self) -> &'static str {
        match self {
            Format::Perfetto => "run.pftrace",
            Format::Chrome => "run.json",
            Format::Firefox => "run.profile.json",
            Format::Native => "run.trace",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let target = args.output.clone().unwrap_or_else(|| args.format.default_file().into());
    let standard = output::is_standard(&target);
    if !standard {
        files::expect_to_write(&target)?;
    }
    let processors = args.pools.one("trace")?;
    if let Some(path) = &args.read {
        if processors.is_some() {
            let why = "`--read` shows an existing trace, so `-p` has no effect";
            return Err(Usage(why.to_owned()).into());
        }
        let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let trace = read(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        keep(args.format, &target, &trace, bytes)?;
        return Ok(ExitCode::SUCCESS);
    }
    let program = Path::new(&args.program.words[0]);
    let scratch = Scratch::new()?;
    let file = scratch.file("run.trace");
    let launch = Launch::new(&args.program.words).with("BOMBYX_TRACE", &file).processors(processors);
    let launch = match args.memory {
        Some(mib) => launch.with("BOMBYX_TRACE_MEMORY", mib.to_string()),
        None => launch,
    };
    let ended = if standard { launch.output_to_errors() } else { launch }.run()?;
    let complaint = ended.complaint();
    if !fs::exists(&file)? {
        let Some(complaint) = complaint else {
            eprintln!("bombyx: {}", wrote_nothing(program, "trace", None));
            return Ok(ExitCode::FAILURE);
        };
        eprintln!("bombyx: {} {complaint}, before it wrote a trace", program.display());
        return Ok(ended.exit_code());
    }
    let bytes = fs::read(&file)?;
    let trace = read(&bytes).map_err(|error| format!("{} wrote a bad trace: {error}", program.display()))?;
    if let Some(complaint) = complaint {
        eprintln!("bombyx: {} {complaint}; this is its trace up to then", program.display());
    }
    keep(args.format, &target, &trace, bytes)?;
    Ok(ended.exit_code())
}

/// Writes the trace in the format that was asked for, and says what is in it.
fn keep(format: Format, target: &Path, trace: &Trace, bytes: Vec<u8>) -> Result<()> {
    let timeline = Timeline::of(trace);
    let bytes = match format {
        Format::Perfetto => perfetto::encode(&timeline),
        Format::Chrome => chrome::encode(&timeline).into_bytes(),
        Format::Firefox => firefox::encode(&timeline).into_bytes(),
        Format::Native => bytes,
    };
    if output::is_standard(target) {
        std::io::Write::write_all(&mut std::io::stdout().lock(), &bytes)?;
    } else {
        files::write(target, &bytes)?;
    }
    eprint!("{}", summary(&timeline));
    if !output::is_standard(target) {
        eprintln!("\n{}", advice(format, target));
    }
    Ok(())
}

fn advice(format: Format, target: &Path) -> String {
    let target = target.display();
    match format {
        Format::Perfetto => {
            format!("Drop {target} on https://ui.perfetto.dev: the page reads it in your browser.")
        }
        Format::Chrome => format!("Open {target} in chrome://tracing or at https://ui.perfetto.dev."),
        Format::Firefox => format!(
            "Open {target} at https://profiler.firefox.com (the page reads it in your browser), or with `samply load {target}`."
        ),
        Format::Native => format!("`bombyx trace --read {target}` writes it in other formats."),
    }
}

/// How many threads the summary tells of that had not ended what they did.
const TOLD: usize = 12;

/// What is in the trace, in a few lines.
fn summary(timeline: &Timeline) -> String {
    let count = |name: &str| timeline.arrows.iter().filter(|arrow| arrow.name == name).count();
    let processors = |kind: TrackKind| matches!(kind, TrackKind::Processor { .. });
    let (of_processors, of_threads): (Vec<_>, Vec<_>) =
        timeline.tracks.iter().partition(|track| processors(track.kind));
    let slices: usize = of_threads.iter().map(|track| track.slices.len()).sum();
    let mut lines = vec![format!(
        "{}: {} on {} processors and {} threads, {slices} slices",
        // The name may hold anything, and a terminal obeys control characters.
        timeline.program.replace(char::is_control, "?"),
        text::time(timeline.length as f64 * 1e-9),
        of_processors.len(),
        of_threads.len(),
    )];
    lines.push(format!(
        "  {} steals, {} hand-overs, {} wake-ups, {} calls from outside",
        count("steal"),
        count("hand-over"),
        count("wake"),
        count("queue")
    ));
    for track in of_processors {
        let share = |wanted: fn(Category) -> bool| {
            let slices = track.slices.iter().filter(|slice| wanted(slice.category));
            let time = slices.map(|slice| slice.end - slice.start).fold(0, u64::saturating_add);
            100.0 * time as f64 / timeline.length.max(1) as f64
        };
        lines.push(format!(
            "  {}: runs {:.0} %, waits {:.0} %, searches {:.0} % of the time",
            track.name,
            share(|category| matches!(category, Category::Run | Category::Region | Category::Phase)),
            share(|category| matches!(category, Category::Wait | Category::Blocked)),
            share(|category| category == Category::Search),
        ));
    }
    let unfinished = &timeline.unfinished;
    if !unfinished.is_empty() {
        lines.push("  when the trace was written:".to_owned());
        let tell = |one: &Unfinished| {
            let since = text::time(timeline.length.saturating_sub(one.since) as f64 * 1e-9);
            format!("    {}, for {since}", one.describe(timeline).replace(char::is_control, "?"))
        };
        lines.extend(unfinished.iter().take(TOLD).map(tell));
        if unfinished.len() > TOLD {
            lines.push(format!("    and {} more", unfinished.len() - TOLD));
        }
    }
    if timeline.lost > 0 {
        lines.push(format!(
            "  {} older events were overwritten or had no room; --memory allows more",
            timeline.lost
        ));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_trace::{Slice, Track};

    #[test]
    fn the_summary_adds_up() {
        let slice = |start, end, category| Slice { start, end, name: 0, category, depth: 0 };
        let slices = vec![
            slice(0, 500_000, Category::Run),
            slice(500_000, 600_000, Category::Wait),
            slice(600_000, 900_000, Category::Search),
        ];
        let kind = TrackKind::Processor { pool: 0, index: 0 };
        let timeline = Timeline {
            program: "sort".to_owned(),
            length: 1_000_000,
            tracks: vec![Track { name: "processor 0".to_owned(), kind, slices }],
            lost: 3,
            ..Timeline::default()
        };
        let summary = summary(&timeline);
        assert!(summary.contains("runs 50 %, waits 10 %, searches 30 %"), "{summary}");
        assert!(summary.contains("3 older events were overwritten"), "{summary}");
    }
}
