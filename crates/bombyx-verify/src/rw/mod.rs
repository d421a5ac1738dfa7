//! The claims of RW (Acar, Charguéraud, Muller & Rainey): its steal and join protocols, which use only loads and
//! stores. They are tried on the TSO machine of `bombyx-sim`, small machines exhaustively and larger ones by random
//! runs; and in virtual time.
//!
//! **Not here:** the machines on which the claims are tried. They are in `bombyx-sim`.

mod clock;
pub mod parts;
mod proof;

use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Subject};
use crate::finding::Finding;
use crate::mutant::Mutant;
use bombyx_rw::Joins;
use bombyx_sim::tso::{
    Ask, Config, LOST_JOIN, Mutation, Outcome, Tree, Verdict, Violation, explore, follow, walk,
};
pub(crate) use clock::CLOCK;
pub(crate) use proof::PROOF;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Errors in the protocols.
macro_rules! protocol {
    ($($mutation:ident),*) => { &[$(Mutant::Protocol(Mutation::$mutation)),*] };
}
use protocol;

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "rw-thm-5-1",
        paper: Paper::Rw,
        name: "Theorem 5.1, safety",
        statement: "Whatever the store buffers do, every thread runs once and after its predecessors",
        quantity: "reachable states that break it",
        scope: "All interleavings and all flushes on small machines: 2 processors with up to 3 forks, 3 processors with up to 1 \
            fork (thorough: 2). Buffers of two processors are never full; with three they hold 1 store (thorough: 2).",
        mutants: protocol![
            TieToBoth,
            NoRoundCheck,
            RoundBeforeHandOut,
            NoTransfer,
            EarlyAck,
            NoRemoval,
            AckBeforeResponsibility,
            NoClear,
            KeepsContinuation
        ],
        few: "",
        attempt: safety,
    },
    Claim {
        id: "rw-thm-5-1-ends",
        paper: Paper::Rw,
        name: "Theorem 5.1, progress",
        statement: "The program ends if its bodies do: no fair run goes on for ever",
        quantity: "fair endless runs",
        scope: "The same machines; every cycle of the state graph that a fair run could follow.",
        mutants: protocol![
            NoWatch,
            NoSelfBlock,
            TieToNone,
            NoResend,
            SilentTransfer,
            BlockRoundFirst,
            NoLocalJoin,
            SingleAndResolves,
            NoWatchInWait,
            NoAcceptTest,
            AnyTop
        ],
        few: "",
        attempt: progress,
    },
    Claim {
        id: "rw-thm-5-1-mem",
        paper: Paper::Rw,
        name: "Theorem 5.1, Mem(C); RM",
        statement: "A thread sees what its predecessors stored in application memory",
        quantity: "threads that do not",
        scope: "2 processors with up to 2 forks, buffers never full: every body stores to a cell through the buffers, and looks \
            for the stores of its predecessors.",
        mutants: protocol![UnorderedFlush, EarlyAck, TakesAcknowledged],
        few: "",
        attempt: |cx| application(cx, Joins::ReadWrite),
    },
    Claim {
        id: "rw-counter",
        paper: Paper::Rw,
        name: "§2.2, joins by fetch-and-add",
        statement: "With a counter and a locked instruction for joins, threads run once and see their predecessors",
        quantity: "reachable states that break it",
        scope: "2 processors with up to 2 forks, buffers never full. A locked instruction waits until the buffer is empty.",
        mutants: protocol![PlainCounter, UnorderedFlush, NoRoundCheck, NoClear],
        few: "",
        attempt: |cx| application(cx, Joins::FetchAdd),
    },
    Claim {
        id: "rw-watch",
        paper: Paper::Rw,
        name: "§6, watch lists",
        statement: "The watch lists of all processors together name at most P − 1 joins",
        quantity: "most joins against P − 1",
        scope: "2 and 3 processors with 3 forks, 2 with 2, reduced as for rw-thm-5-1-four. Each open join has an entry for each side, so there may be 2(P − 1) entries. Runs go \
            on after other things have gone wrong, as far as they can.",
        mutants: protocol![
            NoRemoval,
            NoRemovalAfterAck,
            TransfersItself,
            TransfersMore,
            KeepsTransferred,
            NoTransfer,
            TieToBoth
        ],
        few: "",
        attempt: watch_lists,
    },
    Claim {
        id: "rw-thm-5-1-four",
        paper: Paper::Rw,
        name: "Theorem 5.1, four",
        statement: "With three or four processors and unbounded buffers, every thread runs once, after its predecessors",
        quantity: "reachable states that break it",
        scope: "3 processors with 2 forks, 4 with 1 fork and with `((. .) (. .))` (thorough: all trees of 3 forks). Every interleaving of \
            all that happens outside of `acquire`; of what happens inside, all that can be noticed outside. States that differ in \
            the names of processors count as one.",
        mutants: protocol![
            TieToBoth,
            TieToNone,
            EarlyAck,
            NoTransfer,
            NoRemoval,
            TakesAcknowledged,
            PollBetweenThreads
        ],
        few: "",
        attempt: four,
    },
    Claim {
        id: "rw-random",
        paper: Paper::Rw,
        name: "Theorem 5.1, larger",
        statement: "On larger machines no random run loses, repeats or advances a thread, or fails to end",
        quantity: "most joins watched against P − 1",
        scope: "4, 6 and 8 processors, 8 forks, random moves with fair flushes; a run of a million moves counts as endless.",
        mutants: protocol![
            NoRoundCheck,
            ServesStale,
            TieToBoth,
            TieToNone,
            NoTransfer,
            EarlyAck,
            PollBetweenThreads
        ],
        few: "",
        attempt: random_runs,
    },
    Claim {
        id: "rw-poll",
        paper: Paper::Rw,
        name: "§4.3, where polls are",
        statement: "With polls inside bodies no thread is lost, runs twice or runs early",
        quantity: "runs that break it",
        scope: "4 processors, `((. .) (. .))`: random moves with fair flushes; watch lists are not checked. The paper says that the \
            place of polls does not matter. Between two threads it does: a written schedule shows how a poll there loses a join.",
        mutants: protocol![PollBetweenThreads, ServesStale, NoRoundCheck],
        few: "",
        attempt: polls,
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
        // No buffer of two processors ever holds more than 8 stores, so 9 is no limit.
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

/// A violation as the paper's theorem sees it, if it is of the kind in question.
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

/// The error in the protocols that the context asks for.
fn planted(cx: &Context<'_>) -> Option<Mutation> {
    match cx.plan.mutant {
        Some(Mutant::Protocol(mutation)) => Some(mutation),
        _ => None,
    }
}

fn safety(cx: &Context<'_>) -> Finding {
    let mutation = planted(cx);
    cx.always(machines(cx), |machine| {
        let outcome = match mutation {
            None => as_published(machine)?,
            Some(_) => Arc::new(explored(machine, mutation, false)?),
        };
        judge(&outcome, |v| !is_endless(v))
    })
}

fn progress(cx: &Context<'_>) -> Finding {
    let mutation = planted(cx);
    let mut machines = machines(cx);
    if mutation.is_none() {
        // `safety` may run beside this and explores the same machines from the other end.
        machines.reverse();
    }
    cx.always(machines, |machine| {
        let outcome = match mutation {
            None => as_published(machine)?,
            Some(_) => Arc::new(explored(machine, mutation, true)?),
        };
        judge(&outcome, |_| true)
    })
}

/// Results that several claims share. Each is computed once, also if two threads want it at the same time.
struct Shared<K, V>(Mutex<Vec<(K, Arc<OnceLock<V>>)>>);

impl<K: PartialEq, V: Clone> Shared<K, V> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn get(&self, key: K, compute: impl FnOnce() -> V) -> V {
        let known = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match all.iter().find(|(other, _)| *other == key) {
                Some((_, known)) => Arc::clone(known),
                None => {
                    let unknown = Arc::new(OnceLock::new());
                    all.push((key, Arc::clone(&unknown)));
                    unknown
                }
            }
        };
        known.get_or_init(compute).clone()
    }
}

