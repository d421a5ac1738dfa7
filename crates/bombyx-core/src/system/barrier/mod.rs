//! The asymmetric barrier. It costs nothing on the side that runs at every fork, and everything on the side that runs
//! at a rare steal or before a sleep.
//!
//! Two parties each store one word and then load the other's. For at least one of them to see the other's store, each
//! needs a store-load barrier between its two accesses. `membarrier(2)` (private, expedited) makes every running thread
//! of the process execute a full barrier. Windows has a call that does the same ([below](#windows)). So a *compiler*
//! barrier ([`light`]) is enough for the frequent side if the rare side calls [`heavy`] between its own two accesses.
//! Whatever the frequent side stored before the interrupt is visible after it, and whatever it loads after the interrupt
//! sees the rare side's store.
//!
//! | file | has |
//! |---|---|
//! | `linux.rs`, `windows.rs`, `elsewhere.rs` | the call of the system, if it has one |
//! | `modelled.rs` | what stands for it in the models |
//!
//! **Not here:** which thread calls the barrier for others at the same time ([`crate::system::together`]).
//!
//! # Who relies on it
//!
//! The kernel may have no `membarrier`, may forbid it, or may begin to forbid it while the program runs. And if the
//! process already has other threads, the kernel takes some ten milliseconds to prepare it. So every processor says
//! whether it *relies* on the heavy barrier: its [`Side`]. A processor that does not rely on it
//!
//! - never leaves its slow path: its limit stays poisoned ([`crate::protocol::deque::Deque::poison`]), so every fork
//!   attends;
//! - exposes every entry when it attends, so that nothing is popped without the deque's lock;
//! - issues a full fence itself between its store and its load ([`full`]).
//!
//! The fast path has no test for this. A processor changes sides only when it attends, and [`heavy`] calls `membarrier` only
//! if a processor relies on it. A pool with [`fence`](crate::Builder::fence) has no such processor, so it never makes the call.
//!
//! **A processor begins to rely** ([`Side::rely`]): it stores that it does, and issues a full fence. A caller of
//! `heavy` has made its store, issues a full fence, and then looks who relies. Either it sees that the processor
//! relies, and makes the call. Or its fence comes before the processor's, and then everything that the processor loads
//! from there on sees the store. (This is the two-sided argument from above, one level up.)
//!
//! **A processor stops relying** ([`Side::cease`]): it makes a release store, and a thread that reads it sees what the
//! processor did while it relied. Before it goes on, it exposes its entries under the deque's lock, and from there on
//! it issues fences. A thief that holds the lock meanwhile either reads that the processor stopped, and then sees its
//! pops; or the thief was refused.
//!
//! Callers at the same time share the call ([`crate::system::together`]).
//!
//! # When the kernel refuses the call
//!
//! [`heavy`] then says that it has reached nobody. From there on [`offered`] is false, so every processor stops relying
//! when it next attends. Until then, forks of that processor are in flight about which nothing is known. What each
//! caller does:
//!
//! | caller | when the barrier was refused |
//! |---|---|
//! | a thief that has raised the top ([`crate::protocol::deque::Deque::steal`]) | lowers it again, and leaves: the owner has the entry, or waits for the lock and finds the top lowered. Entries that the owner has exposed need no barrier; from now on thieves take those |
//! | a thief that withdraws its query ([`crate::protocol::query`]) | waits until the round has ended |
//! | a left side that leaves without an answer ([`crate::protocol::resolution`]) | waits for the answer |
//! | a sleeper ([`crate::protocol::sleep`]) | has poisoned all limits, so every fork that begins from now on attends. It looks after [`wait_for_stores`], when the entries of earlier forks are visible |
//!
//! Only the last case depends on time: it assumes that a store of one core reaches the others within a millisecond. If
//! that failed, no entry would be lost or run twice. The entry would wait for its owner's next fork, or join.
//!
//! # When the call is prepared
//!
//! In a process with one thread the registration costs nothing, so the first pool registers. Otherwise pools begin without
//! the barrier. Once a processor has attended [`MANY`] forks for that reason, a separate thread registers
//! ([`prepare_beside`]), and processors begin to rely when it is done. A program that ends before that pays nothing. It
//! also does not wait at its end, as it would for a registration in progress.
//!
//! # Windows
//!
//! `FlushProcessWriteBuffers` is documented to interrupt every processor that the process may use, and to make visible to
//! all of them what each has written. An interrupt ends what a core has begun: its earlier stores are visible when the
//! call returns, and its later loads come after the interrupt. A thread that is not running has passed through the
//! kernel's switch of threads, which is a full barrier, and passes through it again before it goes on. So for every
//! thread there is a moment between the start and the end of the call at which it has executed a full barrier: the
//! same promise as `membarrier`'s. The call needs no registration and has no result: it is never refused.
//!
//! # Other systems
//!
//! Elsewhere no processor relies on the heavy barrier, and every fork issues a fence. On macOS, reading the registers of
//! each thread of the process interrupts it, and some runtimes use that as a barrier. But no document promises it, and
//! it takes one call per thread. On ARM the older trick, changing the protection of a page, interrupts nobody.
//!
//! # Models
//!
//! Under loom, `light` and `heavy` are sequentially consistent fences, which is what `membarrier` makes of them. That
//! is stronger than the real ones: `light` orders nothing against a party that does not call `heavy`. So there is a
//! second kind of model, `weak` (`set_weak`). There `light` is nothing at all, and `heavy` reaches no processor
//! that relies on it. What holds there holds without any `membarrier`.

