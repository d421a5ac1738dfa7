//! Runs as text: a table for people, CSV and JSON for programs.

use super::Result;
use super::input::Input;
use super::runs::{Plan, Run};
use crate::output;
use crate::table::{Style, Table};
use crate::text::{counted, grouped, wrapped};
use bombyx_dag::{Class, WeightUnit};
use bombyx_sim::step_table;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// The computation in two lines.
pub(super) fn summary(input: &Input, style: Style) -> String {
    let (c, m) = (&input.computation, &input.measures);
    let unit = match c.weight_unit() {
        WeightUnit::Instructions => "",
        WeightUnit::Nanoseconds => " ns",
    };
    let mut out = format!(
        "{}: {} in {}, {}, {}\n\
         work T1 {}{unit}, span T∞ {}{unit}, parallelism {:.1}, stack S1 {} B",
        input.name,
        counted(c.strand_count() as u64, "strand"),
        counted(c.thread_count() as u64, "thread"),
        counted(c.join_count() as u64, "join edge"),
        c.class(),
        grouped(m.work),
        grouped(m.span),
        m.parallelism(),
        grouped(m.stack),
    );
    if c.class() == Class::General
        && let Some(child) = c.outlives_parent()
    {
        let _ = write!(out, "; general: nothing keeps the parent of {child} alive until {child} ends");
    }
    if c.uses_heap() {
        let _ =
            write!(out, ", with heap {} B, allocates {} B", grouped(m.serial_space), grouped(m.allocated));
    }
    let lines = out.lines().map(|line| wrapped(line, style.width.unwrap_or(usize::MAX), 2) + "\n");
    lines.collect()
}

/// A line per scheduler and number of processors, with means over the seeds.
pub(super) fn table(plan: &Plan<'_>, runs: &[Run], style: Style) -> String {
    let work = plan.input.measures.work as f64;
    let headings = [
        "scheduler",
        "P",
        "time",
        "speedup",
        "of bound",
        "busy",
        "steals",
        "attempts",
        "moved B",
        "peak space B",
        "threads",
        "granularity",
    ];
    let mut rows: Vec<[String; 12]> = Vec::new();
    let mugs = runs.iter().any(|run| run.outcome.muggings > 0);
    for (s, scheduler) in plan.schedulers.iter().enumerate() {
        for (p, processors) in plan.processors.iter().enumerate() {
            let group = plan.group(runs, s, p);
            let mean = |of: &dyn Fn(&Run) -> f64| group.iter().map(of).sum::<f64>() / group.len() as f64;
            let whole = |of: &dyn Fn(&Run) -> u64| grouped(mean(&|run| of(run) as f64).round() as u64);
            let time = mean(&Run::time);
            let steals = whole(&|run| run.outcome.steals);
            let muggings = whole(&|run| run.outcome.muggings);
            rows.push([
                scheduler.to_string(),
                processors.to_string(),
                if plan.has_unit_speeds() { grouped(time.round() as u64) } else { format!("{time:.1}") },
                format!("{:.2}", work / time),
                format!("{:.1} %", 100.0 * mean(&|run| run.time() / run.greedy_time)),
                format!("{:.1} %", 100.0 * mean(&|run| run.outcome.utilisation())),
                if mugs { format!("{steals}+{muggings}") } else { steals },
                whole(&|run| run.outcome.attempts()),
                whole(&|run| run.outcome.bytes),
                whole(&|run| run.outcome.peak.total),
                whole(&|run| run.outcome.peak.threads),
                format!("{:.1}", mean(&|run| run.outcome.granularity())),
            ]);
        }
    }
    // Columns that are zero in all rows are not shown. If there is little room, less interesting ones are left out
    // first.
    let extra = ["attempts", "moved B", "threads", "granularity", "peak space B", "of bound"];
    let shown: Vec<usize> = (0..headings.len())
        .filter(|&column| column < 6 || rows.iter().any(|row| !matches!(row[column].as_str(), "0" | "0.0")))
        .collect();
    let mut table = Table::new(style);
    for &column in &shown {
        let width = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        table = match column {
            0 => table.words(headings[column], width),
            _ => table.numbers(headings[column], width),
        };
        if extra.contains(&headings[column]) {
            table = table.extra();
        }
    }
    let mut out = table.head();
    for row in &rows {
        out += &table.line(shown.iter().map(|&column| row[column].as_str()));
    }
    let seeds = plan.seeds.end - plan.seeds.start;
    let bound = match plan.speeds.changes() {
        [] => "the bound is T1/P + T∞ (for speeds π: T1/Σπ + P·T∞/Σπ)",
        _ => "the bound is the time by which the processors could have executed T1 + P·T∞",
    };
    let mut notes = vec![bound.to_owned()];
    if seeds > 1 {
        notes.push(format!("means over {seeds} seeds"));
    }
    let rounded = runs.iter().map(|run| run.outcome.rounded).sum::<u64>();
    if rounded > 0 {
        let unit = runs.iter().map(|run| run.outcome.ticks_per_unit).min().unwrap_or(1);
        notes.push(format!(
            "{} moments were rounded up, each by less than 1/{}",
            grouped(rounded),
            grouped(unit)
        ));
    }
    if mugs {
        notes.push("steals are from deques + muggings".to_owned());
    }
    let _ = writeln!(out, "\n{}", wrapped(&notes.join("; "), style.prose(), 0));
    out += &table.left_out().unwrap_or_default();
    for line in plan.checked() {
        let _ = writeln!(out, "{}", wrapped(&line, style.prose(), 0));
    }
    out
}

