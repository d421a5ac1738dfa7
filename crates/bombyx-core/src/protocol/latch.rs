//! How a taken job tells its join that it has ended, and who goes on then.
//!
//! One word: pending, done, or the carrier that waits.
//!
//! | from | to | by | means |
//! |---|---|---|---|
//! | pending | carrier | the waiting carrier, compare-and-swap | it has no processor (or is about to give it away) and must be given one |
//! | pending | done | the finisher, swap | the waiter will see it by itself |
//! | carrier | done | the finisher, swap | the finisher must see to it that the carrier gets a processor |
//!
//! Both transitions out of *pending* are read-modify-writes on one word, so exactly one comes first: either
//! the finisher finds the carrier in its hands, or the carrier's compare-and-swap fails and it goes on at once.
//! The swap is the finisher's last access to the latch, whose memory may be gone right after it. Acquire and
//! release on both sides hand the results over: the finisher's writes to the waiter, and the waiter's
//! parking place to the finisher.

use crate::protocol::carrier::{Carrier, Enabled};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::AtomicPtr;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

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

    /// Leaves `carrier`, the caller's, to be given a processor when the latch is set. False if it is set already. A carrier
    /// that was woken for something else may do this again.
    #[must_use]
    pub(crate) fn park(&self, carrier: NonNull<Carrier>) -> bool {
        match self.state.compare_exchange(ptr::null_mut(), carrier.as_ptr(), AcqRel, Acquire) {
            Ok(_) => true,
            Err(state) => state != DONE,
        }
    }

    /// Sets the latch. Whoever waits is now the caller's to give a processor to.
    ///
    /// # Safety
    /// The latch is alive; it may be gone after the call. To be called once.
    pub(crate) unsafe fn set(latch: *const Latch) -> Enabled {
        // SAFETY: alive until the swap, by the caller's promise; not touched after it.
        let state = unsafe { &(*latch).state };
        if planted(Fault::SetWithoutSwap) {
            state.store(DONE, Release);
            return None;
        }
        NonNull::new(state.swap(DONE, AcqRel))
    }
}
