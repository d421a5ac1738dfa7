//! The Mandelbrot set: a loop over pixels whose costs differ by three orders of magnitude.

use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Par};

pub(crate) static MANDELBROT: Entry = Entry {
    name: "mandelbrot",
    about: "escape times of the Mandelbrot set",
    suite: Suite::Classics,
    bound: Bound::Compute,
    prepare: |size, grain, _seed| {
        let side: usize = size.pick(48, 1000, 2000);
        prepared(Mandelbrot { side, chunk: grain.pick(128, 1), iterations: vec![UNKNOWN; side * side] })
    },
};

/// Points that stay bounded for this many iterations count as members.
const LIMIT: u32 = 1000;
const UNKNOWN: u32 = u32::MAX;

struct Mandelbrot {
    side: usize,
    /// Pixels in a serial piece.
    chunk: usize,
    iterations: Vec<u32>,
}

impl Mandelbrot {
    /// The escape time of a pixel. The view is symmetric about the real axis to the last bit.
    fn escape(side: usize, pixel: usize) -> u32 {
        let offset = |i: usize| (2 * i) as f64 - (side - 1) as f64;
        let scale = 1.25 / side as f64;
        let (cx, cy) = (offset(pixel % side) * scale - 0.75, offset(pixel / side) * scale);
        let (mut x, mut y) = (0.0, 0.0);
        for iteration in 0..LIMIT {
            let (xx, yy) = (x * x, y * y);
            if xx + yy > 4.0 {
                return iteration;
            }
            (x, y) = (xx - yy + cx, 2.0 * x * y + cy);
        }
        LIMIT
    }
}

impl Kernel for Mandelbrot {
    fn input(&self) -> String {
        format!("{0} × {0} pixels in pieces of {1}", self.side, self.chunk)
    }

    fn reset(&mut self) {
        self.iterations.fill(UNKNOWN);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let (side, size) = (self.side, self.chunk);
        fork.for_chunks(&mut self.iterations, size, &|k, chunk: &mut [u32]| {
            for (i, slot) in chunk.iter_mut().enumerate() {
                *slot = Self::escape(side, k * size + i);
            }
        });
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.iterations.iter().map(|x| u64::from(*x)))
    }

    fn check(&self) -> Result<(), String> {
        let rows: Vec<_> = self.iterations.chunks(self.side).collect();
        for (top, bottom) in rows.iter().zip(rows.iter().rev()) {
            ensure(top == bottom, || "the picture is not symmetric".to_string())?;
        }
        let sample = (0..self.iterations.len()).step_by(97);
        for pixel in sample {
            let (got, expected) = (self.iterations[pixel], Self::escape(self.side, pixel));
            ensure(got == expected, || format!("pixel {pixel} is {got} instead of {expected}"))?;
        }
        let members = self.iterations.iter().filter(|i| **i == LIMIT).count();
        let area = members as f64 * (2.5 / self.side as f64).powi(2);
        ensure((area - 1.507).abs() < 10.0 / self.side as f64, || {
            format!("the set's area comes out as {area}")
        })
    }
}
