//! Which processor has which CPU, and which carrier is to run there.
//!
//! Carriers take hold of processors and let them go at any time. Meanwhile idle processors mug busy ones
//! (`scheduler/heterogeneous`): *thief* and *victim* exchange their CPUs. Several muggings may happen at a time. Two
//! statements must hold whenever nobody is in the middle of a step (the models explore them):
//!
//! - **A carrier that holds a processor is pinned to that processor's CPU.**
//! - **A mugging was right when it was made**: the thief was idle, the victim was not, and the two had the CPUs from
//!   whose speeds the thief decided.
//!
//! | who | steps |
//! |---|---|
//! | a carrier arrives | (A1) `holder := me`, fence, (A2) read `cpu`, (A3) pin myself, fence, (A4) read `cpu` again; if it changed, back to (A2) |
//! | a carrier leaves | (L) `holder := nobody` |
//! | a thief | (X0) claim both processors or give up, decide, (X1) swap the two `cpu`, fence, then for each of the two: (X2) read `holder` and `cpu`, (X3) pin that carrier, fence, (X4) read both again; if the carrier has left it may hold another processor by now: (X2) for that one; if the CPU has changed: (X2) again; (X5) let the claims go |
//!
//! - *Two thieves.* A processor takes part in one mugging at a time: the claim of the other thief fails, and that thief
//!   goes on looking. A thief decides after it has claimed, so it does not mug a victim that somebody else has just
//!   helped. No thief waits for a claim, so no two thieves wait for each other.
//! - *The victim arrives during an exchange.* By the fences, (X2) sees (A1), or (A2) sees (X1). In the first case both
//!   pin. If the carrier's pin comes last, (A4) comes after (X1) and mends it.
//! - *The victim has just left* between (X2) and (X3), and has been pinned to the wrong CPU. The thief was the last to
//!   pin it, so (X4) sees (L), and the thief looks for where the carrier is now. If the carrier is nowhere yet, its
//!   (A3) is still to come.
//! - *It has left for a processor that another thief is exchanging.* Both thieves pin it. The thief whose pin comes
//!   last sees at (X4) what the other did before its pin, and so sees the CPU that the processor has by then.
//! - *A hand-over is in progress.* The processor has no holder, and its next holder reads the new CPU at (A2).
//! - *The next holder is pinned while it sleeps.* The giver of the processor pins it to the CPU that the processor
//!   has just then ([`crate::protocol::carrier`]), so that it need not be moved. Or the giver confines it to the
//!   giver's CPU, and the holder lifts that itself. Both come before its (A3), which pins it to where it belongs.
//! - *Two pools* can share a carrier, one after the other: a carrier that blocks in the first pool may be lent a
//!   processor of the second. A thief of the first pool that read the carrier's name at (X2) may then pin it to a CPU
//!   of the first. So the carrier may hold a processor of the second pool on a wrong CPU until it next takes hold of a
//!   processor. That costs time, but nothing else relies on it.
//! - *The system refuses* (the CPU is offline, or the process may not use it any more). The CPUs are swapped back, and
//!   (X2) to (X4) are done again. A carrier that is refused at (A3) stays where it is.
//! - *A thread that the pool has lent a processor to* leaves for good, with the CPUs that it came with. Thieves share a
//!   lock, and such a thread takes this lock exclusively after (L). So a thief that saw the thread as a holder has
//!   finished by then, and a thief that comes later does not see it.
//! - *Carriers end* after the thieves have ended ([`crate::machine::pool::PoolCore::shut_down`]). So thieves never name
//!   a thread that is gone, or another thread with the same number.

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicBool, AtomicUsize, fence};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// See the module text. Each thread is known by a number, which is never 0.
pub(crate) struct Placement {
    assignments: Box<[Assignment]>,
}

