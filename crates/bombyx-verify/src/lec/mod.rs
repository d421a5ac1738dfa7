//! The claims of LEC, the lecture on the Cilk scheduler: its rules, the depth lemma, the augmented dag, and its shorter
//! delay-sequence argument, with rounds of P to 2P − 1 attempts that take one step each. The formulae are in
//! [`formulae`].
//!
//! **Not here:** delay sequences themselves ([`crate::delay`]).

mod formulae;
mod referee;

use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Tally};
use crate::delay::{DelaySequence, Edges, History};
use crate::finding::{Constant, Finding, ratio};
use crate::mutant::{WRONG_DEQUES, mutants};
use crate::paths;
use crate::run::{Named, Run, grid, large, named, named_in_units, processors, small, text};
use crate::statistics::ln_choose;
use bombyx_dag::{Augmented, Class, Computation, StrandId};
use bombyx_sim::{Contention, Invariant, Mode, Outcome, Scheduler};
use std::f64::consts::{E, LN_2};

/// All claims of the lecture, in its order.
pub(crate) fn claims() -> impl Iterator<Item = &'static Claim> + Clone {
    [CLAIMS, formulae::CLAIMS].into_iter().flatten()
}

const CLAIMS: &[Claim] = &[
    Claim {
        id: "lec-rules",
        paper: Paper::Lec,
        name: "§1, rules",
        statement: "Cilk's rules for spawn, return and sync are BL's: bottom of the deque, else the parent, else steal",
        quantity: "events in which the two differ",
        scope: "Nested-parallel computations. A referee that knows only the lecture's rules goes through every run beside BL's \
            scheduler: return (a), (b), (c), and that the deque is empty when a sync stalls.",
        mutants: mutants![
            PopTop,
            LeavesParent,
            EnableElsewhere,
            BlocksAtStall,
            KeepParent,
            PushTop,
            Share,
            StealTwo
        ],
        few: "",
        attempt: rules,
    },
    Claim {
        id: "lec-lem-3",
        paper: Paper::Lec,
        name: "Lemma 3",
        statement: "Depths fall from the running thread up the deque: d(u0) ≥ d(u1) > … > d(uk)",
        quantity: "states that break it",
        scope: "Cilk's joins only: nested-parallel computations, where every child joins once, at its end. On other fully \
            strict computations an enabled thread can be shallower than those above it, and the lemma fails (limits). Corollary 5 \
            follows: the shallowest thread of a processor is on top of its deque or being executed.",
        mutants: WRONG_DEQUES,
        few: "",
        attempt: lemma_3,
    },
    Claim {
        id: "lec-prop-7",
        paper: Paper::Lec,
        name: "Proposition 7",
        statement: "What has no unexecuted predecessor in G' is executing or on top of a deque",
        quantity: "states that break it",
        scope: "Nested-parallel computations; on other fully strict ones a thread may lie above it (BL Lemma 10). With G in place of \
            G' it fails (Example 1, limits).",
        mutants: WRONG_DEQUES,
        few: "",
        attempt: proposition_7,
    },
    Claim {
        id: "lec-obs-8",
        paper: Paper::Lec,
        name: "Observation 8",
        statement: "D(G) ≤ D(G') ≤ 2·D(G)",
        quantity: "D(G') against 2·D(G)",
        scope: "Unit instructions, all classes. Each computation is also held to the lower bound.",
        mutants: &[],
        few: "no scheduler takes part: it is about dags",
        attempt: observation_8,
    },
    Claim {
        id: "lec-claim-14",
        paper: Paper::Lec,
        name: "Claim 14",
        statement: "Two buckets suffice: P·T dollars are T1 of work and the steal attempts, T = T1/P + attempts/P",
        quantity: "dollars in neither bucket",
        scope: "Lemma 11 and Observation 13 too. Attempts take one step each (contention model denied), so nobody waits.",
        mutants: mutants![BlocksAtStall, GivesUp, Forgets, Serial],
        few: "",
        attempt: claim_14,
    },
    Claim {
        id: "lec-thm-10",
        paper: Paper::Lec,
        name: "Theorem 10",
        statement: "With chance 1 − ε the time is at most T1/P + O(T∞ + lg 1/ε)",
        quantity: "chance of more than T1/P + 2·T∞ + lg 1/ε steps against ε",
        scope: "Fully strict computations, attempts of one step, ε = 1/20. The proof's bound: fewer than 2P(2T∞ + R) attempts with \
            the least R for which (2e(2T∞ + R)/2T∞)^(2T∞)·e^(−R) is at most ε, about 17·T∞.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, LeavesParent, GivesUp, BlocksAtStall],
        few: "",
        attempt: theorem_10,
    },
    Claim {
        id: "lec-lem-12",
        paper: Paper::Lec,
        name: "Lemma 12",
        statement: "With high probability there are O(P·T∞) dollars in the steal bucket, fewer than 2P(2T∞ + R)",
        quantity: "chance of more than 2·P·(T∞ + lg 1/ε) attempts against ε",
        scope: "The same runs, ε = 1/20.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, LeavesParent, StealBottom, GivesUp],
        few: "",
        attempt: lemma_12,
    },
    Claim {
        id: "lec-obs-15",
        paper: Paper::Lec,
        name: "Observation 15",
        statement: "No constant stands before T1/P: where T1/P ≫ T∞, the time is T1/P up to little",
        quantity: "mean P·T/T1 against 1 + 2/slack",
        scope: "Computations whose parallelism is slack times P, slack at least 8.",
        mutants: mutants![Serial, Half, Victim0, Themselves, GivesUp],
        few: "",
        attempt: observation_15,
    },
    Claim {
        id: "lec-rounds",
        paper: Paper::Lec,
        name: "Definition 16",
        statement: "Rounds of at least P attempts have at most 2P − 1",
        quantity: "attempts of a round against 2P − 2",
        scope: "Attempts of one step. One processor always executes, so at most P − 1 attempts are begun in one step, and a round \
            has at most P − 1 + P − 1. That is one less than the lecture's bound, and it is what is checked.",
        mutants: mutants![LeavesParent, Share, EnableElsewhere, Wanders],
        few: "",
        attempt: rounds,
    },
    Claim {
        id: "lec-thm-17",
        paper: Paper::Lec,
        name: "Theorem 17",
        statement: "A critical thread stays unstolen through C rounds with chance at most (1 − 1/P)^(CP) ≤ e^(−C)",
        quantity: "chance for C = 1, 2, 3 against (1 − 1/P)^(CP)",
        scope: "Nested-parallel computations of unit instructions, every instruction by itself. Unstolen: not executed by \
            the step after the C-th whole round.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, GivesUp],
        few: "",
        attempt: theorem_17,
    },
    Claim {
        id: "lec-lem-18",
        paper: Paper::Lec,
        name: "Lemma 18",
        statement: "There is a path U in G' of which some instruction is critical at every step",
        quantity: "instructions of U against 2·T∞",
        scope: "Fully strict computations of unit instructions; U is made as in the proof and checked step by step. It holds for every \
            schedule, so the mutants are wrong ways to find U.",
        mutants: paths::WRONG,
        few: "",
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
            never find anything. The converse fails (limits). Mutants are wrong ways to find U.",
        mutants: paths::WRONG,
        few: "",
        attempt: lemma_21,
    },
    Claim {
        id: "lec-obs-22",
        paper: Paper::Lec,
        name: "Observation 22",
        statement: "Pr[≥ 2P(2T∞ + R) attempts] ≤ Pr[some sequence occurs] ≤ sequences × the largest chance of one",
        quantity: "chance of so many attempts against (2^(2T∞)·(2T∞ + R choose 2T∞)·e^(−R))",
        scope: "Small computations; R is the least for which the right side is at most 1/4 and 1/20. The left inequality is Lemma 21, \
            which every run is held to.",
        mutants: mutants![Serial, Half, Themselves, Neighbour, Victim0],
        few: "",
        attempt: observation_22,
    },
    Claim {
        id: "lec-lem-23",
        paper: Paper::Lec,
        name: "Lemma 23",
        statement: "A given delay sequence (U, R, Π) occurs with chance at most e^(−R)",
        quantity: "chance for R = 1, 2, 3 against e^(−R)",
        scope: "Nested-parallel computations of unit instructions; U the path of the serial schedule and the longest path of G', every \
            Π that puts all rounds on one or two neighbouring instructions.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves],
        few: "",
        attempt: lemma_23,
    },
    Claim {
        id: "lec-lem-24",
        paper: Paper::Lec,
        name: "Lemma 24",
        statement: "There are at most 2^(2T∞) · (2T∞ + R choose 2T∞) delay sequences of R rounds",
        quantity: "logarithm of their number against that of the bound",
        scope: "All paths of G' are counted, on small dags, for R up to 8·T∞. The proof says that no instruction has more than \
            two edges in G'; one that follows a spawn and spawns again has three. The bound holds nevertheless.",
        mutants: &[],
        few: "no scheduler takes part: it is about dags",
        attempt: lemma_24,
    },
];

