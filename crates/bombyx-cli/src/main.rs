//! The `bombyx` program. This file only names the commands; each command is a file of its own.

mod simulate;
mod verify;

use clap::{Parser, Subcommand};

/// Fork-join scheduling you can measure, simulate and prove.
#[derive(Parser)]
#[command(name = "bombyx", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Simulate(Box<simulate::Args>),
    Verify(verify::Args),
}

fn main() {
    let cli = Cli::parse();
    match cli.command {
        None => {}
        Some(command) => match command {
            Command::Simulate(args) => simulate::run(*args),
            Command::Verify(args) => verify::run(args),
        },
    }
}
