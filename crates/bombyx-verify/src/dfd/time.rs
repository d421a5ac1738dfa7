//! DFD §4.3: the bound on time, by the two types of steps in its Lemma 4.4, with its constants.
//!
//! A step is of type A if there are at least P deques at its start, else of type B. In a step of type A, at least P/2e
//! actions are executed in expectation, and at least P/4e with chance 1/10. Steps of type B are cut into phases of P to
//! 2P − 1 steal attempts. In each phase the potential of what is ready falls by a quarter with chance 1/4 (Arora,
//! Blumofe & Plaxton's argument, which the paper uses).

use super::{
    EQUAL_SPEEDS, QUOTAS, STEALING, allocating, bytes, count_tails, dfdeques, epsilon, in_cost_model,
};
use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample};
use crate::finding::{Constant, Finding};
use crate::mutant::{Mutant, mutants};
use crate::run::{Named, Run, grid, named, named_in_units, text};
use bombyx_dag::{Measures, path_lengths};
use bombyx_sim::{Machine, Mode, Outcome, Quota, Ready};
use std::f64::consts::E;

/// The constants that are checked. Those of the proof are 40e, 80e and 40.
const STEPS_A: f64 = 1.5;
const STEPS_A_TAIL: f64 = 1.5;
/// The least mean number of actions in a step of type A, in P. The proof has 1/2e.
const ACTIONS_A: f64 = 0.6;
/// Attempts in steps of type B, in P·D.
const ATTEMPTS_B: f64 = 2.0;
/// The constant of Theorem 4.5.
const TIME: f64 = 2.5;

/// What can go wrong in steps of type A. Work stealing always has P deques, most of them empty.
const TYPE_A: &[Mutant] = mutants![Serial, Half, Victim0, Neighbour; STEALING, EQUAL_SPEEDS];

