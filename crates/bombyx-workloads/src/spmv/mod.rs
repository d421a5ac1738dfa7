//! Sparse matrix times vector, again and again: steps of a lazy random walk on a random local graph of the size of
//! the finite-element mesh in Narlikar, SPAA 1999. Each product is a short parallel loop with irregular reads.

use crate::inputs::{Rng, graphs};
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Par};

pub(crate) static SPMV: Entry = Entry {
    name: "spmv",
    about: "repeated sparse matrix-vector product",
    suite: Suite::DfDeques,
    bound: Bound::Memory,
    prepare: |size, grain, seed| {
        prepared(Spmv::new(
            size.pick(1000, 30_000, 30_000),
            size.pick(5, 1500, 6000),
            grain.pick(512, 4),
            seed,
        ))
    },
};

struct Spmv {
    matrix: Matrix,
    steps: usize,
    /// Rows in a serial piece.
    rows: usize,
    initial: Vec<f64>,
    now: Vec<f64>,
    previous: Vec<f64>,
}

/// Rows one after the other, each a list of (column, value).
struct Matrix {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Matrix {
    #[inline]
    fn row(&self, row: usize) -> impl Iterator<Item = (u32, f64)> {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

impl Spmv {
    fn new(vertices: usize, steps: usize, rows: usize, seed: u64) -> Self {
        let graph = graphs::random_local(vertices, 5, seed).adjacency();
        let mut matrix = Matrix { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        for to in 0..vertices as u32 {
            matrix.columns.push(to);
            matrix.values.push(0.5);
            for &from in graph.of(to) {
                matrix.columns.push(from);
                matrix.values.push(0.5 / graph.of(from).len() as f64);
            }
            matrix.starts.push(matrix.columns.len() as u32);
        }
        let mut rng = Rng::new(seed);
        let initial: Vec<f64> = (0..vertices).map(|_| rng.unit()).collect();
        Spmv { matrix, steps, rows, now: initial.clone(), previous: initial.clone(), initial }
    }
}

impl Kernel for Spmv {
    fn input(&self) -> String {
        let (n, entries) = (self.now.len(), self.matrix.values.len());
        format!("{n} rows, {entries} entries, {} times, {} rows a leaf", self.steps, self.rows)
    }

    fn reset(&mut self) {
        self.now.copy_from_slice(&self.initial);
        self.previous.copy_from_slice(&self.initial);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        for _ in 0..self.steps {
            std::mem::swap(&mut self.now, &mut self.previous);
            let (matrix, x, rows) = (&self.matrix, &self.previous, self.rows);
            fork.for_chunks(&mut self.now, rows, &|k, chunk: &mut [f64]| {
                if F::TOUCHES {
                    F::touch(chunk);
                    for row in k * rows..k * rows + chunk.len() {
                        let entries = matrix.starts[row] as usize..matrix.starts[row + 1] as usize;
                        F::touch(&matrix.columns[entries.clone()]);
                        F::touch(&matrix.values[entries]);
                        matrix.row(row).for_each(|(column, _)| F::touch(&x[column as usize..][..1]));
                    }
                }
                for (i, y) in chunk.iter_mut().enumerate() {
                    *y = matrix.row(k * rows + i).map(|(column, value)| value * x[column as usize]).sum();
                }
            });
        }
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.now)
    }

    /// Walkers are neither lost nor made, and the last step was one.
    fn check(&self) -> Result<(), String> {
        let (before, after) = (self.initial.iter().sum::<f64>(), self.now.iter().sum::<f64>());
        ensure((before - after).abs() < 1e-9 * before, || format!("the sum went from {before} to {after}"))?;
        let wrong = (0..self.now.len()).find(|&row| {
            let expected: f64 = self.matrix.row(row).map(|(c, v)| v * self.previous[c as usize]).sum();
            (self.now[row] - expected).abs() > 1e-12
        });
        wrong.map_or(Ok(()), |row| ensure(false, || format!("row {row} of the last product is wrong")))
    }
}
