//! The claims of HET §3 about the enhanced Cilk scheduler: on equal processors it is Cilk, and its time on unequal ones
//! follows by the potential function of §3.2.
//!
//! Weights are by depth in the enabling tree, as in the proof that HET follows: w(v) = W∞ − d(v). Where the paper says
//! O(·), the constants here are ours and say so.

use super::{PERIODS, SPEEDS, beta, changes, erratic, factor, runs_at, within};
use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Subject, Tally};
use crate::finding::Finding;
use crate::mutant::{Mutant, mutants};
use crate::run::{Named, Run, named, named_in_units, small, text, trace};
use bombyx_dag::{Class, Computation, StrandId};
use bombyx_sim::{Beta, EventKind, Machine, Mode, Mutation, Outcome, ProcessorId, Ratio, Ready, Scheduler};

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "het-homogeneous",
        paper: Paper::Het,
        name: "§3, equal speeds",
        statement: "On equal processors the enhanced scheduler is Cilk's: the same events, no mugging",
        quantity: "muggings and events that differ",
        scope: "Fully strict computations, β = 1 and 2; also speeds within a factor β of each other.",
        mutants: mutants![MugAnyone, StealBottom, KeepParent, PushTop],
        few: "",
        attempt: homogeneous,
    },
    Claim {
        id: "het-lem-7",
        paper: Paper::Het,
        name: "Lemma 7",
        statement: "Designated parents of a deque's nodes lie on one path of the enabling tree, weights rise to the top",
        quantity: "states that break it",
        scope: "Nested-parallel computations of unit instructions, where a node enables at most two others. Of predecessors \
            executed in the same step, the continue edge's is the designated parent.",
        mutants: mutants![PushTop, PopTop, StealBottom, Share, EnableElsewhere],
        few: "",
        attempt: lemma_7,
    },
    Claim {
        id: "het-obs-1",
        paper: Paper::Het,
        name: "Observation 1",
        statement: "The work bucket ends with exactly W1 dollars, and both buckets together with π_tot per unit of time",
        quantity: "dollars that are missing or too many",
        scope: "Exact integrals; an attempt under way at the end counts for the part that was done.",
        mutants: mutants![GivesUp, BlocksAtStall, Rushes, Forgets, LeavesParent],
        few: "",
        attempt: observation_1,
    },
    Claim {
        id: "het-obs-2",
        paper: Paper::Het,
        name: "Observation 2",
        statement: "The topmost nodes hold at least 3/4 of the potential of processors with nonempty deques",
        quantity: "the rest's share of such a processor's potential, against 1/4",
        scope: "Nested-parallel computations of unit instructions, every processor at every instant.",
        mutants: mutants![PushTop, PopTop, StealBottom, Share],
        few: "",
        attempt: observation_2,
    },
    Claim {
        id: "het-thm-8",
        paper: Paper::Het,
        name: "Theorem 8",
        statement: "In a phase of (β + 2)·p attempts the potential falls by a constant factor with constant chance",
        quantity: "chance that a phase leaves more than 3/4 of the potential, or of a component of it, against 3/4",
        scope: "The constants are those of the proof that HET follows (Arora, Blumofe, Plaxton). The claim is also checked for \
            each of the proof's three components: D of processors with nonempty deques, S of slow and F of fast processors with \
            empty ones; what is left of a node is the potential of what it has enabled. F always falls, to at most 4/9. Phases \
            with an end, nested-parallel computations of unit instructions, β = 1, 1.5 and 3.",
        mutants: mutants![NoMugging, MugFaster, Themselves, MugInVain],
        few: "",
        attempt: theorem_8,
    },
    Claim {
        id: "het-phases",
        paper: Paper::Het,
        name: "Theorem 8, phases",
        statement: "There are O(W∞) phases, as the proof shows; the theorem's O(log n) is a slip",
        quantity: "phases against W∞",
        scope: "The constant 1 is ours. A chain of n instructions has about n·(p − 1)/((β + 2)·p) phases, far more than log n: a \
            test shows it. Speeds and computations as for Theorem 6.",
        mutants: mutants![NoMugging, MugFaster, Themselves],
        few: "",
        attempt: phases,
    },
    Claim {
        id: "het-thm-6",
        paper: Paper::Het,
        name: "Theorem 6",
        statement: "The enhanced scheduler takes W1/π_tot + O(W∞/π_ave) with high probability",
        quantity: "chance of more than W1/π_tot + 3·β·W∞/π_ave, against 1/20",
        scope: "The constant 3·β is ours (the proof has O(β·W∞·p) steal attempts). β = 1, 1.5 and 3.",
        mutants: mutants![NoMugging, MugFaster, MugInVain, Serial],
        few: "",
        attempt: theorem_6,
    },
    Claim {
        id: "het-fn-2",
        paper: Paper::Het,
        name: "Footnote 2",
        statement: "A root thread on a processor that stops does not stop the computation",
        quantity: "time after the stop against W1/π + 6·β·p·W∞/π, π the total speed of the others",
        scope: "The first processor stops for ever at time 1/2 to 20; the constant 6·β is ours. With steal attempts at the victim's speed the run never ends, as \
            the paper warns.",
        mutants: &[
            Mutant::Own { name: "victims-speed", about: "a steal attempt takes the time of its victim" },
            Mutant::Scheduler(Mutation::NoMugging),
            Mutant::Scheduler(Mutation::MugFaster),
        ],
        few: "",
        attempt: footnote_2,
    },
    Claim {
        id: "het-estimates",
        paper: Paper::Het,
        name: "§1, estimates",
        statement: "Estimates wrong by a factor f cost no more than a β that is f² times as large",
        quantity: "mean dollars beside work against p·3·β·f²·W∞",
        scope: "The paper asks for estimates that are mostly accurate and gives no bound; this one is ours: a processor that is \
            not mugged is at most β·f² times as slow as the thief. The fastest processor believes that it is f times slower \
            than it is, the slowest that it is f times faster; f = 2.",
        mutants: mutants![NoMugging, MugFaster, Themselves],
        few: "",
        attempt: estimates,
    },
    Claim {
        id: "het-degradation",
        paper: Paper::Het,
        name: "§3.1, changing speeds",
        statement: "The enhanced scheduler degrades gracefully as speeds change more often",
        quantity: "mean dollars beside work against p·(3·β·W∞ + 2·changes)",
        scope: "The paper gives no bound; this one and its constants are ours: every change costs at most two instructions per \
            processor. From no change to one every 5 units of time.",
        mutants: mutants![NoMugging, MugFaster, Themselves],
        few: "",
        attempt: degradation,
    },
];

