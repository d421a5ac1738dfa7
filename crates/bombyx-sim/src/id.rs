//! [`ProcessorId`]: which of the P virtual processors. Threads and strands keep the ids of `bombyx-dag`.

use std::fmt;

/// A virtual processor, numbered from 0 and displayed as in BL's figures: processor 0 is `p1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ProcessorId(pub u32);

impl ProcessorId {
    /// The processor as an index into a table.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ProcessorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", u64::from(self.0) + 1)
    }
}

impl fmt::Debug for ProcessorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
