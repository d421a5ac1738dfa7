//! How a processor takes entries: its own, or those of another processor.
//!
//! **Steals are cooperative first.** The thief leaves a request ([`crate::protocol::mailbox`]), and the victim serves
//! it at its next fork. If a victim has entries but does not fork within [`ESCALATE`], the thief robs it without its
//! help ([`crate::protocol::deque::Deque::steal`]), which interrupts the victim. A request may also wait at a busy
//! victim that has no entry yet. The thief then gets the victim's next fork, if it comes within [`STAND`]. Until then the
//! victim does nothing for the thief, and the thief only looks now and then.
//!
//! **A processor that seldom forks exposes its entries.** A robbery shows that its leaves take longer than a
//! steal. So it exposes its entries at its next forks ([`crate::machine::processor::Processor::robbed`]), and thieves take
//! them at once, under the deque's lock ([`crate::protocol::deque::Deque::steal_free`]). It keeps exposing while it forks
//! rarely and thieves take the entries. Otherwise it returns to its fast path. Exposing entries at 64 forks costs less than
//! one interruption.
//!
//! **In ordered pools (those of the drop-in), thieves may always take spawned closures** under the deque's lock,
//! without a request: no join takes such closures back. Other pools run spawned closures in place when many wait, so
//! there the thieves' lock would only delay the spawner.

use crate::machine::patience::Wait;
use crate::machine::processor::Processor;
use crate::protocol::deque::Steal;
use crate::protocol::job::{Entry, Place, belongs_to};
use crate::protocol::mailbox::Mail;
use crate::system::primitive::{Looks, pause};
use crate::system::topology::{Distance, Topology};
use std::time::{Duration, Instant};

/// How long a victim with entries may take to serve a request. A robbery costs about as much: the thief must wait until
/// the kernel has interrupted the victim and, in a virtual machine, until the host runs the victim's core at all.
const ESCALATE: Duration = Duration::from_micros(10);
/// How long a request waits at one busy victim that has nothing.
const STAND: Duration = Duration::from_micros(20);
/// How long a request waits at a processor that rests, before the thief looks elsewhere and lets others use its core.
const STAND_AT_REST: Duration = Duration::from_micros(5);

/// Takes an entry of the processor itself: the youngest of its deque, else its offer, else the oldest of its private
/// entries. A processor without a frame can have entries in its deque, too. A carrier left them there because
/// it blocks, or because the closure that spawned them has ended.
///
/// An offered entry counts as stolen, even if its own processor takes it. It left the deque out of turn, so its join
/// may miss.
pub(in crate::scheduler) fn take_own(processor: &Processor) -> Option<Entry> {
    let offered = || processor.offer.take().inspect(|&entry| processor.stole(entry, Some(processor)));
    let open = || processor.deque.take_youngest(|_| true).or_else(offered);
    processor.has_something().then(open).flatten().or_else(|| processor.private.take(|_| true))
}

/// The youngest entry of the processor's deque that was spawned in the scope with this root. In an ordered pool, `None`
/// while entries of other scopes lie on top of that entry: other processors must take those first.
pub(super) fn take_of_scope(processor: &Processor, root: usize) -> Option<Entry> {
    let ordered = processor.pool().config.ordered;
    let mut covered = false;
    processor.deque.take_youngest(|entry| {
        let ours = belongs_to(entry, root);
        covered |= ordered && !ours && !belongs_to(entry, 0);
        ours && !covered
    })
}

/// A uniformly random other processor, if it has something. Otherwise the next one that has something. Otherwise the
/// random one, if it is busy. A pool can be much larger than the machine, with one processor that has all the entries
/// and others that block. A thief that looked at only one processor per try would then need as many tries as there are
/// processors.
pub(in crate::scheduler) fn random_victim(processor: &Processor) -> Option<&Processor> {
    let mut circle = circle(processor);
    let random = circle.clone().next()?;
    processor.stats.attempts.add(1);
    circle.find(|victim| victim.has_something()).or_else(|| Some(random).filter(|victim| victim.is_busy()))
}

/// Like [`random_victim`]. But if some CPUs are closer to each other than others, half of the tries prefer victims that
/// are close: their entries are likely to be in the cache that the thief shares. The other tries stay uniform, so the
/// bounds for uniform victims hold with at most twice the number of tries.
pub(super) fn random_victim_nearby(processor: &Processor) -> Option<&Processor> {
    let Some(topology) = Topology::of_machine().filter(|_| processor.rng.below(2) == 0) else {
        return random_victim(processor);
    };
    let circle = circle(processor);
    let random = circle.clone().next()?;
    processor.stats.attempts.add(1);
    processor.note_cpu();
    let full = circle.filter(|victim| victim.has_something()).map(|victim| (victim.seen_on(), victim));
    nearest(topology, processor.seen_on(), full).or_else(|| Some(random).filter(|victim| victim.is_busy()))
}

/// The other processors, from a random one on.
fn circle(processor: &Processor) -> impl Iterator<Item = &Processor> + Clone {
    let all = processor.pool().processors();
    let others = all.len() - 1;
    let first = if others == 0 { 0 } else { processor.rng.below(others) };
    (0..others).map(move |offset| &all[(processor.index + 1 + (first + offset) % others) % all.len()])
}