/// The CPU of one processor, and the carrier that holds it.
struct Assignment {
    /// Written by the thread that has claimed the processor.
    cpu: AtomicUsize,
    /// Written by the carriers that hold the processor. 0 if nobody holds it.
    holder: AtomicUsize,
    /// Whether the processor takes part in a mugging.
    claimed: AtomicBool,
}

/// How a mugging ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Mugging {
    /// The two have exchanged CPUs.
    Done,
    /// The system refused, and all is as before.
    Refused,
    /// The thief decided against it, or one of the two is taking part in another mugging.
    Declined,
}

impl Placement {
    /// Deals the CPUs out to the processors in turn. Nobody holds a processor yet.
    pub(crate) fn new(processors: usize, cpus: &[usize]) -> Placement {
        let assignment = |&cpu| Assignment {
            cpu: AtomicUsize::new(cpu),
            holder: AtomicUsize::new(0),
            claimed: AtomicBool::new(false),
        };
        Placement { assignments: cpus.iter().cycle().take(processors).map(assignment).collect() }
    }

    /// The CPU of a processor.
    pub(crate) fn cpu(&self, processor: usize) -> usize {
        self.assignments[processor].cpu.load(Relaxed)
    }

    /// The carrier that holds a processor, or 0 if none does.
    pub(crate) fn holder(&self, processor: usize) -> usize {
        self.assignments[processor].holder.load(Relaxed)
    }

    /// A carrier has taken hold of a processor. `pin` pins the calling carrier.
    pub(crate) fn arrive(&self, processor: usize, carrier: usize, pin: impl Fn(usize)) {
        self.assignments[processor].holder.store(carrier, Relaxed);
        // Between (A1) and (A2): pairs with the one after (X1).
        fence(SeqCst);
        let mut cpu = self.cpu(processor);
        loop {
            pin(cpu);
            // Between (A3) and (A4): pairs with the one after (X1).
            fence(SeqCst);
            let now = self.cpu(processor);
            if now == cpu || planted(Fault::ArriveWithoutSecondLook) {
                return;
            }
            cpu = now;
        }
    }

    /// The carrier that holds a processor lets it go.
    pub(crate) fn leave(&self, processor: usize) {
        self.assignments[processor].holder.store(0, Relaxed);
    }

    /// Called by the thief. Exchanges the CPUs of the two processors if the thief is idle, the victim is not, and
    /// `decide` agrees, while neither takes part in another mugging. `pin` pins a carrier to a CPU. `done` learns the
    /// outcome before others can mug the two.
    pub(crate) fn mug(
        &self,
        thief: usize,
        victim: usize,
        decide: impl Fn() -> bool,
        pin: impl Fn(usize, usize) -> bool,
        done: impl FnOnce(bool),
    ) -> Mugging {
        let right = || self.holder(thief) == 0 && self.holder(victim) != 0 && decide();
        let decided = planted(Fault::DecideBeforeClaim).then(right);
        let Some(_thief) = self.claim(thief) else { return Mugging::Declined };
        let Some(_victim) = self.claim(victim) else { return Mugging::Declined };
        if !decided.unwrap_or_else(right) {
            return Mugging::Declined;
        }
        let exchanged = self.exchange(victim, thief, pin);
        done(exchanged);
        if exchanged { Mugging::Done } else { Mugging::Refused }
    }

