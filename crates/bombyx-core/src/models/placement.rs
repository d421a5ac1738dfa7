//! Models of muggings: what a thief decides, and the exchange of CPUs.

use super::*;
use crate::protocol::placement::Mugging;

/// A carrier arrives at a processor while its CPU is exchanged. The carrier ends up on the CPU that the processor then
/// has.
#[test]
fn arrive_against_exchange() {
    explore_weak(6, &[Fault::ArriveWithoutSecondLook], || move_during_exchange(1, |_| true));
}

/// A carrier leaves such a processor for one that takes no part in the exchange. It ends up on the CPU of the latter.
#[test]
fn leave_against_exchange() {
    explore_weak(6, &[Fault::ExchangeWithoutSecondLook], || move_during_exchange(2, |_| true));
}

/// Like [`leave_against_exchange`], while one of the CPUs cannot be used. A refused exchange changes nothing.
#[test]
fn leave_against_refused_exchange() {
    explore_weak(6, &[Fault::KeepRefusedExchange], || move_during_exchange(2, |cpu| cpu != CPUS[1]));
}

/// A carrier leaves a victim for another one, whose CPU another thief exchanges. It ends up on the CPU that the latter
/// then has.
#[test]
fn leave_against_two_exchanges() {
    explore_weak(3, &[Fault::PinWithoutSecondLook, Fault::ExchangeWithoutSecondLook], || {
        let placement = Arc::new(Placement::new(4, &CPUS));
        let runs_on = Arc::new(AtomicUsize::new(CPUS[0]));
        placement.arrive(0, CARRIER, |_| ());
        let carrier = {
            let (placement, runs_on) = (Arc::clone(&placement), Arc::clone(&runs_on));
            thread::spawn(move || {
                placement.leave(0);
                placement.arrive(2, CARRIER, |cpu| assert!(pin(&runs_on, cpu)));
            })
        };
        let other = {
            let (placement, runs_on) = (Arc::clone(&placement), Arc::clone(&runs_on));
            thread::spawn(move || mug(&placement, 3, 2, &runs_on))
        };
        let _ = mug(&placement, 1, 0, &runs_on);
        let _ = other.join().unwrap();
        carrier.join().unwrap();
        assert_eq!(placement.holder(2), CARRIER);
        assert_eq!(
            runs_on.load(Relaxed),
            placement.cpu(2),
            "the carrier runs on the CPU of another processor"
        );
    });
}

/// Two idle thieves on fast CPUs, and one victim on a slow one. One of them mugs it. Then it is no longer slow, and the
/// other leaves it alone. Each CPU still belongs to one processor.
#[test]
fn two_thieves_mug_one_victim_once() {
    explore_weak(4, &[Fault::MugWithoutClaim, Fault::DecideBeforeClaim], || {
        const SLOW: usize = CPUS[0];
        let placement = Arc::new(Placement::new(3, &CPUS[..3]));
        let runs_on = Arc::new(AtomicUsize::new(SLOW));
        placement.arrive(0, CARRIER, |_| ());
        let thief = |index| {
            let (placement, runs_on) = (Arc::clone(&placement), Arc::clone(&runs_on));
            move || {
                let faster = || placement.cpu(index) != SLOW && placement.cpu(0) == SLOW;
                placement.mug(index, 0, faster, |_, cpu| pin(&runs_on, cpu), |_| ())
            }
        };
        let other = thread::spawn(thief(2));
        let mine = thief(1)();
        let theirs = other.join().unwrap();
        let muggings = [mine, theirs].into_iter().filter(|&mugging| mugging == Mugging::Done).count();
        assert_eq!(muggings, 1);
        assert_ne!(placement.cpu(0), SLOW, "the victim is still slow");
        assert_eq!(runs_on.load(Relaxed), placement.cpu(0));
        let mut cpus = [0, 1, 2].map(|processor| placement.cpu(processor));
        cpus.sort_unstable();
        assert_eq!(cpus, CPUS[..3]);
    });
}

const CPUS: [usize; 4] = [10, 20, 30, 40];
const CARRIER: usize = 1;

/// Pins as the system does: by a step that is ordered among all pins.
fn pin(runs_on: &AtomicUsize, cpu: usize) -> bool {
    runs_on.swap(cpu, AcqRel);
    true
}

/// A thief that mugs every victim that it finds busy.
fn mug(placement: &Placement, thief: usize, victim: usize, runs_on: &AtomicUsize) -> Mugging {
    placement.mug(thief, victim, || true, |_, cpu| pin(runs_on, cpu), |_| ())
}

/// A carrier goes from processor 0 to another one while 1 mugs 0. `online` says which CPUs can be used.
fn move_during_exchange(to: usize, online: fn(usize) -> bool) {
    let placement = Arc::new(Placement::new(3, &CPUS[..3]));
    let runs_on = Arc::new(AtomicUsize::new(0));
    let pin = move |runs_on: &AtomicUsize, cpu| online(cpu) && pin(runs_on, cpu);
    let carrier = {
        let (placement, runs_on) = (Arc::clone(&placement), Arc::clone(&runs_on));
        thread::spawn(move || {
            let here = |cpu| assert!(pin(&runs_on, cpu) || !online(cpu));
            placement.arrive(0, CARRIER, here);
            placement.leave(0);
            // Whoever gives the carrier its next processor has pinned it before it wakes.
            here(placement.cpu(to));
            placement.arrive(to, CARRIER, here);
        })
    };
    let mugging = placement.mug(1, 0, || true, |_, cpu| pin(&runs_on, cpu), |_| ());
    carrier.join().unwrap();
    let exchanged = mugging == Mugging::Done;
    let cpu = if exchanged { [CPUS[1], CPUS[0], CPUS[2]][to] } else { CPUS[to] };
    assert_eq!((placement.cpu(to), placement.holder(to)), (cpu, CARRIER));
    assert_eq!((placement.cpu(0) == CPUS[1], placement.cpu(1) == CPUS[0]), (exchanged, exchanged));
    assert_eq!(runs_on.load(Relaxed), cpu, "the carrier runs on the CPU of another processor");
}