fn homogeneous(cx: &Context<'_>) -> Finding {
    let mut cases = Vec::new();
    for named in &named(small(cx, Class::FullyStrict)) {
        for beta in [beta(1, 1), beta(2, 1)] {
            for speeds in ["3x3", "8x1", "2,1.5,1"].iter().filter(|s| beta > Beta::ONE || !s.contains('.')) {
                let run = Run::new(cx, named, Scheduler::Heterogeneous(beta), 1).speeds(speeds);
                cases.extend((0..cx.by_effort(1, 5, 20)).map(|nth| run.with_seed(cx.seed(nth))));
            }
        }
    }
    cx.always(cases, |run| {
        let enhanced = run.simulation().trace().run().map_err(text)?;
        let cilk = run.mended().under(Scheduler::WorkStealing);
        let cilk = cilk.simulation().trace().run().map_err(text)?;
        let (ours, theirs) = (trace(&enhanced).events(), trace(&cilk).events());
        let different = ours.iter().zip(theirs).filter(|(a, b)| a != b).count();
        let different = (different + ours.len().abs_diff(theirs.len())) as u64;
        Ok(Sample::of(different + enhanced.muggings, 0))
    })
}

fn heterogeneous() -> [Scheduler; 3] {
    [beta(1, 1), beta(3, 2), beta(3, 1)].map(Scheduler::Heterogeneous)
}

