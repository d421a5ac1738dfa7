//! Query and transfer cells: steals with loads and stores only (Acar, Charguéraud, Muller and Rainey, "Work stealing
//! without atomic read-modify-write operations", §4.3 and Figure 6; RW below).
//!
//! # Cells
//!
//! | cell | of | written by | holds |
//! |---|---|---|---|
//! | `round` | the victim | its holder | a number that only grows; odd: *open*, the holder will look at its query; even: *closed* |
//! | `query` | the victim | any thief | (thief, round) in one word of 64 bits |
//! | `claim` | the victim | its holder | the round whose query it is about to answer |
//! | `received` | the thief | the victim that answers it; emptied by its holder | an entry, or nothing |
//! | `want` | the thief | its holder, before it asks | what the entry must descend from, 0: anything |
//!
//! # Protocol
//!
//! 1. A thief reads the victim's round `r`. If the round is open and the query there is of an earlier round, the thief
//!    writes `(itself, r)` over it, and waits until the round is no longer `r`. While it waits, it may find a query of
//!    an earlier round in place of its own, because a slow thief has *overwritten* the newer one. Then it writes its
//!    query again.
//! 2. A victim that polls reads its query. A query of another round is *stale*: nobody waits for it any more (or nobody
//!    ever will, if its round is still to come). The victim answers a query of its own round: it writes its oldest
//!    entry, if it has one that the thief wants, into the thief's `received`, and then opens the next round. Without an
//!    entry it just opens the next round: *declined*.
//! 3. A thief that sees the round end looks into `received`. Its entry is there, or there will be none.
//! 4. A processor that has nothing to give and will not poll (it searches, waits or rests) *closes* its round. That
//!    ends the round like an answer. It opens another when it runs again. RW blocks queries to idle processors by
//!    queries of their own (`block`). A late query can overwrite these, so they must be repeated, and a processor that
//!    rests in the idle list has nobody to repeat them. The round is a separate word, so closing it needs no
//!    repetition.
//! 5. A thief that has waited long *withdraws*, so that it may sleep. It empties the query cell if its own query is
//!    still in it, issues the heavy barrier, and reads `claim`. A victim stores `claim = r` and then reads the query
//!    again before it answers (`light` between). So the victim misses the query, or the thief sees the claim and waits
//!    for the end of the round, which is a few instructions away. This step is on the way into the kernel, and is the
//!    only one that is more than loads and stores. If the system refuses the barrier, the thief waits for the end of
//!    the round, however far away, as in RW.
//!
//! # Why an entry goes to exactly one thief, which waits for it
//!
//! *The thief is there.* An answer in round `r` goes to the thief of a query with round `r`. That thief leaves only
//! after it saw a round ≠ `r`, or withdrew. The victim writes `received` before it ends the round, and never answers
//! round `r` again, because rounds grow. So when the thief leaves, its answer has been written, or never will be.
//!
//! *One answer at a time.* A thief has one query out, with one victim. That victim answers one query per round.
//!
//! *A thief's query was overwritten.* If the other query is of the same round, the thief sees the round end with
//! nothing received, and tries elsewhere. If the other query is of an earlier round, the thief repeats its own, so the
//! victim cannot ignore both for ever.
//!
//! # Orderings
//!
//! RW's proof is for total store order. There, loads are not reordered with loads, nor stores with stores, nor loads
//! with later stores. C11 gives none of this for free, so each place that relies on it says so. Acquire and release are
//! enough everywhere. They cost plain instructions on x86 and `ldar`/`stlr` on ARM.
//!
//! | what must hold | TSO gave | we use |
//! |---|---|---|
//! | `received` is empty before the answer fills it | store before store (both by the thief), load before store (victim) | the query is stored with release after `received` was emptied, loaded with acquire by the victim that fills it |
//! | `want` is read as written for this query | the same | the same pair |
//! | a thief that sees the round end finds the answer | store before store (victim), load before load (thief) | the round is stored with release after `received`, loaded with acquire by the thief |
//! | a thief that receives an entry sees the job behind it | the same | the same pair |
//! | a query that is answered was asked in an open round | load before store (thief) | nothing: a query of a round that has ended is stale, no matter which thief wrote it, and when |
//!
//! The thief's loads of `query`, which check whether it was overwritten, order nothing and are relaxed. Progress needs
//! only that a relaxed or acquire load *eventually* sees a store, here as in RW (their ∆).

