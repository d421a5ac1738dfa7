//! `bombyx run`: runs one workload on one pool, checks the result, and shows time and memory.

use crate::Result;
use crate::args::{Input, Pools};
use crate::contender::Contender;
use crate::output::{self, Output};
use crate::resources::{Memory, Watch};
use crate::table::Style;
use crate::terminal::{fitted, print, style};
use crate::text::{bytes, counted, ratio, time, wrapped};
use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, Stats};
use bombyx_lab::bench;
use bombyx_lab::progress::Progress;
use bombyx_lab::statistics::median;
use bombyx_workloads::{Checksum, Workload};
use serde_json::{Value, json};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Run one workload, check its result, and show its time and memory.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx run nqueens                          on all cores
  bombyx run fib --grain fine --stats         nothing but forks, and what the scheduler did
  bombyx run cilksort-random -p 1 --repeat 5  the overhead of forking, on one processor
  bombyx run dense-mm -p 8 -s dfdeques:50000 --stats   less memory: see docs/schedulers.md

`bombyx run --list` lists the workloads.")]
pub(crate) struct Args {
    /// The workload
    #[arg(required_unless_present = "list", value_parser = bombyx_workloads::find)]
    name: Option<&'static dyn Workload>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    pools: Pools,

    /// Scheduler [default: BOMBYX_SCHEDULER or work-stealing]; `bombyx help schedulers` explains them
    #[arg(short, long, value_name = "NAME")]
    scheduler: Option<Scheduler>,

    /// How often to run
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,

    /// Show what the scheduler counted, and how much memory was allocated
    #[arg(long)]
    stats: bool,

    /// Also count living threads and the scheduling granularity; keeps every fork on its slow path
    #[arg(long, requires = "stats")]
    count: bool,

    #[command(flatten)]
    output: Output,

    /// List the workloads
    #[arg(long, conflicts_with_all = ["json", "csv", "to"])]
    list: bool,
}

/// The results of the runs.
struct Outcome {
    input: String,
    serial: Duration,
    /// In the order of the runs.
    runs: Vec<Taken>,
    /// The most living threads at a time, counted in a separate run.
    threads: Option<u64>,
    checksum: Checksum,
}

