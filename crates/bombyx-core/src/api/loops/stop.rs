//! When a loop stops early: never, at an error, or when it is cancelled.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Says which positions of a loop need not run.
pub(crate) trait Stop: Sync {
    /// Whether nothing from this position on needs to run. Asked before every iteration.
    fn is_reached(&self, position: usize) -> bool;

    /// Like [`Stop::is_reached`], asked before every block. May take longer.
    #[inline(always)]
    fn is_reached_by_block(&self, position: usize) -> bool {
        self.is_reached(position)
    }
}

/// Every position runs.
pub(crate) struct Never;

impl Stop for Never {
    #[inline(always)]
    fn is_reached(&self, _: usize) -> bool {
        false
    }
}

/// Positions before the first known error run, and no others. So the first error of all is found.
pub(crate) struct FirstError {
    /// The position of the first known error, or the end of all positions.
    known: AtomicUsize,
}

impl FirstError {
    pub(crate) fn new() -> FirstError {
        FirstError { known: AtomicUsize::new(usize::MAX) }
    }

    /// There is an error at this position.
    pub(crate) fn note(&self, position: usize) {
        // Relaxed: the number is a hint that saves work. The error itself travels with the results.
        self.known.fetch_min(position, Relaxed);
    }
}

impl Stop for FirstError {
    #[inline(always)]
    fn is_reached(&self, position: usize) -> bool {
        position > self.known.load(Relaxed)
    }
}
