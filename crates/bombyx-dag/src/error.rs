//! [`BuildError`]: why something is not a multithreaded computation.

use crate::{SiteId, StrandId, ThreadId};
use std::fmt;

/// A rule of the model (BL §2) that a computation under construction breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A thread without strands.
    EmptyThread(ThreadId),
    /// A strand of weight 0.
    ZeroWeight(StrandId),
    /// A spawn before the thread's first strand.
    SpawnWithoutStrand(ThreadId),
    /// A strand spawns twice; BL allows one spawn per instruction.
    SecondSpawn(StrandId),
    /// The last strand of a thread spawns, so the parent would die before its child.
    SpawnAtEnd(StrandId),
    /// A join edge enters the strand right after a spawn, which BL §2 excludes: the parent could stall at once.
    JoinAfterSpawn {
        /// Where the edge comes from.
        from: StrandId,
        /// The strand right after the spawn.
        to: StrandId,
    },
    /// A join edge between two strands of one thread, which the continue edges order already.
    JoinWithinThread {
        /// Where the edge comes from.
        from: StrandId,
        /// Where it leads.
        to: StrandId,
    },
    /// A join edge leads backwards in the serial depth-first order, so one processor could not execute the computation
    /// depth first.
    JoinBackwards {
        /// Where the edge comes from.
        from: StrandId,
        /// Where it leads.
        to: StrandId,
    },
    /// The edges contain a cycle through this strand.
    Cycle(StrandId),
    /// The same join edge twice.
    DuplicateJoin {
        /// Where the edge comes from.
        from: StrandId,
        /// Where it leads.
        to: StrandId,
    },
    /// A thread other than the root ends without a join edge, so nothing waits for it.
    Detached(ThreadId),
    /// A join edge was added although its target thread has no strand yet.
    WaitWithoutStrand(ThreadId),
    /// [`Builder::end`](crate::Builder::end) was called on the root, which [`Builder::build`](crate::Builder::build) ends.
    EndOfRoot,
    /// `build` was called while this thread had not ended.
    Unfinished(ThreadId),
    /// A strand that does not exist.
    UnknownStrand(StrandId),
    /// A thread that does not exist.
    UnknownThread(ThreadId),
    /// A fork site that does not exist.
    UnknownSite(SiteId),
    /// A thread with two spawn edges.
    TwoParents(ThreadId),
    /// A thread that no strand spawns although it is not the root, or a root that is spawned.
    NotATree(ThreadId),
    /// More than 2^32 − 2 strands, threads or join edges.
    TooLarge,
    /// By the end of this strand, the serial execution has freed more heap memory than it has allocated.
    FreesTooMuch(StrandId),
    /// The sum of all weights, frames or allocations does not fit in 64 bits.
    Overflow,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyThread(t) => write!(f, "thread {t} has no strands; give every thread at least one"),
            Self::ZeroWeight(s) => write!(f, "strand {s} has weight 0; a strand is at least one instruction"),
            Self::SpawnWithoutStrand(t) => {
                write!(f, "thread {t} spawns before its first strand; begin it with a strand")
            }
            Self::SecondSpawn(s) => {
                write!(f, "strand {s} spawns two children; put another strand between the spawns")
            }
            Self::SpawnAtEnd(s) => {
                write!(
                    f,
                    "strand {s} spawns and is the last of its thread; the parent needs a strand after it"
                )
            }
            Self::JoinAfterSpawn { from, to } => write!(
                f,
                "the join edge {from} → {to} enters right after a spawn; put a strand between the spawn and {to}"
            ),
            Self::JoinWithinThread { from, to } => {
                write!(f, "the join edge {from} → {to} stays in one thread; its strands are ordered already")
            }
            Self::JoinBackwards { from, to } => write!(
                f,
                "the join edge {from} → {to} leads backwards in the serial depth-first order, so one processor \
                 could not execute the computation depth first"
            ),
            Self::Cycle(s) => write!(f, "the edges form a cycle through strand {s}"),
            Self::DuplicateJoin { from, to } => write!(f, "the join edge {from} → {to} occurs twice"),
            Self::Detached(t) => {
                write!(f, "nothing waits for thread {t}; its last strand needs a join edge to an ancestor")
            }
            Self::WaitWithoutStrand(t) => {
                write!(
                    f,
                    "thread {t} waits before its first strand; add the strand first, then its join edges"
                )
            }
            Self::EndOfRoot => write!(f, "more threads were ended than were spawned"),
            Self::Unfinished(t) => write!(f, "thread {t} was spawned but never ended"),
            Self::UnknownStrand(s) => write!(f, "strand {s} does not exist"),
            Self::UnknownThread(t) => write!(f, "thread {t} does not exist"),
            Self::UnknownSite(s) => write!(f, "fork {s} does not exist; declare it before it is used"),
            Self::TwoParents(t) => write!(f, "thread {t} is spawned by two strands"),
            Self::NotATree(t) => write!(f, "thread {t} is not reached from the root by spawn edges"),
            Self::TooLarge => write!(f, "the computation exceeds 2^32 − 2 strands, threads or join edges"),
            Self::FreesTooMuch(s) => write!(
                f,
                "strand {s} frees memory that nothing before it in the serial depth-first order has allocated"
            ),
            Self::Overflow => {
                write!(f, "the weights, frames or allocations add up to more than 64 bits hold")
            }
        }
    }
}

impl std::error::Error for BuildError {}
