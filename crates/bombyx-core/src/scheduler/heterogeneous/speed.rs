//! How fast a processor is: the capacity of its CPU times the share of that CPU's time that it really receives.
//!
//! An [`Estimate`] belongs to a processor and goes with its CPU when CPUs are exchanged. It is fed with readings of
//! the CPU clock of whichever carrier holds the processor. Only time within one *spell*, while the same carrier is
//! busy without interruption, counts: an idle processor uses little CPU time, and is not slow for that. Pure: times
//! are handed in, in nanoseconds.

use super::Beta;
use crate::system::affinity::Thread;

/// The speed of the best CPU, all of it.
pub(crate) const FULL: u64 = 1024;

/// The past counts for about this long: several time slices of Linux, so that sharing a CPU shows as its average.
const MEMORY: u64 = 20_000_000;
/// An estimate that nothing has confirmed for this long is forgotten.
pub(super) const FRESH: u64 = 100_000_000;
/// Readings further apart tell nothing: whoever takes them was stopped, perhaps together with who is read.
const GAP: u64 = 50_000_000;

/// Values relative to the greatest of them, which becomes [`FULL`].
pub(crate) fn relative(values: &[u64]) -> Vec<u64> {
    let most = values.iter().copied().max().unwrap_or(1).max(1);
    values.iter().map(|&value| ((u128::from(value) * u128::from(FULL)) / u128::from(most)) as u64).collect()
}

/// What was read of a busy processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// When.
    pub(super) now: u64,
    /// Who held the processor, and in which busy spell.
    pub(super) holder: Thread,
    pub(super) spell: usize,
    /// The CPU time of the holder.
    pub(super) used: u64,
}

/// The speed of one processor, as far as it is known. See the module text.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    capacity: u64,
    /// Of [`FULL`].
    share: u64,
    /// When the share was last confirmed. None: it is a guess.
    confirmed: Option<u64>,
    last: Option<Reading>,
}

impl Estimate {
    /// Nothing is known but the capacity of the CPU.
    pub(super) fn unknown(capacity: u64) -> Estimate {
        Estimate { capacity, share: FULL, confirmed: None, last: None }
    }

    /// Capacity times share, of [`FULL`]. A share that is not known is guessed to be all.
    pub(super) fn speed(&self, now: u64) -> u64 {
        if self.is_fresh(now) { self.capacity * self.share / FULL } else { self.capacity }
    }

    /// Whether the share is less than all by more than β.
    pub(super) fn is_slow(&self, beta: Beta) -> bool {
        beta.exceeded_by(FULL, self.share)
    }

    /// Whether the estimate rests on what was measured a short while ago.
    pub(super) fn is_fresh(&self, now: u64) -> bool {
        self.confirmed.is_some_and(|at| now.saturating_sub(at) < FRESH)
    }

    /// Takes a reading into account.
    pub(super) fn read(&mut self, reading: Reading) {
        if !self.is_fresh(reading.now) {
            self.share = FULL;
            self.confirmed = None;
        }
        let last = self.last.replace(reading);
        let Some(last) = last.filter(|last| (last.holder, last.spell) == (reading.holder, reading.spell))
        else {
            return;
        };
        let elapsed = reading.now.saturating_sub(last.now);
        if elapsed == 0 || elapsed > GAP {
            return;
        }
        let received = (reading.used.saturating_sub(last.used)).min(elapsed);
        // A weighted mean: the new share for `elapsed`, the old one for `MEMORY`.
        self.share = (self.share * MEMORY + received * FULL) / (MEMORY + elapsed);
        self.confirmed = Some(reading.now);
    }

    /// Takes the share that a probe received into account, alone.
    pub(super) fn probed(&mut self, now: u64, received: u64, elapsed: u64) {
        self.share = received.min(elapsed) * FULL / elapsed.max(1);
        self.confirmed = Some(now);
        self.last = None;
    }

    /// The CPU cannot be used: for a while it counts as standing still.
    pub(super) fn unusable(&mut self, now: u64) {
        self.probed(now, 0, 1);
    }

    /// What was measured was no lack of speed.
    pub(super) fn forget(&mut self) {
        *self = Estimate::unknown(self.capacity);
    }

