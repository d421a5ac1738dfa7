//! The concurrent deque of Chase and Lev (SPAA 2005), with the orderings of Lê, Pop, Cohen and Nardelli (PPoPP 2013).
//! It is the baseline that pays for a fence on every `pop_bottom` and for a compare-and-swap on every steal.

use crate::system::{map, unmap};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicIsize, AtomicPtr, fence};

/// The ring of one size: its slots and their number, in one mapping.
struct Ring<T> {
    mask: isize,
    /// The smaller ring that this one replaced. A thief may still read it.
    before: *mut Ring<T>,
}

const FIRST: isize = 1 << 12;

impl<T> Ring<T> {
    fn bytes(slots: isize) -> usize {
        64 + slots as usize * size_of::<AtomicPtr<T>>()
    }

    fn new(slots: isize, before: *mut Ring<T>) -> *mut Ring<T> {
        let ring: *mut Ring<T> = map(Ring::<T>::bytes(slots)).as_ptr().cast();
        // SAFETY: the mapping is new and large enough.
        unsafe { ring.write(Ring { mask: slots - 1, before }) };
        ring
    }

    /// The slot of an index.
    ///
    /// # Safety
    /// `ring` is a ring of a living deque.
    #[inline(always)]
    unsafe fn slot<'a>(ring: *mut Ring<T>, index: isize) -> &'a AtomicPtr<T> {
        // SAFETY: slots follow the header. Zeroed memory is a null pointer, and the mask keeps the index inside.
        unsafe { &*ring.cast::<u8>().add(64).cast::<AtomicPtr<T>>().offset(index & (*ring).mask) }
    }
}

/// The outcome of an attempt to steal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Steal<T> {
    Success(NonNull<T>),
    Empty,
    Lost,
}

/// A concurrent deque of pointers. Only its owner calls `push_bottom` and `pop_bottom`.
pub(crate) struct ChaseLev<T> {
    top: AtomicIsize,
    bottom: AtomicIsize,
    ring: AtomicPtr<Ring<T>>,
    /// Only for `Drop`.
    last: Cell<*mut Ring<T>>,
}

// SAFETY: shared parts are atomics. Only the owner and `drop` touch `last`.
unsafe impl<T> Sync for ChaseLev<T> {}
// SAFETY: as above.
unsafe impl<T> Send for ChaseLev<T> {}

impl<T> ChaseLev<T> {
    pub(crate) fn new() -> ChaseLev<T> {
        let ring = Ring::new(FIRST, ptr::null_mut());
        ChaseLev {
            top: AtomicIsize::new(0),
            bottom: AtomicIsize::new(0),
            ring: AtomicPtr::new(ring),
            last: Cell::new(ring),
        }
    }

    #[inline(always)]
    pub(crate) fn push_bottom(&self, item: NonNull<T>) {
        let bottom = self.bottom.load(Relaxed);
        let top = self.top.load(Acquire);
        let mut ring = self.ring.load(Relaxed);
        // SAFETY: rings live as long as the deque.
        unsafe {
            if bottom - top > (*ring).mask {
                ring = self.grow(ring, top, bottom);
            }
            Ring::slot(ring, bottom).store(item.as_ptr(), Relaxed);
        }
        self.bottom.store(bottom + 1, Release);
    }

