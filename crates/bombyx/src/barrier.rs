//! The asymmetric barrier: nothing at all for the side that runs on every fork, everything for the side that
//! runs on a rare steal or before a sleep.
//!
//! Two parties each store one word and then load the other's. For at least one of them to see the other's
//! store, each needs a store-load barrier between its two accesses. `membarrier(2)` (private, expedited)
//! makes every running thread of the process execute a full barrier, so the frequent side can do with a
//! *compiler* barrier ([`light`]) if the rare side calls [`heavy`] between its own two accesses: whatever the
//! frequent side stored before the interrupt is visible after it, and whatever it loads after the interrupt
//! sees the rare side's store.
//!
//! Where the kernel has no `membarrier`, or `BOMBYX_BARRIER=fence` asks to do without it, [`heavy`] is an
//! ordinary fence and processors never leave the slow path: their limit stays poisoned
//! ([`crate::deque::Deque::poison`]), every fork attends and issues the full fence itself, and every entry is
//! popped under the deque's lock. The fast path stays free of the test.
//!
//! Under loom both sides are sequentially consistent fences, which is what `membarrier` makes of them.

use crate::primitive::fence;
use std::sync::atomic::Ordering::SeqCst;

/// The frequent side: pairs with [`heavy`].
#[inline(always)]
pub(crate) fn light() {
    #[cfg(loom)]
    fence(SeqCst);
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(SeqCst);
}

/// A full fence of the calling thread, for the slow path of pools that run without `membarrier`.
pub(crate) fn full() {
    fence(SeqCst);
}

/// The rare side: pairs with [`light`].
#[cfg(loom)]
pub(crate) fn heavy() {
    fence(SeqCst);
}

/// The rare side: pairs with [`light`].
#[cfg(not(loom))]
pub(crate) fn heavy() {
    fence(SeqCst);
    #[cfg(target_os = "linux")]
    if asymmetric() {
        // It worked before, so the program has forbidden it since. Going on without would let two take the same job.
        if !linux::membarrier(linux::PRIVATE_EXPEDITED) {
            crate::handlers::abort(
                "the system refuses membarrier(2), which it allowed before; set BOMBYX_BARRIER=fence",
            );
        }
        fence(SeqCst);
    }
}

/// Whether [`heavy`] reaches the other threads. Decided once per process.
#[cfg(not(loom))]
pub(crate) fn asymmetric() -> bool {
    #[cfg(target_os = "linux")]
    {
        static ASYMMETRIC: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ASYMMETRIC.get_or_init(|| {
            std::env::var_os("BOMBYX_BARRIER").is_none_or(|choice| choice != "fence")
                && linux::membarrier(linux::REGISTER_PRIVATE_EXPEDITED)
        })
    }
    #[cfg(not(target_os = "linux"))]
    false
}

#[cfg(all(not(loom), target_os = "linux"))]
mod linux {
    pub(super) const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    pub(super) const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// Whether the kernel carried the command out.
    pub(super) fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes three integers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}
