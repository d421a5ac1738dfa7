//! The proof of RW Appendix B as claims: each rule, each part of relation R, each invariant.

use super::{Machine, Shared, planted, protocol};
use crate::claim::{Claim, Paper};
use crate::context::{Context, Effort, Measured, Sample, Subject};
use crate::finding::Finding;
use crate::mutant::Mutant;
use bombyx_sim::tso::{Ask, Config, Mutation, Rule, Tree, Verdict, explore, walk};
use std::sync::Arc;

/// A claim for each part of the proof. The proof is checked once, with all its parts. A mutant is tried with this part
/// alone, so that this part notices it and no other.
macro_rules! proof {
    ($($id:literal, $rule:ident, $name:literal, $statement:literal, [$($mutation:ident),*];)*) => {
        pub(crate) const PROOF: &[Claim] = &[WHOLE, $(Claim {
            id: $id,
            paper: Paper::Rw,
            name: $name,
            statement: $statement,
            quantity: "transitions that break it",
            scope: PROOF_SCOPE,
            mutants: protocol![$($mutation),*],
            few: few(protocol![$($mutation),*]),
            attempt: |cx| proved(cx, Rule::$rule),
        }),*];
    };
}

/// Why a part of the proof notices fewer than three errors.
const fn few(noticed: &[Mutant]) -> &'static str {
    if noticed.len() < 3 {
        "it speaks of one line of the protocol, and of all the errors that `tso::Mutation` lists no other was seen to break it on two processors"
    } else {
        ""
    }
}

const PROOF_SCOPE: &str = "Every transition, flushes included, of all machines with 2 processors and up to 3 forks, buffers never \
    full, and of 3 processors with one fork and buffers of 1; every transition of random runs of 3, 4 and 6 processors with 8 \
    forks.";

