//! `dfdeques:K`: DFDeques(K), Narlikar §3. This is work stealing with two additions. All deques are in one list R, in
//! the order of the serial depth-first execution, and a processor may allocate at most K bytes net from one steal to
//! the next. K trades space against granularity: K = ∞ is work stealing, and runs as such; a small K is close to depth
//! first. Expected space is S1 + O(min(K, S1)·P·D) (Theorem 4.3).
//!
//! **Not here:** the list R itself ([`crate::protocol::ready`]), and the counting of allocations ([`crate::alloc`]).
//!
//! | rule of Figure 5 | here |
//! |---|---|
//! | *fork*: push the parent, run the child | the fast path, as in work stealing: the entry is the second half |
//! | *suspend*, *terminate*: take from the own deque | the join's pop, on the fast path; else [`Dfdeques::take_own`](Strategy::take_own) |
//! | *terminate* wakes the parent: run it next | the carrier that waits gets the processor, with its deque ([`crate::machine::wait`]) |
//! | *memory quota exhausted*: push the current thread, give up the deque, steal | [`Dfdeques::heed_quota`], at the next fork |
//! | deque empty and nothing to run: delete it, steal | [`Dfdeques::search`] |
//! | *steal*: a new quota; r uniform in 1..P; the oldest thread of the r-th deque of R; a new deque directly right of it | [`Dfdeques::steal`] |
//! | m > K bytes: fork ⌈m/K⌉ dummy threads, each costs a deque | a count below the frame in the deque that is given up; a thief that meets it counts one off and steals again |
//!
//! A dummy thread does nothing, so it needs no closure. Nobody must be started to unfold the dummies, so they need no
//! binary tree either: all of them are there at once, and count as the deques over which the tree would spread.
//! [`crate::reserve`] announces the allocation that they delay. An allocation that is not announced cannot be delayed,
//! because nobody may be stopped inside the allocator; it does not count. Small blocks use up the quota without being
//! announced. Before the next fork, a strand can exceed the quota by what it allocates.
//!
//! A waiting carrier keeps its processor for a while, as in work stealing, and helps. It may take descendants of what
//! it waits for, but only from the leftmost P deques, so helping steals nothing that a thief could not. If there is
//! other work, the processor is handed over, and then it steals as above.
//!
//! The list's protocol is described in [`crate::protocol::ready::ranks`].
//!
//! # A lock held across a fork
//!
//! A frame that gives up its deque can be in the middle of anything, even of a critical section, and waits for a
//! processor although it could go on. Threads that wait for the lock without [`crate::blocking`] keep their processors.
//! If all processors wait like this, none is left for the frame that holds the lock. So take a lock that is held across
//! forks in `blocking(|| lock.lock())`. Work stealing does not need this; `fifo` and `depth-first` do.

mod tuner;

use super::give_up::{Courtesy, give_up};
use super::work_stealing::steal::{self, escalate, own_work, try_steal_by};
use super::work_stealing::{SEARCH, patience_to_search};
use crate::machine::patience::{Patience, Wait};
use crate::machine::processor::Processor;
use crate::machine::stats::Stats;
use crate::machine::strategy::Strategy;
use crate::protocol::job::{Entry, Place};
use crate::protocol::mailbox::Mailbox;
use crate::protocol::ready::list::Node;
use crate::protocol::ready::ranks::{Drawn, Ranks};
use crate::system::primitive::pause;
use bombyx_base::Quota;
use std::ptr;
use std::time::Instant;
use tuner::Tuner;

/// See the module text.
pub(super) struct Dfdeques {
    ranks: Ranks,
    quota: Force,
    courtesy: Courtesy,
}

/// How K is determined.
enum Force {
    Fixed(i64),
    Auto(Tuner),
}

impl Strategy for Dfdeques {
    fn search(&self, processor: &Processor) -> Option<Entry> {
        processor.set_busy(false);
        if let Force::Auto(tuner) = &self.quota {
            tuner.rests(processor.index, &processor.pool().gauges.heap);
        }
        let entry = self.search_until(processor);
        if entry.is_some() {
            processor.pool().found_work();
            processor.set_busy(true);
            if let Force::Auto(tuner) = &self.quota {
                tuner.works(processor.index);
            }
        }
        entry
    }

