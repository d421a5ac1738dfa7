//! Random runs with fair flushes, for machines too large to explore.
//!
//! Every move of a state has a fair chance, so buffers drain, polls happen and victims vary. How great the chance of a
//! flush and of a body's end is differs from run to run. A run is a pure function of the configuration and the seed.
//! The checks are those of the exploration, except the search for endless runs. A bound on the number of moves takes
//! its place.

use super::config::{Config, ConfigError};
use super::explore::Counterexample;
use super::machine::{Choice, Move};
use super::state::MAX_PROCESSORS;
use super::trace::narrate;
use super::violation::{Violation, Watched, check};
use bombyx_base::Random;

/// The result of a number of random runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkOutcome {
    /// The first broken run and its seed, if any.
    pub broken: Option<(u64, Counterexample)>,
    /// Runs made, a broken one included.
    pub runs: u64,
    /// Moves of all runs together.
    pub moves: u64,
    /// Threads handed to thieves in all runs together.
    pub steals: u64,
    /// Most joins named by all watch lists together.
    pub watched_joins: u32,
    /// Most entries in all watch lists together.
    pub watched_entries: u32,
}

/// Makes the runs of the seeds `seed`, `seed + 1`, … until `runs` are made or one is broken. A run that has not exited
/// after `max_moves` moves counts as broken.
///
/// ```
/// use bombyx_sim::tso::{Config, walk};
///
/// let config = Config::new(6, "(((. .) (. .)) ((. .) (. .)))".parse()?).with_capacity(4);
/// let outcome = walk(&config, 1, 20, 1_000_000)?;
/// assert_eq!(outcome.broken, None);
/// assert!(outcome.watched_joins < 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn walk(config: &Config, seed: u64, runs: u64, max_moves: u64) -> Result<WalkOutcome, ConfigError> {
    config.validate(MAX_PROCESSORS)?;
    let machine = config.machine();
    let mut outcome =
        WalkOutcome { broken: None, runs: 0, moves: 0, steals: 0, watched_joins: 0, watched_entries: 0 };
    let mut choices = Vec::new();
    for seed in (0..runs).map(|run| seed.wrapping_add(run)) {
        outcome.runs += 1;
        let mut random = Random::new(seed);
        let temper = Temper::new(&mut random);
        let mut state = machine.initial();
        let mut made = Vec::new();
        let violation = loop {
            machine.moves(&state, &mut choices);
            if choices.is_empty() {
                break None;
            }
            if made.len() as u64 == max_moves {
                break Some(Violation::Livelock).filter(|violation| machine.asks(violation));
            }
            let m = temper.choose(&choices, &mut random);
            made.push(m);
            let before = Watched::of(&state);
            let checked = machine.apply(&mut state, m).and_then(|()| check(&machine, &state));
            if let Err(violation) = checked {
                // A violation that nobody asked about ends the run.
                break Some(violation).filter(|violation| machine.asks(violation));
            }
            let now = Watched::of(&state);
            let polled = matches!(m, Move::Step(_, Choice::Communicate));
            outcome.steals += u64::from(polled && now.entries > before.entries);
            outcome.watched_joins = outcome.watched_joins.max(now.joins);
            outcome.watched_entries = outcome.watched_entries.max(now.entries);
        };
        outcome.moves += made.len() as u64;
        if let Some(violation) = violation {
            let [steps, cycle] = narrate(&machine, &made, &[]);
            let moves = made.len();
            outcome.broken = Some((seed, Counterexample { violation, moves, steps, cycle }));
            break;
        }
    }
    Ok(outcome)
}

/// How reluctant a run is to flush and to end bodies: such a move is drawn again that many times.
struct Temper {
    flush: u32,
    finish: u32,
}

impl Temper {
    fn new(random: &mut Random) -> Temper {
        Temper { flush: random.below(4) as u32, finish: random.below(4) as u32 }
    }

    fn choose(&self, choices: &[Move], random: &mut Random) -> Move {
        let (mut flush, mut finish) = (self.flush, self.finish);
        loop {
            let m = choices[random.index(choices.len())];
            let draws = match m {
                Move::Flush(_) | Move::Overtake(_) | Move::Overwrite(_) => &mut flush,
                Move::Step(_, Choice::Finish) => &mut finish,
                Move::Step(..) => return m,
            };
            match draws.checked_sub(1) {
                None => return m,
                Some(left) => *draws = left,
            }
        }
    }
}
