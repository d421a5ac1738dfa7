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
//! # Who relies on it
//!
//! The kernel may have no `membarrier`, may forbid it, or may begin to forbid it while the program runs; and in a process
//! that has other threads already, the kernel takes some ten milliseconds to prepare it. So every processor says
//! whether it *relies* on the heavy barrier: its [`Side`]. One that does not rely
//!
//! - never leaves its slow path: its limit stays poisoned ([`crate::protocol::deque::Deque::poison`]), so every fork attends;
//! - exposes every entry when it attends, so that nothing is popped without the deque's lock;
//! - issues a full fence of its own between its store and its load ([`full`]).
//!
//! The fast path has no test for this. A processor changes sides only when it attends, and [`heavy`] calls `membarrier` only
//! if a processor relies on it. A pool with [`fence`](crate::Builder::fence) has no such processor, so it never makes the call.
//!
//! **A processor begins to rely** ([`Side::rely`]) by storing that it does, and a full fence. Whoever calls `heavy` has made
//! its store, issues a full fence, and then looks who relies. Either it sees that the processor relies, and makes
//! the call; or its fence comes before the processor's, and then everything that the processor loads from there on sees
//! the store. (The same two-sided argument as above, one level up.)
//!
//! **A processor ceases to rely** ([`Side::cease`]) by a release store: whoever reads it sees what the processor did while it
//! relied. Before it goes on it exposes its entries, under the deque's lock, and from there on it fences. A thief that holds
//! the lock meanwhile either reads that the processor ceased, and then sees its pops; or was refused.
//!
//! # When the kernel refuses the call
//!
//! [`heavy`] then says that it has reached nobody. From there on [`offered`] is false, so every processor ceases to rely
//! when it attends next. Until then forks of that processor are in flight about which nothing is known. What each caller does:
//!
//! | caller | when the barrier was refused |
//! |---|---|
//! | a thief that has raised the top ([`crate::protocol::deque::Deque::steal`]) | lowers it again, and leaves: the owner has the entry, or waits for the lock and finds the top lowered. Entries that the owner has exposed need no barrier; those are what thieves live on from now on |
//! | a thief that withdraws its query ([`crate::protocol::query`]) | waits until the round has ended |
//! | a left side that leaves without an answer ([`crate::protocol::resolution`]) | waits for the answer |
//! | a sleeper ([`crate::protocol::sleep`]) | has poisoned all limits, so every fork that begins from now on attends. It looks after [`settle`], when the entries of earlier forks are visible |
//!
//! Only the last one rests on time, and on nothing but that a store of one core reaches the others within a millisecond. If it did
//! not, no entry would be lost or run twice: it would wait for its owner's next fork, or join.
//!
//! # When the call is prepared
//!
//! In a process with one thread the registration costs nothing, so it is done when the first pool is built. Else pools begin
//! without. Once a processor has attended [`MANY`] forks because of that, a thread of its own registers, beside the work
//! ([`prepare_beside`]), and processors begin to rely when it is done. A program that ends before that pays nothing: not
//! even at its end, for which the kernel would have to wait as well.
//!
//! # Models
//!
//! Under loom `light` and `heavy` are sequentially consistent fences, which is what `membarrier` makes of them. That is stronger
//! than the real ones: `light` orders nothing against a party that does not call `heavy`. So there is a second kind of
//! model, `weak` (`models::set_weak`): there `light` is nothing at all and `heavy` reaches nobody who relies. What holds
//! there holds without any `membarrier`.

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicBool, fence};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// Forks that one processor attends without the barrier before it is prepared beside the work: about what it costs.
pub(crate) const MANY: u32 = 20_000;

/// The frequent side: pairs with [`heavy`].
#[inline(always)]
pub(crate) fn light() {
    #[cfg(loom)]
    if !models::is_weak() {
        fence(SeqCst);
    }
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(SeqCst);
}

/// A full fence of the calling thread, for processors that do not rely on the heavy barrier.
pub(crate) fn full() {
    fence(SeqCst);
}

/// Whether a processor relies on the heavy barrier. See the module text.
pub(crate) struct Side(AtomicBool);

impl Side {
    /// Of a processor that does not.
    pub(crate) fn new() -> Side {
        Side(AtomicBool::new(false))
    }

    /// Exact for the holder, and for whoever has issued a fence after its store: see the module text.
    #[inline]
    pub(crate) fn relies(&self) -> bool {
        // Acquire: who ceased to rely is known with all that it did before.
        self.0.load(Acquire)
    }

    /// Holder. The processor relies from now on.
    pub(crate) fn rely(&self) {
        self.0.store(true, Relaxed);
        if !planted(Fault::RelyWithoutFence) {
            // Pairs with the first fence of `heavy`.
            fence(SeqCst);
        }
    }

    /// Holder, who exposes all entries before it goes on. The processor fences for itself from now on.
    pub(crate) fn cease(&self) {
        self.0.store(false, if planted(Fault::CeaseWithoutOrder) { Relaxed } else { Release });
    }

    /// Holder. What stands between a store and a load that pair with [`heavy`], off the fast path.
    #[inline]
    pub(crate) fn light_or_full(&self) {
        if self.relies() {
            light();
        } else if !planted(Fault::AttendWithoutFence) {
            full();
        }
    }
}

/// The rare side: pairs with [`light`]. False if it has not reached one of these processors, which relies on it.
#[must_use]
pub(crate) fn heavy<'a>(mut sides: impl Iterator<Item = &'a Side>) -> bool {
    let early = planted(Fault::LookBeforeFence).then(|| sides.any(Side::relies));
    // Pairs with the fence of `rely`.
    fence(SeqCst);
    if !early.unwrap_or_else(|| sides.any(Side::relies)) {
        return true;
    }
    let reached = interrupt();
    fence(SeqCst);
    reached || planted(Fault::TrustRefusal)
}