/// The enabling tree of a run: for every instruction, the last of its predecessors to be executed.
struct EnablingTree {
    parent: Vec<Option<StrandId>>,
    depth: Vec<u32>,
}

impl EnablingTree {
    fn of(c: &Computation, outcome: &Outcome) -> Self {
        let mut executed = vec![(0, 0); c.strand_count()];
        for event in trace(outcome).events() {
            if let EventKind::Execute { strand, complete: true } = event.kind {
                executed[strand.index()] = (event.to, event.processor.0);
            }
        }
        let mut parent: Vec<Option<StrandId>> = vec![None; c.strand_count()];
        let mut rank = vec![(0, false, 0); c.strand_count()];
        for u in c.strands() {
            let (step, processor) = executed[u.index()];
            let joins = c.joins_from(u).iter().map(|&to| (to, false));
            for (to, by_thread) in c.next(u).into_iter().chain(c.spawned(u)).map(|to| (to, true)).chain(joins)
            {
                // Of several in one step: the thread's own, because then it never stalled; else the last to resolve a
                // join.
                let here = (step, by_thread, processor);
                if parent[to.index()].is_none() || here > rank[to.index()] {
                    (parent[to.index()], rank[to.index()]) = (Some(u), here);
                }
            }
        }
        let mut order: Vec<StrandId> = c.strands().collect();
        order.sort_by_key(|strand| executed[strand.index()].0);
        let mut depth = vec![0; c.strand_count()];
        for strand in order {
            depth[strand.index()] = parent[strand.index()].map_or(0, |parent| depth[parent.index()] + 1);
        }
        Self { parent, depth }
    }

    fn is_ancestor(&self, ancestor: StrandId, of: StrandId) -> bool {
        std::iter::successors(Some(of), |u| self.parent[u.index()]).any(|u| u == ancestor)
    }

    /// HET Lemma 7 for one deque: `nodes` are v0 (the assigned node) and then the deque's from bottom to top.
    fn check(&self, nodes: &[StrandId]) -> Result<(), String> {
        let designated: Vec<Option<StrandId>> = nodes.iter().map(|v| self.parent[v.index()]).collect();
        for (i, pair) in designated.windows(2).enumerate() {
            let (Some(below), Some(above)) = (pair[0], pair[1]) else { continue };
            if !self.is_ancestor(above, below) || (i > 0 && above == below) {
                return Err(format!(
                    "{} lies above {}, but its designated parent {above} is no proper ancestor of {below}",
                    nodes[i + 1],
                    nodes[i]
                ));
            }
            let (below, above) = (self.depth[nodes[i].index()], self.depth[nodes[i + 1].index()]);
            if below < above || (i > 0 && below == above) {
                return Err(format!("{} lies above {} and weighs no more", nodes[i + 1], nodes[i]));
            }
        }
        Ok(())
    }
}

/// The nodes of a processor's deque: the assigned one, and the others from bottom to top.
fn nodes_of(
    m: &Machine<'_>,
    owner: Option<ProcessorId>,
    threads: &[bombyx_dag::ThreadId],
) -> (Option<StrandId>, Vec<StrandId>) {
    let assigned = owner.and_then(|p| m.thread_of(p)).and_then(|t| m.next_strand(t));
    (assigned, threads.iter().filter_map(|&t| m.next_strand(t)).collect())
}

/// Unit instructions, some speeds, some seeds: cases in which every state is checked.
fn stepped(cx: &Context<'_>, schedulers: &[Scheduler]) -> Vec<Run> {
    let mut cases = Vec::new();
    for named in &named_in_units(small(cx, Class::NestedParallel)) {
        for run in runs_at(cx, std::slice::from_ref(named), schedulers, &SPEEDS[..cx.by_effort(2, 4, 5)]) {
            cases.extend((0..cx.by_effort(1, 4, 20)).map(|nth| run.with_seed(cx.seed(nth))));
        }
    }
    cases
}

