//! Delays at every access to the shared words of the read-write schedulers, for the stress test. In builds with `--cfg
//! shaken` (`scripts/stress-read-write`), [`shake`] now and then wastes a random time, so that rare interleavings
//! occur. In every other build it does nothing.

use crate::system::primitive::change_turns;

/// Perhaps wastes some time. In a model, a place where threads may change turns.
#[inline(always)]
pub(crate) fn shake() {
    change_turns();
    #[cfg(shaken)]
    waste_time();
}

#[cfg(shaken)]
fn waste_time() {
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