fn invariant(cx: &Context<'_>, invariant: Invariant) -> Finding {
    let computations = named_in_units(small(cx, Class::NestedParallel));
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], processors(cx), cx.by_effort(8, 8, 40));
    cx.always(runs, |run| {
        let simulation = run.simulation().mode(Mode::Step).check(invariant);
        simulation.run().map(|_| Sample::HELD).map_err(text)
    })
}

fn rules(cx: &Context<'_>) -> Finding {
    let computations = named_in_units(small(cx, Class::NestedParallel));
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], processors(cx), cx.by_effort(4, 6, 30));
    cx.always(runs, |run| referee::referee(run).map(|differ| Sample::of(differ, 0)))
}

fn lemma_3(cx: &Context<'_>) -> Finding {
    invariant(cx, Invariant::DepthLemma)
}

fn proposition_7(cx: &Context<'_>) -> Finding {
    invariant(cx, Invariant::Proposition7)
}

fn observation_8(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::General);
    specs.extend(large(cx, Class::General));
    cx.always(grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], &[1], 1), |run| {
        let (augmented, plain) = (Augmented::of(run.computation()).span(), run.measures().span);
        if augmented < plain {
            return Err(format!("D(G') = {augmented} is less than D(G) = {plain}"));
        }
        Ok(Sample::of(augmented, 2 * plain))
    })
}