fn lemma_7(cx: &Context<'_>) -> Finding {
    cx.always(stepped(cx, &heterogeneous()[1..2]), |run| {
        let simulation = run.simulation().mode(Mode::Step);
        let tree = EnablingTree::of(run.computation(), &simulation.clone().trace().run().map_err(text)?);
        let mut judged = Ok(Sample::HELD);
        simulation
            .watch(|m, ready| {
                let Ready::Deques(deques) = ready else { return };
                for deque in deques {
                    let (assigned, rest) = nodes_of(m, deque.owner, &deque.threads);
                    let nodes: Vec<StrandId> = assigned.into_iter().chain(rest).collect();
                    if judged.is_ok()
                        && let Err(text) = tree.check(&nodes)
                    {
                        judged = Err(format!("at tick {}: {text}", m.now()));
                    }
                }
            })
            .map_err(text)?;
        judged
    })
}

fn observation_1(cx: &Context<'_>) -> Finding {
    cx.always(stepped(cx, &heterogeneous()), |run| {
        let outcome = run.outcome()?;
        let capacity = outcome.capacity;
        let missing = capacity.total - capacity.work - capacity.stealing;
        let work = outcome.dollars.work.abs_diff(run.measures().work) as f64;
        // What was rounded up to a tick belongs to nobody.
        let rounding = outcome.rounded as f64 * 1e-9;
        Ok(Sample::new(capacity.instructions(missing) + work, rounding))
    })
}

/// The potential of HET §3.2, in powers of 3 relative to the heaviest possible node, so that it fits a float.
struct Potential<'t> {
    tree: &'t EnablingTree,
}

impl Potential<'_> {
    /// 3^(2w) for a node that waits and 3^(2w − 1) for an assigned one, over 3^(2·W∞).
    fn of(&self, node: StrandId, assigned: bool) -> f64 {
        3f64.powi(-2 * self.tree.depth[node.index()] as i32 - i32::from(assigned))
    }
}

fn observation_2(cx: &Context<'_>) -> Finding {
    cx.always(stepped(cx, &heterogeneous()[1..2]), |run| {
        let simulation = run.simulation().mode(Mode::Step);
        let tree = EnablingTree::of(run.computation(), &simulation.clone().trace().run().map_err(text)?);
        let mut largest: f64 = 0.0;
        simulation
            .watch(|m, ready| {
                let Ready::Deques(deques) = ready else { return };
                let potential = Potential { tree: &tree };
                for deque in deques.iter().filter(|deque| !deque.threads.is_empty()) {
                    let (assigned, waiting) = nodes_of(m, deque.owner, &deque.threads);
                    let all: f64 = waiting.iter().map(|&node| potential.of(node, false)).sum();
                    let all = all + assigned.map_or(0.0, |node| potential.of(node, true));
                    let top = waiting.last().map_or(0.0, |&node| potential.of(node, false));
                    largest = largest.max(1.0 - top / all);
                }
            })
            .map_err(text)?;
        Ok(Sample::new(largest, 0.25))
    })
}

/// Attempts in a phase.
fn phase_length(run: &Run) -> usize {
    ((factor(run.scheduler) + 2.0) * run.processors as f64).ceil() as usize
}

