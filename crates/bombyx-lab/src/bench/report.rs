//! Measurements as text: lines of a table that come as they are measured, JSON and CSV for programs.

use super::Results;
use super::bar::BarRecord;
use super::case::{Case, Entry};
use super::micro::MICROS;
use crate::Result;
use crate::sample::Sample;
use crate::statistics::geometric_mean;
use crate::table::{Cell, Style, Table, Tone};
use crate::text::{grouped, ratio, three_digits, time, wrapped};
use bombyx_workloads::Grain;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// The table of a command: a line per workload, number of processors and scheduler.
pub(super) struct Report {
    table: Table,
    schedulers: bool,
    style: Style,
}

/// If Bombyx takes more than this many times as long as another runtime, the ratio is shown as bad.
const NOTICEABLE: f64 = 1.05;

impl Report {
    pub(super) fn new<'a>(
        workloads: impl Iterator<Item = &'a str>,
        micros: bool,
        schedulers: bool,
        style: Style,
    ) -> Self {
        const MICRO: usize = 23;
        let widest = workloads.map(str::len).max().unwrap_or(0).max(if micros { MICRO } else { 14 });
        let mut table = Table::new(style).words("benchmark", widest).numbers("P", 2);
        if schedulers {
            table = table.words("scheduler", 17);
        }
        for heading in ["serial", "bombyx", "rayon"] {
            table = table.numbers(heading, 7);
        }
        // Rather no time of chili than names that cannot be told apart.
        table = table.numbers("chili", 7).extra().numbers("TS/T", 4);
        table = table.numbers("/rayon", 4).extra().numbers("/chili", 4).extra();
        for (heading, width) in [("steals", 6), ("heap", 4), ("RSS", 4), ("carr", 4), ("thr", 6)] {
            table = table.numbers(heading, width).extra();
        }
        Self { table, schedulers, style }
    }

    pub(super) fn head(&self) -> String {
        self.table.head()
    }

    /// A line above the cases of a grain.
    pub(super) fn section(&self, grain: Grain) -> String {
        self.table.line([Cell::new(format!("{grain} grain"), Tone::Strong)])
    }

    /// A line for each entry of Bombyx.
    pub(super) fn lines(&self, case: &Case) -> String {
        let ours = case.entries.iter().filter(|entry| entry.runtime == "bombyx");
        ours.map(|entry| self.line(case, entry)).collect()
    }

    fn line(&self, case: &Case, ours: &Entry) -> String {
        let median = |runtime| {
            let entry = case.entry(runtime, ours.processors);
            entry.map_or_else(Cell::none, |entry| time(entry.median()).into())
        };
        let mut cells: Vec<Cell> = vec![case.name.as_str().into(), ours.processors.to_string().into()];
        if self.schedulers {
            cells.push(ours.scheduler.map_or_else(Cell::none, |scheduler| scheduler.to_string().into()));
        }
        cells.extend([
            median("serial"),
            Cell::new(time(ours.median()), Tone::Strong),
            median("rayon"),
            median("chili"),
            case.ratio(ours, "serial").map_or_else(Cell::none, |over| ratio(1.0 / over).into()),
            judged(case.ratio(ours, "rayon")),
            judged(case.ratio(ours, "chili")),
            ours.counts().map_or_else(Cell::none, |counts| grouped(counts.steals).into()),
            mebibytes(ours.memory().map(|memory| memory.heap)),
            mebibytes(ours.memory().and_then(|memory| memory.resident)),
            ours.peak_carriers().map_or_else(Cell::none, |carriers| grouped(carriers).into()),
            ours.threads.map_or_else(Cell::none, |threads| grouped(threads).into()),
        ]);
        self.table.line(cells)
    }

    /// Geometric means over workloads, a line per number of processors and scheduler.
    pub(super) fn means(&self, cases: &[Case]) -> String {
        let mut out = self.table.rule();
        for mean in means(cases) {
            let mut cells: Vec<Cell> =
                vec![Cell::new("geometric mean", Tone::Strong), mean.processors.to_string().into()];
            if self.schedulers {
                cells.push(mean.scheduler.clone().unwrap_or_default().into());
            }
            cells.extend(["", "", "", ""].map(Cell::from));
            cells.push(mean.over_serial.map_or_else(Cell::none, |over| ratio(1.0 / over).into()));
            cells.extend([judged(mean.over_rayon), judged(mean.over_chili)]);
            out += &self.table.line(cells);
        }
        out
    }

    /// How to read the table.
    pub(super) fn legend(&self) -> String {
        let text = "Times are medians. TS/T, the speedup, is serial over bombyx; /rayon and /chili are bombyx over them: \
                    below 1, Bombyx is faster. Of Bombyx: steals; heap, RSS: peaks of heap memory above the inputs and of \
                    resident memory, MiB; carr: most carriers (OS threads of the pool); thr: most living threads (of the \
                    papers: children of forks), – where forks are most of the work.";
        let legend = format!("\n{}\n", wrapped(text, self.style.prose(), 0));
        legend + &self.table.left_out().unwrap_or_default()
    }
}

