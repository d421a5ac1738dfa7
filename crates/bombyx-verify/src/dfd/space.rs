//! DFD §4.2: heavy premature nodes (Lemma 4.1), what they mean for space and threads (Lemma 4.2), the bound on space
//! (Theorem 4.3), and computations that need as much.

use super::{
    BUSY_LEAVES, DEPTH_FIRST, FIFO, GREEDY, QUOTAS, STEALING, allocating, bytes, count_tails, dfdeques,
    epsilon, in_cost_model, ran, several,
};
use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample};
use crate::finding::{Constant, Finding};
use crate::mutant::mutants;
use crate::run::{Named, Run, grid, named, named_in_units, text, trace};
use bombyx_dag::Measures;
use bombyx_sim::{AttemptResult, EventKind, Outcome, Quota, Scheduler};

/// The constant of Lemma 4.1 that is checked.
const HEAVY: f64 = 1.0;
/// The constant of Theorem 4.3 that is checked.
const SPACE: f64 = 0.5;
/// The least share of min(K, S1)·P·D that the tight example needs.
const TIGHT: f64 = 1.0 / 12.0;

pub(crate) const SPACE_CLAIMS: &[Claim] = &[
    Claim {
        id: "dfd-lem-4-1",
        paper: Paper::Dfd,
        name: "Lemma 4.1",
        statement: "At most O(P·D) heavy nodes are premature at any time, on average",
        quantity: "mean of the most heavy premature nodes against P·D",
        scope: "Unit instructions that allocate at most K, with quotas at which processors give up; the constant is ours. A heavy \
            instruction is the first after a steal; a premature one is executed before something that comes earlier in the serial \
            order.",
        mutants: mutants![StealRight, StealAnywhere, KeepParent, StealBottom, CreditNothing],
        few: "",
        attempt: lemma_4_1,
    },
    Claim {
        id: "dfd-lem-4-1-tail",
        paper: Paper::Dfd,
        name: "Lemma 4.1, tail",
        statement: "There are O(P·(D + ln 1/ε)) heavy premature nodes with chance at least 1 − ε",
        quantity: "frequency of more than P·(D + ln 1/ε) against ε",
        scope: "As for the mean; ε = 1/2, 1/4, …, 1/32; the constant is ours.",
        mutants: mutants![StealRight, StealAnywhere, KeepParent, StealBottom, CreditNothing],
        few: "",
        attempt: lemma_4_1_tail,
    },
    Claim {
        id: "dfd-lem-4-2",
        paper: Paper::Dfd,
        name: "Lemma 4.2, space",
        statement: "With τ heavy premature nodes at most, space is at most S1 + τ·min(K, S1)",
        quantity: "peak of heap and frames against S1 + τ·min(K, S1)",
        scope: "Every action allocates at most K. No constant: τ is counted in the same run.",
        mutants: mutants![IgnoreQuota, KeepParent; FIFO, DEPTH_FIRST],
        few: "",
        attempt: lemma_4_2_space,
    },
    Claim {
        id: "dfd-lem-4-2-threads",
        paper: Paper::Dfd,
        name: "Lemma 4.2, threads",
        statement: "With τ heavy premature nodes at most, at most D + τ·min(K, S1) threads are active",
        quantity: "most active threads against D + τ·min(K, S1)",
        scope: "Every thread has a frame of a byte, as the proof asks for, and nothing else. No constant.",
        mutants: mutants![KeepParent; FIFO, DEPTH_FIRST, BUSY_LEAVES, GREEDY],
        few: "",
        attempt: lemma_4_2_threads,
    },
    Claim {
        id: "dfd-thm-4-3",
        paper: Paper::Dfd,
        name: "Theorem 4.3",
        statement: "DFDeques uses S1 + O(min(K, S1)·P·D) space on average",
        quantity: "mean peak of memory against S1 + 0.5·min(K, S1)·P·D",
        scope: "Heap and frames; allocations above K are included, and D is the depth with their dummy threads. The constant is \
            ours.",
        mutants: mutants![NoDummies, KeepDequeAfterDummy, IgnoreQuota, StealRight, StealAnywhere, KeepParent; STEALING, FIFO],
        few: "",
        attempt: theorem_4_3,
    },
    Claim {
        id: "dfd-thm-4-3-tail",
        paper: Paper::Dfd,
        name: "Theorem 4.3, tail",
        statement: "Space is S1 + O(min(K, S1)·P·(D + ln 1/ε)) with chance at least 1 − ε",
        quantity: "frequency of more than S1 + 0.5·min(K, S1)·P·(D + ln 1/ε) against ε",
        scope: "As for the mean; ε = 1/2, 1/4, …, 1/32; the constant is ours.",
        mutants: mutants![NoDummies, KeepDequeAfterDummy, IgnoreQuota, KeepParent; STEALING, FIFO],
        few: "",
        attempt: theorem_4_3_tail,
    },
    Claim {
        id: "dfd-thm-4-3-tight",
        paper: Paper::Dfd,
        name: "Theorem 4.3, tight",
        statement: "Some computations need Ω(min(K, S1)·P·D) space under DFDeques(K)",
        quantity: "min(K, S1)·P·D/12 against the mean peak of memory",
        scope: "`hoard`: continuations that hold a block of K bytes until the chain below has returned; P is twice the number of \
            chains. The paper's own example is in a report that we do not have.",
        mutants: mutants![Serial, Half, Themselves, Victim0, Neighbour, GivesUp, KeepParent, StealBottom],
        few: "",
        attempt: theorem_4_3_tight,
    },
    Claim {
        id: "dfd-ws-space",
        paper: Paper::Dfd,
        name: "§4.2, WS",
        statement: "Work stealing can need Ω(S1·P·D) space, where memory is not like a stack",
        quantity: "S1·P·D/12 against the mean peak of memory",
        scope: "`hoard` again, under work-stealing. BL's S1·P holds for frames only.",
        mutants: mutants![Serial, Half, Themselves, Victim0, Neighbour, GivesUp, KeepParent, StealBottom; DEPTH_FIRST, BUSY_LEAVES],
        few: "",
        attempt: stealing_needs_space,
    },
    Claim {
        id: "dfd-fn-7",
        paper: Paper::Dfd,
        name: "§4.2, stacks",
        statement: "Where memory is like a stack, DFDeques(∞) uses at most S1·P",
        quantity: "bytes of frames against S1·P",
        scope: "Frames only (footnote 7): BL's bound for its work stealer.",
        mutants: mutants![KeepParent, StealBottom; FIFO, DEPTH_FIRST],
        few: "",
        attempt: stack_like,
    },
];

