//! Theorems about time, contention and migrations, on random computations.

mod common;

use bombyx_dag::{Computation, Measures};
use bombyx_sim::{Contention, Outcome, Ratio, Scheduler, Simulation, Speeds};
use common::{computation, nested, scheduler};

fn computations() -> impl Iterator<Item = Computation> {
    (0..6).flat_map(|seed| {
        [
            computation(&format!("random:threads=40,seed={seed}")),
            nested(40, 0, seed),
            computation(&format!("greedy-trap:long=100,rounds={}", seed + 1)),
            computation(&format!("skewed:leaves=40,work={}", seed + 1)),
        ]
    })
}

/// Speeds in falling order, as HET numbers its processors.
const SPEEDS: [&[u32]; 4] = [&[1, 1, 1], &[4, 2, 1], &[9, 8, 2, 2, 1], &[100, 1, 1, 1]];

fn run(c: &Computation, scheduler: Scheduler, speeds: &[u32]) -> Outcome {
    let speeds = speeds.iter().map(|&s| Ratio::from(u64::from(s)));
    Simulation::new(c, scheduler).speeds(Speeds::from_list(speeds)).seed(1).run().unwrap()
}

/// Checks `T ≤ W1/π_tot + bracket · W∞/π_tot`. A migration may round the rest of an instruction up to a tick.
fn assert_within(c: &Computation, outcome: &Outcome, speeds: &[u32], bracket: f64) {
    let m = Measures::of(c);
    let total: f64 = speeds.iter().map(|&s| f64::from(s)).sum();
    let bound = (m.work as f64 + bracket * m.span as f64) / total;
    let rounding = outcome.migrations as f64 / outcome.ticks_per_unit as f64;
    let time = outcome.time();
    assert!(time <= bound + rounding + 1e-9, "{}: {time} > {bound} on {speeds:?}", outcome.scheduler);
}

#[test]
fn utilization_schedules_keep_their_time_bounds() {
    for c in computations() {
        for speeds in SPEEDS {
            let p = speeds.len();
            let speed = |i: usize| f64::from(speeds[i]);
            let theorem_2: f64 = (1..p).map(|i| speed(i) / speed(i - 1)).sum();
            let sums: Vec<f64> = (0..p).map(|i| (0..=i).map(speed).sum()).collect();
            let claim_3: f64 = (1..p).map(|i| i as f64 * speed(i) / sums[i - 1]).sum();
            assert_within(&c, &run(&c, Scheduler::MaximumUtilization, speeds), speeds, theorem_2);
            assert_within(&c, &run(&c, Scheduler::CriticalPath, speeds), speeds, claim_3);
            for (name, beta) in [("high-utilization:1.5", 1.5), ("high-utilization:4", 4.0)] {
                assert_within(&c, &run(&c, scheduler(name), speeds), speeds, beta * (p - 1) as f64);
            }
        }
    }
}

/// HET Theorem 5. Its threads are our strands.
#[test]
fn utilization_schedules_migrate_rarely() {
    for c in computations() {
        for speeds in SPEEDS {
            for name in ["maximum-utilization", "high-utilization:1.5", "high-utilization:4"] {
                let outcome = run(&c, scheduler(name), speeds);
                assert!(outcome.migrations <= 2 * c.strand_count() as u64, "{name} on {speeds:?}");
            }
        }
    }
}

/// HET §3: without muggings a slow processor that got a long thread keeps it.
#[test]
fn muggings_rescue_threads_from_slow_processors() {
    let c = computation("greedy-trap:processors=4,long=1000,short=10");
    let speeds: Speeds = "10,3x1".parse().unwrap();
    let (mut plain, mut enhanced, mut muggings) = (0.0, 0.0, 0);
    for seed in 0..20 {
        let run = |name: &str| {
            Simulation::new(&c, scheduler(name)).speeds(speeds.clone()).seed(seed).run().unwrap()
        };
        plain += run("work-stealing").time();
        let outcome = run("heterogeneous:2");
        enhanced += outcome.time();
        muggings += outcome.muggings;
    }
    assert!(muggings > 0);
    assert!(enhanced < plain, "{enhanced} against {plain}");
}

/// BL Lemma 6: the expected total delay is at most the number of requests, whatever the adversary.
#[test]
fn waiting_is_at_most_stealing_on_average() {
    for contention in Contention::ALL {
        let (mut wait, mut steal) = (0, 0);
        for seed in 0..10 {
            for spec in ["fib:12", "chain:length=60", "fan:children=50"] {
                let c = computation(spec);
                let simulation = Simulation::new(&c, Scheduler::WorkStealing).processors(16).seed(seed);
                let outcome = simulation.contention(contention).run().unwrap();
                wait += outcome.dollars.wait;
                steal += outcome.dollars.steal;
            }
        }
        let queued = matches!(contention, Contention::Queued(_));
        assert!(wait <= steal && queued == (wait > 0), "{contention}: {wait} waits, {steal} attempts");
    }
}

/// BL Theorem 13 with an explicit constant, and Theorem 14's count of bytes.
#[test]
fn work_stealing_is_linear_in_the_span() {
    for c in computations() {
        let m = Measures::of(&c);
        for processors in [2, 4, 16] {
            let outcomes = (0..5).map(|seed| {
                Simulation::new(&c, Scheduler::WorkStealing).processors(processors).seed(seed).run().unwrap()
            });
            for outcome in outcomes {
                let p = processors as u64;
                assert!(outcome.makespan <= m.work / p + 20 * m.span, "P = {p}");
                let per_steal = (1 + m.joins_to_parent) * m.largest_frame.max(bombyx_sim::JOIN_BYTES);
                assert!(outcome.bytes <= 2 * per_steal * outcome.steals.max(1), "P = {p}");
            }
        }
    }
}
