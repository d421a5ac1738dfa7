//! BL §5: the recycling game. Here, mutants change how balls find their bins.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Subject, Tally};
use crate::finding::{Constant, Finding};
use crate::game::{Game, Service, Strategy, Toss, best};
use crate::mutant::Mutant;
use crate::statistics::ln_choose;
use std::f64::consts::E;
use std::fmt;

const WRONG_TOSSES: &[Mutant] = &[
    Mutant::Own { name: "first-bin", about: "all tosses go to the first bin" },
    Mutant::Own { name: "half-bins", about: "tosses go to one half of the bins" },
    Mutant::Own { name: "fullest-bin", about: "tosses go to the fullest bin" },
];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "bl-lem-6-mean",
        paper: Paper::Bl,
        name: "Lemma 6, mean",
        statement: "In the recycling game M tosses are delayed by at most M steps on average, whatever the adversary",
        quantity: "mean total delay against 0.8·M·(P − 1)/P",
        scope: "Six adversaries. (P − 1)/P is what the proof gives: each of P − 1 indicators has mean at most 1/P.",
        mutants: WRONG_TOSSES,
        few: "",
        attempt: lemma_6_mean,
    },
    Claim {
        id: "bl-lem-6-best",
        paper: Paper::Bl,
        name: "Lemma 6, best",
        statement: "Not even the best adversary delays M tosses by more than M steps on average",
        quantity: "exact expected delay of the optimal adversary against 0.8·M·(P − 1)/P",
        scope: "Dynamic programming over all choices of the adversary, P ≤ 8, M up to 64 (no runs, no seeds). The bound checked is \
            four fifths of what the proof gives.",
        mutants: WRONG_TOSSES,
        few: "",
        attempt: lemma_6_best,
    },
    Claim {
        id: "bl-lem-6-fifo",
        paper: Paper::Bl,
        name: "Lemma 6, FIFO",
        statement: "Which ball of a bin the adversary returns is immaterial to the total delay",
        quantity: "difference of the total delays",
        scope: "Oldest first against newest first, with the same tosses, for adversaries that look only at the numbers of balls.",
        mutants: &[
            Mutant::Own { name: "two-served", about: "newest first, two balls of a bin return at once" },
            Mutant::Own { name: "all-served", about: "all balls of a bin return at once" },
            Mutant::Own { name: "pauses", about: "in every second step no ball returns" },
        ],
        few: "",
        attempt: lemma_6_fifo,
    },
    Claim {
        id: "bl-ineq-3",
        paper: Paper::Bl,
        name: "§5, (3) and (4)",
        statement: "Given cycles of a ball are delayed by given other balls with chance at most P^(−|S|)",
        quantity: "chance for |S| = 1, 2, 3 against P^(−|S|)",
        scope: "Adversaries that do not look at which ball lies where. One that does breaks it: it tosses ball 1 only when two \
            given balls lie in one bin (limits). The proof overlooks such adversaries. The bound on the mean does not need this \
            claim, because expectation is linear.",
        mutants: WRONG_TOSSES,
        few: "",
        attempt: inequality_3,
    },
    Claim {
        id: "bl-lem-6-tail",
        paper: Paper::Bl,
        name: "Lemma 6, tail",
        statement: "With chance 1 − ε the total delay is O(M + P lg P + P lg 1/ε)",
        quantity: "chance of a longer delay against ε, for one ball and for all",
        scope: "One ball of m tosses: Δ steps with chance at most (m(P−1) choose Δ)·P^(−Δ), for Δ where that is about 0.3, 0.05 and \
            0.01. All balls: 0.8·M + (P lg P + P lg 1/ε)/2, ε = 1/4 and 1/20, in place of the proof's Σ max(2e·m, lg P + lg 1/ε).",
        mutants: WRONG_TOSSES,
        few: "",
        attempt: lemma_6_tail,
    },
];

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
        let fewer = balls.map(|balls| Self { balls, ..*self });
        fewer.chain(tosses.map(|tosses| Self { tosses, ..*self })).collect()
    }

    fn replay(&self, _: u64) -> Option<String> {
        None
    }
}

impl fmt::Display for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { balls, tosses, strategy, .. } = self;
        write!(f, "recycling game of {balls} balls and {tosses} tosses, {strategy} adversary")
    }
}

/// How balls find their bins: wrongly, if the mutant says so.
fn toss(cx: &Context<'_>) -> Toss {
    Toss::WRONG.iter().find(|(_, name)| cx.own(name)).map_or(Toss::Any, |&(toss, _)| toss)
}

fn games(cx: &Context<'_>, sizes: &[(usize, u64)]) -> Vec<Game> {
    let toss = toss(cx);
    let game =
        |&(balls, tosses), strategy| Game { balls, tosses, strategy, seed: 0, toss, service: Service::Fifo };
    sizes.iter().flat_map(|size| Strategy::ALL.map(|strategy| game(size, strategy))).collect()
}

