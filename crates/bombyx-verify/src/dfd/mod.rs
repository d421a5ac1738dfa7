//! The claims of DFD (Narlikar): the rules of its list of deques, of the quota and of dummy threads, and how it relates
//! to work stealing. What it says about [`space`] and [`time`] has separate files.
//!
//! **Not here:** the paper's measurements. `bombyx-lab` reproduces those.
//!
//! The runs use its cost model: when several thieves meet at a deque, one succeeds and executes in the same step, and
//! the others fail (§4.1). Computations are nested-parallel. The paper gives constants only for Lemma 4.4. The others
//! are ours, around what is measured, and say so.

mod space;
mod time;

pub(crate) use space::SPACE_CLAIMS;
pub(crate) use time::TIME_CLAIMS;

use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Tally};
use crate::finding::Finding;
use crate::mutant::{Mutant, mutants};
use crate::run::{Run, grid, named, named_in_units, processors, text, trace};
use bombyx_dag::{Computation, ThreadId};
use bombyx_sim::{
    AttemptResult, Beta, Contention, Deque, Event, EventKind, Invariant, Metering, Mode, Mutation, Outcome,
    ProcessorId, Quota, Ready, Scheduler, Status, Tariff,
};
use std::f64::consts::LN_2;

/// Schedulers without DFDeques' list, in its place.
const STEALING: Mutant = Mutant::Instead(Scheduler::WorkStealing);
const FIFO: Mutant = Mutant::Instead(Scheduler::Fifo);
const DEPTH_FIRST: Mutant = Mutant::Instead(Scheduler::DepthFirst(Quota::Infinite));
const SMALL_QUOTA: Mutant = Mutant::Instead(Scheduler::Dfdeques(Quota::of(40)));
const BUSY_LEAVES: Mutant = Mutant::Instead(Scheduler::BusyLeaves);
const GREEDY: Mutant = Mutant::Instead(Scheduler::Greedy);
const EQUAL_SPEEDS: Mutant = Mutant::Instead(Scheduler::Heterogeneous(Beta::ONE));
const SMALLER_QUOTA: Mutant = Mutant::Instead(Scheduler::Dfdeques(Quota::of(13)));

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "dfd-lem-3-1",
        paper: Paper::Dfd,
        name: "Lemma 3.1",
        statement: "The deques of R from left to right hold the threads in the order of their priorities",
        quantity: "states that break it",
        scope: "Nested-parallel computations with memory, several quotas K, dummy threads included. For fully strict \
            computations that are not nested-parallel it fails, although the paper says \"(or fully strict)\".",
        mutants: mutants![NewDequeLeft, StealBottom, KeepParent, PopTop, LeavesParent],
        few: "",
        attempt: lemma_3_1,
    },
    Claim {
        id: "dfd-quota",
        paper: Paper::Dfd,
        name: "§3.3, quota",
        statement: "From one steal to the next a processor allocates at most K bytes net, on heap and stack",
        quantity: "most net bytes against K",
        scope: "Counted from the trace: what every strand allocates and the frames of the threads that it forks, minus what of \
            this is freed. A strand that asks for more than K does not count: its dummy threads have paid for it (dfd-dummies).",
        mutants: mutants![IgnoreQuota; STEALING, FIFO, DEPTH_FIRST],
        few: "",
        attempt: quota,
    },
    Claim {
        id: "dfd-dummies",
        paper: Paper::Dfd,
        name: "§3.3, dummies",
        statement: "Before m > K bytes are allocated, ⌈m/K⌉ dummies have run, and each cost its processor a steal",
        quantity: "allocations and dummies that break it",
        scope: "The check recognizes dummies in the trace: they are inserted threads that fork nothing. After each of them its \
            processor must attempt a steal. An allocation has ⌈m/K⌉ of them, in a binary tree, and all end before it begins.",
        mutants: mutants![NoDummies, KeepDequeAfterDummy, Early; STEALING, FIFO],
        few: "",
        attempt: dummies,
    },
    Claim {
        id: "dfd-wake",
        paper: Paper::Dfd,
        name: "§3.3, waking",
        statement: "When a thread that ends wakes its parent, the processor's deque is empty, and the parent runs next",
        quantity: "wake-ups that break it",
        scope: "Nested-parallel computations, several quotas, every state of every run. A processor that has used up its quota, \
            or ended a dummy, instead leaves the parent behind, alone in a deque. Without a quota this case does not exist.",
        mutants: mutants![KeepParent, StealBottom, NewDequeLeft, LeavesParent],
        few: "",
        attempt: waking,
    },
    Claim {
        id: "dfd-k-inf",
        paper: Paper::Dfd,
        name: "§3.3, K = ∞",
        statement: "Without a quota DFDeques is work stealing: the same schedule, step for step",
        quantity: "events that differ",
        scope: "Both make the same random choices: the victims of one run are given to the other. All contention models, and \
            both step models.",
        mutants: mutants![StealBottom, KeepParent, GivesUp; SMALL_QUOTA, SMALLER_QUOTA],
        few: "",
        attempt: infinite_quota,
    },
    Claim {
        id: "dfd-p-deques",
        paper: Paper::Dfd,
        name: "§3.3, deques",
        statement: "Without a quota there are never more than P deques",
        quantity: "most deques against P",
        scope: "Nested-parallel computations. With a quota there are more deques, and thieves see only the leftmost P.",
        mutants: &[
            SMALL_QUOTA,
            SMALLER_QUOTA,
            Mutant::Instead(Scheduler::Dfdeques(Quota::of(1))),
            Mutant::Scheduler(Mutation::LeavesParent),
        ],
        few: "",
        attempt: at_most_p_deques,
    },
];

