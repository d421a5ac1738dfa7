//! The recycling game (BL §5): balls are steal requests, bins are deques, and an adversary decides when requests are
//! made. Lemma 6 says that it cannot make them wait long.
//!
//! **Not here:** the claim of Lemma 6. It is with the claims of BL.
//!
//! In each step the adversary tosses any of the balls in the reservoir, each into a bin chosen at random. Then one ball
//! of every non-empty bin returns to the reservoir. Which ball it is does not affect the total delay. By default it is
//! the oldest here, so that the delay of each ball is known too. The game ends when all tosses are made and all balls
//! are back.

mod best;
mod picture;

pub use best::best;
pub use picture::picture;

use bombyx_base::Random;
use std::collections::VecDeque;
use std::fmt;

/// How the adversary decides which balls to toss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strategy {
    /// All that are in the reservoir, at once: thieves that never rest.
    Eager,
    /// All, but only when at least half of them are in the reservoir.
    Half,
    /// All, but only when all are in the reservoir: every thief at the same moment.
    Burst,
    /// All while some bin holds at least two balls, else a quarter. This feeds congestion where it sees it.
    Feed,
    /// Each with chance ½.
    Coin,
    /// The ball that was tossed most often, as long as it can be. Others only to keep a bin busy.
    Favourite,
    /// Tosses the first ball only when the second and the third lie in one bin, so it knows where balls are. The proof
    /// of Lemma 6 does not allow for such an adversary (see the limits).
    Ambush,
}

impl Strategy {
    /// All strategies except the ambush.
    pub const ALL: [Self; 6] =
        [Self::Eager, Self::Half, Self::Burst, Self::Feed, Self::Coin, Self::Favourite];
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Eager => "eager",
            Self::Half => "half",
            Self::Burst => "burst",
            Self::Feed => "feed",
            Self::Coin => "coin",
            Self::Favourite => "favourite",
            Self::Ambush => "ambush",
        })
    }
}

/// A (P, M)-recycling game.
///
/// ```
/// use bombyx_verify::game::{Game, Service, Strategy, Toss};
///
/// let played = Game { balls: 8, tosses: 1000, strategy: Strategy::Eager, seed: 1, toss: Toss::Any, service: Service::Fifo }.play();
/// assert_eq!(played.tosses.iter().sum::<u64>(), 1000);
/// assert!(played.delay() < 1000); // Lemma 6: at most M on average
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Game {
    /// P: how many balls, and how many bins.
    pub balls: usize,
    /// M: how many tosses.
    pub tosses: u64,
    /// Which adversary plays.
    pub strategy: Strategy,
    /// The seed of the random choices.
    pub seed: u64,
    /// How a ball finds its bin.
    pub toss: Toss,
    /// Which ball of a bin returns.
    pub service: Service,
}

/// How a ball finds its bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Toss {
    /// Any bin, as the rules say.
    #[default]
    Any,
    /// Against the rules: always the first bin.
    First,
    /// Against the rules: one of the first half of the bins.
    Half,
    /// Against the rules: the bin that holds most.
    Fullest,
}

