//! The queue of the pool: entries from outside, and carriers that are ready.
//!
//! **Everyone gets a turn.** The queue is first in, first out, both for calls from outside and for ready carriers. A
//! processor takes a *turn* once in every [`crate::machine::wait::TURNS`] entries that it runs, however many it finds in
//! its deque. One in [`crate::machine::wait::OWN_TURNS`] turns is for the oldest entry of its own deque, so no entry waits
//! there for ever. All other turns are for the queue, unless the processor is [out of service](super::resize).
//!
//! So the entry at place k of the queue begins after at most 2 · k · `TURNS` entries of each processor in service. An entry
//! with k older ones in its deque begins after at most (k + 1) · `TURNS` · `OWN_TURNS` entries, unless somebody steals it
//! before.
//!
//! A carrier that waits in a scope may run closures of the scope without end. It gives its processor away for a turn, if
//! something is queued or if the oldest entry belongs to no scope. Schedulers without
//! [`take_oldest_own`](crate::machine::strategy::Strategy::take_oldest_own) run spawned closures in the order of their
//! papers, so only the bound of the queue holds there. (With fixed threads all this holds only where no carrier waits,
//! because a wait runs only descendants.) An entry that never ends keeps its processor, and no bound covers it.

use super::PoolCore;
use crate::machine::tracer::Event;
use crate::protocol::job::{Entry, Place};
use crate::system::guard::{guarded, tripwire};
use crate::system::primitive::lock;

impl PoolCore {
    /// Queues an entry from outside and makes sure that somebody looks.
    pub(crate) fn inject(&self, entry: Entry) {
        guarded(|| {
            tripwire("inject");
            self.trace(Event::Queues(entry));
            // A searcher looks into the queue before it rests. When it finds something else, it wakes another carrier
            // for what is left in the queue. (With private deques, searchers are not counted, so somebody is woken.)
            let searched = {
                let mut shared = lock(&self.shared);
                shared.commons.queue.push(entry, &self.queued);
                self.sleepers.is_searched()
            };
            if !searched {
                self.wake(|_| None);
            }
        });
    }

    /// Whether the queue seems to hold anything.
    pub(crate) fn has_queued(&self) -> bool {
        self.queued.any()
    }

    /// Whether the queue seems to hold more than one entry.
    pub(crate) fn has_several_queued(&self) -> bool {
        self.queued.several()
    }

    /// The oldest entry of the queue, if that is a ready carrier.
    pub(crate) fn take_queued_carrier(&self) -> Option<Entry> {
        self.has_queued().then(|| lock(&self.shared).commons.queue.take_carrier(&self.queued)).flatten()
    }

    /// The oldest entry of the queue.
    pub(crate) fn take_queued(&self) -> Option<Entry> {
        self.has_queued().then(|| lock(&self.shared).commons.queue.take(&self.queued)).flatten()
    }

    /// Queues entries that the caller has taken out of a deque, and tells their jobs.
    pub(crate) fn put_back(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut shared = lock(&self.shared);
        for entry in entries {
            entry.taken(Place::Queue(std::ptr::from_ref(self).cast()));
            shared.commons.queue.push(entry, &self.queued);
        }
    }

    /// Withdraws the entry of a join from the queue. Returns false if it is gone.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_back(&self, entry: Entry) -> bool {
        lock(&self.shared).commons.queue.take_back(entry, &self.queued)
    }
}