/// Nested-parallel computations that allocate.
fn allocating(cx: &Context<'_>, large: bool, frame: u64) -> Vec<String> {
    let (depth, leaves) = if large { (7, 60) } else { (4, 12) };
    let random = cx.by_effort(1, 4, 20);
    let seeds = (0..random).map(|nth| cx.seed(nth));
    let geometric =
        seeds.map(|seed| format!("geometric:depth={depth},memory=300,grain=6,seed={seed},frame={frame}"));
    let fixed = [
        format!("dnc:depth={depth},work=4,memory=40,frame={frame}"),
        format!("skewed:leaves={leaves},work=3,memory=25,frame={frame}"),
        format!("hoard:levels={leaves},bytes=30,frame={frame}"),
    ];
    geometric.chain(fixed).collect()
}

const QUOTAS: [Quota; 4] = [Quota::of(25), Quota::of(100), Quota::of(1_000), Quota::Infinite];

fn dfdeques(quotas: &[Quota]) -> Vec<Scheduler> {
    quotas.iter().map(|&quota| Scheduler::Dfdeques(quota)).collect()
}

fn several(cx: &Context<'_>) -> Vec<usize> {
    processors(cx).iter().copied().filter(|&p| p > 1).collect()
}

fn in_cost_model(runs: Vec<Run>) -> Vec<Run> {
    runs.into_iter().map(Run::in_cost_model).collect()
}

/// K, or more than any memory if there is no quota.
fn bytes(run: &Run) -> u64 {
    match run.scheduler {
        Scheduler::Dfdeques(Quota::Bytes(k)) => k.get(),
        _ => u64::MAX,
    }
}

/// The computation that ran: with dummy threads, if there were any.
fn ran<'a>(run: &'a Run, outcome: &'a Outcome) -> &'a Computation {
    outcome.with_dummies.as_ref().map_or(run.computation(), |with| &with.computation)
}

/// Counts for ε = 1/2, 1/4, …, 1/32 whether something is beyond its bound, which depends on ln 1/ε.
fn count_tails(tally: &mut Tally, beyond: impl Fn(f64) -> bool) {
    for n in 1..=5_u32 {
        tally.count((n, 0), 0.5f64.powi(n as i32), beyond(f64::from(n) * LN_2));
    }
}

