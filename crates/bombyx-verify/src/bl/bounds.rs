//! BL §6: the bounds on steal attempts, time and communication.
//!
//! The paper says O(·) with a probability, and its proof has constants: [`rounds_for`] is its inequality (6), solved.
//! They are so large that a serial run passes. So what is checked here is a constant around the measured one, which
//! wrong schedulers exceed. The proof's constant stands beside it.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Tally};
use crate::finding::{Constant, Finding};
use crate::mutant::mutants;
use crate::run::{Run, grid, large, named_in_units, text};
use crate::statistics::ln_choose;
use bombyx_dag::{Class, StrandId};
use bombyx_sim::{JOIN_BYTES, Mutation, Scheduler};
use std::f64::consts::E;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-lem-12",
        paper: Paper::Bl,
        name: "Lemma 12, tail",
        statement: "With chance 1 − ε there are O(P·(T∞ + lg 1/ε)) steal attempts",
        quantity: "chance of more than 2·P·(T∞ + lg 1/ε) attempts against ε",
        scope: "ε = 1/20. The proof's bound is 4PR with the least R that its inequality (6) allows, about 60·P·T∞.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, LeavesParent, StealBottom, GivesUp],
        few: "",
        attempt: lemma_12,
    },
    Claim {
        id: "bl-lem-12-mean",
        paper: Paper::Bl,
        name: "Lemma 12, mean",
        statement: "There are O(P·T∞) steal attempts on average",
        quantity: "mean attempts against 1.5·P·T∞",
        scope: "The constant 1.5 is ours. Without parallelism all thieves search all the time, and attempts and waiting add up to \
            nearly (P − 1)·T∞.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, LeavesParent, StealBottom, GivesUp],
        few: "",
        attempt: lemma_12_mean,
    },
    Claim {
        id: "bl-thm-13",
        paper: Paper::Bl,
        name: "Theorem 13, tail",
        statement: "With chance 1 − ε work stealing takes T1/P + O(T∞ + lg P + lg 1/ε) steps",
        quantity: "chance of more than T1/P + 2.5·T∞ + lg P + lg 1/ε steps against ε",
        scope: "ε = 1/20. Constants of the proof: Lemma 12's attempts M for ε/2, and Lemma 6's waiting, 2e·M + P lg P + P lg 2/ε.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, LeavesParent, GivesUp, BlocksAtStall],
        few: "",
        attempt: theorem_13,
    },
    Claim {
        id: "bl-thm-13-mean",
        paper: Paper::Bl,
        name: "Theorem 13, mean",
        statement: "Work stealing takes T1/P + O(T∞) steps on average, all scheduling included",
        quantity: "mean steps against T1/P + 2·T∞",
        scope: "The constant 2 is ours.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, LeavesParent, GivesUp, BlocksAtStall],
        few: "",
        attempt: theorem_13_mean,
    },
    Claim {
        id: "bl-response",
        paper: Paper::Bl,
        name: "§6, response time",
        statement: "If a response to a thief takes c steps, work stealing takes T1/P + O(c·T∞) steps on average",
        quantity: "mean steps against T1/P + 1.5·c·T∞",
        scope: "c = 3 and 8: \"this assumption can be relaxed without materially affecting the results\".",
        mutants: mutants![Serial, Half, Themselves, GivesUp],
        few: "",
        attempt: response_time,
    },
    Claim {
        id: "bl-thm-14",
        paper: Paper::Bl,
        name: "Theorem 14, mean",
        statement: "Processors send each other O(P·T∞·(1 + n_d)·S_max) bytes on average",
        quantity: "mean bytes against ½·P·T∞·(S_max + n_d·(S_max + 8))",
        scope: "Unequal frames. As in the proof, a steal may send one frame, and 8 bytes and a frame for each of n_d join edges. \
            Every run is held to this price per steal. The constant ½ is ours.",
        mutants: mutants![Share, EnableElsewhere, LeavesParent, StealBottom, Neighbour, KeepParent],
        few: "",
        attempt: theorem_14,
    },
    Claim {
        id: "bl-thm-14-tail",
        paper: Paper::Bl,
        name: "Theorem 14, tail",
        statement: "With chance 1 − ε they send O(P·(T∞ + lg 1/ε)·(1 + n_d)·S_max) bytes",
        quantity: "chance of more than ½·P·(T∞ + lg 1/ε)·(S_max + n_d·(S_max + 8)) bytes against ε",
        scope: "ε = 1/20, unequal frames. The proof's constant is Lemma 12's.",
        mutants: mutants![Share, EnableElsewhere, LeavesParent, StealBottom, Neighbour, KeepParent],
        few: "",
        attempt: theorem_14_tail,
    },
    Claim {
        id: "bl-wu-kung",
        paper: Paper::Bl,
        name: "§6, tightness",
        statement: "Divide and conquer at linear speedup communicates Ω(P·T∞·S_max) bytes",
        quantity: "mean of P·T∞·S_max/10 over the bytes, against 1",
        scope: "Balanced trees of unit leaves, parallelism at least 8·P, where work stealing's bound of Theorem 14 is therefore \
            tight up to a constant (Wu and Kung). Runs without linear speedup, T ≤ 2·T1/P, break it.",
        mutants: mutants![Serial, Half, Victim0, Themselves, GivesUp],
        few: "",
        attempt: wu_kung,
    },
    Claim {
        id: "bl-sharing",
        paper: Paper::Bl,
        name: "§6, work sharing",
        statement: "With P ≪ T1/T∞ work stealing sends far fewer bytes than work sharing, which sends Θ(T1·S_max)",
        quantity: "mean of 25 times the bytes of work stealing against those of work sharing",
        scope: "Work sharing: every parent goes to the next processor's deque at a spawn. It is also held to at least one frame per \
            four spawns. Parallelism at least 50·P.",
        mutants: mutants![
            Share,
            LeavesParent,
            Wanders,
            EnableElsewhere,
            PushTop,
            PopTop,
            StealTwo,
            StealBottom,
            KeepParent
        ],
        few: "",
        attempt: work_sharing,
    },
];

