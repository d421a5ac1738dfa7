//! Compares the cores by the programs in `bombyx_workloads::demos`.

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
    let programs: Vec<Program> = demos::ALL
        .iter()
        .map(|program| Program {
            name: program.name.to_string(),
            about: program.about.to_string(),
            counts: program.name != "spawns",
            prepare: Box::new(|| Box::new(Demo((program.prepare)(Size::Default, SEED)))),
        })
        .collect();
    cores::main(&programs)
}
