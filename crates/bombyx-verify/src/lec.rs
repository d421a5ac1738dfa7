//! The claims of LEC, the lecture on the Cilk scheduler: the depth lemma, the augmented dag, and its shorter
//! delay-sequence argument with rounds of P to 2P − 1 attempts that take one step each.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Tally};
use crate::delay::{DelaySequence, Edges, History};
use crate::finding::{Finding, ratio};
use crate::run::{Named, Run, grid, large, named, named_in_units, processors, small, text};
use crate::statistics::ln_choose;
use bombyx_dag::{Augmented, Class, Computation, StrandId};
use bombyx_sim::{Contention, Invariant, Mode, Mutation, Outcome, Scheduler};
use std::f64::consts::LN_2;

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "lec-lem-3",
        paper: Paper::Lec,
        name: "Lemma 3",
        statement: "Depths fall from the running thread up the deque: d(u0) ≥ d(u1) > … > d(uk)",
        quantity: "states that break it",
        scope: "Cilk's joins only: nested-parallel computations, where every child joins once, at its end. On other fully \
            strict computations an enabled thread can be shallower than those above it, and the lemma fails.",
        mutation: "at a spawn the parent goes on top of the deque",
        attempt: lemma_3,
    },
    Claim {
        id: "lec-prop-7",
        paper: Paper::Lec,
        name: "Proposition 7",
        statement: "What has no unexecuted predecessor in G' is executing or on top of a deque",
        quantity: "states that break it",
        scope: "Nested-parallel computations; on other fully strict ones a thread may lie above it (BL Lemma 10).",
        mutation: "an enabled thread goes to the next processor's deque",
        attempt: proposition_7,
    },
    Claim {
        id: "lec-obs-8",
        paper: Paper::Lec,
        name: "Observation 8",
        statement: "D(G) ≤ D(G') ≤ 2·D(G)",
        quantity: "D(G') against 2·D(G)",
        scope: "Unit instructions, strict computations. Each run is also held to the lower bound.",
        mutation: "the upper bound D(G)",
        attempt: observation_8,
    },
    Claim {
        id: "lec-thm-10",
        paper: Paper::Lec,
        name: "Theorem 10",
        statement: "Two buckets suffice: P·T dollars are T1 of work and the steal attempts, T = T1/P + attempts/P",
        quantity: "dollars in neither bucket",
        scope: "Attempts that take one step each (contention model denied): then nobody waits, and the time follows from \
            the number of attempts.",
        mutation: "attempts queue at deques, and waiting fills a third bucket",
        attempt: theorem_10,
    },
    Claim {
        id: "lec-thm-17",
        paper: Paper::Lec,
        name: "Theorem 17",
        statement: "A critical thread stays unstolen through C rounds with chance at most (1 − 1/P)^(CP) ≤ e^(−C)",
        quantity: "chance for C = 1, 2, 3 against (1 − 1/P)^(CP)",
        scope: "Nested-parallel computations of unit instructions, every instruction by itself. Unstolen: not executed by \
            the step after the C-th whole round.",
        mutation: "thieves choose only themselves as victims",
        attempt: theorem_17,
    },
    Claim {
        id: "lec-lem-18",
        paper: Paper::Lec,
        name: "Lemma 18",
        statement: "There is a path U in G' of which some instruction is critical at every step",
        quantity: "instructions of U against 2·T∞",
        scope: "Fully strict computations of unit instructions; U is made as in the proof and checked step by step.",
        mutation: "the path U is sought without deque edges",
        attempt: lemma_18,
    },
    Claim {
        id: "lec-lem-21",
        paper: Paper::Lec,
        name: "Lemma 21",
        statement: "At least 2P·(2T∞ + R) attempts imply a delay sequence of R rounds",
        quantity: "rounds promised against rounds found",
        scope: "A round counts where one instruction of U is critical throughout. R is the largest that the attempts of \
            the run allow; random runs have too few attempts for any, so each computation also runs with thieves that \
            never find anything.",
        mutation: "the path U is sought without deque edges",
        attempt: lemma_21,
    },
    Claim {
        id: "lec-lem-24",
        paper: Paper::Lec,
        name: "Lemma 24",
        statement: "There are at most 2^(2T∞) · (2T∞ + R choose 2T∞) delay sequences of R rounds",
        quantity: "logarithm of their number against that of the bound",
        scope: "All paths of G' are counted, on small dags, for R up to 8·T∞. The proof says that no instruction has more than \
            two edges in G'; one that follows a spawn and spawns again has three. The bound holds nevertheless.",
        mutation: "the bound without the partitions of R",
        attempt: lemma_24,
    },
];

