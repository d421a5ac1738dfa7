//! Workloads on every scheduler. The workload's own checker checks each result, and each is compared with that of the
//! serial elision.

use crate::Result;
use crate::contender::Contender;
use crate::progress::Progress;
use crate::resources::{Memory, Watch};
use crate::table::{Cell, Style, Table, Tone};
use crate::text::{grouped, ratio, three_digits, wrapped};
use bombyx::Scheduler;
use bombyx_workloads::{Grain, Size, Workload};
use serde::Serialize;

/// What is checked.
pub struct Plan {
    /// The workloads, each once.
    pub workloads: Vec<&'static dyn Workload>,
    /// The schedulers.
    pub schedulers: Vec<Scheduler>,
    /// The number of processors.
    pub processors: usize,
    /// How much work a run is.
    pub size: Size,
    /// How small its serial pieces are.
    pub grain: Grain,
    /// The seed of inputs.
    pub seed: u64,
}

/// All schedulers. The quota is the paper's (DFD §5.2), and the factor is small enough for muggings to happen.
pub fn every_scheduler() -> Vec<Scheduler> {
    let name = |name: &&str| name.replace(":K", ":50000").replace(":BETA", ":1.5");
    Scheduler::NAMES.iter().map(|text| name(text).parse().expect("a listed name")).collect()
}

/// A short heading, so that nine of them fit.
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

/// How to read the table.
pub fn legend(table: &Table, style: Style) -> String {
    let text = "Seconds of one run each, all checked; TS is the serial elision. heap, RSS: peaks of heap memory above the inputs \
                and of resident memory, MiB; carr: most carriers (OS threads of the pool); thr: most living threads (of the \
                papers), of the schedulers that count them; each the most of all schedulers.";
    format!("\n{}\n{}", wrapped(text, style.prose(), 0), table.left_out().unwrap_or_default())
}

impl Plan {
    /// A line that identifies a check, to recognise its record.
    pub fn line(&self) -> String {
        let schedulers: Vec<String> =
            self.schedulers.iter().map(|scheduler| format!("{} {scheduler}", short(*scheduler))).collect();
        let Self { size, grain, seed, processors, .. } = self;
        format!("{size} size, {grain} grain, seed {seed}, P = {processors}: {}", schedulers.join(", "))
    }

    /// An empty table for the rows.
    pub fn table(&self, style: Style) -> Table {
        let widest = bombyx_workloads::all().iter().map(|workload| workload.name().len()).max().unwrap_or(0);
        let mut table = Table::new(style).words("benchmark", widest).numbers("TS", 4);
        for scheduler in &self.schedulers {
            table = table.numbers(short(*scheduler), 4);
        }
        for (heading, width) in [("heap", 4), ("RSS", 4), ("carr", 4), ("thr", 7)] {
            table = table.numbers(heading, width).extra();
        }
        table
    }

    /// Pools with all schedulers. A pool keeps its spare carriers, so every workload gets new pools.
    fn pools(&self) -> std::result::Result<Vec<Contender>, bombyx::Error> {
        let pool = |scheduler: &Scheduler| Contender::bombyx(self.processors, Some(*scheduler));
        self.schedulers.iter().map(pool).collect()
    }

    /// How many steps [`check`](Self::check) makes.
    pub fn steps(&self) -> usize {
        1 + self.schedulers.len()
    }

    /// Runs a workload once on the serial elision and on every pool.
    ///
    /// # Errors
    /// If a pool cannot be built, or the serial elision itself is wrong.
    pub fn check(&self, workload: &'static dyn Workload, progress: &Progress) -> Result<Row> {
        let name = workload.name();
        progress.doing(format!("{name}: serial elision"));
        let mut prepared = workload.prepare(self.size, self.grain, self.seed);
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
        for (pool, scheduler) in self.pools()?.iter().zip(&self.schedulers) {
            progress.doing(format!("{name}: {pool}"));
            pool.forget_peaks();
            let watch = Watch::start();
            let run = prepared.run(pool.runtime());
            row.memory = row.memory.max(watch.memory());
            let stats = pool.stats().unwrap_or_default();
            row.carriers = row.carriers.max(stats.peak_carriers);
            row.threads = row.threads.max(stats.threads.peak_threads);
            let right = match prepared.check() {
                Ok(()) if run.checksum == serial.checksum => Ok(()),
                Ok(()) => Err("the result differs from that of the serial elision".to_owned()),
                Err(wrong) => Err(wrong),
            };
            row.seconds.push((scheduler.to_string(), right.is_ok().then_some(run.time.as_secs_f64())));
            row.complaints.extend(right.err().map(|wrong| format!("{name} on {pool}: {wrong}")));
            progress.step();
        }
        Ok(row)
    }
}

/// What the runs of one workload gave.
#[derive(Serialize)]
pub struct Row {
    /// The workload.
    pub name: &'static str,
    /// Seconds of the serial elision.
    pub serial: f64,
    /// Seconds for each scheduler. `None` if the result is wrong.
    pub seconds: Vec<(String, Option<f64>)>,
    /// The most memory of all runs.
    pub memory: Memory,
    /// The most carriers.
    pub carriers: u64,
    /// The most living threads, or 0 if no scheduler counts them.
    pub threads: u64,
    /// What is wrong.
    pub complaints: Vec<String>,
}

impl Row {
    /// A line of the table.
    pub fn line(&self, table: &Table) -> String {
        let mut cells: Vec<Cell> = vec![self.name.into(), ratio(self.serial).into()];
        cells.extend(self.seconds.iter().map(|(_, seconds)| match seconds {
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
        let plan = Plan {
            workloads: Vec::new(),
            schedulers: vec![Scheduler::WorkStealing],
            processors: 1,
            size: Size::Small,
            grain: Grain::Fine,
            seed: 1,
        };
        let row = Row {
            name: "fib",
            serial: 1.0,
            seconds: vec![("work-stealing".into(), None)],
            memory: Memory::default(),
            carriers: 2,
            threads: 0,
            complaints: vec![],
        };
        assert!(row.line(&plan.table(false.into())).contains(" BAD "));
    }
}
