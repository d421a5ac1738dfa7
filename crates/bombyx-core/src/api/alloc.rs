//! Memory accounting: which processor has allocated how much.
//!
//! [`Metered`] wraps the global allocator and charges every block to the processor that the allocating thread holds.
//! Programs without it can report what they allocate ([`charge`], [`release`]). The counts use up the quota of
//! `dfdeques:K` and `depth-first:K`, and add up to the heap in [`crate::Stats`]. For the recorder ([`crate::profile`]),
//! each thread also counts what it has allocated in the strand that it runs.
//!
//! Nothing here allocates, locks or runs a destructor, so it may be called from anywhere, even while a thread begins or
//! ends. A processor that has used up its quota does not stop here, because the caller may hold any lock. Instead its
//! limit is poisoned, and its next fork attends.

use crate::machine::current;
use crate::machine::meter;
use crate::profile::note_block;
use std::alloc::{GlobalAlloc, Layout};

/// A global allocator that charges each block to the processor that allocates it.
///
/// While no pool asks for it ([`crate::Builder::metered`], `dfdeques:K`, `depth-first:K`, a profile), it adds a load
/// and a branch to each call. Memory that is allocated by threads without a processor is charged to nobody. A block
/// that is freed on another processor, or in another pool, is subtracted there.
///
/// ```
/// use std::alloc::System;
///
/// #[global_allocator]
/// static ALLOCATOR: bombyx::alloc::Metered<System> = bombyx::alloc::Metered::new(System);
///
/// let pool = bombyx::Pool::builder().processors(1).metered(true).build()?;
/// let kept = pool.run(|| vec![0u8; 1 << 20]);
/// assert!(pool.stats().heap >= 1 << 20);
/// pool.run(move || drop(kept));
/// assert!(pool.stats().heap < 1 << 20 && pool.stats().peak_heap >= 1 << 20);
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Metered<A> {
    inner: A,
}

impl<A> Metered<A> {
    /// Meters what is allocated by `inner`.
    pub const fn new(inner: A) -> Metered<A> {
        Metered { inner }
    }
}

// SAFETY: every call is passed on to an allocator, unchanged.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Metered<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let block = unsafe { self.inner.alloc(layout) };
        count(block, layout.size() as i64);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        count(block, layout.size() as i64);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(block, -(layout.size() as i64));
        // SAFETY: as the caller promises.
        unsafe { self.inner.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let moved = unsafe { self.inner.realloc(block, layout, size) };
        // Count one block less and one block more, because the charge to a quota depends on both sizes.
        count(moved, -(layout.size() as i64));
        count(moved, size as i64);
        moved
    }
}

#[inline(always)]
fn count(block: *mut u8, bytes: i64) {
    if meter::is_metering() && !block.is_null() {
        metered(bytes);
    }
}

#[cold]
#[inline(never)]
fn metered(bytes: i64) {
    let Some(processor) = current::processor() else { return };
    if note_block(bytes) {
        processor.charge(bytes);
    }
}

/// Charges `bytes` of memory to the processor of the calling thread, as if it had allocated them. Use this in programs
/// without [`Metered`], and for memory that comes from elsewhere (a mapped file, a device). Outside a pool it does
/// nothing.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(1).scheduler("dfdeques:50000".parse()?).build()?;
/// pool.run(|| {
///     bombyx::charge(40_000);
///     // … use it …
///     bombyx::release(40_000);
/// });
/// assert_eq!(pool.stats().peak_heap, 40_000);
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn charge(bytes: usize) {
    metered(i64::try_from(bytes).unwrap_or(i64::MAX));
}

/// Takes back what was [charged](charge), on any processor.
pub fn release(bytes: usize) {
    metered(-i64::try_from(bytes).unwrap_or(i64::MAX));
}

/// Announces that the calling thread is about to allocate a block of `bytes`. A scheduler with a quota K may then let
/// others go first, before the memory is taken.
///
/// With `dfdeques:K` and `depth-first:K`, a block above K waits here for ⌈bytes/K⌉ dummy threads, as the paper requires
/// (DFD §3.3). A smaller block waits only if the remaining quota is too small, until it is this thread's turn
/// again. With other schedulers, and outside a pool, this does nothing. The thread may stop here for a while, so do not
/// call this with a lock held.
///
/// ```
/// fn work(size: usize) -> usize {
///     bombyx::reserve(size);
///     let block = vec![1u8; size];
///     block.len()
/// }
/// let pool = bombyx::Pool::builder().processors(2).scheduler("dfdeques:50000".parse()?).build()?;
/// pool.run(|| bombyx::join(|| work(200_000), || work(300_000)));
/// assert_eq!(pool.stats().quotas.dummies, 4 + 6);
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn reserve(bytes: usize) {
    let Some(processor) = current::processor() else { return };
    if processor.meter.reserve(i64::try_from(bytes).unwrap_or(i64::MAX)) {
        processor.strategy().heed_quota(processor);
    }
}