fn invariant(cx: &Context<'_>, invariant: Invariant, mutation: Mutation) -> Finding {
    let computations = named_in_units(small(cx, Class::NestedParallel));
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], processors(cx), cx.by_effort(8, 10, 40));
    cx.always(runs, |run| {
        let mut simulation = run.simulation().mode(Mode::Step).check(invariant);
        if cx.mutated() {
            simulation = simulation.mutate(mutation);
        }
        simulation.run().map(|_| Sample::HELD).map_err(text)
    })
}

fn lemma_3(cx: &Context<'_>) -> Finding {
    invariant(cx, Invariant::DepthLemma, Mutation::PushTop)
}

fn proposition_7(cx: &Context<'_>) -> Finding {
    invariant(cx, Invariant::Proposition7, Mutation::EnableElsewhere)
}

fn observation_8(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::Strict);
    specs.extend(large(cx, Class::Strict));
    cx.always(grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], &[1], 1), |run| {
        let (augmented, plain) = (Augmented::of(run.computation()).span(), run.measures().span);
        if augmented < plain {
            return Err(format!("D(G') = {augmented} is less than D(G) = {plain}"));
        }
        Ok(Sample::of(augmented, if cx.mutated() { plain } else { 2 * plain }))
    })
}

fn theorem_10(cx: &Context<'_>) -> Finding {
    let runs = grid(
        cx,
        &named(large(cx, Class::FullyStrict)),
        &[Scheduler::WorkStealing],
        processors(cx),
        cx.by_effort(2, 5, 20),
    );
    let contention = if cx.mutated() { Contention::default() } else { Contention::Denied };
    cx.always(runs, |run| {
        let outcome = run.clone().contention(contention).outcome()?;
        let all = outcome.makespan * run.processors as u64;
        Ok(Sample::of(all.abs_diff(run.measures().work + outcome.attempts()), 0))
    })
}

/// Runs in the lecture's model, in which an attempt takes one step, with a trace.
fn traced(run: &Run, only_themselves: bool) -> Result<Outcome, String> {
    let mut simulation = run.simulation().contention(Contention::Denied).trace();
    if only_themselves {
        simulation = simulation.choices(run.only_themselves());
    }
    simulation.run().map_err(text)
}

fn history<'c>(c: &'c Computation, outcome: &Outcome) -> Result<History<'c>, String> {
    History::of(c, outcome).map_err(|e| e.to_string())
}

fn theorem_17(cx: &Context<'_>) -> Finding {
    let specs = ["fib:5", "fan:children=6,work=2", "chain:length=6,work=2", "dnc:depth=3,work=2"];
    let specs = cx.by_effort(&specs[..2], &specs[..], &specs[..]);
    let computations: Vec<Named> = specs.iter().map(|spec| Named::in_units(spec)).collect();
    let several: &[usize] = cx.by_effort(&[4], &[2, 4, 8], &[2, 3, 4, 8, 16]);
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], several, 1);
    let name = |(rounds, v): (u32, u32)| format!("{} unstolen through {rounds} rounds", StrandId(v));
    cx.rarely(runs, cx.by_effort(100, 2_000, 20_000), name, |run, tally: &mut Tally| {
        let outcome = traced(run, cx.mutated())?;
        let history = history(run.computation(), &outcome)?;
        let rounds = history.rounds(run.processors);
        let missed = 1.0 - 1.0 / run.processors as f64;
        for v in run.computation().strands() {
            let through = history.critical(v).map_or(0, |critical| {
                let from = rounds.partition_point(|round| round.begin < *critical.start());
                rounds[from..].iter().take_while(|round| round.end + 1 < *critical.end()).count()
            });
            for count in 1..=3_u32 {
                let attempts = i32::try_from(count as usize * run.processors).unwrap_or(i32::MAX);
                tally.count((count, v.0), missed.powi(attempts), through >= count as usize);
            }
        }
        Ok(())
    })
}

