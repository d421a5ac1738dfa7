//! [`Accesses`]: which memory the strands of a computation touch, for models of caches.

use crate::StrandId;

/// A stretch of memory: its first address, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stretch {
    /// The first address.
    pub at: u64,
    /// Bytes from there on.
    pub bytes: u32,
}

/// The stretches of memory that each strand touches, in order. Given strand by strand, in the serial order.
///
/// ```
/// use bombyx_dag::{Accesses, StrandId};
///
/// let mut accesses = Accesses::default();
/// accesses.touch(0x1000, 256);
/// accesses.touch(0x2000, 8);
/// accesses.end_strand();
/// accesses.end_strand(); // a strand that touches nothing
/// assert_eq!(accesses.of(StrandId(0)).len(), 2);
/// assert!(accesses.of(StrandId(1)).is_empty());
/// assert_eq!(accesses.footprint(64), 5 * 64);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    stretches: Vec<Stretch>,
    /// Where the stretches of each strand end.
    ends: Vec<u32>,
}

impl Accesses {
    /// The present strand touches `bytes` from address `at` on. A stretch that directly follows the one before is added
    /// to it.
    pub fn touch(&mut self, at: u64, bytes: u32) {
        let own = self.ends.last().is_none_or(|&end| self.stretches.len() > end as usize);
        match self.stretches.last_mut().filter(|_| own) {
            Some(last) if last.at + u64::from(last.bytes) == at => last.bytes += bytes,
            Some(last) if last.at <= at && at + u64::from(bytes) <= last.at + u64::from(last.bytes) => {}
            _ => self.stretches.push(Stretch { at, bytes }),
        }
    }

    /// The present strand ends, and the next one begins.
    ///
    /// # Panics
    /// If there are 2³² stretches.
    pub fn end_strand(&mut self) {
        self.ends.push(self.stretches.len().try_into().expect("fewer than 2^32 stretches"));
    }

    /// What a strand touches. Empty if nothing was given for it.
    pub fn of(&self, strand: StrandId) -> &[Stretch] {
        let Some(&end) = self.ends.get(strand.index()) else { return &[] };
        let begin = strand.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.stretches[begin as usize..end as usize]
    }

    /// The number of stretches.
    pub fn len(&self) -> usize {
        self.stretches.len()
    }

    /// Whether nothing is touched.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// How many bytes are touched at all, in whole lines of `line` bytes.
    pub fn footprint(&self, line: u64) -> u64 {
        let mut spans: Vec<(u64, u64)> = self
            .stretches
            .iter()
            .filter(|s| s.bytes > 0)
            .map(|s| (s.at / line, (s.at + u64::from(s.bytes) - 1) / line + 1))
            .collect();
        spans.sort_unstable();
        let (mut lines, mut covered) = (0, 0);
        for (from, to) in spans {
            lines += to.saturating_sub(from.max(covered));
            covered = covered.max(to);
        }
        lines * line
    }
}
