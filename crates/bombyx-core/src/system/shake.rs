//! Delays at every access to the shared words of the read-write schedulers, for the stress test. In builds with `--cfg
//! shaken` (`scripts/stress-read-write`), [`shake`] now and then wastes a random time, so that rare interleavings
//! occur. In every other build it does nothing.

/// Perhaps wastes some time.
#[cfg(not(any(loom, shaken)))]
#[inline(always)]
pub(crate) fn shake() {}

/// Under loom, a place where threads may change turns. Of two accesses to a word loom reorders only neighbours. So it
/// overlooks the race of a load with another thread's store if that thread has loaded the word in between.
#[cfg(loom)]
pub(crate) fn shake() {
    loom::lazy_static! {
        static ref TURN: loom::sync::atomic::AtomicUsize = loom::sync::atomic::AtomicUsize::new(0);
    }
    TURN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

/// Perhaps wastes some time.
#[cfg(all(shaken, not(loom)))]
pub(crate) fn shake() {
    use crate::system::rng::Rng;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Duration;

    static THREADS: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static RNG: Rng = Rng::new(u64::from(std::process::id()), THREADS.fetch_add(1, Relaxed));
    }
    // A thread that is ending is not shaken.
    let _ = RNG.try_with(|rng| match rng.below(256) {
        0 => std::thread::sleep(Duration::from_micros(rng.below(100) as u64)),
        1..=7 => std::thread::yield_now(),
        8..=63 => (0..rng.below(200)).for_each(|_| std::hint::spin_loop()),
        _ => {}
    });
}
