//! Figure 6 as seen from outside: a reduction that leaves out how thieves find out whom they can ask.
//!
//! What can a thief's attempt lead to? Its victim serves a query only from inside of a body, and only if the query carries the
//! victim's newest round. Each processor stores only its own round, and only greater ones. A processor that leaves `acquire` opens
//! a new round. So a query is *open* if its receiver is outside of `acquire` and it carries the receiver's newest round. No other
//! query is ever served. An attempt without an open query, and without a thread on its way to the thief, ends with nothing.
//!
//! [`seen_from_outside`] forgets the rest:
//!
//! - A thief is at [`Pc::Receive`] if a thread is on its way to the thief or in its cell, at [`Pc::Await`] if it has an open query,
//!   and otherwise at [`Pc::Choose`].
//! - Queries that are not open leave buffers and cells. So do the NULL of line 70, and the rounds of processors inside
//!   `acquire`; of each other processor only its newest round is left, as 1.
//!
//! What is left can make these moves in `acquire`. A thief at [`Pc::Choose`] loads the newest round of somebody outside of
//! `acquire`, and asks. A thief at [`Pc::Receive`] takes its thread as soon as the thread is in its cell, perhaps before the real
//! thief looks. And a query that is not open, and is no longer there, may overwrite an open one at any time
//! ([`super::machine::Move::Overwrite`]).
//! Everything outside of `acquire` is as it was: bodies, forks, joins, watch lists, and what all of these store through the buffers.
//!
//! *Every step of the machine is a step of what is left, or none at all* (a simulation), so whatever goes wrong with threads or watch
//! lists goes wrong here, too:
//!
//! - Lines 73 to 77: until the query is stored, the thief is at `Choose`. If the query is open when it is stored, the thief has
//!   read the newest round, which is in memory, and so the thief can read it now. Line 75 only decides whether to ask.
//! - Lines 78 to 82: loads and tests do nothing. A thief that stores a query again (line 81) had lost its query, so it was at
//!   `Choose` and can ask the same victim.
//! - Lines 84 and 90: if nothing was sent to the thief, it reads NULL and is at `Choose` as before.
//! - Lines 105 to 111: a processor inside `acquire` has no open queries, and it stores nothing that is left.
//! - A flush of something that is not left changes nothing, or it overwrites an open query.
//!
//! What is left has few states. Its buffers hold at most one open query or one answer, and what joins store, so they never fill up.
//! So a reduced exploration is one of unbounded buffers. `tests` below check the simulation, transition by transition.

use super::Mutation;
use super::state::{Local, MAX_PROCESSORS, Pc, Processor, Query, State, Store};

/// Whether the protocol with this error still keeps to what the reduction relies on.
pub(super) fn keeps_rounds(mutation: Mutation) -> bool {
    use Mutation::*;
    matches!(
        mutation,
        TieToBoth
            | TieToNone
            | NoTransfer
            | SilentTransfer
            | EarlyAck
            | NoWatch
            | NoRemoval
            | NoRemovalAfterAck
            | NoWatchInWait
            | TakesAcknowledged
            | KeepsTransferred
            | DropsTransferred
            | TransfersItself
            | TransfersMore
            | PollBetweenThreads
    )
}

/// Whether a processor is inside `acquire`.
fn acquires(local: &Local) -> bool {
    local.may_receive() || local.pc == Pc::Clear
}

/// Whether a thief can send an open query to `p`.
pub(super) fn can_be_asked(s: &State, p: Processor) -> bool {
    !acquires(&s.locals[usize::from(p)]) && s.memory.round[usize::from(p)] == s.round(p, p)
}

/// Whether `p` is a thief that has nothing to do but wait.
pub(super) fn waits(s: &State, p: Processor) -> bool {
    match s.locals[usize::from(p)].pc {
        Pc::Await { .. } => true,
        Pc::Receive { .. } => s.memory.received[usize::from(p)].is_none(),
        _ => false,
    }
}

/// The query that every outdated one becomes.
pub(super) fn outdated(receiver: Processor) -> Query {
    Query { id: u32::from(receiver), round: 0 }
}

/// Whether somebody's open query is in the cell of `p`.
pub(super) fn is_asked(s: &State, p: Processor) -> bool {
    s.memory.in_query[usize::from(p)] != outdated(p)
}

