//! The cells that processors share (RW Figure 3), as atomics. Loads are Acquire and stores are Release. On x86 these
//! are plain moves, and the machine's store buffers do the rest of what the model says. On ARM they are `ldar` and
//! `stlr`, which keep more order than x86 does. So no cell is ever loaded or stored with less order than TSO gives it.

use crate::chase_lev::ChaseLev;
use crate::protocol::{Id, Query};
use crate::record::Thread;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// Bits of a round number in a query (RW Fig. 3, line 2).
pub(crate) const ROUND_BITS: u32 = 40;
/// The largest round number that a query can hold.
pub(crate) const LAST_ROUND: u64 = (1 << ROUND_BITS) - 1;
/// Most processors whose numbers fit a query.
pub(crate) const MOST_PROCESSORS: usize = 1 << (64 - ROUND_BITS);

/// `q_make`.
#[inline(always)]
pub(crate) fn pack(query: Query<u64>) -> u64 {
    query.round | u64::from(query.id) << ROUND_BITS
}

/// `q_id` and `q_rnd`.
#[inline(always)]
pub(crate) fn unpack(word: u64) -> Query<u64> {
    Query { id: (word >> ROUND_BITS) as Id, round: word & LAST_ROUND }
}

/// The cells of one processor, on their own cache lines.
#[repr(align(128))]
pub(crate) struct Cells {
    /// RW: `round`. Only its processor stores it.
    pub(crate) round: AtomicU64,
    /// RW: `in_query`.
    pub(crate) in_query: AtomicU64,
    /// RW: `received`.
    pub(crate) received: AtomicPtr<Thread>,
    /// Private deques with compare-and-swap: the number of the thief whose request is open, plus 1, or 0 if there is
    /// none.
    pub(crate) request: AtomicU64,
    /// Private deques with compare-and-swap: whether it is worth asking.
    pub(crate) has_work: AtomicBool,
    /// Concurrent deques.
    pub(crate) deque: ChaseLev<Thread>,
    /// What was counted. Only its processor stores these.
    pub(crate) counts: [AtomicU64; Count::ALL.len()],
}

macro_rules! counts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What a worker counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Count {
            $($(#[$doc])* $variant,)*
        }

        impl Count {
            /// All counts.
            pub const ALL: &[Count] = &[$(Count::$variant,)*];

            /// The count in words.
            pub fn name(self) -> &'static str {
                match self { $(Count::$variant => $name,)* }
            }
        }
    };
}

counts! {
    /// Bodies that were run.
    Threads = "threads run",
    /// Queries or requests sent (line 77); attempts at a concurrent deque.
    Asked = "queries sent",
    /// Queries sent again because an older one overwrote them (line 81).
    Resent = "queries sent again",
    /// Threads received, or taken from a concurrent deque.
    Steals = "steals",
    /// Queries answered with a thread (line 103).
    Served = "queries served",
    /// Queries answered, with a thread or without (line 104).
    Answered = "queries answered",
    /// Polls that found another processor's query of an older round.
    Stale = "stale queries seen",
    /// Joins that the left branch found undivided (line 65).
    JoinsLocal = "joins within a processor",
    /// Joins between processors that were taken after ACK (line 118).
    JoinsAcknowledged = "joins taken after ACK",
    /// Joins between processors that were taken in a tie (line 132).
    JoinsTied = "joins taken in a tie",
    /// Joins between processors that were counted down last.
    JoinsCounted = "joins counted",
    /// Watch lists handed over (line 128).
    Transfers = "watch lists handed over",
    /// Clock ticks without work: in `acquire`.
    IdleTicks = "ticks idle",
    /// Clock ticks of computations, from their start to their end, once for the whole pool.
    RunTicks = "ticks in computations",
    /// Clock ticks in the waiting loops of joins (lines 122 and 146).
    WaitTicks = "ticks waiting for joins",
}

impl Cells {
    /// RW: round 1, the query (0, 0), nothing received.
    pub(crate) fn new() -> Cells {
        Cells {
            round: AtomicU64::new(1),
            in_query: AtomicU64::new(0),
            received: AtomicPtr::new(ptr::null_mut()),
            request: AtomicU64::new(0),
            has_work: AtomicBool::new(false),
            deque: ChaseLev::new(),
            counts: [const { AtomicU64::new(0) }; Count::ALL.len()],
        }
    }

    /// Adds to a count. A load and a store are enough, because only one processor writes it.
    #[inline(always)]
    pub(crate) fn count(&self, what: Count, more: u64) {
        let cell = &self.counts[what as usize];
        cell.store(cell.load(Relaxed) + more, Relaxed);
    }
}

/// All cells, and what starts and ends computations.
pub(crate) struct Shared {
    pub(crate) cells: Box<[Cells]>,
    /// How many computations have ended. Stored by the processor that runs line 56.
    pub(crate) ended: AtomicU64,
    /// A body panicked, so whoever waits gives up.
    pub(crate) broken: AtomicBool,
    /// No computation is under way, so workers may park.
    pub(crate) resting: AtomicBool,
    /// The pool is being dropped.
    pub(crate) stop: AtomicBool,
    /// There are more processors than cores. Whoever waits offers its core to others, by a system call.
    pub(crate) polite: bool,
}

impl Shared {
    pub(crate) fn new(processors: usize, polite: bool) -> Shared {
        Shared {
            cells: (0..processors).map(|_| Cells::new()).collect(),
            ended: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            resting: AtomicBool::new(true),
            stop: AtomicBool::new(false),
            polite,
        }
    }

    #[inline(always)]
    pub(crate) fn cells(&self, of: Id) -> &Cells {
        // SAFETY: processor numbers come from 0 .. P: the worker's own, a random victim, or a query, which is signed with
        // its sender's number.
        unsafe { self.cells.get_unchecked(of as usize) }
    }

    #[inline(always)]
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Acquire)
    }

    /// Line 56.
    pub(crate) fn end(&self) {
        self.ended.store(self.ended.load(Relaxed) + 1, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_one_word_of_24_and_40_bits() {
        for query in [
            Query { id: 0, round: 0 },
            Query { id: 3, round: 7 },
            Query { id: (MOST_PROCESSORS - 1) as Id, round: LAST_ROUND },
        ] {
            assert_eq!(unpack(pack(query)), query);
        }
        assert_eq!(pack(Query { id: 1, round: 5 }), 5 + (1 << 40));
    }
}