fn claim_14(cx: &Context<'_>) -> Finding {
    let computations = named(large(cx, Class::FullyStrict));
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], processors(cx), cx.by_effort(2, 3, 12));
    cx.always(runs, |run| {
        let outcome = run.clone().contention(Contention::Denied).outcome()?;
        let all = outcome.makespan * run.processors as u64;
        Ok(Sample::of(all.abs_diff(run.measures().work + outcome.attempts()), 0))
    })
}

const EPSILON: f64 = 0.05;

/// The least R for which the lecture's bound on any delay sequence, (2e(2T∞ + R)/2T∞)^(2T∞)·e^(−R), is at most ε.
fn rounds_for(epsilon: f64, span: u64) -> u64 {
    let paths = 2.0 * span as f64;
    let ln_chance = |rounds: u64| paths * (2.0 * E * (paths + rounds as f64) / paths).ln() - rounds as f64;
    let (mut low, mut high) = (0, 1);
    while ln_chance(high) > epsilon.ln() {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *(if ln_chance(middle) > epsilon.ln() { &mut low } else { &mut high }) = middle;
    }
    high
}

fn bound_runs(cx: &Context<'_>) -> Vec<Run> {
    let mut specs = large(cx, Class::FullyStrict);
    specs.push(cx.by_effort("dnc:depth=8,work=1", "dnc:depth=10,work=1", "dnc:depth=12,work=1").to_owned());
    let several: &[usize] = cx.by_effort(&[4, 16], &[2, 4, 8, 32], &[2, 3, 4, 8, 16, 32, 64]);
    let runs = grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], several, 1);
    runs.into_iter().map(|run| run.contention(Contention::Denied)).collect()
}

fn theorem_10(cx: &Context<'_>) -> Finding {
    let name = |_| "more steps than the bound".to_owned();
    cx.rarely(bound_runs(cx), cx.by_effort(30, 60, 150), name, |run, tally: &mut Tally| {
        let (m, log) = (run.measures(), (1.0 / EPSILON).log2());
        let span = m.span as f64;
        let excess = run.outcome()?.makespan as f64 - m.work as f64 / run.processors as f64;
        let proof = 2.0 * (2.0 * span + rounds_for(EPSILON, m.span) as f64);
        let (measured, proof) = ((excess - log) / span, (proof - log) / span);
        tally.constant(Constant::at_most("T∞", measured, 2.0, Some(proof)));
        tally.count((0, 0), EPSILON, excess > 2.0 * span + log);
        Ok(())
    })
}

