//! The claims of RW (Acar, Charguéraud, Muller & Rainey): its steal and join protocols, which use loads and stores only,
//! on the TSO machine of `bombyx-sim`, small machines exhaustively and larger ones by random runs.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Subject};
use crate::finding::Finding;
use bombyx_sim::tso::{Config, Mutation, Outcome, Tree, Verdict, Violation, explore, walk};
use std::fmt;

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "rw-thm-5-1",
        paper: Paper::Rw,
        name: "Theorem 5.1, safety",
        statement: "Whatever the store buffers do, every thread runs once and after its predecessors",
        quantity: "reachable states that break it",
        scope: "All interleavings and all flushes on small machines: 2 processors with up to 3 forks, 3 processors with up to 1 \
            fork (thorough: 2). Buffers of two processors are never full; with three they hold 1 store (thorough: 2).",
        mutation: "after READY on both sides both sides run the join thread",
        attempt: safety,
    },
    Claim {
        id: "rw-thm-5-1-ends",
        paper: Paper::Rw,
        name: "Theorem 5.1, progress",
        statement: "The program ends if its bodies do: no fair run goes on for ever",
        quantity: "fair endless runs",
        scope: "The same machines; every cycle of the graph of states that a fair run could follow.",
        mutation: "nobody answers a READY",
        attempt: progress,
    },
    Claim {
        id: "rw-watch",
        paper: Paper::Rw,
        name: "§6, watch lists",
        statement: "The watch lists of all processors together name at most P − 1 joins",
        quantity: "most joins against P − 1",
        scope: "The same machines. Each open join has an entry for either side, so that there may be 2(P − 1) entries.",
        mutation: "the bound P − 2",
        attempt: watch_lists,
    },
    Claim {
        id: "rw-random",
        paper: Paper::Rw,
        name: "Theorem 5.1, larger",
        statement: "On larger machines no random run loses, repeats or advances a thread, or fails to end",
        quantity: "most joins watched against P − 1",
        scope: "4, 6 and 8 processors, 8 forks, random moves with fair flushes; a run of a million moves counts as endless.",
        mutation: "a query is served whatever its round",
        attempt: random_runs,
    },
];

/// A machine to explore, or to walk from a seed.
#[derive(Clone, Debug)]
struct Machine {
    config: Config,
    seed: u64,
}

impl Machine {
    fn new(processors: usize, tree: &str, capacity: usize) -> Self {
        let tree = tree.parse().unwrap_or_else(|e| panic!("`{tree}`: {e}"));
        Self { config: Config::new(processors, tree).with_capacity(capacity), seed: 0 }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Config { processors, tree, capacity, .. } = &self.config;
        write!(f, "{tree} on {processors} processors with store buffers of {capacity}")
    }
}

impl Subject for Machine {
    fn computation(&self) -> String {
        self.config.tree.to_string()
    }

    fn processors(&self) -> usize {
        self.config.processors
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        for forks in 0..self.config.tree.forks().min(3) {
            for tree in Tree::all(forks) {
                smaller.push(Self { config: Config { tree, ..self.config.clone() }, ..self.clone() });
            }
        }
        for processors in 2..self.config.processors {
            smaller.push(Self { config: Config { processors, ..self.config.clone() }, ..self.clone() });
        }
        smaller
    }

    fn replay(&self, _: u64) -> Option<String> {
        None
    }
}

fn machines(cx: &Context<'_>) -> Vec<Machine> {
    let mut machines: Vec<Machine> = [".", "(. .)"].map(|tree| Machine::new(2, tree, 2)).into();
    machines.push(Machine::new(3, ".", 1));
    if cx.plan.effort > crate::Effort::Quick {
        // No buffer of two processors ever holds more than 8 stores, so that 9 are no bound at all.
        machines.extend((2..=3).flat_map(Tree::all).map(|tree| Machine::new(2, &tree.to_string(), 9)));
        machines.push(Machine::new(3, "(. .)", 1));
    }
    if cx.plan.effort > crate::Effort::Normal {
        machines.extend(Tree::all(2).iter().map(|tree| Machine::new(3, &tree.to_string(), 2)));
    }
    machines
}

fn explored(machine: &Machine, mutation: Option<Mutation>, liveness: bool) -> Result<Outcome, String> {
    let config = Config { liveness, ..machine.config.clone() }.with_mutation(mutation);
    explore(&config, |_| {}).map_err(|e| e.to_string())
}

/// A violation as the paper's theorem would see it, if it is of the kind asked for.
fn judge(outcome: &Outcome, kind: fn(&Violation) -> bool) -> Measured {
    match (&outcome.verdict, outcome.counterexample()) {
        (Verdict::Incomplete, _) => Err("there are more states than could be explored".to_owned()),
        (_, Some(found)) if kind(&found.violation) => Err(format!("{}\n{found}", found.violation)),
        _ => Ok(Sample::HELD),
    }
}

fn is_endless(violation: &Violation) -> bool {
    matches!(
        violation,
        Violation::Livelock | Violation::QueryUnanswered { .. } | Violation::JoinUnanswered { .. }
    )
}

fn safety(cx: &Context<'_>) -> Finding {
    let mutation = cx.mutated().then_some(Mutation::TieToBoth);
    cx.always(machines(cx), |machine| judge(&explored(machine, mutation, false)?, |v| !is_endless(v)))
}

fn progress(cx: &Context<'_>) -> Finding {
    let mutation = cx.mutated().then_some(Mutation::NoWatch);
    cx.always(machines(cx), |machine| judge(&explored(machine, mutation, true)?, |_| true))
}

fn watch_lists(cx: &Context<'_>) -> Finding {
    let spare = if cx.mutated() { 2 } else { 1 };
    cx.always(machines(cx), |machine| {
        let stats = explored(machine, None, false)?.stats;
        Ok(Sample::of(u64::from(stats.watched_joins), (machine.config.processors - spare) as u64))
    })
}

fn random_runs(cx: &Context<'_>) -> Finding {
    let tree = "(((. .) (. .)) ((. .) (. (. .))))";
    let mutation = cx.mutated().then_some(Mutation::NoRoundCheck);
    let mut machines = Vec::new();
    for (processors, capacity) in [(4, 2), (6, 4), (8, 8)] {
        let machine = Machine::new(processors, tree, capacity);
        machines.extend((0..cx.by_effort(1, 60, 1_000)).map(|nth| machine.with_seed(cx.seed(nth))));
    }
    cx.always(machines, |machine| {
        let config = machine.config.clone().with_mutation(mutation);
        let outcome = walk(&config, machine.seed, 1, 1_000_000).map_err(|e| e.to_string())?;
        match outcome.broken {
            Some((_, found)) => Err(format!("{}, after {} moves", found.violation, found.moves)),
            None => Ok(Sample::of(u64::from(outcome.watched_joins), config.processors as u64 - 1)),
        }
    })
}
