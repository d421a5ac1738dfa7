//! What every scheduler must do, whatever its rules: one suite over the whole table, over computations of every
//! class, numbers of processors and contention models.

mod common;

use bombyx_dag::{Builder, Class, Computation, Measures, WeightUnit};
use bombyx_sim::{Contention, Mode, Outcome, Quota, Scheduler, Simulation, Speeds};
use common::{assert_legal, computation, every_scheduler, general};

/// Small computations of every class, with and without heap memory.
const COMPUTATIONS: &[&str] = &[
    "figure1",
    "fib:7",
    "dnc:depth=3,work=7,branch=3",
    "skewed:leaves=20,work=5",
    "loop:n=24,work=8",
    "chain:length=20,work=3",
    "fan:children=20",
    "random:threads=30,seed=1",
    "random:threads=30,seed=2,memory=80",
    "random:threads=40,join=0,seed=3,memory=60",
    "geometric:depth=4,memory=3000,grain=20",
    "greedy-trap:long=60,rounds=2",
    "wavefront:rows=5,columns=6,work=2",
];

fn bounds(c: &Computation, outcome: &Outcome) {
    let ran = outcome.with_dummies.as_ref().map_or(c, |with| &with.computation);
    let m = Measures::of(ran);
    let p = outcome.processors as u64;
    let name = outcome.scheduler;
    assert_eq!(outcome.dollars.work, m.work, "{name}: BL Lemma 7");
    assert!(outcome.makespan >= m.lower_bound(p), "{name} is too fast");
    let d = outcome.dollars;
    assert_eq!(d.work + d.steal + d.wait + d.idle, p * outcome.makespan, "{name}: P dollars per step");
    if steals(name) {
        assert_eq!(d.idle, 0, "{name} idles");
    } else {
        assert!(outcome.makespan <= m.greedy_bound(p), "{name}: BL Theorem 1");
    }
    let busy_leaves = match name {
        Scheduler::BusyLeaves => c.class() <= Class::Strict,
        Scheduler::WorkStealing | Scheduler::Heterogeneous(_) | Scheduler::Dfdeques(Quota::Infinite) => {
            c.class() <= Class::FullyStrict
        }
        _ => false,
    };
    if busy_leaves {
        assert!(outcome.peak.frames <= m.stack * p, "{name}: BL Lemma 2");
    }
}

fn same(a: &Outcome, b: &Outcome, context: &str) {
    let events = |o: &Outcome| o.trace.as_ref().map_or_else(Vec::new, |t| t.events().to_vec());
    for (a, b) in events(a).iter().zip(&events(b)) {
        assert_eq!(a, b, "{context}");
    }
    assert!(a.trace == b.trace, "{context}: one trace is longer");
    assert_eq!((a.makespan, a.dollars, a.peak), (b.makespan, b.dollars, b.peak), "{context}");
    assert_eq!((a.steals, a.muggings, a.migrations), (b.steals, b.muggings, b.migrations), "{context}");
    assert_eq!((a.bytes, a.acquisitions, &a.space), (b.bytes, b.acquisitions, &b.space), "{context}");
}

#[test]
fn every_scheduler_executes_every_computation() {
    for spec in COMPUTATIONS {
        let c = computation(spec);
        for scheduler in every_scheduler() {
            for processors in [1, 2, 3, 8] {
                let context = format!("{scheduler} on {spec} with P = {processors}");
                let base = Simulation::new(&c, scheduler).processors(processors).seed(5).space_series();
                let stepped = base.clone().mode(Mode::Step).trace().check_all().run();
                let stepped = stepped.unwrap_or_else(|e| panic!("{context}: {e}"));
                assert_legal(&c, &stepped, true);
                bounds(&c, &stepped);
                let events = base.clone().trace().run().unwrap();
                same(&stepped, &events, &context);
            }
        }
    }
}

fn steals(scheduler: Scheduler) -> bool {
    matches!(scheduler, Scheduler::WorkStealing | Scheduler::Heterogeneous(_) | Scheduler::Dfdeques(_))
}

