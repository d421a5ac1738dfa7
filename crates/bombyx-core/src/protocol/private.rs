//! Entries that only the holder of one processor may take: the parts of broadcasts ([`crate::api::dropin::broadcast`]).
//!
//! A processor that rests has no holder. A thread that posts an entry looks for the processor in the idle list
//! afterwards. A thread that retires a processor enters it there and then looks for entries. Both use the lock of that
//! list, so one of them sees the other: if the poster has the lock first, the retirer sees the poster's count;
//! otherwise the poster finds the processor in the list.

use crate::protocol::job::Entry;
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicUsize, Mutex, lock};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

/// Entries that only the holder of one processor may take. See the module text.
pub(crate) struct Private {
    /// `entries.len()`, for a look without the lock.
    count: AtomicUsize,
    entries: Mutex<VecDeque<Entry>>,
}

impl Private {
    pub(crate) fn new() -> Private {
        Private { count: AtomicUsize::new(0), entries: Mutex::new(VecDeque::new()) }
    }

    /// Adds an entry. The caller then wakes the processor, if it rests.
    pub(crate) fn post(&self, entry: Entry) {
        let mut entries = lock(&self.entries);
        entries.push_back(entry);
        if !planted(Fault::PostWithoutCount) {
            self.count.store(entries.len(), Relaxed);
        }
    }

    /// Whether there seems to be nothing.
    pub(crate) fn looks_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Takes the oldest entry, if `wanted` accepts it. For the processor's holder.
    pub(crate) fn take(&self, wanted: impl FnOnce(Entry) -> bool) -> Option<Entry> {
        if self.looks_empty() {
            return None;
        }
        let mut entries = lock(&self.entries);
        let oldest = entries.front().copied().filter(|&entry| wanted(entry))?;
        entries.pop_front();
        self.count.store(entries.len(), Relaxed);
        Some(oldest)
    }
}
