//! The discrete Fourier transform of a long vector in six steps (Bailey 1990): the vector is a matrix whose columns
//! are transformed, twisted and transformed along the rows, with a transposition before, between and after. All
//! transforms are short and contiguous; the parallelism is in loops over rows.

use std::f64::consts::TAU;

use crate::complex::Complex;
use crate::inputs::Rng;
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Par};

mod row;

use row::RowTransform;

pub(crate) static FFT: Entry = Entry {
    name: "fft",
    about: "fast Fourier transform of complex doubles",
    suite: Suite::DfDeques,
    bound: Bound::Memory,
    prepare: |size, grain, seed| prepared(Fft::new(size.pick(10, 23, 25), grain.pick(16, 1), seed)),
};

struct Fft {
    /// The matrix is `rows` × `columns`, both powers of two.
    rows: usize,
    columns: usize,
    /// Rows in a serial piece.
    grain: usize,
    along_rows: RowTransform,
    along_columns: RowTransform,
    /// exp(-2πi k / n) for small k, and for multiples of `columns`: their products give every root of unity.
    fine_roots: Vec<Complex>,
    coarse_roots: Vec<Complex>,
    input: Vec<Complex>,
    output: Vec<Complex>,
    buffer: Vec<Complex>,
}

impl Fft {
    fn new(log: u32, grain: usize, seed: u64) -> Self {
        let (rows, columns) = (1 << (log / 2), 1 << (log - log / 2));
        let n = rows * columns;
        let mut rng = Rng::new(seed);
        let input: Vec<Complex> =
            (0..n).map(|_| Complex { re: rng.unit() - 0.5, im: rng.unit() - 0.5 }).collect();
        Fft {
            rows,
            columns,
            grain,
            along_rows: RowTransform::new(columns),
            along_columns: RowTransform::new(rows),
            fine_roots: (0..columns).map(|k| Complex::root(k, n)).collect(),
            coarse_roots: (0..rows).map(|k| Complex::root(k, rows)).collect(),
            output: vec![Complex::default(); n],
            buffer: vec![Complex::default(); n],
            input,
        }
    }

    fn root(&self, k: usize) -> Complex {
        self.coarse_roots[k / self.columns] * self.fine_roots[k % self.columns]
    }
}

/// Writes the transpose of `from` to `to`, whose rows are `width` long, calling `finish(row number, row)` on each.
fn transpose<F: Fork, B>(
    fork: &mut F,
    from: &[Complex],
    to: &mut [Complex],
    width: usize,
    grain: usize,
    finish: &B,
) where
    B: Fn(usize, &mut [Complex]) + Sync,
{
    let height = to.len() / width;
    let grain = grain.min(height);
    fork.for_chunks(to, grain * width, &|k, chunk: &mut [Complex]| {
        for column in 0..width {
            let source = &from[column * height + k * grain..][..chunk.len() / width];
            for (row, value) in source.iter().enumerate() {
                chunk[row * width + column] = *value;
            }
        }
        for (i, row) in chunk.chunks_mut(width).enumerate() {
            finish(k * grain + i, row);
        }
    });
}

impl Kernel for Fft {
    fn input(&self) -> String {
        format!("2^{} points, {} rows of {} a leaf", self.input.len().ilog2(), self.grain, self.columns)
    }

    fn reset(&mut self) {
        self.output.fill(Complex::default());
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let (mut output, mut buffer) = (std::mem::take(&mut self.output), std::mem::take(&mut self.buffer));
        transpose(fork, &self.input, &mut output, self.rows, self.grain, &|column, values| {
            self.along_columns.apply(values);
            for (row, value) in values.iter_mut().enumerate() {
                *value = *value * self.root(row * column);
            }
        });
        transpose(fork, &output, &mut buffer, self.columns, self.grain, &|_, values| {
            self.along_rows.apply(values)
        });
        transpose(fork, &buffer, &mut output, self.rows, self.grain, &|_, _| {});
        (self.output, self.buffer) = (output, buffer);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.output.iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]))
    }

    /// Energy is kept (Parseval), and a few coefficients agree with the definition.
    fn check(&self) -> Result<(), String> {
        let n = self.input.len();
        let energy = |values: &[Complex]| values.iter().map(|z| z.square()).sum::<f64>();
        let (before, after) = (energy(&self.input) * n as f64, energy(&self.output));
        ensure((before - after).abs() < 1e-9 * before, || format!("energy {after} instead of {before}"))?;
        let mut rng = Rng::new(n as u64);
        for _ in 0..2 {
            let k = rng.below(n as u64) as usize;
            let expected = self
                .input
                .iter()
                .enumerate()
                .fold(Complex::default(), |sum, (j, z)| sum + *z * Complex::root(j * k % n, n));
            let got = self.output[k];
            let error = (got - expected).square().sqrt();
            ensure(error < 1e-11 * n as f64, || {
                format!("coefficient {k} is {got:?} instead of {expected:?}")
            })?;
        }
        Ok(())
    }
}

impl Complex {
    /// exp(-2πi k / n).
    fn root(k: usize, n: usize) -> Complex {
        let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
        Complex { re: cos, im: -sin }
    }
}
