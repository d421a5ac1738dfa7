//! The claims of BL (Blumofe & Leiserson) in its §2 and §3: what holds for every schedule, greedy schedules and busy
//! leaves. §4 and §5 are in [`deques`] and [`recycling`], §6 is in [`delays`] and [`bounds`], and §7 in [`beyond`].
//!
//! **Not here:** delay sequences ([`crate::delay`]) and the recycling game ([`crate::game`]) themselves.

mod beyond;
mod bounds;
mod delays;
mod deques;
mod recycling;

use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample};
use crate::finding::Finding;
use crate::mutant::{Mutant, mutants};
use crate::run::{Named, Run, grid, large, named, processors, small, text};
use bombyx_base::FIGURE_2;
use bombyx_dag::{Class, Computation, ThreadId};
use bombyx_sim::{
    Beta, Contention, Invariant, Machine, Mode, Mutation, Quota, Scheduler, Status, step_table,
};

/// All claims of the paper, in its order.
pub(crate) fn claims() -> impl Iterator<Item = &'static Claim> + Clone {
    [CLAIMS, deques::CLAIMS, recycling::CLAIMS, delays::CLAIMS, bounds::CLAIMS, beyond::CLAIMS]
        .into_iter()
        .flatten()
}

const GREEDY: [Scheduler; 4] =
    [Scheduler::Greedy, Scheduler::BusyLeaves, Scheduler::Fifo, Scheduler::DepthFirst(Quota::Infinite)];

/// Wrong schedulers for claims about one pool.
const POOL: &[Mutant] = &[
    Mutant::Scheduler(Mutation::Serial),
    Mutant::Scheduler(Mutation::Half),
    Mutant::Scheduler(Mutation::KeepParent),
    Mutant::Scheduler(Mutation::LeavesParent),
    Mutant::Scheduler(Mutation::BlocksAtStall),
    Mutant::Instead(Scheduler::Fifo),
    Mutant::Instead(Scheduler::WorkStealing),
];

const CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-lower",
        paper: Paper::Bl,
        name: "§2, lower bounds",
        statement: "Every instruction is executed once, after those before it; no schedule is shorter than T1/P or T∞",
        quantity: "max(T1/P, T∞) against steps",
        scope: "All ten schedulers, every class of computations, equal speeds. The simulator asserts all of it in every run, also in \
            release builds.",
        mutants: mutants![Early, Rushes, Forgets],
        few: "",
        attempt: lower_bounds,
    },
    Claim {
        id: "bl-thm-1",
        paper: Paper::Bl,
        name: "Theorem 1",
        statement: "A greedy schedule takes at most T1/P + T∞ steps",
        quantity: "steps against T1/P + T∞",
        scope: "Any computation, general ones too. Four greedy schedulers (greedy, busy-leaves, fifo, depth-first:inf), which \
            are also held to greediness at every step.",
        mutants: POOL,
        few: "",
        attempt: theorem_1,
    },
    Claim {
        id: "bl-speedup",
        paper: Paper::Bl,
        name: "§2, linear speedup",
        statement: "A greedy schedule with parallelism T1/T∞ ≥ P takes at most 2·T1/P steps",
        quantity: "steps against 2·T1/P",
        scope: "Computations and P with T1/T∞ ≥ P. With k·P in place of P the bound is (1 + 1/k)·T1/P; the computation determines \
            k.",
        mutants: mutants![Serial, Half, BlocksAtStall, Victim0, Themselves],
        few: "",
        attempt: linear_speedup,
    },
    Claim {
        id: "bl-fig-2",
        paper: Paper::Bl,
        name: "Figure 2",
        statement: "Busy-Leaves on two processors executes Figure 1 in exactly the 14 steps of the table",
        quantity: "lines of the table that differ",
        scope: "The table was typed from the paper: pool, ready or stalled, and both processors at every step.",
        mutants: POOL,
        few: "",
        attempt: figure_2,
    },
    Claim {
        id: "bl-lem-2",
        paper: Paper::Bl,
        name: "Lemma 2",
        statement: "A schedule that keeps every leaf busy uses at most S1·P space",
        quantity: "bytes of frames against the stack depths of the leaves, at most P of them",
        scope: "Unequal frames. Stack space only: DFD treats the heap. At every step of busy-leaves and work-stealing: every leaf \
            is busy, there are at most P leaves, and all frames in use lie on the paths to the leaves. This is sharper than S1·P.",
        mutants: mutants![KeepParent, PushTop, PopTop, StealBottom, EnableElsewhere, Share, LeavesParent],
        few: "",
        attempt: lemma_2,
    },
    Claim {
        id: "bl-thm-3-time",
        paper: Paper::Bl,
        name: "Theorem 3, time",
        statement: "Busy-Leaves takes at most T1/P + T∞ steps",
        quantity: "steps against T1/P + T∞",
        scope: "Strict computations, also general ones made strict; a global pool, so there is no scheduling overhead.",
        mutants: mutants![Serial, Half, BlocksAtStall],
        few: "",
        attempt: theorem_3_time,
    },
    Claim {
        id: "bl-thm-3-space",
        paper: Paper::Bl,
        name: "Theorem 3, space",
        statement: "Busy-Leaves uses at most S1·P space, in the same run in which it keeps its time",
        quantity: "bytes of frames against the stack depths of the leaves",
        scope: "Strict computations, also general ones made strict. Each run is also held to the time bound of Theorem 3.",
        mutants: POOL,
        few: "",
        attempt: theorem_3_space,
    },
];

