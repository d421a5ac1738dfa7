//! Net allocation against the quota K: what [`dfdeques`](super::dfdeques) counts for each processor from steal to
//! steal, and [`depth_first`](super::depth_first) for each thread from one scheduling to the next.

use super::Quota;

/// Net allocation against a quota.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    net: i128,
}

impl Meter {
    /// Whether `bytes` may be allocated; if so they are charged. Allocations above the quota are free: their dummy
    /// threads have paid.
    pub(super) fn charge(&mut self, quota: Quota, bytes: u64) -> bool {
        let Quota::Bytes(quota) = quota else { return true };
        if bytes == 0 || bytes > quota {
            return true;
        }
        let admitted = self.net + i128::from(bytes) <= i128::from(quota);
        if admitted {
            self.net += i128::from(bytes);
        }
        admitted
    }

    pub(super) fn refund(&mut self, bytes: u64) {
        self.net -= i128::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_may_be_allocated_again() {
        let quota = Quota::Bytes(100);
        let mut meter = Meter::default();
        assert!(meter.charge(quota, 60) && meter.charge(quota, 40));
        assert!(!meter.charge(quota, 1));
        meter.refund(30);
        assert!(!meter.charge(quota, 31) && meter.charge(quota, 30));
        assert!(meter.charge(quota, 101), "dummies have paid for what exceeds the quota");
        assert!(meter.charge(Quota::Infinite, u64::MAX));
    }
}
