//! The simulator's random numbers: one SplitMix64 stream per processor.
//!
//! SplitMix64 adds a constant to a counter and scrambles it, so that a stream can be advanced by any number of
//! draws at once. The engine relies on that: thieves that cannot succeed are not simulated attempt by attempt, yet
//! their streams stand where they would stand if they had been. Only integer arithmetic is used, so a seed gives
//! the same numbers on every platform.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of random numbers that can jump ahead.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The stream of number `stream` under `seed`. Streams of one seed are unrelated to each other.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self { state: scramble(seed ^ scramble(stream.wrapping_mul(GAMMA) ^ 0xB0B1_B2B3)) }
    }

    /// The next 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        scramble(self.state)
    }

    /// A number in `0..n` from exactly one draw. The bias is below n / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u32
    }

    /// Passes over `draws` draws.
    #[inline]
    pub(crate) fn skip(&mut self, draws: u64) {
        self.state = self.state.wrapping_add(GAMMA.wrapping_mul(draws));
    }
}

#[inline]
fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_equals_drawing() {
        let mut drawn = Random::new(7, 3);
        let mut skipped = drawn.clone();
        for _ in 0..1000 {
            drawn.bits();
        }
        skipped.skip(1000);
        assert_eq!(drawn.bits(), skipped.bits());
    }

    #[test]
    fn the_numbers_never_change() {
        let mut random = Random::new(1, 0);
        let drawn: Vec<u32> = (0..8).map(|_| random.below(100)).collect();
        assert_eq!(drawn, [59, 17, 95, 86, 94, 42, 5, 20]);
    }

    #[test]
    fn every_number_below_n_is_about_equally_frequent() {
        let mut random = Random::new(42, 5);
        let mut count = [0u32; 7];
        for _ in 0..70_000 {
            count[random.below(7) as usize] += 1;
        }
        assert!(count.iter().all(|&c| (9_500..10_500).contains(&c)), "{count:?}");
    }
}
