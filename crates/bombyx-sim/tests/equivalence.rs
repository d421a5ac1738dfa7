//! Schedulers that must coincide: `dfdeques:inf` with `work-stealing` when both make the same random choices (DFD
//! §3.3), and `heterogeneous` with `work-stealing` on equal speeds (HET §3).

mod common;

use bombyx_dag::Computation;
use bombyx_sim::{
    AttemptResult, Contention, Event, EventKind, Outcome, ProcessorId, Quota, Scheduler, Simulation, Speeds,
};
use common::{computation, nested, scheduler};

/// Fully strict computations of many shapes, each from its own seed.
fn computations() -> impl Iterator<Item = (String, Computation)> {
    (0..12).flat_map(|seed| {
        let general = format!("random:threads=40,seed={seed}");
        let geometric = format!("geometric:depth=4,grain=30,seed={seed}");
        let generated = [general, geometric].map(|spec| (spec.clone(), computation(&spec)));
        generated.into_iter().chain([(format!("nested {seed}"), nested(40, 50, seed))])
    })
}

#[test]
fn heterogeneous_on_equal_speeds_is_work_stealing() {
    for (spec, c) in computations() {
        for (beta, processors) in [("1", 3), ("2", 8)] {
            let speeds: Speeds = format!("{processors}x3").parse().unwrap();
            let run = |name: &str| {
                let simulation = Simulation::new(&c, scheduler(name)).speeds(speeds.clone());
                simulation.seed(4).trace().run().unwrap()
            };
            let (cilk, enhanced) = (run("work-stealing"), run(&format!("heterogeneous:{beta}")));
            assert!(cilk.trace == enhanced.trace, "{spec}");
            assert_eq!(cilk.dollars, enhanced.dollars, "{spec}");
            assert_eq!(enhanced.muggings, 0, "{spec}");
        }
    }
}

/// DFDeques chooses among positions in R, work stealing among processors. The same choice means the same deque, so the
/// victims of a run of DFDeques are given to work stealing as its choices.
fn choices(outcome: &Outcome) -> Vec<Vec<Option<u32>>> {
    let mut choices = vec![Vec::new(); outcome.processors];
    for event in outcome.trace.as_ref().unwrap().attempts() {
        if let EventKind::Attempt { victim, .. } = event.kind {
            choices[event.processor.index()].push(victim.map(|p| p.0));
        }
    }
    choices
}

/// What remains of a trace when choices are only known by the processor they hit.
fn plain(outcome: &Outcome) -> Vec<(u64, u64, ProcessorId, String)> {
    let describe = |event: &Event| match event.kind {
        EventKind::Execute { strand, .. } => strand.to_string(),
        EventKind::Attempt { result: AttemptResult::Stolen(t), victim, .. } => format!("{t} of {victim:?}"),
        EventKind::Attempt { result, .. } => result.to_string(),
    };
    let events = outcome.trace.as_ref().unwrap().events().iter();
    let mut plain: Vec<_> = events.map(|e| (e.to, e.from, e.processor, describe(e))).collect();
    plain.sort_unstable();
    plain
}

#[test]
fn dfdeques_without_quota_is_work_stealing() {
    let mut steals = 0;
    for (spec, c) in computations() {
        for (processors, contention) in [2, 5, 11].into_iter().cycle().zip(Contention::ALL) {
            let run = |scheduler: Scheduler, choices: Option<Vec<Vec<Option<u32>>>>| {
                let simulation = Simulation::new(&c, scheduler).processors(processors).seed(8);
                let simulation = simulation.contention(contention).trace().space_series();
                match choices {
                    Some(choices) => simulation.choices(choices).run().unwrap(),
                    None => simulation.run().unwrap(),
                }
            };
            let dfd = run(Scheduler::Dfdeques(Quota::Infinite), None);
            let ws = run(Scheduler::WorkStealing, Some(choices(&dfd)));
            let context = format!("{spec} on {processors} processors, {contention}");
            for (a, b) in plain(&dfd).iter().zip(&plain(&ws)) {
                assert_eq!(a, b, "{context}");
            }
            assert_eq!((dfd.makespan, dfd.dollars), (ws.makespan, ws.dollars), "{context}");
            assert_eq!((dfd.bytes, dfd.migrations), (ws.bytes, ws.migrations), "{context}");
            assert_eq!((dfd.peak.total, dfd.peak.threads), (ws.peak.total, ws.peak.threads), "{context}");
            assert_eq!(dfd.steals, ws.steals, "{context}");
            steals += dfd.steals;
        }
    }
    assert!(steals > 1000, "only {steals} steals put this to the test");
}
