//! The lookout of a processor. While the processor is busy, the lookout measures how fast it is. While the processor is
//! idle, the lookout mugs on its behalf.

use super::speed::{Reading, half_way};
use super::{Beta, CALM, Heterogeneous, pace};
use crate::machine::processor::Processor;
use crate::machine::tracer::Event;
use crate::protocol::placement::Mugging;
use crate::system::affinity::Thread;
use crate::system::rng::Rng;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

/// How long an idle processor's lookout sleeps between attempts.
pub(super) const NAP: Duration = Duration::from_millis(1);
/// How long a busy processor's lookout sleeps. When another processor becomes idle, that processor's lookout looks more
/// often. So until then it is enough to know speeds roughly. Looks delay the work: with 2 ms here, by one part in a
/// hundred.
const LONG_NAP: Duration = Duration::from_millis(5);
/// The longest nap, reached when the lookout has seen no two speeds that differ by much for [`CALM`]. Each look stops
/// somebody for some ten microseconds. This is shorter than what an estimate remembers, so the next look shows every
/// change.
const CALM_NAP: Duration = Duration::from_millis(10);
/// How long a probe takes if a competitor interrupts it, in nanoseconds. Several time slices, so that the competitor's
/// share shows.
const PROBE: u64 = 8_000_000;
/// How long a probe takes if nobody interrupts it, in nanoseconds. More than a time slice, so that a competitor would
/// have shown.
const CLEAR: u64 = 4_000_000;
/// How long a lookout waits from one probe to the next, in nanoseconds. A victim that is almost slow must not keep the
/// idle CPU busy.
const PROBE_REST: u64 = 20_000_000;
/// How often a busy processor's CPU is measured, in nanoseconds.
const PULSE: u64 = 10_000_000;
/// How often a thief that probes reads its victim's clock, in nanoseconds.
const GLANCE: u64 = 1_000_000;
/// A lookout sleeps when no processor has been busy for this many naps.
const LINGER: u32 = 2;
/// Two readings of clocks that are further apart, in nanoseconds, do not belong together.
const TOGETHER: u64 = 100_000;

/// What a thief sees of a victim.
#[derive(Clone, Copy, Debug)]
struct Victim {
    busy: bool,
    empty: bool,
    speed: u64,
}

/// Whether an idle processor mugs this victim: Bender and Rabin, Figure 2, line 3. The simulator has the same rule.
fn mugs(beta: Beta, thief: u64, victim: Victim) -> bool {
    victim.busy && victim.empty && beta.exceeded_by(thief, victim.speed)
}

/// Whether a thief may use its last measurement of its own CPU to decide about a victim that has been slow since
/// `slow_since`. The measurement ended at `confirmed`, or at 0 if it is too old. If it speaks for a mugging, it counts: a
/// competitor that came to the victim's CPU has not made the thief's CPU slower. If it speaks against a mugging, it counts
/// only if it is newer than the victim's slowness: the competitor may have left the thief's CPU since.
fn counts(confirmed: u64, slow_since: u64, speaks_for: bool) -> bool {
    confirmed > 0 && (speaks_for || confirmed > slow_since)
}

/// Whether a probe that has received this much CPU time, in this much time, shows how much CPU time is available.
fn is_conclusive(received: u64, elapsed: u64) -> bool {
    // One or two interrupts may fall into that time.
    let clear = elapsed >= CLEAR && received >= elapsed - elapsed / 16;
    clear || elapsed >= PROBE
}

/// How long a lookout sleeps after a sleep of `nap`.
fn next_nap(nap: Duration, busy: bool, calm: bool) -> Duration {
    let least = if busy { LONG_NAP } else { NAP };
    if calm { (nap * 2).clamp(least, CALM_NAP) } else { least }
}

/// See the module text.
pub(super) struct Lookout<'a> {
    shared: &'a Heterogeneous,
    processors: &'a [Processor],
    index: usize,
    rng: Rng,
    /// The CPU on which the lookout runs.
    cpu: Option<usize>,
    /// The CPU on which the system does not let the lookout run.
    refused: Option<usize>,
    /// When it last ended a probe.
    probed: u64,
    /// When it last measured the pace of a busy CPU.
    pulsed: u64,
    /// When it last saw speeds that differ. At first, the time of the start.
    uneven: u64,
}

