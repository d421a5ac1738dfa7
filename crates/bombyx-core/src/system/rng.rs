//! The random generator of a processor.

use bombyx_base::Random;
use std::cell::Cell;

/// A small random generator for one thread at a time.
pub(crate) struct Rng(Cell<Random>);

impl Rng {
    /// The `stream`-th of the independent generators of `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Rng {
        Rng(Cell::new(Random::stream(seed, stream)))
    }

    /// A number in `0..bound`.
    pub(crate) fn below(&self, bound: usize) -> usize {
        let mut random = self.0.get();
        let number = random.index(bound);
        self.0.set(random);
        number
    }
}
