//! `bombyx scale`: runs a program on several numbers of processors, and compares with what its profile predicts.
//!
//! The prediction comes from two profiled runs, on one processor and on all CPUs, as in `bombyx profile -p 1`. What the
//! program does outside pools is serial, and counts as such (Amdahl's law). The measured runs are not profiled. The
//! numbers of processors take turns, so a machine that is slow for a while is slow for all of them.

use crate::args::{Pools, Program};
use crate::launch::{Ended, Failed, Launch, wrote_nothing};
use crate::output::{self, Output};
use crate::profile::{self, plot};
use crate::table::{Cell, Style, Table, Tone};
use crate::terminal::complain;
use crate::text::{ratio, time, wrapped};
use crate::{Result, host};
use bombyx_lab::profiled::{To, add_companion, profiled};
use bombyx_lab::progress::Progress;
use bombyx_lab::statistics::median;
use bombyx_profile::{Prediction, Profile, Scaling, advise, cilkscale_csv};
use clap::ValueHint;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program on several numbers of processors and compare with what its profile predicts.
///
/// Profiles the program on one processor and on all CPUs. Then times the whole program on each number of processors in
/// turn, and discards its output. With --csv, work, span and times have Cilkscale's column names, for its plotter.
#[derive(clap::Args)]
#[command(override_usage = "bombyx scale [OPTIONS] -- <PROGRAM>...")]
#[command(after_help = "\
Examples:
  bombyx scale -- ./sort 10000000
  bombyx scale -p 1..64 --repeat 9 --plot sort.svg -- ./sort 10000000
  bombyx scale --csv -- ./sort 10000000 > sort.csv       for Cilkscale's plotter

A program that sets its number of processors itself cannot be scaled this way; BOMBYX_PROCESSORS and RAYON_NUM_THREADS
tell it what to use.")]
pub(crate) struct Args {
    #[command(flatten)]
    program: Program,

    #[command(flatten)]
    pools: Pools,

    /// How often to run on each number of processors
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,

    #[command(flatten)]
    output: Output,

    /// Plot speedups with prediction and bounds, as SVG or PNG by the file's name
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    plot: Option<PathBuf>,
}

/// What was measured on one number of processors, beside what was predicted.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    prediction: Prediction,
    /// All times, in the order of the runs.
    seconds: Vec<f64>,
    median_seconds: f64,
    /// Relative to the median on one processor.
    speedup: f64,
    /// Relative to the best run on one processor. Disturbances only make a run longer, so the program itself gains no
    /// more than this.
    speedup_over_best: f64,
}

