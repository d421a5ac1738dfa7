//! The counting allocator of this program: how much heap all runtimes together use, and what a single thread allocates.
//!
//! Each thread counts for itself, and reports to the process whenever it has gained or lost [`STEP`] bytes. So a count
//! costs no shared memory access, and the process-wide figures are right to within one step per thread. Nothing here
//! allocates or has a destructor, so threads may allocate while they begin and end.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// How far a thread's count may differ from what the process knows.
const STEP: i64 = 16 << 10;

/// Bytes in use, by all threads.
static NOW: AtomicI64 = AtomicI64::new(0);
/// The most there were since [`forget_peak`].
static PEAK: AtomicI64 = AtomicI64::new(0);

struct Local {
    allocated: Cell<u64>,
    freed: Cell<u64>,
    untold: Cell<i64>,
}

thread_local! {
    static LOCAL: Local =
        const { Local { allocated: Cell::new(0), freed: Cell::new(0), untold: Cell::new(0) } };
}

impl Local {
    #[inline]
    fn count(&self, gained: i64) {
        let untold = self.untold.get() + gained;
        self.untold.set(untold);
        if untold.abs() >= STEP {
            self.tell();
        }
    }

    #[cold]
    fn tell(&self) {
        let gained = self.untold.replace(0);
        let now = NOW.fetch_add(gained, Relaxed) + gained;
        PEAK.fetch_max(now, Relaxed);
    }
}

/// The system's allocator, counted.
pub struct Counting;

#[inline]
fn allocated(bytes: usize) {
    LOCAL.with(|local| {
        local.allocated.set(local.allocated.get() + bytes as u64);
        local.count(bytes as i64);
    });
}

#[inline]
fn freed(bytes: usize) {
    LOCAL.with(|local| {
        local.freed.set(local.freed.get() + bytes as u64);
        local.count(-(bytes as i64));
    });
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        freed(layout.size());
        allocated(size);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Bytes that the calling thread has allocated and freed so far.
pub fn of_this_thread() -> (u64, u64) {
    LOCAL.with(|local| (local.allocated.get(), local.freed.get()))
}

/// Starts a new peak. Returns what is in use.
pub fn forget_peak() -> i64 {
    LOCAL.with(Local::tell);
    let now = NOW.load(Relaxed);
    PEAK.store(now, Relaxed);
    now
}

/// The most bytes in use at a time since [`forget_peak`].
pub fn peak() -> i64 {
    LOCAL.with(Local::tell);
    PEAK.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn a_thread_counts_for_itself() {
        let before = of_this_thread();
        drop(black_box(vec![1u8; 1000]));
        std::thread::scope(|s| s.spawn(|| drop(black_box(vec![1u8; 1 << 20]))).join()).unwrap();
        let after = of_this_thread();
        let (allocated, freed) = (after.0 - before.0, after.1 - before.1);
        assert!((1000..1 << 20).contains(&allocated), "{allocated}");
        assert!((1000..1 << 20).contains(&freed), "{freed}");
    }
}
