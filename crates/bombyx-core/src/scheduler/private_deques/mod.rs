//! Work stealing with private deques: what idle, waiting and polled processors do when only its holder touches a deque
//! ([`crate::protocol::deque::Deque::private`]). A thief asks. Its victim hands out its oldest entry when it polls: at
//! forks, at [`checkpoint`](crate::checkpoint), between the blocks of loops, and while it waits. A [`Channel`] is how
//! they ask and answer: [`crate::protocol::query`] with loads and stores, [`private_cas`] with compare-and-swap.
//!
//! **Not here:** the protocols of queries and of join resolution ([`crate::protocol`]), and the scheduler of the rw
//! paper to the letter (`bombyx-rw`).
//!
//! Whom to rob, what a waiting processor may take, and when it is handed over are as in [`super::work_stealing`]. Two
//! things differ.
//!
//! **A thief waits for its victim.** Nobody is robbed without its help, so a victim deep in a serial piece delays its
//! thief. A thief that has waited long withdraws, asks for a gift, and rests. The victim's next poll wakes it, with an
//! entry. A processor that rests because there was nothing to do is woken without an entry, and asks.
//!
//! **A processor polls inside what it runs, never between taking an entry and running it.** Otherwise it could be
//! robbed of what it just got, and so could the next, for ever (the simulator's mutation `poll-between-threads`).
//! Between two entries it polls before it takes the next one.
//!
//! Separate functions at the end of this file do everything that takes a lock or enters the kernel: the pool's queue,
//! broadcasts, sleeping and waking, the clock.

mod join_resolution;
pub(super) mod private_cas;
pub(super) mod read_write;

use super::work_stealing::patience_to_search;
use super::work_stealing::steal::random_victim;
use crate::machine::observer::Aside;
use crate::machine::patience::{BEFORE_HAND_OVER, BEFORE_PARKING, Patience, Wait, Waited};
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::strategy::{Counted, Strategy};
use crate::protocol::carrier::Enabled;
use crate::protocol::job::{Entry, Job, Place, belongs_to};
use crate::protocol::mailbox::Mailbox;
use crate::protocol::resolution::Resolution;
use crate::system::barrier;
use crate::system::primitive::{Looks, pause};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// How long a query stays with one victim before it is withdrawn. Withdrawing interrupts everyone, so this is not
/// short.
const STAND: Duration = Duration::from_millis(1);
/// How long an idle processor looks for work before it rests. A victim may run for several milliseconds until its next poll.
/// The thief must still be looking then, so that processors get most of their work by asking.
const LOOK: Duration = Duration::from_millis(10);
/// How many looks at the answer pass between two looks at the clock. Then the thief also checks whether its query was
/// overwritten or its poison was lost.
const LOOKS: u32 = 32;

/// Work stealing with private deques, over this channel.
pub(super) struct PrivateDeques<C>(PhantomData<C>);

impl<C: Channel> PrivateDeques<C> {
    pub(super) fn new() -> PrivateDeques<C> {
        PrivateDeques(PhantomData)
    }
}

impl<C: Channel> Strategy for PrivateDeques<C> {
    fn search(&self, processor: &Processor) -> Option<Entry> {
        let entry = search_until::<C>(processor);
        if entry.is_some() {
            processor.set_searching(false);
            processor.set_busy(true);
        }
        entry
    }

    fn take_own(&self, processor: &Processor) -> Option<Entry> {
        take_own(processor)
    }

    fn take_oldest_own(&self, processor: &Processor) -> Option<Entry> {
        processor.deque.private().take_oldest().inspect(|entry| entry.taken_out())
    }

    fn cease(&self, processor: &Processor) {
        cease::<C>(processor);
    }

    fn wait(
        &self,
        patience: &mut Patience,
        processor: &Processor,
        root: usize,
        done: &dyn Fn() -> bool,
    ) -> Wait {
        wait::<C>(patience, processor, root, done)
    }

    fn take_anything(&self, processor: &Processor) -> Option<Entry> {
        take_anything::<C>(processor)
    }

    fn wait_for_branch(&self, job: &Job, resolution: NonNull<Resolution>) -> Waited {
        join_resolution::wait(job, resolution)
    }

    fn end_branch(&self, resolution: &Resolution) -> Enabled {
        join_resolution::end(resolution)
    }

    /// Answers a poisoned limit: at a fork, or at a poll in code that does not fork.
    fn attend(&self, processor: &Processor) {
        processor.deque.private().attend();
        C::answer(processor);
        C::watch(processor);
        processor.choose_barrier();
        // Pairs with `heavy` of a sleeper.
        if processor.relies() {
            barrier::light();
        } else {
            attend_always(processor);
        }
        let pool = processor.pool();
        if pool.observer().is_some() {
            processor.deque.poison();
        }
        if pool.sleepers.any_resting() {
            rouse(processor);
        }
    }

    /// Moves the entries of the deque to the pool's queue.
    fn lets_go(&self, processor: &Processor) {
        if !processor.deque.looks_empty() {
            flush(processor);
        }
    }

