//! The transform of one row: in place, radix 2, by halves, with the roots of every pass stored in the order of use.

use crate::complex::Complex;
use crate::{Fork, Par};

/// Tables for transforms of one length.
pub(super) struct RowTransform {
    /// The positions with their bits reversed.
    reversed: Vec<u32>,
    /// The roots of the passes of width 2, 4, 8, … one after the other: 1, 2, 4, … of them.
    roots: Vec<Complex>,
}

impl RowTransform {
    pub(super) fn new(n: usize) -> Self {
        assert!(n.is_power_of_two() && n > 1);
        let reversed = (0..n as u32).map(|i| i.reverse_bits() >> (32 - n.ilog2())).collect();
        let halves = (0..n.ilog2()).map(|pass| 1 << pass);
        let roots =
            halves.flat_map(|half: usize| (0..half).map(move |k| Complex::root(k, 2 * half))).collect();
        RowTransform { reversed, roots }
    }

    /// Which point of a row must be at position `at` before it is transformed.
    pub(super) fn source(&self, at: usize) -> usize {
        self.reversed[at] as usize
    }

    /// Transforms a row that is in the order of [`source`](Self::source), in pieces of about this many points.
    pub(super) fn apply<F: Fork>(&self, fork: &mut F, row: &mut [Complex], points: usize) {
        if row.len() <= points {
            return self.apply_serially(row);
        }
        let half = row.len() / 2;
        let roots = &self.roots[half - 1..2 * half - 1];
        let (low, high) = row.split_at_mut(half);
        fork.join(|fork| self.apply(fork, low, points), |fork| self.apply(fork, high, points));
        fork.for_chunks2((low, points), (high, points), &|_, k, low, high| {
            butterflies(low, high, &roots[k * points..]);
        });
    }

    fn apply_serially(&self, row: &mut [Complex]) {
        let mut half = 1;
        while half < row.len() {
            let roots = &self.roots[half - 1..2 * half - 1];
            for block in row.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                butterflies(low, high, roots);
            }
            half *= 2;
        }
    }
}

#[inline]
fn butterflies(low: &mut [Complex], high: &mut [Complex], roots: &[Complex]) {
    for ((a, b), root) in low.iter_mut().zip(high).zip(roots) {
        let turned = *b * *root;
        (*a, *b) = (*a + turned, *a - turned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn agrees_with_the_definition() {
        for (n, points) in [(2, 2), (8, 8), (64, 64), (64, 4)] {
            let input: Vec<Complex> =
                (0..n).map(|i| Complex { re: (i * i % 7) as f64, im: (i % 3) as f64 }).collect();
            let transform = RowTransform::new(n);
            let mut output: Vec<Complex> = (0..n).map(|at| input[transform.source(at)]).collect();
            transform.apply(&mut Serial, &mut output, points);
            for (k, got) in output.iter().enumerate() {
                let terms = input.iter().enumerate().map(|(j, z)| *z * Complex::root(j * k % n, n));
                let expected = terms.fold(Complex::default(), |sum, term| sum + term);
                assert!((*got - expected).square().sqrt() < 1e-9, "n = {n}, k = {k}");
            }
        }
    }
}