fn lemma_12(cx: &Context<'_>) -> Finding {
    let name = |_| "more attempts than the bound".to_owned();
    cx.rarely(bound_runs(cx), cx.by_effort(30, 60, 150), name, |run, tally: &mut Tally| {
        let (span, p) = (run.measures().span, run.processors as f64);
        let unit = p * (span as f64 + (1.0 / EPSILON).log2());
        let attempts = run.outcome()?.attempts() as f64;
        let proof = 2.0 * p * (2.0 * span as f64 + rounds_for(EPSILON, span) as f64) / unit;
        let constant = Constant::at_most("P·(T∞ + lg 1/ε)", attempts / unit, 2.0, Some(proof));
        tally.constant(constant);
        tally.count((0, 0), EPSILON, attempts > 2.0 * unit);
        Ok(())
    })
}

fn observation_15(cx: &Context<'_>) -> Finding {
    let slack = |run: &Run| run.measures().parallelism() / run.processors as f64;
    let runs = bound_runs(cx).into_iter().filter(|run| slack(run) >= 8.0).collect();
    cx.on_average(runs, cx.by_effort(4, 15, 60), |run| {
        let perfect = run.measures().work as f64 / run.processors as f64;
        Ok(Sample::new(run.outcome()?.makespan as f64 / perfect, 1.0 + 2.0 / slack(run)))
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

fn rounds(cx: &Context<'_>) -> Finding {
    let several: Vec<usize> = processors(cx).iter().copied().filter(|&p| p > 1).collect();
    let computations = named_in_units(small(cx, Class::FullyStrict));
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], &several, cx.by_effort(12, 3, 15));
    cx.always(runs, |run| {
        let rounds = history(run.computation(), &traced(run, false)?)?.rounds(run.processors);
        let most = rounds.iter().map(|round| round.attempts).max().unwrap_or(0) as u64;
        // The lecture's 2P − 1 would be reached only if all P attempted at once.
        Ok(Sample::of(most, 2 * run.processors as u64 - 2))
    })
}

/// Small nested-parallel computations in the lecture's model, for chances.
fn chance_runs(cx: &Context<'_>) -> Vec<Run> {
    let specs = ["fib:5", "fan:children=6,work=2", "chain:length=6,work=2", "dnc:depth=3,work=2"];
    let specs = cx.by_effort(&specs[..2], &specs[..], &specs[..]);
    let computations: Vec<Named> = specs.iter().map(|spec| Named::in_units(spec)).collect();
    let several: &[usize] = cx.by_effort(&[4], &[2, 4, 8], &[2, 3, 4, 8, 16]);
    grid(cx, &computations, &[Scheduler::WorkStealing], several, 1)
}

/// How many whole rounds lie within the time in which an instruction is critical and not about to be executed.
fn rounds_through(history: &History<'_>, rounds: &[crate::delay::Round], v: StrandId) -> usize {
    history.critical(v).map_or(0, |critical| {
        let from = rounds.partition_point(|round| round.begin < *critical.start());
        rounds[from..].iter().take_while(|round| round.end + 1 < *critical.end()).count()
    })
}

fn theorem_17(cx: &Context<'_>) -> Finding {
    let name = |(rounds, v): (u32, u32)| format!("{} unstolen through {rounds} rounds", StrandId(v));
    cx.rarely(chance_runs(cx), cx.by_effort(100, 1_200, 15_000), name, |run, tally: &mut Tally| {
        let outcome = traced(run, false)?;
        let history = history(run.computation(), &outcome)?;
        let rounds = history.rounds(run.processors);
        let missed = 1.0 - 1.0 / run.processors as f64;
        for v in run.computation().strands() {
            let through = rounds_through(&history, &rounds, v);
            for count in 1..=3_u32 {
                let attempts = i32::try_from(count as usize * run.processors).unwrap_or(i32::MAX);
                tally.count((count, v.0), missed.powi(attempts), through >= count as usize);
            }
        }
        Ok(())
    })
}

/// Checks histories of random runs, and of runs in which no thief ever finds anything.
fn sequences(cx: &Context<'_>, check: fn(&Run, &History<'_>, DelaySequence) -> Measured) -> Finding {
    let several: Vec<usize> = processors(cx).iter().copied().filter(|&p| p > 1).collect();
    let mut specs = small(cx, Class::FullyStrict);
    specs.extend(["fib:9", "dnc:depth=5,work=1"].map(str::to_owned));
    let computations = named_in_units(specs);
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], &several, cx.by_effort(2, 4, 30));
    cx.always(runs, |run| {
        let checked = |only_themselves| {
            let outcome = traced(run, only_themselves)?;
            let history = history(run.computation(), &outcome)?;
            let sequence = DelaySequence::along(&history, paths::path(cx, &history), run.processors);
            check(run, &history, sequence)
        };
        let (lucky, unlucky) = (checked(false)?, checked(true)?);
        let ratio = |sample: Sample| ratio(sample.measured, sample.bound);
        Ok(if ratio(lucky) > ratio(unlucky) { lucky } else { unlucky })
    })
}