/// The most heavy premature nodes at any time (DFD §4.2). A heavy node h is premature from its execution until every
/// node before it in the serial order is executed.
fn heavy_premature(run: &Run, outcome: &Outcome) -> u64 {
    let ends = trace(outcome).ends(ran(run, outcome).strand_count());
    let mut overtaken = ends.clone();
    for at in 1..overtaken.len() {
        overtaken[at] = overtaken[at].max(overtaken[at - 1]);
    }
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for events in trace(outcome).by_processor(run.processors) {
        for pair in events.windows(2) {
            if let (
                EventKind::Attempt { result: AttemptResult::Stolen(_), .. },
                EventKind::Execute { strand, .. },
            ) = (pair[0].kind, pair[1].kind)
                && overtaken[strand.index()] > ends[strand.index()]
            {
                changes.push((ends[strand.index()], 1));
                changes.push((overtaken[strand.index()], -1));
            }
        }
    }
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most.unsigned_abs()
}

/// Computations whose actions allocate at most 48 bytes, and quotas above that.
fn modest(cx: &Context<'_>) -> Vec<Run> {
    let (depth, leaves) = cx.by_effort((8, 60), (8, 60), (9, 100));
    let specs = vec![
        format!("dnc:depth={depth},work=2,memory=40,frame=8"),
        format!("skewed:leaves={leaves},work=2,memory=25,frame=8"),
        format!("hoard:spines=4,levels={leaves},bytes=40,slow=2,frame=8"),
        format!("fan:children={leaves},work=3,frame=40"),
    ];
    let quotas = [Quota::of(48), Quota::of(200), Quota::Infinite];
    let processors = cx.by_effort(vec![8], vec![2, 4, 8, 16], vec![2, 4, 8, 16, 32]);
    in_cost_model(grid(cx, &named_in_units(specs), &dfdeques(&quotas), &processors, 1))
}