proof! {
    "rw-lem-5-2-start", Start, "Lemma 5.2, START", "An idle processor begins with a ready thread", [StartsJoin, EarlyAck, KeepsGiven];
    "rw-lem-5-2-end", End, "Lemma 5.2, END", "A thread goes when its body is over, and its join goes to one side", [KeepsContinuation, TieToBoth, TieToNone, TakesAcknowledged];
    "rw-lem-5-2-fork", Fork, "Lemma 5.2, FORK", "The processor that forks runs the thread, and forks once", [ForksTwice, SameBody];
    "rw-lem-5-2-step", Step, "Lemma 5.2, STEP", "The processor that ends a body runs the thread", [EndsTwice];
    "rw-lem-b-1", B1, "Lemma B.1", "The edges form a tree towards the last thread, of arity two at most", [ForkDropsEdge];
    "rw-def-7", Def7, "Def. 7", "Every leaf has one owner, and what a processor owns is a subtree", [HandsOutTwice, KeepsGiven, RoundBeforeHandOut];
    "rw-rd", Rd, "RD", "Deques hold the leaves of the tree, from left to right", [KeepsGiven, RoundBeforeHandOut, NewestFirst];
    "rw-rt1", Rt1, "RT1", "A thread's body is that of its node", [SameBody];
    "rw-rt2", Rt2, "RT2", "Continuations are the edges of the tree", [NoInheritance, NewestFirst, EndsTwice];
    "rw-rc1", Rc1, "RC1", "The current continuation is that of the running thread", [StaleContinuation, EndsTwice, NoInheritance];
    "rw-rc2", Rc2, "RC2", "The current continuation is NULL when nothing runs", [KeepsEnded];
    "rw-rx", Rx, "RX1 to RX6", "The abstract state binds processors to what they run", [NoResolution, TieToNone, AckBeforeResponsibility];
    "rw-rw1", Rw1, "RW1", "Only joins that are due are watched", [NoRemoval, NoRemovalAfterAck, TransfersItself];
    "rw-rw2", Rw2, "RW2", "Joins that are due are watched, or on their way", [NoWatchByThief, NoWatchByVictim, WrongReception];
    "rw-rw3", Rw3, "RW3", "Only joins that are due are on their way", [TransfersMore, TransfersItself, NoRemoval];
    "rw-ia1", Ia1, "IA1", "Nothing is sent to a processor that does not look for work", [ClearsAgain, NoRoundCheck, ForgedQuery];
    "rw-ia2", Ia2, "IA2", "A processor at work does not block itself", [NoAccept, ForgedQuery, UnorderedFlush];
    "rw-ir1", Ir1, "IR1", "A processor stores only its own round", [ForgedRound];
    "rw-ir2", Ir2, "IR2", "Rounds increase", [RepeatsRound, ForgedRound, UnorderedFlush];
    "rw-iq1", Iq1, "IQ1", "A query is signed by its sender", [ForgedQuery];
    "rw-iq2", Iq2, "IQ2", "No query is of a future round", [FutureQuery, ForgedRound, UnorderedFlush];
    "rw-iq3", Iq3, "IQ3", "A processor that asks in the current round waits for the answer", [NoWaiting, EarlyReceive, ForgedRound];
    "rw-it1", It1, "IT1", "A thief's reception cell is empty or just filled", [NoClear, WrongReception, HandsOutTwice];
    "rw-it2", It2, "IT2", "A thief looks into its cell after the victim's round", [EndsOverwritten, EarlyReceive, ForgedRound];
    "rw-it3", It3, "IT3", "What a thief finds in its cell was sent to it", [SnoopsReception, NoRoundCheck, ServesStale];
    "rw-lem-b-9", B9, "Lemma B.9", "A status cell belongs to one processor", [ResolvesOther, KeepsGiven, SnoopsReception];
    "rw-ij1", Ij1, "IJ1", "If one side has left a join, only the other resolves it", [WaitsAgain, ForkDropsEdge];
    "rw-ij2", Ij2, "IJ2", "Only its owner stores a status cell", [ResetsOther, WrongCell, AckInPlace];
    "rw-ij3", Ij3, "IJ3", "A status goes from WORK to READY and TRANSFER, or to ACK", [ReadyTwice, EarlyAck, NoRemoval];
    "rw-ij4", Ij4, "IJ4", "What the other side reads was stored last", [AckBeforeResponsibility, WrongCell, AckInPlace];
    "rw-ij5", Ij5, "IJ5", "A side that is late knows that the join is taken", [RightTakesTie, TieToBoth, TakesAcknowledged];
    "rw-ij6", Ij6, "IJ6", "A side that remains knows that it takes the join", [LeftLeavesTie, TieToNone, EarlyReady];
    "rw-ij7", Ij7, "IJ7", "ACK is not on both sides", [EarlyAck, NoRemoval];
    "rw-ij8", Ij8, "IJ8", "READY is stored when a branch has ended", [EarlyReady, WrongCell, ResolvesOther];
    "rw-ij9", Ij9, "IJ9", "ACK answers READY", [AcksGiven, EarlyAck, NoRemoval];
    "rw-lem-c-1", C1, "Lemma C.1", "Fewer joins are open than processors have work", [NoRoundCheck, RoundBeforeHandOut, NoResolution];
}

/// A machine on which the proof is checked.
fn small(processors: usize, tree: &str, capacity: usize) -> Machine {
    let mut machine = Machine::new(processors, tree, capacity);
    machine.config.proof = true;
    machine.config.application = true;
    machine.config.symmetry = processors > 2;
    machine
}

/// The machines on which the proof is checked. Random runs begin with this seed.
fn proof_machines(effort: Effort, seed: u64) -> Vec<Machine> {
    let mut machines = vec![small(2, "(. .)", 9), small(2, "((. .) .)", 9), small(3, ".", 1)];
    if effort > Effort::Quick {
        machines.extend((1..=3).flat_map(Tree::all).map(|tree| small(2, &tree.to_string(), 9)));
        machines.push(small(3, "(. .)", 1));
    }
    for (processors, capacity) in [(3, 2), (4, 3), (6, 4)] {
        machines.push(small(processors, LARGE, capacity).with_seed(seed));
    }
    machines
}

