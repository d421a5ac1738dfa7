//! LU decomposition without pivoting by divide and conquer on quadrants, as in Cilk's example: factor the top left
//! quadrant, solve for its neighbours in parallel, update the bottom right one and factor that.

use crate::Fork;
use crate::inputs::Rng;
use crate::matmul::multiply_add;
use crate::tiles::{Tiled, quadrants, quadrants_mut, random_signs};
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};

pub(crate) static LU: Entry = Entry {
    name: "lu",
    about: "LU decomposition of a diagonally dominant matrix",
    suite: Suite::Classics,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let (side, tile) =
            size.pick((96, grain.pick(48, 12)), (3072, grain.pick(96, 12)), (6144, grain.pick(96, 12)));
        let mut rng = Rng::new(seed);
        let input = Tiled::from_fn(
            side,
            tile,
            |row, column| {
                if row == column { side as f64 } else { rng.unit() - 0.5 }
            },
        );
        prepared(Lu { factors: input.clone(), input })
    },
};

struct Lu {
    input: Tiled,
    /// L without its unit diagonal below, U on and above the diagonal.
    factors: Tiled,
}

/// Replaces `m` by its factors.
fn factor<F: Fork>(fork: &mut F, m: &mut [f64], tile: usize) {
    if m.len() <= tile * tile {
        return factor_tile(m, tile);
    }
    let [m00, m01, m10, m11] = quadrants_mut(m);
    factor(fork, m00, tile);
    let corner = &*m00;
    fork.join(|fork| solve_lower(fork, corner, m01, tile), |fork| solve_upper(fork, corner, m10, tile));
    multiply_add(fork, m11, m10, m01, tile, -1.0);
    factor(fork, m11, tile);
}

/// Replaces `b` by the X with L X = B, where L is the unit lower triangle of `l`.
fn solve_lower<F: Fork>(fork: &mut F, l: &[f64], b: &mut [f64], tile: usize) {
    if b.len() <= tile * tile {
        return solve_lower_tile(l, b, tile);
    }
    let [l00, _, l10, l11] = quadrants(l);
    let [b00, b01, b10, b11] = quadrants_mut(b);
    let column = |fork: &mut F, top: &mut [f64], bottom: &mut [f64]| {
        solve_lower(fork, l00, top, tile);
        multiply_add(fork, bottom, l10, top, tile, -1.0);
        solve_lower(fork, l11, bottom, tile);
    };
    fork.join(|fork| column(fork, b00, b10), |fork| column(fork, b01, b11));
}

/// Replaces `b` by the X with X U = B, where U is the upper triangle of `u`.
fn solve_upper<F: Fork>(fork: &mut F, u: &[f64], b: &mut [f64], tile: usize) {
    if b.len() <= tile * tile {
        return solve_upper_tile(u, b, tile);
    }
    let [u00, u01, _, u11] = quadrants(u);
    let [b00, b01, b10, b11] = quadrants_mut(b);
    let row = |fork: &mut F, left: &mut [f64], right: &mut [f64]| {
        solve_upper(fork, u00, left, tile);
        multiply_add(fork, right, left, u01, tile, -1.0);
        solve_upper(fork, u11, right, tile);
    };
    fork.join(|fork| row(fork, b00, b01), |fork| row(fork, b10, b11));
}

/// `to -= factor · from`.
fn subtract_multiple(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to -= factor * from;
    }
}

fn factor_tile(m: &mut [f64], n: usize) {
    for k in 0..n {
        let (done, rest) = m.split_at_mut((k + 1) * n);
        let pivot_row = &done[k * n..];
        for row in rest.chunks_mut(n) {
            row[k] /= pivot_row[k];
            let factor = row[k];
            subtract_multiple(&mut row[k + 1..], factor, &pivot_row[k + 1..]);
        }
    }
}

fn solve_lower_tile(l: &[f64], b: &mut [f64], n: usize) {
    for i in 1..n {
        let (done, rest) = b.split_at_mut(i * n);
        for (k, solved) in done.chunks(n).enumerate() {
            subtract_multiple(&mut rest[..n], l[i * n + k], solved);
        }
    }
}

fn solve_upper_tile(u: &[f64], b: &mut [f64], n: usize) {
    for row in b.chunks_mut(n) {
        for (k, pivot_row) in u.chunks(n).enumerate() {
            row[k] /= pivot_row[k];
            let factor = row[k];
            subtract_multiple(&mut row[k + 1..], factor, &pivot_row[k + 1..]);
        }
    }
}

impl Kernel for Lu {
    fn input(&self) -> String {
        format!("{0} × {0} doubles, tiles of {1}", self.input.side, self.input.tile)
    }

    fn reset(&mut self) {
        self.factors.data.copy_from_slice(&self.input.data);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        factor(fork, &mut self.factors.data, self.factors.tile);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.factors.data)
    }

    fn check(&self) -> Result<(), String> {
        let n = self.input.side;
        let x = random_signs(n, 0);
        let expected = self.input.times(&x);
        let upper: Vec<f64> = (0..n).map(|i| (i..n).map(|j| self.factors.get(i, j) * x[j]).sum()).collect();
        for i in 0..n {
            let got = upper[i] + (0..i).map(|j| self.factors.get(i, j) * upper[j]).sum::<f64>();
            ensure((got - expected[i]).abs() < 1e-9 * n as f64, || {
                format!("row {i} of L U x is {got}, that of A x is {}", expected[i])
            })?;
        }
        Ok(())
    }
}
