//! Runs by hand: a schedule written in words, for a run that is too rare to find by chance and too long to find by search.

use std::fmt;

use super::config::{Config, ConfigError};
use super::machine::{Choice, Machine, Move};
use super::state::{MAX_PROCESSORS, Processor};
use super::trace::{Step, narrate};
use super::tree::{Cont, Fork};
use super::violation::{Violation, check};
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

/// A schedule that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// What happened, line by line.
    pub steps: Vec<Step>,
    /// What the last move broke, if it broke what is asked for.
    pub broken: Option<Violation>,
    /// Whether the program has exited.
    pub exited: bool,
}

/// How the example of RW Figure 1 runs on three processors with the tree `((. .) .)`: threads 0 to 6 are `main`, `A.left`,
/// `B.left`, `B.right`, `A.right`, `B.join` and `A.join`; processors i, j and k are 0, 1 and 2. Processor 2 runs both joins,
/// and gets the watch list of processor 0 with the first.
pub const FIGURE_1: &str = "\
    0:end  1:next 1:flush 1:ask0 1:next 1:flush  0:poll 0:flush 0:flush  1:next 1:next 1:flush \
    0:end  2:next 2:flush 2:ask0 2:next 2:flush  0:poll 0:flush 0:flush  2:next 2:next 2:flush \
    0:end 0:next 0:flush  2:watchBR 2:flush  0:next 0:next 0:flush  2:next 2:next  2:end 2:next \
    1:end 1:next 1:flush  2:watchAL 2:flush  1:next 1:next  2:end 2:next 2:end";

/// Makes the moves of a schedule, up to the first that breaks something. A move is a processor's number and what it does:
/// `0:flush` (its oldest store reaches memory), `0:next` (the next line), `0:ask1` (line 72 chooses processor 1), `0:poll`
/// (`communicate`), `0:end` (the body ends), `0:watchAL` (`watch` looks at the left side of join A).
///
/// # Errors
/// If a word names no move, or a move is not possible at that point.
///
/// ```
/// use bombyx_sim::tso::{Config, FIGURE_1, follow};
///
/// let run = follow(&Config::new(3, "((. .) .)".parse()?), FIGURE_1)?;
/// assert!(run.exited);
/// for step in &run.steps {
///     println!("{step}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn follow(config: &Config, script: &str) -> Result<Followed, ScriptError> {
    config.validate(MAX_PROCESSORS).map_err(ScriptError::Config)?;
    let machine = Machine { symmetry: false, reduce: false, ..config.machine() };
    let mut state = machine.initial();
    let (mut made, mut possible, mut broken) = (Vec::new(), Vec::new(), None);
    for word in script.split_whitespace() {
        let m = parse(word).ok_or_else(|| ScriptError::Word(word.to_owned()))?;
        machine.moves(&state, &mut possible);
        if !possible.contains(&m) {
            return Err(ScriptError::Move(word.to_owned(), made.len()));
        }
        made.push(m);
        if let Err(violation) = machine.apply(&mut state, m).and_then(|()| check(&machine, &state)) {
            broken = Some(violation).filter(|violation| machine.asks(violation));
            break;
        }
    }
    let [steps, _] = narrate(&machine, &made, &[]);
    Ok(Followed { steps, broken, exited: state.memory.exited })
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
