//! What a pool has alive: heap memory and threads, now and at its peak. Processors write these on their slow paths. The
//! figures are for [`crate::Stats`] and for `dfdeques:auto`.

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
        // A program may report any number as allocated. When it takes the number back, the sum is right again.
        let now = self.now.fetch_add(change, Relaxed).wrapping_add(change);
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

    /// Sets the peak to the present value.
    pub(crate) fn forget_peak(&self) {
        self.peak.store(self.now(), Relaxed);
    }
}

/// See the module text.
#[derive(Default)]
pub(crate) struct Gauges {
    /// Net bytes that the pool's processors have allocated. Reported in portions ([`crate::machine::meter::BATCH`]).
    pub(crate) heap: Gauge,
    /// Threads, in the papers' sense, that were created and have not ended. Only if they are counted.
    pub(crate) threads: Gauge,
}
