//! The discrete Fourier transform of a long vector in six steps (Bailey 1990): the vector is a matrix whose columns
//! are transformed, twisted and transformed along the rows, with a transposition before, between and after. All
//! transforms are short and contiguous; the parallelism is over rows, and at fine grain in them.

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
    prepare: |size, grain, seed| {
        let (log, fine) = size.pick((10, 8), (23, 32), (25, 32));
        prepared(Fft::new(log, grain.pick(usize::MAX, fine), seed))
    },
};

/// Rows that are transposed together: a few cache lines of each column.
const ROWS: usize = 16;

struct Fft {
    /// The matrix is `rows` × `columns`, both powers of two.
    rows: usize,
    columns: usize,
    /// Points of a row in a serial piece.
    points: usize,
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
    fn new(log: u32, points: usize, seed: u64) -> Self {
        let (rows, columns) = (1 << (log / 2), 1 << (log - log / 2));
        assert!(rows >= ROWS, "2^{log} points are too few");
        let n = rows * columns;
        let mut rng = Rng::new(seed);
        let input: Vec<Complex> =
            (0..n).map(|_| Complex { re: rng.unit() - 0.5, im: rng.unit() - 0.5 }).collect();
        Fft {
            rows,
            columns,
            points: points.min(columns),
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

    /// Multiplies points of a row, of which the first has number `first`, by their roots of unity.
    fn twist(&self, row: usize, first: usize, points: &mut [Complex]) {
        for (i, value) in points.iter_mut().enumerate() {
            *value = *value * self.root((first + i) * row);
        }
    }

    /// A transposition of `from` into `to`, and what is done with the new rows.
    fn pass<F: Fork>(&self, fork: &mut F, from: &[Complex], to: &mut [Complex], then: Then) {
        let (width, transform) = match then {
            Then::Twist => (self.rows, Some(&self.along_columns)),
            Then::Transform => (self.columns, Some(&self.along_rows)),
            Then::Nothing => (self.rows, None),
        };
        let pass = Pass { fft: self, from, width, height: to.len() / width, transform, then };
        pass.blocks(fork, 0, to);
    }
}

/// What follows a transposition.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// The rows, columns before, are transformed, and their points multiplied by roots of unity.
    Twist,
    /// The rows are transformed.
    Transform,
    Nothing,
}

/// See [`Fft::pass`].
struct Pass<'a> {
    fft: &'a Fft,
    from: &'a [Complex],
    /// Of the new matrix.
    width: usize,
    height: usize,
    transform: Option<&'a RowTransform>,
    then: Then,
}

impl Pass<'_> {
    /// Makes the rows of `to`, of which the first is that of number `row`.
    fn blocks<F: Fork>(&self, fork: &mut F, row: usize, to: &mut [Complex]) {
        let rows = to.len() / self.width;
        if rows <= ROWS {
            let mut each = to.chunks_exact_mut(self.width);
            let block = std::array::from_fn(|_| each.next().expect("a block has all its rows"));
            self.gather(fork, row, 0, block);
            return self.finish(fork, row, to);
        }
        let half = rows / 2;
        let (above, below) = to.split_at_mut(half * self.width);
        fork.join(|fork| self.blocks(fork, row, above), |fork| self.blocks(fork, row + half, below));
    }

    /// Gathers the points from number `first` on of the rows of a block. If the rows are to be transformed, the points
    /// are put in the order that this needs.
    fn gather<F: Fork>(&self, fork: &mut F, row: usize, first: usize, mut block: [&mut [Complex]; ROWS]) {
        let points = block[0].len();
        if points <= self.fft.points {
            if F::TOUCHES {
                block.iter().for_each(|row| F::touch(row));
                for at in 0..points {
                    let column = self.transform.map_or(first + at, |transform| transform.source(first + at));
                    F::touch(&self.from[column * self.height + row..][..ROWS]);
                }
            }
            return self.gather_serially(row, first, &mut block);
        }
        let half = points / 2;
        let mut right: [&mut [Complex]; ROWS] = Default::default();
        let left = std::array::from_fn(|i| {
            let (left, rest) = std::mem::take(&mut block[i]).split_at_mut(half);
            right[i] = rest;
            left
        });
        fork.join(
            |fork| self.gather(fork, row, first, left),
            |fork| self.gather(fork, row, first + half, right),
        );
    }

    fn gather_serially(&self, row: usize, first: usize, block: &mut [&mut [Complex]; ROWS]) {
        for at in 0..block[0].len() {
            let column = self.transform.map_or(first + at, |transform| transform.source(first + at));
            let source = &self.from[column * self.height + row..][..ROWS];
            for (to, value) in block.iter_mut().zip(source) {
                to[at] = *value;
            }
        }
    }

    /// Transforms and twists rows that are gathered.
    fn finish<F: Fork>(&self, fork: &mut F, row: usize, to: &mut [Complex]) {
        let Some(transform) = self.transform else { return };
        if to.len() > self.width {
            let half = to.len() / self.width / 2;
            let (above, below) = to.split_at_mut(half * self.width);
            if self.fft.points < self.width {
                fork.join(|fork| self.finish(fork, row, above), |fork| self.finish(fork, row + half, below));
            } else {
                self.finish(fork, row, above);
                self.finish(fork, row + half, below);
            }
            return;
        }
        let points = self.fft.points;
        F::touch(to);
        transform.apply(fork, to, points);
        if self.then == Then::Twist {
            fork.for_chunks(to, points, &|k, piece: &mut [Complex]| {
                self.fft.twist(row, k * points, piece);
            });
        }
    }
}

impl Kernel for Fft {
    fn input(&self) -> String {
        format!(
            "2^{} points in rows of {}, {} of {ROWS} or of one a leaf",
            self.input.len().ilog2(),
            self.columns,
            self.points
        )
    }

    fn reset(&mut self) {
        self.output.fill(Complex::default());
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let (mut output, mut buffer) = (std::mem::take(&mut self.output), std::mem::take(&mut self.buffer));
        self.pass(fork, &self.input, &mut output, Then::Twist);
        self.pass(fork, &output, &mut buffer, Then::Transform);
        self.pass(fork, &buffer, &mut output, Then::Nothing);
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
