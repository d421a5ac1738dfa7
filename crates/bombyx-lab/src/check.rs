//! `bombyx check`: workloads on every scheduler, each result checked by the workload's own checker and compared with
//! that of the serial elision. A line per workload comes as it is done; with a file, what stands there already is not run
//! again, so that a long check survives interruptions.

use crate::contender::Contender;
use crate::host::{Record, cores};
use crate::input::Input;
use crate::resources::{Memory, Watch};
use crate::table::{Cell, Table, Tone};
use crate::terminal::{Progress, coloured, print};
use crate::text::{grouped, ratio, three_digits};
use crate::{Result, files};
use bombyx::Scheduler;
use bombyx_workloads::Workload;
use clap::ValueHint;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run workloads on every scheduler, once each, and check the results.
///
/// Exit status 1 if a result is wrong; the others are checked all the same.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx check                                 all workloads, some minutes
  bombyx check nqueens lu -s fifo,read-write   two workloads on two schedulers
  bombyx check --grain fine -o check.txt       keeps what is done; the same command goes on where it was interrupted")]
pub struct Args {
    /// Workloads, or programs with all their inputs; unless given, all workloads
    #[arg(value_name = "NAMES", value_parser = select)]
    names: Vec<Selection>,

    /// Schedulers, separated by commas; unless given, all of them
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    schedulers: Vec<Scheduler>,

    /// Number of processors; unless given, all cores, and two at least
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    processors: Option<u16>,

    #[command(flatten)]
    input: Input,

