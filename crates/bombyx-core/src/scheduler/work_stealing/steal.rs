//! How a processor takes entries: its own, or those of another processor.
//!
//! **Steals are cooperative first.** The thief leaves a request ([`crate::protocol::mailbox`]), and the victim serves it at its
//! next fork. A victim that has entries but does not fork within [`ESCALATE`] is robbed without its help
//! ([`crate::protocol::deque::Deque::steal`]), which interrupts it. A request may stand at a busy victim that has nothing yet:
//! it gets the victim's next fork, and neither side touches the other's cache lines meanwhile.
//!
//! **A processor that forks seldom exposes its entries.** If it had to be robbed, its leaves take longer than a steal. So it
//! exposes its entries at its next forks ([`crate::machine::processor::Processor::robbed`]), and thieves take them under the
//! deque's lock, at once ([`crate::protocol::deque::Deque::steal_free`]). It goes on with that while thieves take entries and
//! its forks are far between. Else it returns to its fast path, and has lost less than the interruption had cost. In ordered
//! pools thieves may always take spawned closures, which no join takes back.

use crate::machine::patience::Wait;
use crate::machine::processor::Processor;
use crate::protocol::deque::Steal;
use crate::protocol::job::{Entry, Place, belongs_to};
use crate::protocol::mailbox::Mail;
use crate::system::primitive::{pause, spin_until};
use std::time::{Duration, Instant};

/// How long a victim with entries may take to serve a request: about what it costs to rob it, which waits for the kernel to
/// interrupt it, and in a virtual machine for the host to run its core at all.
const ESCALATE: Duration = Duration::from_micros(10);
/// How long a request stands at one busy victim that has nothing.
const STAND: Duration = Duration::from_micros(20);

/// What a processor still has itself: left by a carrier that blocks, or spawned by one that has ended, and then the
/// oldest of what is for it alone.
///
/// What was offered counts as stolen, whoever takes it: it left the deque out of turn, so the join that it belongs
/// to may miss, as if by a steal.
pub(in crate::scheduler) fn take_own(processor: &Processor) -> Option<Entry> {
    let offered = || processor.offer.take().inspect(|_| processor.stats.steals.add(1));
    let open = || processor.deque.take_youngest(|_| true).or_else(offered);
    processor.has_something().then(open).flatten().or_else(|| processor.private.take(|_| true))
}

/// The youngest entry of the processor's deque that was spawned in the scope with this key. In an ordered pool, what
/// another scope has put on top of it goes first, elsewhere.
pub(super) fn take_of_scope(processor: &Processor, key: usize) -> Option<Entry> {
    let ordered = processor.pool().config.ordered;
    let mut covered = false;
    processor.deque.take_youngest(|entry| {
        let ours = belongs_to(entry, key);
        covered |= ordered && !ours && !belongs_to(entry, 0);
        ours && !covered
    })
}

/// A uniformly random other processor, if that one has something; else the next one that has; else the random one, if it
/// runs. A pool can be much larger than the machine, with one processor that has all the entries and others that block:
/// who looked at one processor at a time would find the entries after as many tries as there are processors.
pub(in crate::scheduler) fn random_victim(processor: &Processor) -> Option<&Processor> {
    let all = processor.pool().processors();
    if all.len() == 1 {
        return None;
    }
    let first = processor.rng.below(all.len() - 1);
    let at = |offset: usize| &all[(processor.index + 1 + (first + offset) % (all.len() - 1)) % all.len()];
    processor.stats.attempts.add(1);
    let full = (0..all.len() - 1).map(at).find(|victim| victim.has_something());
    full.or_else(|| Some(at(0)).filter(|victim| victim.is_busy()))
}

/// The oldest entry of a random victim, if that has one which can be had at once.
pub(super) fn steal_anything(processor: &Processor) -> Option<Entry> {
    let victim = random_victim(processor)?;
    victim.offer.take().or_else(|| rob(processor, victim, 0, || true))
}

/// Tries to get the oldest entry of `victim` that descends from `want`, until `stop` says that there is
/// something better to do.
pub(in crate::scheduler) fn rob(
    thief: &Processor,
    victim: &Processor,
    want: usize,
    stop: impl Fn() -> bool,
) -> Option<Entry> {
    free(victim, want).or_else(|| rob_by(thief, victim, want, stop, escalated))
}

/// The same where nothing is free to be taken without the victim's help. A victim that does not answer in time is robbed by
/// `escalate`.
pub(in crate::scheduler) fn rob_by(
    thief: &Processor,
    victim: &Processor,
    want: usize,
    stop: impl Fn() -> bool,
    escalate: impl FnOnce(&Processor, &Processor, usize) -> Option<Entry>,
) -> Option<Entry> {
    if !victim.requests.post(&thief.post, want) {
        return None;
    }
    victim.deque.poison();
    let start = Instant::now();
    let mut round = 0u32;
    loop {
        match thief.post.mailbox.pick_up() {
            Mail::Entry(entry) => return Some(entry),
            Mail::Declined => return None,
            Mail::None => {}
        }
        round = round.wrapping_add(1);
        if round.is_multiple_of(4) {
            thief.answer();
            let waited = start.elapsed();
            let overdue = (waited > ESCALATE || !victim.is_busy()) && !victim.deque.looks_empty();
            if overdue || waited > STAND || stop() || !victim.is_busy() {
                if victim.requests.cancel(&thief.post) {
                    return if overdue { escalate(thief, victim, want) } else { None };
                }
                return answered(thief);
            }
        }
        pause(thief.pool().config.crowded);
    }
}

/// The victim has claimed the request: the answer is on its way.
fn answered(thief: &Processor) -> Option<Entry> {
    spin_until(|| thief.post.mailbox.has_mail());
    match thief.post.mailbox.pick_up() {
        Mail::Entry(entry) => Some(entry),
        Mail::Declined | Mail::None => None,
    }
}

/// The oldest entry of `victim`, if it can be had without the heavy barrier. Loose ones in ordered pools only: elsewhere a
/// processor that spawns without end serves its thieves now and then, and is not held up by their lock.
fn free(victim: &Processor, want: usize) -> Option<Entry> {
    victim.deque.steal_free(want, victim.pool().config.ordered).inspect(|entry| {
        if entry.is_stack() {
            victim.relieved();
        }
    })
}

#[cold]
fn escalated(thief: &Processor, victim: &Processor, want: usize) -> Option<Entry> {
    if let Some(entry) = free(victim, want) {
        return Some(entry);
    }
    victim.robbed();
    escalate(thief, victim.deque.steal(want, |entry| entry.stolen(Place::Nowhere, &victim.deque)))
}

/// Counts a steal without the victim's help, if it was one.
pub(in crate::scheduler) fn escalate(thief: &Processor, steal: Steal) -> Option<Entry> {
    match steal {
        Steal::Success(entry) => {
            thief.stats.escalations.add(1);
            Some(entry)
        }
        Steal::Empty | Steal::Retry => None,
    }
}

/// What a waiting carrier does with what its processor has itself: entries of the scope that it waits for, or others.
pub(in crate::scheduler) fn own_work(processor: &Processor, key: usize) -> Option<Wait> {
    if !processor.deque.looks_empty() {
        return Some(take_of_scope(processor, key).map_or(Wait::OtherWork, Wait::Help));
    }
    if !processor.private.looks_empty() {
        let ours = processor.private.take(|entry| belongs_to(entry, key));
        return Some(ours.map_or(Wait::OtherWork, Wait::Help));
    }
    None
}
