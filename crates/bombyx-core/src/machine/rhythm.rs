//! Whether it pays to wake somebody: what a pool has learned from its last wake-ups.
//!
//! A wake-up costs the fork that makes it some microseconds, more than a short region takes. A fork cannot know how much
//! work will follow, so the pool uses what it has learned. A wake-up was *worth it* if the processor that was woken then
//! worked longer than the waking took. Otherwise it was *futile*: the work was over before the thief came, or was less than
//! the price. After [`FUTILE`] futile wake-ups in a row, regions count as *short*. From then on a carrier that comes to rest
//! becomes the sentry ([`crate::machine::pool`]), and forks leave the waking to the sentry.
//!
//! Regions no longer count as short in two cases: a wake-up was worth it (a fork's or the sentry's), or a region in which a
//! fork woke nobody took more than [`LONG`] times as long as a wake-up.
//!
//! A processor that has found nothing for a while rests. If it rests too soon, somebody must wake it for the next region. If
//! it searches in vain, it uses a core for nothing. So after [`IN_VAIN`] searches in vain, searches take only about as long
//! as falling asleep and waking up. If work then comes so soon after a rest that a long search would have found it, searches
//! are long again. (Ski rental: nobody knows how long to rent before buying; the last times tell.)
//!
//! All of this is a guess. A wrong guess costs only time, because the sentry wakes somebody in the end.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

/// After how many futile wake-ups in a row regions are short.
const FUTILE: usize = 4;
/// A region is long if it takes this many times as long as a wake-up. A thief comes about two wake-ups after the fork, and
/// must still get half of the rest.
const LONG: u32 = 4;
/// What a wake-up costs before the first one was measured, and the least and greatest value of a measurement. (Others may
/// take the core from the waking thread.)
const COST: (Duration, Duration, Duration) =
    (Duration::from_micros(5), Duration::from_micros(1), Duration::from_micros(20));

/// After how many searches in vain, without a long one between them that was worth it, processors search for a shorter
/// time before they rest.
const IN_VAIN: usize = 4;
/// How long a processor searches then: about as long as it takes to fall asleep and to be woken.
pub(crate) const SHORT_SEARCH: Duration = Duration::from_micros(20);

/// What a pool has learned from its last wake-ups. Written on slow paths, without read-modify-writes: it may lose counts.
pub(crate) struct Rhythm {
    /// How many wake-ups in a row were futile, at most [`FUTILE`].
    futile: AtomicUsize,
    /// What the last wake-up cost the fork that made it, in nanoseconds.
    cost: AtomicU64,
    /// How many searches were in vain since the last long one that was worth it, at most [`IN_VAIN`].
    in_vain: AtomicUsize,
    /// When the last of them ended, in nanoseconds after `born`.
    rested: AtomicU64,
    born: Instant,
}

impl Rhythm {
    pub(crate) fn new() -> Rhythm {
        Rhythm {
            futile: AtomicUsize::new(0),
            cost: AtomicU64::new(COST.0.as_nanos() as u64),
            in_vain: AtomicUsize::new(0),
            rested: AtomicU64::new(0),
            born: Instant::now(),
        }
    }

    /// Whether the last regions were so short that nobody should be woken for the next one.
    pub(crate) fn is_short(&self) -> bool {
        self.futile.load(Relaxed) >= FUTILE
    }

    /// Whether the last searches were in vain, so that the next one should be short.
    pub(crate) fn searches_are_in_vain(&self) -> bool {
        self.in_vain.load(Relaxed) >= IN_VAIN
    }

    /// A processor has searched in vain, and rests.
    pub(crate) fn rests(&self) {
        let in_vain = self.in_vain.load(Relaxed);
        if in_vain < IN_VAIN {
            self.in_vain.store(in_vain + 1, Relaxed);
        }
        self.rested.store(self.born.elapsed().as_nanos() as u64, Relaxed);
    }

    /// There is work again. If it came within `search` of the last rest, a search of that length would have found it.
    pub(crate) fn work_comes(&self, search: Duration) {
        if self.searches_are_in_vain() {
            let rested = Duration::from_nanos(self.rested.load(Relaxed));
            if self.born.elapsed().saturating_sub(rested) < search {
                self.long_search_was_worth_it();
            }
        }
    }

    /// A search has found something for which a short one would have been too short.
    pub(crate) fn long_search_was_worth_it(&self) {
        if self.in_vain.load(Relaxed) != 0 {
            self.in_vain.store(0, Relaxed);
        }
    }

