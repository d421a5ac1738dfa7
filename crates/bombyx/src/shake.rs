//! Delays at every access to the shared words of the read-write schedulers, for the stress test: built with
//! `--cfg shaken` (`scripts/stress-read-write`), [`shake`] now and then wastes a random time, so that interleavings
//! occur that are rare otherwise. In every other build it is nothing.

/// Perhaps wastes some time.
#[cfg(not(shaken))]
#[inline(always)]
pub(crate) fn shake() {}

/// Perhaps wastes some time.
#[cfg(shaken)]
pub(crate) fn shake() {
    use crate::rng::Rng;
    use std::time::Duration;

    thread_local! {
        static RNG: Rng = Rng::new(0x5AFE, std::process::id() as u64 ^ &raw const CALLS as u64);
        static CALLS: u8 = const { 0 };
    }
    RNG.with(|rng| match rng.below(256) {
        0 => std::thread::sleep(Duration::from_micros(rng.below(100) as u64)),
        1..=7 => std::thread::yield_now(),
        8..=63 => (0..rng.below(200)).for_each(|_| std::hint::spin_loop()),
        _ => {}
    });
}