use crate::protocol::job::Entry;
use crate::system::barrier::{self, Side};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicU64, AtomicUsize, nap, spin_until};
use crate::system::shake::shake;
use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// One uninterrupted piece of a processor's life. See the module text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

impl Round {
    fn is_open(self) -> bool {
        self.0 % 2 == 1
    }

    /// No two rounds of a processor have the same number.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// A thief and the round in which it asks. RW's type `query`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Query(u64);

/// RW packs 24 bits for the thief and 40 for the round. A pool has at most 2¹² processors, and 52 bits last for a
/// century at a million rounds per second.
const ROUND_BITS: u32 = 52;

impl Query {
    /// Older than every round.
    const NONE: Query = Query(0);

    fn new(thief: usize, round: Round) -> Query {
        debug_assert!((thief as u64) < 1 << (64 - ROUND_BITS) && round.0 < 1 << ROUND_BITS);
        Query((thief as u64) << ROUND_BITS | round.0)
    }

    fn thief(self) -> usize {
        (self.0 >> ROUND_BITS) as usize
    }

    fn round(self) -> Round {
        Round(self.0 & ((1 << ROUND_BITS) - 1))
    }
}

/// The cells of one processor. See the module text.
#[repr(C, align(128))]
pub(crate) struct Queries {
    round: AtomicU64,
    query: AtomicU64,
    claim: AtomicU64,
    /// The last query that was answered or found stale. For the holder.
    seen: Cell<u64>,
    transfer: Transfer,
}

// SAFETY: others use the atomics. `seen` belongs to the holder, and handing a processor over synchronises.
unsafe impl Sync for Queries {}

/// The cells of a thief.
#[repr(align(128))]
struct Transfer {
    received: AtomicUsize,
    want: AtomicUsize,
}

/// What a victim finds when it polls.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Poll {
    /// No query of this round.
    Nothing,
    /// The query of this thief: answer it.
    Thief(usize),
    /// There was a query, but it was withdrawn or overwritten. The holder must end the round without an answer.
    Gone,
}

impl Queries {
    /// The cells of a processor that rests.
    pub(crate) fn new() -> Queries {
        Queries {
            round: AtomicU64::new(2),
            query: AtomicU64::new(Query::NONE.0),
            claim: AtomicU64::new(0),
            seen: Cell::new(Query::NONE.0),
            transfer: Transfer { received: AtomicUsize::new(0), want: AtomicUsize::new(0) },
        }
    }

    // ---- The holder as a victim -----------------------------------------------------------------------

    /// The round, if it is open. Exact for the holder, a guess for everyone else.
    pub(crate) fn open_round(&self) -> Option<Round> {
        Some(Round(self.round.load(Relaxed))).filter(|round| round.is_open())
    }

    /// Opens or closes the round. A thief that waits for an answer in the round that ends has received it, or gets
    /// none.
    pub(crate) fn set_open(&self, open: bool) {
        let round = Round(self.round.load(Relaxed));
        if round.is_open() != open {
            shake();
            self.round.store(round.0 + 1, Release);
        }
    }

    /// Whether there is a query of an earlier round that was not there at the last call.
    pub(crate) fn is_newly_stale(&self) -> bool {
        let query = self.query.load(Relaxed);
        let seen = self.seen.replace(query);
        query != seen && query != Query::NONE.0 && Query(query).round().0 < self.round.load(Relaxed)
    }

    /// Looks for a query, in an open round. If there is one, the holder must [end the round](Queries::answer). `fence`
    /// runs between a store and a load where the heavy barrier does not reach ([`crate::system::barrier`]).
    pub(crate) fn poll(&self, fence: impl FnOnce()) -> Poll {
        let round = self.round.load(Relaxed);
        shake();
        // Acquire: before it asked, the thief emptied its `received` and said what it wants.
        let query = Query(self.query.load(Acquire));
        let heard = |query: Query| query.round().0 == round || planted(Fault::ServeStaleQuery);
        if !heard(query) || query == Query::NONE {
            return Poll::Nothing;
        }
        self.claim.store(round, Relaxed);
        // Pairs with `heavy` in `withdraw`.
        barrier::light();
        fence();
        shake();
        // Acquire: another thief of the same round may have overwritten the first one.
        let again =
            if planted(Fault::ServeWithoutSecondLook) { query } else { Query(self.query.load(Acquire)) };
        self.seen.set(again.0);
        if heard(again) { Poll::Thief(again.thief()) } else { Poll::Gone }
    }

