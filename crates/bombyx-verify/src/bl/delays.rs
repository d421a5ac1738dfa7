//! BL §6: the augmented dag, rounds of steal attempts, critical instructions and delay sequences.

use super::unit_runs;
use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Tally};
use crate::delay::{DelaySequence, History};
use crate::finding::Finding;
use crate::mutant::{WRONG_DEQUES, mutants};
use crate::paths;
use crate::run::{Named, Run, grid, large, named_in_units, small, text};
use bombyx_dag::{Augmented, Class, StrandId};
use bombyx_sim::{EventKind, Invariant, Mode, Outcome, ProcessorId, Scheduler};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-gprime",
        paper: Paper::Bl,
        name: "§6, dag G'",
        statement: "Deque edges at most double the longest path, so that it has at most 2·T∞ instructions",
        quantity: "longest path of G' against 2·T∞",
        scope: "Unit instructions: a deque edge adds one instruction per spawn on the path. On strands with weights the \
            added instruction may weigh more, and the bound fails.",
        mutants: &[],
        few: "no scheduler takes part: it is about dags",
        attempt: augmented_dag,
    },
    Claim {
        id: "bl-rounds",
        paper: Paper::Bl,
        name: "§6, rounds",
        statement: "A round has at least 3P and at most 4P − 2 steal attempts and takes at least 4 steps",
        quantity: "attempts of a round against 4P − 2",
        scope: "Fully strict computations of unit instructions, P ≥ 2. At most P − 1 processors begin an attempt in a step, since \
            one works. The paper says fewer than 4P − 1.",
        mutants: mutants![LeavesParent, Share, EnableElsewhere, Wanders, GivesUp, Neighbour],
        few: "",
        attempt: rounds,
    },
    Claim {
        id: "bl-lem-9",
        paper: Paper::Bl,
        name: "Lemma 9",
        statement: "At least 4PR steal attempts imply that a delay sequence (U, R, Π) occurs",
        quantity: "rounds promised by the attempts against rounds found",
        scope: "Fully strict computations. For every run the sequence is made as in the proof and held to Definition 8, \
            for all its R rounds. Each computation also runs with thieves that never find anything, for many rounds. The \
            lemma holds for every schedule, so the mutants are wrong ways to find U.",
        mutants: paths::WRONG,
        few: "",
        attempt: lemma_9,
    },
    Claim {
        id: "bl-lem-10",
        paper: Paper::Bl,
        name: "Lemma 10",
        statement: "A critical instruction has at most one thread above it in its deque",
        quantity: "states that break it",
        scope: "Fully strict computations of unit instructions; every state of every run; for instructions that wait and for those \
            being executed.",
        mutants: WRONG_DEQUES,
        few: "",
        attempt: lemma_10,
    },
    Claim {
        id: "bl-lem-11-core",
        paper: Paper::Bl,
        name: "Lemma 11, core",
        statement: "At most one attempt chooses v's processor while v is critical and not about to be executed",
        quantity: "most attempts at one instruction's processor against 1",
        scope: "Fully strict computations of unit instructions, first-come-first-served queues. Attempts begun at least three \
            steps before v is executed (two in the paper, where a thief executes in the step in which it is served); the processor is the one that holds v's thread when v becomes critical.",
        mutants: mutants![KeepParent, PushTop, PopTop, StealBottom, EnableElsewhere, Share, LeavesParent],
        few: "",
        attempt: lemma_11_core,
    },
    Claim {
        id: "bl-lem-11",
        paper: Paper::Bl,
        name: "Lemma 11",
        statement: "An instruction stays critical through r given rounds with chance at most e^(3 − 2r), r ≥ 2",
        quantity: "chance for r = 2, 3 against (1 + 3(r−1)P/(P−1))·(1 − 1/P)^(3P(r−1))",
        scope: "Every instruction by itself; the given rounds are the first whole rounds after it becomes critical. The bound is \
            the proof's middle expression, which is sharper than e^(3 − 2r). The interval covers all instructions and all r at \
            once.",
        mutants: mutants![Serial, Half, Victim0, Neighbour, Themselves, GivesUp],
        few: "",
        attempt: lemma_11,
    },
];

fn augmented_dag(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::General);
    specs.extend(large(cx, Class::General));
    cx.always(grid(cx, &named_in_units(specs), &[Scheduler::WorkStealing], &[1], 1), |run| {
        Ok(Sample::of(Augmented::of(run.computation()).span(), 2 * run.measures().span))
    })
}

pub(super) fn history<'c>(run: &'c Run, outcome: &Outcome) -> Result<History<'c>, String> {
    History::of(run.computation(), outcome).map_err(|e| e.to_string())
}

