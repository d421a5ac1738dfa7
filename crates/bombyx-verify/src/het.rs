//! The claims of HET (Bender & Rabin): schedules on processors of different speeds, and the enhanced Cilk scheduler that
//! mugs slow processors.
//!
//! Where the paper says O(·) the constants here are ours and say so. A migration may round the rest of an instruction up
//! to a tick, at most about a millionth of a step; bounds on time allow for that.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Subject, Tally};
use crate::finding::Finding;
use crate::run::{Named, Run, named, named_in_units, small, text, trace};
use bombyx_dag::{Class, Computation, StrandId};
use bombyx_sim::{Beta, EventKind, Invariant, Mode, Mutation, Outcome, Ratio, Ready, Scheduler, Speeds};

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "het-thm-2",
        paper: Paper::Het,
        name: "Theorem 2",
        statement: "Maximum utilization takes at most W1/π_tot + (π2/π1 + … + πp/πp−1)·W∞/π_tot",
        quantity: "time against that",
        scope: "Any computation; the invariant of maximum utilization is checked at every instant.",
        mutation: "ready threads go to the slowest idle processor",
        attempt: theorem_2,
    },
    Claim {
        id: "het-claim-3",
        paper: Paper::Het,
        name: "Claim 3",
        statement: "With the fastest on the longest path the bracket is Σ i·π_i+1/(π1 + … + πi)",
        quantity: "time against W1/π_tot + bracket·W∞/π_tot",
        scope: "Any computation under critical-path, which settles after every instruction.",
        mutation: "ready threads go to the slowest idle processor",
        attempt: claim_3,
    },
    Claim {
        id: "het-thm-4",
        paper: Paper::Het,
        name: "Theorem 4",
        statement: "High utilization(β) takes at most W1/π_tot + (p − 1)·β·W∞/π_tot",
        quantity: "time against that",
        scope: "Any computation, β = 1.5 and 4; the invariant is checked at every instant.",
        mutation: "ready threads go to the slowest idle processor",
        attempt: theorem_4,
    },
    Claim {
        id: "het-changing",
        paper: Paper::Het,
        name: "§2, changing speeds",
        statement: "Theorems 2 and 4 hold when speeds change: idle processors waste at most (p − 1)·β·W∞",
        quantity: "instructions that idle processors could have executed, against (p − 1)·β·W∞",
        scope: "Speeds exchanged every 5 to 50 units of time. A change takes effect with a processor's next instruction, so \
            that each may cost one instruction per processor besides.",
        mutation: "ready threads go to the slowest idle processor",
        attempt: changing_speeds,
    },
    Claim {
        id: "het-thm-5",
        paper: Paper::Het,
        name: "Theorem 5",
        statement: "High and maximum utilization migrate at most 2·S1 times, S1 the number of threads",
        quantity: "migrations against twice the strands",
        scope: "The paper's threads run from one event to the next: they are our strands. With changing speeds there is no \
            such bound, as the paper says.",
        mutation: "critical-path in place of maximum utilization, on long threads",
        attempt: theorem_5,
    },
    Claim {
        id: "het-homogeneous",
        paper: Paper::Het,
        name: "§3, equal speeds",
        statement: "On equal processors the enhanced scheduler is Cilk's: the same events, no mugging",
        quantity: "muggings and events that differ",
        scope: "Fully strict computations, β = 1 and 2; also speeds within a factor β of each other.",
        mutation: "speeds 9, 1, 1",
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
        mutation: "at a spawn the parent goes on top of the deque",
        attempt: lemma_7,
    },
    Claim {
        id: "het-thm-6",
        paper: Paper::Het,
        name: "Theorem 6",
        statement: "The enhanced scheduler takes W1/π_tot + O(W∞/π_ave) with high probability",
        quantity: "chance of more than W1/π_tot + 3·β·W∞/π_ave, against 1/20",
        scope: "The constant 3·β is ours (the proof has O(β·W∞·p) steal attempts).",
        mutation: "no mugging: plain work stealing",
        attempt: theorem_6,
    },
    Claim {
        id: "het-degradation",
        paper: Paper::Het,
        name: "§3.1, changing speeds",
        statement: "The enhanced scheduler degrades gracefully as speeds change more often",
        quantity: "mean dollars beside work against p·(3·β·W∞ + 2·changes)",
        scope: "The paper gives no bound; this one and its constants are ours: every change costs at most two instructions per \
            processor. From no change to one every 5 units of time.",
        mutation: "no mugging: plain work stealing",
        attempt: degradation,
    },
];