impl Toss {
    /// The wrong ways, with the names of the mutants that use them.
    pub const WRONG: [(Self, &'static str); 3] =
        [(Self::First, "first-bin"), (Self::Half, "half-bins"), (Self::Fullest, "fullest-bin")];
}

/// Which ball of a bin returns to the reservoir.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// The oldest.
    #[default]
    Fifo,
    /// The newest.
    Lifo,
    /// Against the rules: the newest two.
    Two,
    /// Against the rules: all.
    All,
    /// Against the rules: the oldest, but none in every second step.
    Pauses,
}

impl Service {
    /// The wrong ways, with the names of the mutants that use them.
    pub const WRONG: [(Self, &'static str); 3] =
        [(Self::Two, "two-served"), (Self::All, "all-served"), (Self::Pauses, "pauses")];
}

/// How a game went, by ball.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// m_r: how often each ball was tossed.
    pub tosses: Vec<u64>,
    /// δ_r: how many steps ended with the ball in a bin.
    pub delays: Vec<u64>,
    /// How many steps the game took.
    pub steps: u64,
    /// For each toss of the first ball, the balls that were ahead of it in its bin: x_ir = 1 for these r (BL §5).
    pub ahead: Vec<Vec<usize>>,
}

impl Played {
    /// D: the total delay.
    pub fn delay(&self) -> u64 {
        self.delays.iter().sum()
    }
}

impl Game {
    /// Plays the game.
    pub fn play(&self) -> Played {
        let mut random = Random::new(self.seed ^ 0xBA11_5EED);
        let mut reservoir: Vec<usize> = (0..self.balls).collect();
        let mut bins: Vec<VecDeque<usize>> = vec![VecDeque::new(); self.balls];
        let mut played =
            Played { tosses: vec![0; self.balls], delays: vec![0; self.balls], steps: 0, ahead: Vec::new() };
        let mut left = self.tosses;
        while left > 0 || reservoir.len() < self.balls {
            for ball in self.choose(&mut reservoir, &bins, &played, left, &mut random) {
                let bin = match self.toss {
                    Toss::Any => random.index(self.balls),
                    Toss::First => 0,
                    Toss::Half => random.index(self.balls.div_ceil(2)),
                    Toss::Fullest => (0..self.balls).max_by_key(|&bin| bins[bin].len()).unwrap_or(0),
                };
                if ball == 0 {
                    played.ahead.push(bins[bin].iter().copied().collect());
                }
                bins[bin].push_back(ball);
                played.tosses[ball] += 1;
                left -= 1;
            }
            for bin in &mut bins {
                match self.service {
                    Service::Fifo => reservoir.extend(bin.pop_front()),
                    Service::Lifo => reservoir.extend(bin.pop_back()),
                    Service::Two => reservoir.extend(bin.pop_back().into_iter().chain(bin.pop_back())),
                    Service::All => reservoir.extend(bin.drain(..)),
                    Service::Pauses if played.steps % 2 == 1 => {}
                    Service::Pauses => reservoir.extend(bin.pop_front()),
                }
            }
            bins.iter().flatten().for_each(|&ball| played.delays[ball] += 1);
            played.steps += 1;
        }
        played
    }

    /// Takes the balls to be tossed out of the reservoir.
    fn choose(
        &self,
        reservoir: &mut Vec<usize>,
        bins: &[VecDeque<usize>],
        played: &Played,
        left: u64,
        random: &mut Random,
    ) -> Vec<usize> {
        reservoir.sort_unstable();
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(reservoir.len());
        let congested = bins.iter().any(|bin| bin.len() >= 2);
        let count = match self.strategy {
            Strategy::Eager => most,
            Strategy::Half if 2 * reservoir.len() >= self.balls => most,
            Strategy::Half => 0,
            Strategy::Burst if reservoir.len() == self.balls => most,
            Strategy::Burst => 0,
            Strategy::Feed if congested => most,
            Strategy::Feed => most.min(self.balls.div_ceil(4)),
            Strategy::Coin => (0..most).filter(|_| random.index(2) == 0).count(),
            Strategy::Favourite => {
                reservoir.sort_by_key(|&ball| std::cmp::Reverse(played.tosses[ball]));
                most.min(if congested { 1 } else { self.balls / 2 + 1 })
            }
            Strategy::Ambush => {
                let (home, together) = (
                    reservoir.first() == Some(&0),
                    bins.iter().any(|bin| bin.contains(&1) && bin.contains(&2)),
                );
                let others = reservoir.len() - usize::from(home);
                if home && together {
                    most.min(1)
                } else if others + 1 == self.balls {
                    // All but the first ball at once, the second and the third last, so that others lie before them.
                    reservoir.rotate_left(usize::from(home));
                    reservoir[..others].reverse();
                    most.min(others)
                } else {
                    0
                }
            }
        };
        reservoir.drain(..count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_end_with_all_tosses_made() {
        for strategy in Strategy::ALL {
            for tosses in [0, 1, 7, 500] {
                let played =
                    Game { balls: 5, tosses, strategy, seed: 3, toss: Toss::Any, service: Service::Fifo }
                        .play();
                assert_eq!(played.tosses.iter().sum::<u64>(), tosses, "{strategy}");
            }
        }
    }

    #[test]
    fn alone_nobody_waits() {
        let played = Game {
            balls: 1,
            tosses: 50,
            strategy: Strategy::Eager,
            seed: 1,
            toss: Toss::Any,
            service: Service::Fifo,
        }
        .play();
        assert_eq!((played.delay(), played.steps), (0, 50));
    }

    #[test]
    fn one_bin_delays_every_ball_by_those_before_it() {
        // With one bin in use, P balls at once wait 0 + 1 + … + P − 1 steps.
        let game = Game {
            balls: 5,
            tosses: 5,
            strategy: Strategy::Burst,
            seed: 0,
            toss: Toss::First,
            service: Service::Fifo,
        };
        assert_eq!(game.play().delay(), 4 + 3 + 2 + 1);
    }
}
