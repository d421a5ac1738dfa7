//! The claims of DFD (Narlikar): the order of its list of deques, its kinship with work stealing, and its bounds on
//! space and time.
//!
//! Its cost model is used: when several thieves meet at a deque, one succeeds and the others fail (§4.1). Computations
//! are nested-parallel. The constants of its O(·) are not in the paper; those here are ours and say so.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample};
use crate::finding::Finding;
use crate::run::{Named, Run, grid, named, named_in_units, processors, text, trace};
use bombyx_dag::Measures;
use bombyx_sim::{
    AttemptResult, Contention, Event, EventKind, Invariant, Mode, Mutation, Outcome, ProcessorId, Quota,
    Scheduler,
};

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "dfd-lem-3-1",
        paper: Paper::Dfd,
        name: "Lemma 3.1",
        statement: "The deques of R from left to right hold the threads in the order of their priorities",
        quantity: "states that break it",
        scope: "Nested-parallel computations with memory, several quotas K, dummy threads included.",
        mutation: "a thief's new deque is placed left of its victim",
        attempt: lemma_3_1,
    },
    Claim {
        id: "dfd-quota",
        paper: Paper::Dfd,
        name: "§3.3, quota",
        statement: "From one steal to the next a processor allocates at most K bytes net",
        quantity: "most net bytes against K",
        scope: "Allocations of more than K bytes are paid by their dummy threads and do not count.",
        mutation: "the quota is 4·K",
        attempt: quota,
    },
    Claim {
        id: "dfd-k-inf",
        paper: Paper::Dfd,
        name: "§3.3, K = ∞",
        statement: "Without a quota DFDeques is work stealing: the same schedule, step for step",
        quantity: "events that differ",
        scope: "Both make the same random choices: the victims of one run are given to the other. All contention models.",
        mutation: "a quota of 40 bytes",
        attempt: infinite_quota,
    },
    Claim {
        id: "dfd-lem-4-1",
        paper: Paper::Dfd,
        name: "Lemma 4.1",
        statement: "At most O(P·D) heavy nodes are premature at any time, on average",
        quantity: "mean of the most heavy premature nodes against P·D",
        scope: "Unit instructions that allocate at most K; the constant 1 is ours. Heavy: first after a steal; premature: \
            executed before something that comes earlier in the serial order.",
        mutation: "the bound without the depth D",
        attempt: lemma_4_1,
    },
    Claim {
        id: "dfd-thm-4-3",
        paper: Paper::Dfd,
        name: "Theorem 4.3",
        statement: "DFDeques uses S1 + O(min(K, S1)·P·D) space on average",
        quantity: "mean peak of memory against S1 + min(K, S1)·P·D",
        scope: "Heap memory, with frames of 0 bytes, since the quota counts the heap only; the constant 1 is ours. D is the \
            depth with dummy threads.",
        mutation: "one FIFO queue in place of DFDeques",
        attempt: theorem_4_3,
    },
    Claim {
        id: "dfd-thm-4-5",
        paper: Paper::Dfd,
        name: "Theorem 4.5",
        statement: "DFDeques takes O(W/P + S_a/(P·K) + D) steps on average",
        quantity: "mean steps against 4·(W/P + S_a/(P·K) + D)",
        scope: "The constant 4 is ours; the proof's are larger. The cost of keeping R in order is not counted, as in the \
            paper.",
        mutation: "thieves choose no deque",
        attempt: theorem_4_5,
    },
];

/// Nested-parallel computations that allocate, with frames of 0 bytes.
fn allocating(cx: &Context<'_>, large: bool) -> Vec<String> {
    let (depth, leaves) = if large { (7, 60) } else { (4, 12) };
    let random = cx.by_effort(1, 4, 20);
    let seeds = (0..random).map(|nth| cx.seed(nth));
    let geometric =
        seeds.map(|seed| format!("geometric:depth={depth},memory=300,grain=6,seed={seed},frame=0"));
    let fixed = [
        format!("dnc:depth={depth},work=4,memory=40,frame=0"),
        format!("skewed:leaves={leaves},work=3,memory=25,frame=0"),
    ];
    geometric.chain(fixed).collect()
}

