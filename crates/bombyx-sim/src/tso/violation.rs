//! What must hold in every state, and the messages for when it does not.
//!
//! A step itself notices if it runs a thread twice or too early, or reads a message that no line expects. [`check`]
//! looks at a whole state for threads that nobody holds, for joins that nobody watches, and for what the watch lists
//! may hold.

use std::fmt;

use super::config::Ask;
use super::machine::Machine;
use super::proof::Rule;
use super::state::{Local, Pc, State, Status, Store, Watch};
use super::tree::{Cont, ContSet, Fork, Thread, index_of};
use bombyx_rw::protocol::Side;

/// How a run of the machine breaks what RW Theorem 5.1 and §6 promise. Threads are named by the letter of their fork
/// and their role, as in `B.right`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The body of a thread is entered a second time.
    RunsTwice(String),
    /// The body of a thread is entered before all its predecessors ended.
    RunsTooEarly(String),
    /// The program exits before a thread has ended.
    ExitsEarly(String),
    /// A thread does not see what a predecessor stored in application memory.
    Unseen {
        /// The thread that looks.
        reader: String,
        /// The thread that stored.
        writer: String,
    },
    /// A step of the proof fails: the rule of the abstract semantics that does not apply, the part of relation R or the
    /// invariant that is broken (RW Appendix B).
    Proof {
        /// The rule or part that fails.
        rule: Rule,
        /// What is wrong.
        text: String,
    },
    /// A ready thread has not run and is in no deque, on no way to a thief, and in no processor's hands.
    Lost(String),
    /// A branch of a join between two processors is still at work, and nobody watches for the other side's READY.
    Unwatched(String),
    /// The watch lists of all processors together name more than P − 1 joins.
    WatchLists {
        /// How many joins they name.
        joins: u32,
    },
    /// A `match` on a status cell found a message that it has no case for.
    NoMatch {
        /// The line of the `match`.
        line: u16,
    },
    /// A processor watches two right sides, so that `watch` might have to wait inside its own waiting loop.
    TwoRightSides {
        /// Whose watch list it is.
        processor: usize,
    },
    /// A fair run goes on for ever in which nobody is inside the body of a thread.
    Livelock,
    /// A thief waits for ever for a victim's round to change, although buffers drain and busy processors poll.
    QueryUnanswered {
        /// The thief.
        processor: usize,
    },
    /// A processor waits for ever on a join, although buffers drain and busy processors poll and watch.
    JoinUnanswered {
        /// The waiting processor.
        processor: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::RunsTwice(t) => write!(f, "{t} runs twice"),
            Violation::RunsTooEarly(t) => write!(f, "{t} runs before its predecessors ended"),
            Violation::ExitsEarly(t) => write!(f, "the program exits before {t} has ended"),
            Violation::Unseen { reader, writer } => write!(f, "{reader} does not see what {writer} stored"),
            Violation::Proof { rule, text } => write!(f, "{}: {text}", rule.name()),
            Violation::Lost(t) => write!(f, "{t} is lost: it is ready, has not run, and nobody holds it"),
            Violation::Unwatched(c) => write!(f, "nobody watches {c} although its branch is still at work"),
            Violation::WatchLists { joins } => write!(f, "the watch lists together name {joins} joins"),
            Violation::NoMatch { line } => write!(f, "line {line} reads a message that it has no case for"),
            Violation::TwoRightSides { processor } => {
                write!(f, "p{processor} watches the right sides of two joins")
            }
            Violation::Livelock => write!(f, "nobody runs a thread any more and the program never exits"),
            Violation::QueryUnanswered { processor } => {
                write!(f, "p{processor} waits for ever for the answer to its query")
            }
            Violation::JoinUnanswered { processor } => {
                write!(f, "p{processor} waits for ever for the other side of a join")
            }
        }
    }
}

/// The sizes of all watch lists together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) joins: u32,
    pub(super) entries: u32,
}

impl Watched {
    pub(super) fn of(s: &State) -> Watched {
        let mut all = ContSet::default();
        let mut entries = 0;
        for local in s.locals() {
            all.add_multiple(local.watching);
            entries += local.watching.len();
        }
        let sides = all.0;
        Watched { joins: ((sides | sides >> 1) & 0x5555).count_ones(), entries }
    }
}

/// Checks the state as a whole.
pub(super) fn check(machine: &Machine, s: &State) -> Result<(), Violation> {
    if machine.proof {
        super::proof::check(machine, s)?;
        if matches!(machine.ask, Ask::Rule(_)) {
            return Ok(());
        }
    }
    let lists = machine.ask != Ask::Threads;
    let joins = Watched::of(s).joins;
    if lists && joins as usize >= machine.processors {
        return Err(Violation::WatchLists { joins });
    }
    if machine.ask == Ask::WatchLists {
        return Ok(());
    }
    if lists && let Some(processor) = s.locals().iter().position(|local| right_sides(local) > 1) {
        return Err(Violation::TwoRightSides { processor });
    }
    let held = Holders::of(s);
    for f in machine.threads.forks() {
        if !s.has_ended(machine.threads.forker(f)) {
            continue;
        }
        let (left, right, join) =
            (machine.threads.left(f), machine.threads.right(f), machine.threads.join(f));
        for t in [left, right, join] {
            if s.has_started(t) {
                continue;
            }
            let due = t != join || is_ready(machine, s, f, [left, right]);
            if due && held.held & (1 << t.0) == 0 {
                return Err(machine.blame(t, Violation::Lost));
            }
        }
        let remote = s.has_started(right) || held.sent & (1 << right.0) != 0;
        let by_messages = machine.joins == bombyx_rw::Joins::ReadWrite;
        if lists && by_messages && remote && !s.has_started(join) && !s.is_single(f) {
            let sides =
                [(left, Side::Left), (right, Side::Right)].map(|(t, side)| (t, Cont { join: f, side }));
            for (branch, c) in sides {
                let sent = branch == right && held.sent & (1 << right.0) != 0;
                if !sent && !s.has_ended(machine.threads.last(branch)) && is_unwatched(s, c) {
                    return Err(Violation::Unwatched(machine.threads.cont_name(c)));
                }
            }
        }
    }
    Ok(())
}

