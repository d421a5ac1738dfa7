//! `work-stealing`: what idle and waiting processors do. `heterogeneous:BETA` uses the same code, and its processors
//! also exchange CPUs ([`super::heterogeneous`]).
//!
//! **Not here:** deques ([`crate::protocol::deque`]), and how idle processors rest ([`crate::machine`]).
//!
//! Blumofe and Leiserson, §4: a processor whose deque is empty becomes a thief. It picks a random victim and takes the
//! oldest entry of the victim's deque. It repeats this until it finds an entry. Here it rests if it finds none for a while, at
//! most about [`SEARCH`]. [`steal`] explains how a thief picks its victim and takes an entry.
//!
//! **A waiting processor** takes only descendants of what it waits for. The waiting frame cannot go on before these
//! have ended anyway. They need no more stack than the serial program, and cannot deadlock unless the serial program
//! does. If there is only other work, the carrier hands the processor over to another carrier. In a pool with fixed
//! threads the carrier cannot do that, and waits by other rules ([`fixed`]).

mod fixed;
pub(super) mod steal;

use crate::machine::patience::{BEFORE_YIELDING, Patience, Wait, Waited};
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::rhythm::SHORT_SEARCH;
use crate::machine::strategy::{AnyCpus, Cpus, Strategy};
use crate::protocol::job::{Entry, Job, Place, belongs_to};
use crate::protocol::latch::Latch;
use crate::system::primitive::yield_now;
use std::time::{Duration, Instant};
use steal::{
    expected_victim, own_work, random_victim_nearby, steal_anything, take_of_scope, take_own, try_steal,
};

/// How long a processor searches before it rests in the idle list.
pub(super) const SEARCH: Duration = Duration::from_micros(100);
/// How long a processor searches while enough others search. If this were zero, the next fork would wake the processor
/// again.
const SEARCH_IN_COMPANY: Duration = Duration::from_micros(10);

/// How long a processor searches: for `alone`, or for a shorter time while enough others search.
pub(super) fn patience_to_search(pool: &PoolCore, alone: Duration) -> Duration {
    if pool.enough_searchers() { SEARCH_IN_COMPANY } else { alone }
}

/// See the module text.
pub(super) struct WorkStealing<C = AnyCpus> {
    pub(super) cpus: C,
}

impl<C: Cpus> Strategy for WorkStealing<C> {
    fn search(&self, processor: &Processor) -> Option<Entry> {
        processor.beat.searches(&processor.pool().rhythm);
        let entry = search_until(processor);
        if entry.is_some() {
            processor.beat.found();
            processor.pool().found_work();
            processor.set_busy(true);
        }
        entry
    }

    fn take_own(&self, processor: &Processor) -> Option<Entry> {
        take_own(processor)
    }

    fn take_next(&self, processor: &Processor) -> Option<Entry> {
        take_own(processor)
    }

    #[inline]
    fn take_next_of_scope(&self, processor: &Processor, root: usize) -> Option<Entry> {
        if processor.deque.looks_empty() {
            return None;
        }
        processor.deque.take_bottom(|entry| belongs_to(entry, root))
    }

    fn take_oldest_own(&self, processor: &Processor) -> Option<Entry> {
        if processor.deque.looks_empty() {
            return None;
        }
        processor.deque.take_top(|entry| entry.taken(Place::Nowhere))
    }

    /// Overrides the default: a processor that begins to wait stays busy while it still has entries.
    fn cease(&self, _processor: &Processor) {}

    fn wait(
        &self,
        patience: &mut Patience,
        processor: &Processor,
        root: usize,
        done: &dyn Fn() -> bool,
    ) -> Wait {
        let pool = processor.pool();
        processor.answer();
        if let Some(own) = own_work(processor, root) {
            return own;
        }
        // Not earlier: while the processor has entries of its own, it counts as busy and answers thieves between them.
        processor.set_busy(false);
        let mut other_work = pool.has_queued() || processor.offer.stands();
        for victim in pool.processors() {
            if std::ptr::eq(victim, processor) {
                continue;
            }
            // Entries of a deque with the root `root` descend from what this processor waits for.
            if victim.deque.root() == root && victim.is_busy() {
                processor.stats.attempts.add(1);
                if let Some(entry) = try_steal(processor, victim, root, done) {
                    processor.stole(entry, Some(victim));
                    processor.stats.helps.add(1);
                    return Wait::Help(entry);
                }
            } else if victim.has_something() {
                other_work = true;
            }
        }
        patience.consider(pool.crowded(), other_work)
    }

    fn take_sibling(&self, processor: &Processor, root: usize) -> Option<Entry> {
        if processor.deque.looks_empty() { None } else { take_of_scope(processor, root) }
    }

    fn take_anything(&self, processor: &Processor) -> Option<Entry> {
        take_own(processor).or_else(|| processor.pool().take_queued()).or_else(|| steal_anything(processor))
    }

    fn waited(&self, processor: &Processor) {
        processor.be_generous();
    }

    fn wait_fixed(&self, latch: &Latch, root: usize, job: Option<&Job>) -> Waited {
        fixed::wait(latch, root, job)
    }

    fn attend(&self, processor: &Processor) {
        let profiled = processor.begin_service();
        processor.expose_if_needed(!profiled && processor.exposes());
        processor.answer();
        processor.offer_oldest();
        processor.pool().rhythm.work_comes(SEARCH);
        processor.wake_sleeper();
    }

    fn cpus(&self) -> &dyn Cpus {
        &self.cpus
    }

    fn posts_sentries(&self) -> bool {
        true
    }

    fn allows_fixed_threads(&self) -> bool {
        self.cpus.least() == 0
    }
}

/// Yields if the victim's holder was last seen on the caller's CPU. The holder's fork may have woken the caller there.
/// Then the holder cannot run and answer while the caller waits for the answer.
fn make_way(processor: &Processor, victim: &Processor) {
    processor.note_cpu();
    if processor.shares_cpu(victim) {
        yield_now();
    }
}

fn search_until(processor: &Processor) -> Option<Entry> {
    let pool = processor.pool();
    if let Some(entry) = processor.take_gift() {
        return Some(entry);
    }
    let mut start = None;
    let mut searched = Duration::ZERO;
    loop {
        if let Some(entry) = take_own(processor).or_else(|| pool.take_queued()) {
            return Some(entry);
        }
        processor.set_busy(false);
        let victim = random_victim_nearby(processor).or_else(|| expected_victim(processor));
        let found = victim.and_then(|victim| {
            let better = || pool.has_queued() || victim.offer.stands();
            victim.offer.take().or_else(|| {
                if start.is_none() && !victim.has_something() {
                    make_way(processor, victim);
                }
                try_steal(processor, victim, 0, better)
            })
        });
        if let Some(entry) = found {
            processor.stole(entry, victim);
            if searched > SHORT_SEARCH {
                pool.rhythm.long_search_was_worth_it();
            }
            return Some(entry);
        }
        let now = Instant::now();
        searched = now.duration_since(*start.get_or_insert(now));
        let alone = if pool.rhythm.searches_are_in_vain() { SHORT_SEARCH } else { SEARCH };
        if searched > patience_to_search(pool, alone) || pool.is_stopping() {
            // A search that is short because others search says nothing.
            if searched > alone {
                pool.rhythm.rests();
            }
            return None;
        }
        processor.answer();
        // A thread that is about to bring work, perhaps from outside the pool, may have no other core to run on.
        if pool.crowded() || searched > BEFORE_YIELDING {
            processor.make_room();
            yield_now();
        }
    }
}