impl<'a> Lookout<'a> {
    pub(super) fn new(shared: &'a Heterogeneous, processors: &'a [Processor], index: usize) -> Lookout<'a> {
        // Not the processor's own generator: only its holder uses that.
        let rng = Rng::new(0x10_0C_07, index as u64);
        Lookout { shared, processors, index, rng, cpu: None, refused: None, probed: 0, pulsed: 0, uneven: 0 }
    }

    pub(super) fn run(mut self) {
        let (mut nap, mut idle_naps) = (NAP, 0);
        while !self.shared.stopping.load(Relaxed) {
            let held = self.shared.is_held();
            idle_naps = if held { 0 } else { idle_naps + 1 };
            if idle_naps > LINGER {
                self.shared.fall_asleep();
                (nap, idle_naps) = (NAP, 0);
                continue;
            }
            self.sit();
            let calm = !held || self.shared.now() - self.uneven >= CALM;
            nap = next_nap(nap, self.is_taken(), calm);
            thread::park_timeout(nap);
            if self.is_taken() { self.mind() } else { self.prowl() }
        }
    }

    /// Whether the processor has a carrier. If so, this lookout must not mug for it.
    fn is_taken(&self) -> bool {
        self.shared.holder(self.index).is_some()
    }

    /// Goes where the processor is.
    fn sit(&mut self) {
        let cpu = self.shared.placement.cpu(self.index);
        if self.cpu == Some(cpu) {
            return;
        }
        if Thread::HERE.pin(cpu) {
            (self.cpu, self.refused) = (Some(cpu), None);
        } else {
            self.cpu = None;
            if self.refused.replace(cpu) != Some(cpu) {
                self.processors[self.index].stats.refused.add(1);
            }
            let (now, beta) = (self.shared.now(), self.shared.beta);
            self.shared.note(self.index, |estimate| estimate.unusable(now, beta));
        }
    }

    /// Measures the speed of the processor, which is busy, and reads the clock of another processor. The lookout of a
    /// slow CPU seldom gets to run, and when some processor becomes idle, it should be known who is slow.
    fn mind(&mut self) {
        self.read(self.index);
        if self.processors.len() > 1 {
            self.read(self.anybody_else());
        }
        if self.shared.known[self.index].slow_since.load(Relaxed) != 0 {
            self.uneven = self.shared.now();
        }
        if self.shared.now() - self.pulsed >= PULSE && self.cpu == Some(self.shared.placement.cpu(self.index))
        {
            let pace = pace::measure();
            self.shared.note(self.index, |estimate| estimate.paced(pace));
            self.pulsed = self.shared.now();
        }
    }

    /// Attempts to mug: tries P − 1 random victims, as a thief that steals would.
    fn prowl(&mut self) {
        // A share that has not been confirmed for long has become a guess.
        self.shared.note(self.index, |_| ());
        for _ in 1..self.processors.len() {
            let victim = self.anybody_else();
            if self.is_taken() || self.attempt(victim) {
                return;
            }
        }
    }

    /// Another processor at random. There is one.
    fn anybody_else(&self) -> usize {
        let other = self.rng.below(self.processors.len() - 1);
        if other < self.index { other } else { other + 1 }
    }

    /// Mugs this victim if that is due. Returns whether it was.
    fn attempt(&mut self, victim: usize) -> bool {
        let shared = self.shared;
        if !self.could_mug(victim) {
            return false;
        }
        self.read(victim);
        if !self.suspects(victim) {
            return false;
        }
        self.uneven = shared.now();
        let rested = shared.now() - self.probed >= PROBE_REST;
        let known =
            self.knows_itself(victim) || (rested && self.waits_for_its_cpu(victim) && self.probe(victim));
        known && self.decides(victim) && self.waits_for_its_cpu(victim) && self.mug(victim)
    }

    /// Whether the victim is worth a look: it works, offers nothing to steal, and a mugging could change something.
    fn could_mug(&self, victim: usize) -> bool {
        let Victim { busy, empty, .. } = self.victim(victim);
        let elsewhere = self.shared.placement.cpu(victim) != self.shared.placement.cpu(self.index);
        busy && empty && elsewhere && !self.shared.rests(self.index) && !self.shared.rests(victim)
    }

    fn victim(&self, index: usize) -> Victim {
        let processor = &self.processors[index];
        Victim {
            busy: processor.is_busy() && self.shared.holder(index).is_some(),
            empty: !processor.has_something(),
            speed: self.shared.known[index].speed.load(Relaxed),
        }
    }

    /// Whether the victim is slower by half of what a mugging needs. If what is known of the thief's own CPU is too
    /// old, this assumes the best of it.
    fn suspects(&self, victim: usize) -> bool {
        let hoped =
            if self.knows_itself(victim) { self.speed() } else { self.shared_by_company(self.shared.best()) };
        half_way(self.shared.beta, hoped, self.victim(victim).speed)
    }

    /// How fast the idle processor would be.
    fn speed(&self) -> u64 {
        self.shared_by_company(self.shared.known[self.index].speed.load(Relaxed))
    }

    /// What is left of this speed. With more processors than CPUs, the processor shares its CPU with others.
    fn shared_by_company(&self, speed: u64) -> u64 {
        let cpu = |index| self.shared.placement.cpu(index);
        let here = |&other: &usize| cpu(other) == cpu(self.index) && self.shared.holder(other).is_some();
        let company = (0..self.processors.len()).filter(here).count() as u64;
        speed / (company + 1)
    }

    /// The decision, from the two present speeds.
    fn decides(&self, victim: usize) -> bool {
        mugs(self.shared.beta, self.speed(), self.victim(victim))
    }

    /// Whether what is known of the processor's own speed counts against this victim.
    fn knows_itself(&self, victim: usize) -> bool {
        let confirmed = self.shared.known[self.index].confirmed.load(Relaxed);
        let slow_since = self.shared.known[victim].slow_since.load(Relaxed);
        let sure = self.shared.known[self.index].sure.load(Relaxed);
        counts(confirmed, slow_since, sure && self.decides(victim))
    }

    /// Whether a busy processor's carrier has no other reason not to run than its CPU. If it has another reason, its
    /// share shows nothing.
    fn waits_for_its_cpu(&self, processor: usize) -> bool {
        let waits = self.shared.holder(processor).is_some_and(Thread::is_runnable);
        if !waits {
            self.shared.note(processor, |estimate| estimate.forget());
        }
        waits
    }

    /// Reads the clock of a busy processor's carrier.
    fn read(&self, processor: usize) {
        let reading = || {
            let spell = self.processors[processor].busy_spell()?;
            let holder = self.shared.holder(processor)?;
            let now = self.shared.now();
            let used = holder.cpu_time()?;
            (self.shared.now() - now < TOGETHER).then_some(Reading { now, holder, spell, used })
        };
        if let Some(reading) = reading() {
            self.shared.note(processor, |estimate| estimate.read(reading, self.shared.beta));
        }
    }

    /// Uses the CPU of the idle processor for a while, to find out how much CPU time is available and how fast it
    /// computes. Watches the victim meanwhile. Returns false if the processor found work, or if the victim no longer is
    /// one.
    fn probe(&mut self, victim: usize) -> bool {
        let shared = self.shared;
        self.sit();
        if self.cpu != Some(shared.placement.cpu(self.index)) {
            return false;
        }
        let here = Thread::current();
        let used = || here.cpu_time().unwrap_or_default();
        let (start, used_before) = (shared.now(), used());
        let mut glanced = start;
        let (mut paces, mut count) = (0, 0);
        loop {
            paces += pace::measure();
            count += 1;
            let now = shared.now();
            let received = used() - used_before;
            if is_conclusive(received, now - start) {
                shared.note(self.index, |estimate| {
                    estimate.probed(now, (received, now - start), Some(paces / count), shared.beta);
                });
                self.probed = now;
                return true;
            }
            if self.is_taken() || shared.stopping.load(Relaxed) {
                return false;
            }
            if now - glanced >= GLANCE {
                self.read(victim);
                glanced = now;
                // What was known of this CPU before does not count here: that it was slow is why it is probed.
                if !self.could_mug(victim) || !self.suspects(victim) {
                    return false;
                }
            }
        }
    }

    /// Exchanges CPUs with the victim, if the decision still holds when both are claimed.
    fn mug(&mut self, victim: usize) -> bool {
        let shared = self.shared;
        let pin = |carrier: usize, cpu| {
            u32::try_from(carrier).ok().and_then(Thread::from_number).is_none_or(|carrier| carrier.pin(cpu))
        };
        let swap = |exchanged: bool| {
            if exchanged {
                shared.swap_known(self.index, victim);
            }
        };
        let still = || self.decides(victim) && !shared.rests(self.index) && !shared.rests(victim);
        let exchanging = shared.exchanging.read().unwrap_or_else(PoisonError::into_inner);
        let mugging = shared.placement.mug(self.index, victim, still, pin, swap);
        drop(exchanging);
        let stats = &self.processors[self.index].stats;
        match mugging {
            Mugging::Done => {
                stats.muggings.add(1);
                self.processors[self.index].trace(Event::Mugs(victim));
            }
            Mugging::Refused => {
                stats.refused.add(1);
                let now = shared.now();
                shared.note(self.index, |estimate| estimate.unusable(now, shared.beta));
            }
            Mugging::Declined => {}
        }
        mugging == Mugging::Done
    }
}