/// Safety and progress of a machine without an error. Each machine is explored once for both.
fn as_published(machine: &Machine) -> Result<Arc<Outcome>, String> {
    static EXPLORED: Shared<Config, Result<Arc<Outcome>, String>> = Shared::new();
    EXPLORED.get(machine.config.clone(), || explored(machine, None, true).map(Arc::new))
}

/// Machines that are small enough if what happens inside `acquire` is left out.
fn reduced(processors: usize, forks: usize) -> impl Iterator<Item = Machine> {
    Tree::all(forks).into_iter().map(move |tree| {
        let mut machine = Machine::new(processors, &tree.to_string(), 16);
        machine.config.symmetry = true;
        machine.config.reduce = true;
        machine
    })
}

fn four(cx: &Context<'_>) -> Finding {
    let mutation = planted(cx);
    let mut machines: Vec<Machine> = reduced(3, 2).chain(reduced(4, 1)).collect();
    if cx.plan.effort == crate::Effort::Thorough {
        machines.extend(reduced(3, 3).chain(reduced(4, 2)).chain(reduced(4, 3)));
    } else {
        // A join is lost there if polls are between threads.
        machines.extend(reduced(4, 3).filter(|machine| machine.config.tree.to_string() == "((. .) (. .))"));
    }
    cx.always(machines, |machine| judge(&explored(machine, mutation, false)?, |_| true))
}