/// Without a trace, the engine passes over attempts that must fail. That must not show.
#[test]
fn untraced_runs_measure_the_same() {
    for spec in COMPUTATIONS {
        let c = computation(spec);
        for scheduler in every_scheduler().into_iter().filter(|&s| steals(s)) {
            for contention in Contention::ALL {
                for steal_cost in [1, 3] {
                    let context = format!("{scheduler} on {spec}, {contention}, steals take {steal_cost}");
                    let base = Simulation::new(&c, scheduler).processors(5).seed(9);
                    let base = base.contention(contention).steal_cost(steal_cost).space_series();
                    let mut stepped = base.clone().mode(Mode::Step).trace().run().unwrap();
                    assert_legal(&c, &stepped, true);
                    bounds(&c, &stepped);
                    let events = base.run().unwrap();
                    stepped.trace = None;
                    same(&stepped, &events, &context);
                    let ran = events.with_dummies.as_ref().map_or(&c, |with| &with.computation);
                    let most = ran.strand_count() as u64 + events.dollars.steal + events.dollars.wait;
                    assert!(events.events <= most, "{context}: {} events", events.events);
                }
            }
        }
    }
}

/// The step model of DFD §4.1: a thief that succeeds executes in the step of its attempt. Legal, the same in both modes and
/// without a trace, and every step of a processor is an action, a failed attempt or a wait.
#[test]
fn thieves_execute_in_the_step_of_their_attempt() {
    for spec in COMPUTATIONS {
        let c = computation(spec);
        for scheduler in every_scheduler() {
            for (contention, processors) in
                Contention::ALL.into_iter().zip([1, 2, 3, 5, 8, 13].into_iter().cycle())
            {
                let context = format!("{scheduler} on {spec}, {contention}, P = {processors}");
                let base = Simulation::new(&c, scheduler).processors(processors).seed(3).same_step();
                let base = base.contention(contention).space_series();
                let stepped = base.clone().mode(Mode::Step).trace().check_all().run();
                let mut stepped = stepped.unwrap_or_else(|e| panic!("{context}: {e}"));
                assert_legal(&c, &stepped, true);
                bounds(&c, &stepped);
                if steals(scheduler) {
                    let successes = stepped.steals + stepped.muggings;
                    assert_eq!(stepped.dollars.steal, stepped.attempts() - successes, "{context}");
                }
                let traced = base.clone().trace().run().unwrap();
                same(&stepped, &traced, &context);
                stepped.trace = None;
                same(&stepped, &base.run().unwrap(), &context);
            }
        }
    }
    let slow =
        Simulation::new(&computation("fib:5"), Scheduler::WorkStealing).same_step().steal_cost(2).run();
    assert!(slow.unwrap_err().to_string().contains("takes 2 steps"));
}

/// Visits of a shared queue, which take as long as steals: legal, the same in both modes and without a trace, and nothing
/// idles.
#[test]
fn visits_of_a_queue_take_time() {
    let shared = |s: &Scheduler| matches!(s, Scheduler::Fifo | Scheduler::DepthFirst(_));
    for spec in COMPUTATIONS {
        let c = computation(spec);
        for scheduler in every_scheduler().into_iter().filter(shared) {
            for contention in Contention::ALL {
                for steal_cost in [1, 4] {
                    let context = format!("{scheduler} on {spec}, {contention}, visits take {steal_cost}");
                    let base = Simulation::new(&c, scheduler).processors(5).visits().seed(9);
                    let base = base.contention(contention).steal_cost(steal_cost).space_series();
                    let stepped = base.clone().mode(Mode::Step).trace().check_all().run();
                    let mut stepped = stepped.unwrap_or_else(|e| panic!("{context}: {e}"));
                    assert_legal(&c, &stepped, true);
                    let d = stepped.dollars;
                    assert_eq!(d.work + d.steal + d.wait, 5 * stepped.makespan, "{context}");
                    assert_eq!(stepped.steals + 1, stepped.acquisitions, "{context}: all but the root");
                    stepped.trace = None;
                    same(&stepped, &base.run().unwrap(), &context);
                }
            }
        }
    }
}