    /// Wakes somebody by `wake`, and notes what that costs.
    pub(crate) fn measured<R>(&self, wake: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = wake();
        let cost = start.elapsed().clamp(COST.1, COST.2);
        self.cost.store(cost.as_nanos() as u64, Relaxed);
        result
    }

    fn cost(&self) -> Duration {
        Duration::from_nanos(self.cost.load(Relaxed))
    }

    /// Makes regions count as short, as after many futile wake-ups.
    #[cfg(test)]
    pub(crate) fn make_short(&self) {
        self.futile.store(FUTILE, Relaxed);
    }

    fn was_worth_it(&self) {
        if self.futile.load(Relaxed) != 0 {
            self.futile.store(0, Relaxed);
        }
    }

    fn was_futile(&self) {
        let futile = self.futile.load(Relaxed);
        if futile < FUTILE {
            self.futile.store(futile + 1, Relaxed);
        }
    }
}

/// The stay of a processor that was woken, until its worth is known.
#[derive(Clone, Copy, Default)]
struct Stay {
    worked: Duration,
    /// Since when it works, unless it searches.
    since: Option<Instant>,
}

/// What a processor knows of the rhythm. Only its holder uses this, and a thread that is about to give the processor
/// away.
#[derive(Default)]
pub(crate) struct Beat {
    /// Set while the processor was woken and nobody knows yet whether that was worth it.
    stay: Cell<Option<Stay>>,
    /// When the holder last left a wake-up to the sentry, in the present region.
    postponed: Cell<Option<Instant>>,
}

impl Beat {
    /// Somebody wakes the processor.
    pub(crate) fn woken(&self) {
        self.stay.set(Some(Stay::default()));
        self.postponed.set(None);
    }

    /// A frame that did not search for work gets the processor.
    pub(crate) fn lent(&self) {
        self.stay.set(None);
        self.postponed.set(None);
    }

    /// A fork leaves the waking to the sentry.
    pub(crate) fn postpone(&self) {
        if self.postponed.get().is_none() {
            self.postponed.set(Some(Instant::now()));
        }
    }

    /// The search has found something.
    pub(crate) fn found(&self) {
        if let Some(stay) = self.stay.get() {
            self.stay.set(Some(Stay { since: Some(Instant::now()), ..stay }));
        }
    }

    /// What was found has ended.
    pub(crate) fn searches(&self, rhythm: &Rhythm) {
        let Some(Stay { worked, since: Some(since) }) = self.stay.get() else { return };
        let worked = worked + since.elapsed();
        if worked > rhythm.cost() {
            rhythm.was_worth_it();
            self.stay.set(None);
        } else {
            self.stay.set(Some(Stay { worked, since: None }));
        }
    }

    /// The holder lets the processor go, because it has found nothing more or because somebody else needs the
    /// processor.
    pub(crate) fn ends(&self, rhythm: &Rhythm) {
        self.searches(rhythm);
        if self.stay.take().is_some() {
            rhythm.was_futile();
        }
    }

    /// What ran at the foot of the stack has ended. If it was a region, the region has ended.
    pub(crate) fn region_ends(&self, rhythm: &Rhythm) {
        if self.postponed.take().is_some_and(|since| since.elapsed() > LONG * rhythm.cost()) {
            rhythm.was_worth_it();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FUTILE, IN_VAIN, Rhythm};
    use std::time::Duration;

    #[test]
    fn searches_are_short_after_some_in_vain() {
        const LONG: Duration = Duration::from_secs(3600);
        let rhythm = Rhythm::new();
        for _ in 1..IN_VAIN {
            rhythm.rests();
        }
        assert!(!rhythm.searches_are_in_vain());
        rhythm.rests();
        assert!(rhythm.searches_are_in_vain());
        rhythm.work_comes(Duration::ZERO);
        assert!(rhythm.searches_are_in_vain(), "a search would have ended before");
        rhythm.work_comes(LONG);
        assert!(!rhythm.searches_are_in_vain(), "a long search would have found the work");
    }

    #[test]
    fn regions_are_short_after_futile_wake_ups_in_a_row() {
        let rhythm = Rhythm::new();
        for _ in 1..FUTILE {
            rhythm.was_futile();
        }
        assert!(!rhythm.is_short());
        rhythm.was_worth_it();
        rhythm.was_futile();
        assert!(!rhythm.is_short(), "those before the one that was worth it do not count");
        for _ in 0..FUTILE {
            rhythm.was_futile();
        }
        assert!(rhythm.is_short());
        rhythm.was_worth_it();
        assert!(!rhythm.is_short());
    }
}
