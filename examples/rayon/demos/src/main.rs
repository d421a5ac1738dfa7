//! Compares the cores by the programs in `bombyx_workloads::demos`. `DEMO_SIZE` chooses their size: `small`, `default`
//! or `large`.

use bombyx_workloads::{Size, demos};
use cores::{Program, Subject};
use std::process::ExitCode;

struct Demo(Box<dyn demos::Demo>);

impl Subject for Demo {
    fn reset(&mut self) {
        self.0.reset();
    }

    fn compute(&mut self) {
        self.0.compute();
    }

    fn digest(&self) -> String {
        self.0.checksum().to_string()
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
}

const SEED: u64 = 42;

fn main() -> ExitCode {
    let size = match std::env::var("DEMO_SIZE").map_or(Ok(Size::Default), |size| size.parse()) {
        Ok(size) => size,
        Err(error) => {
            eprintln!("DEMO_SIZE: {error}");
            return ExitCode::FAILURE;
        }
    };
    let programs: Vec<Program> = demos::ALL
        .iter()
        .map(|program| Program {
            name: program.name.to_string(),
            about: program.about.to_string(),
            counts: program.name != "spawns",
            prepare: Box::new(move || Box::new(Demo((program.prepare)(size, SEED)))),
        })
        .collect();
    cores::main(&programs)
}
