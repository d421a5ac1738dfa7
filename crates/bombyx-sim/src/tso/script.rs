//! Runs by hand: a schedule written in words, for a run that is too rare to find by chance and too long to find by search.

use std::fmt;

use super::config::{Config, ConfigError};
use super::explore::Counterexample;
use super::machine::{Choice, Machine, Move};
use super::state::{MAX_PROCESSORS, Processor};
use super::trace::narrate;
use super::tree::{Cont, Fork};
use super::violation::check;
use bombyx_rw::protocol::Side;

/// A schedule that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// No machine has this configuration.
    Config(ConfigError),
    /// A word that names no move.
    Word(String),
    /// A move that the state does not allow: the word, and how many moves came before it.
    Move(String, usize),
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptError::Config(error) => error.fmt(f),
            ScriptError::Word(word) => write!(
                f,
                "`{word}` is not a move; write `0:flush`, `0:next`, `0:ask1`, `0:poll`, `0:end` or \
                `0:watchAL`"
            ),
            ScriptError::Move(word, at) => write!(f, "`{word}` is not possible after {at} moves"),
        }
    }
}

impl std::error::Error for ScriptError {}

/// Makes the moves of a schedule. Returns what the schedule breaks, if that is what [`Config::ask`] looks for. A move is a
/// processor's number and what it does: `0:flush` (its oldest store reaches memory), `0:next` (the next line), `0:ask1` (line 72 chooses processor 1),
/// `0:poll` (`communicate`), `0:end` (the body ends), `0:watchAL` (`watch` looks at the left side of join A).
///
/// # Errors
/// If a word names no move, or a move is not possible at that point.
///
/// ```
/// use bombyx_sim::tso::{Config, follow};
///
/// let config = Config::new(2, "(. .)".parse()?);
/// assert_eq!(follow(&config, "0:end 1:next 1:flush 1:ask0 1:next 1:flush 0:poll")?, None);
/// assert!(follow(&config, "0:flush").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn follow(config: &Config, script: &str) -> Result<Option<Counterexample>, ScriptError> {
    config.validate(MAX_PROCESSORS).map_err(ScriptError::Config)?;
    let machine = Machine { symmetry: false, reduce: false, ..config.machine() };
    let mut state = machine.initial();
    let (mut made, mut possible) = (Vec::new(), Vec::new());
    for word in script.split_whitespace() {
        let m = parse(word).ok_or_else(|| ScriptError::Word(word.to_owned()))?;
        machine.moves(&state, &mut possible);
        if !possible.contains(&m) {
            return Err(ScriptError::Move(word.to_owned(), made.len()));
        }
        made.push(m);
        let checked = machine.apply(&mut state, m).and_then(|()| check(&machine, &state));
        if let Err(violation) = checked {
            let [steps, cycle] = narrate(&machine, &made, &[]);
            let found = Counterexample { violation, moves: made.len(), steps, cycle };
            return Ok(Some(found).filter(|found| machine.asks(&found.violation)));
        }
    }
    Ok(None)
}

fn parse(word: &str) -> Option<Move> {
    let (processor, act) = word.split_once(':')?;
    let p: Processor = processor.parse().ok()?;
    let choice = match act {
        "flush" => return Some(Move::Flush(p)),
        "next" => Choice::Next,
        "poll" => Choice::Communicate,
        "end" => Choice::Finish,
        _ => match (act.strip_prefix("ask"), act.strip_prefix("watch").map(str::as_bytes)) {
            (Some(victim), _) => Choice::Victim(victim.parse().ok()?),
            (_, Some(&[join @ b'A'..=b'H', side @ (b'L' | b'R')])) => Choice::Watch(Cont {
                join: Fork(join - b'A'),
                side: if side == b'L' { Side::Left } else { Side::Right },
            }),
            _ => return None,
        },
    };
    Some(Move::Step(p, choice))
}