/// Forgets what does not matter outside of `acquire`. No store must be about to be made.
pub(super) fn seen_from_outside(s: &mut State) {
    let processors = s.processors;
    let mut newest = [None; MAX_PROCESSORS];
    for p in 0..processors {
        newest[usize::from(p)] = (!acquires(&s.locals[usize::from(p)])).then(|| s.round(p, p));
    }
    let is_open = |to: Processor, query: Query| {
        newest[usize::from(to)] == Some(query.round) && query.id != u32::from(to)
    };
    // Whom each processor has asked, and to whom a thread is on its way.
    let mut asked = [None; MAX_PROCESSORS];
    let mut sent = [false; MAX_PROCESSORS];
    for p in 0..processors {
        let at = usize::from(p);
        let cell = &mut s.memory.in_query[at];
        match is_open(p, *cell) {
            true => {
                asked[cell.id as usize] = Some(p);
                cell.round = 1;
            }
            false => *cell = outdated(p),
        }
        sent[at] |= s.memory.received[at].is_some();
        let own = s.round(p, p);
        s.memory.round[at] = match newest[at] {
            Some(newest) => u8::from(s.memory.round[at] == newest),
            None => 1,
        };
        s.local(p).buffer.retain(|store| match store {
            Store::Query { to, query } => {
                let open = is_open(*to, *query);
                if open {
                    asked[at] = Some(*to);
                    query.round = 1;
                }
                open
            }
            Store::Round { round, .. } => {
                let kept = newest[at].is_some() && *round == own;
                *round = 1;
                kept
            }
            Store::Received { thread: None, .. } => false,
            Store::Received { to, .. } => {
                sent[usize::from(*to)] = true;
                true
            }
            Store::Status { .. } | Store::Application { .. } => true,
        });
    }
    for p in 0..processors {
        let at = usize::from(p);
        let local = s.local(p);
        if acquires(local) {
            local.pc = match asked[at] {
                _ if sent[at] => Pc::Receive { victim: u32::MAX, round: 0 },
                Some(victim) => Pc::Await { victim: u32::from(victim), round: 1 },
                None => Pc::Choose,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tso::Config;
    use crate::tso::graph::Graph;
    use crate::tso::machine::{Choice, Machine, Move};
    use crate::tso::state::MAX_CAPACITY;
    use crate::tso::trace::Log;
    use bombyx_base::Random;

    /// The machine of a configuration and its reduction.
    struct Both {
        whole: Machine,
        reduced: Machine,
    }

    impl Both {
        fn new(config: &Config) -> Both {
            let reduced = Config { reduce: true, ..config.clone() };
            Both { whole: config.machine(), reduced: reduced.machine() }
        }

        /// What is left of a state of the whole machine, with the stores made that a full buffer holds up.
        fn left_of(&self, mut s: State) -> State {
            for p in 0..s.processors {
                assert!(s.locals[usize::from(p)].buffer.len() + 4 < MAX_CAPACITY, "the walk is too long");
                while self.reduced.stores_next(&s, p) {
                    self.reduced.step(&mut s, p, Choice::Next, &mut Log::off()).unwrap();
                }
            }
            self.reduced.normalised(s)
        }

        /// The move from `before` to `after` is one of the reduced machine, or none.
        fn assert_simulated(&self, m: Move, before: &State, after: &State) {
            let (before, after) = (self.left_of(*before), self.left_of(*after));
            let mut moves = Vec::new();
            self.reduced.moves(&before, &mut moves);
            let arrives = |&other: &Move| {
                let mut next = before;
                self.reduced.apply(&mut next, other).is_ok() && next == after
            };
            assert!(before == after || moves.iter().any(arrives), "{m:?}\nfrom {before:?}\nto {after:?}");
        }
    }

    #[test]
    fn every_transition_of_small_machines_is_one_of_the_reduced_machine() {
        assert_all_simulated(&[
            (2, "(. .)", 1),
            (2, "((. .) .)", 2),
            (2, "(. (. .))", 2),
            (2, "(. . (. .))", 9),
            (3, ".", 1),
        ]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn every_transition_of_three_processors_with_a_fork_is_one_of_the_reduced_machine() {
        assert_all_simulated(&[(3, "(. .)", 1), (3, "(. .)", 2)]);
    }

    fn assert_all_simulated(machines: &[(usize, &str, usize)]) {
        for &(processors, tree, capacity) in machines {
            let both = Both::new(&Config::new(processors, tree.parse().unwrap()).with_capacity(capacity));
            let mut graph = Graph::new(processors);
            graph.insert_initial(&both.whole.initial()).unwrap();
            let (mut at, mut moves) = (0, Vec::new());
            while at < graph.len() {
                let state = graph.state(at as u32);
                both.whole.moves(&state, &mut moves);
                for &m in &moves {
                    let mut next = state;
                    both.whole.apply(&mut next, m).unwrap();
                    both.assert_simulated(m, &state, &next);
                    graph.insert(&next, &state, at as u32).unwrap();
                }
                at += 1;
            }
        }
    }

    #[test]
    fn random_transitions_of_larger_machines_are_of_the_reduced_machine() {
        for (processors, tree, capacity) in
            [(3, "((. .) (. .))", 4), (4, "(. .)", 2), (4, "((. .) (. .))", 3)]
        {
            let config = Config::new(processors, tree.parse().unwrap()).with_capacity(capacity);
            let both = Both::new(&Config { application: true, ..config });
            let mut moves = Vec::new();
            for seed in 0..60 {
                let mut random = Random::new(seed);
                let mut state = both.whole.initial();
                for _ in 0..1_000 {
                    both.whole.moves(&state, &mut moves);
                    let Some(&m) = moves.get(random.index(moves.len().max(1))) else { break };
                    let before = state;
                    both.whole.apply(&mut state, m).unwrap();
                    both.assert_simulated(m, &before, &state);
                }
            }
        }
    }
}
