//! Models of the exchange of CPUs.

use super::*;

/// A carrier arrives at a processor whose CPU is exchanged meanwhile: it ends up on the one that the processor has.
#[test]
fn arrive_against_exchange() {
    explore(6, &[Fault::ArriveWithoutSecondLook], || move_during_exchange(1, |_| true));
}

/// A carrier leaves such a processor for one that has no part in the exchange: it ends up on the CPU of that one.
#[test]
fn leave_against_exchange() {
    explore(6, &[Fault::ExchangeWithoutSecondLook], || move_during_exchange(2, |_| true));
}

/// The same while one of the CPUs cannot be used: what is refused changes nothing.
#[test]
fn leave_against_refused_exchange() {
    explore(6, &[Fault::KeepRefusedExchange], || move_during_exchange(2, |cpu| cpu != CPUS[1]));
}

const CPUS: [usize; 3] = [10, 20, 30];

/// Has a carrier go from processor 0 to another one while 0 and 1 exchange CPUs. `online` tells which can be used. As
/// the system does, this pins by a step that is ordered among its like.
fn move_during_exchange(to: usize, online: fn(usize) -> bool) {
    const CARRIER: usize = 1;
    let placement = Arc::new(Placement::new(3, &CPUS));
    let runs_on = Arc::new(AtomicUsize::new(0));
    let pin = move |runs_on: &AtomicUsize, cpu| {
        if online(cpu) {
            runs_on.swap(cpu, AcqRel);
        }
        online(cpu)
    };
    let carrier = {
        let (placement, runs_on) = (Arc::clone(&placement), Arc::clone(&runs_on));
        thread::spawn(move || {
            let here = |cpu| {
                pin(&runs_on, cpu);
            };
            placement.arrive(0, CARRIER, here);
            placement.leave(0);
            // Who gives it the next processor has pinned it before it wakes.
            here(placement.cpu(to));
            placement.arrive(to, CARRIER, here);
        })
    };
    let exchanged = placement.exchange(0, 1, |_, cpu| pin(&runs_on, cpu));
    carrier.join().unwrap();
    let cpu = if exchanged { [CPUS[1], CPUS[0], CPUS[2]][to] } else { CPUS[to] };
    assert_eq!((placement.cpu(to), placement.holder(to)), (cpu, CARRIER));
    assert_eq!((placement.cpu(0) == CPUS[1], placement.cpu(1) == CPUS[0]), (exchanged, exchanged));
    assert_eq!(runs_on.load(Relaxed), cpu, "the carrier runs on the CPU of another processor");
}