    /// What the thief of the query that was just polled wants.
    pub(crate) fn want(&self) -> usize {
        self.transfer.want.load(Relaxed)
    }

    /// Ends the round. If there is an `answer`, hands it to its thief first.
    pub(crate) fn answer(&self, answer: Option<(&Queries, Entry)>) {
        let next = self.round.load(Relaxed) + 2;
        if planted(Fault::RoundBeforeAnswer) {
            self.round.store(next, Release);
        }
        if let Some((thief, entry)) = answer {
            shake();
            thief.transfer.received.store(entry.bits(), Release);
        }
        shake();
        // Release: a thief that sees the round end finds the answer.
        self.round.store(next, Release);
    }

    // ---- The holder as a thief ------------------------------------------------------------------------

    /// Asks `victim` for an entry that descends from `want`. `None` if it takes no queries, or if another thief's query
    /// is there.
    pub(crate) fn ask(&self, id: usize, victim: &Queries, want: usize) -> Option<Round> {
        debug_assert_eq!(self.transfer.received.load(Relaxed), 0, "what was received has been picked up");
        shake();
        let round = Round(victim.round.load(Acquire));
        if !round.is_open() || Query(victim.query.load(Relaxed)).round().0 >= round.0 {
            return None;
        }
        self.transfer.want.store(want, Relaxed);
        shake();
        // Release: the victim that reads this finds `received` empty, and the want.
        victim.query.store(Query::new(id, round).0, Release);
        Some(round)
    }

    /// Whether the round in which this victim was asked has ended.
    pub(crate) fn is_over(&self, round: Round) -> bool {
        shake();
        self.round.load(Acquire) != round.0
    }

    /// Repeats the query if a query of an earlier round has taken its place. Returns whether it did.
    pub(crate) fn ask_again(&self, id: usize, round: Round) -> bool {
        shake();
        let lost = Query(self.query.load(Relaxed)).round().0 < round.0 && !planted(Fault::NoResend);
        if lost {
            shake();
            self.query.store(Query::new(id, round).0, Release);
        }
        lost
    }

    /// The answer, once the round is over.
    pub(crate) fn receive(&self) -> Option<Entry> {
        shake();
        let entry = Entry::from_bits(self.transfer.received.load(Acquire))?;
        self.transfer.received.store(0, Relaxed);
        Some(entry)
    }

    /// Makes sure that this victim will no longer answer the query of `thief`. It may have answered already. Called on
    /// the way into the kernel.
    #[cold]
    #[inline(never)]
    pub(crate) fn withdraw(&self, thief: usize, round: Round, victim: &Side) {
        if planted(Fault::LeaveQuery) {
            return;
        }
        if self.query.load(Relaxed) == Query::new(thief, round).0 {
            shake();
            self.query.store(Query::NONE.0, Relaxed);
        }
        // Pairs with `light` in `poll`. If the barrier is refused, the claim proves nothing.
        let reached = barrier::heavy(std::iter::once(victim));
        shake();
        if !reached {
            // The victim may be in a long closure.
            while !self.is_over(round) {
                nap();
            }
        } else if self.claim.load(Relaxed) == round.0 {
            spin_until(|| self.is_over(round));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::system::primitive::tests::gives_way;

    /// The victim has claimed the round, and is descheduled before it ends the round.
    #[test]
    fn who_waits_for_a_claimed_round_gives_way() {
        let (victim, thief) = (Queries::new(), Queries::new());
        victim.set_open(true);
        let round = thief.ask(1, &victim, 0).expect("the round is open");
        assert_eq!(victim.poll(|| ()), Poll::Thief(1));
        // Whatever the system says to the heavy barrier, this victim does not rely on it.
        gives_way(|| victim.withdraw(1, round, &Side::new()), || victim.answer(None));
        assert!(victim.is_over(round) && thief.receive().is_none());
    }
}
