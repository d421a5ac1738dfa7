//! Dense matrix product by parallel iterators: one task for each row of the result, which adds up rows of the second
//! factor, so that the inner loop runs along memory.

use super::{Demo, Program};
use crate::Checksum;
use crate::inputs::Rng;
use crate::workload::ensure;
use rayon::prelude::*;

pub(super) const MATMUL: Program = Program {
    name: "matmul",
    about: "matrix product, a parallel loop over rows",
    prepare: |size, seed| {
        let side = size.pick(24, 256, 1024);
        let mut rng = Rng::new(seed);
        // Small integers: sums are exact in any order.
        let mut matrix = || (0..side * side).map(|_| rng.below(16) as f64).collect::<Vec<f64>>();
        Box::new(Matmul { side, a: matrix(), b: matrix(), c: vec![0.0; side * side] })
    },
};

struct Matmul {
    side: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Demo for Matmul {
    fn compute(&mut self) {
        let Matmul { side, a, b, c } = self;
        let side = *side;
        c.par_chunks_mut(side).zip(a.par_chunks(side)).for_each(|(c, a)| {
            c.fill(0.0);
            for (&factor, b) in a.iter().zip(b.chunks(side)) {
                for (c, &b) in c.iter_mut().zip(b) {
                    *c += factor * b;
                }
            }
        });
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.c)
    }

    /// Freivalds' check, exact because everything is a small integer: c·x = a·(b·x) for some vectors x.
    fn check(&self) -> Result<(), String> {
        let times = |matrix: &[f64], x: &[f64]| -> Vec<f64> {
            matrix.chunks(self.side).map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum()).collect()
        };
        let mut rng = Rng::new(1);
        let right = (0..8).all(|_| {
            let x: Vec<f64> = (0..self.side).map(|_| rng.below(2) as f64).collect();
            times(&self.c, &x) == times(&self.a, &times(&self.b, &x))
        });
        ensure(right, || "the product is wrong".to_string())
    }
}
