//! Sequences to sort.

use super::Rng;

/// `n` uniform 32-bit integers.
pub(crate) fn random_u32(n: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| (rng.next() >> 32) as u32).collect()
}

/// `n` integers whose magnitudes are spread evenly over the powers of two up to `n`, so that small keys repeat
/// often: the exponential sequence of the Problem Based Benchmark Suite.
pub(crate) fn exponential_u32(n: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let magnitudes = u64::from(n.max(2).ilog2() + 1);
    (0..n)
        .map(|_| {
            let range = 1u64 << rng.below(magnitudes);
            (range + rng.below(range)) as u32
        })
        .collect()
}

/// `n` uniform doubles in `[0, 1)`.
pub(crate) fn random_f64(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| rng.unit()).collect()
}

/// `n` exponentially distributed doubles.
pub(crate) fn exponential_f64(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| rng.exponential()).collect()
}
