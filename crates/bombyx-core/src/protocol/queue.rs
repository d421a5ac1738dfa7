//! The queue of a pool. It holds what comes from outside, carriers that are ready for a processor, and entries that are
//! in no deque. First in, first out, so that everyone gets a turn: the entry at place k goes after k others, whatever
//! comes later.
//!
//! The pool's lock protects the entries and the idle processors together. [`Queued`] says without the lock how many entries
//! there are.
//!
//! **A searcher sees what is queued, or nobody counts on the searcher.** A thread that queues an entry wakes nobody if
//! somebody searches ([`crate::protocol::sleep::Sleepers::is_searched`]). It stores the number, issues a full fence,
//! and reads the count of searchers. A searcher that finds something else leaves that count, issues a full fence, and
//! reads the number. So one of them sees the other. A searcher that finds nothing leaves the count under the lock, and
//! looks afterwards.
//!
//! **A join's job in the queue** changes its [place](crate::protocol::job::Place) under the lock when it enters the queue and
//! when it leaves. So the join knows whether it has taken the job back or somebody else has taken it.

use crate::protocol::carrier::Carrier;
use crate::protocol::job::{Entry, Kind, Place};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicU64, AtomicUsize};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// How many entries a queue holds, for a look without the lock.
pub(crate) struct Queued {
    count: AtomicUsize,
    /// Where others may read the number, too.
    shown: Option<&'static AtomicU64>,
}

impl Queued {
    pub(crate) fn none(shown: Option<&'static AtomicU64>) -> Queued {
        Queued { count: AtomicUsize::new(0), shown }
    }

    /// Whether there seems to be something.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// Whether there seems to be more than one entry.
    pub(crate) fn several(&self) -> bool {
        self.count.load(Relaxed) > 1
    }
}

/// See the module text. Every change is reported to the `Queued` that it is given.
#[derive(Default)]
pub(crate) struct Queue(VecDeque<Queuing>);

/// An entry, and since when it has been in the queue.
struct Queuing {
    entry: Entry,
    since: Instant,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many entries wait, and since when the oldest one does.
    pub(crate) fn waiting(&self) -> (usize, Option<Instant>) {
        (self.0.len(), self.0.front().map(|queuing| queuing.since))
    }

    pub(crate) fn push(&mut self, entry: Entry, queued: &Queued) {
        let queuing = Queuing { entry, since: Instant::now() };
        if planted(Fault::QueueLastFirst) {
            self.0.push_front(queuing);
        } else {
            self.0.push_back(queuing);
        }
        self.count(queued);
    }

    /// The oldest entry.
    pub(crate) fn take(&mut self, queued: &Queued) -> Option<Entry> {
        let Queuing { entry, .. } = self.0.pop_front()?;
        self.count(queued);
        entry.taken(Place::Nowhere);
        Some(entry)
    }

    /// The oldest entry, if that is a carrier.
    pub(crate) fn take_carrier(&mut self, queued: &Queued) -> Option<Entry> {
        matches!(self.0.front()?.entry.kind(), Kind::Carrier(_)).then(|| self.take(queued)).flatten()
    }

    /// The first carrier, and how many entries are before it.
    pub(crate) fn first_carrier(&self) -> Option<(usize, NonNull<Carrier>)> {
        self.0.iter().enumerate().find_map(|(at, queuing)| match queuing.entry.kind() {
            Kind::Carrier(ready) => Some((at, ready)),
            _ => None,
        })
    }

    /// Removes the entry that has `at` entries before it.
    pub(crate) fn remove(&mut self, at: usize, queued: &Queued) {
        self.0.remove(at);
        self.count(queued);
    }

    /// Withdraws the entry of a join. Returns false if it is gone.
    pub(crate) fn take_back(&mut self, entry: Entry, queued: &Queued) -> bool {
        let at = self.0.iter().position(|queuing| queuing.entry == entry);
        if let Some(at) = at {
            self.remove(at, queued);
        }
        at.is_some() || planted(Fault::WithdrawWhatIsGone)
    }

    fn count(&self, queued: &Queued) {
        queued.count.store(self.0.len(), Relaxed);
        if let Some(shown) = queued.shown {
            shown.store(self.0.len() as u64, Relaxed);
        }
    }
}
