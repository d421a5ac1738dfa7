//! BL §6: delay sequences, and the bounds on steal attempts, time and communication that follow from them.
//!
//! Where the paper says O(·) with a probability, the constants here are those of its proof: [`rounds_for`] is its
//! inequality (6), solved. For expectations it gives no constants; those are chosen here and say so.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Tally};
use crate::delay::{DelaySequence, Edges, History};
use crate::finding::Finding;
use crate::run::{Named, Run, grid, large, named_in_units, processors, small, text};
use crate::statistics::ln_choose;
use bombyx_dag::{Class, StrandId};
use bombyx_sim::{Invariant, JOIN_BYTES, Mode, Mutation, Outcome, Scheduler};
use std::f64::consts::E;

pub(crate) const TIME_CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-gprime",
        paper: Paper::Bl,
        name: "§6, dag G'",
        statement: "Deque edges at most double the longest path, so that it has at most 2·T∞ instructions",
        quantity: "longest path of G' against 2·T∞",
        scope: "Unit instructions: a deque edge adds one instruction per spawn on the path. On strands with weights the \
            added instruction may weigh more, and the bound fails.",
        mutation: "the bound T∞",
        attempt: augmented_dag,
    },
    Claim {
        id: "bl-lem-9",
        paper: Paper::Bl,
        name: "Lemma 9",
        statement: "At least 4PR steal attempts imply that a delay sequence (U, R, Π) occurs",
        quantity: "attempts of a round against 4P − 1",
        scope: "Fully strict computations. For every run the sequence is made as in the proof and held to Definition 8, \
            for all its R rounds. Each computation also runs with thieves that never find anything, for many rounds.",
        mutation: "the path U is sought without deque edges",
        attempt: lemma_9,
    },
    Claim {
        id: "bl-lem-10",
        paper: Paper::Bl,
        name: "Lemma 10",
        statement: "A critical instruction has at most one thread above it in its deque",
        quantity: "states that break it",
        scope: "Fully strict computations of unit instructions; every state of every run.",
        mutation: "at a spawn the parent goes on top of the deque",
        attempt: lemma_10,
    },
    Claim {
        id: "bl-lem-11",
        paper: Paper::Bl,
        name: "Lemma 11",
        statement: "An instruction stays critical through r given rounds with chance at most e^(3 − 2r), r ≥ 2",
        quantity: "chance for r = 2, 3, 4 against e^(3 − 2r)",
        scope: "Every instruction by itself; the given rounds are the first whole ones from when it is critical. The \
            interval covers all instructions and all r at once.",
        mutation: "thieves choose only themselves as victims",
        attempt: lemma_11,
    },
    Claim {
        id: "bl-lem-12",
        paper: Paper::Bl,
        name: "Lemma 12, tail",
        statement: "With chance 1 − ε there are O(P·(T∞ + lg 1/ε)) steal attempts",
        quantity: "chance of more attempts against ε",
        scope: "The bound is 4PR with the least R that inequality (6) of the proof allows, about 14·T∞; ε = 1/20.",
        mutation: "thieves choose only themselves as victims",
        attempt: lemma_12,
    },
    Claim {
        id: "bl-lem-12-mean",
        paper: Paper::Bl,
        name: "Lemma 12, mean",
        statement: "There are O(P·T∞) steal attempts on average",
        quantity: "mean attempts against 3·P·T∞",
        scope: "The constant 3 is ours. Without parallelism all thieves search all the time: then attempts and waiting come to \
            nearly (P − 1)·T∞.",
        mutation: "thieves choose only themselves as victims",
        attempt: lemma_12_mean,
    },
    Claim {
        id: "bl-thm-13",
        paper: Paper::Bl,
        name: "Theorem 13, tail",
        statement: "With chance 1 − ε work stealing takes T1/P + O(T∞ + lg P + lg 1/ε) steps",
        quantity: "chance of more steps against ε",
        scope: "Constants of the proof: Lemma 12's attempts M for ε/2, and Lemma 6's waiting, 2e·M + P lg P + P lg 2/ε; \
            ε = 1/20.",
        mutation: "the bound T1/P alone",
        attempt: theorem_13,
    },
    Claim {
        id: "bl-thm-13-mean",
        paper: Paper::Bl,
        name: "Theorem 13, mean",
        statement: "Work stealing takes T1/P + O(T∞) steps on average, all scheduling included",
        quantity: "mean steps against T1/P + 4·T∞",
        scope: "The constant 4 is ours: at most 3·P·T∞ attempts, and little waiting.",
        mutation: "thieves choose only themselves as victims",
        attempt: theorem_13_mean,
    },
    Claim {
        id: "bl-thm-14",
        paper: Paper::Bl,
        name: "Theorem 14",
        statement: "Processors send each other O(P·T∞·(1 + n_d)·S_max) bytes on average",
        quantity: "mean bytes against 3·P·T∞·(S_max + n_d·(S_max + 8))",
        scope: "3·P·T∞ steals (our constant); per steal, as in the proof, a frame, and for each of n_d join edges 8 bytes \
            and a frame. Every run is also held to that price per steal.",
        mutation: "the price of a steal without the frames that joins move",
        attempt: theorem_14,
    },
];

