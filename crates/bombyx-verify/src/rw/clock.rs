//! The claims of RW §6 about time, on the schedulers in virtual time: the step machine that runs on threads, with
//! stores that become visible after at most Δ, and bodies that poll every τ.

use super::{planted, protocol};
use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Subject};
use crate::finding::Finding;
use crate::mutant::Mutant;
use bombyx_dag::Builder;
use bombyx_rw::{Joins, Steals};
use bombyx_sim::timed::{Outcome, Timed};
use bombyx_sim::tso::Mutation;
use std::fmt;

const SCOPE: &str = "Forks nested 8 deep with bodies of random length on 2, 8 and 30 processors, τ from 300 to 1000, Δ from 100 to \
    1000; what instructions take is added to the bound. Random runs, not all runs.";

pub(crate) const CLOCK: &[Claim] = &[
    Claim {
        id: "rw-tau",
        paper: Paper::Rw,
        name: "§6, τ + 2Δ",
        statement: "A steal that succeeds takes at most τ + 2Δ, from the query to the thread",
        quantity: "slowest steal against the bound",
        scope: SCOPE,
        mutants: protocol![SkipsPolls, Lingers, LongDelta, Dawdles],
        few: "",
        attempt: |cx| clocked(cx, |run| Sample::of(run.slowest_steal, run.steal_bound())),
    },
    Claim {
        id: "rw-stale",
        paper: Paper::Rw,
        name: "§6, 2Δ",
        statement: "A query of an older round arrives at most 2Δ after the round that made it old",
        quantity: "latest such query against the bound",
        scope: SCOPE,
        mutants: protocol![Dawdles, OldRound, LongDelta, SkipsPolls],
        few: "",
        attempt: |cx| clocked(cx, |run| Sample::of(run.latest_stale, run.stale_bound())),
    },
    Claim {
        id: "rw-stale-rare",
        paper: Paper::Rw,
        name: "§5, stale queries",
        statement: "When τ ≫ Δ, few queries are stale",
        quantity: "mean share of queries that arrive too late, against 1/20",
        scope: "τ = 20·Δ on 2, 8 and 30 processors; with τ = Δ a quarter to two fifths of all queries are stale on 8 and 30. The paper has no \
            figure; 1/20 is ours.",
        mutants: protocol![Dawdles, OldRound, LongDelta, SkipsPolls],
        few: "",
        attempt: rare,
    },
];

/// A run in virtual time.
#[derive(Clone)]
struct Clock {
    processors: usize,
    tau: u64,
    delta: u64,
    depth: u32,
    seed: u64,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clock { processors, tau, delta, depth, .. } = self;
        write!(f, "forks {depth} deep on {processors} processors, τ = {tau}, Δ = {delta}")
    }
}

impl Subject for Clock {
    fn computation(&self) -> String {
        format!("forks {} deep, seed {}", self.depth, self.seed)
    }

    fn processors(&self) -> usize {
        self.processors
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    fn smaller(&self) -> Vec<Self> {
        let depths = (1..self.depth).map(|depth| Self { depth, ..self.clone() });
        depths.chain((2..self.processors).map(|processors| Self { processors, ..self.clone() })).collect()
    }

    fn replay(&self, _: u64) -> Option<String> {
        None
    }
}

/// Forks to this depth.
fn nest(b: &mut Builder, depth: u32, weight: &mut dyn FnMut() -> u64) {
    b.strand(weight());
    if depth > 0 {
        b.spawn(0);
        nest(b, depth - 1, weight);
        let left = b.end();
        nest(b, depth - 1, weight);
        b.strand(weight());
        b.wait_for(left);
    }
}

fn run(clock: &Clock, mutation: Option<Mutation>) -> Result<Outcome, String> {
    let mut b = Builder::new(0);
    let mut state = clock.seed;
    nest(&mut b, clock.depth, &mut || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % 8000
    });
    let computation = b.build().map_err(|e| e.to_string())?;
    let timed = Timed::new(&computation, clock.processors, Steals::ReadWrite, Joins::ReadWrite);
    let timed = timed.tau(clock.tau).delta(clock.delta).seed(clock.seed).mutation(mutation);
    timed.run().map_err(|e| e.to_string())
}

fn rare(cx: &Context<'_>) -> Finding {
    let mutation = planted(cx);
    let clocks =
        [2, 8, 30].map(|processors| Clock { processors, tau: 1000, delta: 50, depth: 8, seed: cx.seed(0) });
    cx.on_average(clocks.into(), cx.by_effort(6, 20, 200), |clock| {
        let run = run(clock, mutation)?;
        let share = run.stale as f64 / run.asked.max(1) as f64;
        Ok(Sample::new(share, 0.05).constant("queries", share, 0.05, None))
    })
}

fn clocked(cx: &Context<'_>, sample: fn(&Outcome) -> Sample) -> Finding {
    let mutation = planted(cx);
    let mut clocks = Vec::new();
    for (processors, tau, delta) in [(2, 500, 100), (8, 1000, 300), (30, 300, 1000)] {
        let seeds = (0..cx.by_effort(4, 20, 500)).map(|nth| cx.seed(nth));
        clocks.extend(seeds.map(|seed| Clock { processors, tau, delta, depth: 8, seed }));
    }
    cx.always(clocks, |clock| -> Measured { Ok(sample(&run(clock, mutation)?)) })
}
