//! Compares two cores of rayon. A program can be linked with only one of them, so there are two builds of it, which
//! both call [`main`]. One build runs `compare`: it starts itself and the other build to `serve` a program, and lets
//! them compute in turn.
//!
//! It promises this: both builds compute the same number of times, alternately, in processes that live equally long.
//! Only [`Subject::compute`] is timed. Every result is checked, on both cores, and the two results are the same. And
//! the two builds are linked with what they say.

mod compare;
pub mod process;
mod serve;

use std::fmt;
use std::process::ExitCode;

/// The core that this build is linked with: `bombyx` or `upstream`.
pub const CORE: &str = env!("RAYON_CORE");

/// A program with its input in memory.
pub trait Subject {
    /// Puts everything back as it was before the first computation. Not timed.
    fn reset(&mut self) {}

    /// Runs the computation once. Timed.
    fn compute(&mut self);

    /// A digest of the last result, equal on both cores.
    fn digest(&self) -> String;

    /// Checks the last result.
    ///
    /// # Errors
    /// Says what is wrong with it.
    fn check(&self) -> Result<(), String>;
}

/// A program that can be compared.
pub struct Program {
    /// Its name.
    pub name: String,
    /// What it does, in one line.
    pub about: String,
    /// Whether it counts for the geometric mean.
    pub counts: bool,
    /// Makes the input.
    pub prepare: Box<dyn Fn() -> Box<dyn Subject>>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The whole command line program over `programs`. Ends with 1 if a bar is missed, and with 2 if something is wrong.
pub fn main(programs: &[Program]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", name] => find(programs, name).and_then(serve::serve).map(|()| true),
        ["compare", other, ref options @ ..] => compare::compare(programs, other, options),
        _ => Err(format!("usage: compare OTHER-BUILD {} | serve PROGRAM", compare::OPTIONS)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{CORE}: {error}");
            ExitCode::from(2)
        }
    }
}

fn find<'a>(programs: &'a [Program], name: &str) -> Result<&'a Program, String> {
    programs.iter().find(|program| program.name == name).ok_or_else(|| {
        let names: Vec<&str> = programs.iter().map(|program| &*program.name).collect();
        format!("there is no program `{name}`; choose from {}", names.join(", "))
    })
}
