//! Compares the cores by the programs in `bombyx_workloads::demos`. `DEMO_SIZE` chooses their sizes, separated by
//! commas: `small` (tens of microseconds, as in a loop that calls a parallel iterator again and again), `default`
//! (milliseconds) and `large`. Default: the first two.

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
    let chosen = std::env::var("DEMO_SIZE").unwrap_or_else(|_| "small,default".to_string());
    let sizes: Vec<Size> = match chosen.split(',').map(str::parse).collect() {
        Ok(sizes) => sizes,
        Err(error) => {
            eprintln!("DEMO_SIZE: {error}");
            return ExitCode::FAILURE;
        }
    };
    let programs: Vec<Program> = sizes
        .iter()
        .flat_map(|&size| demos::ALL.iter().map(move |program| (size, program)))
        .map(|(size, program)| Program {
            name: match size {
                Size::Default => program.name.to_string(),
                size => format!("{}-{size}", program.name),
            },
            about: program.about.to_string(),
            counts: program.name != "spawns",
            prepare: Box::new(move || Box::new(Demo((program.prepare)(size, SEED)))),
        })
        .collect();
    cores::main(&programs)
}
