//! The `bombyx` program. This file only names the commands and turns their outcome into an exit status: 0 for
//! success, 1 for a failure (a wrong result, a bar missed, a file that cannot be written), 2 for a command line
//! that makes no sense. Commands that run another program pass its status on. Each command is a file of its own.

mod profile;
mod record;
mod run;
mod scale;
mod simulate;
mod tour;
mod verify;
#[cfg(unix)]
mod worker;

use bombyx_lab::{
    Result, bench, check, child, contender, contention, files, heap, host, input, launch, plot, prediction,
    reproduce, resources, table, terminal, text,
};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Everything that this program runs is counted; pools that ask for it also count what their processors allocate.
#[global_allocator]
static ALLOCATOR: bombyx::alloc::Metered<heap::Counting> = bombyx::alloc::Metered::new(heap::Counting);

/// Fork-join scheduling you can measure, simulate and prove.
///
/// Without a command: runs some of the built-in workloads on all cores, checks their results, and prints what
/// forking costs and what it gains.
#[derive(Parser)]
#[command(name = "bombyx", version, about, args_conflicts_with_subcommands = true)]
struct Cli {
    /// Small inputs, one round: a few seconds, figures not worth quoting
    #[arg(long)]
    quick: bool,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Bench(bench::Args),
    Check(check::Args),
    Profile(profile::Args),
    Record(record::Args),
    Scale(scale::Args),
    Simulate(Box<simulate::Args>),
    Verify(verify::Args),
    Reproduce(reproduce::Args),
    #[cfg(unix)]
    Worker(worker::Args),
    #[command(hide = true)]
    Child(child::Args),
    #[command(hide = true)]
    Prediction(prediction::Args),
}

fn main() -> ExitCode {
    contender::same_stacks();
    let cli = Cli::parse();
    let outcome = match cli.command {
        None => tour::run(cli.quick),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Profile(args)) => profile::run(&args),
        Some(Command::Record(args)) => record::run(&args),
        Some(Command::Scale(args)) => scale::run(&args),
        Some(Command::Simulate(args)) => {
            simulate::run(*args);
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Verify(args)) => {
            verify::run(args);
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Reproduce(args)) => reproduce::run(&args),
        #[cfg(unix)]
        Some(Command::Worker(args)) => worker::run(&args),
        Some(Command::Child(args)) => child::run(&args),
        Some(Command::Prediction(args)) => prediction::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("bombyx: {error}");
        ExitCode::from(match error.downcast_ref::<launch::CannotStart>() {
            Some(cannot) => cannot.code(),
            // A pool that cannot be built was asked for with numbers or names that make no sense.
            None if error.is::<bombyx::Error>() => 2,
            None => 1,
        })
    })
}
