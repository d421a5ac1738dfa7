//! Bombyx and its peers on the same programs in the same run.
//!
//! **Not here:** the workloads. They are in `bombyx-workloads`.
//!
//! This file says what is measured and in which order. [`case`] takes the measurements, and [`workload`], [`micro`]
//! and [`regions`] say of what. [`bar`] and [`judge`] say what must hold, and [`report`] and [`plot`] show the results.

mod bar;
pub mod case;
mod judge;
mod micro;
mod plot;
mod regions;
mod report;
pub mod workload;

pub use bar::Verdict;

use crate::Result;
use crate::contender::Contender;
use crate::host::cores;
use crate::table::Style;
use bar::Bar;
use bombyx::Scheduler;
use bombyx_base::nearest;
use bombyx_workloads::{Grain, Size, Suite, Workload};
use case::Case;
use micro::{MICROS, Micro};
use std::fmt::Write;

/// A workload that misses a bar is measured again, for this many times the rounds.
const FURTHER: usize = 6;

/// Something that can be measured by name.
#[derive(Clone)]
pub struct Target(Kind);

#[derive(Clone)]
enum Kind {
    Workloads(Vec<&'static dyn Workload>),
    Micro(&'static Micro),
}

impl Target {
    /// What a name stands for: a workload, a program with all its inputs, `workloads` or a micro-benchmark.
    ///
    /// # Errors
    /// If nothing has this name.
    pub fn named(name: &str) -> std::result::Result<Self, String> {
        if let Some(micro) = MICROS.iter().chain(regions::TABLES).find(|micro| micro.name == name) {
            return Ok(Self(Kind::Micro(micro)));
        }
        if name == "workloads" {
            return Ok(Self(Kind::Workloads(bombyx_workloads::all().to_vec())));
        }
        let workloads = bombyx_workloads::select(name).map(|several| Self(Kind::Workloads(several)));
        workloads.map_err(|unknown| match nearest(name, MICROS.iter().map(|micro| micro.name)) {
            Some(micro) => format!("there is no benchmark `{name}`; did you mean `{micro}`?"),
            None => unknown.to_string(),
        })
    }
}

/// What to measure, and how.
pub struct Plan {
    /// What is measured. If empty: all workloads, or for the bars all micro-benchmarks.
    pub targets: Vec<Target>,
    /// Whether the results are compared with the bars.
    pub bars: bool,
    /// How much work a run is.
    pub size: Size,
    /// How small the serial pieces are. The bars are measured at both grains.
    pub grain: Grain,
    /// The seed of inputs.
    pub seed: u64,
    /// Measured rounds, or `None` for what suits a benchmark.
    pub rounds: Option<usize>,
    /// Numbers of processors for workloads. If empty: 1 and all cores.
    pub processors: Vec<usize>,
    /// Schedulers for workloads. If empty: the default.
    pub schedulers: Vec<Scheduler>,
}

/// Everything that was measured.
pub struct Results {
    workloads: Vec<Case>,
    micros: Vec<Case>,
    bars: Vec<Bar>,
}

impl Results {
    /// Whether a bar was missed.
    pub fn missed(&self) -> bool {
        self.bars.iter().any(|bar| bar.verdict() == Verdict::Missed)
    }

    /// Everything, for programs.
    pub fn json(&self) -> Result<serde_json::Value> {
        report::json(self)
    }

    /// A row per runtime.
    pub fn rows(&self) -> Result<Vec<serde_json::Value>> {
        report::rows_of(self)
    }

    /// A picture of the speedups, as SVG.
    pub fn plot(&self) -> Result<String> {
        plot::speedups(self)
    }
}

impl Plan {
    /// Measures everything and shows the results line by line.
    ///
    /// # Errors
    /// If a pool cannot be built or a result is wrong.
    pub fn run(&self, style: Style, show: &mut dyn FnMut(&str) -> Result<()>) -> Result<Results> {
        let (workloads, micros) = self.chosen();
        let contenders = if workloads.is_empty() { Vec::new() } else { self.contenders()? };
        let names = workloads.iter().map(|workload| workload.name());
        let several_schedulers = self.schedulers.len() > 1 || (self.bars && !workloads.is_empty());
        let report = report::Report::new(names, !micros.is_empty(), several_schedulers, style);
        let mut limits = None;
        let mut results = Results { workloads: vec![], micros: vec![], bars: vec![] };
        show(&report.head())?;
        let mut known = Vec::new();
        for setup in self.setups() {
            let first = results.workloads.len();
            if self.bars && !workloads.is_empty() {
                show(&report.section(setup.grain))?;
            }
            for workload in &workloads {
                let mut case = workload::measure(*workload, &setup, &contenders)?;
                // Near a bar, a few rounds on a restless machine decide nothing. All rounds count, and nothing is tried
                // again.
                let (suite, bound, grain) = (workload.suite(), workload.bound(), setup.grain);
                if self.bars && judge::misses(judge::Judged { case: &case, suite, bound, grain }) {
                    let longer = workload::Setup { rounds: FURTHER * setup.rounds, ..setup };
                    case.add(workload::measure(*workload, &longer, &contenders)?);
                }
                show(&report.lines(&case))?;
                case.name = self.label(*workload, setup.grain);
                results.workloads.push(case);
                known.push((suite, bound, grain));
            }
            if results.workloads.len() > first + 1 {
                show(&report.means(&results.workloads[first..]))?;
            }
        }
        if self.bars && !known.is_empty() {
            let judged = results.workloads.iter().zip(known);
            let judged: Vec<_> = judged
                .map(|(case, (suite, bound, grain))| judge::Judged { case, suite, bound, grain })
                .collect();
            results.bars.extend(judge::bars(&judged));
            limits = judge::limits(&judged, style);
        }
        for micro in micros {
            let outcome = micro.run(self.size, self.rounds)?;
            let notes = outcome.notes.iter().map(String::as_str).chain(std::iter::repeat(""));
            for (case, note) in outcome.cases.iter().zip(notes) {
                show(&report.lines(case))?;
                show(note)?;
            }
            results.micros.extend(outcome.cases);
            results.bars.extend(outcome.bars);
        }
        show(&report.legend())?;
        if self.bars {
            show(&format!("\n{}", bar::table(&results.bars, style)))?;
            limits.iter().try_for_each(|table| show(&format!("\n{table}")))?;
        } else {
            results.bars.clear();
        }
        Ok(results)
    }

    /// The name of a workload when both grains are shown side by side.
    fn label(&self, workload: &dyn Workload, grain: Grain) -> String {
        match grain {
            Grain::Fine if self.bars => format!("{}, fine", workload.name()),
            _ => workload.name().to_owned(),
        }
    }

    /// How to measure workloads: at the chosen grain, or for the bars at both.
    fn setups(&self) -> Vec<workload::Setup> {
        let rounds = self.rounds.unwrap_or(if self.bars { 3 } else { 5 });
        let grains = if self.bars { Grain::ALL.to_vec() } else { vec![self.grain] };
        let setup = |grain| workload::Setup { size: self.size, grain, seed: self.seed, rounds, counts: 1 };
        grains.into_iter().map(setup).collect()
    }

    /// What to measure, each once.
    fn chosen(&self) -> (Vec<&'static dyn Workload>, Vec<&'static Micro>) {
        let (mut workloads, mut micros) = (Vec::<&dyn Workload>::new(), Vec::<&Micro>::new());
        for Target(kind) in &self.targets {
            match kind {
                Kind::Micro(micro) if !micros.iter().any(|known| known.name == micro.name) => {
                    micros.push(micro)
                }
                Kind::Micro(_) => {}
                Kind::Workloads(several) => workloads.extend(several),
            }
        }
        let mut seen = std::collections::HashSet::new();
        workloads.retain(|workload| seen.insert(workload.name()));
        if self.bars && micros.iter().any(|micro| micro.name == "regions") {
            micros.extend(regions::TABLES);
        }
        if self.bars && self.targets.is_empty() {
            micros = MICROS.iter().collect();
        } else if self.targets.is_empty() {
            workloads = bombyx_workloads::all().to_vec();
        }
        (workloads, micros)
    }

    /// The serial elision, and every runtime on every number of processors; for the bars, only those that they name.
    fn contenders(&self) -> Result<Vec<Contender>> {
        if self.bars {
            let mut contenders = vec![Contender::serial(), Contender::bombyx(1, None)?];
            contenders.push(Contender::bombyx(judge::PROCESSORS, None)?);
            contenders.extend(Contender::peers(judge::PROCESSORS)?);
            for scheduler in judge::SCHEDULERS {
                // Some schedulers are not available everywhere: pinned processors need more than one CPU. They are not
                // judged then.
                contenders.extend(Contender::bombyx(judge::PROCESSORS, Some(scheduler.parse()?)).ok());
            }
            return Ok(contenders);
        }
        let mut numbers = self.processors.clone();
        if numbers.is_empty() {
            numbers = vec![1, cores()];
        }
        numbers.sort_unstable();
        numbers.dedup();
        let schedulers: Vec<Option<Scheduler>> = match self.schedulers[..] {
            [] => vec![None],
            ref chosen => chosen.iter().copied().map(Some).collect(),
        };
        let mut contenders = vec![Contender::serial()];
        for processors in numbers {
            for scheduler in &schedulers {
                contenders.push(Contender::bombyx(processors, *scheduler)?);
            }
            contenders.extend(Contender::peers(processors)?);
        }
        Ok(contenders)
    }
}

/// All workloads with what they compute, suite by suite.
pub fn list() -> String {
    let mut out = String::new();
    for suite in Suite::ALL {
        let heading = match suite {
            Suite::ReadWrite => "Programs of the read-write paper (rw)",
            Suite::DfDeques => "Programs of the DFDeques paper (dfd)",
            Suite::Classics => "Classics",
        };
        let _ = writeln!(out, "{}{heading}", if out.is_empty() { "" } else { "\n" });
        for workload in bombyx_workloads::all().iter().filter(|workload| workload.suite() == *suite) {
            let _ = writeln!(out, "  {:24}{}", workload.name(), workload.about());
        }
    }
    out
}

pub use report::list_of_micros;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_typos_answered() {
        let target = |name| Target::named(name).map(|Target(kind)| kind);
        assert!(matches!(target("fib38"), Ok(Kind::Micro(_))));
        assert!(matches!(target("fib"), Ok(Kind::Workloads(several)) if several.len() == 1));
        assert!(matches!(target("cilksort"), Ok(Kind::Workloads(several)) if several.len() == 2));
        assert_eq!(
            target("regoins").err().unwrap(),
            "there is no benchmark `regoins`; did you mean `regions`?"
        );
        assert!(target("nquens").err().unwrap().contains("did you mean `nqueens`?"));
    }

    #[test]
    fn no_micro_benchmark_hides_a_workload() {
        for micro in MICROS {
            assert!(bombyx_workloads::find(micro.name).is_err(), "{}", micro.name);
        }
    }
}