#[cfg(loom)]
use models::interrupt;
#[cfg(all(not(loom), target_os = "linux"))]
use process::interrupt;
#[cfg(all(not(loom), target_os = "linux"))]
pub(crate) use process::{leave_parent, offered, prepare, prepare_beside, settle};

/// What `membarrier` does in the models.
#[cfg(loom)]
pub(crate) mod models {
    use std::cell::Cell;

    thread_local! {
        /// Of the test that the calling thread runs: loom runs all threads of a model on one.
        static WEAK: Cell<bool> = const { Cell::new(false) };
        static CALLED: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether from now on `light` is nothing, and `heavy` reaches nobody who relies.
    pub(crate) fn set_weak(weak: bool) {
        WEAK.set(weak);
    }

    pub(crate) fn is_weak() -> bool {
        WEAK.get()
    }

    /// Whether anybody has called `heavy`, for a processor that relies on it, since this was last asked.
    pub(crate) fn was_called() -> bool {
        CALLED.take()
    }

    pub(super) fn interrupt() -> bool {
        CALLED.set(true);
        !is_weak()
    }
}

/// Systems without `membarrier`: no processor ever relies on it.
#[cfg(all(not(loom), not(target_os = "linux")))]
mod nowhere {
    pub(crate) fn offered() -> bool {
        false
    }
    pub(crate) fn prepare() {}
    pub(crate) fn prepare_beside() {}
    pub(crate) fn settle() {}
    pub(super) fn interrupt() -> bool {
        unreachable!("nobody relies on a barrier that was never offered")
    }
}
#[cfg(all(not(loom), not(target_os = "linux")))]
use nowhere::interrupt;
#[cfg(all(not(loom), not(target_os = "linux")))]
pub(crate) use nowhere::{offered, prepare, prepare_beside, settle};

/// What the process knows of `membarrier`.
#[cfg(all(not(loom), target_os = "linux"))]
mod process {
    use std::io::{self, Write};
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::{
        AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
    };
    use std::thread;
    use std::time::Duration;

    const UNKNOWN: usize = 0;
    const REGISTERING: usize = 1;
    const OFFERED: usize = 2;
    const REFUSED: usize = 3;

    static STATE: AtomicUsize = AtomicUsize::new(UNKNOWN);
    /// How long it takes at most until others see what a core has stored.
    const SETTLE: Duration = Duration::from_millis(1);

    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// Whether processors may rely on the heavy barrier.
    #[inline]
    pub(crate) fn offered() -> bool {
        // Acquire: the registration has been carried out.
        STATE.load(Acquire) == OFFERED
    }

    /// Registers, if that takes no time.
    pub(crate) fn prepare() {
        if STATE.load(Relaxed) == UNKNOWN && !unwanted() && is_only_thread() && begin() {
            register();
        }
    }

    /// Registers on a thread of its own, which nobody waits for. Once per process.
    #[cold]
    pub(crate) fn prepare_beside() {
        if STATE.load(Relaxed) != UNKNOWN || unwanted() || !begin() {
            return;
        }
        let beside =
            thread::Builder::new().name("bombyx-barrier".to_owned()).stack_size(64 << 10).spawn(register);
        if beside.is_err() {
            // No thread to be had: ten milliseconds of this one.
            register();
        }
    }

    /// The calling thread is the one of a child process, which inherits a registration; but who was about to register is in the
    /// parent.
    pub(crate) fn leave_parent() {
        let _ = STATE.compare_exchange(REGISTERING, UNKNOWN, Relaxed, Relaxed);
    }

    fn begin() -> bool {
        STATE.compare_exchange(UNKNOWN, REGISTERING, Relaxed, Relaxed).is_ok()
    }

    fn register() {
        match membarrier(REGISTER_PRIVATE_EXPEDITED) {
            Ok(()) => STATE.store(OFFERED, Release),
            Err(error) => refused(&error),
        }
    }

    /// Makes every running thread of the process execute a full barrier. False if the kernel refuses.
    pub(super) fn interrupt() -> bool {
        offered() && membarrier(PRIVATE_EXPEDITED).map_err(|error| refused(&error)).is_ok()
    }

    /// Says so once, unless the kernel simply has no such call.
    #[cold]
    fn refused(error: &io::Error) {
        if STATE.swap(REFUSED, AcqRel) != REFUSED && error.raw_os_error() != Some(libc::ENOSYS) {
            let text = format!(
                "bombyx: the system refuses membarrier(2): {error}; going on without it, with slower forks \
                 (BOMBYX_BARRIER=fence does without it from the start)\n"
            );
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    /// Waits until what was stored before is visible everywhere.
    #[cold]
    pub(crate) fn settle() {
        thread::sleep(SETTLE);
    }

    /// Whether the environment asks to do without.
    fn unwanted() -> bool {
        std::env::var_os("BOMBYX_BARRIER").is_some_and(|choice| choice == "fence")
    }

    /// Whether the process is known to have no other thread: the folder has a link for each, and two more.
    fn is_only_thread() -> bool {
        std::fs::metadata("/proc/self/task").is_ok_and(|tasks| tasks.nlink() == 3)
    }

    fn membarrier(command: libc::c_int) -> io::Result<()> {
        // SAFETY: membarrier takes three integers and touches no memory of ours.
        match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