/// The least R for which BL's inequality (6) is at most ε: a run has that many rounds with at most that chance.
fn rounds_for(epsilon: f64, span: u64, degree: u64) -> u64 {
    let span_f = span as f64;
    let ln_chance = |rounds: u64| {
        2.0 * span_f * (degree as f64 + 1.0).ln() + ln_choose(4 * span + rounds, rounds) - 2.0 * rounds as f64
            + 14.0 * span_f
    };
    // The chance falls with R once R is beyond 4·T∞, and is above 1 before.
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

const EPSILON: f64 = 0.05;

/// Runs work stealing; mutated, thieves choose only themselves.
fn outcome(cx: &Context<'_>, run: &Run) -> Result<Outcome, String> {
    let simulation = run.simulation();
    match cx.mutated() {
        true => simulation.choices(run.only_themselves()).run().map_err(text),
        false => simulation.run().map_err(text),
    }
}

fn augmented_dag(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::Strict);
    specs.extend(large(cx, Class::Strict));
    cx.always(grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], &[1], 1), |run| {
        let factor = if cx.mutated() { 1 } else { 2 };
        Ok(Sample::of(bombyx_dag::Augmented::of(run.computation()).span(), factor * run.measures().span))
    })
}

fn unit_runs(cx: &Context<'_>, seeds: u64) -> Vec<Run> {
    let computations = named_in_units(small(cx, Class::FullyStrict));
    let several: Vec<usize> = processors(cx).iter().copied().filter(|&p| p > 1).collect();
    grid(cx, &computations, &[Scheduler::WorkStealing], &several, seeds)
}

fn lemma_9(cx: &Context<'_>) -> Finding {
    cx.always(unit_runs(cx, cx.by_effort(2, 10, 60)), |run| {
        let edges = if cx.mutated() { Edges::Plain } else { Edges::Augmented };
        let mut fullest = 0;
        for simulation in [run.simulation(), run.simulation().choices(run.only_themselves())] {
            let outcome = simulation.trace().run().map_err(text)?;
            let history = History::of(run.computation(), &outcome).map_err(|e| e.to_string())?;
            let sequence = DelaySequence::of(&history, 3 * run.processors, edges);
            sequence.check(&history)?;
            fullest = sequence.rounds.iter().map(|round| round.attempts).fold(fullest, usize::max);
        }
        Ok(Sample::of(fullest as u64, 4 * run.processors as u64 - 1))
    })
}

fn lemma_10(cx: &Context<'_>) -> Finding {
    cx.always(unit_runs(cx, cx.by_effort(2, 8, 40)), |run| {
        let mut simulation = run.simulation().mode(Mode::Step).check(Invariant::Lemma10);
        if cx.mutated() {
            simulation = simulation.mutate(Mutation::PushTop);
        }
        simulation.run().map(|_| Sample::HELD).map_err(text)
    })
}

