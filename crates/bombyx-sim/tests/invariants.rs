//! Every invariant has a planted error that it catches, and that is what catches it. That the schedulers keep their
//! invariants without planted errors is part of the conformance suite.

mod common;

use bombyx_dag::Computation;
use bombyx_sim::{
    Contention, Invariant, Mode, Mutation, Outcome, Scheduler, Simulation, SimulationError, Speeds,
};
use common::{computation, every_scheduler, nested, scheduler};

/// A family of computations, one for each seed.
type Family = fn(u64) -> Computation;

/// Runs with a planted error on many seeds until the invariant breaks; checks nothing else.
fn caught(invariant: Invariant, mutation: Mutation, name: &str, family: Family, speeds: &Speeds) -> String {
    let run = |seed: u64, mutation: Option<Mutation>| -> Result<Outcome, SimulationError> {
        let c = family(seed);
        let scheduler: Scheduler = scheduler(name);
        assert!(invariant.applies(scheduler, c.class()), "{invariant} is not proven for {name}");
        let simulation = Simulation::new(&c, scheduler).speeds(speeds.clone()).seed(seed).check(invariant);
        let simulation = simulation.mode(Mode::Step);
        match mutation {
            Some(mutation) => simulation.mutate(mutation).run(),
            None => simulation.run(),
        }
    };
    for seed in 0..40 {
        run(seed, None).unwrap_or_else(|e| panic!("{name}, seed {seed}: {e}"));
        match run(seed, Some(mutation)) {
            Ok(_) => {}
            Err(SimulationError::Violation(violation)) => {
                assert_eq!(violation.invariant, invariant);
                return violation.to_string();
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("{mutation:?} in {name} never broke {invariant}");
}

fn equal(processors: usize) -> Speeds {
    format!("{processors}x1").parse().unwrap()
}

const FULLY_STRICT: Family = |seed| computation(&format!("random:threads=60,seed={seed}"));
const NESTED: Family = |seed| nested(60, 30, seed);

#[test]
fn busy_leaves_catches_a_kept_parent() {
    for (name, spec) in
        [("busy-leaves", FULLY_STRICT), ("work-stealing", FULLY_STRICT), ("heterogeneous:2", FULLY_STRICT)]
    {
        let text = caught(Invariant::BusyLeaves, Mutation::KeepParent, name, spec, &equal(3));
        assert!(text.contains("nobody works on it"), "{text}");
    }
}

#[test]
fn lemma_4_catches_thieves_at_the_bottom() {
    let text = caught(Invariant::Lemma4, Mutation::StealBottom, "work-stealing", FULLY_STRICT, &equal(4));
    assert!(text.contains("is not its parent") || text.contains("was worked on"), "{text}");
}

#[test]
fn lemma_10_catches_enabling_elsewhere() {
    caught(Invariant::Lemma10, Mutation::EnableElsewhere, "work-stealing", FULLY_STRICT, &equal(4));
}

#[test]
fn the_depth_lemma_catches_pushing_on_top() {
    let text = caught(Invariant::DepthLemma, Mutation::PushTop, "work-stealing", NESTED, &equal(2));
    assert!(text.contains("of depth"), "{text}");
}

#[test]
fn proposition_7_catches_enabling_elsewhere() {
    let text = caught(Invariant::Proposition7, Mutation::EnableElsewhere, "work-stealing", NESTED, &equal(4));
    assert!(text.contains("is critical"), "{text}");
}

#[test]
fn lemma_3_1_catches_a_new_deque_on_the_left() {
    for name in ["dfdeques:inf", "dfdeques:100"] {
        let text = caught(Invariant::Lemma31, Mutation::NewDequeLeft, name, NESTED, &equal(4));
        assert!(text.contains("has the lower priority"), "{text}");
    }
}

#[test]
fn high_utilization_catches_slow_processors_first() {
    let speeds = "4,2,1,1".parse().unwrap();
    for name in ["maximum-utilization", "high-utilization:1.5"] {
        let text = caught(Invariant::HighUtilization, Mutation::SlowestFirst, name, FULLY_STRICT, &speeds);
        assert!(text.contains("is idle and more than"), "{text}");
    }
}

/// On many random nested-parallel computations, every scheduler keeps everything that is proven for it there.
#[test]
fn schedulers_keep_their_invariants() {
    for seed in 0..25 {
        let c = nested(50, 60, seed);
        for scheduler in every_scheduler() {
            let simulation = Simulation::new(&c, scheduler).processors(2 + seed as usize % 7).seed(seed);
            let simulation =
                simulation.contention(Contention::ALL[seed as usize % 6]).steal_cost(1 + seed % 3);
            let checked = simulation.mode(Mode::Step).check_all().run();
            checked.unwrap_or_else(|e| panic!("{scheduler}, seed {seed}: {e}"));
        }
    }
}

/// The depth lemma and Proposition 7 are about Cilk's joins; on other fully strict computations they are not
/// promised, and asking for everything that is proven leaves them out.
#[test]
fn only_what_is_proven_is_checked() {
    let c = computation("random:threads=80,join=60,seed=3");
    let simulation = Simulation::new(&c, Scheduler::WorkStealing).processors(4);
    for seed in 0..20 {
        simulation.clone().seed(seed).mode(Mode::Step).check_all().run().unwrap();
    }
    let mut broken = 0;
    for seed in 0..20 {
        let checked = simulation.clone().seed(seed).mode(Mode::Step).check(Invariant::DepthLemma);
        broken += u32::from(checked.run().is_err());
    }
    assert!(broken > 0, "general join edges never broke the depth lemma: the check may be too weak");
}