fn theorem_8(cx: &Context<'_>) -> Finding {
    let mut cases = Vec::new();
    for named in &named_in_units(long(cx)) {
        cases.extend(runs_at(
            cx,
            std::slice::from_ref(named),
            &heterogeneous(),
            &["1,100", "4,2,1", "9,8,2,2,1"],
        ));
    }
    let name = |(component, _)| format!("a phase leaves more than 3/4 of {}", COMPONENTS[component as usize]);
    cx.rarely(cases, cx.by_effort(6, 40, 200), name, |run, tally: &mut Tally| {
        let simulation = run.simulation();
        let first = simulation.clone().trace().run().map_err(text)?;
        let tree = EnablingTree::of(run.computation(), &first);
        let mut ends: Vec<u64> = trace(&first).attempts().iter().map(|attempt| attempt.to).collect();
        ends.sort_unstable();
        let phases: Vec<u64> =
            ends.chunks_exact(phase_length(run)).filter_map(|c| c.last().copied()).collect();
        let executed = executed(run.computation(), &first);
        let (mut at, mut phase) = (0, None);
        let mut broken = Ok(());
        // Also traced, so that every attempt is an instant that is watched.
        simulation
            .trace()
            .watch(|m, ready| {
                let begun = phase.get_or_insert_with(|| Phase::begin(&tree, m, ready));
                if phases.get(at).is_some_and(|&end| end <= m.now()) {
                    let left = begun.left(&tree, m, ready, &executed);
                    for (component, &(before, after)) in (0..).zip(&left) {
                        if before > 0.0 {
                            tally.count((component, 0), 0.75, after > 0.75 * before);
                        }
                    }
                    let (before, after) = left[FAST];
                    if after > before * (4.0 / 9.0 + 1e-9) {
                        broken = Err(format!(
                            "a fast processor's node leaves {:.3} of its potential",
                            after / before
                        ));
                    }
                    at += phases[at..].iter().take_while(|&&end| end <= m.now()).count();
                    phase = Some(Phase::begin(&tree, m, ready));
                }
            })
            .map_err(text)?;
        broken
    })
}

/// The potential and the components into which the proof of Theorem 8 divides it.
const COMPONENTS: [&str; 4] = ["the potential", "D", "S", "F"];
const SLOW: usize = 2;
const FAST: usize = 3;

/// Which processor completed each instruction, and when.
fn executed(c: &Computation, outcome: &Outcome) -> Vec<(ProcessorId, u64)> {
    let mut executed = vec![(ProcessorId(0), u64::MAX); c.strand_count()];
    for event in trace(outcome).events() {
        if let EventKind::Execute { strand, complete: true } = event.kind {
            executed[strand.index()] = (event.processor, event.to);
        }
    }
    executed
}

/// The ready nodes at the beginning of a phase.
struct Phase {
    /// Each with its potential, relative to the heaviest, and its processor if that processor has an empty deque.
    nodes: Vec<(StrandId, f64, Option<ProcessorId>)>,
    /// The depth of the heaviest node. It counts as 0, so that deep computations do not underflow.
    base: u32,
}

impl Phase {
    fn begin(tree: &EnablingTree, m: &Machine<'_>, ready: &Ready) -> Self {
        let mut nodes = ready_nodes(m, ready);
        let base = nodes.iter().map(|(node, ..)| tree.depth[node.index()]).min().unwrap_or(0);
        nodes.sort_by_key(|(node, ..)| node.index());
        let potential = |&(node, assigned, alone): &(StrandId, bool, Option<ProcessorId>)| {
            (node, power(tree, node, assigned, base), alone)
        };
        Self { nodes: nodes.iter().map(potential).collect(), base }
    }

    /// The potential of each component at the beginning, and what is left of it now.
    fn left(
        &self,
        tree: &EnablingTree,
        m: &Machine<'_>,
        ready: &Ready,
        executed: &[(ProcessorId, u64)],
    ) -> [(f64, f64); 4] {
        let mut left = [(0.0, 0.0); 4];
        let component = |node: StrandId, alone: Option<ProcessorId>| match alone {
            None => 1,
            // A processor is fast if it completes within the phase what it was working on when the phase began.
            Some(p) if executed[node.index()].0 == p && executed[node.index()].1 <= m.now() => FAST,
            Some(_) => SLOW,
        };
        for &(node, potential, alone) in &self.nodes {
            left[0].0 += potential;
            left[component(node, alone)].0 += potential;
        }
        for (node, assigned, _) in ready_nodes(m, ready) {
            let potential = power(tree, node, assigned, self.base);
            left[0].1 += potential;
            // The node of the beginning that enabled it, or that is it.
            let root = std::iter::successors(Some(node), |u| tree.parent[u.index()])
                .find_map(|u| self.nodes.binary_search_by_key(&u.index(), |(node, ..)| node.index()).ok());
            if let Some(root) = root {
                let (node, _, alone) = self.nodes[root];
                left[component(node, alone)].1 += potential;
            }
        }
        left
    }
}

