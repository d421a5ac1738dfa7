//! The approximation ratios of HET §1.3 and §1.6. HET states them as O(·) and refers to Graham and Jaffe. The constants
//! here are derived from two lower bounds of every schedule, W1/π_tot and W∞/π1, and say so.

use super::optimum::{STRANDS, optimum};
use super::{NOT_GREEDY, SPEEDS, computations, factor, speeds};
use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Subject};
use crate::finding::Finding;
use crate::mutant::{Mutant, mutants};
use crate::run::{Named, Run, named, text};
use bombyx_sim::{Beta, Mutation, Ratio, Scheduler, Simulation, Speeds};

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "het-graham",
        paper: Paper::Het,
        name: "§1.6, Graham",
        statement: "On equal processors a greedy schedule takes at most 2 − 1/p times the optimum",
        quantity: "time against (2 − 1/p)·optimum",
        scope: "The optimum of all schedules without preemption, found by branch and bound: computations of at most 11 strands.",
        mutants: NOT_GREEDY,
        few: "",
        attempt: graham,
    },
    Claim {
        id: "het-greedy",
        paper: Paper::Het,
        name: "§1.3, plain greedy",
        statement: "On unequal processors greedy has no bound: its time may be s/8 times another's, s the ratio of speeds",
        quantity: "s/8 against the ratio to maximum utilization that came up",
        scope: "The constant is ours. Four threads of equal length, one processor s times as fast as three others, s from 40 to 4000.",
        mutants: &[
            Mutant::Instead(Scheduler::MaximumUtilization),
            Mutant::Instead(Scheduler::Heterogeneous(Beta::ONE)),
            Mutant::Instead(Scheduler::CriticalPath),
        ],
        few: "",
        attempt: greedy,
    },
    Claim {
        id: "het-jaffe-preemptive",
        paper: Paper::Het,
        name: "§1.6, Jaffe [23]",
        statement: "Maximum utilization takes O(√p) times the optimum",
        quantity: "time against (1 + √(4p − 3))/2 · max(W1/π_tot, W∞/π1)",
        scope: "The constant follows from Theorem 2, T ≤ opt·(1 + (p − 1)·π1/π_tot), and from T ≤ W1/π1, as the fastest always works. \
            Any computation.",
        mutants: mutants![SlowestFirst, NeverMoves, Serial, Half],
        few: "",
        attempt: jaffe_preemptive,
    },
    Claim {
        id: "het-jaffe",
        paper: Paper::Het,
        name: "§1.6, Jaffe [24]",
        statement: "The better of all on the fastest, and greedy on the faster ones, takes O(√p) times the optimum",
        quantity: "time against (2 + √(2p))·optimum, exact where that can be found",
        scope: "Nobody is preempted. The constant follows from T ≤ 2·W1/π_tot + 2·W∞/π_ave for the second schedule and T = W1/π1 for the \
            first. The optimum by branch and bound for at most 11 strands, else max(W1/π_tot, W∞/π1).",
        mutants: &[
            Mutant::Own { name: "fastest", about: "always all on the fastest" },
            Mutant::Own { name: "all", about: "always greedy on all processors, the slow ones too" },
            Mutant::Own {
                name: "slow",
                about: "always greedy on those slower than half the average, if there are any",
            },
        ],
        few: "",
        attempt: jaffe,
    },
    Claim {
        id: "het-common",
        paper: Paper::Het,
        name: "§2.1, the common case",
        statement: "With W1 ≥ 20·β·p·W∞ maximum and high utilization take at most 5 % more than W1/π_tot, the least",
        quantity: "time against 1.05·W1/π_tot",
        scope: "The paper says almost optimal where W1/p is much larger than W∞, and that Jaffe's algorithm without preemption is not; \
            the constant 20 is ours, and 5 % follow from it by Theorem 4. Speeds some of which lie below half of the average.",
        mutants: &[
            Mutant::Own { name: "jaffe", about: "Jaffe's algorithm without preemption" },
            Mutant::Scheduler(Mutation::Serial),
            Mutant::Scheduler(Mutation::Half),
        ],
        few: "",
        attempt: common_case,
    },
];

/// Computations whose optimum can be found.
fn tiny(cx: &Context<'_>) -> Vec<Named> {
    let mut specs =
        ["fan:children=2,work=6", "fan:children=4,work=3", "skewed:leaves=3,work=5", "chain:length=4,work=3"]
            .map(str::to_owned)
            .to_vec();
    let seeds = cx.by_effort(4, 12, 40);
    specs.extend((0..seeds).map(|nth| format!("random:threads=3,work=5,seed={}", cx.seed(nth))));
    specs.extend((0..seeds).map(|nth| format!("bushy:threads=3,class=1,work=4,seed={}", cx.seed(nth))));
    let mut named = named(specs);
    named.retain(|named| Run::right(named, Scheduler::Greedy, 1).computation().strand_count() <= STRANDS);
    named
}

fn list(run: &Run) -> Vec<Ratio> {
    run.speeds.as_ref().and_then(Speeds::list).unwrap_or_default().to_vec()
}

fn graham(cx: &Context<'_>) -> Finding {
    let mut cases = Vec::new();
    for named in &tiny(cx) {
        for p in [2, 3, 4] {
            cases.push(Run::new(cx, named, Scheduler::Greedy, p));
        }
    }
    cx.always(cases, |run| {
        let p = run.processors;
        let least = optimum(run.computation(), &vec![Ratio::ONE; p]).ok_or("too many strands")?;
        let (time, factor) = (run.outcome()?.time(), 2.0 - 1.0 / p as f64);
        Ok(Sample::new(time, factor * least).constant("time per optimum", time / least, factor, factor))
    })
}