/// What one run took.
struct Taken {
    time: Duration,
    memory: Memory,
    /// What the pool counted.
    stats: Stats,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        print(&fitted(&bench::list(), style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let workload = args.name.expect("required unless --list");
    output::check([args.output.file()])?;
    // Without a number, the environment chooses one.
    let numbers =
        args.pools.numbers().map_or(vec![None], |numbers| numbers.iter().copied().map(Some).collect());
    let mut outcomes = Vec::new();
    for processors in numbers {
        let contender = Contender::of(args.pool(processors)?);
        let outcome = measure(workload, args, &contender)?;
        outcomes.push((contender, outcome));
    }
    let documents = || -> Vec<Value> {
        outcomes.iter().map(|(contender, outcome)| json(workload, args, contender, outcome)).collect()
    };
    args.output.show(
        |style| {
            let texts =
                outcomes.iter().map(|(contender, outcome)| text(workload, args, contender, outcome, style));
            Ok(texts.collect::<Vec<_>>().join("\n"))
        },
        || match <[Value; 1]>::try_from(documents()) {
            Ok([one]) => Ok(one),
            Err(several) => Ok(json!({ "results": several })),
        },
        || Ok(output::csv(&documents().iter().flat_map(rows).collect::<Vec<_>>())),
    )?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn pool(&self, processors: Option<usize>) -> std::result::Result<Pool, bombyx::Error> {
        let metered = self.stats || !self.output.is_text();
        let builder = Pool::builder().seed(self.input.seed).metered(metered).count_threads(self.count);
        let builder = processors.into_iter().fold(builder, bombyx::Builder::processors);
        self.scheduler.into_iter().fold(builder, bombyx::Builder::scheduler).build()
    }
}

/// Runs the serial elision once and the pool as often as asked, and checks every result.
fn measure(workload: &dyn Workload, args: &Args, contender: &Contender) -> Result<Outcome> {
    let name = workload.name();
    let progress = Progress::new(usize::from(args.repeat) + 2);
    progress.doing(format!("{name}: making the input"));
    let mut prepared = workload.prepare(args.input.size, args.input.grain, args.input.seed);
    progress.step();
    progress.doing(format!("{name}: serial elision"));
    let serial = prepared.run(Contender::serial().runtime());
    prepared.check().map_err(|wrong| format!("{name}, serial elision, is wrong: {wrong}"))?;
    progress.step();
    let mut runs = Vec::new();
    for nth in 1..=args.repeat {
        progress.doing(format!("{name}: {contender}, run {nth} of {}", args.repeat));
        contender.forget_peaks();
        let (before, watch) = (contender.stats().unwrap_or_default(), Watch::start());
        let run = prepared.run(contender.runtime());
        let (memory, stats) = (watch.memory(), contender.stats().unwrap_or_default() - before);
        runs.push(Taken { time: run.time, memory, stats });
        prepared.check().map_err(|wrong| format!("{name} on {contender}, run {nth}, is wrong: {wrong}"))?;
        if run.checksum != serial.checksum {
            return Err(format!("{name} on {contender}, run {nth}, differs from the serial elision").into());
        }
        progress.step();
    }
    let mut outcome = Outcome {
        input: prepared.input(),
        serial: serial.time,
        runs,
        threads: None,
        checksum: serial.checksum,
    };
    let (serial, median) = (serial.time.as_secs_f64(), outcome.median());
    outcome.threads = contender.living_threads(serial, median, 1, |runtime| prepared.run(runtime))?;
    Ok(outcome)
}

impl Outcome {
    fn best(&self) -> f64 {
        self.runs.iter().map(|run| run.time.as_secs_f64()).fold(f64::INFINITY, f64::min)
    }

    fn median(&self) -> f64 {
        let mut times: Vec<f64> = self.runs.iter().map(|run| run.time.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        median(&times)
    }

    /// The largest values of all runs.
    fn memory(&self) -> Memory {
        self.runs.iter().map(|run| run.memory).fold(Memory::default(), Memory::max)
    }

    /// Peaks of memory, carriers and threads in one line.
    fn space(&self) -> String {
        let memory = self.memory();
        let mut out = format!("{} of heap above the inputs", bytes(memory.heap));
        if let Some(resident) = memory.resident {
            out += &format!(", {} resident", bytes(resident));
        }
        let carriers = self.runs.iter().map(|run| run.stats.peak_carriers).max().unwrap_or(0);
        out += &format!(", {}", counted(carriers, "carrier"));
        if let Some(threads) = self.threads {
            out += &format!(", {}", counted(threads, "living thread"));
        }
        out
    }
}

fn text(
    workload: &dyn Workload,
    args: &Args,
    contender: &Contender,
    outcome: &Outcome,
    style: Style,
) -> String {
    let bold = if style.coloured { anstyle::Style::new().bold() } else { anstyle::Style::new() };
    let name = workload.name();
    let head = wrapped(&format!("{name}: {}", workload.about()), style.prose(), 0);
    let head = head.replacen(name, &format!("{bold}{name}{bold:#}"), 1);
    let Input { size, grain, seed } = args.input;
    let input = format!("{}; {size} size, {grain} grain, seed {seed}", outcome.input);
    let mut out = format!("{head}\n{}\n\n", wrapped(&input, style.prose(), 0));
    let serial = outcome.serial.as_secs_f64();
    let mut line = |what: &str, value: String| {
        let text = wrapped(&format!("  {what:<10}{value}"), style.width.unwrap_or(usize::MAX), 12);
        writeln!(out, "{text}").expect("strings take all text");
    };
    line("on", contender.to_string());
    line("serial", time(serial));
    for (nth, Taken { time: taken, stats, .. }) in outcome.runs.iter().enumerate() {
        let taken = time(taken.as_secs_f64());
        let stats = if args.stats { format!("   {stats}") } else { String::new() };
        line(&format!("run {}", nth + 1), format!("{taken}{stats}"));
    }
    if let Some(speeds) = contender.speeds().filter(|_| args.stats) {
        line("speeds", speeds.iter().map(|speed| format!("{speed:.2}")).collect::<Vec<_>>().join(" "));
    }
    if outcome.runs.len() > 1 {
        line("median", time(outcome.median()));
    }
    line(
        "speedup",
        format!(
            "{} at best, {} in the median",
            ratio(serial / outcome.best()),
            ratio(serial / outcome.median())
        ),
    );
    line("space", format!("at most {}", outcome.space()));
    line("result", format!("checked, equal to the serial one ({})", outcome.checksum));
    out
}

/// A row per run.
fn rows(document: &Value) -> Vec<Value> {
    let runs = document["runs"].as_array().into_iter().flatten();
    let rows = runs.enumerate().map(|(nth, run)| {
        let mut row = json!({
            "workload": document["workload"],
            "scheduler": document["scheduler"],
            "processors": document["processors"],
            "run": nth + 1,
            "serial_seconds": document["serial_seconds"],
        });
        if let (Some(row), Some(run)) = (row.as_object_mut(), run.as_object()) {
            row.extend(
                run.iter().filter(|(_, value)| !value.is_object()).map(|(k, v)| (k.clone(), v.clone())),
            );
        }
        row
    });
    rows.collect()
}

fn json(workload: &dyn Workload, args: &Args, contender: &Contender, outcome: &Outcome) -> Value {
    let runs: Vec<_> = outcome
        .runs
        .iter()
        .map(|Taken { time, memory, stats }| {
            json!({
                "seconds": time.as_secs_f64(),
                "steals": stats.steals,
                "gifts": stats.private_deques.gifts,
                "queries": stats.private_deques.queries,
                "served": stats.private_deques.served,
                "declined": stats.private_deques.declined,
                "withdrawn": stats.private_deques.withdrawn,
                "attempts": stats.attempts,
                "escalations": stats.escalations,
                "helps": stats.helps,
                "hand_overs": stats.hand_overs,
                "sleeps": stats.sleeps,
                "wakes": stats.wakes,
                "in_place": stats.in_place,
                "muggings": stats.heterogeneous.muggings,
                "refused": stats.heterogeneous.refused,
                "give_ups": stats.quotas.give_ups,
                "dummies": stats.quotas.dummies,
                "granularity": stats.granularity(),
                "peak_deques": stats.quotas.peak_deques,
                "peak_threads": stats.threads.peak_threads,
                "peak_heap": stats.peak_heap,
                "quota": stats.quotas.quota,
                "peak_carriers": stats.peak_carriers,
                "carriers": stats.carriers,
                "memory": memory,
            })
        })
        .collect();
    json!({
        "workload": workload.name(),
        "input": outcome.input,
        "size": args.input.size.to_string(),
        "grain": args.input.grain.to_string(),
        "seed": args.input.seed,
        "scheduler": contender.scheduler().map(|scheduler| scheduler.to_string()),
        "processors": contender.processors,
        "speeds": contender.speeds(),
        "serial_seconds": outcome.serial.as_secs_f64(),
        "median_seconds": outcome.median(),
        "best_seconds": outcome.best(),
        "threads": outcome.threads,
        "checksum": outcome.checksum.to_string(),
        "runs": runs,
    })
}