/// What [`count_tails`] counts, in words.
fn epsilon((n, _): (u32, u32)) -> String {
    format!("ε = 1/{}", 1 << n)
}

fn lemma_3_1(cx: &Context<'_>) -> Finding {
    let computations = named(allocating(cx, false, 8));
    let runs = grid(cx, &computations, &dfdeques(&QUOTAS), processors(cx), cx.by_effort(1, 4, 20));
    cx.always(in_cost_model(runs), |run| {
        run.simulation().mode(Mode::Step).check(Invariant::Lemma31).run().map(|_| Sample::HELD).map_err(text)
    })
}

fn quota(cx: &Context<'_>) -> Finding {
    let schedulers = [30, 100, 1_000].map(|k| Scheduler::Dfdeques(Quota::of(k)));
    let computations = named(allocating(cx, true, 8));
    let runs = grid(cx, &computations, &schedulers, processors(cx), cx.by_effort(1, 3, 10));
    cx.always(in_cost_model(runs), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let k = bytes(run);
        let tariff = Tariff::new(ran(run, &outcome), k, Metering::HeapAndStack);
        let mut most = 0;
        for events in trace(&outcome).by_processor(run.processors) {
            let mut net = 0_i128;
            for event in events {
                match event.kind {
                    EventKind::Attempt { .. } => net = 0,
                    EventKind::Execute { strand, complete } => {
                        net += i128::from(tariff.charged(strand));
                        most = most.max(net);
                        net -= if complete { i128::from(tariff.credited(strand)) } else { 0 };
                    }
                }
            }
        }
        Ok(Sample::of(u64::try_from(most).unwrap_or(0), k))
    })
}

fn dummies(cx: &Context<'_>) -> Finding {
    let schedulers = [7, 25, 60].map(|k| Scheduler::Dfdeques(Quota::of(k)));
    let computations = named(allocating(cx, false, 8));
    let runs = grid(cx, &computations, &schedulers, processors(cx), cx.by_effort(1, 3, 10));
    cx.always(in_cost_model(runs), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let k = bytes(run);
        let demand = |s| Metering::HeapAndStack.demand(run.computation(), s);
        let owed: u64 =
            run.computation().strands().map(demand).filter(|&m| m > k).map(|m| m.div_ceil(k)).sum();
        let Some(with) = &outcome.with_dummies else {
            return Ok(Sample::of(owed, 0));
        };
        let c = &with.computation;
        let is_dummy =
            |t: ThreadId| with.inserted[t.index()] && c.strands_of(t).all(|s| c.child(s).is_none());
        let mut wrong = 0;
        let ends = trace(&outcome).ends(c.strand_count());
        let mut begins = vec![u64::MAX; c.strand_count()];
        for events in trace(&outcome).by_processor(run.processors) {
            for event in &events {
                if let EventKind::Execute { strand, .. } = event.kind {
                    let begin = &mut begins[strand.index()];
                    *begin = event.from.min(*begin);
                }
            }
            for pair in events.windows(2) {
                if let EventKind::Execute { strand, .. } = pair[0].kind
                    && is_dummy(c.thread_of(strand))
                {
                    wrong += u64::from(!matches!(pair[1].kind, EventKind::Attempt { .. }));
                }
            }
        }
        // In serial order, an allocation's dummies come right before it: how many, when the last one ended, how deep
        // their tree is.
        let (mut count, mut last, mut deepest) = (0, 0, 0);
        for strand in c.strands() {
            let thread = c.thread_of(strand);
            let Some(origin) = with.origin[strand.index()] else {
                if is_dummy(thread) {
                    count += 1;
                    last = ends[strand.index()].max(last);
                }
                let ancestors = std::iter::successors(Some(thread), |&t| c.parent(t));
                deepest = ancestors.take_while(|t| with.inserted[t.index()]).count().max(deepest);
                continue;
            };
            let m = demand(origin);
            let due = if m > k { m.div_ceil(k) } else { 0 };
            let levels = if due > 0 { due.next_power_of_two().ilog2() as usize + 1 } else { 0 };
            let on_time = due == 0 || begins[strand.index()] >= last;
            wrong += u64::from(count != due) + u64::from(!on_time) + u64::from(deepest > levels);
            (count, last, deepest) = (0, 0, 0);
        }
        Ok(Sample::of(wrong, 0))
    })
}

