//! `read-write` and `read-write-steals`: work stealing with private deques in which thieves and victims talk only by
//! loads and stores ([`crate::protocol::query`]; Acar, Charguéraud, Muller and Rainey, §4.3). Under `read-write` the
//! two sides of a join do so as well ([`super::join_resolution`], §4.4). Under `read-write-steals` joins are those of
//! [`crate::protocol::latch`]. Everything that does not concern how they talk is in [`super`].
//!
//! The functions here and in `join_resolution` are the entry points of the paths that contain no locked instruction and
//! no fence, up to the named ways into the kernel. `tests/disassembly.rs` walks these paths in the compiled program.

use super::{Channel, grant};
use crate::machine::processor::Processor;
use crate::protocol::job::{Entry, Kind};
use crate::protocol::query::{Poll, Round};

/// A channel of loads and stores.
pub(super) trait Queries: Send + Sync {
    /// Whether the two sides of a join talk by loads and stores as well.
    const RESOLVES: bool;
}

/// `read-write-steals`.
pub(in crate::scheduler) struct Steals;

impl Queries for Steals {
    const RESOLVES: bool = false;
}

/// `read-write`.
pub(in crate::scheduler) struct StealsAndJoins;

impl Queries for StealsAndJoins {
    const RESOLVES: bool = true;
}

impl<Q: Queries> Channel for Q {
    type Ticket = Round;

    fn ask(thief: &Processor, victim: &Processor, want: usize) -> Option<Round> {
        thief.queries.ask(thief.index, &victim.queries, want)
    }

    fn is_pending(_: &Processor, victim: &Processor, round: Round) -> bool {
        !victim.queries.is_over(round)
    }

    fn repeat(thief: &Processor, victim: &Processor, round: Round) {
        if victim.queries.ask_again(thief.index, round) {
            thief.stats.overwritten.add(1);
        }
    }

    fn conclude(thief: &Processor, victim: &Processor, round: Round) -> Option<Entry> {
        if !victim.queries.is_over(round) {
            thief.stats.withdrawn.add(1);
            victim.queries.withdraw(thief.index, round, &victim.deque.side);
        }
        thief.queries.receive()
    }

    fn answer(victim: &Processor) {
        answer::<Self>(victim);
    }

    fn taken(victim: &Processor, entry: Entry) {
        match entry.kind() {
            // SAFETY: the entry was taken out of `victim`'s private deque, for a thief that does not know the entry
            // yet.
            Kind::Stack(job) if Self::RESOLVES => unsafe { (*job).take_as_branch(victim.free_cells.get()) },
            _ => entry.taken_out(),
        }
    }

    fn watch(processor: &Processor) {
        if Self::RESOLVES && !processor.watching.is_empty() {
            processor.watching.watch();
            processor.note_watch_list();
        }
    }
}

/// Answers the thief whose query is here, if there is one.
fn answer<C: Channel>(victim: &Processor) {
    if victim.queries.open_round().is_none() {
        return;
    }
    let pool = victim.pool();
    let fence = || {
        if !victim.relies() {
            fence_for_want_of_membarrier();
        }
    };
    match victim.queries.poll(fence) {
        Poll::Nothing => {
            if victim.queries.is_newly_stale() {
                victim.stats.stale.add(1);
            }
        }
        Poll::Gone => {
            victim.stats.declined.add(1);
            victim.queries.answer(None);
        }
        Poll::Thief(thief) => {
            let thief = &pool.processors()[thief].queries;
            match grant::<C>(victim, thief.want()) {
                Some(entry) => {
                    victim.stats.served.add(1);
                    victim.queries.answer(Some((thief, entry)));
                }
                None => {
                    victim.stats.declined.add(1);
                    victim.queries.answer(None);
                }
            }
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn fence_for_want_of_membarrier() {
    crate::system::barrier::full();
}
