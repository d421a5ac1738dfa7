//! `bombyx trace`: what every processor and thread of a program did, for a viewer.

use crate::args::{Pools, ProgramUnlessRead, seconds};
use crate::launch::{Launch, Scratch, wrote_nothing};
use crate::output::Form;
use crate::terminal::{complain, print_bytes, say, spinner};
use crate::{Result, Usage, files, output, text};
use bombyx_trace::{
    Category, Timeline, Trace, Track, TrackKind, Unfinished, chrome, firefox, perfetto, read,
};
use clap::{ValueEnum, ValueHint};
use serde::Serialize;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and show what its processors and threads did, moment by moment.
///
/// The trace has one track per processor and one per thread: what runs, who steals from whom, who waits, searches, blocks
/// or hands its processor over, and the program's own marks. The program must use Bombyx, or rayon on Bombyx. You need
/// not compile it again, and its output stays as it is. A summary goes to standard error. With --json or --csv it goes to
/// standard output, and the program's output to standard error.
///
/// A fork writes no event, so tracing costs next to nothing. A half that nobody steals belongs to the closure around it.
#[derive(clap::Args)]
#[command(
    override_usage = "bombyx trace [OPTIONS] -- <PROGRAM>...\n       bombyx trace [OPTIONS] --read <FILE>"
)]
#[command(after_help = "\
Examples:
  bombyx trace -- ./sort 10000000                 run.pftrace, for https://ui.perfetto.dev
  bombyx trace -p 4 -o sort.pftrace -- ./sort 10000000
  bombyx trace --format chrome -o sort.json -- ./sort 10000000
  bombyx trace --strands -- ./sort 10000000       also the strands of at least 10 µs
  bombyx trace --flight 5 --stall 60 -- ./server  the last 5 seconds before it panicked, hung or was ended
  bombyx trace --format firefox -o sort.json -- ./sort 10000000
  bombyx trace --format native -o sort.trace -- ./sort 10000000
  bombyx trace --read sort.trace -o sort.pftrace  the same trace in another format

The exit status is the program's own.")]
pub(crate) struct Args {
    #[command(flatten)]
    program: ProgramUnlessRead,

    #[command(flatten)]
    pools: Pools,

    #[command(flatten)]
    form: Form,

    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "perfetto")]
    format: Format,

    /// Where to put it; `-` is standard output. Default: run.pftrace, run.json, run.profile.json or run.trace
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// How many MiB the events may take in the program. The newest are kept
    #[arg(long, value_name = "MIB", conflicts_with = "read")]
    memory: Option<usize>,

    /// Write only the last seconds, and only if the program panics, hangs (see `--stall`), or is ended by a signal that
    /// it can see
    #[arg(long, value_name = "SECONDS", conflicts_with = "read", value_parser = seconds)]
    flight: Option<f64>,

    /// If nothing happens for so long, say who waits for what, and write the trace up to then
    #[arg(long, value_name = "SECONDS", conflicts_with = "read", value_parser = seconds)]
    stall: Option<f64>,

    /// Also show the strands, the serial pieces between forks, that take at least so many microseconds (10 if none are
    /// given). The program is profiled for it, so forks cost more
    #[arg(long, value_name = "MICROSECONDS", conflicts_with = "read", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    strands: Option<u32>,

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
    args.form.check_beside(&target)?;
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
        keep(args, &target, &trace, bytes, false)?;
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
    let launch = match args.flight {
        Some(seconds) => launch.with("BOMBYX_TRACE_FLIGHT", seconds.to_string()),
        None => launch,
    };
    let launch = match args.strands {
        Some(micros) => launch
            .with("BOMBYX_TRACE_STRANDS", micros.to_string())
            .with("BOMBYX_PROFILE", scratch.file("profile.json")),
        None => launch,
    };
    let launch = match args.stall {
        Some(seconds) => launch.with("BOMBYX_TRACE_STALL", seconds.to_string()),
        None => launch,
    };
    let ended = if standard || !args.form.is_text() { launch.output_to_errors() } else { launch }.run()?;
    let complaint = ended.complaint();
    if !fs::exists(&file)? {
        let Some(complaint) = complaint else {
            if args.flight.is_some() {
                complain(&format!("{} ended well, so there is nothing to keep", program.display()));
                return Ok(ExitCode::SUCCESS);
            }
            complain(&wrote_nothing(program, "trace", None));
            return Ok(ExitCode::FAILURE);
        };
        complain(&format!("{} {complaint}, before it wrote a trace", program.display()));
        return Ok(ended.exit_code());
    }
    let bytes = fs::read(&file)?;
    let trace = read(&bytes).map_err(|error| format!("{} wrote a bad trace: {error}", program.display()))?;
    let ended_well = complaint.is_none() && args.flight.is_none() && args.stall.is_none();
    if let Some(complaint) = complaint {
        complain(&format!("{} {complaint}; this is its trace up to then", program.display()));
    }
    keep(args, &target, &trace, bytes, ended_well)?;
    Ok(ended.exit_code())
}