    /// Record the table, line by line; what the file holds of the same check is not run again
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

#[derive(Clone)]
struct Selection(Vec<&'static dyn Workload>);

fn select(name: &str) -> std::result::Result<Selection, bombyx_workloads::UnknownWorkload> {
    bombyx_workloads::select(name).map(Selection)
}

/// All schedulers; the quota is the paper's (DFD §5.2), the factor small enough for muggings to happen.
fn every_scheduler() -> Vec<Scheduler> {
    let name = |name: &&str| name.replace(":K", ":50000").replace(":BETA", ":1.5");
    Scheduler::NAMES.iter().map(|text| name(text).parse().expect("a listed name")).collect()
}

/// A heading that leaves room for nine of them.
fn short(scheduler: Scheduler) -> String {
    let name = scheduler.to_string();
    match name.split(':').next().unwrap_or_default() {
        "work-stealing" => "WS",
        "dfdeques" => "DFD",
        "depth-first" => "ADF",
        "fifo" => "FIFO",
        "busy-leaves" => "BL",
        "heterogeneous" => "HET",
        "read-write" => "RW",
        "read-write-steals" => "RWS",
        "private-cas" => "CAS",
        _ => return name,
    }
    .to_owned()
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let workloads = args.workloads();
    let schedulers = if args.schedulers.is_empty() { every_scheduler() } else { args.schedulers.clone() };
    let processors = args.processors.map_or(cores().max(2), usize::from);
    // A pool keeps its spare carriers, so every workload gets new ones.
    let pools = || -> std::result::Result<Vec<Contender>, bombyx::Error> {
        schedulers.iter().map(|scheduler| Contender::bombyx(processors, Some(*scheduler))).collect()
    };
    let table = table(&schedulers, false);
    let what = args.what(processors, &schedulers);
    let mut file = args.output.as_deref().map(|path| Kept::open(path, &what, &table.head())).transpose()?;
    let record = Record::of_this_process();
    print(&format!("{}\n{}\n{what}\n\n{}", record.line(), record.command(), table.head()))?;
    let progress = Progress::new(workloads.len() * (1 + schedulers.len()));
    let mut wrong = Vec::new();
    for workload in &workloads {
        if let Some(line) = file.as_ref().and_then(|file| file.line_of(workload.name())) {
            progress.print(&format!("{line}\n"))?;
            (0..=schedulers.len()).for_each(|_| progress.step());
            continue;
        }
        let row = check(*workload, args, &pools()?, &progress)?;
        progress.print(&row.line(&self::table(&schedulers, coloured())))?;
        match file.as_mut() {
            Some(file) if row.complaints.is_empty() => file.add(&row.line(&table))?,
            _ => {}
        }
        wrong.extend(row.complaints);
    }
    drop(progress);
    let mut end = String::from(LEGEND);
    for complaint in &wrong {
        writeln!(end, "{complaint}")?;
    }
    let all = workloads.len() * schedulers.len();
    writeln!(end, "{} of {all} results are right", all - wrong.len())?;
    print(&end)?;
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const LEGEND: &str = "\nSeconds of one run each, all checked; TS is the serial elision. heap, RSS: peaks of heap memory \
above the inputs and of\nresident memory, MiB; carr: most carriers (OS threads of the pool); thr: most living threads \
(of the papers), of the\nschedulers that count them; each the most of all schedulers.\n";

impl Args {
    fn workloads(&self) -> Vec<&'static dyn Workload> {
        let mut chosen: Vec<_> =
            self.names.iter().flat_map(|selection| selection.0.iter().copied()).collect();
        if chosen.is_empty() {
            chosen = bombyx_workloads::all().to_vec();
        }
        let mut seen = std::collections::HashSet::new();
        chosen.retain(|workload| seen.insert(workload.name()));
        chosen
    }

    /// The line by which a record is known to be of the same check.
    fn what(&self, processors: usize, schedulers: &[Scheduler]) -> String {
        let schedulers: Vec<String> =
            schedulers.iter().map(|scheduler| format!("{} {scheduler}", short(*scheduler))).collect();
        let Input { size, grain, seed } = self.input;
        format!("{size} size, {grain} grain, seed {seed}, P = {processors}: {}", schedulers.join(", "))
    }
}

fn table(schedulers: &[Scheduler], coloured: bool) -> Table {
    let widest = bombyx_workloads::all().iter().map(|workload| workload.name().len()).max().unwrap_or(0);
    let mut table = Table::new(coloured).words("benchmark", widest).numbers("TS", 4);
    for scheduler in schedulers {
        table = table.numbers(short(*scheduler), 4);
    }
    table.numbers("heap", 4).numbers("RSS", 4).numbers("carr", 4).numbers("thr", 7)
}

/// What the runs of one workload gave.
struct Row {
    name: &'static str,
    serial: f64,
    /// Scheduler by scheduler; nothing where the result is wrong.
    seconds: Vec<Option<f64>>,
    memory: Memory,
    carriers: u64,
    threads: u64,
    complaints: Vec<String>,
}

impl Row {
    fn line(&self, table: &Table) -> String {
        let mut cells: Vec<Cell> = vec![self.name.into(), ratio(self.serial).into()];
        cells.extend(self.seconds.iter().map(|seconds| match seconds {
            Some(seconds) => ratio(*seconds).into(),
            None => Cell::new("BAD", Tone::Bad),
        }));
        let mebibytes = |bytes: u64| three_digits(bytes as f64 / f64::from(1 << 20));
        cells.extend([
            mebibytes(self.memory.heap).into(),
            self.memory.resident.map_or_else(Cell::none, |resident| mebibytes(resident).into()),
            grouped(self.carriers).into(),
            if self.threads > 0 { grouped(self.threads).into() } else { Cell::none() },
        ]);
        table.line(cells)
    }
}

/// Runs a workload once on the serial elision and on every pool.
fn check(
    workload: &'static dyn Workload,
    args: &Args,
    pools: &[Contender],
    progress: &Progress,
) -> Result<Row> {
    let name = workload.name();
    progress.doing(format!("{name}: serial elision"));
    let mut prepared = workload.prepare(args.input.size, args.input.grain, args.input.seed);
    let serial = prepared.run(Contender::serial().runtime());
    prepared.check().map_err(|wrong| format!("{name}, serial elision, is wrong: {wrong}"))?;
    progress.step();
    let mut row = Row {
        name,
        serial: serial.time.as_secs_f64(),
        seconds: Vec::new(),
        memory: Memory::default(),
        carriers: 0,
        threads: 0,
        complaints: Vec::new(),
    };
    for pool in pools {
        progress.doing(format!("{name}: {pool}"));
        pool.forget_peaks();
        let watch = Watch::start();
        let run = prepared.run(pool.runtime());
        row.memory = row.memory.max(watch.memory());
        let stats = pool.stats().unwrap_or_default();
        row.carriers = row.carriers.max(stats.peak_carriers);
        row.threads = row.threads.max(stats.peak_threads);
        let right = match prepared.check() {
            Ok(()) if run.checksum == serial.checksum => Ok(()),
            Ok(()) => Err("the result differs from that of the serial elision".to_owned()),
            Err(wrong) => Err(wrong),
        };
        row.seconds.push(right.is_ok().then_some(run.time.as_secs_f64()));
        row.complaints.extend(right.err().map(|wrong| format!("{name} on {pool}: {wrong}")));
        progress.step();
    }
    Ok(row)
}

/// A record of a check, and the lines that it held when the command began.
struct Kept {
    path: PathBuf,
    text: String,
}

impl Kept {
    /// Goes on with the record of the same check, or begins one.
    fn open(path: &Path, what: &str, head: &str) -> Result<Self> {
        files::expect_to_write(path)?;
        let text = match std::fs::read_to_string(path) {
            Ok(text) if text.lines().any(|line| line == what) => text,
            Ok(_) => {
                return Err(format!(
                    "{} records something else than `{what}`; remove it or choose another file",
                    path.display()
                )
                .into());
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let record = Record::of_this_process();
                format!("{}\n{}\n{what}\n\n{head}", record.line(), record.command())
            }
            Err(error) => return Err(format!("cannot read {}: {error}", path.display()).into()),
        };
        let kept = Self { path: path.to_owned(), text };
        kept.write()?;
        Ok(kept)
    }

    /// The line of a workload that was right on all schedulers.
    fn line_of(&self, workload: &str) -> Option<&str> {
        self.text.lines().find(|line| line.split(' ').next() == Some(workload))
    }

    fn add(&mut self, line: &str) -> Result<()> {
        self.text += line;
        self.write()
    }

    fn write(&self) -> Result<()> {
        files::write(&self.path, self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_has_a_short_name_of_its_own() {
        let mut names: Vec<String> = every_scheduler().into_iter().map(short).collect();
        assert!(names.iter().all(|name| name.len() <= 4), "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), Scheduler::NAMES.len());
    }

    #[test]
    fn a_wrong_result_shows() {
        let schedulers = [Scheduler::WorkStealing];
        let row = Row {
            name: "fib",
            serial: 1.0,
            seconds: vec![None],
            memory: Memory::default(),
            carriers: 2,
            threads: 0,
            complaints: vec![],
        };
        assert!(row.line(&table(&schedulers, false)).contains(" BAD "));
    }
}
