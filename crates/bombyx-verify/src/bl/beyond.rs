//! BL §7: what the paper says beyond its theorems.

use super::bounds::{bound_runs, mean_time};
use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Subject};
use crate::finding::Finding;
use crate::mutant::mutants;
use crate::run::{Run, grid, named_in_units};
use bombyx_dag::Class;
use bombyx_sim::{Outcome, ProcessorId, Ratio, Scheduler, Speeds};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-arbitrary",
        paper: Paper::Bl,
        name: "§7, any computation",
        statement: "For arbitrary computations, not even strict, work stealing takes O(T1/P + T∞) steps on average",
        quantity: "mean steps against T1/P + 2·T∞",
        scope: "All classes (Arora, Blumofe and Plaxton). The constant 2 is ours. Space is not bounded: parents may be stolen while \
            children stall.",
        mutants: mutants![Serial, Half, Victim0, Themselves, GivesUp, LeavesParent],
        few: "",
        attempt: arbitrary,
    },
    Claim {
        id: "bl-model",
        paper: Paper::Bl,
        name: "§7, model",
        statement: "T1/P + T∞ predicts the time of work stealing",
        quantity: "mean factor between time and T1/P + T∞, whichever is larger, against 1.75",
        scope: "The paper's experience with Cilk, here for simulated runs: the prediction is never off by more than a factor of \
            1.75 in either direction.",
        mutants: mutants![Serial, Half, Victim0, Themselves, GivesUp, LeavesParent],
        few: "",
        attempt: model,
    },
    Claim {
        id: "bl-adversary",
        paper: Paper::Bl,
        name: "§7, P(t)",
        statement: "If an adversary grows and shrinks the set of processors, T ≤ T1/P_A + O(T∞·P/P_A), P_A their average",
        quantity: "mean steps of processors that run against T1 + 6·P·T∞",
        scope: "Arora, Blumofe and Plaxton's bound, multiplied by P_A: what all processors together could have executed. The \
            adversary stops and starts a random half of the processors, all but one, or one after the other, every 7 or 40 steps, \
            and does not know which processors work. The constant 6 is ours. With P(t) = P it is Theorem 13.",
        mutants: mutants![Serial, Half, Victim0, Themselves, GivesUp],
        few: "",
        attempt: adversary,
    },
    Claim {
        id: "bl-crashes",
        paper: Paper::Bl,
        name: "§7, crashes",
        statement: "If processors crash, others execute again what was begun: the run ends after T1 + lost + O(P·T∞) steps",
        quantity: "mean steps of processors that run against T1 + lost + 2·P·T∞",
        scope: "Cilk-NOW's promise, on a machine where a crashed processor loses its progress on the current strand, and its \
            deque stays in reach. All but one processor crash one after the other, and half of them come back. Every instruction \
            is executed once to its end; the lost work is at most a strand for each crash.",
        mutants: mutants![Serial, Half, Themselves, GivesUp],
        few: "",
        attempt: crashes,
    },
];

/// The run on processors of speed 1. The adversary stops some of them every `period`, for as long as the run could
/// take.
fn interrupted(run: &Run, kind: u64, period: u64) -> Run {
    let p = run.processors;
    let mut speeds = Speeds::from_list(vec![Ratio::ONE; p]);
    let mut random = run.seed() ^ 0x0DD5_EED5 ^ (kind << 32);
    let mut running = vec![true; p];
    let m = run.measures();
    let times = (4 * (m.work / p as u64 + m.span) / period + 2).min(1_500);
    for time in 1..=times {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = random >> 20;
        for (at, was) in running.iter_mut().enumerate() {
            let runs = match kind {
                0 => (bits >> (at % 40)) & 1 == 1 || at as u64 == bits % p as u64,
                1 => at as u64 == time % p as u64,
                _ => at as u64 != time % p as u64,
            };
            if std::mem::replace(was, runs) != runs {
                let speed = if runs { Ratio::ONE } else { Ratio::ZERO };
                speeds = speeds.change(time * period, ProcessorId(at as u32), speed);
            }
        }
    }
    // In the end all processors run.
    for (at, runs) in running.into_iter().enumerate() {
        if !runs {
            let end = (times + 1) * period;
            speeds = speeds.change(end, ProcessorId(at as u32), Ratio::ONE);
        }
    }
    run.at(speeds)
}

/// Runs for what happens to processors: few computations, on up to 16 processors.
fn few_runs(cx: &Context<'_>) -> Vec<Run> {
    let specs = ["bushy:threads=300,class=1", "dnc:depth=8,work=2", "fib:12", "fan:children=60,work=8"];
    let computations = named_in_units(specs.map(str::to_owned).into());
    let several: &[usize] = cx.by_effort(&[4, 8], &[2, 4, 8, 16], &[2, 3, 4, 8, 16, 32]);
    grid(cx, &computations, &[Scheduler::WorkStealing], several, 1)
}

/// What all processors could have executed, against T1 + lost + constant·P·T∞.
fn capacity_within(run: &Run, outcome: &Outcome, constant: f64) -> Sample {
    let (m, instruction) = (run.measures(), outcome.capacity.instruction as f64);
    let (total, lost) =
        (outcome.capacity.total as f64 / instruction, outcome.capacity.lost as f64 / instruction);
    let unit = (run.processors as u64 * m.span) as f64;
    let beyond = (total - lost - m.work as f64) / unit;
    Sample::new(total, m.work as f64 + lost + constant * unit).constant("P·T∞", beyond, constant, None)
}

fn adversary(cx: &Context<'_>) -> Finding {
    cx.on_average(few_runs(cx), cx.by_effort(4, 8, 30), |run| {
        let mut worst = Sample::HELD;
        for (kind, period) in [(0, 7), (0, 40), (1, 40), (2, 7)] {
            let sample = capacity_within(run, &interrupted(run, kind, period).outcome()?, 6.0);
            let worse = worst.bound == 0.0 || sample.measured / sample.bound > worst.measured / worst.bound;
            worst = if worse { sample } else { worst };
        }
        Ok(worst)
    })
}

fn crashes(cx: &Context<'_>) -> Finding {
    cx.on_average(few_runs(cx), cx.by_effort(4, 8, 30), |run| {
        let p = run.processors;
        let apart = (run.measures().work / (2 * p as u64)).max(4);
        let mut speeds = Speeds::from_list(vec![Ratio::ONE; p]);
        for at in 1..p as u64 {
            speeds = speeds.crash(at * apart / p as u64 + 3, ProcessorId(at as u32));
            if at % 2 == 1 {
                speeds = speeds.change(at * apart / p as u64 + 3 + apart, ProcessorId(at as u32), Ratio::ONE);
            }
        }
        let outcome = run.at(speeds).outcome()?;
        let most = (p as u64 - 1) as f64;
        let lost = outcome.capacity.lost as f64 / outcome.capacity.instruction as f64;
        if lost > most {
            return Err(format!("{lost} instructions were lost in {most} crashes of unit instructions"));
        }
        Ok(capacity_within(run, &outcome, 2.0))
    })
}

fn arbitrary(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx, Class::General), cx.by_effort(6, 15, 60), |run| {
        Ok(mean_time(run, run.outcome()?.makespan, 2.0))
    })
}

fn model(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx, Class::FullyStrict), cx.by_effort(6, 15, 60), |run| {
        let (m, time) = (run.measures(), run.outcome()?.makespan as f64);
        let predicted = m.work as f64 / run.processors as f64 + m.span as f64;
        Ok(Sample::new((time / predicted).max(predicted / time), 1.75))
    })
}
