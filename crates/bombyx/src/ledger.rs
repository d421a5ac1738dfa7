//! What a pool has alive: heap memory and threads, now and at most. Written by processors on their slow paths; the
//! figures are for [`crate::Stats`] and for `dfdeques:auto`.

use crate::commons::Commons;
use crate::processor::current;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// A quantity that rises and falls.
#[derive(Default)]
pub(crate) struct Gauge {
    now: AtomicI64,
    peak: AtomicI64,
}

impl Gauge {
    pub(crate) fn add(&self, change: i64) {
        let now = self.now.fetch_add(change, Relaxed) + change;
        if now > self.peak.load(Relaxed) {
            self.peak.fetch_max(now, Relaxed);
        }
    }

    pub(crate) fn now(&self) -> i64 {
        self.now.load(Relaxed)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Relaxed).max(0) as u64
    }

    /// The peak is what there is now.
    pub(crate) fn forget_peak(&self) {
        self.peak.store(self.now(), Relaxed);
    }
}

/// See the module text.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Net bytes allocated by the pool's processors, in portions ([`crate::scheduler::quota::BATCH`]).
    pub(crate) heap: Gauge,
    /// Threads (of the papers) that were created and have not ended, if they are counted.
    pub(crate) threads: Gauge,
}

/// The second half of a join has left the state *untouched*, on a thread that holds a processor of its pool. Where
/// threads are counted every fork attends, so every job does that once.
pub(crate) fn forked() {
    if let Some(processor) = current::processor() {
        forked_in(processor.commons());
    }
}

/// The same, of the pool with these commons.
#[inline(always)]
pub(crate) fn forked_in(commons: &Commons) {
    if commons.config.counts {
        commons.ledger.threads.add(1);
    }
}

/// Such a job has ended, and its join goes on.
#[inline(always)]
pub(crate) fn joined() {
    if let Some(commons) = current::processor().map(|processor| processor.commons())
        && commons.config.counts
    {
        commons.ledger.threads.add(-1);
    }
}
