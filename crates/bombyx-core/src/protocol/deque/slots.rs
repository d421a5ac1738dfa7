//! The buffer of a deque.

use crate::system::primitive::AtomicUsize;
use std::ops::Deref;
use std::ptr::NonNull;

/// One place of the buffer: the bits of an [`Entry`](crate::protocol::job::Entry), or 0 if the entry was taken out of the
/// middle of the deque.
pub(crate) type Slot = AtomicUsize;

/// All places of the buffer. The first one stays empty: a look below the bottom finds that.
///
/// The ends of a deque point into the buffer, so the buffer is not a `Box`. When a box moves, it becomes the only valid way
/// to its memory, and earlier pointers into it may no longer be used. This type owns the memory without that rule.
pub(super) struct Slots(NonNull<[Slot]>);

// SAFETY: it owns its slots, which can be sent.
unsafe impl Send for Slots {}

impl Slots {
    /// Room for `count` entries.
    pub(super) fn new(count: usize) -> Slots {
        let slots: Box<[Slot]> = (0..=count).map(|_| Slot::new(0)).collect();
        Slots(NonNull::from(Box::leak(slots)))
    }

    /// How many entries there is room for.
    pub(super) fn room(&self) -> usize {
        self.len() - 1
    }

    /// Where the first entry goes.
    pub(super) fn base(&self) -> *mut Slot {
        self.as_ptr().cast_mut().wrapping_add(1)
    }

    /// Where the last entry goes.
    pub(super) fn last(&self) -> *mut Slot {
        self.base().wrapping_add(self.room() - 1)
    }
}

impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        // SAFETY: the memory is this value's until it is dropped, and all accesses to it are atomic.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the memory came out of a box, and nobody uses the deque, or this buffer of it, any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
