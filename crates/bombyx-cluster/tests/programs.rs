//! The three example programs print the same on all engines.
//!
//! This file is each of them, depending on `BOMBYX_TEST_PROGRAM`, so its workers are the same build.

mod common;

#[path = "../examples/kmeans.rs"]
mod kmeans;
#[path = "../examples/mandelbrot.rs"]
mod mandelbrot;
#[path = "../examples/nqueens.rs"]
mod nqueens;

use common::{addresses, within};
use libtest_mimic::{Arguments, Trial};
use std::process::Command;

const PROGRAMS: [&str; 3] = ["mandelbrot 96 32", "nqueens 8", "kmeans 4 2000 5"];

/// What the program prints.
fn printed(program: &str, address: &str) -> String {
    let mut words = program.split_whitespace();
    let output = Command::new(std::env::current_exe().unwrap())
        .env("BOMBYX_TEST_PROGRAM", words.next().unwrap())
        .env("BOMBYX_CLUSTER", address)
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} on {address}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::var("BOMBYX_TEST_PROGRAM").as_deref() {
        Ok("mandelbrot") => return mandelbrot::main(),
        Ok("nqueens") => return nqueens::main(),
        Ok("kmeans") => return kmeans::main(),
        _ => {}
    }
    let mut trials = Vec::new();
    for program in PROGRAMS {
        for address in addresses() {
            trials.push(Trial::test(format!("{program} on {address}"), move || {
                within(120, move || {
                    let expected = printed(program, "local");
                    assert!(expected.starts_with(program.split_whitespace().next().unwrap()), "{expected}");
                    assert_eq!(printed(program, &address), expected);
                });
                Ok(())
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
