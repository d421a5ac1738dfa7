//! The queue of the pool: entries from outside, and carriers that are ready.
//!
//! **Everyone gets a turn.** The queue is first in, first out, for calls from outside and for ready carriers alike. A processor
//! takes a *turn* once in [`crate::machine::wait::TURNS`] entries that it runs, however many it finds in its deque. One in
//! [`crate::machine::wait::OWN_TURNS`] turns is for the oldest entry of its own deque, so that no entry waits there for ever; all
//! others are for the queue. So what is at place k of the queue begins after at most 2 · k · `TURNS` entries of each processor, and
//! what has k older entries in its deque after at most (k + 1) · `TURNS` · `OWN_TURNS`, if nobody steals it before. A carrier that
//! waits in a scope, and runs closures of the scope without end, gives its processor away for a turn, if something is queued or the
//! oldest entry belongs to no scope. Schedulers without
//! [`take_oldest_own`](crate::machine::strategy::Strategy::take_oldest_own) run spawned closures in the order of their papers:
//! there only the bound of the queue holds.
//! (With fixed threads all this holds only where no carrier waits: a wait runs nothing but
//! descendants.) An entry that never ends is outside of any bound: it keeps its processor.

use super::PoolCore;
use crate::protocol::job::{Entry, Place};
use crate::system::guard::{guarded, tripwire};
use crate::system::primitive::lock;

impl PoolCore {
    /// Queues an entry from outside and sees to it that somebody looks.
    pub(crate) fn inject(&self, entry: Entry) {
        guarded(|| {
            tripwire("inject");
            // A searcher looks into the queue before it rests, and when it finds something else it wakes another for what is
            // left there. (Where deques are private, searchers are not counted, and somebody is woken.)
            let searched = {
                let mut shared = lock(&self.shared);
                shared.queue.push(entry, &self.queued);
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

    /// The oldest entry of the queue, if that is a ready carrier.
    pub(crate) fn take_queued_carrier(&self) -> Option<Entry> {
        self.has_queued().then(|| lock(&self.shared).queue.take_carrier(&self.queued)).flatten()
    }

    /// The oldest entry of the queue.
    pub(crate) fn take_queued(&self) -> Option<Entry> {
        self.has_queued().then(|| lock(&self.shared).queue.take(&self.queued)).flatten()
    }

    /// Queues entries that the caller has taken out of a deque, and tells their jobs.
    pub(crate) fn put_back(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut shared = lock(&self.shared);
        for entry in entries {
            entry.taken(Place::Queue(std::ptr::from_ref(self).cast()));
            shared.queue.push(entry, &self.queued);
        }
    }

    /// Withdraws the entry of a join from the queue. False if it is gone.
    #[cold]
    #[inline(never)]
    pub(crate) fn withdraw(&self, entry: Entry) -> bool {
        lock(&self.shared).queue.withdraw(entry, &self.queued)
    }
}
