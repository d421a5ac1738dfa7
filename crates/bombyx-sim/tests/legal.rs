//! Every run obeys every edge and every lower bound, and what cannot be counted is refused by name.

use bombyx_dag::{Builder, Class, Computation, Measures, WeightUnit, generate::Spec};
use bombyx_sim::{Contention, Invariant, LONG, Mode, Scheduler, Simulation, SimulationError};

fn computation(spec: &str) -> Computation {
    spec.parse::<Spec>().unwrap().build().unwrap()
}

/// The second child's first strand waits for the first child.
fn born_stalled() -> Computation {
    let mut b = Builder::new(1);
    b.strand(1);
    b.spawn(1);
    b.strand(10);
    let first = b.end();
    b.strand(1);
    b.spawn(1);
    b.strand(1);
    b.wait_for(first);
    let second = b.end();
    b.strand(1);
    b.strand(1);
    b.wait_for(first);
    b.wait_for(second);
    b.build().unwrap()
}

#[test]
fn a_thread_may_be_born_stalled() {
    let c = born_stalled();
    assert_eq!((c.class(), c.span()), (Class::General, 13));
    for name in Scheduler::SPELLINGS {
        let scheduler: Scheduler = name.replace(":K", ":100").replace(":BETA", ":2").parse().unwrap();
        for processors in 1..=4 {
            for mode in [Mode::Event, Mode::Step] {
                let run = Simulation::new(&c, scheduler).processors(processors).mode(mode).trace().run();
                let outcome = run.unwrap_or_else(|error| panic!("{scheduler}, P = {processors}: {error}"));
                let ends = outcome.trace.as_ref().unwrap().ends(c.strand_count());
                assert!(outcome.with_dummies.is_some() || ends[3] > ends[1], "{scheduler}, P = {processors}");
                assert!(outcome.makespan >= 13);
            }
        }
    }
}

/// A grandchild that joins the root alone may outlive its parent; then busy leaves cannot be kept.
#[test]
fn a_parent_must_outlive_its_children() {
    let mut b = Builder::new(1);
    b.strand(1);
    b.spawn(1);
    b.strand(1);
    b.spawn(1);
    b.strand(9);
    let grandchild = b.end();
    b.strand(1);
    let child = b.end();
    b.strand(1);
    b.strand(1);
    b.wait_for(grandchild);
    b.wait_for(child);
    let c = b.build().unwrap();
    assert_eq!(c.class(), Class::General);
    assert_eq!(c.outlives_parent().map(|t| t.0), Some(2));
    assert!(!Invariant::BusyLeaves.applies(Scheduler::BusyLeaves, c.class()));
}

#[test]
fn weights_and_costs_that_are_too_large_are_named() {
    let c = computation("fan:children=3,work=1G");
    let error =
        |cost| Simulation::new(&c, Scheduler::WorkStealing).processors(4).steal_cost(cost).run().unwrap_err();
    assert!(matches!(error(1 << 40), SimulationError::TooLong { steal_cost, .. } if steal_cost == 1 << 40));
    assert!(error(1 << 40).to_string().starts_with("the cost of a steal attempt is too large"));
    // Four processors could do this within 2^61 steps, but one alone takes 2^58.
    let error = error((1 << 58) / 3_000_000_000 + 1).to_string();
    assert!(error.starts_with("the cost of a steal attempt is too large"), "{error}");
    let moves = Simulation::new(&c, Scheduler::MaximumUtilization).processors(2).migration_cost(u64::MAX);
    assert!(moves.run().unwrap_err().to_string().starts_with("the cost of a migration is too large"));
    let mut b = Builder::new(0);
    b.strand(1 << 62);
    let c = b.build().unwrap();
    let error = Simulation::new(&c, Scheduler::Greedy).processors(1).run().unwrap_err();
    assert!(error.to_string().starts_with("the weights are too large"), "{error}");
}

#[test]
fn long_strands_cost_few_events() {
    let c = computation("fan:children=3,work=100000000");
    assert_eq!(Contention::for_computation(&c), Contention::Denied);
    assert_eq!(Contention::for_computation(&computation(&format!("fan:work={LONG}"))), Contention::default());
    for contention in [Contention::Denied, Contention::default()] {
        let run =
            Simulation::new(&c, Scheduler::WorkStealing).processors(2).contention(contention).run().unwrap();
        assert!(run.events < 100, "{} events under {contention}", run.events);
        assert!(run.attempts() > 90_000_000);
    }
}

/// A single thief is passed over exactly: as if every attempt had been made.
#[test]
fn a_lonely_thief_is_counted_as_it_would_have_played() {
    for seed in 0..40 {
        let c = computation(&format!("random:threads=12,work=30,seed={seed}"));
        let simulation = Simulation::new(&c, Scheduler::WorkStealing).processors(2).seed(seed);
        let simulation = simulation.contention(Contention::default());
        let (passed, played) =
            (simulation.run().unwrap(), simulation.clone().mode(Mode::Step).run().unwrap());
        assert_eq!(
            (passed.makespan, passed.dollars, passed.steals),
            (played.makespan, played.dollars, played.steals)
        );
    }
}

/// A strand of 10^9 instructions among a million short ones: queues would be played out for 10^9 steps.
#[test]
fn one_long_strand_among_many_short_ones_is_enough() {
    let mut b = Builder::new(0);
    b.strand(1);
    b.spawn(0);
    b.strand(1_000_000_000);
    let long = b.end();
    for _ in 0..1_000_000 {
        b.strand(1);
    }
    b.wait_for(long);
    let c = b.build().unwrap();
    assert!(Measures::of(&c).work / c.strand_count() as u64 <= LONG);
    assert_eq!(Contention::for_computation(&c), Contention::Denied);
    let run = Simulation::new(&c, Scheduler::WorkStealing).processors(64).run().unwrap();
    assert!(run.events < 3_000_000, "{} events", run.events);
}

#[test]
fn nanoseconds_are_denied() {
    let mut b = Builder::new(0);
    b.weight_unit(WeightUnit::Nanoseconds);
    b.strand(5);
    assert_eq!(Contention::for_computation(&b.build().unwrap()), Contention::Denied);
}