#[cfg(test)]
mod tests {
    use super::super::speed::FULL;
    use super::{Beta, CALM_NAP, CLEAR, LONG_NAP, NAP, PROBE, Victim, counts, is_conclusive, mugs, next_nap};

    #[test]
    fn mugs_who_is_busy_without_entries_and_slower_by_more_than_beta() {
        let beta = Beta::new(5, 4).unwrap();
        let slow = Victim { busy: true, empty: true, speed: FULL / 2 };
        assert!(mugs(beta, FULL, slow));
        assert!(!mugs(beta, FULL, Victim { busy: false, ..slow }));
        assert!(!mugs(beta, FULL, Victim { empty: false, ..slow }));
        assert!(!mugs(beta, FULL / 2, slow));
        assert!(mugs(beta, 1001, Victim { speed: 800, ..slow }));
        assert!(!mugs(beta, 1000, Victim { speed: 800, ..slow }));
    }

    #[test]
    fn what_was_known_to_be_slow_may_have_changed_and_what_was_fast_has_not() {
        assert!(counts(7, 9, true) && !counts(7, 9, false), "known before the victim became slow");
        assert!(counts(9, 7, true) && counts(9, 7, false), "known since then");
        assert!(!counts(0, 0, true) && !counts(0, 7, true) && !counts(0, 0, false), "a guess");
    }