/// 3^(2w) for a node that waits and 3^(2w − 1) for an assigned one, over that of a node of depth `base` that waits.
fn power(tree: &EnablingTree, node: StrandId, assigned: bool, base: u32) -> f64 {
    3f64.powi(-2 * (tree.depth[node.index()] as i32 - base as i32) - i32::from(assigned))
}

/// All ready nodes, whether each is assigned, and its processor if that processor has an empty deque.
fn ready_nodes(m: &Machine<'_>, ready: &Ready) -> Vec<(StrandId, bool, Option<ProcessorId>)> {
    let Ready::Deques(deques) = ready else { return Vec::new() };
    let waiting = deques.iter().flat_map(|deque| nodes_of(m, None, &deque.threads).1);
    let mut nodes: Vec<_> = waiting.map(|node| (node, false, None)).collect();
    for p in m.processors() {
        if let Some(node) = m.thread_of(p).and_then(|t| m.next_strand(t)) {
            let alone = !deques.iter().any(|deque| deque.owner == Some(p) && !deque.threads.is_empty());
            nodes.push((node, true, alone.then_some(p)));
        }
    }
    nodes
}

/// Computations with long threads and some parallelism.
fn long(cx: &Context<'_>) -> Vec<String> {
    let mut specs = small(cx, Class::NestedParallel);
    specs.extend(["chain:length=2,work=200", "greedy-trap:long=200,short=10"].map(str::to_owned));
    specs
}

fn phases(cx: &Context<'_>) -> Finding {
    let cases = runs_at(cx, &muggable(cx), &heterogeneous(), &MUGGING_SPEEDS);
    cx.on_average(cases, cx.by_effort(5, 30, 100), |run| {
        let phases = run.outcome()?.attempts() as f64 / phase_length(run) as f64;
        let span = run.measures().span as f64;
        Ok(Sample::new(phases, span).constant("phases per W∞", phases / span, 1.0, None))
    })
}

/// Computations that make muggings matter: long threads that a slow processor may get hold of.
fn muggable(cx: &Context<'_>) -> Vec<Named> {
    let long = ["chain:length=2,work=500", "greedy-trap:long=2000,short=10", "greedy-trap:long=300,rounds=4"];
    let others: &[&str] = cx.by_effort(
        &["dnc:depth=4,work=30"],
        &["dnc:depth=6,work=30", "fib:12", "chain:length=30,work=20"],
        &["dnc:depth=8,work=30", "fib:16", "chain:length=100,work=20"],
    );
    long.iter().chain(others).map(|spec| Named::new(spec)).collect()
}

/// The slow processor first, where the root thread begins, or the fast one first.
const MUGGING_SPEEDS: [&str; 4] = ["1,100", "4,2,1", "9,8,2,2,1", "100,3x1"];

fn theorem_6(cx: &Context<'_>) -> Finding {
    let cases = runs_at(cx, &muggable(cx), &heterogeneous(), &MUGGING_SPEEDS);
    let name = |_| "more time than the bound".to_owned();
    cx.rarely(cases, cx.by_effort(12, 200, 1_000), name, |run, tally: &mut Tally| {
        let bracket = 3.0 * factor(run.scheduler) * run.processors as f64;
        let Sample { measured, bound, .. } = within(run, &run.outcome()?, bracket);
        tally.count((0, 0), 0.05, measured > bound);
        Ok(())
    })
}