/// The first of the victims that are closest to the CPU `here`. Each comes with the CPU on which it was last seen.
fn nearest<V>(
    topology: &Topology,
    here: Option<usize>,
    victims: impl Iterator<Item = (Option<usize>, V)>,
) -> Option<V> {
    let distance = |there: Option<usize>| match (here, there) {
        (Some(here), Some(there)) => topology.distance(here, there),
        _ => Distance::Far,
    };
    victims.min_by_key(|(cpu, _)| distance(*cpu)).map(|(_, victim)| victim)
}

/// Takes the oldest entry of a random victim, if that is possible at once.
pub(super) fn steal_anything(processor: &Processor) -> Option<Entry> {
    let victim = random_victim_nearby(processor)?;
    victim.offer.take().or_else(|| try_steal(processor, victim, 0, || true))
}

/// The processor that a thread from outside the pool held last, unless it is the caller's. Such threads often come back
/// at once. A thief that waits at that processor gets their first fork.
pub(super) fn expected_victim(processor: &Processor) -> Option<&Processor> {
    processor.pool().expected_visit().filter(|expected| !std::ptr::eq(*expected, processor))
}

/// Tries to get the oldest entry of `victim`, if it descends from `want` (0 accepts any), until `stop` says that there
/// is something better to do.
pub(in crate::scheduler) fn try_steal(
    thief: &Processor,
    victim: &Processor,
    want: usize,
    stop: impl Fn() -> bool,
) -> Option<Entry> {
    free(victim, want).or_else(|| try_steal_by(thief, victim, want, stop, escalated))
}

/// The rest of [`try_steal`], if nothing could be taken at once: asks, and calls `escalate` if no answer comes in time.
pub(in crate::scheduler) fn try_steal_by(
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
    // A victim that rests, with an empty deque, is worth a wait if its holder is expected to come back.
    let expected = want == 0
        && !victim.is_busy()
        && victim.deque.looks_empty()
        && expected_victim(thief).is_some_and(|expected| std::ptr::eq(expected, victim));
    let stand = if expected { STAND_AT_REST } else { STAND };
    let start = Instant::now();
    let mut looks = Looks::default();
    loop {
        match thief.post.mailbox.pick_up() {
            Mail::Entry(entry) => return Some(entry),
            Mail::Declined => return None,
            Mail::None => {}
        }
        if looks.every(4) {
            thief.answer();
            let waited = start.elapsed();
            let rests = !expected && !victim.is_busy();
            let overdue = (waited > ESCALATE || rests) && !victim.deque.looks_empty();
            if overdue || waited > stand || stop() || rests {
                return match victim.requests.cancel(&thief.post) {
                    Mail::None if overdue => escalate(thief, victim, want),
                    mail => mail.entry(),
                };
            }
        }
        pause(thief.pool().crowded());
    }
}

/// The oldest entry of `victim`, if it can be taken without the heavy barrier. Takes loose entries only in ordered
/// pools. In other pools, a lock held by thieves would delay an owner that spawns continuously.
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
    thief.stats.barriers.add(1);
    escalate(thief, victim.deque.steal(want, |entry| entry.stolen(Place::Nowhere, &victim.deque)))
}

/// Counts a steal without the victim's help, if it succeeded.
pub(in crate::scheduler) fn escalate(thief: &Processor, steal: Steal) -> Option<Entry> {
    match steal {
        Steal::Success(entry) => {
            thief.stats.escalations.add(1);
            Some(entry)
        }
        Steal::Empty | Steal::Retry => None,
    }
}

/// What a waiting carrier does if its processor has entries itself: it runs one of the scope that it waits for, or
/// reports that there is other work.
pub(in crate::scheduler) fn own_work(processor: &Processor, root: usize) -> Option<Wait> {
    if !processor.deque.looks_empty() {
        return Some(take_of_scope(processor, root).map_or(Wait::OtherWork, Wait::Help));
    }
    if !processor.private.looks_empty() {
        let ours = processor.private.take(|entry| belongs_to(entry, root));
        return Some(ours.map_or(Wait::OtherWork, Wait::Help));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::nearest;
    use crate::system::topology::Topology;

    /// CPUs 0 and 1 share a cache, 2 and 3 the next one; 0 to 3 share a node.
    fn victims(here: Option<usize>, cpus: &[Option<usize>]) -> Option<usize> {
        let topology = Topology::from_groups(&[0, 0, 1, 1, 2, 2], &[0, 0, 0, 0, 1, 1]);
        nearest(&topology, here, cpus.iter().copied().zip(0..))
    }

    #[test]
    fn thieves_prefer_their_cache_then_their_node() {
        assert_eq!(victims(Some(0), &[Some(4), Some(2), Some(1), Some(0)]), Some(2));
        assert_eq!(victims(Some(0), &[None, Some(4), Some(3), Some(2)]), Some(2));
        // Among equals, the first in the order that the random number gave.
        assert_eq!(victims(Some(4), &[None, Some(0), Some(2)]), Some(0));
        assert_eq!(victims(None, &[Some(3), Some(0)]), Some(0));
        assert_eq!(victims(Some(0), &[]), None);
    }
}
