//! The private deque of a worker: a ring that grows. Nobody else touches it (RW §4.1), so it needs no fence.

use crate::system::{map, unmap};
use std::ptr::NonNull;

/// A ring of words that only its owner touches. The top (oldest) comes first.
pub(crate) struct Deque<T> {
    slots: NonNull<T>,
    mask: usize,
    top: usize,
    bottom: usize,
}

// SAFETY: the deque owns its slots.
unsafe impl<T: Send> Send for Deque<T> {}

const FIRST: usize = 1 << 12;

impl<T: Copy> Deque<T> {
    pub(crate) fn new() -> Deque<T> {
        Deque::with_slots(FIRST)
    }

    fn with_slots(slots: usize) -> Deque<T> {
        Deque { slots: map(slots * size_of::<T>()).cast(), mask: slots - 1, top: 0, bottom: 0 }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.bottom.wrapping_sub(self.top)
    }

    #[inline(always)]
    pub(crate) fn push_bottom(&mut self, item: T) {
        if self.len() > self.mask {
            self.grow();
        }
        // SAFETY: the index is within the ring.
        unsafe { self.slots.add(self.bottom & self.mask).write(item) };
        self.bottom = self.bottom.wrapping_add(1);
    }

    #[inline(always)]
    pub(crate) fn pop_bottom(&mut self) -> Option<T> {
        let item = self.peek_bottom()?;
        self.bottom = self.bottom.wrapping_sub(1);
        Some(item)
    }

    #[inline(always)]
    pub(crate) fn pop_top(&mut self) -> Option<T> {
        let item = self.peek_top()?;
        self.top = self.top.wrapping_add(1);
        Some(item)
    }

    #[inline(always)]
    pub(crate) fn peek_bottom(&self) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        // SAFETY: the index is within the ring, and everything between top and bottom was written.
        Some(unsafe { self.slots.add(self.bottom.wrapping_sub(1) & self.mask).read() })
    }

    #[inline(always)]
    pub(crate) fn peek_top(&self) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        // SAFETY: as above.
        Some(unsafe { self.slots.add(self.top & self.mask).read() })
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger = Deque::with_slots(2 * (self.mask + 1));
        while let Some(item) = self.pop_top() {
            larger.push_bottom(item);
        }
        std::mem::swap(self, &mut larger);
    }
}

impl<T> Drop for Deque<T> {
    fn drop(&mut self) {
        // SAFETY: the slots were mapped with this size, and end with the deque.
        unsafe { unmap(self.slots.cast(), (self.mask + 1) * size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_growth() {
        let mut deque = Deque::new();
        assert_eq!(deque.pop_bottom(), None);
        for i in 0..3 * FIRST {
            deque.push_bottom(i);
        }
        assert_eq!((deque.peek_top(), deque.peek_bottom()), (Some(0), Some(3 * FIRST - 1)));
        assert_eq!(
            (deque.pop_top(), deque.pop_top(), deque.pop_bottom()),
            (Some(0), Some(1), Some(3 * FIRST - 1))
        );
        for i in (2..3 * FIRST - 1).rev() {
            assert_eq!(deque.pop_bottom(), Some(i));
        }
        assert_eq!((deque.pop_top(), deque.pop_bottom(), deque.len()), (None, None, 0));
    }
}