fn lemma_11(cx: &Context<'_>) -> Finding {
    let specs =
        ["fib:5", "figure1", "chain:length=6,work=2", "fan:children=6,work=2", "random:threads=10,work=2"];
    let specs = cx.by_effort(&specs[..2], &specs[..], &specs[..]);
    let computations: Vec<Named> = specs.iter().map(|spec| Named::in_units(spec)).collect();
    let several: &[usize] = cx.by_effort(&[4], &[2, 4, 8], &[2, 3, 4, 8, 16]);
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], several, 1);
    let name = |(r, v): (u32, u32)| format!("{} critical through {r} rounds", StrandId(v));
    cx.rarely(runs, cx.by_effort(100, 2_000, 20_000), name, |run, tally: &mut Tally| {
        let mut simulation = run.simulation().trace();
        if cx.mutated() {
            simulation = simulation.choices(run.only_themselves());
        }
        let outcome = simulation.run().map_err(text)?;
        let history = History::of(run.computation(), &outcome).map_err(|e| e.to_string())?;
        let rounds = history.rounds(3 * run.processors);
        for v in run.computation().strands() {
            let through = history.critical(v).map_or(0, |critical| {
                let from = rounds.partition_point(|round| round.begin < *critical.start());
                rounds[from..].iter().take_while(|round| round.end <= *critical.end()).count()
            });
            for r in 2..=4_u32 {
                tally.count((r, v.0), (3.0 - 2.0 * f64::from(r)).exp(), through >= r as usize);
            }
        }
        Ok(())
    })
}

/// Runs for the bounds on attempts and time: one for each computation and number of processors.
fn bound_runs(cx: &Context<'_>) -> Vec<Run> {
    let mut specs = large(cx, Class::FullyStrict);
    specs.extend(
        cx.by_effort(&["figure1"][..], &["dnc:depth=12,work=1"], &["dnc:depth=13,work=1"])
            .iter()
            .map(|&s| s.to_owned()),
    );
    let several: &[usize] = cx.by_effort(&[4, 16], &[2, 4, 8, 32], &[2, 3, 4, 8, 16, 32, 64]);
    grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], several, 1)
}

fn lemma_12(cx: &Context<'_>) -> Finding {
    let name = |_| "more attempts than 4PR".to_owned();
    cx.rarely(bound_runs(cx), cx.by_effort(8, 100, 150), name, |run, tally: &mut Tally| {
        let rounds = rounds_for(EPSILON, run.measures().span, degree(run));
        let attempts = outcome(cx, run)?.attempts();
        tally.count((0, 0), EPSILON, attempts >= 4 * run.processors as u64 * rounds);
        Ok(())
    })
}

fn lemma_12_mean(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx), cx.by_effort(4, 40, 60), |run| {
        Ok(Sample::of(outcome(cx, run)?.attempts(), 3 * run.processors as u64 * run.measures().span))
    })
}

fn theorem_13(cx: &Context<'_>) -> Finding {
    let name = |_| "more steps than the bound".to_owned();
    cx.rarely(bound_runs(cx), cx.by_effort(8, 100, 150), name, |run, tally: &mut Tally| {
        let (m, p) = (run.measures(), run.processors as f64);
        let per_processor = 4.0 * rounds_for(EPSILON / 2.0, m.span, degree(run)) as f64;
        let waiting = 2.0 * E * per_processor + p.log2() + (2.0 / EPSILON).log2();
        let overhead = if cx.mutated() { 0.0 } else { per_processor + waiting };
        tally.count((0, 0), EPSILON, run.outcome()?.makespan as f64 > m.work as f64 / p + overhead);
        Ok(())
    })
}

fn theorem_13_mean(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx), cx.by_effort(4, 40, 60), |run| {
        let (m, p) = (run.measures(), run.processors as f64);
        Ok(Sample::new(outcome(cx, run)?.makespan as f64, m.work as f64 / p + 4.0 * m.span as f64))
    })
}

fn theorem_14(cx: &Context<'_>) -> Finding {
    cx.on_average(bound_runs(cx), cx.by_effort(4, 40, 60), |run| {
        let (m, outcome) = (run.measures(), run.outcome()?);
        let moved = if cx.mutated() { 0 } else { m.largest_frame };
        let price = m.largest_frame + m.joins_to_parent * (JOIN_BYTES + moved);
        if outcome.bytes > price * outcome.steals {
            return Err(format!(
                "{} bytes for {} steals at {price} bytes each",
                outcome.bytes, outcome.steals
            ));
        }
        Ok(Sample::of(outcome.bytes, 3 * run.processors as u64 * m.span * price))
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
