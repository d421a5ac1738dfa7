//! `--explain`: pictures of what proofs are about, from small runs.

use super::Result;
use crate::output::{check_pictures, is_standard, picture};
use crate::terminal::{fitted, print, say, spinner, style};
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

/// Games per point of a curve.
const GAMES: u64 = 40;

/// Writes a picture, into the current folder unless told otherwise, and says in words what it shows.
pub(super) fn explain(subject: Subject, seed: u64, output: Option<&Path>) -> Result<()> {
    let name = match subject {
        Subject::DelaySequence => "delay-sequence.svg",
        Subject::RecyclingGame => "recycling-game.svg",
        Subject::ReadWrite => "read-write.svg",
    };
    let path = output.unwrap_or(Path::new(name));
    check_pictures([&Some(path.to_owned())])?;
    let spinner = spinner(format!("drawing {name}"));
    let (svg, words) = match subject {
        Subject::DelaySequence => delay_sequence(seed)?,
        Subject::RecyclingGame => recycling_game(seed),
        Subject::ReadWrite => read_write(),
    };
    spinner.finish_and_clear();
    picture(path, &svg)?;
    if is_standard(path) {
        say(&words);
        return Ok(());
    }
    print(&fitted(&format!("{words}The picture is in {}.\n", path.display()), style()))
}

/// The picture, and what it shows.
fn delay_sequence(seed: u64) -> Result<(String, String)> {
    let computation = COMPUTATION.parse::<Spec>()?.build()?;
    let simulation = Simulation::new(&computation, Scheduler::WorkStealing).processors(PROCESSORS).seed(seed);
    let outcome = simulation.trace().run()?;
    let words = format!(
        "{COMPUTATION} under work stealing on {PROCESSORS} processors, seed {seed}.\n{}\n",
        delay::explain(&computation, &outcome, PROCESSORS)?
    );
    Ok((delay::picture(&computation, &outcome, PROCESSORS)?, words))
}

fn recycling_game(seed: u64) -> (String, String) {
    let words = format!(
        "Six adversaries, {GAMES} recycling games for each number of balls, seed {seed}. Lemma 6 allows a delay of one step per \
         toss on average.\n"
    );
    (game::picture(GAMES, seed), words)
}

fn read_write() -> (String, String) {
    let words = "The shortest interleaving in which two processors run one join, because the second does not ask who takes it.\n";
    (interleaving::picture(), words.to_owned())
}
