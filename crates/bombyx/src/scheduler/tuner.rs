//! `dfdeques:auto`: finds K while the program runs. Narlikar leaves open how to choose it (§7).
//!
//! K begins small. A give-up is worth its price, one or two hand-overs of 5 to 20 µs, if the processor has done more
//! than that between the last steal and now. So the time that processors work per steal (the scheduling granularity as
//! Narlikar's simulations measure it, §6) is averaged over [`SAMPLE`] give-ups, a dummy thread counting as one more
//! steal; while the average is below [`TARGET`], K is doubled, unless the pool's heap has passed half of the memory
//! that was free when the pool began. K never falls: space is S1 + O(K·P·D) for the largest K that was in force.

use crate::ledger::Gauge;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Instant;

/// K at first, in bytes.
pub(crate) const FIRST_QUOTA: i64 = 1 << 10;
/// K at most.
const LAST_QUOTA: i64 = 1 << 40;
/// Steals whose granularity is averaged.
const SAMPLE: u64 = 64;
/// Nanoseconds of work per steal: some twenty times what a hand-over takes.
const TARGET: u64 = 200_000;

/// See the module text.
pub(super) struct Tuner {
    quota: AtomicI64,
    /// Bytes of heap beyond which K is not raised.
    budget: i64,
    start: Instant,
    /// When each processor began its last steal, in nanoseconds.
    began: Box<[AtomicU64]>,
    /// Nanoseconds of work, and steals.
    sample: Mutex<(u64, u64)>,
}

impl Tuner {
    pub(super) fn new(processors: usize) -> Tuner {
        Tuner::within(free_memory() / 2, processors)
    }

    fn within(budget: i64, processors: usize) -> Tuner {
        Tuner {
            quota: AtomicI64::new(FIRST_QUOTA),
            budget,
            start: Instant::now(),
            began: (0..processors).map(|_| AtomicU64::new(0)).collect(),
            sample: Mutex::new((0, 0)),
        }
    }

    pub(super) fn quota(&self) -> i64 {
        self.quota.load(Relaxed)
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// The processor steals.
    pub(super) fn steal(&self, index: usize) {
        self.began[index].store(self.now(), Relaxed);
    }

    /// The processor gives up its deque, with so many dummy threads.
    pub(super) fn give_up(&self, index: usize, dummies: u64, heap: &Gauge) {
        let worked = self.now().saturating_sub(self.began[index].load(Relaxed));
        self.observe(worked, 1 + dummies, heap.now());
    }

    fn observe(&self, worked: u64, steals: u64, heap: i64) {
        let mut sample = self.sample.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        sample.0 += worked;
        sample.1 += steals;
        if sample.1 < SAMPLE {
            return;
        }
        let granularity = sample.0 / sample.1;
        *sample = (0, 0);
        let quota = self.quota();
        if granularity < TARGET && heap < self.budget && quota < LAST_QUOTA {
            self.quota.store(quota * 2, Relaxed);
        }
    }
}

/// Bytes of memory that nobody uses; without end if the system does not tell.
fn free_memory() -> i64 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `sysconf` only reads a number.
        let (pages, size) =
            unsafe { (libc::sysconf(libc::_SC_AVPHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        if pages > 0 && size > 0 {
            return pages.saturating_mul(size);
        }
    }
    i64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(tuner: &Tuner, worked: u64, heap: i64) -> i64 {
        for _ in 0..SAMPLE {
            tuner.observe(worked, 1, heap);
        }
        tuner.quota()
    }

    #[test]
    fn doubles_while_the_grain_is_too_fine() {
        let tuner = Tuner::within(1 << 30, 1);
        assert_eq!(tuner.quota(), FIRST_QUOTA);
        assert_eq!(feed(&tuner, TARGET / 2, 0), 2 * FIRST_QUOTA);
        assert_eq!(feed(&tuner, TARGET - 1, 0), 4 * FIRST_QUOTA);
        assert_eq!(feed(&tuner, TARGET, 0), 4 * FIRST_QUOTA);
        assert_eq!(feed(&tuner, 100 * TARGET, 0), 4 * FIRST_QUOTA);
    }

    #[test]
    fn stops_where_memory_does_not_allow_more() {
        let tuner = Tuner::within(1 << 30, 1);
        assert_eq!(feed(&tuner, 1, 1 << 30), FIRST_QUOTA);
        assert_eq!(feed(&tuner, 1, (1 << 30) - 1), 2 * FIRST_QUOTA);
        for _ in 0..100 {
            feed(&tuner, 1, 0);
        }
        assert_eq!(tuner.quota(), LAST_QUOTA);
    }

    #[test]
    fn dummies_are_steals() {
        let tuner = Tuner::within(1 << 30, 1);
        tuner.observe(10 * TARGET, SAMPLE, 0);
        assert_eq!(tuner.quota(), 2 * FIRST_QUOTA);
    }
}