    #[inline(always)]
    pub(crate) fn pop_bottom(&self) -> Option<NonNull<T>> {
        let bottom = self.bottom.load(Relaxed) - 1;
        let ring = self.ring.load(Relaxed);
        self.bottom.store(bottom, Relaxed);
        // This is the fence that private deques save: the store to `bottom` must be seen before `top` is read.
        fence(SeqCst);
        let top = self.top.load(Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, Relaxed);
            return None;
        }
        // SAFETY: rings live as long as the deque, and everything between top and bottom was written.
        let item = unsafe { NonNull::new_unchecked(Ring::slot(ring, bottom).load(Relaxed)) };
        if top < bottom {
            return Some(item);
        }
        let won = self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
        self.bottom.store(bottom + 1, Relaxed);
        won.then_some(item)
    }

    pub(crate) fn steal(&self) -> Steal<T> {
        let top = self.top.load(Acquire);
        fence(SeqCst);
        let bottom = self.bottom.load(Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        let ring = self.ring.load(Acquire);
        // SAFETY: rings live as long as the deque. If the slot was overwritten, the exchange fails.
        let item = unsafe { Ring::slot(ring, top).load(Relaxed) };
        match self.top.compare_exchange(top, top + 1, SeqCst, Relaxed) {
            // SAFETY: the exchange succeeded, so the slot held what was pushed.
            Ok(_) => Steal::Success(unsafe { NonNull::new_unchecked(item) }),
            Err(_) => Steal::Lost,
        }
    }

    /// # Safety
    /// Called by the owner with its own ring.
    #[cold]
    #[inline(never)]
    unsafe fn grow(&self, ring: *mut Ring<T>, top: isize, bottom: isize) -> *mut Ring<T> {
        // SAFETY: rings live as long as the deque.
        unsafe {
            let larger = Ring::new(2 * ((*ring).mask + 1), ring);
            for index in top..bottom {
                let item = Ring::slot(ring, index).load(Relaxed);
                Ring::slot(larger, index).store(item, Relaxed);
            }
            self.ring.store(larger, Release);
            self.last.set(larger);
            larger
        }
    }
}

impl<T> Drop for ChaseLev<T> {
    fn drop(&mut self) {
        while let Some(ring) = NonNull::new(self.last.get()) {
            // SAFETY: nobody uses the deque any more; each ring was mapped with its own size.
            unsafe {
                self.last.set(ring.as_ref().before);
                unmap(ring.cast(), Ring::<T>::bytes(ring.as_ref().mask + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, AtomicUsize};

    #[test]
    fn the_owner_sees_a_stack_and_thieves_a_queue() {
        let items: Vec<u32> = (0..10).collect();
        let deque = ChaseLev::new();
        items.iter().for_each(|item| deque.push_bottom(NonNull::from(item)));
        assert_eq!(deque.steal(), Steal::Success(NonNull::from(&items[0])));
        assert_eq!(deque.pop_bottom(), Some(NonNull::from(&items[9])));
        for item in items[1..9].iter().rev() {
            assert_eq!(deque.pop_bottom(), Some(NonNull::from(item)));
        }
        assert_eq!((deque.pop_bottom(), deque.steal()), (None, Steal::Empty));
    }

    #[test]
    fn nothing_is_lost_or_doubled() {
        let items: Vec<AtomicU8> = (0..20_000).map(|_| AtomicU8::new(0)).collect();
        let deque = ChaseLev::<AtomicU8>::new();
        let open = AtomicUsize::new(items.len());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while open.load(Relaxed) > 0 {
                        match deque.steal() {
                            Steal::Success(item) => {
                                // SAFETY: items live until the scope ends.
                                unsafe { item.as_ref() }.fetch_add(1, Relaxed);
                                open.fetch_sub(1, Relaxed);
                            }
                            Steal::Empty | Steal::Lost => std::thread::yield_now(),
                        }
                    }
                });
            }
            for (i, item) in items.iter().enumerate() {
                deque.push_bottom(NonNull::from(item));
                if i % 3 == 0
                    && let Some(item) = deque.pop_bottom()
                {
                    // SAFETY: as above.
                    unsafe { item.as_ref() }.fetch_add(1, Relaxed);
                    open.fetch_sub(1, Relaxed);
                }
            }
            while let Some(item) = deque.pop_bottom() {
                // SAFETY: as above.
                unsafe { item.as_ref() }.fetch_add(1, Relaxed);
                open.fetch_sub(1, Relaxed);
            }
        });
        assert!(items.iter().all(|item| item.load(Relaxed) == 1));
    }
}
