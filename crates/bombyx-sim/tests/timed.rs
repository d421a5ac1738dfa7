//! RW's schedulers in virtual time: every thread runs, the bounds of RW §6 hold, and errors that only a clock notices
//! break them.

use bombyx_dag::{Builder, Computation, Measures};
use bombyx_rw::protocol::Mutation;
use bombyx_rw::{Joins, Steals};
use bombyx_sim::timed::{Outcome, Timed, TimedError};

/// Forks to this depth; bodies are as long as `weight` says.
fn nest(b: &mut Builder, depth: u32, weight: &mut dyn FnMut() -> u64) {
    b.strand(weight());
    if depth == 0 {
        return;
    }
    b.spawn(0);
    nest(b, depth - 1, weight);
    let left = b.end();
    nest(b, depth - 1, weight);
    b.strand(weight());
    b.wait_for(left);
}

fn computation(depth: u32, seed: u64, longest: u64) -> Computation {
    let mut b = Builder::new(0);
    let mut state = seed;
    nest(&mut b, depth, &mut || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % longest
    });
    b.build().unwrap()
}

const LANES: [(Steals, Joins); 5] = [
    (Steals::ReadWrite, Joins::ReadWrite),
    (Steals::ReadWrite, Joins::FetchAdd),
    (Steals::PrivateCas, Joins::FetchAdd),
    (Steals::PrivateCas, Joins::ReadWrite),
    (Steals::ChaseLev, Joins::FetchAdd),
];

#[test]
fn every_thread_runs_once_on_every_lane() {
    let computation = computation(9, 3, 4000);
    let measures = Measures::of(&computation);
    for (steals, joins) in LANES {
        for processors in [1, 2, 3, 7, 30] {
            for seed in 1..=5 {
                let run =
                    Timed::new(&computation, processors, steals, joins).seed(seed).tau(700).run().unwrap();
                let of =
                    format!("{steals} steals, {joins} joins, {processors} processors, seed {seed}: {run:?}");
                assert_eq!(run.threads, computation.strand_count() as u64, "{of}");
                assert_eq!(run.work, measures.work, "{of}");
                assert!(run.time >= measures.work / processors as u64 && run.time >= measures.span, "{of}");
                assert!(run.time * (processors as u64) >= run.work + run.idle + run.waiting, "{of}");
                assert_eq!(run.joins.iter().sum::<u64>() == 0, run.steals == 0, "{of}");
                if processors > 1 {
                    assert!(run.steals > 0, "{of}");
                }
                assert_eq!(
                    run,
                    Timed::new(&computation, processors, steals, joins).seed(seed).tau(700).run().unwrap()
                );
            }
        }
    }
}

/// The worst of several runs.
fn worst(mutation: Option<Mutation>) -> Vec<Outcome> {
    let mut found = Vec::new();
    for seed in 1..=20 {
        let computation = computation(8, seed, 8000);
        for (processors, tau, delta) in [(2, 500, 100), (8, 1000, 300), (30, 300, 1000)] {
            let run = Timed::new(&computation, processors, Steals::ReadWrite, Joins::ReadWrite);
            found.push(run.seed(seed).tau(tau).delta(delta).mutation(mutation).run().unwrap());
        }
    }
    found
}

#[test]
fn a_steal_takes_tau_and_two_delta() {
    let runs = worst(None);
    assert!(runs.iter().all(|run| run.slowest_steal <= run.steal_bound()), "{runs:#?}");
    // The bound is not loose: some steal takes most of it.
    assert!(runs.iter().any(|run| run.slowest_steal * 10 > run.steal_bound() * 7));
    for mutation in [Mutation::SkipsPolls, Mutation::Lingers, Mutation::LongDelta] {
        let runs = worst(Some(mutation));
        assert!(runs.iter().any(|run| run.slowest_steal > run.steal_bound()), "{mutation}");
    }
}

#[test]
fn queries_are_stale_for_two_delta() {
    let runs = worst(None);
    assert!(runs.iter().all(|run| run.latest_stale <= run.stale_bound()), "{runs:#?}");
    assert!(runs.iter().any(|run| run.stale > 0), "no query was stale");
    for mutation in [Mutation::Dawdles, Mutation::OldRound, Mutation::LongDelta] {
        let runs = worst(Some(mutation));
        assert!(runs.iter().any(|run| run.latest_stale > run.stale_bound()), "{mutation}");
    }
}

#[test]
fn what_cannot_run_is_refused() {
    let computation = computation(2, 1, 10);
    let on = |processors, steals, joins| Timed::new(&computation, processors, steals, joins);
    assert_eq!(on(0, Steals::ReadWrite, Joins::ReadWrite).run(), Err(TimedError::Processors(0)));
    assert_eq!(on(2, Steals::ReadWrite, Joins::ReadWrite).tau(0).run(), Err(TimedError::Tau));
    let error = on(2, Steals::ChaseLev, Joins::ReadWrite).run().unwrap_err().to_string();
    assert_eq!(error, "chase-lev steals do not go together with read-write joins");
    let mut b = Builder::new(0);
    b.strand(1);
    b.strand(1);
    let chain = b.build().unwrap();
    let error = Timed::new(&chain, 2, Steals::ReadWrite, Joins::ReadWrite).run().unwrap_err().to_string();
    assert_eq!(error, "not a nest of forks with two branches: strand 0 neither ends nor forks");
}