fn greedy(cx: &Context<'_>) -> Finding {
    let case = |s: u64| {
        let named = Named::new(&format!("greedy-trap:long={0},short={0}", 10 * s));
        Run::new(cx, &named, Scheduler::Greedy, 1).speeds(&format!("{s},3x1"))
    };
    cx.always([40, 400, 4000].map(case).to_vec(), |run| {
        let other = run.mended().under(Scheduler::MaximumUtilization).outcome()?.time();
        let (s, ratio) = (speeds(run)[0], run.outcome()?.time() / other);
        Ok(Sample::new(s / 8.0, ratio).constant_at_least("ratio per s", ratio / s, 0.125, None))
    })
}

/// No schedule is shorter than this.
fn least(run: &Run) -> f64 {
    let (m, list) = (run.measures(), speeds(run));
    let (total, most) = (list.iter().sum::<f64>(), list.iter().copied().fold(0.0, f64::max));
    (m.work as f64 / total).max(m.span as f64 / most)
}

/// Speeds that show √p: one processor is about √p times as fast as the others.
const SKEWED: [&str; 4] = ["2,3x1", "3,8x1", "4,15x1", "16x1"];

fn jaffe_preemptive(cx: &Context<'_>) -> Finding {
    let mut cases = Vec::new();
    for named in &computations(cx) {
        for speeds in SPEEDS.iter().chain(&SKEWED) {
            cases.push(
                Run::new(cx, named, Scheduler::MaximumUtilization, 1).speeds(speeds).with_seed(cx.seed(0)),
            );
        }
    }
    cx.always(cases, |run| {
        let factor = (1.0 + (4.0 * run.processors as f64 - 3.0).sqrt()) / 2.0;
        let (time, least) = (run.outcome()?.time(), least(run));
        Ok(Sample::new(time, factor * least).constant("time per least", time / least, factor, factor))
    })
}

/// The time of a greedy schedule on these processors.
fn greedy_on(run: &Run, chosen: &[Ratio]) -> Result<f64, String> {
    let simulation = Simulation::new(run.computation(), Scheduler::Greedy).processors(chosen.len());
    let speeds = Speeds::from_list(chosen.iter().copied());
    Ok(simulation.speeds(speeds).run().map_err(text)?.time())
}

fn jaffe(cx: &Context<'_>) -> Finding {
    let mut cases = Vec::new();
    for named in &tiny(cx) {
        cases.extend(
            ["4,2,1", "3,3,1", "100,3x1"].map(|s| Run::new(cx, named, Scheduler::Greedy, 1).speeds(s)),
        );
    }
    for named in &computations(cx) {
        for speeds in SPEEDS.iter().chain(&SKEWED).chain(&["1000,1", "8x64,1"]) {
            cases.push(Run::new(cx, named, Scheduler::Greedy, 1).speeds(speeds));
        }
    }
    cx.always(cases, |run| {
        let all = list(run);
        let time = match () {
            () if cx.own("fastest") => greedy_on(run, &fastest(&all))?,
            () if cx.own("all") => greedy_on(run, &all)?,
            () if cx.own("slow") => greedy_on(run, &slow(&all))?,
            () => jaffe_time(run)?,
        };
        let least = optimum(run.computation(), &all).unwrap_or_else(|| least(run));
        let factor = 2.0 + (2.0 * all.len() as f64).sqrt();
        Ok(Sample::new(time, factor * least).constant("time per optimum", time / least, factor, factor))
    })
}

fn fastest(all: &[Ratio]) -> Vec<Ratio> {
    vec![all.iter().copied().max().unwrap_or(Ratio::ONE)]
}

/// Those faster than half of the average.
fn fast(all: &[Ratio]) -> Vec<Ratio> {
    let average = all.iter().map(|speed| speed.to_f64()).sum::<f64>() / all.len() as f64;
    all.iter().copied().filter(|speed| speed.to_f64() > average / 2.0).collect()
}

/// The others; all, if there are none.
fn slow(all: &[Ratio]) -> Vec<Ratio> {
    let fast = fast(all);
    let slow: Vec<Ratio> = all.iter().copied().filter(|speed| !fast.contains(speed)).collect();
    if slow.is_empty() { all.to_vec() } else { slow }
}

/// The time of Jaffe's algorithm without preemption.
fn jaffe_time(run: &Run) -> Result<f64, String> {
    let all = list(run);
    Ok(greedy_on(run, &fastest(&all))?.min(greedy_on(run, &fast(&all))?))
}

/// How often β·p·W∞ goes into the work of [`common_case`], at least.
const AMPLE: f64 = 20.0;

fn common_case(cx: &Context<'_>) -> Finding {
    let computations = ["dnc:depth=11,work=20", "loop:n=6000,work=8,jitter=1", "fib:20"].map(Named::new);
    let high = Scheduler::HighUtilization(super::beta(3, 2));
    let mut cases = Vec::new();
    for named in &computations {
        for scheduler in [Scheduler::MaximumUtilization, high] {
            for speeds in ["4,4,4x1", "8,4x2,1,1", "3,2,2,1"] {
                cases.push(Run::new(cx, named, scheduler, 1).speeds(speeds).with_seed(cx.seed(0)));
            }
        }
    }
    cx.always(cases, |run| {
        let (m, least) = (run.measures(), least(run));
        let ample = AMPLE * factor(run.scheduler) * run.processors as f64 * m.span as f64;
        if (m.work as f64) < ample {
            return Err(format!("not the common case: work {}, {ample} needed", m.work));
        }
        let time = if cx.own("jaffe") { jaffe_time(run)? } else { run.outcome()?.time() };
        Ok(Sample::new(time, (1.0 + 1.0 / AMPLE) * least))
    })
}
