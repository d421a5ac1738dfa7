//! Work stealing: what an idle, and what a waiting processor does.
//!
//! Blumofe and Leiserson, §4: a processor whose deque is empty becomes a thief; it picks a victim uniformly at
//! random and takes the oldest entry of its deque, again and again. Two things are added.
//!
//! **Steals are cooperative first.** The thief leaves a request ([`crate::protocol::mailbox`]) and the victim serves it at
//! its next fork; a victim that has entries but does not fork within [`ESCALATE`] is robbed without its help
//! ([`crate::protocol::deque::Deque::steal`]), which interrupts it. A request may stand at a busy victim that has
//! nothing yet: it gets the victim's next fork, without either side touching the other's cache lines meanwhile.
//!
//! **Who forks seldom exposes.** A processor that had to be robbed is in leaves that are longer than a steal: for its
//! next forks ([`crate::machine::processor::Processor::robbed`]) it exposes its entries, which thieves then take under the
//! deque's lock, at once ([`crate::protocol::deque::Deque::steal_free`]). It goes on with that while somebody takes them and forks are
//! far between; else it goes back to its fast path, having lost less than the interruption had cost. In ordered
//! pools spawned closures, which no join takes back, are always free to be taken.
//!
//! **A waiting processor** takes only what descends from what it waits for: such work buries nothing, needs no
//! more stack than the serial program, and cannot deadlock where that does not. Anything else that it sees is a
//! reason to hand its processor over.

use crate::machine::processor::Processor;
use crate::protocol::carrier::Carrier;
use crate::protocol::deque::Steal;
use crate::protocol::job::{Entry, Place};
use crate::protocol::mailbox::Mail;
use crate::system::primitive::{spin_loop, spin_until, yield_now};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// How long a victim with entries may take to serve a request: about what it costs to rob it, which waits for the kernel to
/// interrupt it, and in a virtual machine for the host to run its core at all.
const ESCALATE: Duration = Duration::from_micros(10);
/// How long a request stands at one busy victim that has nothing.
const STAND: Duration = Duration::from_micros(20);
/// How long a processor searches before it is retired.
pub(super) const SEARCH: Duration = Duration::from_micros(100);
/// The same while enough others search. Not zero: who lies down at once is woken by the next fork.
pub(super) const SEARCH_IN_COMPANY: Duration = Duration::from_micros(10);
/// How long a waiting processor sees other work before it is handed over: about what that costs.
pub(super) const BEFORE_HAND_OVER: Duration = Duration::from_micros(5);
/// How long a waiting processor keeps its core to itself.
const BEFORE_YIELDING: Duration = Duration::from_micros(5);
/// How long a waiting processor with nothing to do is kept.
pub(super) const BEFORE_PARKING: Duration = Duration::from_micros(100);

/// The next entry for an idle processor, or None when it has searched long enough. The caller is counted as a
/// searcher, and no longer when an entry is found.
pub(crate) fn search(processor: &Processor) -> Option<Entry> {
    let pool = processor.pool();
    let entry = search_until(processor);
    if entry.is_some() {
        pool.found_work();
        processor.set_busy(true);
    }
    entry
}

fn search_until(processor: &Processor) -> Option<Entry> {
    let pool = processor.pool();
    // A gift from whoever woke us.
    if let Mail::Entry(entry) = processor.post.mailbox.pick_up() {
        processor.stats.steals.add(1);
        return Some(entry);
    }
    let mut start = None;
    loop {
        if let Some(entry) = take_own(processor).or_else(|| pool.take_queued()) {
            return Some(entry);
        }
        processor.set_busy(false);
        let found = random_victim(processor).and_then(|victim| {
            victim
                .offer
                .take()
                .or_else(|| rob(processor, victim, 0, || pool.has_queued() || victim.offer.stands()))
        });
        if let Some(entry) = found {
            processor.stats.steals.add(1);
            return Some(entry);
        }
        let now = Instant::now();
        let patience = if pool.enough_searchers() { SEARCH_IN_COMPANY } else { SEARCH };
        if now.duration_since(*start.get_or_insert(now)) > patience {
            return None;
        }
        processor.answer();
        // Whoever is about to bring work, a thread outside of the pool for one, may have no core but this one.
        yield_now();
    }
}

/// What a processor still has itself: left by a carrier that blocks, or spawned by one that has ended, and then the
/// oldest of what is for it alone.
///
/// What was offered counts as stolen, whoever takes it: it left the deque out of turn, so the join that it belongs
/// to may miss, as if by a steal.
pub(crate) fn take_own(processor: &Processor) -> Option<Entry> {
    let offered = || processor.offer.take().inspect(|_| processor.stats.steals.add(1));
    let open = || processor.deque.take_youngest(|_| true).or_else(offered);
    processor.has_something().then(open).flatten().or_else(|| processor.private.take(|_| true))
}

/// The youngest entry of the processor's deque that was spawned in the scope with this key. In an ordered pool, what
/// another scope has put on top of it goes first, elsewhere.
pub(crate) fn take_of_scope(processor: &Processor, key: usize) -> Option<Entry> {
    let ordered = processor.pool().config.ordered;
    let mut covered = false;
    processor.deque.take_youngest(|entry| {
        let ours = crate::api::scope::belongs_to(entry, key);
        covered |= ordered && !ours && !crate::api::scope::belongs_to(entry, 0);
        ours && !covered
    })
}