pub(crate) const TIME_CLAIMS: &[Claim] = &[
    Claim {
        id: "dfd-lem-4-4-a",
        paper: Paper::Dfd,
        name: "Lemma 4.4, type A",
        statement: "A step that begins with at least P deques executes at least P/2e actions on average",
        quantity: "0.6·P against the mean of the actions in such steps",
        scope: "Unit instructions, quotas so small that deques are many; P ≥ 8. Steps in which nobody steals execute P actions \
            and are not counted. The proof's constant is 1/2e; the constant that is checked is ours.",
        mutants: TYPE_A,
        few: "",
        attempt: type_a_mean,
    },
    Claim {
        id: "dfd-lem-4-4-a-chance",
        paper: Paper::Dfd,
        name: "Lemma 4.4, type A",
        statement: "A step that begins with at least P deques executes P/4e actions with chance at least 1/10",
        quantity: "frequency of fewer than P/2 actions against 1/10",
        scope: "As above, P ≥ 16. The proof has P/4e actions and allows fewer with a chance of 9/10. Every run that works at all \
            keeps this, so the bound that is checked is ours.",
        mutants: TYPE_A,
        few: "",
        attempt: type_a_chance,
    },
    Claim {
        id: "dfd-lem-4-4-a-steps",
        paper: Paper::Dfd,
        name: "Lemma 4.4, steps of type A",
        statement: "There are at most 40e·W/P steps of type A on average",
        quantity: "mean number of steps of type A against 1.5·W/P",
        scope: "As above; the proof's constant is 40e = 108.7; the constant that is checked is ours.",
        mutants: TYPE_A,
        few: "",
        attempt: type_a_steps,
    },
    Claim {
        id: "dfd-lem-4-4-a-tail",
        paper: Paper::Dfd,
        name: "Lemma 4.4, steps of type A, tail",
        statement: "There are at most 80e·W/P + 40·ln 1/ε steps of type A with chance at least 1 − ε",
        quantity: "frequency of more than 1.5·(W/P + ln 1/ε) against ε",
        scope: "ε = 1/2, 1/4, …, 1/32. The proof's constants are 80e and 40; the constant that is checked is ours.",
        mutants: TYPE_A,
        few: "",
        attempt: type_a_tail,
    },
    Claim {
        id: "dfd-lem-4-4-phases",
        paper: Paper::Dfd,
        name: "Lemma 4.4, phases",
        statement: "In a phase of P attempts of type B the potential falls by a quarter with chance over 1/4",
        quantity: "frequency of phases with a smaller fall against 3/4",
        scope: "Potential of a node at depth d: 3^(2(D−d)) in a deque, a third of it when it executes. Phases hold P to 2P − 1 \
            attempts; what steps of type A do between them counts with the phase.",
        mutants: mutants![Serial, Themselves, Victim0, Neighbour, Half, GivesUp],
        few: "",
        attempt: phases,
    },
    Claim {
        id: "dfd-lem-4-4-b",
        paper: Paper::Dfd,
        name: "Lemma 4.4, type B",
        statement: "There are O(P·D) steal attempts in steps of type B on average",
        quantity: "mean number of attempts against 2·P·D",
        scope: "All quotas, and K = ∞, where every step is of type B until all P have a deque. The constant is ours.",
        mutants: mutants![Serial, Themselves, Victim0, Half],
        few: "",
        attempt: type_b,
    },
    Claim {
        id: "dfd-lem-4-4-b-tail",
        paper: Paper::Dfd,
        name: "Lemma 4.4, type B, tail",
        statement: "There are O(P·(D + ln 1/ε)) attempts in steps of type B with chance at least 1 − ε",
        quantity: "frequency of more than 2·P·(D + ln 1/ε) against ε",
        scope: "As above; ε = 1/2, 1/4, …, 1/32.",
        mutants: mutants![Serial, Themselves, Victim0, Half],
        few: "",
        attempt: type_b_tail,
    },
    Claim {
        id: "dfd-thm-4-5",
        paper: Paper::Dfd,
        name: "Theorem 4.5",
        statement: "DFDeques takes O(W/P + S_a/(P·K) + D) steps on average",
        quantity: "mean steps against 2.5·(W/P + S_a/(P·K) + D)",
        scope: "S_a counts heap and frames. The constant is ours; the proof's are larger. The cost of keeping R in order is not \
            counted, as in the paper.",
        mutants: mutants![Serial, Half, Themselves, Victim0, GivesUp, CreditNothing],
        few: "",
        attempt: theorem_4_5,
    },
    Claim {
        id: "dfd-thm-4-5-tail",
        paper: Paper::Dfd,
        name: "Theorem 4.5, tail",
        statement: "Time is O(W/P + S_a/(P·K) + D + ln 1/ε) with chance at least 1 − ε",
        quantity: "frequency of more than 2.5·(W/P + S_a/(P·K) + D + ln 1/ε) against ε",
        scope: "As for the mean; ε = 1/2, 1/4, …, 1/32.",
        mutants: mutants![Serial, Half, Themselves, Victim0, GivesUp],
        few: "",
        attempt: theorem_4_5_tail,
    },
];

/// Quotas so small that almost every action gives up its deque, on many processors: steps of type A.
fn many_deques(cx: &Context<'_>, processors: &[usize]) -> Vec<Run> {
    let (depth, leaves) = cx.by_effort((7, 120), (8, 300), (10, 1000));
    let specs = vec![
        format!("dnc:depth={depth},work=2,memory=10,frame=10"),
        format!("fan:children={leaves},work=2,frame=10"),
        format!("loop:n={leaves},work=3,frame=10"),
    ];
    let quotas = [Quota::of(20), Quota::of(30)];
    in_cost_model(grid(cx, &named_in_units(specs), &dfdeques(&quotas), processors, 1))
}

/// What Lemma 4.4 counts, step by step.
#[derive(Default)]
struct Steps {
    /// The actions executed in each step of type A in which somebody steals.
    a: Vec<u64>,
    /// Attempts in steps of type B.
    attempts_b: u64,
    /// For each phase of type B, the share of the potential that was left at its end.
    phases: Vec<f64>,
}

