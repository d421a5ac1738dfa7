//! Which processor has which CPU, and which carrier is to run there.
//!
//! Carriers take hold of processors and let them go at any time; meanwhile one thread of the pool, the *exchanger*
//! (of `scheduler/heterogeneous`), exchanges the CPUs of two processors. What must hold whenever nobody is
//! in the middle of any of this (a model explores that): **a carrier that holds a processor is pinned to that processor's CPU.**
//!
//! | who | steps |
//! |---|---|
//! | a carrier arrives | (A1) `holder := me`, fence, (A2) read `cpu`, (A3) pin myself, fence, (A4) read `cpu` again; if it changed, back to (A2) |
//! | a carrier leaves | (L) `holder := nobody` |
//! | the exchanger | (X1) swap the two `cpu`, fence, then for each of the two: (X2) read `holder`, (X3) pin that carrier, fence, (X4) read `holder` again; if it changed, the carrier may hold another processor by now: (X2) for that one |
//!
//! - *The victim arrives during an exchange.* By the fences (X2) sees (A1), or (A2) sees (X1). In the first case both
//!   pin. If the carrier's pin comes last, (A4) comes after (X1) and mends it.
//! - *The victim has just left* between (X2) and (X3), and has been pinned to the wrong CPU. As the last to pin it was
//!   the exchanger, (X4) sees (L), and looks for where it is now. If that is nowhere yet, its (A3) is still to come.
//! - *A hand-over is in progress.* The processor has no holder, and its next one reads the new CPU at (A2).
//! - *The next holder is pinned while it sleeps*, by the one that gives it the processor, to the CPU that the processor has
//!   just then ([`crate::protocol::carrier`]), so that it need not be moved; or it is confined to the giver's, and lifts that itself.
//!   Both come before its (A3), which pins it to where it belongs.
//! - *Two muggers.* There is one exchanger in a pool. Two pools can share a carrier, one after the other: a carrier that blocks
//!   in the first may be lent a processor of the second. An exchanger of the first that read its name at (X2) may then pin it to
//!   a CPU of the first. So it may hold a processor of the second on a wrong CPU, until it takes hold of one again: that costs
//!   time, and nothing else rests on it.
//! - *The system refuses* (the CPU is offline, or the process may not use it any more): the CPUs are swapped back, and
//!   (X2) to (X4) done again. A carrier that is refused at (A3) stays where it is.
//! - *A thread that the pool has lent a processor to* leaves for good, with the CPUs that it came with. Exchanges are made
//!   under a lock, which such a thread passes after (L): whoever saw it as a holder has finished then, whoever comes later does
//!   not see it.
//! - *Carriers end* after the exchanger has ([`crate::machine::pool::PoolCore::shut_down`]), so that it never means a thread
//!   that is gone, or a stranger with its number.

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicUsize, fence};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// See the module text. Threads are known by numbers other than 0.
pub(crate) struct Placement {
    seats: Box<[Seat]>,
}

/// What is known of one processor.
struct Seat {
    /// Written by the exchanger alone.
    cpu: AtomicUsize,
    /// Written by the carriers that hold the processor. 0: nobody does.
    holder: AtomicUsize,
}

impl Placement {
    /// Processors take turns on the CPUs, all unheld.
    pub(crate) fn new(processors: usize, cpus: &[usize]) -> Placement {
        let seat = |&cpu| Seat { cpu: AtomicUsize::new(cpu), holder: AtomicUsize::new(0) };
        Placement { seats: cpus.iter().cycle().take(processors).map(seat).collect() }
    }

    /// The CPU of a processor.
    pub(crate) fn cpu(&self, processor: usize) -> usize {
        self.seats[processor].cpu.load(Relaxed)
    }

    /// The carrier that holds a processor, 0 if none does.
    pub(crate) fn holder(&self, processor: usize) -> usize {
        self.seats[processor].holder.load(Relaxed)
    }

    /// A carrier has taken hold of a processor. `pin` pins it, the caller.
    pub(crate) fn arrive(&self, processor: usize, carrier: usize, pin: impl Fn(usize)) {
        self.seats[processor].holder.store(carrier, Relaxed);
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
        self.seats[processor].holder.store(0, Relaxed);
    }

    /// Exchanger. Exchanges the CPUs of two processors. False if the system refused, and all is as before.
    #[must_use]
    pub(crate) fn exchange(&self, a: usize, b: usize, pin: impl Fn(usize, usize) -> bool) -> bool {
        self.swap(a, b);
        if self.settle(a, &pin) && self.settle(b, &pin) {
            return true;
        }
        if !planted(Fault::KeepRefusedExchange) {
            self.swap(a, b);
        }
        self.settle(a, &pin);
        self.settle(b, &pin);
        false
    }

    /// (X1).
    fn swap(&self, a: usize, b: usize) {
        let (cpu_a, cpu_b) = (self.cpu(a), self.cpu(b));
        self.seats[a].cpu.store(cpu_b, Relaxed);
        self.seats[b].cpu.store(cpu_a, Relaxed);
        // Pairs with those in `arrive`.
        fence(SeqCst);
    }

    /// (X2) to (X4). False if the holder stayed and was refused.
    fn settle(&self, processor: usize, pin: &impl Fn(usize, usize) -> bool) -> bool {
        let mut at = processor;
        loop {
            let carrier = self.holder(at);
            if carrier == 0 {
                return true;
            }
            let pinned = pin(carrier, self.cpu(at));
            // The system orders the pins of one thread; what came before the earlier is seen after the later.
            fence(SeqCst);
            if self.holder(at) == carrier || planted(Fault::ExchangeWithoutSecondLook) {
                return pinned || at != processor;
            }
            match (0..self.seats.len()).find(|&other| self.holder(other) == carrier) {
                Some(other) => at = other,
                None => return true,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Placement;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn processors_take_turns_and_exchange() {
        let placement = Placement::new(5, &[3, 8]);
        assert_eq!((0..5).map(|p| placement.cpu(p)).collect::<Vec<_>>(), [3, 8, 3, 8, 3]);
        placement.arrive(0, 70, |cpu| assert_eq!(cpu, 3));
        let pinned = AtomicUsize::new(0);
        let exchanged = placement.exchange(1, 0, |carrier, cpu| {
            pinned.store(carrier * 100 + cpu, SeqCst);
            true
        });
        assert!(exchanged);
        assert_eq!(pinned.load(SeqCst), 7008);
        assert_eq!((placement.cpu(0), placement.cpu(1)), (8, 3));
    }

    #[test]
    fn a_refusal_leaves_all_as_it_was() {
        let placement = Placement::new(2, &[0, 1]);
        placement.arrive(0, 70, |_| ());
        let cpu_of_carrier = AtomicUsize::new(0);
        let exchanged = placement.exchange(1, 0, |_, cpu| {
            let offline = cpu == 1;
            if !offline {
                cpu_of_carrier.store(cpu, SeqCst);
            }
            !offline
        });
        assert!(!exchanged);
        assert_eq!((placement.cpu(0), placement.cpu(1), cpu_of_carrier.load(SeqCst)), (0, 1, 0));
    }
}
