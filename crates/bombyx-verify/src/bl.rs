//! The claims of BL (Blumofe & Leiserson) about greedy schedules, busy leaves, the structure of deques and the recycling
//! game: its §2 to §5 and Lemma 7. What §6 says about time is in [`time`].

mod time;

pub(crate) use time::TIME_CLAIMS;

use crate::claim::{Claim, Paper};
use crate::context::{Context, Measured, Sample, Subject, Tally};
use crate::finding::Finding;
use crate::game::{Game, Strategy};
use crate::run::{Named, Run, grid, large, named, processors, small, text};
use bombyx_dag::Class;
use bombyx_sim::{Contention, Invariant, Mode, Mutation, Quota, Scheduler, step_table};
use std::f64::consts::E;
use std::fmt;

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-thm-1",
        paper: Paper::Bl,
        name: "Theorem 1",
        statement: "A greedy schedule takes at most T1/P + T∞ steps",
        quantity: "steps against T1/P + T∞",
        scope: "Any computation. Tried with four greedy schedulers (greedy, busy-leaves, fifo, depth-first:inf), which \
            also pass the test of greediness at every step.",
        mutation: "work stealing with attempts of 16 steps, which leaves processors without work, in place of a greedy \
            scheduler",
        attempt: theorem_1,
    },
    Claim {
        id: "bl-fig-2",
        paper: Paper::Bl,
        name: "Figure 2",
        statement: "Busy-Leaves on two processors executes Figure 1 in exactly the 14 steps of the table",
        quantity: "lines of the table that differ",
        scope: "The table was typed from the paper: pool, ready or stalled, and both processors at every step.",
        mutation: "at a spawn the processor goes on with the parent",
        attempt: figure_2,
    },
    Claim {
        id: "bl-lem-2",
        paper: Paper::Bl,
        name: "Lemma 2",
        statement: "A schedule that keeps every leaf busy uses at most S1·P space",
        quantity: "bytes of frames against S1·P",
        scope: "Stack space only: memory on the heap is DFD's subject. Busy leaves are checked at every step, space at \
            its peak, under busy-leaves and work-stealing.",
        mutation: "at a spawn the processor goes on with the parent, so that children wait as idle leaves",
        attempt: lemma_2,
    },
    Claim {
        id: "bl-thm-3-time",
        paper: Paper::Bl,
        name: "Theorem 3, time",
        statement: "Busy-Leaves takes at most T1/P + T∞ steps",
        quantity: "steps against T1/P + T∞",
        scope: "Strict computations; a global pool, so there is no scheduling overhead.",
        mutation: "the bound without T∞",
        attempt: theorem_3_time,
    },
    Claim {
        id: "bl-thm-3-space",
        paper: Paper::Bl,
        name: "Theorem 3, space",
        statement: "Busy-Leaves uses at most S1·P space, in the same run in which it keeps its time",
        quantity: "bytes of frames against S1·P",
        scope: "Strict computations. Each run is also held to the time bound of Theorem 3.",
        mutation: "at a spawn the processor goes on with the parent",
        attempt: theorem_3_space,
    },
    Claim {
        id: "bl-lem-4",
        paper: Paper::Bl,
        name: "Lemma 4",
        statement: "A deque is a chain of parents, and only its top may have been worked on since it spawned",
        quantity: "states that break it",
        scope: "Fully strict computations under work stealing; every state of every run, all contention models.",
        mutation: "thieves take the newest thread",
        attempt: lemma_4,
    },
    Claim {
        id: "bl-thm-5",
        paper: Paper::Bl,
        name: "Theorem 5",
        statement: "Work stealing uses at most S1·P space",
        quantity: "bytes of frames against S1·P",
        scope: "Fully strict computations, all contention models. The proof, by Lemma 4, needs full strictness.",
        mutation: "at a spawn the processor goes on with the parent",
        attempt: theorem_5,
    },
    Claim {
        id: "bl-lem-6-mean",
        paper: Paper::Bl,
        name: "Lemma 6, mean",
        statement: "In the recycling game M tosses are delayed by at most M steps on average, whatever the adversary",
        quantity: "mean total delay against M",
        scope: "Six adversaries. The paper's proof even gives M·(P − 1)/P.",
        mutation: "all tosses go to the first bin",
        attempt: lemma_6_mean,
    },
    Claim {
        id: "bl-lem-6-tail",
        paper: Paper::Bl,
        name: "Lemma 6, tail",
        statement: "With chance 1 − ε the total delay is O(M + P lg P + P lg 1/ε)",
        quantity: "chance of a longer delay against ε",
        scope: "The constants are the proof's: Σ over the balls r of max(2e·m_r, lg P + lg 1/ε), m_r its tosses; ε = 1/4 \
            and 1/20.",
        mutation: "all tosses go to the first bin",
        attempt: lemma_6_tail,
    },
    Claim {
        id: "bl-lem-7",
        paper: Paper::Bl,
        name: "Lemma 7",
        statement: "An execution ends with exactly T1 dollars in the WORK bucket",
        quantity: "dollars more or less than T1",
        scope: "Fully strict computations; every bucket is also held to the sum P·T of all dollars.",
        mutation: "successful steals are booked as WORK",
        attempt: lemma_7,
    },
];