/// Memory in MiB.
fn mebibytes(of: Option<u64>) -> Cell {
    of.map_or_else(Cell::none, |bytes| three_digits(bytes as f64 / f64::from(1 << 20)).into())
}

/// A ratio that should be below one.
fn judged(of: Option<f64>) -> Cell {
    let Some(of) = of else { return Cell::none() };
    let tone = match of {
        ..=1.0 => Tone::Good,
        ..=NOTICEABLE => Tone::Plain,
        _ => Tone::Bad,
    };
    Cell::new(ratio(of), tone)
}

/// The micro-benchmarks for `--list`.
pub fn list_of_micros() -> String {
    let mut out = String::from("\nMicro-benchmarks (bombyx bench)\n");
    for micro in MICROS {
        let _ = writeln!(out, "  {:24}{}", micro.name, micro.about);
    }
    out
}

/// Geometric means over all workloads that have both figures.
#[derive(Serialize)]
struct Mean {
    processors: usize,
    scheduler: Option<String>,
    workloads: usize,
    over_serial: Option<f64>,
    over_rayon: Option<f64>,
    over_chili: Option<f64>,
}

fn means(cases: &[Case]) -> Vec<Mean> {
    let Some(first) = cases.first() else { return Vec::new() };
    let ours = first.entries.iter().filter(|entry| entry.runtime == "bombyx");
    ours.map(|like| {
        let same = |entry: &&Entry| {
            entry.runtime == "bombyx"
                && entry.processors == like.processors
                && entry.scheduler == like.scheduler
        };
        let over = |runtime: &str| {
            geometric_mean(
                cases.iter().filter_map(|case| case.ratio(case.entries.iter().find(same)?, runtime)),
            )
        };
        Mean {
            processors: like.processors,
            scheduler: like.scheduler.map(|scheduler| scheduler.to_string()),
            workloads: cases.len(),
            over_serial: over("serial"),
            over_rayon: over("rayon"),
            over_chili: over("chili"),
        }
    })
    .collect()
}

/// One runtime's runs as programs see them.
#[derive(Serialize)]
struct Row {
    benchmark: String,
    about: String,
    runtime: String,
    scheduler: Option<String>,
    processors: usize,
    runs: usize,
    median_seconds: f64,
    best_seconds: f64,
    over_serial: Option<f64>,
    over_rayon: Option<f64>,
    over_chili: Option<f64>,
    heap_bytes: Option<u64>,
    resident_bytes: Option<u64>,
    carriers: Option<u64>,
    threads: Option<u64>,
    steals: Option<u64>,
    hand_overs: Option<u64>,
}

impl Row {
    fn of(case: &Case, entry: &Entry) -> Self {
        Self {
            benchmark: case.name.clone(),
            about: case.about.clone(),
            runtime: entry.runtime.clone(),
            scheduler: entry.scheduler.map(|scheduler| scheduler.to_string()),
            processors: entry.processors,
            runs: entry.samples().len(),
            median_seconds: entry.median(),
            best_seconds: entry.best(),
            over_serial: case.ratio(entry, "serial"),
            over_rayon: case.ratio(entry, "rayon"),
            over_chili: case.ratio(entry, "chili"),
            heap_bytes: entry.memory().map(|memory| memory.heap),
            resident_bytes: entry.memory().and_then(|memory| memory.resident),
            carriers: entry.peak_carriers(),
            threads: entry.threads,
            steals: entry.counts().map(|counts| counts.steals),
            hand_overs: entry.counts().map(|counts| counts.hand_overs),
        }
    }
}

/// A row with every single run.
#[derive(Serialize)]
struct FullRow {
    #[serde(flatten)]
    row: Row,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
struct Document<'a> {
    workloads: Vec<FullRow>,
    geometric_means: Vec<Mean>,
    micro_benchmarks: Vec<FullRow>,
    bars: Vec<BarRecord<'a>>,
}

fn rows(cases: &[Case]) -> impl Iterator<Item = (&Case, &Entry)> {
    cases.iter().flat_map(|case| case.entries.iter().map(move |entry| (case, entry)))
}

/// Everything, as JSON.
pub(super) fn json(results: &Results) -> Result<Value> {
    let full = |cases| {
        rows(cases)
            .map(|(case, entry)| FullRow { row: Row::of(case, entry), samples: entry.samples().to_vec() })
            .collect()
    };
    let document = Document {
        workloads: full(&results.workloads),
        geometric_means: means(&results.workloads),
        micro_benchmarks: full(&results.micros),
        bars: results.bars.iter().map(|bar| bar.record()).collect(),
    };
    Ok(serde_json::to_value(&document)?)
}

/// A row per runtime: the fields of [`Row`].
pub(super) fn rows_of(results: &Results) -> Result<Vec<Value>> {
    let all = rows(&results.workloads).chain(rows(&results.micros));
    all.map(|(case, entry)| Ok(serde_json::to_value(Row::of(case, entry))?)).collect()
}