const QUOTAS: [Quota; 4] = [Quota::Bytes(25), Quota::Bytes(100), Quota::Bytes(1_000), Quota::Infinite];

fn dfdeques(quotas: &[Quota]) -> Vec<Scheduler> {
    quotas.iter().map(|&quota| Scheduler::Dfdeques(quota)).collect()
}

fn several(cx: &Context<'_>) -> Vec<usize> {
    processors(cx).iter().copied().filter(|&p| p > 1).collect()
}

fn in_cost_model(runs: Vec<Run>) -> Vec<Run> {
    runs.into_iter().map(|run| run.contention(Contention::Denied)).collect()
}

fn lemma_3_1(cx: &Context<'_>) -> Finding {
    let computations = named(allocating(cx, false));
    let runs = grid(cx, &computations, &dfdeques(&QUOTAS), processors(cx), cx.by_effort(1, 5, 20));
    cx.always(in_cost_model(runs), |run| {
        let mut simulation = run.simulation().mode(Mode::Step).check(Invariant::Lemma31);
        if cx.mutated() {
            simulation = simulation.mutate(Mutation::NewDequeLeft);
        }
        simulation.run().map(|_| Sample::HELD).map_err(text)
    })
}

fn quota(cx: &Context<'_>) -> Finding {
    let factor = if cx.mutated() { 4 } else { 1 };
    let schedulers = [25, 100, 1_000].map(|k| Scheduler::Dfdeques(Quota::Bytes(factor * k)));
    let runs = grid(cx, &named(allocating(cx, true)), &schedulers, processors(cx), cx.by_effort(1, 3, 10));
    cx.always(in_cost_model(runs), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let c = outcome.with_dummies.as_ref().map_or(run.computation(), |with| &with.computation);
        let k = bytes(run) / factor;
        let mut most = 0;
        for events in trace(&outcome).by_processor(run.processors) {
            let mut net = 0_i128;
            for event in events {
                match event.kind {
                    EventKind::Attempt { .. } => net = 0,
                    EventKind::Execute { strand, complete } => {
                        let bytes = c.allocated(strand);
                        net += if bytes <= k { i128::from(bytes) } else { 0 };
                        most = most.max(net);
                        net -= if complete { i128::from(c.freed(strand)) } else { 0 };
                    }
                }
            }
        }
        Ok(Sample::of(u64::try_from(most).unwrap_or(0), k))
    })
}

/// The victims of every processor's attempts, in order.
fn victims(outcome: &Outcome) -> Vec<Vec<Option<u32>>> {
    let mut victims = vec![Vec::new(); outcome.processors];
    for event in trace(outcome).attempts() {
        if let EventKind::Attempt { victim, .. } = event.kind {
            victims[event.processor.index()].push(victim.map(|p| p.0));
        }
    }
    victims
}

/// A trace in which choices are known only by the processor that they hit.
fn plain(outcome: &Outcome) -> Vec<(u64, u64, ProcessorId, String)> {
    let describe = |event: &Event| match event.kind {
        EventKind::Execute { strand, .. } => strand.to_string(),
        EventKind::Attempt { result: AttemptResult::Stolen(t), victim, .. } => format!("{t} of {victim:?}"),
        EventKind::Attempt { result, .. } => result.to_string(),
    };
    let mut plain: Vec<_> =
        trace(outcome).events().iter().map(|e| (e.to, e.from, e.processor, describe(e))).collect();
    plain.sort_unstable();
    plain
}

fn infinite_quota(cx: &Context<'_>) -> Finding {
    let quota = if cx.mutated() { Quota::Bytes(40) } else { Quota::Infinite };
    let mut runs =
        grid(cx, &named(allocating(cx, false)), &dfdeques(&[quota]), &several(cx), cx.by_effort(2, 12, 60));
    for (run, model) in runs.iter_mut().zip(Contention::ALL.into_iter().cycle()) {
        run.contention = model;
    }
    cx.always(runs, |run| {
        let ours = run.simulation().trace().run().map_err(text)?;
        let stealing = run.under(Scheduler::WorkStealing);
        let theirs = stealing.simulation().choices(victims(&ours)).trace().run().map_err(text)?;
        let (ours, theirs) = (plain(&ours), plain(&theirs));
        let common = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
        Ok(Sample::of((common + ours.len().abs_diff(theirs.len())) as u64, 0))
    })
}

