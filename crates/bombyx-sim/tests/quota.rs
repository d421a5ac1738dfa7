//! The quota K of DFD §3.3: what is charged and credited, on the heap and on the stack, seen from outside.

mod common;

use bombyx_dag::{Builder, Computation};
use bombyx_sim::{EventKind, Metering, Outcome, Quota, Scheduler, Simulation, SimulationError};
use common::computation;

const K: u64 = 100;

fn run(c: &Computation, quota: Quota, processors: usize) -> Outcome {
    Simulation::new(c, Scheduler::Dfdeques(quota)).processors(processors).seed(1).trace().run().unwrap()
}

/// A block of `large` bytes that is freed at once, then ten blocks of K bytes, all freed at the end.
fn ten_blocks(large: u64) -> Computation {
    let mut b = Builder::new(0);
    b.strand(1);
    b.allocate(large);
    b.free(large);
    for _ in 0..10 {
        b.strand(1);
        b.allocate(K);
    }
    b.strand(1);
    b.free(10 * K);
    b.build().unwrap()
}

/// Steals between the first of the blocks of K bytes and the last.
fn steals_between_blocks(c: &Computation) -> usize {
    let outcome = run(c, Quota::of(K), 1);
    let ran = outcome.with_dummies.as_ref().map_or(c, |with| &with.computation);
    let is_block = |kind| matches!(kind, EventKind::Execute { strand, .. } if ran.allocated(strand) == K);
    let events = outcome.trace.as_ref().unwrap().events();
    let first = events.iter().position(|e| is_block(e.kind)).unwrap();
    let last = events.iter().rposition(|e| is_block(e.kind)).unwrap();
    events[first..last].iter().filter(|e| matches!(e.kind, EventKind::Attempt { .. })).count()
}

#[test]
fn freeing_what_dummies_paid_for_is_no_credit() {
    assert_eq!(steals_between_blocks(&ten_blocks(0)), 9);
    assert_eq!(steals_between_blocks(&ten_blocks(K)), 9);
    assert_eq!(steals_between_blocks(&ten_blocks(10 * K)), 9);
}

#[test]
fn frames_use_up_the_quota() {
    let c = computation("dnc:depth=5,work=2,memory=0,frame=64");
    let steals = |quota| run(&c, quota, 4).steals;
    let (small, unlimited) = (steals(Quota::of(128)), steals(Quota::Infinite));
    assert!(small > 2 * unlimited, "{small} steals with K = 128, {unlimited} without a quota");
    let with = run(&c, Quota::of(16), 4).with_dummies.expect("frames above K have dummies");
    assert_eq!(with.count(), 4 * (c.thread_count() - 1));
    let heap_only = |quota| {
        let simulation = Simulation::new(&c, Scheduler::Dfdeques(quota)).processors(4).seed(1);
        simulation.metering(Metering::Heap).run().unwrap()
    };
    assert_eq!(heap_only(Quota::of(1)).makespan, heap_only(Quota::Infinite).makespan);
}

#[test]
fn a_quota_that_demands_too_many_dummies_is_refused() {
    let c = ten_blocks(1 << 40);
    let error = Simulation::new(&c, Scheduler::Dfdeques(Quota::of(1))).run().unwrap_err();
    assert!(matches!(error, SimulationError::TooManyDummies { quota: 1, .. }), "{error}");
}