/// Different speeds that change over time, even to 0 and back: still legal, and both modes agree.
#[test]
fn every_scheduler_copes_with_speeds() {
    let constant: Speeds = "3,1,2,0.5".parse().unwrap();
    let changing: Speeds = "3,1,2,0.5;10:p1=0.25;17:p4=5/3;40:p1=4".parse().unwrap();
    let stopping: Speeds =
        "1,2,0,3;5:p1=0;9.5:p3=1;12:p4=0;12:p1=1;30:p4=0;31:p2=0;50:p4=2;50:p2=1".parse().unwrap();
    for spec in COMPUTATIONS {
        let c = computation(spec);
        for scheduler in every_scheduler() {
            for speeds in [&constant, &changing, &stopping] {
                let models = [Contention::default(), Contention::Denied, Contention::Free];
                for contention in models.into_iter().take(if steals(scheduler) { 3 } else { 1 }) {
                    let context = format!("{scheduler} on {spec}, {contention}, speeds {speeds}");
                    let base = Simulation::new(&c, scheduler).speeds(speeds.clone()).seed(3);
                    let base = base.contention(contention).space_series();
                    let stepped = base.clone().mode(Mode::Step).trace().check_all().run();
                    let mut stepped = stepped.unwrap_or_else(|e| panic!("{context}: {e}"));
                    assert_legal(&c, &stepped, false);
                    let traced = base.clone().trace().run().unwrap();
                    same(&stepped, &traced, &context);
                    stepped.trace = None;
                    same(&stepped, &base.run().unwrap(), &context);
                }
            }
        }
    }
}

/// Join edges that go anywhere. Only the greedy bound is proven, but everything terminates, legally.
#[test]
fn every_scheduler_executes_computations_of_no_class() {
    let computations: Vec<Computation> = (0..10).map(|seed| general(40, seed)).collect();
    assert!(computations.iter().filter(|c| c.class() == Class::General).count() >= 5);
    for (seed, c) in (0..).zip(&computations) {
        for scheduler in every_scheduler() {
            for processors in [1, 4] {
                let context = format!("{scheduler}, seed {seed}, P = {processors}");
                let base = Simulation::new(c, scheduler).processors(processors).seed(seed).trace();
                let stepped = base.clone().mode(Mode::Step).check_all().run();
                let stepped = stepped.unwrap_or_else(|e| panic!("{context}: {e}"));
                assert_legal(c, &stepped, true);
                bounds(c, &stepped);
                same(&stepped, &base.run().unwrap(), &context);
            }
        }
    }
}

/// Weights of 10^12 nanoseconds: idle thieves must not cost an event for each of their attempts.
#[test]
fn long_strands_take_no_time() {
    let mut b = Builder::new(1);
    b.weight_unit(WeightUnit::Nanoseconds);
    b.strand(10);
    b.spawn(1);
    b.strand(1_000_000_000_000);
    let end = b.end();
    b.strand(2_000_000_000_000);
    b.strand(5);
    b.wait_for(end);
    let c = b.build().unwrap();
    for scheduler in every_scheduler().into_iter().filter(|&s| s != Scheduler::CriticalPath) {
        let outcome = Simulation::new(&c, scheduler).processors(100).run().unwrap();
        assert!(outcome.makespan < 2_000_000_001_000, "{scheduler}");
        assert!(outcome.events < 100_000, "{scheduler} took {} events", outcome.events);
        bounds(&c, &outcome);
    }
}

#[test]
fn one_processor_executes_serially() {
    for spec in COMPUTATIONS {
        let c = computation(spec);
        let m = Measures::of(&c);
        for scheduler in
            [Scheduler::WorkStealing, Scheduler::BusyLeaves, Scheduler::Dfdeques(Quota::Infinite)]
        {
            let outcome = Simulation::new(&c, scheduler).trace().run().unwrap();
            assert_eq!(outcome.makespan, m.work, "{scheduler} on {spec}");
            let order: Vec<u64> = outcome.trace.unwrap().ends(c.strand_count());
            if scheduler != Scheduler::BusyLeaves {
                assert!(order.is_sorted(), "{scheduler} on {spec} is not depth first");
                assert_eq!(outcome.peak.frames, m.stack, "{scheduler} on {spec}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let c = computation("fib:12");
    for scheduler in [Scheduler::WorkStealing, Scheduler::Dfdeques(Quota::of(100))] {
        let run = |seed| Simulation::new(&c, scheduler).processors(4).seed(seed).trace().run().unwrap();
        assert_eq!(run(1).trace, run(1).trace);
        assert_ne!(run(1).trace, run(2).trace);
    }
}

#[test]
fn nonsense_is_refused() {
    use bombyx_sim::SimulationError as E;
    let c = computation("figure1");
    let base = Simulation::new(&c, Scheduler::WorkStealing);
    assert_eq!(base.clone().processors(0).run().unwrap_err(), E::ProcessorCount(0));
    assert_eq!(base.clone().steal_cost(0).run().unwrap_err(), E::FreeSteals);
    let speeds = "1,2".parse().unwrap();
    let error = base.processors(3).speeds(speeds).run().unwrap_err();
    assert_eq!(error.to_string(), "2 speeds were given for 3 processors; give one for each, or none");
}
