//! `bombyx child`, hidden: single measurements that need a separate process. `bombyx bench` and `scripts/instructions`
//! start them.

use crate::Result;
use crate::output::answer;
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
    /// Processor time of COUNT ticks, one each 2 ms, of 8 leaves of 20 µs
    Ticks { runtime: String, processors: usize, count: u32 },
    /// Processor time of a pool beyond that of a serial leaf, while the leaf runs
    Beside { runtime: String, processors: usize, seconds: f64 },
    /// Processor time that a pool uses after short regions
    Quiet { runtime: String, processors: usize, seconds: f64 },
    /// The first join of a process that has one other thread
    First { runtime: String, processors: usize },
    /// One region of 100 µs, for the time of the whole process
    Region { runtime: String, processors: usize },
    /// Keeps a CPU busy until somebody ends the process
    Spin { cpu: usize },
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.measurement {
        Measurement::Fib { runtime, n, wide } => answer(&child::fib(runtime, *n, *wide)?),
        Measurement::Spawns { runtime, processors, count } => {
            answer(&child::spawns(runtime, *processors, *count)?)
        }
        Measurement::Idle { runtime, processors, seconds } => {
            answer(&child::idle(runtime, *processors, *seconds)?)
        }
        Measurement::Ticks { runtime, processors, count } => {
            answer(&child::ticks(runtime, *processors, *count)?)
        }
        Measurement::Beside { runtime, processors, seconds } => {
            answer(&child::beside(runtime, *processors, *seconds)?)
        }
        Measurement::Quiet { runtime, processors, seconds } => {
            answer(&child::quiet(runtime, *processors, *seconds)?)
        }
        Measurement::First { runtime, processors } => answer(&child::first(runtime, *processors)?),
        Measurement::Region { runtime, processors } => answer(&child::region(runtime, *processors)?),
        Measurement::Spin { cpu } => child::spin(*cpu),
    }?;
    Ok(ExitCode::SUCCESS)
}
