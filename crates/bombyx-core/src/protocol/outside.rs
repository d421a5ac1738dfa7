//! How a thread that holds no processor waits until something has ended. The thread parks, and the setter of the latch
//! unparks it. It also wakes up now and then by itself, to see whether the work has found a carrier
//! ([`crate::api::signal`]). In the models it does not, so that they notice every lost wake-up.
//!
//! The latch says whether there is something to wait for. The parking token outlasts an early unpark, so the thread
//! looks again. The frame with the latch may be gone as soon as the latch is set, so the thread's handle is cloned
//! before.

use crate::protocol::latch::Latch;
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{Thread, current_thread, park, park_timeout};
use std::time::Duration;

/// A thread that holds no processor.
pub(crate) struct Outside(Thread);

impl Outside {
    /// The calling thread.
    pub(crate) fn here() -> Outside {
        Outside(current_thread())
    }

    /// Sets the latch that this thread waits for.
    ///
    /// # Safety
    /// Both are alive, and may be gone after the call. Nobody parks at the latch as a carrier.
    pub(crate) unsafe fn set(this: *const Outside, latch: *const Latch) {
        // SAFETY: alive until the latch is set.
        let thread = unsafe { (*this).0.clone() };
        if planted(Fault::UnparkBeforeSetting) {
            thread.unpark();
        }
        // SAFETY: as the caller promises.
        let nobody = unsafe { Latch::set(latch) };
        debug_assert!(nobody.is_none(), "a thread without a processor does not park at a latch");
        if !planted(Fault::UnparkBeforeSetting) {
            thread.unpark();
        }
    }

    /// Waits on this thread until the latch is set, `time` is over, or somebody unparks the thread. Returns whether the
    /// latch is set.
    pub(crate) fn wait_for(&self, latch: &Latch, time: Option<Duration>) -> bool {
        if !latch.is_done() {
            match time {
                Some(time) => park_timeout(&self.0, time),
                None => park(&self.0),
            }
        }
        latch.is_done()
    }
}