/// Speeds in falling order, as HET numbers its processors.
const SPEEDS: [&str; 5] = ["3x1", "4,2,1", "9,8,2,2,1", "100,3x1", "8,4,4,2,2,1,1,1"];

fn computations(cx: &Context<'_>) -> Vec<Named> {
    let mut specs = small(cx, Class::Strict);
    specs.extend(
        ["greedy-trap:long=100,rounds=2", "skewed:leaves=40,work=6", "fan:children=20,work=9"]
            .map(str::to_owned),
    );
    named(specs)
}

fn runs(cx: &Context<'_>, computations: &[Named], schedulers: &[Scheduler]) -> Vec<Run> {
    let mut runs = Vec::new();
    for named in computations {
        for &scheduler in schedulers {
            for speeds in SPEEDS.iter().take(cx.by_effort(3, 5, 5)) {
                runs.push(Run::new(named, scheduler, 1).speeds(speeds).with_seed(cx.seed(0)));
            }
        }
    }
    runs
}

fn speeds(run: &Run) -> Vec<f64> {
    let list = run.speeds.as_ref().and_then(Speeds::list).unwrap_or_default();
    list.iter().map(|speed| speed.to_f64()).collect()
}

fn beta(numerator: u32, denominator: u32) -> Beta {
    Ratio::new(numerator, denominator).and_then(Beta::new).expect("a constant factor of at least 1")
}

/// The β that a scheduler of this file promises.
fn factor(scheduler: Scheduler) -> f64 {
    match scheduler {
        Scheduler::HighUtilization(beta) | Scheduler::Heterogeneous(beta) => beta.ratio().to_f64(),
        _ => 1.0,
    }
}

/// Time against W1/π_tot + bracket · W∞/π_tot.
fn within(run: &Run, outcome: &Outcome, bracket: f64) -> Sample {
    let (m, total) = (run.measures(), speeds(run).iter().sum::<f64>());
    let rounding = outcome.migrations as f64 / outcome.ticks_per_unit as f64;
    Sample::new(outcome.time(), (m.work as f64 + bracket * m.span as f64) / total + rounding)
}

/// A utilization schedule with its invariant checked; mutated, the slowest processors get the threads.
fn utilization(cx: &Context<'_>, run: &Run) -> Result<Outcome, String> {
    let simulation = match cx.mutated() {
        true => run.simulation().mutate(Mutation::SlowestFirst),
        false => run.simulation().check(Invariant::HighUtilization),
    };
    simulation.run().map_err(text)
}

fn theorem_2(cx: &Context<'_>) -> Finding {
    cx.always(runs(cx, &computations(cx), &[Scheduler::MaximumUtilization]), |run| {
        let bracket = speeds(run).windows(2).map(|pair| pair[1] / pair[0]).sum();
        Ok(within(run, &utilization(cx, run)?, bracket))
    })
}

fn claim_3(cx: &Context<'_>) -> Finding {
    let scheduler = if cx.mutated() { Scheduler::MaximumUtilization } else { Scheduler::CriticalPath };
    cx.always(runs(cx, &computations(cx), &[scheduler]), |run| {
        let (mut sum, mut bracket) = (0.0, 0.0);
        for (i, speed) in speeds(run).into_iter().enumerate() {
            bracket += if i > 0 { i as f64 * speed / sum } else { 0.0 };
            sum += speed;
        }
        Ok(within(run, &utilization(cx, run)?, bracket))
    })
}

fn high_utilization() -> [Scheduler; 2] {
    [beta(3, 2), beta(4, 1)].map(Scheduler::HighUtilization)
}

fn theorem_4(cx: &Context<'_>) -> Finding {
    cx.always(runs(cx, &computations(cx), &high_utilization()), |run| {
        let bracket = factor(run.scheduler) * (run.processors - 1) as f64;
        Ok(within(run, &utilization(cx, run)?, bracket))
    })
}

/// The run with its speeds handed round the processors every `period` units of time, for as long as it could take.
fn erratic(run: &Run, period: u64) -> Run {
    let list = run.speeds.as_ref().and_then(Speeds::list).unwrap_or_default().to_vec();
    let p = list.len();
    let times = run.measures().work.div_ceil(period).min(2_000);
    let mut speeds = Speeds::from_list(list.iter().copied());
    for time in 1..=times {
        for at in 0..p {
            let speed = list[(at + time as usize) % p];
            speeds = speeds.change(time * period, bombyx_sim::ProcessorId(at as u32), speed);
        }
    }
    run.at(speeds)
}

