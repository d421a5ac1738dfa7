//! How fast a processor is: the pace of its CPU ([`super::pace`]) times the share of that CPU's time that it really
//! receives.
//!
//! An [`Estimate`] belongs to a processor, and goes with its CPU when CPUs are exchanged. Shares come from readings of
//! the CPU clock of the carrier that holds the processor. Only time within one *spell* counts, that is, while the same
//! carrier is busy without interruption: an idle processor uses little CPU time, and is not slow because of that. This
//! code reads no clock: callers pass times in, in nanoseconds.

use super::Beta;
use crate::system::affinity::Thread;

/// All of a CPU's time.
pub(super) const FULL: u64 = 1024;

/// About how long the past counts. Several time slices of Linux, so that a shared CPU shows its average.
const MEMORY: u64 = 15_000_000;
/// A share that nothing has confirmed for this long is forgotten.
const FRESH: u64 = 100_000_000;
/// Readings further apart prove nothing: the reader was stopped, and perhaps the carrier that it reads was stopped with
/// it.
const GAP: u64 = 50_000_000;
/// The pace is the median of this many measurements, so that an interrupt during one of them changes nothing.
const PACES: usize = 5;

/// What was read of a busy processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// When it was read.
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
    /// The last measurements, the oldest first.
    paces: Vec<u64>,
    /// Of [`FULL`].
    share: u64,
    /// When the share was last confirmed. `None` if it is a guess.
    confirmed: Option<u64>,
    /// Since when the share has been suspiciously small.
    slow_since: Option<u64>,
    /// For how long the share has been measured since nothing was known of it.
    measured: u64,
    last: Option<Reading>,
}

impl Estimate {
    /// Nothing is known.
    pub(super) fn unknown() -> Estimate {
        Estimate {
            paces: Vec::new(),
            share: FULL,
            confirmed: None,
            slow_since: None,
            measured: 0,
            last: None,
        }
    }

    /// Pace times share. An unknown share is taken to be all; a pace that was never measured is taken to be `usual`.
    pub(super) fn speed(&self, now: u64, usual: u64) -> u64 {
        let share = if self.is_fresh(now) { self.share } else { FULL };
        self.pace().unwrap_or(usual) * share / FULL
    }

    /// Steps per millisecond of CPU time: the median of the last measurements.
    pub(super) fn pace(&self) -> Option<u64> {
        let mut paces = self.paces.clone();
        paces.sort_unstable();
        paces.get(paces.len() / 2).copied()
    }

    /// Since when the share has fallen short of all by more than half of what β allows, if it has.
    pub(super) fn slow_since(&self) -> Option<u64> {
        self.slow_since
    }

    /// Whether the share was measured a short while ago.
    fn is_fresh(&self, now: u64) -> bool {
        self.confirmed.is_some_and(|at| now.saturating_sub(at) < FRESH)
    }

    /// When the share was measured, if that was a short while ago.
    pub(super) fn confirmed(&self, now: u64) -> Option<u64> {
        self.confirmed.filter(|_| self.is_fresh(now))
    }