    fn take_own(&self, processor: &Processor) -> Option<Entry> {
        steal::take_own(processor)
    }

    fn wait(
        &self,
        patience: &mut Patience,
        processor: &Processor,
        root: usize,
        done: &dyn Fn() -> bool,
    ) -> Wait {
        processor.answer();
        if let Some(own) = own_work(processor, root) {
            return own;
        }
        if let Some(entry) = self.help(processor, root, done) {
            processor.stole(entry, None);
            processor.stats.helps.add(1);
            self.renew(processor);
            return Wait::Help(entry);
        }
        let pool = processor.pool();
        let others = || pool.processors().iter().any(Processor::has_something);
        // What is left in the list is there for all that draw, so nobody needs this core to bring it.
        let left = self.ranks.has_left();
        patience.consider(pool.crowded() && !left, left || pool.has_queued() || others())
    }

    fn take_anything(&self, processor: &Processor) -> Option<Entry> {
        steal::take_own(processor)
            .or_else(|| processor.pool().take_queued())
            .or_else(|| self.draw(processor).inspect(|&entry| processor.stole(entry, None)))
    }

    fn take_back(&self, entry: Entry, node: Node, _in_turn: bool) -> bool {
        self.ranks.take_back(entry, node)
    }

    fn served(&self, victim: &Processor, mailbox: &Mailbox) {
        let all = victim.pool().processors();
        if let Some(thief) = all.iter().find(|thief| ptr::eq(&thief.post.mailbox, mailbox)) {
            self.ranks.follow(victim.index, thief.index);
        }
    }

    /// The present K.
    fn quota(&self) -> i64 {
        match &self.quota {
            Force::Fixed(k) => *k,
            Force::Auto(tuner) => tuner.quota(),
        }
    }

    /// The case *memory quota exhausted*.
    fn heed_quota(&self, processor: &Processor) {
        if !processor.meter.is_exhausted() {
            return;
        }
        let pool = processor.pool();
        if let Force::Auto(tuner) = &self.quota {
            tuner.give_up(processor.index, processor.meter.dummies(), &pool.gauges.heap);
        }
        let dummies = processor.meter.take_dummies();
        let delay = dummies.saturating_mul(processor.meter.quota() as u64);
        self.renew(processor);
        let leave = |frame| {
            processor.stats.give_ups.add(1);
            processor.stats.dummies.add(dummies);
            self.ranks.give_up(processor.index, &processor.deque, frame, delay);
        };
        // If no thread can be started, the frame goes on and the dummy threads are forgiven.
        let _gave_up = give_up(processor, leave, || self.draw_left(processor));
    }

    fn arrived(&self, processor: &Processor) {
        self.ranks.arrive(processor.index);
    }

    fn retiring(&self, processor: &Processor) {
        if processor.deque.looks_empty() {
            self.ranks.leave(processor.index);
        }
    }

    fn looks_full(&self) -> bool {
        self.ranks.has_left()
    }

    fn tell(&self, stats: &mut Stats) {
        stats.quotas.peak_deques = self.ranks.peak() as u64;
    }

    fn forget_peaks(&self) {
        self.ranks.forget_peak();
    }
}

impl Dfdeques {
    pub(super) fn new(quota: Quota, processors: usize) -> Dfdeques {
        let quota = match quota {
            Quota::Auto => Force::Auto(Tuner::new(processors)),
            quota => Force::Fixed(quota.limit()),
        };
        Dfdeques { ranks: Ranks::new(processors), quota, courtesy: Courtesy::new(processors) }
    }