/// Checks histories of random runs, and of runs in which no thief ever finds anything.
fn sequences(cx: &Context<'_>, check: fn(&Run, &History<'_>, Edges) -> Measured) -> Finding {
    let several: Vec<usize> = processors(cx).iter().copied().filter(|&p| p > 1).collect();
    let mut specs = small(cx, Class::FullyStrict);
    specs.extend(["fib:9", "dnc:depth=5,work=1"].map(str::to_owned));
    let computations = named_in_units(specs);
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], &several, cx.by_effort(2, 10, 60));
    let edges = if cx.mutated() { Edges::Plain } else { Edges::Augmented };
    cx.always(runs, |run| {
        let lucky = check(run, &history(run.computation(), &traced(run, false)?)?, edges)?;
        let unlucky = check(run, &history(run.computation(), &traced(run, true)?)?, edges)?;
        let ratio = |sample: Sample| ratio(sample.measured, sample.bound);
        Ok(if ratio(lucky) > ratio(unlucky) { lucky } else { unlucky })
    })
}

fn lemma_18(cx: &Context<'_>) -> Finding {
    sequences(cx, |run, history, edges| {
        let sequence = DelaySequence::of(history, run.processors, edges);
        sequence.check_coverage(history)?;
        Ok(Sample::of(sequence.path.len() as u64, 2 * run.measures().span))
    })
}

fn lemma_21(cx: &Context<'_>) -> Finding {
    sequences(cx, |run, history, edges| {
        let sequence = DelaySequence::of(history, run.processors, edges);
        sequence.check(history)?;
        let found: u64 = sequence.within.iter().sum();
        let whole = history.attempts() as u64 / (2 * run.processors as u64);
        Ok(Sample::of(whole.saturating_sub(2 * run.measures().span), found))
    })
}

/// How many paths of G' from the first instruction to the last have each number of instructions.
fn paths_by_length(c: &Computation) -> Vec<f64> {
    let g = Augmented::of(c);
    let longest = g.span() as usize;
    let mut count = vec![vec![0.0; longest + 1]; c.strand_count()];
    count[c.first_strand(c.root()).index()][1] = 1.0;
    for u in g.order() {
        let edges = c.spawned(u).into_iter().chain(c.next(u)).chain(g.deque_edge(u));
        for to in edges.chain(c.joins_from(u).iter().copied()) {
            for length in 1..longest {
                let paths = count[u.index()][length];
                count[to.index()][length + 1] += paths;
            }
        }
    }
    count.swap_remove(c.last_strand(c.root()).index())
}

fn lemma_24(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::NestedParallel);
    specs.push("fan:children=30,work=1".to_owned());
    cx.always(grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], &[1], 1), |run| {
        let span = run.measures().span;
        let paths = paths_by_length(run.computation());
        let mut worst = Sample::HELD;
        for rounds in [1, span, 2 * span, 8 * span] {
            let of_length = |(length, paths): (usize, &f64)| {
                let length = length as u64;
                if *paths == 0.0 {
                    f64::NEG_INFINITY
                } else {
                    paths.ln() + ln_choose(rounds + length - 1, rounds)
                }
            };
            let terms: Vec<f64> = paths.iter().enumerate().skip(1).map(of_length).collect();
            let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let count = largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln();
            let partitions = if cx.mutated() { 0.0 } else { ln_choose(2 * span + rounds, rounds) };
            let bound = 2.0 * span as f64 * LN_2 + partitions;
            if worst.bound == 0.0 || count / bound > worst.measured / worst.bound {
                worst = Sample::new(count, bound);
            }
        }
        Ok(worst)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_counted() {
        // v1 spawns v2 and goes on with v3, which leads to v2 in G'; v4 joins: v1 v2 v4, v1 v3 v4, v1 v3 v2 v4.
        let c = Named::in_units("fan:children=1,work=1");
        let run = Run::new(&c, Scheduler::WorkStealing, 1);
        assert_eq!(paths_by_length(run.computation()), [0.0, 0.0, 0.0, 2.0, 1.0]);
    }
}