    /// Takes a reading into account.
    pub(super) fn read(&mut self, reading: Reading, beta: Beta) {
        if !self.is_fresh(reading.now) {
            self.share = FULL;
            self.confirmed = None;
            self.measured = 0;
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
        let share = (self.share * MEMORY + received * FULL) / (MEMORY + elapsed);
        self.measured += elapsed;
        self.confirm(reading.now, share, beta);
    }

    /// Whether the share has been measured for several time slices: a first one is all ours, however many compete.
    pub(super) fn is_sure(&self) -> bool {
        self.measured >= MEMORY
    }

    fn confirm(&mut self, now: u64, share: u64, beta: Beta) {
        self.share = share;
        self.confirmed = Some(now);
        self.slow_since = half_way(beta, FULL, share).then(|| self.slow_since.unwrap_or(now));
    }

    /// Takes a measurement of the CPU's pace into account.
    pub(super) fn paced(&mut self, pace: u64) {
        if self.paces.len() == PACES {
            self.paces.remove(0);
        }
        self.paces.push(pace);
    }

    /// Takes into account the share and the pace that a probe found. Earlier ones no longer count.
    pub(super) fn probed(
        &mut self,
        now: u64,
        (received, elapsed): (u64, u64),
        pace: Option<u64>,
        beta: Beta,
    ) {
        self.confirm(now, received.min(elapsed) * FULL / elapsed.max(1), beta);
        self.last = None;
        self.measured = MEMORY;
        if let Some(pace) = pace {
            self.paces = vec![pace];
        }
    }

    /// The CPU cannot be used. For a while it counts as standing still.
    pub(super) fn unusable(&mut self, now: u64, beta: Beta) {
        self.probed(now, (0, 1), None, beta);
    }

    /// What the readings showed was no lack of speed. Forgets the share.
    pub(super) fn forget(&mut self) {
        *self = Estimate { paces: std::mem::take(&mut self.paces), ..Estimate::unknown() };
    }

    /// Another processor has the CPU now, with another holder.
    pub(super) fn moved(&mut self) {
        self.last = None;
    }
}

/// Whether a speed is larger than another by more than half of what β allows: by more than (1 + β)/2.
pub(super) fn half_way(beta: Beta, fast: u64, slow: u64) -> bool {
    // fast/slow > (1 + β)/2 where (2·fast − slow)/slow > β.
    beta.exceeded_by((2 * fast).saturating_sub(slow), slow)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn beta() -> Beta {
        Beta::new(5, 4).unwrap()
    }

    /// Feeds one reading per millisecond of a carrier that gets `share` percent, from `start` on; returns the end.
    fn feed(estimate: &mut Estimate, start: u64, millis: u64, share: u64) -> u64 {
        let holder = Thread::from_number(7).unwrap();
        for tick in 0..=millis {
            let (now, used) = (start + tick * MS, start + tick * MS * share / 100);
            estimate.read(Reading { now, holder, spell: 1, used }, beta());
        }
        start + millis * MS
    }

    #[test]
    fn an_undisturbed_carrier_has_the_speed_of_its_cpu() {
        for pace in [FULL, 400] {
            let mut estimate = Estimate::unknown();
            estimate.paced(pace);
            let now = feed(&mut estimate, 5 * MS, 300, 100);
            assert!((pace - 1..=pace).contains(&estimate.speed(now, 7)), "{estimate:?}");
            assert_eq!(estimate.slow_since(), None);
        }
    }

    #[test]
    fn a_share_shows_within_its_memory() {
        let mut estimate = Estimate::unknown();
        let now = feed(&mut estimate, 0, 80, 50);
        assert!((510..540).contains(&estimate.speed(now, FULL)), "{estimate:?}");
        assert_eq!(estimate.speed(now + FRESH, FULL), FULL);
        assert!(estimate.is_sure());
        assert!(estimate.is_fresh(now) && !estimate.is_fresh(now + FRESH));
        let now = feed(&mut estimate, now, 80, 100);
        assert!(estimate.speed(now, FULL) > 980, "{estimate:?}");
    }

    #[test]
    fn time_slices_show_as_their_average() {
        let mut estimate = Estimate::unknown();
        let holder = Thread::from_number(7).unwrap();
        let mut used = 0;
        for tick in 0..400 {
            used += if tick / 4 % 2 == 0 { MS } else { 0 };
            estimate.read(Reading { now: tick * MS, holder, spell: 1, used }, beta());
            if tick > 100 {
                assert!(
                    (FULL * 40 / 100..FULL * 60 / 100).contains(&estimate.speed(tick * MS, FULL)),
                    "{tick}: {estimate:?}"
                );
            }
        }
    }

    #[test]
    fn a_first_time_slice_is_not_sure() {
        let mut estimate = Estimate::unknown();
        let now = feed(&mut estimate, 0, 4, 100);
        assert!(estimate.is_fresh(now) && !estimate.is_sure());
        let now = feed(&mut estimate, now, 12, 100);
        assert!(estimate.is_sure());
        feed(&mut estimate, now + 2 * FRESH, 4, 100);
        assert!(!estimate.is_sure(), "what was known is forgotten");
        estimate.probed(now, (4 * MS, 4 * MS), None, beta());
        assert!(estimate.is_sure());
    }

    #[test]
    fn one_short_interruption_is_no_slow_cpu() {
        let mut estimate = Estimate::unknown();
        let now = feed(&mut estimate, 0, 50, 100);
        let now = feed(&mut estimate, now, 3, 0);
        assert!(estimate.speed(now, FULL) * 5 > FULL * 4, "{estimate:?}");
    }

    #[test]
    fn only_time_within_one_spell_counts() {
        let mut estimate = Estimate::unknown();
        let holder = Thread::from_number(7).unwrap();
        for spell in 0..50 {
            // Each spell gets no CPU time worth mentioning until the next one, which begins 10 ms later.
            estimate.read(Reading { now: spell as u64 * 10 * MS, holder, spell, used: 0 }, beta());
        }
        let other = Thread::from_number(8).unwrap();
        estimate.read(Reading { now: 500 * MS, holder: other, spell: 49, used: 0 }, beta());
        assert_eq!(estimate.speed(500 * MS, FULL), FULL);
        assert!(!estimate.is_fresh(500 * MS));
    }

    #[test]
    fn a_gap_tells_nothing_and_the_old_is_forgotten() {
        let mut estimate = Estimate::unknown();
        let holder = Thread::from_number(7).unwrap();
        let now = feed(&mut estimate, 0, 80, 25);
        assert!(estimate.speed(now, FULL) < FULL / 3);
        let now = now + 60_000 * MS;
        estimate.read(Reading { now, holder, spell: 1, used: 25 * 80 * MS / 100 }, beta());
        assert_eq!(estimate.speed(now, FULL), FULL);
    }

    #[test]
    fn a_probe_replaces_what_was_known() {
        let mut estimate = Estimate::unknown();
        estimate.paced(1000);
        estimate.probed(0, (4 * MS, 8 * MS), Some(FULL / 2), beta());
        assert_eq!(estimate.speed(MS, 7), FULL / 4);
        assert!(estimate.is_fresh(MS));
        estimate.unusable(MS, beta());
        assert_eq!(estimate.speed(MS, 7), 0);
        estimate.forget();
        assert_eq!(estimate.speed(MS, 7), FULL / 2, "the pace is still known");
    }

    /// A throttled CPU, a small core, a busy hyper-thread: the share is all, and only the pace shows it.
    #[test]
    fn a_cpu_that_computes_slowly_is_slow_though_its_time_is_ours() {
        let mut estimate = Estimate::unknown();
        let now = feed(&mut estimate, 0, 80, 100);
        for pace in [1000, 1010, 990] {
            estimate.paced(pace);
        }
        assert!((990..=1000).contains(&estimate.speed(now, 7)));
        // A single measurement with an interrupt in it changes nothing.
        estimate.paced(30);
        assert!((990..=1000).contains(&estimate.speed(now, 7)), "{estimate:?}");
        for _ in 0..3 {
            estimate.paced(500);
        }
        assert!((490..=500).contains(&estimate.speed(now, 7)), "{estimate:?}");
    }

    #[test]
    fn a_suspicion_has_a_beginning_and_an_end() {
        let mut estimate = Estimate::unknown();
        let now = feed(&mut estimate, 0, 50, 100);
        let later = feed(&mut estimate, now, 50, 50);
        let since = estimate.slow_since().expect("half of the time is lost");
        assert!(now < since && since < now + 8 * MS, "{since}");
        assert_eq!((estimate.confirmed(later), estimate.confirmed(later + FRESH)), (Some(later), None));
        feed(&mut estimate, later, 100, 100);
        assert_eq!(estimate.slow_since(), None);
    }

    #[test]
    fn half_way_lies_between_one_and_beta() {
        let beta = Beta::new(3, 2).unwrap();
        assert!(!half_way(beta, 125, 100) && half_way(beta, 126, 100));
        let one = Beta::new(1, 1).unwrap();
        assert!(!half_way(one, 100, 100) && half_way(one, 101, 100));
        assert!(half_way(beta, 1, 0) && !half_way(beta, 0, 0) && !half_way(beta, 0, 5));
    }
}
