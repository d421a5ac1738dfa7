//! What the claims' scopes say does not hold, indeed does not.

use bombyx_dag::{Augmented, Class, Computation, Measures, generate::Spec};
use bombyx_sim::{Invariant, Mode, Scheduler, Simulation};

fn computation(spec: &str) -> Computation {
    spec.parse::<Spec>().unwrap().build().unwrap()
}

/// How many of so many random runs on fully strict computations that are not nested-parallel break an invariant.
fn broken(invariant: Invariant, seeds: u64) -> usize {
    let breaks = |seed: &u64| {
        let c = computation(&format!("random:threads=60,join=60,work=1,seed={seed}"));
        assert_eq!(c.class(), Class::FullyStrict);
        let simulation = Simulation::new(&c, Scheduler::WorkStealing).processors(4).seed(*seed);
        simulation.mode(Mode::Step).check(invariant).run().is_err()
    };
    (0..seeds).filter(breaks).count()
}

#[test]
fn the_lectures_lemmas_need_cilks_joins() {
    assert!(broken(Invariant::DepthLemma, 20) > 0, "the depth lemma was never broken");
    assert!(broken(Invariant::Proposition7, 40) > 0, "Proposition 7 was never broken");
    assert_eq!(broken(Invariant::Lemma4, 20), 0);
    assert_eq!(broken(Invariant::Lemma10, 20), 0);
}

#[test]
fn deque_edges_more_than_double_paths_of_heavy_strands() {
    let c = computation("chain:length=20,work=100");
    assert!(Augmented::of(&c).span() > 2 * Measures::of(&c).span);
}

#[test]
fn an_instruction_may_have_three_edges_in_the_augmented_dag() {
    let c = computation("fan:children=3,work=1");
    let edges = |s| {
        let deque = Augmented::of(&c).deque_edge(s);
        c.spawned(s).into_iter().chain(c.next(s)).chain(deque).chain(c.joins_from(s).iter().copied()).count()
    };
    assert_eq!(c.strands().map(edges).max(), Some(3));
}

/// HET §2: the bound on migrations is for constant speeds.
#[test]
fn changing_speeds_migrate_more_often() {
    let c = computation("chain:length=1,work=200");
    let changes: String = (1..100).map(|n| format!(";{n}:p1={};{n}:p2={}", 1 + n % 2, 2 - n % 2)).collect();
    let speeds = format!("1,2{changes}").parse().unwrap();
    let outcome = Simulation::new(&c, Scheduler::MaximumUtilization).speeds(speeds).run().unwrap();
    assert!(outcome.migrations > 2 * c.strand_count() as u64, "{} migrations", outcome.migrations);
}
