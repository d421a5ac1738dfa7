//! Compares the cores by dense linear algebra with `faer`. It spawns closures into a scope that wait for each other by
//! spinning, and expects that each of them has a thread.

use cores::{Program, Subject};
use faer::Mat;
use std::process::ExitCode;

fn main() -> ExitCode {
    cores::main(&[
        program(
            "matmul",
            "a product of matrices",
            512,
            |a| a * a,
            |a, product| {
                let side = a.nrows();
                (0..side)
                    .map(|i| (product[(i, 0)] - (0..side).map(|k| a[(i, k)] * a[(k, 0)]).sum::<f64>()).abs())
                    .fold(0.0, f64::max)
            },
        ),
        program(
            "lu",
            "an LU factorisation, and the matrix from it",
            768,
            |a| {
                let lu = a.partial_piv_lu();
                lu.P().inverse() * (lu.L() * lu.U())
            },
            |a, again| (a - again).norm_max(),
        ),
        program(
            "svd",
            "singular values and vectors, and the matrix from them",
            256,
            |a| {
                let svd = a.svd().expect("the values converge");
                svd.U() * svd.S() * svd.V().transpose()
            },
            |a, again| (a - again).norm_max(),
        ),
    ])
}

/// A computation on a matrix with this side, and how far its result is from the truth.
fn program(
    name: &str,
    about: &str,
    side: usize,
    compute: fn(&Mat<f64>) -> Mat<f64>,
    error: fn(&Mat<f64>, &Mat<f64>) -> f64,
) -> Program {
    Program {
        name: name.to_string(),
        about: about.to_string(),
        counts: true,
        prepare: Box::new(move || {
            let input = Mat::from_fn(side, side, |i, j| {
                f64::from((i * 7919 + j * 104_729 + i * j * 31) as u32 % 1009) / 1009.0
            });
            Box::new(Computation { result: input.clone(), input, compute, error })
        }),
    }
}

struct Computation {
    input: Mat<f64>,
    result: Mat<f64>,
    compute: fn(&Mat<f64>) -> Mat<f64>,
    error: fn(&Mat<f64>, &Mat<f64>) -> f64,
}

impl Subject for Computation {
    fn compute(&mut self) {
        self.result = (self.compute)(&self.input);
    }

    /// Only the size. It is not fixed which thread adds which parts of a sum, so the last bits are not fixed either.
    fn digest(&self) -> String {
        format!("{} × {}", self.result.nrows(), self.result.ncols())
    }

    fn check(&self) -> Result<(), String> {
        let error = (self.error)(&self.input, &self.result);
        if error < 1e-9 { Ok(()) } else { Err(format!("the result is off by {error}")) }
    }
}