/// The least R for which BL's inequality (6) is at most ε. A run has that many rounds with at most that chance.
fn rounds_for(epsilon: f64, span: u64, degree: u64) -> u64 {
    let span_f = span as f64;
    let ln_chance = |rounds: u64| {
        2.0 * span_f * (degree as f64 + 1.0).ln() + ln_choose(4 * span + rounds, rounds) - 2.0 * rounds as f64
            + 14.0 * span_f
    };
    // The chance falls with R once R is beyond 4·T∞. Before that, it is above 1.
    let (mut low, mut high) = (4 * span, 4 * span + 1);
    while ln_chance(high) > epsilon.ln() {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *(if ln_chance(middle) > epsilon.ln() { &mut low } else { &mut high }) = middle;
    }
    high
}

/// The most edges that leave an instruction in G.
fn degree(run: &Run) -> u64 {
    let c = run.computation();
    let out = |s: StrandId| {
        c.joins_from(s).len() + usize::from(c.next(s).is_some()) + usize::from(c.spawned(s).is_some())
    };
    c.strands().map(out).max().unwrap_or(0) as u64
}

pub(super) const EPSILON: f64 = 0.05;

/// Runs for the bounds on attempts and time: one for each computation and number of processors.
pub(super) fn bound_runs(cx: &Context<'_>, class: Class) -> Vec<Run> {
    let mut specs = large(cx, class);
    specs.push(cx.by_effort("dnc:depth=8,work=1", "dnc:depth=11,work=1", "dnc:depth=12,work=1").to_owned());
    let several: &[usize] = cx.by_effort(&[4, 16], &[2, 4, 8, 32], &[2, 3, 4, 8, 16, 32, 64]);
    grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], several, 1)
}

fn trials(cx: &Context<'_>) -> u64 {
    cx.by_effort(30, 60, 150)
}