fn steps_within_greedy_bound(run: &Run, makespan: u64) -> Sample {
    let m = run.measures();
    let p = run.processors as f64;
    Sample::new(makespan as f64, m.work as f64 / p + m.span as f64)
}

fn theorem_1(cx: &Context<'_>) -> Finding {
    let greedy =
        [Scheduler::Greedy, Scheduler::BusyLeaves, Scheduler::Fifo, Scheduler::DepthFirst(Quota::Infinite)];
    let schedulers: &[Scheduler] = if cx.mutated() { &[Scheduler::WorkStealing] } else { &greedy };
    let mut specs = large(cx, Class::Strict);
    specs.extend(small(cx, Class::Strict));
    cx.always(grid(cx, &named(specs), schedulers, processors(cx), 1), |run| {
        let simulation = run.simulation();
        let simulation =
            if cx.mutated() { simulation.steal_cost(16) } else { simulation.check(Invariant::Greedy) };
        Ok(steps_within_greedy_bound(run, simulation.run().map_err(text)?.makespan))
    })
}

const FIGURE_2: &str = include_str!("figure-2.txt");

fn figure_2(cx: &Context<'_>) -> Finding {
    let figure = Run::new(&Named::new("figure1"), Scheduler::BusyLeaves, 2);
    cx.always(vec![figure], |run| {
        let mut simulation = run.simulation().trace();
        if cx.mutated() {
            simulation = simulation.mutate(Mutation::KeepParent);
        }
        let outcome = simulation.run().map_err(text)?;
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

/// The peak of frames against S1·P, with busy leaves checked at every step.
fn busy_leaves_within_space(cx: &Context<'_>, run: &Run) -> Measured {
    let mut simulation = run.simulation().mode(Mode::Step);
    simulation = match cx.mutated() {
        true => simulation.mutate(Mutation::KeepParent),
        false => simulation.check(Invariant::BusyLeaves),
    };
    let outcome = simulation.run().map_err(text)?;
    Ok(Sample::of(outcome.peak.frames, run.measures().stack * run.processors as u64))
}

fn lemma_2(cx: &Context<'_>) -> Finding {
    let schedulers = [Scheduler::BusyLeaves, Scheduler::WorkStealing];
    let runs =
        grid(cx, &named(small(cx, Class::FullyStrict)), &schedulers, processors(cx), cx.by_effort(1, 3, 10));
    cx.always(runs, |run| busy_leaves_within_space(cx, run))
}

fn theorem_3_time(cx: &Context<'_>) -> Finding {
    let specs = large(cx, Class::Strict);
    cx.always(grid(cx, &named(specs), &[Scheduler::BusyLeaves], processors(cx), 1), |run| {
        let mut sample = steps_within_greedy_bound(run, run.outcome()?.makespan);
        if cx.mutated() {
            sample.bound -= run.measures().span as f64;
        }
        Ok(sample)
    })
}

fn theorem_3_space(cx: &Context<'_>) -> Finding {
    let mut specs = small(cx, Class::Strict);
    specs.push("fan:children=40,work=3".to_owned());
    cx.always(grid(cx, &named(specs), &[Scheduler::BusyLeaves], processors(cx), 1), |run| {
        let time = steps_within_greedy_bound(run, run.outcome()?.makespan);
        if time.measured > time.bound {
            return Err(format!("{} steps are more than T1/P + T∞ = {}", time.measured, time.bound));
        }
        busy_leaves_within_space(cx, run)
    })
}

/// Work stealing under every contention model in turn.
fn contended(mut runs: Vec<Run>) -> Vec<Run> {
    for (run, model) in runs.iter_mut().zip(Contention::ALL.into_iter().cycle()) {
        run.contention = model;
    }
    runs
}

fn lemma_4(cx: &Context<'_>) -> Finding {
    let computations = named(small(cx, Class::FullyStrict));
    let runs = grid(cx, &computations, &[Scheduler::WorkStealing], processors(cx), cx.by_effort(2, 7, 30));
    cx.always(contended(runs), |run| {
        let mut simulation = run.simulation().mode(Mode::Step).check(Invariant::Lemma4);
        if cx.mutated() {
            simulation = simulation.mutate(Mutation::StealBottom);
        }
        simulation.run().map(|_| Sample::HELD).map_err(text)
    })
}

fn theorem_5(cx: &Context<'_>) -> Finding {
    let mut specs = large(cx, Class::FullyStrict);
    specs.extend(small(cx, Class::FullyStrict));
    let runs = grid(cx, &named(specs), &[Scheduler::WorkStealing], processors(cx), cx.by_effort(1, 6, 20));
    cx.always(contended(runs), |run| {
        let mut simulation = run.simulation();
        if cx.mutated() {
            simulation = simulation.mutate(Mutation::KeepParent);
        }
        let outcome = simulation.run().map_err(text)?;
        Ok(Sample::of(outcome.peak.frames, run.measures().stack * run.processors as u64))
    })
}

fn lemma_7(cx: &Context<'_>) -> Finding {
    let mut specs = large(cx, Class::FullyStrict);
    specs.extend(small(cx, Class::FullyStrict));
    let runs = grid(cx, &named(specs), &[Scheduler::WorkStealing], processors(cx), cx.by_effort(1, 3, 10));
    cx.always(contended(runs), |run| {
        let outcome = run.outcome()?;
        let d = outcome.dollars;
        let all = outcome.makespan * run.processors as u64;
        if d.work + d.steal + d.wait + d.idle != all {
            return Err(format!("the buckets hold {d:?}, not the {all} dollars of all steps"));
        }
        let work = d.work + if cx.mutated() { outcome.steals } else { 0 };
        Ok(Sample::of(work.abs_diff(run.measures().work), 0))
    })
}

/// A recycling game as a case.
impl Subject for Game {
    fn computation(&self) -> String {
        self.strategy.to_string()
    }

    fn processors(&self) -> usize {
        self.balls
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..*self }
    }

    fn smaller(&self) -> Vec<Self> {
        let balls = [self.balls / 2, self.balls - 1].into_iter().filter(|&b| b >= 1 && b < self.balls);
        let tosses =
            [self.tosses / 2, self.tosses.saturating_sub(1)].into_iter().filter(|&m| m < self.tosses);
        balls
            .map(|balls| Self { balls, ..*self })
            .chain(tosses.map(|tosses| Self { tosses, ..*self }))
            .collect()
    }

    fn replay(&self, _: u64) -> Option<String> {
        None
    }
}

impl fmt::Display for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "recycling game of {} balls and {} tosses, {} adversary",
            self.balls, self.tosses, self.strategy
        )
    }
}