/// How many right sides a processor is responsible for: those in its watch list, and the one whose left side's watch
/// list it waits for. Beyond a right side the leftmost leaf belongs to another processor (RW Def. 10), so it has only
/// one.
fn right_sides(local: &Local) -> usize {
    let listed = local.watching.iter().filter(|c| c.side == Side::Right).count();
    let waits =
        matches!(local.watch, Watch::AwaitTransfer(_) | Watch::MatchTransfer(_) | Watch::InnerAck { .. });
    listed + usize::from(waits)
}

/// Whether `c` has sent nothing yet and is in no watch list: neither in a processor's nor in one on its way to a
/// processor (RW, invariant RW2).
fn is_unwatched(s: &State, c: Cont) -> bool {
    let carries = |value: &Status| matches!(value, Status::Transfer(list) if list.contains(c));
    let watched = s.locals().iter().any(|local| {
        let taking_over = match local.watch {
            Watch::AwaitTransfer(from) | Watch::MatchTransfer(from) | Watch::InnerAck { outer: from, .. } => {
                carries(&s.memory.status[index_of(from.other())])
            }
            Watch::Idle | Watch::Ack(_) => false,
        };
        let wrote = |store: &Store| match store {
            Store::Status { cell, value } => *cell == c || carries(value),
            _ => false,
        };
        local.watching.contains(c) || taking_over || local.buffer.entries().iter().any(wrote)
    });
    !watched && s.memory.status[index_of(c)] == Status::Work
}

/// Both branches ended, and nobody is still deciding who takes the join thread.
fn is_ready(machine: &Machine, s: &State, f: Fork, branches: [Thread; 2]) -> bool {
    branches.iter().all(|&b| s.has_ended(machine.threads.last(b)))
        && !s.locals().iter().any(|local| local.resolving().is_some_and(|c| c.join == f))
}

/// Which threads are in a deque or on their way to a thief (RW Def. 14, migrating threads).
#[derive(Default)]
struct Holders {
    held: u32,
    sent: u32,
}

impl Holders {
    fn of(s: &State) -> Holders {
        let mut held = Holders::default();
        for (p, local) in s.locals().iter().enumerate() {
            local.deque.threads().iter().for_each(|&t| held.add(t));
            match local.pc {
                Pc::HandOut { thread, .. } | Pc::NextRound { late: Some((_, thread)), .. } => {
                    held.send(thread)
                }
                _ => {}
            }
            for store in local.buffer.entries() {
                if let Store::Received { thread: Some(t), .. } = store {
                    held.send(*t);
                }
            }
            if let Some(t) = s.memory.received[p].filter(|_| s.is_delivered(p as u8)) {
                held.send(t);
            }
        }
        held
    }

    fn send(&mut self, t: Thread) {
        self.add(t);
        self.sent |= 1 << t.0;
    }

    fn add(&mut self, t: Thread) {
        self.held |= 1 << t.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tso::Config;

    #[test]
    fn two_right_sides_are_refused() {
        let machine = Config::new(3, "(. (. .))".parse().unwrap()).machine();
        let mut s = machine.initial();
        let right = |f| Cont { join: Fork(f), side: Side::Right };
        s.local(1).watching.insert(right(0));
        assert_eq!(check(&machine, &s), Ok(()));
        s.local(1).watching.insert(right(1));
        assert_eq!(check(&machine, &s), Err(Violation::TwoRightSides { processor: 1 }));
        s.local(1).watching.remove(right(1));
        s.local(1).watch = Watch::AwaitTransfer(right(1));
        assert_eq!(check(&machine, &s), Err(Violation::TwoRightSides { processor: 1 }));
    }

    #[test]
    fn watch_lists_are_counted_by_join_and_by_entry() {
        let machine = Config::new(2, "(. (. .))".parse().unwrap()).machine();
        let mut s = machine.initial();
        s.local(0).watching.insert(Cont { join: Fork(0), side: Side::Left });
        s.local(1).watching.insert(Cont { join: Fork(0), side: Side::Right });
        assert_eq!(Watched::of(&s), Watched { joins: 1, entries: 2 });
        assert_eq!(check(&machine, &s), Ok(()));
        s.local(0).watching.insert(Cont { join: Fork(1), side: Side::Left });
        assert_eq!(check(&machine, &s), Err(Violation::WatchLists { joins: 2 }));
    }
}