    /// (X0). Dropping the guard frees the claim (X5).
    fn claim(&self, processor: usize) -> Option<Claim<'_>> {
        let claimed = &self.assignments[processor].claimed;
        let free = claimed.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        (free || planted(Fault::MugWithoutClaim)).then_some(Claim(claimed))
    }

    /// Returns false if the system refused and everything is as before.
    fn exchange(&self, a: usize, b: usize, pin: impl Fn(usize, usize) -> bool) -> bool {
        self.swap(a, b);
        if self.pin_holder(a, &pin) && self.pin_holder(b, &pin) {
            return true;
        }
        if !planted(Fault::KeepRefusedExchange) {
            self.swap(a, b);
        }
        self.pin_holder(a, &pin);
        self.pin_holder(b, &pin);
        false
    }

    /// (X1).
    fn swap(&self, a: usize, b: usize) {
        let (cpu_a, cpu_b) = (self.cpu(a), self.cpu(b));
        self.assignments[a].cpu.store(cpu_b, Relaxed);
        self.assignments[b].cpu.store(cpu_a, Relaxed);
        // Pairs with those in `arrive`.
        fence(SeqCst);
    }

    /// (X2) to (X4). Returns false if the holder stayed and the system refused.
    fn pin_holder(&self, processor: usize, pin: &impl Fn(usize, usize) -> bool) -> bool {
        let mut at = processor;
        loop {
            let carrier = self.holder(at);
            if carrier == 0 {
                return true;
            }
            let cpu = self.cpu(at);
            let pinned = pin(carrier, cpu);
            // The system orders the pins of one thread. So what came before the earlier pin is visible after the later
            // one.
            fence(SeqCst);
            if planted(Fault::ExchangeWithoutSecondLook) {
                return pinned;
            }
            if self.holder(at) == carrier {
                if self.cpu(at) == cpu || planted(Fault::PinWithoutSecondLook) {
                    return pinned || at != processor;
                }
                continue;
            }
            match (0..self.assignments.len()).find(|&other| self.holder(other) == carrier) {
                Some(other) => at = other,
                None => return true,
            }
        }
    }
}

/// Marks that a processor takes part in the caller's mugging.
struct Claim<'a>(&'a AtomicBool);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Mugging, Placement};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn processors_take_turns_and_exchange() {
        let placement = Placement::new(5, &[3, 8]);
        assert_eq!((0..5).map(|p| placement.cpu(p)).collect::<Vec<_>>(), [3, 8, 3, 8, 3]);
        placement.arrive(0, 70, |cpu| assert_eq!(cpu, 3));
        let pinned = AtomicUsize::new(0);
        let pin = |carrier: usize, cpu: usize| {
            pinned.store(carrier * 100 + cpu, SeqCst);
            true
        };
        assert_eq!(placement.mug(1, 0, || true, pin, |exchanged| assert!(exchanged)), Mugging::Done);
        assert_eq!(pinned.load(SeqCst), 7008);
        assert_eq!((placement.cpu(0), placement.cpu(1)), (8, 3));
    }

    #[test]
    fn only_idle_thieves_mug_busy_victims_and_one_at_a_time() {
        let placement = Placement::new(3, &[0, 1, 2]);
        let mug = |thief, victim, decision| placement.mug(thief, victim, || decision, |_, _| true, |_| ());
        assert_eq!(mug(0, 1, true), Mugging::Declined, "the victim is idle");
        placement.arrive(1, 70, |_| ());
        placement.arrive(2, 71, |_| ());
        assert_eq!(mug(2, 1, true), Mugging::Declined, "the thief is busy");
        assert_eq!(mug(0, 1, false), Mugging::Declined, "the thief decides against it");
        let nested = |_, _| {
            assert_eq!(mug(0, 2, true), Mugging::Declined, "the thief mugs already");
            true
        };
        assert_eq!(placement.mug(0, 1, || true, nested, |_| ()), Mugging::Done);
        assert_eq!(mug(0, 2, true), Mugging::Done, "the claims are gone");
    }

    #[test]
    fn a_refusal_leaves_all_as_it_was() {
        let placement = Placement::new(2, &[0, 1]);
        placement.arrive(0, 70, |_| ());
        let cpu_of_carrier = AtomicUsize::new(0);
        let pin = |_, cpu: usize| {
            let offline = cpu == 1;
            if !offline {
                cpu_of_carrier.store(cpu, SeqCst);
            }
            !offline
        };
        assert_eq!(placement.mug(1, 0, || true, pin, |exchanged| assert!(!exchanged)), Mugging::Refused);
        assert_eq!((placement.cpu(0), placement.cpu(1), cpu_of_carrier.load(SeqCst)), (0, 1, 0));
    }
}
