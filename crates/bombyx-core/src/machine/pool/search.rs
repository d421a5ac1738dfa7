//! Who searches for work, and the looks that searchers and sleepers take.

use super::PoolCore;
use crate::machine::processor::Processor;
use crate::protocol::deque::Deque;
use crate::system::affinity::{self, CpuSet};
use crate::system::barrier;
use crate::system::primitive::lock;

impl PoolCore {
    /// Counts `processor`, whose holder is about to search, as a searcher.
    pub(crate) fn start_search(&self, processor: &Processor) {
        self.config.strategy.start_search(processor);
    }

    /// Whether so many carriers search already that one more would only disturb.
    pub(crate) fn enough_searchers(&self) -> bool {
        let enough = self.in_service().min(self.config.cores).div_ceil(2);
        self.config.strategy.searchers(self) > enough
    }

    /// A searcher has found work. If it was the last searcher and others rest, it passes on the duty to look for work.
    pub(crate) fn found_work(&self) {
        // Those who wait outside for a queued entry are not kept waiting.
        let visible = || self.has_queued() || !self.postpones() && self.work_visible();
        if self.sleepers.found_work(visible, || self.look_once_more()) {
            self.wake(|_| None);
        }
    }

    /// Whether a fork leaves the waking of others to the sentry.
    pub(crate) fn postpones(&self) -> bool {
        self.sleepers.has_sentry() && self.rhythm.is_short()
    }

    /// Whether there seems to be something to take anywhere.
    pub(crate) fn work_visible(&self) -> bool {
        self.has_queued()
            || self.config.strategy.looks_full()
            || self.processors.iter().any(Processor::has_something)
    }

    /// Begins a round, and looks once more. Returns whether somebody must be woken: because there is work, or because it is
    /// too early for a round.
    pub(crate) fn look_once_more(&self) -> bool {
        if !self.rounds.begin() {
            return true;
        }
        self.sleepers.look_once_more(self.deques(), || self.wait_for_stores(), || self.work_visible())
    }

    /// Begins a round among private deques, whose owners then look for sleepers. Returns whether somebody must be woken:
    /// because something is queued, or because it is too early for a round.
    pub(crate) fn call_owners(&self) -> bool {
        if !self.rounds.begin() {
            return true;
        }
        self.sleepers.call(self.deques(), || self.wait_for_stores());
        self.has_queued()
    }

    /// The look of a processor that has been entered among the resting, unless a searcher will take it.
    pub(crate) fn look_unless_searched(&self) -> bool {
        self.sleepers.rest(|| self.look_once_more())
    }

    /// A CPU on which no busy processor of the pool was seen.
    pub(in crate::machine) fn free_cpu(&self) -> Option<usize> {
        let busy = CpuSet::of(self.processors.iter().filter_map(Processor::busy_on));
        affinity::cpus().iter().copied().find(|&cpu| !busy.contains(cpu))
    }

    fn deques(&self) -> impl Iterator<Item = &Deque> + Clone {
        self.processors.iter().map(|processor| &processor.deque)
    }

    /// The system refuses the heavy barrier. Waits until what others have stored is visible. Resting processors stop
    /// relying on the barrier; the others stop when they next attend.
    #[cold]
    pub(crate) fn wait_for_stores(&self) {
        let shared = lock(&self.shared);
        for processor in shared.commons.listed() {
            // SAFETY: the pool owns the processor. It is in the list, so it belongs to the caller while the lock is
            // held. It has no entry that a pop could take, because only the carrier that holds a processor has such
            // entries.
            unsafe { processor.as_ref() }.deque.side.cease();
        }
        drop(shared);
        barrier::wait_for_stores();
    }
}