fn games(cx: &Context<'_>) -> Vec<Game> {
    let sizes: &[(usize, u64)] = cx.by_effort(
        &[(8, 200)],
        &[(2, 50), (4, 400), (16, 400), (64, 2_000)],
        &[(2, 50), (16, 400), (64, 5_000), (256, 20_000)],
    );
    let game = |&(balls, tosses), strategy| Game { balls, tosses, strategy, seed: 0, crooked: cx.mutated() };
    sizes.iter().flat_map(|size| Strategy::ALL.map(|strategy| game(size, strategy))).collect()
}

fn lemma_6_mean(cx: &Context<'_>) -> Finding {
    cx.on_average(games(cx), cx.by_effort(60, 300, 1000), |game| {
        Ok(Sample::of(game.play().delay(), game.tosses))
    })
}

fn lemma_6_tail(cx: &Context<'_>) -> Finding {
    let name = |(denominator, _)| format!("longer than the bound for ε = 1/{denominator}");
    cx.rarely(games(cx), cx.by_effort(60, 300, 1000), name, |game, tally: &mut Tally| {
        let played = game.play();
        for denominator in [4_u32, 20] {
            let logs = (game.balls as f64).log2() + f64::from(denominator).log2();
            let bound: f64 = played.tosses.iter().map(|&m| (2.0 * E * m as f64).max(logs)).sum();
            let longer = played.delay() as f64 > bound;
            tally.count((denominator, 0), 1.0 / f64::from(denominator), longer);
        }
        Ok(())
    })
}
