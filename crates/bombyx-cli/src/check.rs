//! `bombyx check`: the command line of [`bombyx_lab::check`], and a record that survives interruptions.

use crate::args::{Input, Pools};
use crate::host::{Record, cores};
use crate::output::{self, Output};
use crate::{Result, files, terminal};
use bombyx::Scheduler;
use bombyx_lab::check::{Plan, Row, every_scheduler, legend};
use bombyx_lab::progress::Progress;
use bombyx_workloads::{UnknownWorkload, Workload};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run workloads on every scheduler, once each, and check the results.
///
/// Prints a line per workload as soon as it is done. If a result is wrong, the command still checks the others, and the
/// exit status is 1.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx check                                 all workloads, some minutes
  bombyx check nqueens lu -s fifo,read-write   two workloads on two schedulers
  bombyx check --grain fine -o check.txt       keeps what is done; the same command continues after an interruption")]
pub(crate) struct Args {
    /// Workloads, or programs with all their inputs [default: all workloads]
    #[arg(value_name = "NAMES", value_parser = select)]
    names: Vec<Selection>,

    /// Schedulers, separated by commas [default: all of them]
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    schedulers: Vec<Scheduler>,

    #[command(flatten)]
    pools: Pools,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone)]
struct Selection(Vec<&'static dyn Workload>);

fn select(name: &str) -> std::result::Result<Selection, UnknownWorkload> {
    bombyx_workloads::select(name).map(Selection)
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    output::check([args.output.file()])?;
    let default = [cores().max(2)];
    let numbers = args.pools.numbers().unwrap_or(&default);
    let mut documents = Vec::new();
    let mut wrong = Vec::new();
    let mut all = 0;
    for &processors in numbers {
        let plan = args.plan(processors);
        all += plan.workloads.len() * plan.schedulers.len();
        let rows = check(args, &plan)?;
        wrong.extend(rows.iter().flat_map(|row| row.complaints.clone()));
        documents.push(json!({ "processors": processors, "rows": serde_json::to_value(&rows)? }));
    }
    if args.output.is_text() {
        let mut end: String = wrong.iter().map(|complaint| format!("{complaint}\n")).collect();
        end += &format!("{} of {all} results are right\n", all - wrong.len());
        terminal::print(&end)?;
    } else {
        let rows = || documents.iter().flat_map(flat).collect::<Vec<_>>();
        args.output.show(
            |_| Ok(String::new()),
            || Ok(json!({ "checks": documents })),
            || Ok(output::csv(&rows())),
        )?;
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A row per workload and scheduler.
fn flat(document: &Value) -> Vec<Value> {
    let rows = document["rows"].as_array().into_iter().flatten();
    let cells = rows.flat_map(|row| {
        let seconds = row["seconds"].as_array().into_iter().flatten();
        seconds.map(move |pair| {
            json!({
                "workload": row["name"],
                "processors": document["processors"],
                "scheduler": pair[0],
                "serial_seconds": row["serial"],
                "seconds": pair[1],
                "right": !pair[1].is_null(),
            })
        })
    });
    cells.collect()
}

/// Checks all workloads on one number of processors.
fn check(args: &Args, plan: &Plan) -> Result<Vec<Row>> {
    let text = args.output.is_text();
    let kept = args.output.file().filter(|_| text);
    let mut file = kept.map(|path| Kept::open(path, plan)).transpose()?;
    let (style, record) = (terminal::style(), Record::of_this_process());
    let table = plan.table(style);
    let say = |line: &str| if text { terminal::print(line) } else { Ok(()) };
    say(&format!("{}\n{}\n\n{}", record.head(), plan.line(), table.head()))?;
    let progress = Progress::new(plan.workloads.len() * plan.steps());
    let mut rows = Vec::new();
    for workload in &plan.workloads {
        if let Some(line) = file.as_ref().and_then(|file| file.line_of(workload.name())) {
            say(&format!("{line}\n"))?;
            (0..plan.steps()).for_each(|_| progress.step());
            continue;
        }
        let row = plan.check(*workload, &progress)?;
        say(&row.line(&table))?;
        match file.as_mut() {
            Some(file) if row.complaints.is_empty() => file.add(&row.line(&plan.table(false.into())))?,
            _ => {}
        }
        rows.push(row);
    }
    drop(progress);
    say(&legend(&table, style))?;
    Ok(rows)
}

impl Args {
    fn plan(&self, processors: usize) -> Plan {
        let mut workloads: Vec<_> =
            self.names.iter().flat_map(|selection| selection.0.iter().copied()).collect();
        if workloads.is_empty() {
            workloads = bombyx_workloads::all().to_vec();
        }
        let mut seen = std::collections::HashSet::new();
        workloads.retain(|workload| seen.insert(workload.name()));
        let schedulers = if self.schedulers.is_empty() { every_scheduler() } else { self.schedulers.clone() };
        let Input { size, grain, seed } = self.input;
        Plan { workloads, schedulers, processors, size, grain, seed }
    }
}

/// A record of a check, and the lines that it held when the command began.
struct Kept {
    path: PathBuf,
    text: String,
}

impl Kept {
    /// Continues the record of the same check, or begins one.
    fn open(path: &Path, plan: &Plan) -> Result<Self> {
        let what = plan.line();
        let text = match std::fs::read_to_string(path) {
            Ok(text) if text.lines().any(|line| line == what) => text,
            Ok(_) => {
                return Err(format!(
                    "{} is the record of a different check, not of `{what}`; remove it or choose another file",
                    path.display()
                )
                .into());
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let head = Record::of_this_process().head();
                format!("{head}\n{what}\n\n{}", plan.table(false.into()).head())
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
