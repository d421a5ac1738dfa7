//! Sequences to sort, and whether they are sorted.

use super::{Rng, mix};
use crate::workload::ensure;

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

/// Whether `result` is `input` in order. `bits` distinguishes elements.
pub(crate) fn check_sorted<T: PartialOrd>(
    input: &[T],
    result: &[T],
    bits: impl Fn(&T) -> u64,
) -> Result<(), String> {
    // A digest that does not see the order.
    let contents = |data: &[T]| data.iter().fold(0u64, |sum, x| sum.wrapping_add(mix(bits(x))));
    ensure(result.is_sorted(), || "the result is not sorted".to_string())?;
    ensure(contents(result) == contents(input), || "elements were lost or made up".to_string())
}

/// The two workloads of a sorting program: uniform and exponentially distributed keys.
macro_rules! sorts {
    ($program:literal, $about:literal, $keys:literal, $prepare:path, $random:path, $exponential:path) => {
        sorts!(@entry RANDOM, concat!($program, "-random"), concat!($about, " of uniform ", $keys), $prepare, $random);
        sorts!(@entry EXPONENTIAL, concat!($program, "-exponential"),
            concat!($about, " of exponentially distributed ", $keys), $prepare, $exponential);
    };
    (@entry $static:ident, $name:expr, $text:expr, $prepare:path, $generate:path) => {
        pub(crate) static $static: $crate::workload::Entry = $crate::workload::Entry {
            name: $name,
            about: $text,
            suite: $crate::workload::Suite::ReadWrite,
            bound: $crate::workload::Bound::Memory,
            prepare: |size, grain, seed| $prepare(size, grain, |n| $generate(n, seed)),
        };
    };
}

pub(crate) use sorts;