fn lemma_12(cx: &Context<'_>) -> Finding {
    let name = |_| "more attempts than the bound".to_owned();
    cx.rarely(bound_runs(cx, Class::FullyStrict), trials(cx), name, |run, tally: &mut Tally| {
        let p = run.processors as f64;
        let unit = p * (run.measures().span as f64 + (1.0 / EPSILON).log2());
        let attempts = run.outcome()?.attempts() as f64;
        let proof = 4.0 * p * rounds_for(EPSILON, run.measures().span, degree(run)) as f64 / unit;
        tally.constant(Constant::at_most("P·(T∞ + lg 1/ε)", attempts / unit, 2.0, Some(proof)));
        tally.count((0, 0), EPSILON, attempts > 2.0 * unit);
        Ok(())
    })
}

fn lemma_12_mean(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx, Class::FullyStrict), cx.by_effort(6, 30, 60), |run| {
        let unit = (run.processors as u64 * run.measures().span) as f64;
        let attempts = run.outcome()?.attempts() as f64;
        Ok(Sample::new(attempts, 1.5 * unit).constant("P·T∞", attempts / unit, 1.5, None))
    })
}

fn theorem_13(cx: &Context<'_>) -> Finding {
    let name = |_| "more steps than the bound".to_owned();
    cx.rarely(bound_runs(cx, Class::FullyStrict), trials(cx), name, |run, tally: &mut Tally| {
        let (m, p) = (run.measures(), run.processors as f64);
        let span = m.span as f64;
        let per_processor = 4.0 * rounds_for(EPSILON / 2.0, m.span, degree(run)) as f64;
        let proof = per_processor * (1.0 + 2.0 * E) + p.log2() + (2.0 / EPSILON).log2();
        let logs = p.log2() + (1.0 / EPSILON).log2();
        let excess = run.outcome()?.makespan as f64 - m.work as f64 / p;
        let measured = (excess - logs) / span;
        tally.constant(Constant::at_most("T∞", measured, 2.5, Some((proof - logs) / span)));
        tally.count((0, 0), EPSILON, excess > 2.5 * span + logs);
        Ok(())
    })
}

/// The mean time against T1/P + constant·T∞.
pub(super) fn mean_time(run: &Run, makespan: u64, constant: f64) -> Sample {
    let (m, p) = (run.measures(), run.processors as f64);
    let (least, span) = (m.work as f64 / p, m.span as f64);
    let time = makespan as f64;
    Sample::new(time, least + constant * span).constant("T∞", (time - least) / span, constant, None)
}

fn theorem_13_mean(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx, Class::FullyStrict), cx.by_effort(6, 30, 60), |run| {
        Ok(mean_time(run, run.outcome()?.makespan, 2.0))
    })
}

fn response_time(cx: &Context<'_>) -> Finding {
    let costs: &[u64] = &[3, 8];
    cx.on_average(bound_runs(cx, Class::FullyStrict), cx.by_effort(4, 8, 30), |run| {
        let mut worst = Sample::HELD;
        for &cost in costs {
            let outcome = run.simulation().steal_cost(cost).run().map_err(text)?;
            let time = mean_time(run, outcome.makespan, 1.5 * cost as f64);
            let beyond = time.constant.map_or(0.0, |constant| constant.measured) / cost as f64;
            let sample = time.constant("c·T∞", beyond, 1.5, None);
            worst = if worst.bound == 0.0 || sample.measured / sample.bound > worst.measured / worst.bound {
                sample
            } else {
                worst
            };
        }
        Ok(worst)
    })
}

/// The most bytes that a steal causes: a frame, and for each join edge a frame and what the edge sends.
fn price(run: &Run) -> u64 {
    let m = run.measures();
    m.largest_frame + m.joins_to_parent * (JOIN_BYTES + m.largest_frame)
}

fn theorem_14(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx, Class::FullyStrict), cx.by_effort(6, 30, 60), |run| {
        let outcome = run.outcome()?;
        let (price, unit) = (price(run), (run.processors as u64 * run.measures().span) as f64);
        if outcome.bytes > price * outcome.steals {
            return Err(format!(
                "{} bytes for {} steals at {price} bytes each",
                outcome.bytes, outcome.steals
            ));
        }
        let unit = unit * price as f64;
        let bytes = outcome.bytes as f64;
        Ok(Sample::new(bytes, 0.5 * unit).constant("P·T∞·(S_max + n_d·(S_max + 8))", bytes / unit, 0.5, None))
    })
}

