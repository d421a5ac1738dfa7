//! `--explain`: pictures of what proofs are about, from small runs.

use super::{Result, files};
use bombyx_dag::generate::Spec;
use bombyx_sim::{Scheduler, Simulation};
use bombyx_verify::{delay, game, interleaving};
use std::path::Path;

/// What can be explained.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Subject {
    /// The path U, the rounds and the partition Π of a run of work stealing (BL Lemma 9).
    DelaySequence,
    /// How long adversaries delay tosses in the recycling game (BL Lemma 6).
    RecyclingGame,
    /// How two processors steal and join with loads and stores only, and what one mistake leads to (RW Figures 6 and 7).
    ReadWrite,
}

/// The computation of the picture: BL Figure 1, on two processors. Rounds are the lecture's, of at least P attempts.
const COMPUTATION: &str = "figure1";
const PROCESSORS: usize = 2;

/// Writes a picture, into the current folder unless told where, and says in words what it shows.
pub(super) fn explain(subject: Subject, seed: u64, output: Option<&Path>) -> Result<String> {
    match subject {
        Subject::DelaySequence => delay_sequence(seed, output.unwrap_or(Path::new("delay-sequence.svg"))),
        Subject::RecyclingGame => recycling_game(seed, output.unwrap_or(Path::new("recycling-game.svg"))),
        Subject::ReadWrite => read_write(output.unwrap_or(Path::new("read-write.svg"))),
    }
}

fn delay_sequence(seed: u64, path: &Path) -> Result<String> {
    let computation = COMPUTATION.parse::<Spec>()?.build()?;
    let simulation = Simulation::new(&computation, Scheduler::WorkStealing).processors(PROCESSORS).seed(seed);
    let outcome = simulation.trace().run()?;
    files::write(path, delay::picture(&computation, &outcome, PROCESSORS)?.as_bytes())?;
    Ok(format!(
        "{COMPUTATION} under work stealing on {PROCESSORS} processors, seed {seed}.\n{}\nThe picture is in {}.\n",
        delay::explain(&computation, &outcome, PROCESSORS)?,
        path.display()
    ))
}

/// Games per point of a curve.
const GAMES: u64 = 40;

fn recycling_game(seed: u64, path: &Path) -> Result<String> {
    files::write(path, game::picture(GAMES, seed).as_bytes())?;
    Ok(format!(
        "Six adversaries, {GAMES} recycling games for each number of balls, seed {seed}. Lemma 6 allows a delay of one step per \
         toss on average.\nThe picture is in {}.\n",
        path.display()
    ))
}

fn read_write(path: &Path) -> Result<String> {
    files::write(path, interleaving::picture().as_bytes())?;
    Ok(format!(
        "The shortest interleaving in which two processors run one join, because the second does not ask who takes it.\nThe \
         picture is in {}.\n",
        path.display()
    ))
}
