//! [`Contention`]: what happens when several thieves ask for one deque in the same step.
//!
//! BL §5 queues all requests to one deque and lets an adversary choose which one is served in each step. Its only duty
//! is to serve one if there is one. BL Lemma 6 shows that the choice does not change the total delay. DFD §4.1 and Karp
//! & Zhang let one thief succeed and all others fail at once.

use crate::ProcessorId;
use bombyx_base::Random;
use bombyx_dag::{Computation, WeightUnit};
use std::fmt;
use std::str::FromStr;

/// Who is served first among the thieves that wait for one deque.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Adversary {
    /// The one that has waited longest.
    Fifo,
    /// The one that came last.
    Lifo,
    /// Any, at random.
    Random,
    /// The one with the lowest number, so that high numbers starve.
    Biased,
}

/// A strand with more instructions than this is long compared with a steal attempt.
pub const LONG: u64 = 1_000;

/// What happens when several thieves ask for one deque in the same step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contention {
    /// One is served per step, the others wait (the atomic-access model, BL §5). Spelled as the adversary:
    /// `fifo`, `lifo`, `random`, `biased`.
    Queued(Adversary),
    /// One is served, the others fail in the same step (DFD §4.1). Spelled `denied`.
    Denied,
    /// All are served in the same step. Spelled `free`.
    Free,
}

impl Contention {
    /// All models, for tests and tables.
    pub const ALL: [Self; 6] = [
        Self::Queued(Adversary::Fifo),
        Self::Queued(Adversary::Lifo),
        Self::Queued(Adversary::Random),
        Self::Queued(Adversary::Biased),
        Self::Denied,
        Self::Free,
    ];

    /// The model for this computation. If it consists of instructions, this is BL's, which serves a request per
    /// instruction. If weights are nanoseconds, or any strand has more than [`LONG`] instructions, this is `denied`.
    /// Beside such a strand, a queue that moves once per instruction means nothing, and would cost an event for each
    /// attempt of an idle thief.
    pub fn for_computation(c: &Computation) -> Self {
        let long = c.strands().any(|s| c.weight(s) > LONG);
        if long || c.weight_unit() == WeightUnit::Nanoseconds { Self::Denied } else { Self::default() }
    }
}

/// The atomic-access model with first-in-first-out queues, in which BL analyse work stealing.
impl Default for Contention {
    fn default() -> Self {
        Self::Queued(Adversary::Fifo)
    }
}

impl fmt::Display for Contention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queued(Adversary::Fifo) => "fifo",
            Self::Queued(Adversary::Lifo) => "lifo",
            Self::Queued(Adversary::Random) => "random",
            Self::Queued(Adversary::Biased) => "biased",
            Self::Denied => "denied",
            Self::Free => "free",
        })
    }
}

/// The text names no contention model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentionError(String);

impl fmt::Display for ContentionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown contention model `{}`; one of: ", self.0)?;
        let names: Vec<String> = Contention::ALL.iter().map(Contention::to_string).collect();
        f.write_str(&names.join(", "))
    }
}

impl std::error::Error for ContentionError {}

impl FromStr for Contention {
    type Err = ContentionError;

    fn from_str(text: &str) -> Result<Self, ContentionError> {
        let named = Self::ALL.into_iter().find(|model| model.to_string() == text);
        named.ok_or_else(|| ContentionError(text.to_owned()))
    }
}

/// A thief's request as the adversary sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) thief: ProcessorId,
    pub(crate) initiated: u64,
    pub(crate) queue: u32,
}

impl Adversary {
    /// The position of the request to serve. `requests` go to one deque and are in the order of the thieves.
    pub(crate) fn choose(self, requests: &[Request], random: &mut Random) -> usize {
        let positions = 0..requests.len();
        let chosen = match self {
            Self::Fifo => positions.min_by_key(|&i| requests[i].initiated),
            Self::Lifo => positions.rev().max_by_key(|&i| requests[i].initiated),
            Self::Random => Some(random.index(requests.len())),
            Self::Biased => Some(0),
        };
        chosen.expect("an adversary serves a request only if there is one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for model in Contention::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        let error = "fair".parse::<Contention>().unwrap_err().to_string();
        assert!(error.contains("`fair`") && error.contains("biased"), "{error}");
    }

    #[test]
    fn adversaries_choose_as_they_say() {
        let request = |thief, initiated| Request { thief: ProcessorId(thief), initiated, queue: 0 };
        let requests = [request(0, 5), request(1, 3), request(2, 3), request(3, 9)];
        let mut random = Random::stream(0, 0);
        assert_eq!(Adversary::Fifo.choose(&requests, &mut random), 1);
        assert_eq!(Adversary::Lifo.choose(&requests, &mut random), 3);
        assert_eq!(Adversary::Biased.choose(&requests, &mut random), 0);
        assert!(Adversary::Random.choose(&requests, &mut random) < 4);
    }
}
