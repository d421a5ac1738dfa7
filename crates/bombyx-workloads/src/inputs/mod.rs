//! Inputs made from a seed: random numbers, sequences, points and graphs. They use only integer arithmetic and the
//! exactly rounded operations of IEEE 754, so a seed means the same input on every machine.

pub(crate) mod graphs;
pub(crate) mod points;
pub(crate) mod sequences;

use bombyx_base::Random;
pub(crate) use bombyx_base::mix;

/// The source of random numbers for inputs.
#[derive(Clone, Debug)]
pub(crate) struct Rng(Random);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(Random::new(mix(seed)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// Uniform in `0..n`; `n` must not be zero.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with mean 1, by von Neumann's comparison method.
    pub(crate) fn exponential(&mut self) -> f64 {
        let mut whole = 0.0;
        loop {
            let first = self.unit();
            let mut last = first;
            let mut falling = 1u32;
            loop {
                let next = self.unit();
                if next >= last {
                    break;
                }
                last = next;
                falling += 1;
            }
            if falling % 2 == 1 {
                return whole + first;
            }
            whole += 1.0;
        }
    }

    /// Puts `data` into a uniformly random order.
    pub(crate) fn shuffle<T>(&mut self, data: &mut [T]) {
        for i in (1..data.len()).rev() {
            data.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_pinned() {
        let mut rng = Rng::new(1);
        assert_eq!(rng.next(), Rng::new(1).next());
        assert_ne!(rng.next(), Rng::new(2).next());
        assert_eq!(mix(1), 0x5692161d100b05e5);
    }

    #[test]
    fn exponential_has_mean_and_variance_one() {
        let mut rng = Rng::new(5);
        let xs: Vec<f64> = (0..100_000).map(|_| rng.exponential()).collect();
        let mean = xs.iter().sum::<f64>() / xs.len() as f64;
        let variance = xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / xs.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
    }
}