    fn retiring(&self, processor: &Processor) {
        processor.set_searching(false);
    }

    fn start_search(&self, processor: &Processor) {
        processor.set_searching(true);
    }

    /// Searchers are not counted: that would take a locked instruction.
    fn give_up_search(&self, _pool: &PoolCore) {}

    fn searchers(&self, pool: &PoolCore) -> usize {
        pool.processors().iter().filter(|processor| processor.is_searching()).count()
    }

    /// Entries in a deque do not count: only its owner can give them, and does so when it attends.
    fn look_before_rest(&self, pool: &PoolCore, all_idle: bool) -> bool {
        if all_idle { pool.has_queued() } else { pool.call_owners() }
    }

    fn has_private_deques(&self) -> bool {
        true
    }

    fn counted(&self) -> Counted {
        Counted::Never
    }
}

/// How thieves ask and victims answer.
pub(super) trait Channel: Send + Sync {
    /// What a thief remembers of its question.
    type Ticket: Copy;

    /// The thief asks for an entry that descends from `want` (0 accepts any). `None` if the victim takes no question
    /// now.
    fn ask(thief: &Processor, victim: &Processor, want: usize) -> Option<Self::Ticket>;

    /// Whether an answer may still come.
    fn is_pending(thief: &Processor, victim: &Processor, ticket: Self::Ticket) -> bool;

    /// Repeats the question, if it may have been lost.
    fn repeat(thief: &Processor, victim: &Processor, ticket: Self::Ticket);

    /// Makes sure that no answer can come any more, and returns the answer that came.
    fn conclude(thief: &Processor, victim: &Processor, ticket: Self::Ticket) -> Option<Entry>;

    /// The victim answers the thief that waits here, if there is one.
    fn answer(victim: &Processor);

    /// Tells the job of an entry that was taken out of the deque for somebody else.
    fn taken(victim: &Processor, entry: Entry);

    /// Looks after the joins that the processor watches.
    fn watch(processor: &Processor);
}

/// The oldest entry, for a thief that wants only descendants of `want` (0 accepts any).
pub(super) fn grant<C: Channel>(victim: &Processor, want: usize) -> Option<Entry> {
    if want != 0 && want != victim.deque.root() {
        return None;
    }
    victim.deque.private().take_oldest().inspect(|&entry| C::taken(victim, entry))
}

/// The processor has nothing to run: its carrier waits. Entries that others may take are given first. As long as some
/// are left, the round stays open.
fn cease<C: Channel>(processor: &Processor) {
    if !processor.deque.looks_empty() {
        C::answer(processor);
    }
    if processor.deque.looks_empty() {
        processor.set_busy(false);
    }
}

fn search_until<C: Channel>(processor: &Processor) -> Option<Entry> {
    let pool = processor.pool();
    if processor.post.mailbox.has_mail() {
        if let Some(entry) = open_gift(processor) {
            processor.stats.gifts.add(1);
            processor.took(entry, None);
            return Some(entry);
        }
    }
    let mut start = None;
    let withdrawn = processor.stats.withdrawn.get();
    loop {
        cease::<C>(processor);
        if let Some(entry) = take_own(processor) {
            return Some(entry);
        }
        if pool.has_queued() {
            if let Some(entry) = take_queued(processor) {
                return Some(entry);
            }
        }
        let stop = |waited| waited > STAND || pool.has_queued() || !processor.private.looks_empty();
        if let Some(victim) = random_victim(processor) {
            if let Some(entry) = try_steal::<C>(processor, victim, 0, stop) {
                processor.stole(entry, Some(victim));
                return Some(entry);
            }
        }
        let now = clock();
        if now.duration_since(*start.get_or_insert(now)) > patience_to_search(pool, LOOK) {
            // Perhaps somebody had work and did not poll in time.
            processor.post.mailbox.ask_for_gift(processor.stats.withdrawn.get() != withdrawn);
            return None;
        }
        pause(pool.crowded());
    }
}

/// An entry that the processor still has itself: one spawned by a carrier that has ended, else the oldest that only it
/// may run.
fn take_own(processor: &Processor) -> Option<Entry> {
    if !processor.deque.looks_empty() {
        if let Some(entry) = processor.deque.private().take_youngest(|_| true) {
            return Some(entry);
        }
    }
    if processor.private.looks_empty() { None } else { take_private(processor, |_| true) }
}

/// Any entry that can be taken now, for a carrier that cannot hand its processor over.
fn take_anything<C: Channel>(processor: &Processor) -> Option<Entry> {
    take_own(processor).or_else(|| take_queued(processor)).or_else(|| {
        let victim = random_victim(processor)?;
        try_steal::<C>(processor, victim, 0, |waited| waited > BEFORE_HAND_OVER)
    })
}