    fn search_until(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        // The deque has a rank already.
        if let Some(entry) = processor.take_gift() {
            self.renew(processor);
            return Some(entry);
        }
        let mut start = None;
        loop {
            if let Some(entry) = steal::take_own(processor) {
                processor.count_own();
                // Entries that a blocking carrier left in the deque have a rank. A broadcast has none.
                self.ranks.arrive(processor.index);
                return Some(entry);
            }
            if let Some(entry) = self.steal(processor) {
                return Some(entry);
            }
            processor.answer();
            // This processor has no deque now. So at most P - 1 deques have owners, one of the leftmost P has none, and one draw in P
            // finds it. To let another program have the core, or to lie down, would take much longer.
            if self.ranks.has_left() {
                continue;
            }
            let now = Instant::now();
            if now.duration_since(*start.get_or_insert(now)) > patience_to_search(pool, SEARCH) {
                return None;
            }
            pause(pool.crowded());
        }
    }

    /// A new quota: a steal begins.
    fn renew(&self, processor: &Processor) {
        processor.meter.reset(self.quota());
    }

    /// The procedure *steal* of Figure 5, once. On success, the processor has a deque right of its victim's.
    fn steal(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        self.ranks.leave(processor.index);
        self.renew(processor);
        if let Some(entry) = pool.take_queued() {
            self.ranks.arrive(processor.index);
            return Some(entry);
        }
        let entry = self.draw(processor)?;
        processor.stole(entry, None);
        Some(entry)
    }

    /// An entry of one of the leftmost P deques.
    fn draw(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        let all = pool.processors();
        loop {
            processor.stats.attempts.add(1);
            match self.ranks.draw(processor.index, processor.rng.below(all.len()), self.quota() as u64) {
                Drawn::Nothing => return None,
                Drawn::Entry(entry) => return Some(entry),
                Drawn::Dummy => self.courtesy.run_dummy(processor),
                Drawn::Owned(owner) => {
                    let victim = &all[owner];
                    let promising = if self.ranks.has_left() {
                        !victim.deque.looks_empty()
                    } else {
                        victim.is_busy() || victim.has_something()
                    };
                    if owner == processor.index || !promising {
                        return None;
                    }
                    return self.try_steal(processor, victim, 0, || pool.has_queued());
                }
            }
        }
    }

    /// The first entry that a thief would find, if taking it needs no victim's help.
    fn draw_left(&self, processor: &Processor) -> Option<Entry> {
        let all = processor.pool().processors();
        loop {
            processor.stats.attempts.add(1);
            match self.ranks.draw(processor.index, processor.rng.below(all.len()), self.quota() as u64) {
                Drawn::Entry(entry) => {
                    processor.stole(entry, None);
                    return Some(entry);
                }
                Drawn::Dummy => self.courtesy.run_dummy(processor),
                Drawn::Owned(owner) if !all[owner].deque.looks_empty() => return None,
                // At least our own deque, which has no owner now, is there.
                Drawn::Owned(_) | Drawn::Nothing if self.ranks.has_left() => {}
                Drawn::Owned(_) | Drawn::Nothing => return None,
            }
        }
    }

    /// A descendant of what a carrier waits for, from one of the leftmost P deques.
    fn help(&self, processor: &Processor, root: usize, done: &dyn Fn() -> bool) -> Option<Entry> {
        let all = processor.pool().processors();
        if let Drawn::Entry(entry) = self.ranks.draw_descendant(processor.index, all.len(), root) {
            return Some(entry);
        }
        let descends = |other: &&Processor| other.deque.root() == root && other.is_busy();
        // A look without the lock first.
        all.iter().find(|other| other.index != processor.index && descends(other))?;
        let owner =
            self.ranks.find_owner(all.len(), |owner| owner != processor.index && descends(&&all[owner]))?;
        processor.stats.attempts.add(1);
        self.try_steal(processor, &all[owner], root, done)
    }

    /// Robs `victim`. The thief then has a deque right of the victim's.
    fn try_steal(
        &self,
        thief: &Processor,
        victim: &Processor,
        want: usize,
        stop: impl Fn() -> bool,
    ) -> Option<Entry> {
        try_steal_by(thief, victim, want, stop, |thief, victim, want| {
            let steal = || victim.deque.steal(want, |entry| entry.stolen(Place::Nowhere, &victim.deque));
            escalate(thief, self.ranks.rob(victim.index, thief.index, steal))
        })
    }
}
