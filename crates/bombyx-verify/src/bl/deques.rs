//! BL §4: what deques look like under work stealing, and how much space it uses.

use super::contended;
use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample};
use crate::finding::Finding;
use crate::mutant::{WRONG_DEQUES, mutants};
use crate::run::{grid, large, named, processors, small, text};
use bombyx_dag::Class;
use bombyx_sim::{Invariant, Mode, Scheduler};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-lem-4",
        paper: Paper::Bl,
        name: "Lemma 4",
        statement: "A deque is a chain of parents, and only its top may have been worked on since it spawned",
        quantity: "states that break it",
        scope: "Fully strict computations under work stealing; every state of every run, all contention models.",
        mutants: WRONG_DEQUES,
        few: "",
        attempt: lemma_4,
    },
    Claim {
        id: "bl-thm-5",
        paper: Paper::Bl,
        name: "Theorem 5",
        statement: "Work stealing uses at most S1·P space",
        quantity: "bytes of frames against S1·P",
        scope: "Fully strict computations with unequal frames, all contention models. The proof, by Lemma 4, needs full \
            strictness.",
        mutants: WRONG_DEQUES,
        few: "",
        attempt: theorem_5,
    },
    Claim {
        id: "bl-lem-7",
        paper: Paper::Bl,
        name: "Lemma 7",
        statement: "An execution ends with exactly T1 dollars in the WORK bucket",
        quantity: "dollars more or less than T1",
        scope: "Fully strict computations; every bucket is also held to the sum P·T of all dollars, and IDLE is empty: a processor \
            works, attempts a steal or waits for one.",
        mutants: mutants![Serial, BlocksAtStall, GivesUp, Forgets, KeepParent],
        few: "",
        attempt: lemma_7,
    },
];

fn lemma_4(cx: &Context<'_>) -> Finding {
    let computations = named(small(cx, Class::FullyStrict));
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], processors(cx), cx.by_effort(2, 5, 20));
    cx.always(contended(runs), |run| {
        let simulation = run.simulation().mode(Mode::Step).check(Invariant::Lemma4);
        simulation.run().map(|_| Sample::HELD).map_err(text)
    })
}

fn theorem_5(cx: &Context<'_>) -> Finding {
    let mut specs = large(cx, Class::FullyStrict);
    specs.extend(small(cx, Class::FullyStrict));
    let runs = grid(cx, &named(specs), &[Scheduler::WorkStealing], processors(cx), cx.by_effort(1, 4, 12));
    cx.always(contended(runs), |run| {
        let allowed = run.measures().stack * run.processors as u64;
        let used = run.outcome()?.peak.frames;
        Ok(Sample::of(used, allowed).constant("S1·P", used as f64 / allowed as f64, 1.0, 1.0))
    })
}

fn lemma_7(cx: &Context<'_>) -> Finding {
    let mut specs = large(cx, Class::FullyStrict);
    specs.extend(small(cx, Class::FullyStrict));
    let runs = grid(cx, &named(specs), &[Scheduler::WorkStealing], processors(cx), cx.by_effort(1, 2, 8));
    cx.always(contended(runs), |run| {
        let outcome = run.outcome()?;
        let d = outcome.dollars;
        let all = outcome.makespan * run.processors as u64;
        if d.work + d.steal + d.wait + d.idle != all || d.idle > 0 {
            return Err(format!(
                "the buckets hold {d:?}, not the {all} dollars of all steps in three of them"
            ));
        }
        Ok(Sample::of(d.work.abs_diff(run.measures().work), 0))
    })
}
