//! Runs the programs on two builds, in turn, and prints the table.

use crate::{PROMISES, Promise, find};
use cores::CORE;
use cores::process::{self, Run, median};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

pub(crate) const OPTIONS: &str = "[--runs 5] [--limit SECONDS] [PROMISE…]";

struct Options {
    runs: usize,
    limit: Duration,
    promises: Vec<&'static Promise>,
}

fn parse(words: &[&str]) -> Result<Options, String> {
    let mut options = Options { runs: 5, limit: Duration::from_secs(60), promises: Vec::new() };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|value| value.parse::<u32>().ok()).filter(|&value| value > 0);
            value.ok_or_else(|| format!("{word} needs a whole number above 0"))
        };
        match word {
            "--runs" => options.runs = number()? as usize,
            "--limit" => options.limit = Duration::from_secs(number()?.into()),
            name => options.promises.push(find(name)?),
        }
    }
    if options.promises.is_empty() {
        options.promises = PROMISES.iter().collect();
    }
    Ok(options)
}

/// Compares this build with `other`, a build with the original core. Returns false if a promise does not hold here.
pub(crate) fn compare(other: &str, words: &[&str]) -> Result<bool, String> {
    let options = parse(words)?;
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let builds = [this.to_str().ok_or("this build's path is not text")?, other];
    println!("{CORE} against upstream, {} runs each in turn", options.runs);
    for promise in options.promises.iter().filter(|promise| promise.repeats > 1) {
        println!("{}: {} runs", promise.name, promise.repeats * options.runs);
    }
    println!("\n| promise | threads | upstream | {CORE} | ratio | verdict |");
    println!("|---|--:|---|---|---|---|");
    let mut broken = Vec::new();
    for promise in options.promises {
        let runs = promise.repeats * options.runs;
        for &threads in promise.threads {
            let mut sides = [Side::default(), Side::default()];
            for round in 0..runs {
                for side in [round % 2, 1 - round % 2] {
                    let mut command = Command::new(builds[side]);
                    command.args(["run", promise.name, &threads.to_string()]);
                    command.env_remove("RAYON_NUM_THREADS");
                    let run = process::run(&mut command, options.limit, false)?;
                    sides[side].add(&run, [CORE, "upstream"][side])?;
                }
            }
            let verdict = verdict(promise, &mut sides);
            let [ours, theirs] = &mut sides;
            println!(
                "| {} | {} | {} | {} | {} | {} |",
                promise.name,
                size(threads),
                theirs.text(promise, runs),
                ours.text(promise, runs),
                ratios(promise, ours, theirs),
                verdict.as_deref().unwrap_or("holds"),
            );
            if verdict.is_some() {
                broken.push((promise, threads, ours.broken.first().cloned()));
            }
        }
    }
    println!();
    for (promise, threads, how) in &broken {
        let how = how.as_ref().map(|how| format!("; the first time: {how}")).unwrap_or_default();
        println!("{} at {} threads: {}{how}", promise.name, size(*threads), promise.about);
    }
    println!(
        "{}",
        if broken.is_empty() { "all hold".into() } else { format!("{} do not hold", broken.len()) }
    );
    Ok(broken.is_empty())
}

fn size(threads: usize) -> String {
    if threads == 0 { "default".to_string() } else { threads.to_string() }
}

/// The ratios of the medians, in the order of the bounds.
fn ratios(promise: &Promise, ours: &mut Side, theirs: &mut Side) -> String {
    let of = |(name, _): &(&str, f64)| match (ours.median(name), theirs.median(name)) {
        (Some(ours), Some(theirs)) if theirs > 0.0 => format!("{:.2}", ours / theirs),
        _ => "–".to_string(),
    };
    promise.bounds.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// A figure with three digits that count.
fn digits(value: f64) -> String {
    let places = if value == 0.0 || value >= 100.0 { 0 } else { 2 - value.log10().floor() as i32 };
    format!("{value:.*}", places.clamp(0, 6) as usize)
}

/// The runs of one build.
#[derive(Default)]
struct Side {
    figures: BTreeMap<String, Vec<f64>>,
    broken: Vec<String>,
}

impl Side {
    fn add(&mut self, run: &Run, core: &str) -> Result<(), String> {
        let output = String::from_utf8_lossy(&run.output);
        let mut how = None;
        let mut said = None;
        for line in output.lines() {
            match line.split_once(' ') {
                Some(("core", name)) => said = Some(name),
                Some(("broken", text)) => how = Some(text.to_string()),
                Some(("figure", figure)) => {
                    let (name, value) =
                        figure.split_once(' ').ok_or_else(|| format!("`{line}` has no value"))?;
                    let value = value.parse().map_err(|_| format!("`{line}` has no number"))?;
                    self.figures.entry(name.to_string()).or_default().push(value);
                }
                _ => {}
            }
        }
        if said != Some(core) {
            return Err(format!("a build should be on {core}, and says {said:?}"));
        }
        self.figures.entry("cpu".to_string()).or_default().push(run.cpu.as_secs_f64() * 1e3);
        if !run.succeeded() {
            self.broken.push(how.unwrap_or_else(|| run.ending()));
        }
        Ok(())
    }

    fn median(&mut self, figure: &str) -> Option<f64> {
        self.figures.get_mut(figure).map(|values| median(values))
    }

    fn text(&mut self, promise: &Promise, runs: usize) -> String {
        if promise.bounds.is_empty() || !self.broken.is_empty() {
            return format!("{} of {runs}", runs - self.broken.len());
        }
        let figures = promise.bounds.iter().map(|(name, _)| match self.median(name) {
            Some(value) => format!("{name} {}", digits(value)),
            None => format!("{name} ?"),
        });
        figures.collect::<Vec<_>>().join(", ")
    }
}

/// What is wrong, if anything. What the original itself does not keep is not asked for.
fn verdict(promise: &Promise, [ours, theirs]: &mut [Side; 2]) -> Option<String> {
    if !theirs.broken.is_empty() {
        return Some(format!("upstream: {}", theirs.broken[0]));
    }
    if !ours.broken.is_empty() {
        return Some("BROKEN".to_string());
    }
    let exceeded: Vec<String> = promise
        .bounds
        .iter()
        .filter_map(|&(name, bound)| match (ours.median(name), theirs.median(name)) {
            (Some(ours), Some(theirs)) if ours <= bound * theirs => None,
            (Some(ours), Some(theirs)) => Some(format!("{name} × {:.3} (at most {bound})", ours / theirs)),
            _ => Some(format!("{name} was not measured")),
        })
        .collect();
    (!exceeded.is_empty()).then(|| format!("TOO MUCH: {}", exceeded.join(", ")))
}
