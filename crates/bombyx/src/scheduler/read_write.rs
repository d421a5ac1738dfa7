//! `read-write-steals`: work stealing with private deques in which thieves and victims talk by loads and stores alone
//! ([`super::query`]; Acar, Charguéraud, Muller and Rainey, §4.3). Everything that is not the talking is
//! [`super::private_deques`]; joins are those of [`crate::latch`].
//!
//! The functions here are the entry points of the paths that contain no locked instruction and no fence, up to the named
//! ways into the kernel; `tests/disassembly.rs` walks them in the compiled program.

use super::private_deques::{self, Channel, grant};
use super::query::{Poll, Round};
use super::work_stealing::{Patience, Wait};
use crate::job::Entry;
use crate::processor::Processor;

/// Queries with the joins of [`crate::latch`].
struct Steals;

impl Channel for Steals {
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

    fn settle(thief: &Processor, victim: &Processor, round: Round) -> Option<Entry> {
        if !victim.queries.is_over(round) {
            thief.stats.withdrawn.add(1);
            victim.queries.withdraw(thief.index, round);
        }
        thief.queries.receive()
    }

    fn answer(victim: &Processor) {
        answer::<Steals>(victim);
    }
}

/// Answers the thief whose query stands here, if one does.
fn answer<C: Channel>(victim: &Processor) {
    if victim.queries.open_round().is_none() {
        return;
    }
    let commons = victim.commons();
    let fence = || {
        if !commons.asymmetric() {
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
            let thief = &commons.processors()[thief].queries;
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
fn fence_for_want_of_membarrier() {
    crate::barrier::full();
}

/// [`private_deques::attend`] with queries.
#[inline(never)]
pub(crate) fn attend_steals(processor: &Processor) {
    private_deques::attend::<Steals>(processor);
}

/// [`private_deques::cease`] with queries.
#[inline(never)]
pub(crate) fn cease_steals(processor: &Processor) {
    private_deques::cease::<Steals>(processor);
}

/// [`private_deques::search`] with queries.
#[inline(never)]
pub(crate) fn search_steals(processor: &Processor) -> Option<Entry> {
    private_deques::search::<Steals>(processor)
}

/// [`private_deques::take_anything`] with queries.
pub(crate) fn take_anything_steals(processor: &Processor) -> Option<Entry> {
    private_deques::take_anything::<Steals>(processor)
}

/// [`private_deques::wait`] with queries.
#[inline(never)]
pub(crate) fn wait_steals(
    patience: &mut Patience,
    processor: &Processor,
    key: usize,
    done: &dyn Fn() -> bool,
) -> Wait {
    private_deques::wait::<Steals>(patience, processor, key, done)
}