fn lower_bounds(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::General);
    specs.extend(large(cx, Class::General));
    let others = [
        Scheduler::WorkStealing,
        Scheduler::Dfdeques(Quota::of(200)),
        Scheduler::MaximumUtilization,
        Scheduler::HighUtilization(Beta::ONE),
        Scheduler::CriticalPath,
        Scheduler::Heterogeneous(Beta::ONE),
    ];
    let schedulers = [&GREEDY[..], &others].concat();
    cx.always(grid(cx, &named(specs), &schedulers, processors(cx), 1), |run| {
        let (outcome, m) = (run.outcome()?, run.measures());
        let span = outcome.with_dummies.as_ref().map_or(m.span, |with| with.computation.span());
        Ok(Sample::of(span.max(outcome.dollars.work.div_ceil(run.processors as u64)), outcome.makespan))
    })
}

fn steps_within_greedy_bound(run: &Run, makespan: u64) -> Sample {
    let m = run.measures();
    let least = m.work as f64 / run.processors as f64;
    let beyond = (makespan as f64 - least) / m.span as f64;
    Sample::new(makespan as f64, least + m.span as f64).constant("T∞", beyond, 1.0, 1.0)
}

fn theorem_1(cx: &Context<'_>) -> Finding {
    let mut specs = large(cx, Class::General);
    specs.extend(small(cx, Class::General));
    cx.always(grid(cx, &named(specs), &GREEDY, processors(cx), 1), |run| {
        let simulation = run.simulation().check(Invariant::Greedy);
        Ok(steps_within_greedy_bound(run, simulation.run().map_err(text)?.makespan))
    })
}

fn linear_speedup(cx: &Context<'_>) -> Finding {
    let runs = grid(cx, &named(large(cx, Class::General)), &[Scheduler::BusyLeaves], processors(cx), 1);
    let wide = |run: &Run| run.measures().parallelism() >= run.processors as f64;
    cx.always(runs.into_iter().filter(wide).collect(), |run| {
        // A greedy schedule has no thieves. If a mutant affects thieves, the bound is tried on work stealing.
        let run = match cx.plan.mutant {
            Some(Mutant::Scheduler(Mutation::Victim0 | Mutation::Themselves)) => {
                run.under(Scheduler::WorkStealing)
            }
            _ => run.clone(),
        };
        Ok(Sample::new(
            run.outcome()?.makespan as f64,
            2.0 * run.measures().work as f64 / run.processors as f64,
        ))
    })
}

fn figure_2(cx: &Context<'_>) -> Finding {
    let figure = Run::new(cx, &Named::new("figure1"), Scheduler::BusyLeaves, 2);
    cx.always(vec![figure], |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let table = step_table(run.computation(), &outcome).ok_or("the run has no table")?;
        let mut lines = (table.lines(), FIGURE_2.lines());
        let mut different = 0_u32;
        loop {
            match (lines.0.next(), lines.1.next()) {
                (None, None) => break,
                (ours, theirs) => different += u32::from(ours != theirs),
            }
        }
        Ok(Sample::new(different, 0))
    })
}