fn rounds(cx: &Context<'_>) -> Finding {
    cx.always(unit_runs(cx, Class::FullyStrict, cx.by_effort(12, 4, 20)), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let mut fullest = 0;
        for round in history(run, &outcome)?.rounds(3 * run.processors) {
            if round.end - round.begin < 3 || round.attempts < 3 * run.processors {
                return Err(format!(
                    "a round of {} attempts lies in steps {}–{}",
                    round.attempts, round.begin, round.end
                ));
            }
            fullest = fullest.max(round.attempts);
        }
        Ok(Sample::of(fullest as u64, 4 * run.processors as u64 - 2))
    })
}

fn lemma_9(cx: &Context<'_>) -> Finding {
    cx.always(unit_runs(cx, Class::FullyStrict, cx.by_effort(2, 5, 30)), |run| {
        let mut worst = Sample::HELD;
        for simulation in [run.simulation(), run.simulation().choices(run.only_themselves())] {
            let outcome = simulation.trace().run().map_err(text)?;
            let history = history(run, &outcome)?;
            let sequence = DelaySequence::along(&history, paths::path(cx, &history), 3 * run.processors);
            sequence.check(&history)?;
            let promised = history.attempts() as u64 / (4 * run.processors as u64);
            let sample = Sample::of(promised, sequence.rounds.len() as u64);
            worst = if worst.bound == 0.0 || sample.measured / sample.bound > worst.measured / worst.bound {
                sample
            } else {
                worst
            };
        }
        Ok(worst)
    })
}

fn lemma_10(cx: &Context<'_>) -> Finding {
    cx.always(unit_runs(cx, Class::FullyStrict, cx.by_effort(2, 5, 25)), |run| {
        let simulation = run.simulation().mode(Mode::Step).check(Invariant::Lemma10);
        simulation.run().map(|_| Sample::HELD).map_err(text)
    })
}

fn lemma_11_core(cx: &Context<'_>) -> Finding {
    cx.always(unit_runs(cx, Class::FullyStrict, cx.by_effort(3, 4, 20)), |run| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let history = history(run, &outcome)?;
        let c = run.computation();
        // The processor that holds the thread of each instruction when the instruction becomes critical.
        let mut starts: Vec<(u64, StrandId)> =
            c.strands().filter_map(|v| Some((*history.critical(v)?.start(), v))).collect();
        starts.sort_unstable();
        let (mut next, mut holder) = (0, vec![ProcessorId(0); c.strand_count()]);
        let watched = run.simulation().mode(Mode::Step).watch(|m, _| {
            while let Some(&(step, v)) = starts.get(next).filter(|(step, _)| *step <= m.now() + 1) {
                debug_assert!(step == m.now() + 1);
                holder[v.index()] = m.home(c.thread_of(v));
                next += 1;
            }
        });
        watched.map_err(text)?;
        let mut at: Vec<Vec<u64>> = vec![Vec::new(); run.processors];
        for event in crate::run::trace(&outcome).events() {
            if let EventKind::Attempt { slot, .. } = event.kind
                && let Some(attempts) = at.get_mut(slot as usize)
            {
                attempts.push(event.from + 1);
            }
        }
        at.iter_mut().for_each(|attempts| attempts.sort_unstable());
        let most = c.strands().filter_map(|v| {
            let critical = history.critical(v)?;
            let attempts = &at[holder[v.index()].index()];
            let from = attempts.partition_point(|step| step < critical.start());
            let to = attempts.partition_point(|&step| step + 2 < *critical.end());
            Some(to.saturating_sub(from) as u64)
        });
        Ok(Sample::of(most.max().unwrap_or(0), 1))
    })
}

fn lemma_11(cx: &Context<'_>) -> Finding {
    let specs =
        ["fib:5", "figure1", "bushy:threads=8,work=2", "fan:children=6,work=2", "random:threads=10,work=2"];
    let specs = cx.by_effort(&specs[..2], &specs[..], &specs[..]);
    let computations: Vec<Named> = specs.iter().map(|spec| Named::in_units(spec)).collect();
    let several: &[usize] = cx.by_effort(&[2, 4], &[2, 3, 8], &[2, 3, 4, 8, 16]);
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], several, 1);
    let name = |(r, v): (u32, u32)| format!("{} critical through {r} rounds", StrandId(v));
    cx.rarely(runs, cx.by_effort(150, 1_200, 15_000), name, |run, tally: &mut Tally| {
        let outcome = run.simulation().trace().run().map_err(text)?;
        let history = history(run, &outcome)?;
        let rounds = history.rounds(3 * run.processors);
        let p = run.processors as f64;
        for v in run.computation().strands() {
            let through = history.critical(v).map_or(0, |critical| {
                let from = rounds.partition_point(|round| round.begin < *critical.start());
                rounds[from..].iter().take_while(|round| round.end <= *critical.end()).count()
            });
            for r in 2..=3_u32 {
                let before = f64::from(r - 1);
                let middle = (1.0 + 3.0 * before * p / (p - 1.0)) * (1.0 - 1.0 / p).powf(3.0 * p * before);
                tally.count((r, v.0), middle, through >= r as usize);
            }
        }
        Ok(())
    })
}