/// How often speeds changed before the end.
fn changes(run: &Run, outcome: &Outcome) -> u64 {
    let before_end = |at: u64| at * outcome.ticks_per_unit < outcome.makespan;
    let speeds = run.speeds.as_ref().expect("the run has speeds");
    speeds.changes().iter().filter(|&&(at, ..)| before_end(at)).count() as u64 / run.processors as u64
}

const PERIODS: [u64; 3] = [50, 17, 5];

fn changing_speeds(cx: &Context<'_>) -> Finding {
    let schedulers = [Scheduler::MaximumUtilization, high_utilization()[1]];
    let steady = runs(cx, &computations(cx), &schedulers);
    let erratic = steady.iter().flat_map(|run| PERIODS.map(|period| erratic(run, period)));
    cx.always(erratic.collect(), |run| {
        let simulation = run.simulation();
        let simulation = if cx.mutated() { simulation.mutate(Mutation::SlowestFirst) } else { simulation };
        let outcome = simulation.run().map_err(text)?;
        let p = run.processors as u64;
        let bound = factor(run.scheduler) * ((p - 1) * run.measures().span) as f64;
        let late = (p * (changes(run, &outcome) + 1)) as f64;
        Ok(Sample::new(outcome.dollars.idle as f64, bound + late))
    })
}

fn theorem_5(cx: &Context<'_>) -> Finding {
    let schedulers = [Scheduler::MaximumUtilization, high_utilization()[0], high_utilization()[1]];
    let schedulers: &[Scheduler] = if cx.mutated() { &[Scheduler::CriticalPath] } else { &schedulers };
    cx.always(runs(cx, &computations(cx), schedulers), |run| {
        Ok(Sample::of(run.outcome()?.migrations, 2 * run.computation().strand_count() as u64))
    })
}

fn homogeneous(cx: &Context<'_>) -> Finding {
    let equal: &[&str] = if cx.mutated() { &["9,1,1"] } else { &["3x3", "8x1", "2,1.5,1"] };
    let mut cases = Vec::new();
    for named in &named(small(cx, Class::FullyStrict)) {
        for beta in [beta(1, 1), beta(2, 1)] {
            for speeds in equal.iter().filter(|speeds| beta > Beta::ONE || !speeds.contains('.')) {
                let run = Run::new(named, Scheduler::Heterogeneous(beta), 1).speeds(speeds);
                cases.extend((0..cx.by_effort(1, 5, 20)).map(|nth| run.with_seed(cx.seed(nth))));
            }
        }
    }
    cx.always(cases, |run| {
        let enhanced = run.simulation().trace().run().map_err(text)?;
        let cilk = run.under(Scheduler::WorkStealing).simulation().trace().run().map_err(text)?;
        let (ours, theirs) = (trace(&enhanced).events(), trace(&cilk).events());
        let different = ours.iter().zip(theirs).filter(|(a, b)| a != b).count();
        let different = (different + ours.len().abs_diff(theirs.len())) as u64;
        Ok(Sample::of(different + enhanced.muggings, 0))
    })
}

fn heterogeneous(cx: &Context<'_>) -> [Scheduler; 2] {
    match cx.mutated() {
        true => [Scheduler::WorkStealing; 2],
        false => [beta(3, 2), beta(3, 1)].map(Scheduler::Heterogeneous),
    }
}

/// The enabling tree of a run: for every instruction the last of its predecessors to be executed.
struct EnablingTree {
    parent: Vec<Option<StrandId>>,
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
                // Of several in one step: the thread's own, for then it never stalled; else the last to resolve a join.
                let here = (step, by_thread, processor);
                if parent[to.index()].is_none() || here > rank[to.index()] {
                    (parent[to.index()], rank[to.index()]) = (Some(u), here);
                }
            }
        }
        Self { parent }
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
        }
        Ok(())
    }
}