fn lemma_4_1(cx: &Context<'_>) -> Finding {
    cx.on_average(modest(cx), cx.by_effort(6, 12, 60), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let unit = (run.processors as u64 * run.measures().span) as f64;
        let heavy = heavy_premature(run, &outcome) as f64;
        Ok(Sample::new(heavy, HEAVY * unit).constant("P·D", heavy / unit, HEAVY, None))
    })
}

fn lemma_4_1_tail(cx: &Context<'_>) -> Finding {
    cx.rarely(modest(cx), cx.by_effort(12, 40, 200), epsilon, |run, tally| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let heavy = heavy_premature(run, &outcome) as f64;
        let (p, depth) = (run.processors as f64, run.measures().span as f64);
        count_tails(tally, |ln| heavy > HEAVY * p * (depth + ln));
        tally.constant(Constant::at_most("P·D", heavy / (p * depth), HEAVY, None));
        Ok(())
    })
}

fn lemma_4_2_space(cx: &Context<'_>) -> Finding {
    let runs = modest(cx).into_iter();
    let runs = runs.flat_map(|run| (0..cx.by_effort(1, 5, 20)).map(move |nth| with_seed(&run, cx.seed(nth))));
    cx.always(runs.collect(), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let s1 = run.measures().serial_space;
        let bound = s1.saturating_add(heavy_premature(run, &outcome).saturating_mul(bytes(run).min(s1)));
        Ok(Sample::of(outcome.peak.total, bound))
    })
}

fn with_seed(run: &Run, seed: u64) -> Run {
    crate::context::Subject::with_seed(run, seed)
}

fn lemma_4_2_threads(cx: &Context<'_>) -> Finding {
    let (depth, leaves) = cx.by_effort((6, 60), (8, 100), (10, 300));
    let specs = vec![
        format!("dnc:depth={depth},work=2,frame=1"),
        format!("skewed:leaves={leaves},work=2,frame=1"),
        format!("fan:children={leaves},work=3,frame=1"),
        format!("loop:n={leaves},work=3,frame=1"),
    ];
    let quotas = [Quota::of(1), Quota::of(3)];
    let runs = grid(cx, &named_in_units(specs), &dfdeques(&quotas), &several(cx), cx.by_effort(1, 4, 20));
    cx.always(in_cost_model(runs), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let m = run.measures();
        let bound = m.span + heavy_premature(run, &outcome) * bytes(run).min(m.serial_space);
        Ok(Sample::of(outcome.peak.threads, bound))
    })
}

/// Computations with allocations far above some quotas, which their dummies delay.
fn greedy_for_memory(cx: &Context<'_>) -> Vec<Run> {
    let deep = cx.by_effort(6, 8, 9);
    let mut computations = named(allocating(cx, true, 8));
    computations.push(Named::new(&format!("dnc:depth={deep},work=2,memory=100,frame=8")));
    computations.push(Named::new(&format!("fan:children={},work=4,frame=400", 1 << deep)));
    computations.push(Named::new("hoard:spines=4,levels=60,bytes=25,blocks=40,slow=3"));
    let processors = cx.by_effort(vec![8], vec![2, 4, 8, 16], vec![2, 4, 8, 16, 32]);
    in_cost_model(grid(cx, &computations, &dfdeques(&QUOTAS), &processors, 1))
}

/// The depth with dummy threads.
fn depth(run: &Run, outcome: &Outcome) -> f64 {
    outcome.with_dummies.as_ref().map_or(run.measures().span, |with| Measures::of(&with.computation).span)
        as f64
}