fn lemma_18(cx: &Context<'_>) -> Finding {
    sequences(cx, |run, history, sequence| {
        sequence.check_coverage(history)?;
        Ok(Sample::of(sequence.path.len() as u64, 2 * run.measures().span))
    })
}

/// Rounds that the attempts of a run promise, and rounds that its delay sequence has.
fn promised_and_found(
    run: &Run,
    history: &History<'_>,
    sequence: &DelaySequence,
) -> Result<(u64, u64), String> {
    sequence.check(history)?;
    let found: u64 = sequence.within.iter().sum();
    let whole = history.attempts() as u64 / (2 * run.processors as u64);
    Ok((whole.saturating_sub(2 * run.measures().span), found))
}

fn lemma_21(cx: &Context<'_>) -> Finding {
    sequences(cx, |run, history, sequence| {
        let (promised, found) = promised_and_found(run, history, &sequence)?;
        Ok(Sample::of(promised, found))
    })
}

fn observation_22(cx: &Context<'_>) -> Finding {
    let name = |(denominator, _): (u32, u32)| format!("attempts for a chance of 1/{denominator}");
    let computations =
        named_in_units(["dnc:depth=9,work=1", "fib:5", "bushy:threads=60,class=0"].map(str::to_owned).into());
    let several: &[usize] = cx.by_effort(&[4], &[2, 4, 8], &[2, 3, 4, 8, 16]);
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], several, 1);
    cx.rarely(runs, cx.by_effort(15, 150, 1_000), name, |run, tally: &mut Tally| {
        let outcome = traced(run, false)?;
        let history = history(run.computation(), &outcome)?;
        let sequence = DelaySequence::of(&history, run.processors, Edges::Augmented);
        let (promised, found) = promised_and_found(run, &history, &sequence)?;
        if promised > found {
            return Err(format!("{promised} rounds are promised and {found} found"));
        }
        let paths = 2 * run.measures().span;
        let ln_bound = |r: u64| paths as f64 * LN_2 + ln_choose(paths + r, paths) - r as f64;
        for denominator in [4_u32, 20] {
            let least = (paths..).find(|&r| ln_bound(r) <= -f64::from(denominator).ln()).expect("it falls");
            tally.count((denominator, 0), ln_bound(least).exp(), promised >= least);
        }
        Ok(())
    })
}

fn lemma_23(cx: &Context<'_>) -> Finding {
    let name = |(kind, at): (u32, u32)| format!("{} rounds on {} of U and the next", kind, at);
    cx.rarely(chance_runs(cx), cx.by_effort(150, 1_000, 10_000), name, |run, tally: &mut Tally| {
        let outcome = traced(run, false)?;
        let history = history(run.computation(), &outcome)?;
        let rounds = history.rounds(run.processors);
        let path = paths::longest(run.computation());
        let through: Vec<usize> = path.iter().map(|&u| rounds_through(&history, &rounds, u)).collect();
        for (at, &here) in (0..).zip(&through) {
            let next = through.get(at as usize + 1).copied().unwrap_or(0);
            for r in 1..=3_u32 {
                tally.count((r, at), (-f64::from(r)).exp(), here >= r as usize);
            }
            tally.count((11, at), (-2.0_f64).exp(), here >= 1 && next >= 1);
            tally.count((21, at), (-3.0_f64).exp(), here >= 2 && next >= 1);
        }
        Ok(())
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
            let partitions = ln_choose(2 * span + rounds, rounds);
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
        let run = Run::right(&c, Scheduler::WorkStealing, 1);
        assert_eq!(paths_by_length(run.computation()), [0.0, 0.0, 0.0, 2.0, 1.0]);
    }
}