impl Row {
    /// Where the measured speedup lies.
    fn verdict(&self) -> (&'static str, Tone) {
        let band = self.prediction.band;
        match self.speedup {
            // Disturbances only make runs longer. So it is above only if the best run on one processor says so, too.
            _ if self.speedup_over_best > band.to => ("above", Tone::Strong),
            speedup if speedup < band.from => ("below", Tone::Bad),
            _ => ("inside", Tone::Good),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    output::check([args.output.file()])?;
    output::check_pictures([&args.plot])?;
    measure(args)?.show(args)?;
    Ok(ExitCode::SUCCESS)
}

/// The profile and the times.
struct Scaled {
    profile: Profile,
    scaling: Scaling,
    rows: Vec<Row>,
}

impl Args {
    /// The numbers that were given, or else up to all cores. One is always among them.
    fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = match self.pools.numbers() {
            Some(numbers) => numbers.iter().map(|&number| number as u32).collect(),
            None => {
                let cores = host::cores() as u32;
                (0..31).map(|nth| 1 << nth).take_while(|&n| n < cores).chain([cores]).collect()
            }
        };
        numbers.push(1);
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

fn measure(args: &Args) -> Result<Scaled> {
    let numbers = args.numbers();
    let program = Path::new(&args.program.words[0]);
    let progress = Progress::new(1 + numbers.len() * usize::from(args.repeat));
    progress.doing("profiling on one processor and on all CPUs");
    let (ended, profile) = profiled(&args.program.words, Some(1), To::Nobody)?;
    succeeded(program, &ended)?;
    let mut profile = profile.ok_or_else(|| wrote_nothing(program, "profile", None))??;
    if profile.processors > 1 {
        return Err(format!(
            "{} uses {} processors although it was told to use one; let the environment choose the number, not the program",
            program.display(),
            profile.processors
        )
        .into());
    }
    if let Some(note) = add_companion(&mut profile, &args.program.words)? {
        complain(&note);
    }
    progress.step();
    let mut times = vec![Vec::new(); numbers.len()];
    for round in 1..=args.repeat {
        for (&processors, times) in numbers.iter().zip(&mut times) {
            progress.doing(format!("round {round} of {}, P = {processors}", args.repeat));
            let ended =
                Launch::new(&args.program.words).processors(Some(processors as usize)).quiet().run()?;
            succeeded(program, &ended)?;
            times.push(ended.elapsed.as_secs_f64());
            progress.step();
        }
    }
    drop(progress);
    let scaling = Scaling::of(&profile);
    let of = |times: &[f64]| {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        median(&sorted)
    };
    let one = of(&times[0]);
    let best = times[0].iter().copied().fold(f64::INFINITY, f64::min);
    let rows = numbers.iter().zip(times).map(|(&processors, seconds)| {
        let median_seconds = of(&seconds);
        Row {
            prediction: scaling.predict(processors),
            seconds,
            median_seconds,
            speedup: one / median_seconds,
            speedup_over_best: best / median_seconds,
        }
    });
    Ok(Scaled { rows: rows.collect(), profile, scaling })
}

/// Timing a program that fails would be pointless.
fn succeeded(program: &Path, ended: &Ended) -> Result<()> {
    let Some(complaint) = ended.complaint() else { return Ok(()) };
    let lines: Vec<&str> = ended.errors.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(8)..].join("\n  ");
    let said = if last.is_empty() { String::new() } else { format!("; it said:\n  {last}") };
    Err(Failed::new(format!("{} {complaint}{said}", program.display()), ended).into())
}

impl Scaled {
    fn show(&self, args: &Args) -> Result<()> {
        if let Some(path) = &args.plot {
            let points: Vec<(f64, f64)> =
                self.rows.iter().map(|row| (f64::from(row.prediction.processors), row.speedup)).collect();
            let most = self.rows.iter().map(|row| row.prediction.processors).max().unwrap_or(1);
            let title = format!("Speedup of {}, predicted and measured", self.profile.program);
            output::picture(path, &plot::speedups(&title, &self.scaling, most, &points)?)?;
        }
        args.output.show(|style| Ok(self.table(style)), || self.json(), || Ok(self.csv()))
    }

    fn table(&self, style: Style) -> String {
        let whole = (self.scaling.work + self.scaling.serial).max(f64::MIN_POSITIVE);
        let mut out = format!(
            "{}: work {}, span {}, parallelism {}{:.1}; {:.1} with the code outside of pools, {:.1} % of the time on one \
             processor",
            self.profile.program,
            time(self.scaling.work),
            time(self.scaling.span),
            if self.scaling.at_least { "at least " } else { "" },
            self.scaling.parallelism(),
            self.scaling.whole_parallelism(),
            100.0 * self.scaling.serial / whole
        );
        out = wrapped(&out, style.prose(), 0) + "\n\n";
        let table = Table::new(style)
            .numbers("P", 5)
            .numbers("time", 9)
            .numbers("range", 21)
            .extra()
            .numbers("speedup", 8)
            .numbers(if self.scaling.at_least { "at least" } else { "likely" }, 8)
            .numbers("from", 8)
            .numbers("to", 8)
            .words("measured", 8);
        out.push_str(&table.head());
        for row in &self.rows {
            let Prediction { processors, band } = row.prediction;
            let least = row.seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = row.seconds.iter().copied().fold(0.0, f64::max);
            let (verdict, tone) = row.verdict();
            out.push_str(&table.line([
                Cell::from(processors.to_string()),
                Cell::from(time(row.median_seconds)),
                Cell::new(format!("{} – {}", time(least), time(most)), Tone::Faint),
                Cell::new(ratio(row.speedup), Tone::Strong),
                Cell::from(ratio(band.likely)),
                Cell::from(ratio(band.from)),
                Cell::from(ratio(band.to)),
                Cell::new(verdict, tone),
            ]));
        }
        let most = self.rows.last().map_or(1, |row| row.prediction.processors);
        out.push_str(&table.left_out().unwrap_or_default());
        let mut say = |text: &str| out.push_str(&(wrapped(text, style.prose(), 0) + "\n"));
        say(&format!("\nadvice: {}", advise(&self.profile, most)[0]));
        if self.rows.iter().any(|row| row.verdict().0 == "below") {
            say(
                "Below means that strands take longer than on the processors that were profiled: more cores share data, \
                 a lock or memory, or the cores are not all ours.",
            );
        }
        if self.rows.iter().any(|row| row.verdict().0 == "above") {
            say(
                "Above means that the work itself takes less time on several cores, as each has caches of its own.",
            );
        }
        out
    }

    fn json(&self) -> Result<Value> {
        Ok(json!({
            "program": self.profile.program,
            "arguments": self.profile.arguments,
            "scaling": self.scaling,
            "parallelism": self.scaling.parallelism(),
            "rows": serde_json::to_value(&self.rows)?,
            "profile": profile::as_value(&self.profile),
        }))
    }

    fn csv(&self) -> String {
        let times: Vec<(u32, f64)> =
            self.rows.iter().map(|row| (row.prediction.processors, row.median_seconds)).collect();
        cilkscale_csv(&self.profile.program, &self.scaling, &times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_inside_below_or_above() {
        let scaling = Scaling::new(1e6, 1.0, 1.0);
        let verdict = |(speedup, speedup_over_best)| {
            let prediction = scaling.predict(2);
            let row = Row { prediction, seconds: vec![1.0], median_seconds: 1.0, speedup, speedup_over_best };
            row.verdict().0
        };
        assert_eq!(
            [(1.0, 1.0), (1.5, 1.4), (2.3, 2.1), (2.3, 2.3)].map(verdict),
            ["below", "inside", "inside", "above"]
        );
    }
}