fn theorem_4_3(cx: &Context<'_>) -> Finding {
    cx.on_average(greedy_for_memory(cx), cx.by_effort(4, 8, 40), |run| {
        let outcome = run.outcome()?;
        let s1 = run.measures().serial_space;
        let unit = bytes(run).min(s1) as f64 * run.processors as f64 * depth(run, &outcome);
        let peak = outcome.peak.total as f64;
        let constant = (peak - s1 as f64).max(0.0) / unit;
        Ok(Sample::new(peak, s1 as f64 + SPACE * unit).constant("min(K,S1)·P·D", constant, SPACE, None))
    })
}

fn theorem_4_3_tail(cx: &Context<'_>) -> Finding {
    cx.rarely(greedy_for_memory(cx), cx.by_effort(10, 20, 100), epsilon, |run, tally| {
        let outcome = run.outcome()?;
        let s1 = run.measures().serial_space as f64;
        let unit = (bytes(run) as f64).min(s1) * run.processors as f64;
        let (peak, depth) = (outcome.peak.total as f64, depth(run, &outcome));
        count_tails(tally, |ln| peak > s1 + SPACE * unit * (depth + ln));
        let measured = (peak - s1).max(0.0) / (unit * depth);
        tally.constant(Constant::at_most("min(K,S1)·P·D", measured, SPACE, None));
        Ok(())
    })
}

fn hoards(cx: &Context<'_>, scheduler: Scheduler) -> Vec<Run> {
    let sizes =
        cx.by_effort(vec![(4, 60)], vec![(2, 100), (4, 100), (8, 100)], vec![(2, 400), (8, 400), (32, 400)]);
    let run = |(spines, levels): (usize, usize)| {
        let spec = format!("hoard:spines={spines},levels={levels},bytes=100,slow=3");
        Run::new(cx, &Named::new(&spec), scheduler, 2 * spines).in_cost_model()
    };
    sizes.into_iter().map(run).collect()
}

/// The least space that a hoard needs, compared with what it takes.
fn needs_space(cx: &Context<'_>, scheduler: Scheduler) -> Finding {
    cx.on_average(hoards(cx, scheduler), cx.by_effort(4, 12, 40), |run| {
        let m = run.measures();
        let unit = (m.serial_space * m.span) as f64 * run.processors as f64;
        let peak = run.outcome()?.peak.total as f64;
        // The mean of what the run lacks must not be positive. So the bound is that of the largest peak.
        Ok(Sample::new(TIGHT * unit / peak, 1.0).constant_at_least("S1·P·D", peak / unit, TIGHT, None))
    })
}

fn theorem_4_3_tight(cx: &Context<'_>) -> Finding {
    needs_space(cx, Scheduler::Dfdeques(Quota::of(100)))
}

fn stealing_needs_space(cx: &Context<'_>) -> Finding {
    needs_space(cx, Scheduler::WorkStealing)
}

fn stack_like(cx: &Context<'_>) -> Finding {
    let (depth, leaves) = cx.by_effort((6, 60), (8, 100), (10, 300));
    let specs = vec![
        format!("dnc:depth={depth},work=2,frame=10"),
        format!("skewed:leaves={leaves},work=2,frame=10"),
        format!("fan:children={leaves},work=3,frame=10"),
        format!("geometric:depth={depth},memory=0,grain=4,seed={},frame=10", cx.seed(0)),
    ];
    let runs = grid(cx, &named(specs), &dfdeques(&[Quota::Infinite]), &several(cx), cx.by_effort(1, 4, 20));
    cx.always(in_cost_model(runs), |run| {
        Ok(Sample::of(run.outcome()?.peak.frames, run.measures().stack * run.processors as u64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_processor_nothing_is_premature() {
        let named = Named::in_units("dnc:depth=4,work=2,frame=0");
        let heavy = |processors| {
            let run = Run::right(&named, Scheduler::Dfdeques(Quota::Infinite), processors).in_cost_model();
            let outcome = run.simulation().trace().run().unwrap();
            heavy_premature(&run, &outcome)
        };
        assert_eq!(heavy(1), 0);
        assert!(heavy(4) > 0);
    }
}
