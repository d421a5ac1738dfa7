//! `round-robin`: the worked example of `CONTRIBUTING.md`. Work stealing in which a thief asks the other processors in turn.
//! The feature `example-scheduler` adds it to the table, and the conformance suite then runs it.

use super::work_stealing::steal::{own_work, take_own, try_steal};
use super::work_stealing::{SEARCH, patience_to_search};
use crate::machine::patience::{Patience, Wait};
use crate::machine::processor::Processor;
use crate::machine::stats::Counter;
use crate::machine::strategy::Strategy;
use crate::protocol::job::Entry;
use crate::system::primitive::yield_now;
use std::time::Instant;

/// For each processor, how many victims it has asked.
pub(super) struct RoundRobin(Box<[Counter]>);

impl RoundRobin {
    pub(super) fn new(processors: usize) -> RoundRobin {
        RoundRobin((0..processors).map(|_| Counter::default()).collect())
    }
}

impl Strategy for RoundRobin {
    fn search(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        let start = Instant::now();
        let mut entry = processor.take_gift().or_else(|| self.take_anything(processor));
        while entry.is_none() && start.elapsed() <= patience_to_search(pool, SEARCH) {
            processor.set_busy(false);
            processor.answer();
            yield_now();
            entry = self.take_anything(processor);
        }
        if entry.is_some() {
            pool.found_work();
            processor.set_busy(true);
        }
        entry
    }

    fn take_own(&self, processor: &Processor) -> Option<Entry> {
        take_own(processor)
    }

    fn take_anything(&self, processor: &Processor) -> Option<Entry> {
        let pool = processor.pool();
        take_own(processor).or_else(|| pool.take_queued()).or_else(|| {
            let asked = &self.0[processor.index];
            asked.add(1);
            let victim = &pool.processors()[asked.get() as usize % pool.processors().len()];
            if victim.index == processor.index || !victim.has_something() {
                return None;
            }
            try_steal(processor, victim, 0, || pool.has_queued())
                .inspect(|&entry| processor.stole(entry, Some(victim)))
        })
    }

    fn wait(
        &self,
        patience: &mut Patience,
        processor: &Processor,
        root: usize,
        _done: &dyn Fn() -> bool,
    ) -> Wait {
        processor.answer();
        own_work(processor, root).unwrap_or_else(|| {
            processor.set_busy(false);
            let pool = processor.pool();
            patience.consider(pool.crowded(), pool.work_visible())
        })
    }
}
