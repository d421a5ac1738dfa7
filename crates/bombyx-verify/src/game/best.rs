//! The best adversary of the recycling game: exact dynamic programming over all its choices.
//!
//! Balls differ only in where they are, and bins only in how many balls they hold. So a state of the game is a
//! partition of the number of balls in bins; for eight balls there are 67. In a state with m tosses left, the adversary
//! chooses how many balls to toss. The expected total delay of the best choice is a maximum over the choices of an
//! expectation over where the balls fall. No strategy, however clever, does better: this one knows the whole state and
//! has all choices.

use super::Toss;
use std::collections::BTreeMap;

/// How many balls each non-empty bin holds, largest first.
type State = Vec<u8>;

/// The largest expected total delay of a (P, M)-recycling game, for every number of tosses up to M.
///
/// # Panics
/// If there are more than 10 balls, because then there are too many states.
pub fn best(balls: usize, tosses: usize, toss: Toss) -> Vec<f64> {
    assert!((1..=10).contains(&balls), "at most 10 balls");
    let states = states(balls);
    let index: BTreeMap<&State, usize> = states.iter().zip(0..).collect();
    // After k tosses and one service: where each state leads, how likely, and the delay of the step.
    let moves: Vec<Vec<Vec<(usize, f64, f64)>>> = states
        .iter()
        .map(|state| {
            let held: u8 = state.iter().sum();
            let mut fallen = BTreeMap::from([(state.clone(), 1.0)]);
            let mut moves = Vec::new();
            for _ in usize::from(held)..=balls {
                let served = |(state, &chance): (&State, &f64)| {
                    let after: State = state.iter().map(|&n| n - 1).filter(|&n| n > 0).collect();
                    let delay = after.iter().map(|&n| f64::from(n)).sum::<f64>();
                    (index[&after], chance, delay)
                };
                moves.push(fallen.iter().map(served).collect());
                fallen = toss_one(&fallen, balls, toss);
            }
            moves
        })
        .collect();
    // value[m][state]. States are ordered by how many balls they hold. Without a toss, a state leads to a smaller one.
    let mut value: Vec<Vec<f64>> = Vec::new();
    for left in 0..=tosses {
        value.push(vec![0.0; states.len()]);
        for at in 0..states.len() {
            let best =
                (0..moves[at].len().min(left + 1)).filter(|&k| k > 0 || !states[at].is_empty()).map(|k| {
                    moves[at][k]
                        .iter()
                        .map(|&(to, chance, delay)| chance * (delay + value[left - k][to]))
                        .sum::<f64>()
                });
            let best = best.fold(0.0, f64::max);
            value[left][at] = best;
        }
    }
    value.iter().map(|of_tosses| of_tosses[0]).collect()
}

/// All partitions of at most `balls` balls, those with fewer balls first.
fn states(balls: usize) -> Vec<State> {
    fn extend(rest: u8, most: u8, state: &mut State, all: &mut Vec<State>) {
        if rest == 0 {
            all.push(state.clone());
        }
        for part in (1..=most.min(rest)).rev() {
            state.push(part);
            extend(rest - part, part, state, all);
            state.pop();
        }
    }
    let mut all = Vec::new();
    (0..=balls as u8).for_each(|held| extend(held, held, &mut Vec::new(), &mut all));
    all
}

fn toss_one(fallen: &BTreeMap<State, f64>, balls: usize, toss: Toss) -> BTreeMap<State, f64> {
    let mut after: BTreeMap<State, f64> = BTreeMap::new();
    let mut add = |state: &State, into: Option<usize>, chance: f64| {
        let mut state = state.clone();
        match into {
            Some(bin) => state[bin] += 1,
            None => state.push(1),
        }
        state.sort_unstable_by(|a, b| b.cmp(a));
        *after.entry(state).or_default() += chance;
    };
    for (state, &chance) in fallen {
        let used = state.len();
        // Bins that a toss may hit. If only some may be hit, those in use are among them.
        let bins = match toss {
            Toss::Any => balls,
            Toss::Half => balls.div_ceil(2).max(used),
            Toss::First | Toss::Fullest => {
                add(state, (used > 0).then_some(0), chance);
                continue;
            }
        };
        (0..used).for_each(|bin| add(state, Some(bin), chance / bins as f64));
        if bins > used {
            add(state, None, chance * (bins - used) as f64 / bins as f64);
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Game, Service, Strategy};

    #[test]
    fn partitions_are_counted() {
        assert_eq!(states(8).len(), 67);
        assert_eq!(states(8)[0], State::new());
    }

    #[test]
    fn two_balls_by_hand() {
        // Two tosses at once meet with chance ½, and then one waits a step. One after the other, nobody waits.
        let best = best(2, 4, Toss::Any);
        assert!((best[1] - 0.0).abs() < 1e-12 && (best[2] - 0.5).abs() < 1e-12, "{best:?}");
        assert!(best.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12));
    }

    #[test]
    fn no_strategy_does_better() {
        let (balls, tosses) = (5, 40);
        let bound = best(balls, tosses, Toss::Any)[tosses];
        for strategy in Strategy::ALL {
            let game = |seed| Game {
                balls,
                tosses: tosses as u64,
                strategy,
                seed,
                toss: Toss::Any,
                service: Service::Fifo,
            };
            let mean = (0..4000).map(|seed| game(seed).play().delay() as f64).sum::<f64>() / 4000.0;
            assert!(mean < bound * 1.02, "{strategy}: {mean} against {bound}");
        }
    }
}
