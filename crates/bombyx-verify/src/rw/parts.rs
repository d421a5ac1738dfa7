//! Each part of RW's proof with an error that this part notices first: every run of the wrong protocol, up to the first
//! transition that breaks any part of the proof ([`bombyx_sim::tso::notices`]).

use bombyx_sim::tso::{Config, Mutation, Notices, Rule, notices};

/// A part of RW's proof, and what shows that it is needed.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The part.
    pub rule: Rule,
    /// The error that it notices first, or why there can be none.
    pub shown: Shown,
}

/// What shows that a part of the proof says something that the others do not.
#[derive(Clone, Copy, Debug)]
pub enum Shown {
    /// Two processors run this tree with this error, and a run breaks this part first, and no other with it.
    By(Mutation, &'static str),
    /// It follows from other parts, so one of them breaks before it or with it.
    Follows(&'static str),
}

/// What a wrong protocol breaks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// Every run breaks this part first, and no other with it.
    Alone,
    /// Some runs break this part first, and no other with it.
    First,
    /// No run does.
    Never,
}

/// The parts of the proof, in the order of the appendix.
pub const PARTS: &[Part] = &[
    by(Rule::Start, Mutation::StartsJoin),
    by(Rule::Fork, Mutation::ForksTwice),
    by(Rule::Step, Mutation::EndsTwice),
    by(Rule::End, Mutation::KeepsContinuation),
    nested(Rule::B1, Mutation::ForkDropsEdge),
    by(Rule::Def7, Mutation::HandsOutTwice),
    by(Rule::Rd, Mutation::KeepsGiven),
    nested(Rule::Rt1, Mutation::SwapsBodies),
    nested(Rule::Rt2, Mutation::NoInheritance),
    by(Rule::Rc1, Mutation::StaleContinuation),
    by(Rule::Rc2, Mutation::KeepsEnded),
    by(Rule::Rx, Mutation::NoResolution),
    by(Rule::Rw1, Mutation::NoRemoval),
    by(Rule::Rw2, Mutation::NoWatchByThief),
    by(Rule::Rw3, Mutation::TransfersMore),
    by(Rule::Ia1, Mutation::ClearsAgain),
    by(Rule::Ia2, Mutation::NoAccept),
    by(Rule::Ir1, Mutation::ForgedRound),
    by(Rule::Ir2, Mutation::RepeatsRound),
    by(Rule::Iq1, Mutation::ForgedQuery),
    by(Rule::Iq2, Mutation::FutureQuery),
    by(Rule::Iq3, Mutation::NoWaiting),
    by(Rule::It1, Mutation::NoClear),
    by(Rule::It2, Mutation::EarlyReceive),
    by(Rule::It3, Mutation::SnoopsReception),
    follows(
        Rule::B9,
        "from Def. 7, RD, RX and RW1: whoever holds a cell by Def. 16 owns the leftmost leaf of its branch",
    ),
    by(Rule::Ij1, Mutation::ResolvesAgain),
    by(Rule::Ij2, Mutation::ResetsOther),
    by(Rule::Ij3, Mutation::EarlyAck),
    follows(
        Rule::Ij4,
        "from IJ2 and IJ3: a cell has two values on their way only as READY, TRANSFER behind the other's ACK",
    ),
    by(Rule::Ij5, Mutation::TieToBoth),
    by(Rule::Ij6, Mutation::TieToNone),
    follows(Rule::Ij7, "from IJ9: if both sides said ACK, neither said it to a READY"),
    by(Rule::Ij8, Mutation::EarlyReady),
    nested(Rule::Ij9, Mutation::EarlyAck),
    follows(
        Rule::C1,
        "from Lemma B.1 and Def. 7: each open join has a processor of its own, at the leftmost leaf of its right side",
    ),
];

const fn by(rule: Rule, mutation: Mutation) -> Part {
    Part { rule, shown: Shown::By(mutation, "(. .)") }
}

const fn nested(rule: Rule, mutation: Mutation) -> Part {
    Part { rule, shown: Shown::By(mutation, "((. .) .)") }
}

const fn follows(rule: Rule, from: &'static str) -> Part {
    Part { rule, shown: Shown::Follows(from) }
}

impl Part {
    /// What the part's error breaks first, and in how many states nothing was broken. None if the part follows from others.
    pub fn caught(&self) -> Option<(Caught, usize)> {
        let Shown::By(mutation, tree) = self.shown else { return None };
        let found = explored(mutation, tree);
        let caught = match () {
            () if found.incomplete => Caught::Never,
            () if found.alone(self.rule) => Caught::Alone,
            () if found.first(self.rule) => Caught::First,
            () => Caught::Never,
        };
        Some((caught, found.states))
    }
}

/// What an error breaks first on two processors, with buffers that are never full.
fn explored(mutation: Mutation, tree: &str) -> Notices {
    let tree = tree.parse().unwrap_or_else(|e| panic!("`{tree}`: {e}"));
    let config = Config::new(2, tree).with_capacity(9).with_mutation(mutation);
    let config = Config { application: true, max_states: 200_000, ..config };
    notices(&config).unwrap_or_else(|e| panic!("{mutation}: {e}"))
}
