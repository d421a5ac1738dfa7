//! Checks traces in the native format, and what is made of them for Perfetto and Chrome: `check_traces FILE…`. See
//! `scripts/traces`. Prints a line for each file, with what a reader of the file for Perfetto finds, and writes that file
//! beside it (`FILE.pftrace`).

#[path = "../check/mod.rs"]
mod check;

use bombyx_trace::{Timeline, perfetto, read};
use std::panic::catch_unwind;
use std::process::ExitCode;

/// What is in a trace, or why it cannot be read.
fn contents(file: &str) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let timeline = Timeline::of(&read(&bytes).map_err(|error| error.to_string())?);
    check::timeline(&timeline);
    check::decode_chrome(&timeline);
    let found = check::decode_perfetto(&timeline);
    std::fs::write(format!("{file}.pftrace"), perfetto::encode(&timeline))
        .map_err(|error| error.to_string())?;
    Ok(format!("{} {} {} {} {}", found.slices, found.flows, found.instants, found.counts, timeline.lost))
}

fn main() -> ExitCode {
    let mut wrong = 0;
    for file in std::env::args().skip(1) {
        match catch_unwind(|| contents(&file)) {
            Ok(Ok(found)) => println!("{found} {file}"),
            Ok(Err(error)) => {
                wrong += 1;
                println!("error {file}: {error}");
            }
            Err(_) => {
                wrong += 1;
                println!("error {file}: see above");
            }
        }
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
