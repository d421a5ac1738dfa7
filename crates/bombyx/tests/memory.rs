//! What `collect` allocates.

use bombyx::Pool;
use bombyx::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Counts large allocations, and the bytes that are in use.
struct Counting;

static LARGE: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

const ITEMS: usize = 1 << 20;

fn add(size: usize) {
    if size >= ITEMS {
        LARGE.fetch_add(1, Relaxed);
    }
    PEAK.fetch_max(USED.fetch_add(size, Relaxed) + size, Relaxed);
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        USED.fetch_sub(layout.size(), Relaxed);
        add(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Calls `f`, and returns its number of large allocations and its peak in bytes.
fn measured<R>(f: impl FnOnce() -> R) -> (usize, usize) {
    let before = USED.load(Relaxed);
    LARGE.store(0, Relaxed);
    PEAK.store(before, Relaxed);
    let result = f();
    let measured = (LARGE.load(Relaxed), PEAK.load(Relaxed) - before);
    drop(result);
    measured
}

// One test, because tests of one process run at the same time.
#[test]
fn collect_allocates_little() {
    for processors in [1, 2, 4] {
        let pool = Pool::builder().processors(processors).build().unwrap();
        pool.run(|| {
            let numbers: Vec<u64> = (0..ITEMS as u64).into_par_iter().collect();
            let (large, peak) = measured(|| numbers.par_iter().map(|n| n + 1).collect::<Vec<u64>>());
            assert_eq!(large, 1, "{processors} processors");
            assert!(peak < 8 * ITEMS + (64 << 10), "{processors} processors, peak {peak}");
            for keep in [1, 2, 10] {
                let result = ITEMS / keep * 8;
                let (_, peak) =
                    measured(|| numbers.par_iter().filter(|n| *n % keep as u64 == 0).collect::<Vec<_>>());
                assert!(
                    peak < 2 * result + (256 << 10) * processors,
                    "{processors} processors, peak {peak} for {result}"
                );
            }
        });
    }
}