/// What one run measured, as programs see it.
#[derive(Serialize)]
struct Row {
    scheduler: String,
    processors: usize,
    seed: u64,
    time: f64,
    speedup: f64,
    least_time: f64,
    greedy_time: f64,
    utilisation: f64,
    work: u64,
    steal: u64,
    wait: u64,
    idle: f64,
    steals: u64,
    muggings: u64,
    migrations: u64,
    preemptions: u64,
    lost: f64,
    rounded: u64,
    bytes: u64,
    granularity: f64,
    peak_space: u64,
    peak_frames: u64,
    peak_heap: u64,
    peak_threads: u64,
    peak_deques: u64,
    dummies: usize,
    events: u64,
}

impl Row {
    fn of(plan: &Plan<'_>, run: &Run) -> Self {
        let outcome = &run.outcome;
        Self {
            scheduler: outcome.scheduler.to_string(),
            processors: outcome.processors,
            seed: outcome.seed,
            time: outcome.time(),
            speedup: plan.input.measures.work as f64 / outcome.time(),
            least_time: run.least_time,
            greedy_time: run.greedy_time,
            utilisation: outcome.utilisation(),
            work: outcome.dollars.work,
            steal: outcome.dollars.steal,
            wait: outcome.dollars.wait,
            idle: outcome.capacity.instructions(outcome.capacity.idle),
            steals: outcome.steals,
            muggings: outcome.muggings,
            migrations: outcome.migrations,
            preemptions: outcome.preemptions,
            lost: outcome.capacity.instructions(outcome.capacity.lost),
            rounded: outcome.rounded,
            bytes: outcome.bytes,
            granularity: outcome.granularity(),
            peak_space: outcome.peak.total,
            peak_frames: outcome.peak.frames,
            peak_heap: outcome.peak.heap,
            peak_threads: outcome.peak.threads,
            peak_deques: outcome.peak.deques,
            dummies: outcome.with_dummies.as_ref().map_or(0, |with| with.count()),
            events: outcome.events,
        }
    }
}

