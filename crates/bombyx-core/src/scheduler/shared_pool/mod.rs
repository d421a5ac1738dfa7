//! What processors do that share one pool of ready threads: `fifo`, `busy-leaves` and `depth-first:K` differ in their
//! [`Rules`] only.
//!
//! The limit of every deque stays poisoned, so that every fork attends; there its entry is moved into the pool
//! ([`crate::protocol::ready::shared`] has the protocol), and its join looks for it there. A frame that waits gives up its
//! processor, which takes what is next: on its own carrier if that is the frame's own half, directly on the next
//! carrier if that is one, else on a spare.

pub(super) mod busy_leaves;
pub(super) mod depth_first;
pub(super) mod fifo;

use super::give_up::{give_up, run_dummy};
use super::work_stealing::{Patience, SEARCH, SEARCH_IN_COMPANY, Wait, pause};
use crate::machine::current;
use crate::machine::processor::Processor;
use crate::profile::Aside;
use crate::protocol::carrier::Carrier;
use crate::protocol::job::{Enabled, Entry};
use crate::protocol::mailbox::Mail;
use crate::protocol::ready::list::Node;
use crate::protocol::ready::shared::{Order, SharedPool, Taken, Turn};
use std::ptr::NonNull;
use std::time::Instant;

/// What distinguishes the schedulers with one pool.
#[derive(Clone, Copy)]
pub(in crate::scheduler) struct Rules {
    /// Which thread is next.
    pub(super) order: Order,
    /// A join gets its own half back only when that is next, and who waits gives way to whatever is next at once.
    /// Otherwise a join takes its half back in any case, and waits a little for one that runs elsewhere.
    pub(super) in_turn: bool,
}

/// See the module text.
pub(crate) struct Shared {
    rules: Rules,
    pub(crate) pool: SharedPool,
}

impl Shared {
    pub(super) fn new(rules: Rules, processors: usize) -> Shared {
        Shared { rules, pool: SharedPool::new(rules.order, processors) }
    }

    pub(super) fn search(&self, processor: &Processor) -> Option<Entry> {
        processor.set_busy(false);
        let entry = self.search_until(processor);
        if entry.is_some() {
            processor.pool().found_work();
            processor.set_busy(true);
        }
        entry
    }

    fn search_until(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        // What the one who gave up the processor took for it.
        if let Mail::Entry(entry) = processor.post.mailbox.pick_up() {
            processor.stats.steals.add(1);
            return Some(entry);
        }
        let mut start = None;
        loop {
            if let Some(entry) = self.take(processor) {
                return Some(entry);
            }
            let now = Instant::now();
            let patience = if pool.enough_searchers() { SEARCH_IN_COMPANY } else { SEARCH };
            if now.duration_since(*start.get_or_insert(now)) > patience {
                return None;
            }
            pause(processor);
        }
    }

    /// What is next for a processor that works on nothing. Carriers that come back from blocking are not kept waiting,
    /// new programs are.
    fn take(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        if let Some(entry) = pool.take_queued_carrier().or_else(|| processor.private.take(|_| true)) {
            self.pool.leave(processor.index);
            return Some(entry);
        }
        self.take_next(processor).or_else(|| pool.take_queued())
    }

    /// What is next in the pool. Whoever is scheduled anew has a new quota.
    fn take_next(&self, processor: &Processor) -> Option<Entry> {
        loop {
            processor.stats.attempts.add(1);
            match self.pool.take(processor.index) {
                Taken::Entry(entry) => {
                    processor.stats.steals.add(1);
                    processor.meter.reset(super::first_quota(processor.pool().config.scheduler));
                    return Some(entry);
                }
                Taken::Dummy => run_dummy(processor),
                Taken::Nothing => return None,
            }
        }
    }

    pub(super) fn wait(&self, patience: &mut Patience, processor: &Processor, key: usize) -> Wait {
        if let Some(own) = Patience::own(processor, key) {
            return own;
        }
        // A closure of the scope that we wait for.
        let ours = |entry| crate::api::scope::belongs_to(entry, key);
        let found = if self.rules.in_turn { self.pool.take_next_if(ours) } else { self.pool.take_any(ours) };
        if let Some(entry) = found {
            processor.stats.steals.add(1);
            processor.stats.helps.add(1);
            return Wait::Help(entry);
        }
        let other_work = processor.pool().has_queued() || self.pool.len() > 0;
        if !self.rules.in_turn || !other_work {
            return patience.consider(processor, other_work);
        }
        match self.pool.take_carrier(processor.index) {
            Some(ready) => {
                processor.stats.steals.add(1);
                Wait::Carrier(ready)
            }
            None => Wait::OtherWork,
        }
    }

    pub(super) fn take_anything(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        processor
            .private
            .take(|_| true)
            .or_else(|| self.pool.take_next_if(|_| true).inspect(|_| processor.stats.steals.add(1)))
            .or_else(|| pool.take_queued())
    }

    pub(super) fn enabled(&self, processor: &Processor, carrier: NonNull<Carrier>) -> Enabled {
        if !self.rules.in_turn {
            return Some(carrier);
        }
        self.pool.put_frame(processor.index, Entry::carrier(carrier));
        None
    }

    pub(super) fn take_back(&self, entry: Entry, node: Node, in_turn: bool) -> bool {
        self.pool.take_back(entry, node, in_turn && self.rules.in_turn)
    }

    pub(super) fn heed_quota(&self, processor: &Processor) {
        let quota = super::first_quota(processor.pool().config.scheduler);
        let exhausted = processor.meter.is_exhausted();
        // The first half of a join is a new thread, with a quota of its own.
        processor.meter.reset(quota);
        if exhausted {
            self.wait_for_turn(processor);
        }
    }

    /// Lets others go first, and dummy threads if any are owed. A frame that was set aside looks again when it is given
    /// a processor: its carrier may have needed long to wake up, and the memory is taken only now.
    #[cold]
    fn wait_for_turn(&self, processor: &Processor) {
        let _aside = Aside::begin(processor.pool());
        let dummies = processor.meter.take_dummies();
        processor.stats.give_ups.add(1);
        processor.stats.dummies.add(dummies);
        if dummies > 0 {
            self.pool.delay(processor.index, dummies);
        }
        loop {
            let processor = current::held();
            match self.pool.turn(processor.index) {
                Turn::Now => return,
                Turn::Dummy => run_dummy(processor),
                Turn::Later => {
                    let leave = |frame| self.pool.put_frame(processor.index, frame);
                    if !give_up(processor, leave, || self.take_next(processor)) {
                        return self.pool.delay(processor.index, 0);
                    }
                }
            }
        }
    }
}
