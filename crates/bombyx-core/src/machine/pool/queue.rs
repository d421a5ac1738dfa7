//! The queue of the pool: entries from outside, and carriers that are ready.
//!
//! **Everyone gets a turn.** The queue is first in, first out, for calls from outside and for ready carriers alike. A processor
//! looks into it at least once in [`crate::machine::wait::TURNS`] entries that it runs, however many it finds in its deque. So
//! what is at place k of the queue begins after at most k · `TURNS` entries of each processor. Once in
//! [`crate::machine::wait::OWN_TURNS`] such turns, if the queue is empty, the processor takes the oldest entry of its deque, so
//! that no entry waits there for ever, either. (With fixed threads only where no carrier waits: a wait runs nothing but
//! descendants.) An entry that never ends is outside of any bound: it keeps its processor.

use super::PoolCore;
use crate::protocol::job::{Entry, Kind, Place};
use crate::system::barrier;
use crate::system::guard::{guarded, tripwire};
use crate::system::primitive::lock;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

impl PoolCore {
    /// Queues an entry from outside and sees to it that somebody looks.
    pub(crate) fn inject(&self, entry: Entry) {
        guarded(|| {
            tripwire("inject");
            let searched = self.enqueue(|queue| queue.push_back(entry));
            if !searched {
                self.wake(|_| None);
            }
        });
    }

    /// Adds to the queue. True if somebody searches: a searcher looks into the queue before it rests, and when it finds
    /// something else it wakes another for what is left there.
    pub(crate) fn enqueue(&self, add: impl FnOnce(&mut VecDeque<Entry>)) -> bool {
        let mut shared = lock(&self.shared);
        add(&mut shared.queue);
        self.queued.store(shared.queue.len(), Relaxed);
        // Pairs with the fence in `found_work`: a searcher that leaves the count there sees the entry, or is not seen here.
        // A searcher that rests leaves the count under this lock, and looks afterwards.
        barrier::full();
        self.sleepers.searching() > 0
    }

    /// Whether the queue seems to hold anything.
    pub(crate) fn has_queued(&self) -> bool {
        self.queued.load(Relaxed) > 0
    }

    /// The oldest entry of the queue, if that is a ready carrier.
    pub(crate) fn take_queued_carrier(&self) -> Option<Entry> {
        if !self.has_queued() {
            return None;
        }
        let mut shared = lock(&self.shared);
        let Some(Kind::Carrier(_)) = shared.queue.front().map(|entry| entry.kind()) else { return None };
        let entry = shared.queue.pop_front();
        self.queued.store(shared.queue.len(), Relaxed);
        entry
    }

    /// The oldest entry of the queue.
    pub(crate) fn take_queued(&self) -> Option<Entry> {
        if !self.has_queued() {
            return None;
        }
        let mut shared = lock(&self.shared);
        let entry = shared.queue.pop_front();
        self.queued.store(shared.queue.len(), Relaxed);
        entry.inspect(|entry| entry.taken(Place::Nowhere))
    }

    /// Withdraws the entry of a join from the queue. False if it is gone.
    #[cold]
    #[inline(never)]
    pub(crate) fn withdraw(&self, entry: Entry) -> bool {
        let mut shared = lock(&self.shared);
        let Some(at) = shared.queue.iter().position(|&queued| queued == entry) else { return false };
        shared.queue.remove(at);
        self.queued.store(shared.queue.len(), Relaxed);
        true
    }
}