fn sizes(cx: &Context<'_>) -> &'static [(usize, u64)] {
    cx.by_effort(
        &[(8, 200)],
        &[(2, 50), (4, 400), (16, 400), (64, 2_000)],
        &[(2, 50), (16, 400), (64, 5_000), (256, 20_000)],
    )
}

fn lemma_6_mean(cx: &Context<'_>) -> Finding {
    cx.on_average(games(cx, sizes(cx)), cx.by_effort(60, 200, 1000), |game| {
        let delay = game.play().delay() as f64;
        let proof = (game.balls - 1) as f64 / game.balls as f64;
        let checked = 0.8 * proof;
        let tosses = game.tosses as f64;
        Ok(Sample::new(delay, checked * tosses).constant("M", delay / tosses, checked, proof))
    })
}

fn lemma_6_best(cx: &Context<'_>) -> Finding {
    let most = cx.by_effort(5, 8, 9);
    let games: Vec<Game> = games(cx, &(2..=most).map(|balls| (balls, 64)).collect::<Vec<_>>());
    let one_each = games.into_iter().filter(|game| game.strategy == Strategy::Eager).collect();
    cx.always(one_each, |game: &Game| {
        let delays = best(game.balls, game.tosses as usize, game.toss);
        let proof = (game.balls - 1) as f64 / game.balls as f64;
        let mut worst = Sample::HELD;
        for (tosses, delay) in delays.iter().enumerate().skip(1) {
            let sample = Sample::new(*delay, 0.8 * proof * tosses as f64);
            if worst.bound == 0.0 || sample.measured / sample.bound > worst.measured / worst.bound {
                worst = sample.constant("M", delay / tosses as f64, 0.8 * proof, proof);
            }
        }
        Ok(worst)
    })
}

fn lemma_6_fifo(cx: &Context<'_>) -> Finding {
    let by_number = |game: &Game| game.strategy != Strategy::Favourite;
    let games: Vec<Game> = games(cx, sizes(cx)).into_iter().filter(by_number).collect();
    let seeds = cx.by_effort(5, 20, 100);
    let cases = games.iter().flat_map(|game| (0..seeds).map(|nth| game.with_seed(cx.seed(nth)))).collect();
    let wrong = Service::WRONG.iter().find(|(_, name)| cx.own(name));
    let service = wrong.map_or(Service::Lifo, |&(service, _)| service);
    cx.always(cases, |game: &Game| {
        let other = Game { service, ..*game }.play().delay();
        Ok(Sample::of(game.play().delay().abs_diff(other), 0))
    })
}

fn inequality_3(cx: &Context<'_>) -> Finding {
    let sizes =
        cx.by_effort(&[(4, 60)][..], &[(3, 40), (4, 60), (8, 100)], &[(3, 40), (4, 60), (8, 100), (16, 200)]);
    let name = |(set, _): (u32, u32)| format!("set {set} of delays");
    // S as pairs (cycle, ball) of ball 0.
    const SETS: [&[(usize, usize)]; 7] = [
        &[(0, 1)],
        &[(2, 2)],
        &[(0, 1), (0, 2)],
        &[(1, 1), (3, 1)],
        &[(2, 1), (4, 2)],
        &[(0, 1), (1, 1), (2, 1)],
        &[(1, 1), (1, 2), (3, 2)],
    ];
    cx.rarely(games(cx, sizes), cx.by_effort(400, 6_000, 40_000), name, |game, tally: &mut Tally| {
        let played = game.play();
        for (set, pairs) in (0..).zip(SETS) {
            let delayed = |&(cycle, ball): &(usize, usize)| {
                played.ahead.get(cycle).is_some_and(|ahead| ahead.contains(&ball))
            };
            let bound = (game.balls as f64).powi(-(pairs.len() as i32));
            tally.count((set, 0), bound, pairs.iter().all(delayed));
        }
        Ok(())
    })
}

/// The least Δ for which (m(P − 1) choose Δ)·P^(−Δ) is at most `chance`.
fn delay_for(chance: f64, tosses: u64, balls: usize) -> u64 {
    let indicators = tosses * (balls as u64 - 1);
    let ln_chance = |delay: u64| {
        if delay > indicators {
            f64::NEG_INFINITY
        } else {
            ln_choose(indicators, delay) - delay as f64 * (balls as f64).ln()
        }
    };
    // Beyond the mean, the chance falls.
    let mean = indicators / balls as u64;
    (mean..).find(|&delay| ln_chance(delay) <= chance.ln()).expect("it falls without end")
}

fn lemma_6_tail(cx: &Context<'_>) -> Finding {
    let name = |(kind, per_mille): (u32, u32)| match kind {
        0 => format!("all balls longer than the bound for ε = {}", f64::from(per_mille) / 1000.0),
        _ => format!("one ball longer than the bound for {}", f64::from(per_mille) / 1000.0),
    };
    cx.rarely(games(cx, sizes(cx)), cx.by_effort(60, 250, 1000), name, |game, tally: &mut Tally| {
        let played = game.play();
        let (m, p) = (game.tosses as f64, game.balls as f64);
        for per_mille in [250_u32, 50] {
            let epsilon = f64::from(per_mille) / 1000.0;
            let logs = p.log2() + (1.0 / epsilon).log2();
            let proof: f64 = played.tosses.iter().map(|&m| (2.0 * E * m as f64).max(logs)).sum();
            let delay = played.delay() as f64;
            let bound = 0.8 * m + p * logs / 2.0;
            tally.constant(Constant::at_most("M", delay / m, bound / m, Some(proof / m)));
            tally.count((0, per_mille), epsilon, delay > bound);
        }
        for per_mille in [300_u32, 50, 10] {
            let chance = f64::from(per_mille) / 1000.0;
            let least = delay_for(chance, played.tosses[0], game.balls);
            tally.count((1, per_mille), chance, played.delays[0] > 0 && played.delays[0] >= least);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_for_chances_fall() {
        let (likely, rare) = (delay_for(0.3, 10, 8), delay_for(0.01, 10, 8));
        assert!(likely < rare && rare < 70, "{likely} {rare}");
    }
}