fn footnote_2(cx: &Context<'_>) -> Finding {
    let mut cases = Vec::new();
    for run in runs_at(cx, &muggable(cx), &heterogeneous(), &["2x1", "4x1", "1,2,4"]) {
        for at in [Ratio::new(1, 2).expect("a half"), 7.into(), 20.into()] {
            let speeds = run.speeds.clone().expect("the run has speeds");
            cases.push(run.at(speeds.change(at, ProcessorId(0), Ratio::ZERO)).with_seed(cx.seed(0)));
        }
    }
    cx.always(cases, |run| {
        let simulation = run.simulation();
        let simulation =
            if cx.own("victims-speed") { simulation.steals_at_victims_speed() } else { simulation };
        let outcome = simulation.run().map_err(text)?;
        let list = super::speeds(run);
        let (rest, p) = (list[1..].iter().sum::<f64>(), (list.len() - 1) as f64);
        let m = run.measures();
        let stop = run.speeds.as_ref().map_or(0.0, |speeds| speeds.changes()[0].at.to_f64());
        // Thieves also ask the processor that stopped, in vain: one more attempt in P.
        let second = 6.0 * factor(run.scheduler) * (p + 1.0) * m.span as f64 / rest;
        Ok(Sample::new(outcome.time() - stop, m.work as f64 / rest + second))
    })
}

/// How wrong an estimate is.
const WRONG: u64 = 2;

fn estimates(cx: &Context<'_>) -> Finding {
    let cases = runs_at(cx, &muggable(cx), &heterogeneous()[1..], &MUGGING_SPEEDS);
    cx.on_average(cases, cx.by_effort(5, 30, 100), |run| {
        let list = super::speeds(run);
        let (least, most) =
            (list.iter().copied().fold(f64::INFINITY, f64::min), list.iter().copied().fold(0.0, f64::max));
        let belief = |&speed: &f64| match speed {
            speed if speed == most => Ratio::new(1, WRONG).expect("a fraction"),
            speed if speed == least => WRONG.into(),
            _ => Ratio::ONE,
        };
        let outcome = run.simulation().estimates(list.iter().map(belief)).run().map_err(text)?;
        let capacity = outcome.capacity;
        let factor = factor(run.scheduler) * (WRONG * WRONG) as f64;
        let bound = 3.0 * run.processors as f64 * factor * run.measures().span as f64;
        Ok(Sample::new(capacity.instructions(capacity.total - capacity.work), bound))
    })
}

fn degradation(cx: &Context<'_>) -> Finding {
    let steady = runs_at(cx, &muggable(cx), &heterogeneous()[1..], &MUGGING_SPEEDS);
    let erratic = steady.iter().flat_map(|run| PERIODS.map(|period| erratic(run, period)));
    let cases: Vec<Run> = steady.iter().cloned().chain(erratic).collect();
    let measure = |run: &Run| -> Measured {
        let outcome = run.outcome()?;
        let p = run.processors as f64;
        let bound =
            3.0 * factor(run.scheduler) * run.measures().span as f64 + 2.0 * changes(run, &outcome) as f64;
        let capacity = outcome.capacity;
        Ok(Sample::new(capacity.instructions(capacity.total - capacity.work), p * bound))
    };
    cx.on_average(cases, cx.by_effort(5, 30, 100), measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_enabling_tree_follows_the_last_predecessor() {
        let run = Run::right(&Named::in_units("fan:children=1,work=3"), Scheduler::WorkStealing, 1);
        let tree = EnablingTree::of(run.computation(), &run.simulation().trace().run().unwrap());
        // v1 spawns v2 v3 v4 and goes on with v5; v6 waits for both. One processor executes v5 last.
        assert_eq!(tree.parent[5], Some(StrandId(4)));
        assert!(tree.is_ancestor(StrandId(0), StrandId(3)) && !tree.is_ancestor(StrandId(3), StrandId(5)));
        assert!(tree.check(&[StrandId(1), StrandId(4)]).is_ok());
        assert!(tree.check(&[StrandId(1), StrandId(4), StrandId(5)]).is_err());
    }

    /// The phases of a chain grow with its length, not with its logarithm. Theorem 8's statement is a slip; its proof
    /// is right.
    #[test]
    fn phases_of_a_chain_are_linear() {
        let phases = |length: u64| {
            let named = Named::new(&format!("chain:length=1,work={length}"));
            let run = Run::right(&named, heterogeneous()[1], 1).speeds("4x1");
            run.outcome().unwrap().attempts() / phase_length(&run) as u64
        };
        let (short, long) = (phases(100), phases(1600));
        assert!(long > 15 * short && short > 10, "{short} and {long} phases");
    }
}
