//! For each part of RW's proof, an error that this part notices alone, or the parts from which it follows. *Alone* means: in
//! every run of the wrong protocol, the first transition that breaks any part of the proof breaks only this part
//! ([`bombyx_sim::tso::notices`]).

use bombyx_sim::tso::{Config, Mutation, Notices, Rule, implied, notices};

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
    /// So many processors run this tree with this error, and every run breaks this part first, and no other with it.
    By(Mutation, usize, &'static str),
    /// It follows from other parts, so one of them breaks before it or with it ([`implied`]).
    Follows(&'static str),
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
    nested(Rule::Rt1, Mutation::SameBody),
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
    Part { rule: Rule::It2, shown: Shown::By(Mutation::EndsOverwritten, 3, ".") },
    by(Rule::It3, Mutation::SnoopsReception),
    by(Rule::B9, Mutation::ResolvesOther),
    by(Rule::Ij1, Mutation::WaitsAgain),
    by(Rule::Ij2, Mutation::ResetsOther),
    by(Rule::Ij3, Mutation::ReadyTwice),
    follows(
        Rule::Ij4,
        "from IJ2 and IJ3: a cell has two values on their way only as READY, TRANSFER, when its reader said ACK",
    ),
    by(Rule::Ij5, Mutation::RightTakesTie),
    by(Rule::Ij6, Mutation::LeftLeavesTie),
    follows(Rule::Ij7, "from IJ9: if both sides said ACK, neither said it to a READY"),
    by(Rule::Ij8, Mutation::EarlyReady),
    nested(Rule::Ij9, Mutation::AcksGiven),
    follows(
        Rule::C1,
        "from Lemma B.1 and Def. 7: each open join has a processor of its own, at the leftmost leaf of its right side",
    ),
];

const fn by(rule: Rule, mutation: Mutation) -> Part {
    Part { rule, shown: Shown::By(mutation, 2, "(. .)") }
}

const fn nested(rule: Rule, mutation: Mutation) -> Part {
    Part { rule, shown: Shown::By(mutation, 2, "((. .) .)") }
}

const fn follows(rule: Rule, from: &'static str) -> Part {
    Part { rule, shown: Shown::Follows(from) }
}

impl Part {
    /// What the runs with the part's error break first. None if the part follows from others.
    pub fn noticed(&self) -> Option<Notices> {
        let Shown::By(mutation, processors, tree) = self.shown else { return None };
        let tree = tree.parse().unwrap_or_else(|e| panic!("`{tree}`: {e}"));
        // With two processors, buffers of 9 are never full.
        let capacity = if processors == 2 { 9 } else { 1 };
        let config = Config::new(processors, tree).with_capacity(capacity).with_mutation(mutation);
        let config = Config { application: true, symmetry: processors > 2, max_states: 200_000, ..config };
        Some(notices(&config).unwrap_or_else(|e| panic!("{mutation}: {e}")))
    }

    /// Whether the part says something that no other part says: every run with its error breaks it first, and no other part
    /// with it. Or whether it follows from others: it is never alone among what is broken.
    pub fn is_shown(&self) -> bool {
        match self.noticed() {
            Some(found) => !found.incomplete && found.alone(self.rule),
            None => implied(self.rule).is_some_and(|tried| tried.broken > 0 && tried.alone == 0),
        }
    }
}