    #[test]
    fn a_probe_ends_early_only_where_nobody_interrupts_it() {
        const MS: u64 = 1_000_000;
        assert!(!is_conclusive(3 * MS, 3 * MS), "a first time slice tells nothing");
        assert!(is_conclusive(CLEAR, CLEAR));
        assert!(!is_conclusive(3 * MS, CLEAR), "somebody else was there");
        assert!(!is_conclusive(3 * MS, PROBE - 1) && is_conclusive(3 * MS, PROBE));
    }

    #[test]
    fn naps_grow_while_speeds_are_equal_and_are_short_again_at_once() {
        let grown = (0..10).fold(NAP, |nap, _| next_nap(nap, false, true));
        assert_eq!(grown, CALM_NAP);
        assert_eq!(next_nap(NAP, true, true), LONG_NAP);
        assert_eq!(next_nap(grown, false, false), NAP);
        assert_eq!(next_nap(grown, true, false), LONG_NAP);
    }

    #[test]
    fn with_speeds_within_beta_nobody_mugs() {
        for (numerator, denominator) in [(1, 1), (5, 4), (3, 2), (2, 1)] {
            let beta = Beta::new(numerator, denominator).unwrap();
            for speed in 1..=FULL {
                let fastest = speed * numerator / denominator;
                assert!(!mugs(beta, fastest, Victim { busy: true, empty: true, speed }));
            }
        }
    }

    #[test]
    fn to_undo_a_mugging_the_ratio_must_change_by_beta_squared() {
        let beta = Beta::new(3, 2).unwrap();
        for (fast, slow) in (1..=64).flat_map(|fast| (1..=64).map(move |slow| (fast, slow))) {
            if mugs(beta, fast, Victim { busy: true, empty: true, speed: slow }) {
                // β² is 9/4: up to that ratio nothing is undone.
                for (fast_later, slow_later) in [(fast, slow), (fast * 2, slow * 3), (fast * 4, slow * 9)] {
                    assert!(!mugs(beta, slow_later, Victim { busy: true, empty: true, speed: fast_later }));
                }
            }
        }
        // Just beyond it, it is: the bound is tight.
        assert!(mugs(beta, 151, Victim { busy: true, empty: true, speed: 100 }));
        assert!(mugs(beta, 100 * 10, Victim { busy: true, empty: true, speed: 151 * 4 }));
    }
}
