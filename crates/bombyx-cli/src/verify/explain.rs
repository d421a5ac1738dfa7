//! `--explain`: pictures of what proofs are about, from small runs.

use super::{Result, files};
use bombyx_dag::generate::Spec;
use bombyx_sim::{Scheduler, Simulation};
use bombyx_verify::delay;
use std::path::Path;

/// What can be explained.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Subject {
    /// The path U, the rounds and the partition Π of a run of work stealing (BL Lemma 9).
    DelaySequence,
}

/// The computation of the picture: unit instructions, little parallelism, so that thieves must search.
const COMPUTATION: &str = "fan:children=4,work=1";
const PROCESSORS: usize = 4;

/// Writes a picture into the current folder and says in words what it shows.
pub(super) fn explain(subject: Subject, seed: u64) -> Result<String> {
    match subject {
        Subject::DelaySequence => delay_sequence(seed),
    }
}

fn delay_sequence(seed: u64) -> Result<String> {
    let computation = COMPUTATION.parse::<Spec>()?.build()?;
    let simulation = Simulation::new(&computation, Scheduler::WorkStealing).processors(PROCESSORS).seed(seed);
    let outcome = simulation.trace().run()?;
    let path = Path::new("delay-sequence.svg");
    files::write(path, delay::picture(&computation, &outcome)?.as_bytes())?;
    Ok(format!(
        "{COMPUTATION} under work stealing on {PROCESSORS} processors, seed {seed}.\n{}\nwrote {}\n",
        delay::explain(&computation, &outcome)?,
        path.display()
    ))
}