/// Writes the trace in the format that was asked for, and says what is in it. `ended_well`: the program is known to have ended
/// by itself.
fn keep(args: &Args, target: &Path, trace: &Trace, bytes: Vec<u8>, ended_well: bool) -> Result<()> {
    let spinner = spinner("reading the trace".to_owned());
    let timeline = Timeline::of(trace);
    let bytes = match args.format {
        Format::Perfetto => perfetto::encode(&timeline),
        Format::Chrome => chrome::encode(&timeline).into_bytes(),
        Format::Firefox => firefox::encode(&timeline).into_bytes(),
        Format::Native => bytes,
    };
    let summary = Summary::of(&timeline);
    spinner.finish_and_clear();
    if output::is_standard(target) {
        print_bytes(&bytes)?;
    } else {
        files::write(target, &bytes)?;
    }
    if args.form.is_text() {
        say(&summary.text(ended_well && !trace.interrupted));
        if !output::is_standard(target) {
            say(&format!("\n{}\n", advice(args.format, target)));
        }
    }
    args.form.print(|| Ok(serde_json::to_value(&summary)?), || summary.rows())
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

/// How many threads the summary lists that were in the middle of something at the end.
const TOLD: usize = 12;

/// What is in a trace.
#[derive(Serialize)]
struct Summary {
    program: String,
    nanoseconds: u64,
    threads: usize,
    slices: usize,
    steals: usize,
    hand_overs: usize,
    wake_ups: usize,
    calls_from_outside: usize,
    processors: Vec<Spent>,
    /// What threads had not ended when the trace was written.
    unfinished: Vec<String>,
    /// Older events that were overwritten or had no room.
    lost: u64,
}

/// What a processor did with its time, in shares of the whole.
#[derive(Serialize)]
struct Spent {
    processor: String,
    runs: f64,
    waits: f64,
    searches: f64,
}

impl Summary {
    fn of(timeline: &Timeline) -> Self {
        // The names may hold anything, and a terminal obeys control characters.
        let clean = |text: &str| text.replace(char::is_control, "?");
        let count = |name: &str| timeline.arrows.iter().filter(|arrow| arrow.name == name).count();
        let is_processor = |kind: TrackKind| matches!(kind, TrackKind::Processor { .. });
        let (processors, threads): (Vec<_>, Vec<_>) =
            timeline.tracks.iter().partition(|track| is_processor(track.kind));
        let spent = |track: &Track| {
            let share = |wanted: fn(Category) -> bool| {
                let slices = track.slices.iter().filter(|slice| wanted(slice.category));
                let time = slices.map(|slice| slice.end - slice.start).fold(0, u64::saturating_add);
                time as f64 / timeline.length.max(1) as f64
            };
            Spent {
                processor: clean(&track.name),
                runs: share(|category| {
                    matches!(category, Category::Run | Category::Region | Category::Phase)
                }),
                waits: share(|category| matches!(category, Category::Wait | Category::Blocked)),
                searches: share(|category| category == Category::Search),
            }
        };
        let unfinished = timeline.unfinished.iter().map(|one: &Unfinished| {
            let since = text::time(timeline.length.saturating_sub(one.since) as f64 * 1e-9);
            format!("{}, for {since}", clean(&one.describe(timeline)))
        });
        Self {
            program: clean(&timeline.program),
            nanoseconds: timeline.length,
            threads: threads.len(),
            slices: threads.iter().map(|track| track.slices.len()).sum(),
            steals: count("steal"),
            hand_overs: count("hand-over"),
            wake_ups: count("wake"),
            calls_from_outside: count("queue"),
            processors: processors.into_iter().map(spent).collect(),
            unfinished: unfinished.collect(),
            lost: timeline.lost,
        }
    }

    /// A few lines. If the program ended well, it is no news that its threads were in the middle of something then.
    fn text(&self, ended_well: bool) -> String {
        let counted = |number: usize, one| text::counted(number as u64, one);
        let mut lines = vec![
            format!(
                "{}: {} on {} and {}, {}",
                self.program,
                text::time(self.nanoseconds as f64 * 1e-9),
                counted(self.processors.len(), "processor"),
                counted(self.threads, "thread"),
                counted(self.slices, "slice"),
            ),
            format!(
                "  {}, {}, {}, {} from outside",
                counted(self.steals, "steal"),
                counted(self.hand_overs, "hand-over"),
                counted(self.wake_ups, "wake-up"),
                counted(self.calls_from_outside, "call")
            ),
        ];
        lines.extend(self.processors.iter().map(|spent| {
            let [runs, waits, searches] =
                [spent.runs, spent.waits, spent.searches].map(|share| 100.0 * share);
            format!(
                "  {}: runs {runs:.0} %, waits {waits:.0} %, searches {searches:.0} % of the time",
                spent.processor
            )
        }));
        if !self.unfinished.is_empty() && !ended_well {
            lines.push("  when the trace was written:".to_owned());
            lines.extend(self.unfinished.iter().take(TOLD).map(|one| format!("    {one}")));
            if self.unfinished.len() > TOLD {
                lines.push(format!("    and {} more", self.unfinished.len() - TOLD));
            }
        }
        if self.lost > 0 {
            lines.push(format!(
                "  not in the trace, because overwritten, without room (--memory allows more), or left out by --flight: {}",
                text::counted(self.lost, "older event")
            ));
        }
        lines.join("\n") + "\n"
    }

    /// One row for each processor.
    fn rows(&self) -> Result<Vec<Value>> {
        let row = |spent: &Spent| {
            let mut row = json!({ "program": self.program, "nanoseconds": self.nanoseconds });
            let fields = row.as_object_mut().expect("an object");
            fields.extend(serde_json::to_value(spent)?.as_object().cloned().unwrap_or_default());
            Ok(row)
        };
        self.processors.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_trace::Slice;

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
        let mut summary = Summary::of(&timeline);
        summary.unfinished = vec!["thread 7 is in job, for 1 ms".to_owned()];
        let text = summary.text(true);
        assert!(
            text.starts_with("sort: 1.00 ms on 1 processor and 0 threads, 0 slices\n  0 steals, "),
            "{text}"
        );
        assert!(text.contains("runs 50 %, waits 10 %, searches 30 %"), "{text}");
        assert!(text.contains("left out by --flight: 3 older events"), "{text}");
        assert!(!text.contains("thread 7"), "a program that ended well hung nowhere: {text}");
        assert!(summary.text(false).contains("when the trace was written:\n    thread 7 is in job"));
    }
}
