//! The `bombyx` program. This file only names the commands and turns their outcome into an exit status: 0 for success,
//! 1 for a failure (a wrong result, a missed bar, a file that cannot be written), 2 for a command line that makes no
//! sense. Commands that run another program pass its status on.
//!
//! **Not here:** measuring, scheduling and theory. Commands read arguments, call the other crates, and print.
//!
//! Each command is a file with its arguments and what it prints. What it measures is in `bombyx-lab`.

mod args;
mod bench;
mod check;
mod child;
mod doctor;
mod help;
mod numbers;
mod output;
mod png;
mod prediction;
mod profile;
mod record;
mod report;
mod reproduce;
mod run;
mod scale;
mod simulate;
mod terminal;
#[cfg(target_os = "linux")]
mod top;
mod tour;
mod trace;
mod verify;
#[cfg(unix)]
mod worker;

use bombyx_lab::{Result, contender, files, heap, host, launch, plot, resources, table, text};
use clap::{Parser, Subcommand};
use std::fmt;
use std::process::ExitCode;

/// Counts everything that this program allocates. Pools that ask for it also count what their processors allocate.
#[global_allocator]
static ALLOCATOR: bombyx::alloc::Metered<heap::Counting> = bombyx::alloc::Metered::new(heap::Counting);

/// A command line whose parts do not fit together.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Fork-join scheduling you can measure, simulate and prove.
///
/// Without a command, runs real programs on all cores, beside rayon. Checks their results, and shows what you gain and
/// what a fork costs.
#[derive(Parser)]
#[command(
    name = "bombyx",
    version,
    about,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
#[command(after_help = "\
`bombyx help COMMAND` explains a command, `bombyx help schedulers` the schedulers.
Exit status: 0 success, 1 failure, 2 a command line that makes no sense.")]
struct Cli {
    /// Small inputs and one round: takes a few seconds, and the figures are not worth quoting
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
    Report(report::Args),
    Scale(scale::Args),
    Trace(trace::Args),
    #[cfg(target_os = "linux")]
    Top(top::Args),
    Simulate(Box<simulate::Args>),
    Verify(verify::Args),
    Reproduce(reproduce::Args),
    #[cfg(unix)]
    Worker(worker::Args),
    Doctor(doctor::Args),
    Completions(help::Completions),
    Man(help::Man),
    Help(help::Args),
    #[command(hide = true)]
    Child(child::Args),
    #[command(hide = true)]
    Prediction(prediction::Args),
}

fn main() -> ExitCode {
    contender::same_stacks();
    terminal::show_progress();
    let cli = Cli::try_parse().unwrap_or_else(|error| help::refuse::<Cli>(&error));
    let outcome = match cli.command {
        None => tour::run(cli.quick),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Profile(args)) => profile::run(&args),
        Some(Command::Record(args)) => record::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Scale(args)) => scale::run(&args),
        Some(Command::Trace(args)) => trace::run(&args),
        #[cfg(target_os = "linux")]
        Some(Command::Top(args)) => top::run(&args),
        Some(Command::Simulate(args)) => simulate::run(&args),
        Some(Command::Verify(args)) => verify::run(&args),
        Some(Command::Reproduce(args)) => reproduce::run(&args),
        #[cfg(unix)]
        Some(Command::Worker(args)) => worker::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Completions(args)) => args.run::<Cli>(),
        Some(Command::Man(args)) => args.run::<Cli>(),
        Some(Command::Help(args)) => args.run::<Cli>(),
        Some(Command::Child(args)) => child::run(&args),
        Some(Command::Prediction(args)) => prediction::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        terminal::complain(&error.to_string());
        ExitCode::from(if let Some(cannot) = error.downcast_ref::<launch::CannotStart>() {
            cannot.code()
        } else if let Some(failed) = error.downcast_ref::<launch::Failed>() {
            failed.code()
        } else if error.is::<Usage>() || error.is::<bombyx::Error>() {
            // Somebody asked for a pool with numbers or names that make no sense.
            2
        } else {
            1
        })
    })
}