/// These machines have too many forks to explore, so they are walked.
const LARGE: &str = "(((. .) (. .)) ((. .) (. (. .))))";

/// Explores a machine, or walks it if it has a seed.
fn tried(machine: &Machine, config: &Config, runs: u64) -> Measured {
    if machine.seed() == 0 {
        let outcome = explore(config, |_| {}).map_err(|e| e.to_string())?;
        return match (&outcome.verdict, outcome.counterexample()) {
            (_, Some(found)) => Err(format!("{}\n{found}", found.violation)),
            (Verdict::Incomplete, _) if config.ask == Ask::All => {
                Err("there are more states than could be explored".to_owned())
            }
            _ => Ok(Sample::HELD),
        };
    }
    match walk(config, machine.seed(), runs, 1_000_000).map_err(|e| e.to_string())?.broken {
        Some((_, found)) => Err(format!("{}, after {} moves", found.violation, found.moves)),
        None => Ok(Sample::HELD),
    }
}

/// The first seed of random runs. It is not 0, which stands for an exploration.
fn first_seed(cx: &Context<'_>) -> u64 {
    cx.seed(0).max(1)
}

type Results = Arc<[(Machine, Measured)]>;

/// The results of the machines with the whole proof. Computed once for all its parts.
fn whole_proof(cx: &Context<'_>) -> Results {
    static TRIED: Shared<(Effort, u64), Results> = Shared::new();
    let (effort, seed, runs) = (cx.plan.effort, first_seed(cx), cx.by_effort(2, 20, 500));
    TRIED.get((effort, seed), || {
        let try_one = |machine: Machine| {
            let config = Config { liveness: false, ..machine.config.clone() };
            let measured = tried(&machine, &config, runs);
            (machine, measured)
        };
        proof_machines(effort, seed).into_iter().map(try_one).collect()
    })
}

fn proved(cx: &Context<'_>, rule: Rule) -> Finding {
    if let Some(mutation) = planted(cx) {
        let mut machines = proof_machines(Effort::Quick, first_seed(cx));
        machines.retain(|machine| machine.seed() == 0);
        // Here the right branch forks: only then does it matter that the left one gets its body.
        machines.push(small(2, "(. (. .))", 9));
        return cx.always(machines, |machine| {
            // With only one part checked, nothing stops a run that is wrong otherwise, so there may be endlessly many
            // states.
            let config = Config { ask: Ask::Rule(rule), max_states: 60_000, ..machine.config.clone() };
            tried(machine, &config.with_mutation(mutation), 100)
        });
    }
    let whole = whole_proof(cx);
    cx.always(whole.iter().map(|(machine, _)| machine.clone()).collect(), |machine| {
        let same = |other: &Machine| other.config == machine.config;
        let found = whole.iter().find(|(other, _)| same(other)).map(|(_, measured)| measured.clone());
        found.unwrap_or_else(|| tried(machine, &machine.config, 1))
    })
}

/// All parts together.
const WHOLE: Claim = Claim {
    id: "rw-lem-5-2",
    paper: Paper::Rw,
    name: "Lemma 5.2",
    statement: "Every step of the machine is a step of the abstract machine, or none, and all invariants hold after it",
    quantity: "transitions that break it",
    scope: PROOF_SCOPE,
    mutants: protocol![NewestFirst, KeepsTransferred, DropsTransferred],
    few: "",
    attempt: whole,
};

fn whole(cx: &Context<'_>) -> Finding {
    let Some(mutation) = planted(cx) else { return proved(cx, Rule::Start) };
    let (processors, tree) =
        if mutation == Mutation::NewestFirst { (2, "((. .) .)") } else { (3, "(. (. .))") };
    let mut machine = Machine::new(processors, tree, 2);
    machine.config.proof = true;
    cx.always(vec![machine.with_seed(first_seed(cx))], |machine| {
        tried(machine, &machine.config.clone().with_mutation(mutation), 2_000)
    })
}