/// Whatever can be had now, for a carrier that cannot hand its processor over.
pub(crate) fn take_anything(processor: &Processor) -> Option<Entry> {
    take_own(processor).or_else(|| processor.pool().take_queued()).or_else(|| {
        let victim = random_victim(processor)?;
        victim.offer.take().or_else(|| rob(processor, victim, 0, || true))
    })
}

/// A uniformly random other processor, if that one has something; else the next one that has; else the random one, if it
/// runs. A pool can be much larger than the machine, with one processor that has all the entries and others that block:
/// who looked at one processor at a time would find the entries after as many tries as there are processors.
pub(super) fn random_victim(processor: &Processor) -> Option<&Processor> {
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

/// Tries to get the oldest entry of `victim` that descends from `want`, until `stop` says that there is
/// something better to do.
pub(crate) fn rob(
    thief: &Processor,
    victim: &Processor,
    want: usize,
    stop: impl Fn() -> bool,
) -> Option<Entry> {
    if let Some(entry) = free(victim, want) {
        return Some(entry);
    }
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
            let escalate = (waited > ESCALATE || !victim.is_busy()) && !victim.deque.looks_empty();
            if escalate || waited > STAND || stop() || !victim.is_busy() {
                if victim.requests.cancel(&thief.post) {
                    return if escalate { escalated(thief, victim, want) } else { None };
                }
                return answered(thief);
            }
        }
        pause(thief);
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

/// The oldest entry of `victim`, if nothing stands in the way.
fn free(victim: &Processor, want: usize) -> Option<Entry> {
    super::steal_free(victim, want).inspect(|entry| {
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
    match super::rob(thief, victim, || {
        victim.deque.steal(want, |entry| entry.stolen(Place::Nowhere, &victim.deque))
    }) {
        Steal::Success(entry) => {
            thief.stats.escalations.add(1);
            Some(entry)
        }
        Steal::Empty | Steal::Retry => None,
    }
}

/// Lets time pass; where there are more processors than cores, lets somebody else use it.
pub(crate) fn pause(processor: &Processor) {
    if processor.pool().config.crowded { yield_now() } else { spin_loop() }
}

/// What a waiting carrier should do next.
pub(crate) enum Wait {
    /// Look at the latch again.
    Again,
    /// Run this entry, which descends from what is waited for.
    Help(Entry),
    /// Give the processor to this carrier, whose turn it is.
    Carrier(NonNull<Carrier>),
    /// Hand the processor over: there is other work for it.
    OtherWork,
    /// Return the processor: there has been nothing for it for long.
    Nothing,
}

/// How long a waiting carrier has seen what.
pub(crate) struct Patience {
    pub(super) start: Instant,
    pub(super) other_work_since: Option<Instant>,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience { start: Instant::now(), other_work_since: None }
    }

    /// One round of waiting for something whose descendants have the root `key`.
    pub(crate) fn wait(&mut self, processor: &Processor, key: usize, done: impl Fn() -> bool) -> Wait {
        let pool = processor.pool();
        processor.answer();
        if let Some(own) = Patience::own(processor, key) {
            return own;
        }
        // Not before: who works off entries of its own is busy, and answers between them.
        processor.set_busy(false);
        let mut other_work = pool.has_queued() || processor.offer.stands();
        for victim in pool.processors() {
            if std::ptr::eq(victim, processor) {
                continue;
            }
            if victim.deque.root() == key && victim.is_busy() {
                processor.stats.attempts.add(1);
                if let Some(entry) = rob(processor, victim, key, &done) {
                    processor.stats.steals.add(1);
                    processor.stats.helps.add(1);
                    return Wait::Help(entry);
                }
            } else if victim.has_something() {
                other_work = true;
            }
        }
        self.consider(processor, other_work)
    }

    /// What a waiting carrier does with what its processor has itself: of the scope we wait for, or left by others.
    pub(super) fn own(processor: &Processor, key: usize) -> Option<Wait> {
        if !processor.deque.looks_empty() {
            return Some(take_of_scope(processor, key).map_or(Wait::OtherWork, Wait::Help));
        }
        if !processor.private.looks_empty() {
            return match processor.private.take(|entry| crate::api::scope::belongs_to(entry, key)) {
                Some(entry) => Some(Wait::Help(entry)),
                None => Some(Wait::OtherWork),
            };
        }
        None
    }

    /// What a waiting carrier does that has seen other work, or none, and nothing of its own.
    pub(super) fn consider(&mut self, processor: &Processor, other_work: bool) -> Wait {
        let now = Instant::now();
        let waited = now.duration_since(self.start);
        if !other_work {
            self.other_work_since = None;
            if waited > BEFORE_PARKING {
                return Wait::Nothing;
            }
        } else if now.duration_since(*self.other_work_since.get_or_insert(now)) > BEFORE_HAND_OVER {
            return Wait::OtherWork;
        }
        // Whoever runs what this one waits for, a thief that was just woken for one, may have no core but this one.
        if waited > BEFORE_YIELDING {
            yield_now()
        } else {
            pause(processor)
        }
        Wait::Again
    }
}
