//! What generators of computations draw: numbers around a mean, and chances.

use bombyx_base::Random;

/// Deterministic from its seed.
pub(crate) struct Rng(Random);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// Uniform in `0..bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Uniform in `1..=2·mean − 1`, with the mean `mean`. 0 if `mean` is 0.
    pub(crate) fn around(&mut self, mean: u64) -> u64 {
        if mean == 0 { 0 } else { 1 + self.below(mean.saturating_mul(2).saturating_sub(1)) }
    }

    /// True with probability `percent` / 100.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
