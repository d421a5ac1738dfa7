//! `bombyx child`, hidden: single measurements that need a separate process. `bombyx bench` and `scripts/instructions`
//! start them.

use crate::{Result, terminal};
use bombyx_lab::child;
use std::process::ExitCode;

/// One measurement in a separate process.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(clap::Subcommand)]
enum Measurement {
    /// fib(N) on one processor, for counting instructions; prints the number of forks
    Fib {
        /// A runtime; or `plain` or `by-hand` for the recursion without the trait that the others use
        runtime: String,
        n: u32,
        /// With closures of four words and results of three
        #[arg(long)]
        wide: bool,
    },
    /// Time and memory growth of a task that spawns COUNT empty ones
    Spawns { runtime: String, processors: usize, count: u64 },
    /// Processor time that an idle pool uses after a burst
    Idle { runtime: String, processors: usize, seconds: f64 },
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let answer = match &args.measurement {
        Measurement::Fib { runtime, n, wide } => child::fib(runtime, *n, *wide)?.to_string(),
        Measurement::Spawns { runtime, processors, count } => {
            serde_json::to_string(&child::spawns(runtime, *processors, *count)?)?
        }
        Measurement::Idle { runtime, processors, seconds } => {
            serde_json::to_string(&child::idle(runtime, *processors, *seconds)?)?
        }
    };
    terminal::print(&(answer + "\n"))?;
    Ok(ExitCode::SUCCESS)
}
