//! How a taken job tells its join that it has ended, and who goes on then.
//!
//! One word: pending, done, or the carrier that waits.
//!
//! | from | to | by | means |
//! |---|---|---|---|
//! | pending | carrier | the waiting carrier, compare-and-swap | it has no processor (or is about to give it away) and must be given one |
//! | carrier | pending | the waiting carrier, compare-and-swap | it has taken a processor itself, to help where there is no other carrier |
//! | pending | done | the finisher, swap | the waiter will see this by itself |
//! | carrier | done | the finisher, swap | the finisher must see to it that the carrier gets a processor |
//!
//! All transitions are read-modify-writes on one word, so exactly one comes first. Either the finisher finds the
//! carrier in the latch, or the carrier's compare-and-swap into the latch fails and the carrier goes on at once. The
//! same holds for a carrier that leaves the latch. Either it has left, and the finisher gives it nothing. Or it fails
//! to leave, and the finisher sees to it that it gets a processor.
//!
//! The swap is the finisher's last access to the latch, because the latch's memory may be gone right after it. Acquire
//! and release on both sides show the finisher's writes to the waiter, and the waiting carrier to the finisher.

use crate::protocol::carrier::{Carrier, Enabled};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicBool, AtomicPtr};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// See the module text.
pub(crate) struct Latch {
    state: AtomicPtr<Carrier>,
}

const DONE: *mut Carrier = ptr::dangling_mut();

impl Latch {
    pub(crate) fn new() -> Latch {
        Latch { state: AtomicPtr::new(ptr::null_mut()) }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state.load(Acquire) == DONE
    }

    /// Leaves the caller's own `carrier` here, to be given a processor when the latch is set. Returns false if the
    /// latch is set already. A carrier that is still here, because it was woken for something else, may do this again.
    #[must_use]
    pub(crate) fn park(&self, carrier: NonNull<Carrier>) -> bool {
        match self.state.compare_exchange(ptr::null_mut(), carrier.as_ptr(), AcqRel, Acquire) {
            Ok(_) => true,
            Err(state) => state != DONE,
        }
    }

    /// Takes the caller's own `carrier` out again, after [`Latch::park`]. Returns false if the latch was set meanwhile:
    /// then its setter gives the carrier a processor.
    #[must_use]
    pub(crate) fn leave(&self, carrier: NonNull<Carrier>) -> bool {
        if planted(Fault::LeaveLatchBlindly) {
            self.state.store(ptr::null_mut(), Release);
            return true;
        }
        self.state.compare_exchange(carrier.as_ptr(), ptr::null_mut(), AcqRel, Acquire).is_ok()
    }

    /// Sets the latch. The caller must give a processor to the carrier that is returned.
    ///
    /// # Safety
    /// The latch is alive; it may be gone after the call. It is set only once.
    pub(crate) unsafe fn set(latch: *const Latch) -> Enabled {
        // SAFETY: the caller promises that the latch is alive until the swap. Nothing here touches it after the swap.
        let state = unsafe { &(*latch).state };
        if planted(Fault::SetWithoutSwap) {
            state.store(DONE, Release);
            return None;
        }
        NonNull::new(state.swap(DONE, AcqRel))
    }
}

/// Chooses one of several threads that may set a latch: the first that comes.
///
/// Relaxed, because setting the latch shows the setter's earlier writes to the waiting carrier. A thread that comes later
/// publishes nothing here.
pub(crate) struct First(AtomicBool);

impl First {
    pub(crate) fn new() -> First {
        First(AtomicBool::new(false))
    }

    /// Whether the caller is the first. The first caller sets the latch.
    pub(crate) fn comes(&self) -> bool {
        if planted(Fault::ComeTwice) {
            let first = !self.0.load(Relaxed);
            self.0.store(true, Relaxed);
            return first;
        }
        !self.0.swap(true, Relaxed)
    }
}
