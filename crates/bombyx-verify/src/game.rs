//! The recycling game (BL §5): balls are steal requests, bins are deques, and an adversary decides when requests are
//! made. Lemma 6 says that it cannot make them wait long.
//!
//! In each step the adversary tosses any of the balls in the reservoir, each into a bin chosen at random; then one ball
//! of every non-empty bin returns to the reservoir. Which ball is immaterial to the total delay; here it is the oldest,
//! so that the delay of each ball is known too. The game ends when all tosses are made and all balls are back.

mod picture;

pub use picture::picture;

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
    /// All while some bin holds at least two balls, else a quarter: feeds congestion where it sees it.
    Feed,
    /// Each with chance ½.
    Coin,
    /// The ball that was tossed most often, as long as it can be; others only to keep a bin busy.
    Favourite,
}

impl Strategy {
    /// All strategies.
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
        })
    }
}

/// A (P, M)-recycling game to be played.
///
/// ```
/// use bombyx_verify::game::{Game, Strategy};
///
/// let played = Game { balls: 8, tosses: 1000, strategy: Strategy::Eager, seed: 1, crooked: false }.play();
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
    /// Of the random choices.
    pub seed: u64,
    /// Whether every toss goes to the first bin: against the rules, for Lemma 6 to fail.
    pub crooked: bool,
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
}

impl Played {
    /// D: the total delay.
    pub fn delay(&self) -> u64 {
        self.delays.iter().sum()
    }
}

impl Game {
    /// Plays it.
    pub fn play(&self) -> Played {
        let mut random = SplitMix64(self.seed ^ 0xBA11_5EED);
        let mut reservoir: Vec<usize> = (0..self.balls).collect();
        let mut bins: Vec<VecDeque<usize>> = vec![VecDeque::new(); self.balls];
        let mut played = Played { tosses: vec![0; self.balls], delays: vec![0; self.balls], steps: 0 };
        let mut left = self.tosses;
        while left > 0 || reservoir.len() < self.balls {
            for ball in self.choose(&mut reservoir, &bins, &played, left, &mut random) {
                let bin = if self.crooked { 0 } else { random.below(self.balls) };
                bins[bin].push_back(ball);
                played.tosses[ball] += 1;
                left -= 1;
            }
            reservoir.extend(bins.iter_mut().filter_map(VecDeque::pop_front));
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
        random: &mut SplitMix64,
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
            Strategy::Coin => (0..most).filter(|_| random.below(2) == 0).count(),
            Strategy::Favourite => {
                reservoir.sort_by_key(|&ball| std::cmp::Reverse(played.tosses[ball]));
                most.min(if congested { 1 } else { self.balls / 2 + 1 })
            }
        };
        reservoir.drain(..count).collect()
    }
}

/// Steele, Lea and Flood's generator: the same numbers on every platform.
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_end_with_all_tosses_made() {
        for strategy in Strategy::ALL {
            for tosses in [0, 1, 7, 500] {
                let played = Game { balls: 5, tosses, strategy, seed: 3, crooked: false }.play();
                assert_eq!(played.tosses.iter().sum::<u64>(), tosses, "{strategy}");
            }
        }
    }

    #[test]
    fn alone_nobody_waits() {
        let played = Game { balls: 1, tosses: 50, strategy: Strategy::Eager, seed: 1, crooked: false }.play();
        assert_eq!((played.delay(), played.steps), (0, 50));
    }

    #[test]
    fn one_bin_delays_every_ball_by_those_before_it() {
        // With one bin in use, P balls at once wait 0 + 1 + … + P − 1 steps.
        let game = Game { balls: 5, tosses: 5, strategy: Strategy::Burst, seed: 0, crooked: true };
        assert_eq!(game.play().delay(), 4 + 3 + 2 + 1);
    }
}
