//! `bombyx child`: single measurements that need a process of their own, because they look at the memory, the
//! processor time or the instructions of the whole process. Hidden: `bombyx bench` and `scripts/instructions` start
//! them.

use crate::bench::Sample;
use crate::contender::Contender;
use crate::programs;
use crate::resources::{Watch, cpu_seconds};
use crate::{Result, terminal};
use std::hint::black_box;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// One measurement in a process of its own.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(clap::Subcommand)]
enum Measurement {
    /// fib(N) on one processor, for counting instructions; prints the number of forks
    Fib {
        /// A runtime, or `plain` or `by-hand` for the recursion without the trait that the others go through
        runtime: String,
        n: u32,
        /// With closures of four words and results of three
        #[arg(long)]
        wide: bool,
    },
    /// Time and growth of memory of a task that spawns COUNT empty ones
    Spawns { runtime: String, processors: usize, count: u64 },
    /// Processor time that an idle pool uses after a burst
    Idle { runtime: String, processors: usize, seconds: f64 },
}

pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.measurement {
        Measurement::Fib { runtime, n, wide } => {
            let result = match runtime.as_str() {
                _ if *wide => programs::wide_fib(Contender::named(runtime, 1)?.runtime(), *n)
                    .ok_or("the leaves of the recursion were counted wrong")?,
                "plain" => programs::plain_fib(black_box(*n)),
                "by-hand" => {
                    let pool = bombyx::Pool::builder().processors(1).build()?;
                    pool.run(|| programs::bombyx_fib(black_box(*n)))
                }
                _ => programs::fib(Contender::named(runtime, 1)?.runtime(), *n),
            };
            if result != programs::fib_value(*n) {
                return Err(format!("fib({n}) is {}, not {result}", programs::fib_value(*n)).into());
            }
            terminal::print(&format!("{}\n", programs::fib_forks(*n)))?;
        }
        Measurement::Spawns { runtime, processors, count } => {
            let contender = Contender::named(runtime, *processors)?;
            programs::fib(contender.runtime(), 20);
            let watch = Watch::start();
            let start = Instant::now();
            programs::spawns(contender.runtime(), *count);
            let seconds = start.elapsed().as_secs_f64();
            answer(&Sample { memory: Some(watch.memory()), ..Sample::seconds(seconds) })?;
        }
        Measurement::Idle { runtime, processors, seconds } => {
            let contender = Contender::named(runtime, *processors)?;
            programs::fib(contender.runtime(), 30);
            let before = cpu_seconds().ok_or("this system does not tell the processor time of a process")?;
            thread::sleep(Duration::from_secs_f64(*seconds));
            let used = cpu_seconds().unwrap_or(before) - before;
            answer(&Sample::seconds(used))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(sample: &Sample) -> Result<()> {
    terminal::print(&(serde_json::to_string(sample)? + "\n"))
}

/// A measurement under way in another process.
pub struct Child {
    process: std::process::Child,
    what: String,
}

impl Child {
    /// Starts this program again with the words of a measurement.
    pub fn start(words: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?;
        let what = words.join(" ");
        let process = Command::new(program)
            .arg("child")
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start a process to measure {what}: {error}"))?;
        Ok(Self { process, what })
    }

    /// Waits for what it measured.
    pub fn sample(self) -> Result<Sample> {
        let output = self.process.wait_with_output()?;
        if !output.status.success() {
            return Err(
                format!("the process that measured {} ended with {}", self.what, output.status).into()
            );
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