fn lemma_7(cx: &Context<'_>) -> Finding {
    let mut cases = Vec::new();
    for named in &named_in_units(small(cx, Class::NestedParallel)) {
        for speeds in SPEEDS.iter().take(cx.by_effort(2, 4, 5)) {
            let run = Run::new(named, Scheduler::Heterogeneous(beta(3, 2)), 1).speeds(speeds);
            cases.extend((0..cx.by_effort(1, 4, 20)).map(|nth| run.with_seed(cx.seed(nth))));
        }
    }
    cx.always(cases, |run| {
        let mut simulation = run.simulation().mode(Mode::Step);
        if cx.mutated() {
            simulation = simulation.mutate(Mutation::PushTop);
        }
        let first = simulation.clone().trace().run().map_err(text)?;
        let tree = EnablingTree::of(run.computation(), &first);
        let mut judged = Ok(Sample::HELD);
        simulation
            .watch(|m, ready| {
                let Ready::Deques(deques) = ready else { return };
                for deque in deques {
                    let assigned = deque.owner.and_then(|p| m.thread_of(p));
                    let threads = assigned.into_iter().chain(deque.threads.iter().copied());
                    let nodes: Vec<StrandId> = threads.filter_map(|t| m.next_strand(t)).collect();
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

/// The slow processor first, where the root thread begins, and the fast one first.
const MUGGING_SPEEDS: [&str; 4] = ["1,100", "4,2,1", "9,8,2,2,1", "100,3x1"];

fn theorem_6(cx: &Context<'_>) -> Finding {
    let cases = runs_at(&muggable(cx), &heterogeneous(cx), &MUGGING_SPEEDS);
    let name = |_| "more time than the bound".to_owned();
    cx.rarely(cases, cx.by_effort(12, 200, 1_000), name, |run, tally: &mut Tally| {
        // Plain work stealing has no β; its mutated claim takes 3.
        let factor = if cx.mutated() { 3.0 } else { factor(run.scheduler) };
        let Sample { measured, bound } = within(run, &run.outcome()?, 3.0 * factor * run.processors as f64);
        tally.count((0, 0), 0.05, measured > bound);
        Ok(())
    })
}

fn runs_at(computations: &[Named], schedulers: &[Scheduler], speeds: &[&str]) -> Vec<Run> {
    let mut runs = Vec::new();
    for named in computations {
        for &scheduler in schedulers {
            runs.extend(speeds.iter().map(|speeds| Run::new(named, scheduler, 1).speeds(speeds)));
        }
    }
    runs
}

fn degradation(cx: &Context<'_>) -> Finding {
    let steady = runs_at(&muggable(cx), &heterogeneous(cx), &MUGGING_SPEEDS);
    let erratic = steady.iter().flat_map(|run| PERIODS.map(|period| erratic(run, period)));
    let cases: Vec<Run> = steady.iter().cloned().chain(erratic).collect();
    let measure = |run: &Run| -> Measured {
        let outcome = run.outcome()?;
        let factor = if cx.mutated() { 3.0 } else { factor(run.scheduler) };
        let p = run.processors as f64;
        let bound = p * (3.0 * factor * run.measures().span as f64 + 2.0 * changes(run, &outcome) as f64);
        Ok(Sample::new((outcome.capacity - outcome.dollars.work) as f64, bound))
    };
    cx.on_average(cases, cx.by_effort(5, 30, 100), measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_go_round() {
        let run =
            Run::new(&Named::new("fan:children=3,work=5"), Scheduler::MaximumUtilization, 1).speeds("3,2,1");
        let speeds = erratic(&run, 10).speeds.unwrap().to_string();
        assert!(speeds.starts_with("3,2,1;10:p1=2;10:p2=1;10:p3=3;20:p1=1"), "{speeds}");
    }

    #[test]
    fn the_enabling_tree_follows_the_last_predecessor() {
        let run = Run::new(&Named::in_units("fan:children=1,work=3"), Scheduler::WorkStealing, 1);
        let tree = EnablingTree::of(run.computation(), &run.simulation().trace().run().unwrap());
        // v1 spawns v2 v3 v4 and goes on with v5; v6 waits for both. One processor executes v5 last.
        assert_eq!(tree.parent[5], Some(StrandId(4)));
        assert!(tree.is_ancestor(StrandId(0), StrandId(3)) && !tree.is_ancestor(StrandId(3), StrandId(5)));
        assert!(tree.check(&[StrandId(1), StrandId(4)]).is_ok());
        assert!(tree.check(&[StrandId(1), StrandId(4), StrandId(5)]).is_err());
    }
}
