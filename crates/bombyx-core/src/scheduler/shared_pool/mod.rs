//! Schedulers whose processors share one pool of ready threads: `fifo`, `busy-leaves` and `depth-first:K`. They differ
//! only in their [`Rules`].
//!
//! **Not here:** the pool itself. It is in [`crate::protocol::ready`].
//!
//! The limit of every deque stays poisoned, so every fork attends. It then moves its entry into the pool
//! ([`crate::protocol::ready::shared`] has the protocol), and its join looks for the entry there. A frame that waits gives
//! up its processor, which takes the next entry of the pool. If that is the frame's own half, it runs on the same carrier.
//! If it is a ready carrier, that carrier gets the processor. Otherwise a spare gets it.

pub(super) mod busy_leaves;
pub(super) mod depth_first;
pub(super) mod fifo;

use super::give_up::{Courtesy, give_up};
use super::work_stealing::steal::own_work;
use super::work_stealing::{SEARCH, patience_to_search};
use crate::machine::current;
use crate::machine::observer::Aside;
use crate::machine::patience::{Patience, Wait};
use crate::machine::processor::Processor;
use crate::machine::strategy::{Child, Counted, Strategy};
use crate::protocol::carrier::{Carrier, Enabled};
use crate::protocol::job::{Entry, belongs_to};
use crate::protocol::ready::list::Node;
use crate::protocol::ready::shared::{Order, SharedPool, Taken, Turn};
use crate::system::primitive::pause;
use std::ptr::NonNull;
use std::time::Instant;

/// What distinguishes the schedulers with one pool.
#[derive(Clone, Copy)]
pub(in crate::scheduler) struct Rules {
    /// Which thread is next.
    pub(super) order: Order,
    /// If true, a join gets its own half back only when that half is next, and a waiting frame gives way at once to
    /// whatever is next. If false, a join always takes its half back, and waits a little for a half that runs
    /// elsewhere.
    pub(super) in_turn: bool,
    /// Which half of a join is a thread.
    pub(super) child: Child,
}

/// See the module text.
pub(super) struct Shared {
    rules: Rules,
    /// K, in bytes, or `i64::MAX` if there is no quota.
    quota: i64,
    pool: SharedPool,
    courtesy: Courtesy,
}

impl Strategy for Shared {
    fn search(&self, processor: &Processor) -> Option<Entry> {
        processor.set_busy(false);
        let entry = self.search_until(processor);
        if entry.is_some() {
            processor.pool().found_work();
            processor.set_busy(true);
        }
        entry
    }

    fn take_own(&self, processor: &Processor) -> Option<Entry> {
        processor.private.take(|_| true)
    }

    fn enabled(&self, processor: &Processor, carrier: NonNull<Carrier>) -> Enabled {
        if !self.rules.in_turn {
            return Some(carrier);
        }
        self.pool.put_frame(processor.index, Entry::carrier(carrier));
        None
    }

    fn wait(
        &self,
        patience: &mut Patience,
        processor: &Processor,
        root: usize,
        _done: &dyn Fn() -> bool,
    ) -> Wait {
        if let Some(own) = own_work(processor, root) {
            return own;
        }
        // A closure of the scope that we wait for.
        let ours = |entry| belongs_to(entry, root);
        let found = if self.rules.in_turn { self.pool.take_next_if(ours) } else { self.pool.take_any(ours) };
        if let Some(entry) = found {
            processor.stole(entry, None);
            processor.stats.helps.add(1);
            return Wait::Help(entry);
        }
        let other_work = processor.pool().has_queued() || self.pool.len() > 0;
        if !self.rules.in_turn || !other_work {
            return patience.consider(processor.pool().crowded(), other_work);
        }
        match self.pool.take_carrier(processor.index) {
            Some(ready) => {
                processor.stole(Entry::carrier(ready), None);
                Wait::Carrier(ready)
            }
            None => Wait::OtherWork,
        }
    }

    fn take_anything(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        processor
            .private
            .take(|_| true)
            .or_else(|| self.pool.take_next_if(|_| true).inspect(|&entry| processor.stole(entry, None)))
            .or_else(|| pool.take_queued())
    }

    fn take_back(&self, entry: Entry, node: Node, in_turn: bool) -> bool {
        self.pool.take_back(entry, node, in_turn && self.rules.in_turn)
    }

    /// Every fork attends, and its entry moves from the deque into the pool.
    fn attend(&self, processor: &Processor) {
        processor.begin_service();
        self.pool.absorb(processor.index, &processor.deque);
        processor.deque.poison();
        processor.end_service();
    }

    fn pending(&self, processor: &Processor) -> usize {
        self.pool.len() / processor.pool().in_service()
    }

    fn quota(&self) -> i64 {
        self.quota
    }

    fn heed_quota(&self, processor: &Processor) {
        let exhausted = processor.meter.is_exhausted();
        // The first half of a join is a new thread, with its own quota.
        processor.meter.reset(self.quota);
        if exhausted {
            self.wait_for_turn(processor);
        }
    }

    fn retiring(&self, processor: &Processor) {
        self.pool.leave(processor.index);
    }

    fn looks_full(&self) -> bool {
        self.pool.len() > 0
    }

    fn counted(&self) -> Counted {
        Counted::Always(self.rules.child)
    }
}

impl Shared {
    /// A pool with these rules and this quota K, or `i64::MAX` if there is none.
    pub(super) fn new(rules: Rules, quota: i64, processors: usize) -> Shared {
        let (pool, courtesy) = (SharedPool::new(rules.order, processors), Courtesy::new(processors));
        Shared { rules, quota, pool, courtesy }
    }

    fn search_until(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        if let Some(entry) = processor.take_gift() {
            return Some(entry);
        }
        let mut start = None;
        loop {
            if let Some(entry) = self.take(processor) {
                return Some(entry);
            }
            let now = Instant::now();
            if now.duration_since(*start.get_or_insert(now)) > patience_to_search(pool, SEARCH) {
                return None;
            }
            pause(pool.crowded());
        }
    }

    /// What is next for a processor that works on nothing. Carriers that come back from blocking do not have to wait;
    /// new programs do.
    fn take(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        if let Some(entry) = pool.take_queued_carrier().or_else(|| processor.private.take(|_| true)) {
            self.pool.leave(processor.index);
            return Some(entry);
        }
        self.take_next(processor).or_else(|| pool.take_queued())
    }

    /// What is next in the pool. A thread that is scheduled anew has a new quota.
    fn take_next(&self, processor: &Processor) -> Option<Entry> {
        loop {
            processor.stats.attempts.add(1);
            match self.pool.take(processor.index) {
                Taken::Entry(entry) => {
                    processor.stole(entry, None);
                    processor.meter.reset(self.quota);
                    return Some(entry);
                }
                Taken::Dummy => self.courtesy.run_dummy(processor),
                Taken::Nothing => return None,
            }
        }
    }

    /// Lets others go first, and dummy threads if any are owed. A frame that was set aside looks again when it is given
    /// a processor: its carrier may have needed long to wake up, and the frame takes the memory only now.
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
                Turn::Dummy => self.courtesy.run_dummy(processor),
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
