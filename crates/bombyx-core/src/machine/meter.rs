//! What the holder of a processor has allocated, compared with a quota.

use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// How many pools want to know what is allocated.
static METERING: AtomicUsize = AtomicUsize::new(0);

/// A pool that wants to know what is allocated begins or ends.
pub(crate) fn set_metering(on: bool) {
    if on {
        METERING.fetch_add(1, Relaxed);
    } else {
        METERING.fetch_sub(1, Relaxed);
    }
}

/// Whether a pool wants to know what is allocated.
#[inline(always)]
pub(crate) fn is_metering() -> bool {
    METERING.load(Relaxed) != 0
}

/// Net allocations below this are not reported to the pool at once.
pub(crate) const BATCH: i64 = 4096;

/// What the holder of a processor has allocated. Only the holder uses this, from inside the allocator, so it neither
/// allocates nor locks.
///
/// Blocks of at most K bytes use up quota when they are allocated and give it back when they are freed. A larger block
/// should be [reserved](crate::reserve) first, which owes ⌈m/K⌉ dummy threads instead (Narlikar §3.3). If it was not
/// reserved, its memory is already taken when anybody could be held up. Stopping its thread then would only keep the
/// memory longer, so such a block does not count.
pub(crate) struct Meter {
    /// K; `i64::MAX` if there is no quota.
    quota: Cell<i64>,
    /// Net bytes since the last steal.
    used: Cell<i64>,
    dummies: Cell<u64>,
    /// Net bytes that have not been reported to the pool.
    untold: Cell<i64>,
}

impl Meter {
    pub(crate) fn new() -> Meter {
        Meter { quota: Cell::new(i64::MAX), used: Cell::new(0), dummies: Cell::new(0), untold: Cell::new(0) }
    }

    /// Starts a new quota, after a steal. Dummy threads that are owed stay owed.
    pub(crate) fn reset(&self, quota: i64) {
        self.quota.set(quota);
        self.used.set(0);
    }

    /// K, as it was at the last steal.
    pub(crate) fn quota(&self) -> i64 {
        self.quota.get()
    }

    /// Counts an allocated block, or a freed block if `bytes` is negative. Returns whether that used up the quota.
    pub(crate) fn charge(&self, bytes: i64) -> bool {
        self.untold.set(self.untold.get().saturating_add(bytes));
        let quota = self.quota.get();
        if quota == i64::MAX {
            return false;
        }
        if bytes.saturating_abs() > quota {
            return false;
        }
        let before = self.used.get();
        let after = before.saturating_add(bytes);
        self.used.set(after);
        before <= quota && after > quota
    }

    /// A block is about to be allocated. Returns whether others should go first.
    pub(crate) fn reserve(&self, bytes: i64) -> bool {
        let quota = self.quota.get();
        if bytes > quota {
            self.dummies.set((bytes as u64).div_ceil(quota as u64));
            return true;
        }
        // If the quota is too small for the block, it counts as used up, as if the block were allocated.
        let insufficient = quota != i64::MAX && self.used.get().saturating_add(bytes) > quota;
        if insufficient {
            self.used.set(quota.saturating_add(1));
        }
        insufficient
    }

    /// Whether the quota is used up, or dummy threads are owed.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.used.get() > self.quota.get() || self.dummies.get() > 0
    }

    /// The dummy threads that are owed.
    pub(crate) fn dummies(&self) -> u64 {
        self.dummies.get()
    }

    /// The dummy threads that are owed. From now on they are no longer owed.
    pub(crate) fn take_dummies(&self) -> u64 {
        self.dummies.take()
    }

    /// What should be reported to the pool, if it is large enough.
    pub(crate) fn to_tell(&self) -> Option<i64> {
        (self.untold.get().unsigned_abs() >= BATCH.unsigned_abs()).then(|| self.untold.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_may_be_allocated_again() {
        let meter = Meter::new();
        meter.reset(100);
        assert!(!meter.charge(60) && !meter.charge(40) && !meter.is_exhausted());
        assert!(meter.charge(1) && meter.is_exhausted());
        assert!(!meter.charge(1), "it is said once");
        meter.charge(-30);
        assert!(!meter.is_exhausted());
        assert!(!meter.charge(28) && meter.charge(1));
    }

    #[test]
    fn large_blocks_owe_dummies() {
        let meter = Meter::new();
        meter.reset(100);
        assert!(meter.reserve(101) && meter.is_exhausted());
        assert_eq!(meter.take_dummies(), 2);
        assert!(!meter.charge(101) && !meter.is_exhausted());
        meter.charge(-101);
        assert!(!meter.charge(100) && meter.charge(1), "freeing a large block is no credit");
    }

    #[test]
    fn what_does_not_suffice_is_used_up() {
        let meter = Meter::new();
        meter.reset(100);
        assert!(!meter.reserve(100) && !meter.charge(60));
        assert!(meter.reserve(41) && meter.is_exhausted());
        meter.reset(100);
        assert!(!meter.charge(41) && !meter.is_exhausted());
        assert!(!Meter::new().reserve(i64::MAX));
    }

    #[test]
    fn without_a_quota_nothing_is_used_up() {
        let meter = Meter::new();
        assert!(!meter.charge(i64::MAX / 2) && !meter.is_exhausted());
        assert_eq!(meter.to_tell(), Some(i64::MAX / 2));
        meter.charge(BATCH - 1);
        assert_eq!(meter.to_tell(), None);
        meter.charge(1);
        assert_eq!(meter.to_tell(), Some(BATCH));
    }
}