fn watch_lists(cx: &Context<'_>) -> Finding {
    let mutation = planted(cx);
    // With fewer forks than processors, lists are short whatever goes wrong.
    let machines = reduced(2, 2).chain(reduced(2, 3)).chain(reduced(3, 3)).collect();
    cx.always(machines, |machine| {
        let mut machine = machine.clone();
        machine.config.ask = Ask::WatchLists;
        let stats = explored(&machine, mutation, false)?.stats;
        Ok(Sample::of(u64::from(stats.watched_joins), machine.config.processors as u64 - 1))
    })
}

/// Machines on which bodies store what they computed.
fn application_machines(joins: Joins) -> Vec<Machine> {
    let mut machines: Vec<Machine> = (1..=2)
        .flat_map(Tree::all)
        .map(|tree| Machine::new(2, &tree.to_string(), 9))
        .chain([Machine::new(3, ".", 1)])
        .collect();
    for machine in &mut machines {
        machine.config.application = true;
        machine.config.joins = joins;
    }
    machines
}

fn application(cx: &Context<'_>, joins: Joins) -> Finding {
    let mutation = planted(cx);
    cx.always(application_machines(joins), |machine| {
        judge(&explored(machine, mutation, false)?, |v| !is_endless(v))
    })
}

fn polls(cx: &Context<'_>) -> Finding {
    let mutation = planted(cx);
    let machine = Machine::new(4, "((. .) (. .))", 2);
    let machines = (0..cx.by_effort(60, 300, 5_000)).map(|nth| machine.with_seed(cx.seed(nth))).collect();
    cx.always(machines, |machine| {
        let config = Config { ask: Ask::Threads, ..machine.config.clone() }.with_mutation(mutation);
        let known = mutation == Some(Mutation::PollBetweenThreads) && config.tree.forks() == 3;
        if known {
            let run = follow(&config, LOST_JOIN).map_err(|e| e.to_string())?;
            if let Some(violation) = run.broken {
                let steps: Vec<String> = run.steps.iter().map(|step| format!("      {step}")).collect();
                return Err(format!("{violation}\n{}", steps.join("\n")));
            }
        }
        match walk(&config, machine.seed, 1, 100_000).map_err(|e| e.to_string())?.broken {
            Some((_, found)) => Err(format!("{}\n{found}", found.violation)),
            None => Ok(Sample::HELD),
        }
    })
}

fn random_runs(cx: &Context<'_>) -> Finding {
    let tree = "(((. .) (. .)) ((. .) (. (. .))))";
    let mutation = planted(cx);
    let mut machines = Vec::new();
    for (processors, capacity) in [(4, 2), (6, 4), (8, 8)] {
        let machine = Machine::new(processors, tree, capacity);
        machines.extend((0..cx.by_effort(12, 60, 1_000)).map(|nth| machine.with_seed(cx.seed(nth))));
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
