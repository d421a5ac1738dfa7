//! [`Random`]: the random generator of all crates, SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014).
//!
//! SplitMix64 adds a constant to a counter and scrambles it, so a stream can be advanced by any number of draws at
//! once. The simulator relies on that: it does not simulate hopeless attempts of thieves one by one, yet their streams
//! end up where they would be if it did. Only integer arithmetic is used, so a seed gives the same numbers on every
//! platform. The generator is fast and uniform, but not secure.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of random numbers that can jump ahead.
///
/// ```
/// use bombyx_base::Random;
/// let mut random = Random::new(7);
/// assert!(random.below(6) < 6);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a seed.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Stream number `stream` of `seed`. Streams of one seed are unrelated to each other.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        Self { state: mix(seed ^ mix(stream.wrapping_mul(GAMMA) ^ 0xB0B1_B2B3)) }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A number in `0..n`, or 0 if `n` is 0, from exactly one draw. The bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// An index into something of this length, from exactly one draw.
    #[inline]
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Skips `draws` draws.
    #[inline]
    pub fn skip(&mut self, draws: u64) {
        self.state = self.state.wrapping_add(GAMMA.wrapping_mul(draws));
    }
}

/// The finalizer of SplitMix64, a good hash of one word.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_equals_drawing() {
        let mut drawn = Random::stream(7, 3);
        let mut skipped = drawn;
        for _ in 0..1000 {
            drawn.bits();
        }
        skipped.skip(1000);
        assert_eq!(drawn.bits(), skipped.bits());
    }

    #[test]
    fn the_numbers_never_change() {
        let mut random = Random::stream(1, 0);
        let drawn: Vec<u64> = (0..8).map(|_| random.below(100)).collect();
        assert_eq!(drawn, [59, 17, 95, 86, 94, 42, 5, 20]);
    }

    #[test]
    fn every_number_below_n_is_about_equally_frequent() {
        let mut random = Random::stream(42, 5);
        let mut count = [0u32; 7];
        for _ in 0..70_000 {
            count[random.index(7)] += 1;
        }
        assert!(count.iter().all(|&c| (9_500..10_500).contains(&c)), "{count:?}");
    }
}