#[cfg(all(not(loom), not(any(target_os = "linux", windows))))]
mod elsewhere;
#[cfg(all(not(loom), target_os = "linux"))]
mod linux;
#[cfg(loom)]
mod modelled;
#[cfg(all(not(loom), windows))]
mod windows;

#[cfg(all(not(loom), not(any(target_os = "linux", windows))))]
use elsewhere as way;
#[cfg(all(not(loom), target_os = "linux"))]
use linux as way;
#[cfg(loom)]
use modelled as way;
#[cfg(all(not(loom), windows))]
use windows as way;

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicBool, compiler_fence, fence};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

pub(crate) use way::*;

/// How many forks one processor attends without the barrier before a thread prepares it. They cost about what preparing
/// it costs.
pub(crate) const MANY: u32 = 20_000;

/// The frequent side: pairs with [`heavy`].
#[inline(always)]
pub(crate) fn light() {
    compiler_fence(SeqCst);
}

/// A full fence of the calling thread, for processors that do not rely on the heavy barrier.
pub(crate) fn full() {
    fence(SeqCst);
}

/// Whether a processor relies on the heavy barrier. See the module text.
pub(crate) struct Side(AtomicBool);

impl Side {
    /// The side of a processor that does not rely.
    pub(crate) fn new() -> Side {
        Side(AtomicBool::new(false))
    }

    /// Exact for the holder, and for a thread that has issued a fence after its store: see the module text.
    #[inline]
    pub(crate) fn relies(&self) -> bool {
        // Acquire: a thread that sees that a processor stopped relying sees everything that it did before.
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

    /// Holder. The processor exposes all entries before it goes on. From now on it issues fences itself.
    pub(crate) fn cease(&self) {
        self.0.store(false, if planted(Fault::CeaseWithoutOrder) { Relaxed } else { Release });
    }

    /// Holder. The barrier between a store and a load that pair with [`heavy`], off the fast path.
    #[inline]
    pub(crate) fn light_or_full(&self) {
        if self.relies() {
            light();
        } else if !planted(Fault::AttendWithoutFence) {
            full();
        }
    }
}

/// The rare side: pairs with [`light`]. Returns false if one of these processors relies on the barrier and was not
/// reached.
#[must_use]
pub(crate) fn heavy<'a>(mut sides: impl Iterator<Item = &'a Side>) -> bool {
    let early = planted(Fault::LookBeforeFence).then(|| sides.any(Side::relies));
    // Pairs with the fence of `rely`.
    fence(SeqCst);
    if !early.unwrap_or_else(|| sides.any(Side::relies)) {
        return true;
    }
    let reached = way::interrupt();
    fence(SeqCst);
    reached || planted(Fault::TrustRefusal)
}

/// Whether the environment asks to do without the barrier.
fn unwanted() -> bool {
    std::env::var_os("BOMBYX_BARRIER").is_some_and(|choice| choice == "fence")
}

#[cfg(all(test, not(loom), any(target_os = "linux", windows)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    const ROUNDS: u32 = 5_000;

    /// The two parties of the module text, on real threads. In each round both store their word and then look at the
    /// other's. At least one must see the other. Without `heavy` this fails within some hundred rounds on x86-64.
    #[test]
    fn one_of_two_sees_the_other() {
        prepare();
        prepare_beside();
        while !unwanted() && !is_settled() {
            thread::yield_now();
        }
        if !offered() {
            eprintln!("skipped: the barrier is refused, or not wanted");
            return;
        }
        let side = Side::new();
        side.rely();
        // Words of different lines: a line that both write would slow down the stores that have to be late.
        let words = [const { Line(AtomicU32::new(0)) }; 4];
        let [frequent, rare, begun, ended] = words.each_ref().map(|line| &line.0);
        thread::scope(|scope| {
            let saw = scope.spawn(move || {
                let mut saw = Vec::new();
                for round in 1..=ROUNDS {
                    wait_until(begun, round);
                    frequent.store(round, Relaxed);
                    light();
                    saw.push(rare.load(Relaxed) == round);
                    ended.store(round, Release);
                }
                saw
            });
            let mut seen = Vec::new();
            for round in 1..=ROUNDS {
                begun.store(round, Release);
                // Begins when the other side does, not long before.
                for _ in 0..round % 64 {
                    std::hint::spin_loop();
                }
                rare.store(round, Relaxed);
                assert!(heavy([&side].into_iter()), "the barrier was refused");
                seen.push(frequent.load(Relaxed) == round);
                wait_until(ended, round);
            }
            let saw = saw.join().unwrap();
            let missed = saw.iter().zip(&seen).filter(|(saw, seen)| !**saw && !**seen).count();
            assert_eq!(missed, 0, "neither saw the other in {missed} of {ROUNDS} rounds");
        });
    }

    #[repr(align(128))]
    struct Line(AtomicU32);

    fn wait_until(word: &AtomicU32, round: u32) {
        for look in 0_u32.. {
            if word.load(Acquire) >= round {
                break;
            }
            if look > 100 {
                thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