/// The sum of frames from the root to each thread.
fn stack_depths(c: &Computation) -> Vec<u64> {
    let mut depths: Vec<u64> = Vec::with_capacity(c.thread_count());
    for thread in c.threads() {
        let above = c.parent(thread).map_or(0, |parent| depths[parent.index()]);
        depths.push(above + c.frame(thread));
    }
    depths
}

/// Frames in use, and the stack depths of the leaves. A dead thread stays as long as its children live.
fn frames_and_leaves(m: &Machine<'_>, depths: &[u64]) -> (u64, u64, usize) {
    let c = m.computation();
    let living = |&t: &ThreadId| match m.status(t) {
        Status::Unborn => false,
        Status::Dead => m.living_children(t) > 0,
        _ => true,
    };
    let (mut frames, mut below, mut leaves) = (0, 0, 0);
    for thread in c.threads().filter(living) {
        frames += c.frame(thread);
        if m.living_children(thread) == 0 {
            below += depths[thread.index()];
            leaves += 1;
        }
    }
    (frames, below, leaves)
}

/// Busy leaves at every step, at most P of them, and frames only on the paths to them.
fn busy_leaves_within_space(run: &Run) -> Result<Sample, String> {
    let depths = stack_depths(run.computation());
    let (mut worst, mut most_leaves) = (Sample::HELD, 0);
    let simulation = run.simulation().mode(Mode::Step).check(Invariant::BusyLeaves);
    let outcome = simulation.watch(|m, _| {
        let (frames, below, leaves) = frames_and_leaves(m, &depths);
        most_leaves = most_leaves.max(leaves);
        if worst.bound == 0.0 || frames as f64 / below as f64 > worst.measured / worst.bound {
            worst = Sample::of(frames, below);
        }
    });
    let outcome = outcome.map_err(text)?;
    if most_leaves > run.processors {
        return Err(format!("there were {most_leaves} leaves on {} processors", run.processors));
    }
    let allowed = run.measures().stack * run.processors as u64;
    let used = outcome.peak.frames as f64 / allowed as f64;
    if outcome.peak.frames > allowed {
        return Err(format!("{} bytes of frames are more than S1·P = {allowed}", outcome.peak.frames));
    }
    Ok(worst.constant("S1·P", used, 1.0, 1.0))
}

fn lemma_2(cx: &Context<'_>) -> Finding {
    let schedulers = [Scheduler::BusyLeaves, Scheduler::WorkStealing];
    let runs =
        grid(cx, &named(small(cx, Class::FullyStrict)), &schedulers, processors(cx), cx.by_effort(1, 2, 8));
    cx.always(runs, busy_leaves_within_space)
}

fn theorem_3_time(cx: &Context<'_>) -> Finding {
    cx.always(
        grid(cx, &named(large(cx, Class::Strict)), &[Scheduler::BusyLeaves], processors(cx), 1),
        |run| Ok(steps_within_greedy_bound(run, run.outcome()?.makespan)),
    )
}

fn theorem_3_space(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::Strict);
    specs.extend(["fan:children=40,work=3", "dnc:depth=6,work=1"].map(str::to_owned));
    cx.always(grid(cx, &named(specs), &[Scheduler::BusyLeaves], processors(cx), 1), |run| {
        let time = steps_within_greedy_bound(run, run.outcome()?.makespan);
        if time.measured > time.bound {
            return Err(format!("{} steps are more than T1/P + T∞ = {}", time.measured, time.bound));
        }
        busy_leaves_within_space(run)
    })
}

/// Work stealing under every contention model in turn.
fn contended(mut runs: Vec<Run>) -> Vec<Run> {
    for (run, model) in runs.iter_mut().zip(Contention::ALL.into_iter().cycle()) {
        run.contention = model;
    }
    runs
}

/// Runs of work stealing in unit instructions on several processors.
fn unit_runs(cx: &Context<'_>, class: Class, seeds: u64) -> Vec<Run> {
    let computations = crate::run::named_in_units(small(cx, class));
    let several: Vec<usize> = processors(cx).iter().copied().filter(|&p| p > 1).collect();
    grid(cx, &computations, &[Scheduler::WorkStealing], &several, seeds)
}
