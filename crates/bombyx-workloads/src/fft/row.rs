//! The serial transform of one row: in place, radix 2, with the roots of every pass stored in the order of use.

use crate::complex::Complex;

/// Tables for transforms of one length.
pub(super) struct RowTransform {
    /// Pairs of positions that the bit reversal exchanges.
    swaps: Vec<(u32, u32)>,
    /// The roots of the passes of width 2, 4, 8, … one after the other: 1, 2, 4, … of them.
    roots: Vec<Complex>,
}

impl RowTransform {
    pub(super) fn new(n: usize) -> Self {
        assert!(n.is_power_of_two() && n > 1);
        let reversed = |i: u32| i.reverse_bits() >> (32 - n.ilog2());
        let swaps = (0..n as u32).map(|i| (i, reversed(i))).filter(|(i, j)| i < j).collect();
        let halves = (0..n.ilog2()).map(|pass| 1 << pass);
        let roots =
            halves.flat_map(|half: usize| (0..half).map(move |k| Complex::root(k, 2 * half))).collect();
        RowTransform { swaps, roots }
    }

    pub(super) fn apply(&self, row: &mut [Complex]) {
        for &(i, j) in &self.swaps {
            row.swap(i as usize, j as usize);
        }
        let mut half = 1;
        while half < row.len() {
            let roots = &self.roots[half - 1..2 * half - 1];
            for block in row.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), root) in low.iter_mut().zip(high).zip(roots) {
                    let turned = *b * *root;
                    (*a, *b) = (*a + turned, *a - turned);
                }
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        for n in [2, 8, 64] {
            let input: Vec<Complex> =
                (0..n).map(|i| Complex { re: (i * i % 7) as f64, im: (i % 3) as f64 }).collect();
            let mut output = input.clone();
            RowTransform::new(n).apply(&mut output);
            for (k, got) in output.iter().enumerate() {
                let terms = input.iter().enumerate().map(|(j, z)| *z * Complex::root(j * k % n, n));
                let expected = terms.fold(Complex::default(), |sum, term| sum + term);
                assert!((*got - expected).square().sqrt() < 1e-9, "n = {n}, k = {k}");
            }
        }
    }
}