fn steps(run: &Run) -> Result<(Steps, Outcome), String> {
    let mut steps = Steps::default();
    let p = run.processors as u64;
    // The present phase: the potential at its start, and its attempts so far.
    let mut phase: Option<(f64, u64)> = None;
    // A failed attempt takes a step, so a processor that does not work has made an attempt.
    let mut depths = Vec::new();
    let watch = |m: &Machine<'_>, ready: &Ready| {
        if depths.is_empty() {
            // Of the computation that runs, including dummy threads.
            depths = path_lengths(m.computation()).into_iter().map(|length| length - 1).collect();
        }
        let working = m.working() as u64;
        let Some(deques) = m.deques_before_steals() else { return };
        if deques as u64 >= p {
            return steps.a.push(working);
        }
        let attempts = p - working;
        steps.attempts_b += attempts;
        let now = potential(m, ready, &depths);
        let (start, before) = phase.unwrap_or((now, 0));
        phase = Some((start, before + attempts));
        if before + attempts >= p {
            steps.phases.push(now / start);
            phase = None;
        }
    };
    let outcome = run.simulation().mode(Mode::Step).watch(watch).map_err(text)?;
    Ok((steps, outcome))
}

/// The potential of all ready and running nodes, relative to that of the root. `depths` are the nodes on a longest path
/// to each.
fn potential(m: &Machine<'_>, ready: &Ready, depths: &[u64]) -> f64 {
    let at = |thread| m.next_strand(thread).map_or(0.0, |s| 9f64.powi(-(depths[s.index()] as i32)));
    let Ready::Deques(deques) = ready else { return 0.0 };
    let waiting: f64 = deques.iter().flat_map(|deque| &deque.threads).map(|&t| at(t)).sum();
    let running: f64 = m.processors().filter_map(|p| m.thread_of(p)).map(|t| at(t) / 3.0).sum();
    waiting + running
}

fn type_a_mean(cx: &Context<'_>) -> Finding {
    let processors = cx.by_effort(vec![16], vec![8, 16, 32], vec![8, 16, 32, 64]);
    cx.on_average(many_deques(cx, &processors), cx.by_effort(3, 5, 20), |run| {
        let (steps, _) = steps(run)?;
        let p = run.processors as f64;
        // Without a step of type A there is nothing to check.
        let mean = match steps.a.len() {
            0 => p,
            count => steps.a.iter().sum::<u64>() as f64 / count as f64,
        };
        let sample = Sample::new(ACTIONS_A * p / mean, 1.0);
        Ok(sample.constant_at_least("P actions", mean / p, ACTIONS_A, 1.0 / (2.0 * E)))
    })
}

fn type_a_chance(cx: &Context<'_>) -> Finding {
    let processors = cx.by_effort(vec![16], vec![16, 32], vec![16, 32, 64]);
    let name = |_: (u32, u32)| "steps of type A".to_owned();
    cx.rarely(many_deques(cx, &processors), cx.by_effort(1, 2, 8), name, |run, tally| {
        let (steps, _) = steps(run)?;
        let p = run.processors as u64;
        steps.a.iter().for_each(|&actions| tally.count((0, 0), 0.1, 2 * actions < p));
        Ok(())
    })
}

fn type_a_steps(cx: &Context<'_>) -> Finding {
    let processors = cx.by_effort(vec![16], vec![8, 16, 32], vec![8, 16, 32, 64]);
    cx.on_average(many_deques(cx, &processors), cx.by_effort(3, 5, 20), |run| {
        let (steps, outcome) = steps(run)?;
        let unit = outcome.dollars.work as f64 / run.processors as f64;
        let count = steps.a.len() as f64;
        Ok(Sample::new(count, STEPS_A * unit).constant("W/P", count / unit, STEPS_A, 40.0 * E))
    })
}

fn type_a_tail(cx: &Context<'_>) -> Finding {
    let processors = cx.by_effort(vec![16], vec![8, 32], vec![8, 16, 32, 64]);
    cx.rarely(many_deques(cx, &processors), cx.by_effort(8, 12, 60), epsilon, |run, tally| {
        let (steps, outcome) = steps(run)?;
        let unit = outcome.dollars.work as f64 / run.processors as f64;
        let count = steps.a.len() as f64;
        count_tails(tally, |ln| count > STEPS_A_TAIL * (unit + ln));
        let proof = Some(80.0 * E);
        tally.constant(Constant::at_most("W/P", count / unit, STEPS_A_TAIL, proof));
        Ok(())
    })
}