fn waking(cx: &Context<'_>) -> Finding {
    let runs =
        grid(cx, &named(allocating(cx, false, 8)), &dfdeques(&QUOTAS), &several(cx), cx.by_effort(2, 3, 12));
    cx.always(in_cost_model(runs), |run| {
        let (mut wrong, limited) = (0, bytes(run) < u64::MAX);
        // The state before: what each processor worked on, and which threads were stalled.
        let mut before: (Vec<Option<ThreadId>>, Vec<bool>) = Default::default();
        let simulation = run.simulation().mode(Mode::Step);
        let outcome = simulation.watch(|m, ready| {
            let c = m.computation();
            let deques = if let Ready::Deques(deques) = ready { deques.as_slice() } else { &[] };
            for p in m.processors() {
                let ended =
                    before.0.get(p.index()).copied().flatten().filter(|&t| m.status(t) == Status::Dead);
                let woken = ended.and_then(|t| c.parent(t)).filter(|&parent| {
                    before.1[parent.index()] && m.status(parent) != Status::Stalled && m.home(parent) == p
                });
                if let Some(parent) = woken {
                    let holds_nothing = |deque: &Deque| deque.threads.is_empty();
                    let own = deques.iter().find(|deque| deque.owner == Some(p));
                    let runs = m.thread_of(p) == Some(parent);
                    // A processor that has used up its quota, or ended a dummy, leaves the parent in a separate deque.
                    let gave_up =
                        deques.iter().any(|deque| deque.owner.is_none() && deque.threads == [parent]);
                    let right = if runs { own.is_none_or(holds_nothing) } else { gave_up && limited };
                    wrong += u64::from(!right);
                }
            }
            let stalled = c.threads().map(|t| m.status(t) == Status::Stalled).collect();
            before = (m.processors().map(|p| m.thread_of(p)).collect(), stalled);
        });
        outcome.map_err(text)?;
        Ok(Sample::of(wrong, 0))
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
    let computations = named(allocating(cx, false, 8));
    let schedulers = dfdeques(&[Quota::Infinite]);
    let mut runs = grid(cx, &computations, &schedulers, &several(cx), cx.by_effort(2, 12, 60));
    for (nth, run) in runs.iter_mut().enumerate() {
        match Contention::ALL.get(nth % (Contention::ALL.len() + 1)) {
            Some(&model) => run.contention = model,
            None => *run = run.clone().in_cost_model(),
        }
    }
    cx.always(runs, |run| {
        let ours = run.simulation().trace().run().map_err(text)?;
        let stealing = run.mended().under(Scheduler::WorkStealing);
        let theirs = stealing.simulation().choices(victims(&ours)).trace().run().map_err(text)?;
        let (ours, theirs) = (plain(&ours), plain(&theirs));
        let common = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
        Ok(Sample::of((common + ours.len().abs_diff(theirs.len())) as u64, 0))
    })
}

fn at_most_p_deques(cx: &Context<'_>) -> Finding {
    let computations = named_in_units(allocating(cx, true, 8));
    let runs = grid(cx, &computations, &dfdeques(&[Quota::Infinite]), processors(cx), cx.by_effort(1, 4, 20));
    cx.always(in_cost_model(runs), |run| Ok(Sample::of(run.outcome()?.peak.deques, run.processors as u64)))
}