/// A line per run, after a line of headings: the fields of [`Row`].
pub(super) fn csv<'a, 'b: 'a>(groups: impl Iterator<Item = (&'a Plan<'b>, &'a [Run])>) -> String {
    let rows = groups.flat_map(|(plan, runs)| {
        runs.iter().map(|run| {
            let row = serde_json::to_value(Row::of(plan, run)).expect("a row is plain data");
            let mut fields = serde_json::Map::new();
            fields.insert("computation".to_owned(), plan.input.name.clone().into());
            fields.extend(row.as_object().cloned().unwrap_or_default());
            Value::Object(fields)
        })
    });
    output::csv(&rows.collect::<Vec<_>>())
}

#[derive(Serialize)]
struct Document<'a> {
    computation: ComputationDocument<'a>,
    steal_cost: u64,
    visits: bool,
    same_step: bool,
    heap_quota: bool,
    contention: String,
    /// As on the command line. Empty if all speeds are 1.
    speeds: String,
    runs: Vec<Row>,
    /// The same without the changes of `--faster`.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Box<Document<'a>>>,
}

#[derive(Serialize)]
struct ComputationDocument<'a> {
    name: &'a str,
    class: String,
    unit: &'static str,
    strands: usize,
    threads: usize,
    joins: usize,
    work: u64,
    span: u64,
    stack: u64,
    serial_space: u64,
    largest_frame: u64,
    allocated: u64,
    joins_to_parent: u64,
    spawn_depth: u32,
}

/// Everything, as JSON.
pub(super) fn json(plan: &Plan<'_>, runs: &[Run], before: Option<(&Plan<'_>, &[Run])>) -> Result<Value> {
    let before = before.map(|(plan, runs)| Box::new(document(plan, runs, None)));
    Ok(serde_json::to_value(document(plan, runs, before))?)
}

/// The figures of a computation, without runs.
pub(super) fn figures(input: &Input) -> Result<Value> {
    Ok(serde_json::to_value(computation(input))?)
}

fn computation(input: &Input) -> ComputationDocument<'_> {
    let (c, m) = (&input.computation, &input.measures);
    ComputationDocument {
        name: &input.name,
        class: c.class().to_string(),
        unit: match c.weight_unit() {
            WeightUnit::Instructions => "instructions",
            WeightUnit::Nanoseconds => "nanoseconds",
        },
        strands: c.strand_count(),
        threads: c.thread_count(),
        joins: c.join_count(),
        work: m.work,
        span: m.span,
        stack: m.stack,
        serial_space: m.serial_space,
        largest_frame: m.largest_frame,
        allocated: m.allocated,
        joins_to_parent: m.joins_to_parent,
        spawn_depth: m.spawn_depth,
    }
}

fn document<'a>(plan: &Plan<'a>, runs: &[Run], before: Option<Box<Document<'a>>>) -> Document<'a> {
    Document {
        computation: computation(plan.input),
        steal_cost: plan.steal_cost,
        visits: plan.visits,
        same_step: plan.same_step,
        heap_quota: plan.heap_quota,
        contention: plan.contention.to_string(),
        speeds: plan.speeds.to_string(),
        runs: runs.iter().map(|run| Row::of(plan, run)).collect(),
        before,
    }
}

/// The most steps and processors that a step table shows.
const MOST_STEPS: u64 = 2000;
const MOST_COLUMNS: usize = 32;

/// What every processor does at every step of the only run.
pub(super) fn steps(plan: &Plan<'_>, runs: &[Run]) -> Result<String> {
    let outcome = &runs[0].outcome;
    if outcome.makespan > MOST_STEPS || outcome.processors > MOST_COLUMNS {
        return Err(format!(
            "a step table shows at most {MOST_STEPS} steps on {MOST_COLUMNS} processors; this run has {} on {}",
            grouped(outcome.makespan),
            outcome.processors
        )
        .into());
    }
    let unequal = "a step table needs processors of speed 1; try --trace or --gantt";
    Ok(step_table(&plan.input.computation, outcome).ok_or(unequal)?)
}
