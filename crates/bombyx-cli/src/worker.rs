//! `bombyx worker`: runs a program's remote functions on this machine, for a Dask scheduler.

use crate::{Result, Usage};
use clap::ValueHint;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run the remote functions of a program on this machine, as a worker of a Dask cluster.
///
/// Starts a Dask worker whose child is the program. The program must be the same build as the client, use
/// `bombyx-cluster`, and call `bombyx_cluster::start` first. Python must have `distributed`. `BOMBYX_PYTHON` names the
/// interpreter.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dask scheduler --host 127.0.0.1
  bombyx worker --dask 127.0.0.1:8786 ./render --nthreads 4 --memory-limit 8GiB
  BOMBYX_CLUSTER=dask://127.0.0.1:8786 ./render

What follows the program are options of `dask worker`. The worker listens where the scheduler can reach it: on loopback only,
if the scheduler is there.")]
pub(crate) struct Args {
    /// The scheduler: `HOST:PORT`, or `tls://HOST:PORT`
    #[arg(long, value_name = "ADDRESS")]
    dask: String,

    /// The program whose functions to run
    #[arg(value_hint = ValueHint::ExecutablePath)]
    program: PathBuf,

    /// Options of `dask worker`: threads, memory, certificates
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let place = args.dask.rsplit("://").next().unwrap_or_default();
    let port = place
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .and_then(|(_, port)| port.parse::<u16>().ok());
    if port.is_none() {
        let why = format!("`{}` is not the address of a scheduler: use HOST:PORT", args.dask);
        return Err(Usage(why).into());
    }
    Err(bombyx_cluster::run_worker(&args.dask, &args.program, &args.options).into())
}
