//! Memory for thread records without locks. Every worker has its own free lists, filled from chunks that it asks the
//! kernel for. A record that another worker allocated goes onto the list of the worker that frees it. Chunks are given
//! back when the pool ends. The system's allocator is not used, because it locks.

use crate::system::{map, unmap};
use std::ptr::{self, NonNull};

/// Records are multiples of this, and aligned to it.
const UNIT: usize = 64;
/// The largest record.
pub(crate) const LARGEST: usize = 4096;
const CLASSES: usize = LARGEST / UNIT;
const CHUNK: usize = 1 << 20;

struct Free {
    next: *mut Free,
}

struct Chunk {
    next: *mut Chunk,
}

/// One worker's memory.
pub(crate) struct Arena {
    free: [*mut Free; CLASSES],
    fresh: *mut u8,
    fresh_end: *mut u8,
    chunks: *mut Chunk,
}

// SAFETY: only this arena owns the memory that the pointers name.
unsafe impl Send for Arena {}

impl Arena {
    pub(crate) fn new() -> Arena {
        Arena {
            free: [ptr::null_mut(); CLASSES],
            fresh: ptr::null_mut(),
            fresh_end: ptr::null_mut(),
            chunks: ptr::null_mut(),
        }
    }

    /// Room for a `T`.
    #[inline(always)]
    pub(crate) fn allocate<T>(&mut self) -> NonNull<T> {
        const { assert!(size_of::<T>() <= LARGEST, "what a thread captures is too large: box it") };
        const { assert!(align_of::<T>() <= UNIT, "what a thread captures is aligned too widely: box it") };
        let class = const { (size_of::<T>().div_ceil(UNIT)).saturating_sub(1) };
        let head = self.free[class];
        if head.is_null() {
            return self.carve(class).cast();
        }
        // SAFETY: what is on a free list is a free record of this class, whose first word is its link.
        unsafe {
            self.free[class] = (*head).next;
            NonNull::new_unchecked(head.cast())
        }
    }

    /// Takes back the room of a `T`.
    ///
    /// # Safety
    /// It came from `allocate::<T>` of an arena of the same pool, and nobody uses it any more.
    #[inline(always)]
    pub(crate) unsafe fn free<T>(&mut self, record: NonNull<T>) {
        let class = const { (size_of::<T>().div_ceil(UNIT)).saturating_sub(1) };
        // SAFETY: by the caller's promise.
        unsafe { self.free_class(record.cast(), class) };
    }

    /// The class of records for a `T`.
    pub(crate) const fn class_of<T>() -> usize {
        size_of::<T>().div_ceil(UNIT).saturating_sub(1)
    }

    /// Takes back the room of a record of this class.
    ///
    /// # Safety
    /// As for [`Arena::free`].
    #[inline(always)]
    pub(crate) unsafe fn free_class(&mut self, record: NonNull<u8>, class: usize) {
        let link: *mut Free = record.as_ptr().cast();
        // SAFETY: the record is free, large enough for a link and aligned.
        unsafe { (*link).next = self.free[class] };
        self.free[class] = link;
    }

    #[cold]
    #[inline(never)]
    fn carve(&mut self, class: usize) -> NonNull<u8> {
        let size = (class + 1) * UNIT;
        if (self.fresh_end as usize) - (self.fresh as usize) < size {
            let chunk = map(CHUNK).as_ptr();
            // SAFETY: the chunk is new, and its first unit holds the link to the chunk before.
            unsafe { chunk.cast::<Chunk>().write(Chunk { next: self.chunks }) };
            self.chunks = chunk.cast();
            self.fresh = chunk.wrapping_add(UNIT);
            self.fresh_end = chunk.wrapping_add(CHUNK);
        }
        let record = self.fresh;
        self.fresh = self.fresh.wrapping_add(size);
        // SAFETY: it lies within a chunk.
        unsafe { NonNull::new_unchecked(record) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        while let Some(chunk) = NonNull::new(self.chunks) {
            // SAFETY: the link was written when the chunk was mapped. The pool drops its arenas together when all
            // workers have ended, so nobody uses a record of any of them.
            unsafe {
                self.chunks = chunk.as_ref().next;
                unmap(chunk.cast(), CHUNK);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_records_come_back() {
        let mut arena = Arena::new();
        let a: NonNull<[u64; 9]> = arena.allocate();
        let b: NonNull<[u64; 9]> = arena.allocate();
        assert_ne!(a, b);
        // SAFETY: both are ours.
        unsafe {
            arena.free(a);
            arena.free(b);
        }
        assert_eq!(arena.allocate::<[u64; 9]>(), b);
        assert_eq!(arena.allocate::<[u64; 10]>().cast(), a, "same class");
    }

    #[test]
    fn chunks_follow_each_other() {
        let mut arena = Arena::new();
        let records: Vec<NonNull<[u8; LARGEST]>> = (0..600).map(|_| arena.allocate()).collect();
        for (i, record) in records.iter().enumerate() {
            // SAFETY: records are distinct and large enough.
            unsafe { record.as_ptr().cast::<usize>().write(i) };
        }
        for (i, record) in records.iter().enumerate() {
            // SAFETY: written above.
            assert_eq!(unsafe { record.as_ptr().cast::<usize>().read() }, i);
        }
    }
}