/// The most heavy premature nodes at any time (DFD §4.2). A heavy node h is premature from its execution until every
/// node before it in the serial order is executed.
fn heavy_premature(run: &Run, outcome: &Outcome) -> u64 {
    let c = run.computation();
    let ends = trace(outcome).ends(c.strand_count());
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

fn lemma_4_1(cx: &Context<'_>) -> Finding {
    let quotas = [Quota::Bytes(600), Quota::Bytes(2_000), Quota::Infinite];
    let runs = grid(cx, &named_in_units(allocating(cx, true)), &dfdeques(&quotas), &several(cx), 1);
    cx.on_average(in_cost_model(runs), cx.by_effort(4, 20, 60), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let depth = if cx.mutated() { 1 } else { run.measures().span };
        Ok(Sample::of(heavy_premature(run, &outcome), run.processors as u64 * depth))
    })
}

/// K, or more than any memory if there is no quota.
fn bytes(run: &Run) -> u64 {
    match run.scheduler {
        Scheduler::Dfdeques(Quota::Bytes(k)) => k,
        _ => u64::MAX,
    }
}

fn theorem_4_3(cx: &Context<'_>) -> Finding {
    let mut computations = named(allocating(cx, true));
    let deep = cx.by_effort(6, 10, 10);
    computations.push(Named::new(&format!("dnc:depth={deep},work=2,memory=100,frame=0")));
    let runs = grid(cx, &computations, &dfdeques(&QUOTAS), &several(cx), 1);
    cx.on_average(in_cost_model(runs), cx.by_effort(4, 20, 60), |run| {
        let outcome = run.outcome()?;
        let m = run.measures();
        let depth = outcome.with_dummies.as_ref().map_or(m.span, |with| Measures::of(&with.computation).span);
        let bound = m.serial_space + bytes(run).min(m.serial_space) * run.processors as u64 * depth;
        let peak = match cx.mutated() {
            true => run.under(Scheduler::Fifo).outcome()?.peak.total,
            false => outcome.peak.total,
        };
        Ok(Sample::of(peak, bound))
    })
}

fn theorem_4_5(cx: &Context<'_>) -> Finding {
    let several: &[usize] = cx.by_effort(&[8, 16], &[2, 4, 8, 32], &[2, 4, 8, 16, 32, 64]);
    let mut computations = named(allocating(cx, true));
    let wide = cx.by_effort(7, 9, 11);
    computations.push(Named::new(&format!("dnc:depth={wide},work=4,frame=0")));
    let runs = grid(cx, &computations, &dfdeques(&QUOTAS), several, 1);
    cx.on_average(in_cost_model(runs), cx.by_effort(4, 20, 60), |run| {
        let m = run.measures();
        let simulation = run.simulation();
        let outcome = match cx.mutated() {
            true => {
                let nowhere = vec![vec![None; m.work as usize]; run.processors];
                simulation.choices(nowhere).run().map_err(text)?
            }
            false => simulation.run().map_err(text)?,
        };
        let depth = outcome.with_dummies.as_ref().map_or(m.span, |with| Measures::of(&with.computation).span);
        let p = run.processors as f64;
        let dummies = if bytes(run) == u64::MAX { 0.0 } else { m.allocated as f64 / (p * bytes(run) as f64) };
        Ok(Sample::new(outcome.makespan as f64, 4.0 * (m.work as f64 / p + dummies + depth as f64)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_processor_nothing_is_premature() {
        let run =
            Run::new(&Named::in_units("dnc:depth=4,work=2,frame=0"), Scheduler::Dfdeques(Quota::Infinite), 1);
        let outcome = run.simulation().trace().run().unwrap();
        assert_eq!(heavy_premature(&run, &outcome), 0);
        let named = Named::in_units("dnc:depth=4,work=2,frame=0");
        let run = Run::new(&named, Scheduler::Dfdeques(Quota::Infinite), 4);
        let outcome = run.simulation().trace().run().unwrap();
        assert!(heavy_premature(&run, &outcome) > 0);
    }
}