/// Computations with enough to do for P processors, and little parallelism at times.
fn few_deques(cx: &Context<'_>) -> Vec<Run> {
    let (depth, leaves) = cx.by_effort((6, 40), (7, 80), (9, 300));
    let specs = vec![
        format!("dnc:depth={depth},work=4,memory=10,frame=10"),
        format!("skewed:leaves={leaves},work=3,memory=10,frame=10"),
        format!("loop:n={leaves},work=3,repeat=3,frame=10"),
        format!("hoard:spines=4,levels={leaves},bytes=10,frame=10"),
    ];
    let quotas = [Quota::of(20), Quota::of(100), Quota::Infinite];
    let processors = cx.by_effort(vec![8], vec![4, 8, 16], vec![4, 8, 16, 32]);
    in_cost_model(grid(cx, &named_in_units(specs), &dfdeques(&quotas), &processors, 1))
}

fn phases(cx: &Context<'_>) -> Finding {
    let name = |_: (u32, u32)| "phases of type B".to_owned();
    cx.rarely(few_deques(cx), cx.by_effort(3, 4, 20), name, |run, tally| {
        let (steps, _) = steps(run)?;
        steps.phases.iter().for_each(|&left| tally.count((0, 0), 0.75, left > 0.75));
        Ok(())
    })
}

fn type_b(cx: &Context<'_>) -> Finding {
    cx.on_average(few_deques(cx), cx.by_effort(3, 6, 30), |run| {
        let (steps, _) = steps(run)?;
        let unit = (run.processors as u64 * run.measures().span) as f64;
        let attempts = steps.attempts_b as f64;
        Ok(Sample::new(attempts, ATTEMPTS_B * unit).constant("P·D", attempts / unit, ATTEMPTS_B, None))
    })
}

fn type_b_tail(cx: &Context<'_>) -> Finding {
    cx.rarely(few_deques(cx), cx.by_effort(8, 12, 60), epsilon, |run, tally| {
        let (steps, _) = steps(run)?;
        let (p, depth) = (run.processors as f64, run.measures().span as f64);
        let attempts = steps.attempts_b as f64;
        count_tails(tally, |ln| attempts > ATTEMPTS_B * p * (depth + ln));
        let measured = attempts / (p * depth);
        tally.constant(Constant::at_most("P·D", measured, ATTEMPTS_B, None));
        Ok(())
    })
}

fn for_time(cx: &Context<'_>) -> Vec<Run> {
    let processors: &[usize] = cx.by_effort(&[8, 16], &[2, 4, 8, 32], &[2, 4, 8, 16, 32, 64]);
    let mut computations = named(allocating(cx, true, 8));
    let wide = cx.by_effort(7, 9, 11);
    computations.push(Named::new(&format!("dnc:depth={wide},work=4,frame=8")));
    computations.push(Named::new(&format!("loop:n={},work=20,frame=8", 1 << wide)));
    in_cost_model(grid(cx, &computations, &dfdeques(&QUOTAS), processors, 1))
}

/// W/P + S_a/(P·K) + D.
fn unit_of_time(run: &Run, outcome: &Outcome) -> f64 {
    let m = run.measures();
    let depth = outcome.with_dummies.as_ref().map_or(m.span, |with| Measures::of(&with.computation).span);
    let c = run.computation();
    let stack: u64 = c.threads().filter(|&t| t != c.root()).map(|t| c.frame(t)).sum();
    let p = run.processors as f64;
    let allocated = (m.allocated + stack) as f64;
    let dummies = if bytes(run) == u64::MAX { 0.0 } else { allocated / (p * bytes(run) as f64) };
    m.work as f64 / p + dummies + depth as f64
}

fn theorem_4_5(cx: &Context<'_>) -> Finding {
    cx.on_average(for_time(cx), cx.by_effort(4, 8, 40), |run| {
        let outcome = run.outcome()?;
        let (time, unit) = (outcome.makespan as f64, unit_of_time(run, &outcome));
        Ok(Sample::new(time, TIME * unit).constant("W/P + S_a/PK + D", time / unit, TIME, None))
    })
}

fn theorem_4_5_tail(cx: &Context<'_>) -> Finding {
    cx.rarely(for_time(cx), cx.by_effort(8, 12, 60), epsilon, |run, tally| {
        let outcome = run.outcome()?;
        let (time, unit) = (outcome.makespan as f64, unit_of_time(run, &outcome));
        count_tails(tally, |ln| time > TIME * (unit + ln));
        let constant = Constant::at_most("W/P + S_a/PK + D", time / unit, TIME, None);
        tally.constant(constant);
        Ok(())
    })
}
