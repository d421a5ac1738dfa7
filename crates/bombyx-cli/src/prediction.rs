//! `bombyx prediction`, hidden: how good the predictions are. `scripts/prediction` runs it.

use crate::args::Input;
use crate::{Result, terminal};
use bombyx_lab::prediction;
use bombyx_workloads::Workload;
use std::process::ExitCode;

/// Predicted and simulated speedups against measured ones, on two processors.
///
/// Fails if fewer than 90 % of the workloads lie in their band, or if the bands are wider than 30 % of their middle on
/// average.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The workloads [default: all]
    #[arg(value_parser = bombyx_workloads::find)]
    names: Vec<&'static dyn Workload>,

    #[command(flatten)]
    input: Input,

    /// Do not simulate
    #[arg(long)]
    no_simulation: bool,

    /// Runs on each number of processors
    #[arg(short, long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let workloads = if args.names.is_empty() { bombyx_workloads::all().to_vec() } else { args.names.clone() };
    let Input { size, grain, seed } = args.input;
    let simulate = !args.no_simulation;
    let plan = prediction::Plan { workloads, size, grain, seed, repeat: args.repeat, simulate };
    let good = prediction::run(&plan, terminal::style(), &mut terminal::print)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
