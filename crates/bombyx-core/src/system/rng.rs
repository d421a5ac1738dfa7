//! The random generator of a processor: xorshift64*, seeded through splitmix64. Random victims need speed and
//! independence between processors, not secrecy.

use std::cell::Cell;

/// A small random generator for one thread at a time.
pub(crate) struct Rng(Cell<u64>);

impl Rng {
    /// The `stream`-th of the independent generators of `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Rng {
        let mut z = seed.wrapping_add(stream.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Rng(Cell::new((z ^ (z >> 31)) | 1))
    }

    /// A number in `0..bound`.
    pub(crate) fn below(&self, bound: usize) -> usize {
        let mut x = self.0.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.set(x);
        let x = x.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((u128::from(x) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn covers_the_range_evenly() {
        let rng = Rng::new(7, 3);
        let mut counts = [0u32; 5];
        for _ in 0..10_000 {
            counts[rng.below(5)] += 1;
        }
        assert!(counts.iter().all(|&count| (1_800..2_200).contains(&count)), "{counts:?}");
    }
}