    /// Another processor has the CPU now, with another holder.
    pub(super) fn moved(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Feeds one reading per millisecond of a carrier that gets `share` percent, from `start` on; returns the end.
    fn feed(estimate: &mut Estimate, start: u64, millis: u64, share: u64) -> u64 {
        let holder = Thread::from_number(7).unwrap();
        for tick in 0..=millis {
            let (now, used) = (start + tick * MS, start + tick * MS * share / 100);
            estimate.read(Reading { now, holder, spell: 1, used });
        }
        start + millis * MS
    }

    #[test]
    fn an_undisturbed_carrier_has_the_speed_of_its_cpu() {
        for capacity in [FULL, 400] {
            let mut estimate = Estimate::unknown(capacity);
            let now = feed(&mut estimate, 5 * MS, 300, 100);
            assert!((capacity - 1..=capacity).contains(&estimate.speed(now)), "{estimate:?}");
        }
    }

    #[test]
    fn a_share_shows_within_its_memory() {
        let mut estimate = Estimate::unknown(FULL);
        let now = feed(&mut estimate, 0, 80, 50);
        assert!((510..540).contains(&estimate.speed(now)), "{estimate:?}");
        assert_eq!(estimate.speed(now + FRESH), FULL);
        assert!(estimate.is_fresh(now) && !estimate.is_fresh(now + FRESH));
        let now = feed(&mut estimate, now, 80, 100);
        assert!(estimate.speed(now) > 980, "{estimate:?}");
    }

    #[test]
    fn time_slices_show_as_their_average() {
        let mut estimate = Estimate::unknown(FULL);
        let holder = Thread::from_number(7).unwrap();
        let mut used = 0;
        for tick in 0..400 {
            used += if tick / 4 % 2 == 0 { MS } else { 0 };
            estimate.read(Reading { now: tick * MS, holder, spell: 1, used });
            if tick > 100 {
                assert!(
                    (FULL * 40 / 100..FULL * 60 / 100).contains(&estimate.speed(tick * MS)),
                    "{tick}: {estimate:?}"
                );
            }
        }
    }

    #[test]
    fn one_short_interruption_is_no_slow_cpu() {
        let mut estimate = Estimate::unknown(FULL);
        let now = feed(&mut estimate, 0, 50, 100);
        let now = feed(&mut estimate, now, 4, 0);
        assert!(estimate.speed(now) * 5 > FULL * 4, "{estimate:?}");
    }

    #[test]
    fn only_time_within_one_spell_counts() {
        let mut estimate = Estimate::unknown(FULL);
        let holder = Thread::from_number(7).unwrap();
        for spell in 0..50 {
            // Each spell gets no CPU time worth mentioning until the next one, which begins 10 ms later.
            estimate.read(Reading { now: spell as u64 * 10 * MS, holder, spell, used: 0 });
        }
        let other = Thread::from_number(8).unwrap();
        estimate.read(Reading { now: 500 * MS, holder: other, spell: 49, used: 0 });
        assert_eq!(estimate.speed(500 * MS), FULL);
        assert!(!estimate.is_fresh(500 * MS));
    }

    #[test]
    fn a_gap_tells_nothing_and_the_old_is_forgotten() {
        let mut estimate = Estimate::unknown(FULL);
        let holder = Thread::from_number(7).unwrap();
        let now = feed(&mut estimate, 0, 80, 25);
        assert!(estimate.speed(now) < FULL / 3);
        let now = now + 60_000 * MS;
        estimate.read(Reading { now, holder, spell: 1, used: 25 * 80 * MS / 100 });
        assert_eq!(estimate.speed(now), FULL);
    }

    #[test]
    fn a_probe_replaces_what_was_known() {
        let mut estimate = Estimate::unknown(FULL / 2);
        estimate.probed(0, 4 * MS, 8 * MS);
        assert_eq!(estimate.speed(MS), FULL / 4);
        assert!(estimate.is_fresh(MS));
        estimate.unusable(MS);
        assert_eq!(estimate.speed(MS), 0);
        estimate.forget();
        assert_eq!(estimate.speed(MS), FULL / 2);
    }

    #[test]
    fn capacities_are_relative_to_the_best() {
        assert_eq!(relative(&[3_000_000, 1_500_000]), [FULL, FULL / 2]);
        assert_eq!(relative(&[7, 7, 7]), [FULL; 3]);
        assert_eq!(relative(&[]), [0; 0]);
    }
}
