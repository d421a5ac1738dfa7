//! The side that compares: starts both builds, alternates, takes medians, prints.

use crate::serve::AT_ONCE;
use crate::{CORE, Program, find};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const OPTIONS: &str = "[--threads 2] [--seconds 3] [--mean BAR] [--worst BAR] [PROGRAM…]";

/// Rounds before those that count.
const WARM_UP: usize = 3;
/// The least number of rounds that count.
const ROUNDS: usize = 10;

struct Options<'a> {
    threads: usize,
    time: Duration,
    /// What the geometric mean of the ratios, and the worst ratio, may be at most.
    mean: f64,
    worst: f64,
    programs: Vec<&'a Program>,
}

fn parse<'a>(programs: &'a [Program], words: &[&str]) -> Result<Options<'a>, String> {
    let mut options = Options {
        threads: 2,
        time: Duration::from_secs(3),
        mean: f64::INFINITY,
        worst: f64::INFINITY,
        programs: Vec::new(),
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|value| value.parse::<f64>().ok()).filter(|value| *value > 0.0);
            value.ok_or_else(|| format!("{word} needs a number above 0"))
        };
        match word {
            "--threads" => options.threads = number()? as usize,
            "--seconds" => options.time = Duration::from_secs_f64(number()?),
            "--mean" => options.mean = number()?,
            "--worst" => options.worst = number()?,
            name => options.programs.push(find(programs, name)?),
        }
    }
    if options.programs.is_empty() {
        options.programs = programs.iter().collect();
    }
    Ok(options)
}

/// Compares the programs that `words` name on this build and on `other`, a build with the original core. Returns whether
/// the ratios are within their bars.
pub(crate) fn compare(programs: &[Program], other: &str, words: &[&str]) -> Result<bool, String> {
    let options = parse(programs, words)?;
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let this = this.to_str().ok_or("this build's path is not text")?;
    println!(
        "{CORE} against upstream, {} threads, medians of {AT_ONCE} × at least {ROUNDS} alternating computations\n",
        options.threads
    );
    println!("| program | upstream ms | {CORE} ms | ratio | upstream MiB | {CORE} MiB |");
    println!("|---|--:|--:|--:|--:|--:|");
    let mut ratios = Vec::new();
    for program in &options.programs {
        let mut sides = [
            Side::start(this, CORE, &program.name, options.threads)?,
            Side::start(other, "upstream", &program.name, options.threads)?,
        ];
        alternate(&mut sides, options.time)?;
        let digests = [sides[0].ask("check")?, sides[1].ask("check")?];
        if digests[0] != digests[1] {
            return Err(format!("{}: the results differ: {} and {}", program.name, digests[0], digests[1]));
        }
        let [ours, theirs] = [sides[0].median(), sides[1].median()];
        let ratio = ours / theirs;
        if program.counts {
            ratios.push(ratio);
        }
        println!(
            "| {} | {:.2} | {:.2} | {ratio:.3}{} | {:.1} | {:.1} |",
            program.name,
            theirs * 1e3,
            ours * 1e3,
            if program.counts { "" } else { " (not in the mean)" },
            sides[1].memory()?,
            sides[0].memory()?,
        );
    }
    if !ratios.is_empty() {
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        println!("\ngeometric mean of {} ratios {mean:.3}, worst {worst:.3}", ratios.len());
        for (what, ratio, bar) in
            [("geometric mean", mean, options.mean), ("worst ratio", worst, options.worst)]
        {
            if bar.is_finite() {
                println!("{what} at most {bar}: {}", if ratio <= bar { "met" } else { "missed" });
            }
        }
        return Ok(mean <= options.mean && worst <= options.worst);
    }
    Ok(true)
}

/// Lets the sides compute in turn, each first in every other round, until the time is up.
fn alternate(sides: &mut [Side; 2], time: Duration) -> Result<(), String> {
    for _ in 0..WARM_UP {
        for side in &mut *sides {
            side.run()?;
            side.times.clear();
        }
    }
    let start = Instant::now();
    let mut round = 0;
    while round < ROUNDS || start.elapsed() < time {
        sides[round % 2].run()?;
        sides[1 - round % 2].run()?;
        round += 1;
    }
    Ok(())
}

/// A build that serves a program.
struct Side {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Seconds.
    times: Vec<f64>,
}

impl Side {
    fn start(build: &str, core: &str, program: &str, threads: usize) -> Result<Side, String> {
        let mut child = Command::new(build)
            .args(["serve", program])
            .env("RAYON_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{build} does not start: {error}"))?;
        let (ask, answers) = (child.stdin.take(), child.stdout.take().ok_or("no pipe")?);
        let mut side = Side { child, ask, answers: BufReader::new(answers), times: Vec::new() };
        let expected = format!("{core} {threads}");
        match side.answer()? {
            said if said == expected => Ok(side),
            said => Err(format!("{build} should be on `{expected}`, and is on `{said}`")),
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let answer = self.ask("run")?;
        for word in answer.split(' ') {
            let nanoseconds: f64 = word.parse().map_err(|_| format!("`{answer}` are no times"))?;
            self.times.push(nanoseconds * 1e-9);
        }
        Ok(())
    }

    fn median(&mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }

    /// MiB.
    fn memory(&mut self) -> Result<f64, String> {
        let answer = self.ask("memory")?;
        answer.parse::<f64>().map(|kib| kib / 1024.0).map_err(|_| format!("`{answer}` is no memory"))
    }

    fn ask(&mut self, question: &str) -> Result<String, String> {
        let pipe = self.ask.as_mut().ok_or("the pipe is closed")?;
        writeln!(pipe, "{question}").map_err(|error| format!("a build has ended: {error}"))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(count) if count > 0 => Ok(line.trim_end().to_string()),
            _ => Err("a build has ended without an answer; see above".to_string()),
        }
    }
}

impl Drop for Side {
    /// The end of its input ends it.
    fn drop(&mut self) {
        self.ask = None;
        let _ = self.child.wait();
    }
}