/// Asks `victim` for its oldest entry that descends from `want`, and waits for the answer. `stop` learns how long it
/// has waited, and says whether there is something better to do.
fn try_steal<C: Channel>(
    thief: &Processor,
    victim: &Processor,
    want: usize,
    stop: impl Fn(Duration) -> bool,
) -> Option<Entry> {
    let ticket = C::ask(thief, victim, want)?;
    thief.stats.queries.add(1);
    victim.deque.poison();
    let start = clock();
    let mut looks = Looks::default();
    while C::is_pending(thief, victim, ticket) {
        if looks.every(LOOKS) {
            C::repeat(thief, victim, ticket);
            C::watch(thief);
            if !victim.deque.poisoned() {
                victim.deque.poison();
            }
            if stop(clock().duration_since(start)) {
                break;
            }
        }
        pause(thief.pool().crowded());
    }
    C::conclude(thief, victim, ticket)
}

/// One round of waiting for something whose descendants have the root `root`.
fn wait<C: Channel>(
    patience: &mut Patience,
    processor: &Processor,
    root: usize,
    done: &dyn Fn() -> bool,
) -> Wait {
    let pool = processor.pool();
    cease::<C>(processor);
    C::watch(processor);
    if !processor.deque.looks_empty() {
        return own_entry(processor, root);
    }
    if !processor.private.looks_empty() {
        return match take_private(processor, |entry| belongs_to(entry, root)) {
            Some(entry) => Wait::Help(entry),
            None => Wait::OtherWork,
        };
    }
    let elsewhere = |but: &Processor| {
        pool.has_queued()
            || pool.processors().iter().any(|other| !std::ptr::eq(other, but) && other.has_something())
    };
    for victim in pool.processors() {
        if std::ptr::eq(victim, processor) || victim.deque.root() != root || !victim.is_busy() {
            continue;
        }
        processor.stats.attempts.add(1);
        let stop =
            |waited| waited > BEFORE_PARKING || waited > BEFORE_HAND_OVER && (done() || elsewhere(victim));
        if let Some(entry) = try_steal::<C>(processor, victim, root, stop) {
            processor.stole(entry, Some(victim));
            processor.stats.helps.add(1);
            return Wait::Help(entry);
        }
    }
    let verdict = patience.verdict(clock(), elsewhere(processor));
    if let Wait::Again = verdict {
        pause(pool.crowded());
    }
    verdict
}

/// A waiting carrier's processor has entries: of the scope that the carrier waits for, or others.
fn own_entry(processor: &Processor, root: usize) -> Wait {
    // In an ordered pool, entries that another scope has put on top of ours go first, on other processors.
    let ordered = processor.pool().config.ordered;
    let mut covered = false;
    let ours = |entry| {
        let ours = belongs_to(entry, root);
        covered |= ordered && !ours && !belongs_to(entry, 0);
        ours && !covered
    };
    processor.deque.private().take_youngest(ours).map_or(Wait::OtherWork, Wait::Help)
}

// ---- Ways to the kernel, and through locks ----------------------------------------------------------------

/// Some processors rest. Wakes one if nobody searches, and attends again at the next fork. If that processor asked in
/// vain before it rested, it gets the oldest entry as a gift.
///
/// Until the sleeper is up, which may take long, the join of a gift can take it back ([`crate::protocol::mailbox`]).
#[cold]
#[inline(never)]
fn rouse(processor: &Processor) {
    let pool = processor.pool();
    let gift = |mailbox: &Mailbox| {
        if !mailbox.wants_gift() {
            return None;
        }
        processor.deque.private().take_oldest().inspect(|entry| entry.taken(Place::Mailbox(mailbox)))
    };
    let wake = || {
        let _aside = Aside::begin(pool);
        pool.wake(gift)
    };
    let found_carrier = pool.processors().iter().any(Processor::is_searching) || wake();
    // If there is no carrier for them, they rest until there is one.
    if found_carrier && pool.sleepers.any_resting() {
        processor.deque.poison();
    }
}

/// Moves the entries of a processor that is about to change hands to the queue. There, others can run them, and joins
/// can take their own halves back.
#[cold]
#[inline(never)]
fn flush(processor: &Processor) {
    let pool = processor.pool();
    pool.put_back(std::iter::from_fn(|| processor.deque.private().take_oldest()));
    pool.wake(|_| None);
}

/// A processor that does not rely on the heavy barrier must attend at every fork and issue fences itself.
#[cold]
#[inline(never)]
fn attend_always(processor: &Processor) {
    processor.deque.poison();
    barrier::full();
}

/// What the waker left for this processor, unless a join took it back.
#[cold]
#[inline(never)]
fn open_gift(processor: &Processor) -> Option<Entry> {
    processor.post.mailbox.pick_up().entry()
}

#[cold]
#[inline(never)]
fn take_queued(processor: &Processor) -> Option<Entry> {
    processor.pool().take_queued()
}

#[cold]
#[inline(never)]
fn take_private(processor: &Processor, wanted: impl FnOnce(Entry) -> bool) -> Option<Entry> {
    processor.private.take(wanted)
}

#[inline(never)]
fn clock() -> Instant {
    Instant::now()
}