fn theorem_14_tail(cx: &Context<'_>) -> Finding {
    let name = |_| "more bytes than the bound".to_owned();
    cx.rarely(bound_runs(cx, Class::FullyStrict), trials(cx), name, |run, tally: &mut Tally| {
        let p = run.processors as f64;
        let price = price(run) as f64;
        let unit = p * (run.measures().span as f64 + (1.0 / EPSILON).log2()) * price;
        let bytes = run.outcome()?.bytes as f64;
        let proof = 4.0 * p * rounds_for(EPSILON, run.measures().span, degree(run)) as f64 * price / unit;
        let constant = Constant::at_most("P·(T∞ + lg 1/ε)·(1 + n_d)·S_max", bytes / unit, 0.5, Some(proof));
        tally.constant(constant);
        tally.count((0, 0), EPSILON, bytes > 0.5 * unit);
        Ok(())
    })
}

/// Balanced trees with at least `slack` times as much parallelism as processors.
fn trees(cx: &Context<'_>, slack: f64, processors: &[usize]) -> Vec<Run> {
    let depths: &[u64] = cx.by_effort(&[10], &[9, 11], &[9, 11, 13]);
    let specs: Vec<String> = depths.iter().map(|depth| format!("dnc:depth={depth},work=1")).collect();
    let runs = grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], processors, 1);
    runs.into_iter().filter(|run| run.measures().parallelism() >= slack * run.processors as f64).collect()
}

/// The least share of P·T∞·S_max that divide and conquer communicates.
const TIGHT: f64 = 0.1;

fn wu_kung(cx: &Context<'_>) -> Finding {
    cx.on_average(trees(cx, 8.0, &[4, 8, 16]), cx.by_effort(6, 30, 100), |run| {
        let (outcome, m, p) = (run.outcome()?, run.measures(), run.processors as u64);
        if outcome.makespan * p > 2 * m.work {
            return Err(format!(
                "no linear speedup: {} steps on {p} processors, T1 = {}",
                outcome.makespan, m.work
            ));
        }
        let unit = (p * m.span * m.largest_frame) as f64;
        // The bound is one from below, so too few bytes are what is measured.
        let bytes = outcome.bytes as f64;
        let sample = Sample::new(TIGHT * unit / bytes, 1.0);
        Ok(sample.constant_at_least("P·T∞·S_max", bytes / unit, TIGHT, None))
    })
}

fn work_sharing(cx: &Context<'_>) -> Finding {
    let slack = 50.0;
    cx.on_average(trees(cx, slack, &[2, 4]), cx.by_effort(4, 15, 60), |run| {
        // A smaller computation has too little parallelism for the claim to say anything.
        if run.measures().parallelism() < slack * run.processors as f64 {
            return Ok(Sample::HELD);
        }
        let shared = run.mended().simulation().mutate(Mutation::Share).run().map_err(text)?;
        let spawns = run.computation().thread_count() as u64 - 1;
        let frames = run.measures().largest_frame * spawns;
        if 4 * shared.bytes < frames {
            return Err(format!("work sharing sent {} bytes only, for {spawns} spawns", shared.bytes));
        }
        Ok(Sample::new(25.0 * run.outcome()?.bytes as f64, shared.bytes as f64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proofs_inequality_is_solved() {
        let rounds = rounds_for(0.05, 100, 2);
        let chance = |r: u64| 200.0 * 3_f64.ln() + ln_choose(400 + r, r) - 2.0 * r as f64 + 1400.0;
        assert!(chance(rounds) <= 0.05_f64.ln() && chance(rounds - 1) > 0.05_f64.ln());
        assert!((1_000..2_000).contains(&rounds), "{rounds}");
        assert!(rounds_for(1e-9, 100, 2) > rounds);
    }
}
