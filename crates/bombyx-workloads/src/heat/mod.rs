//! Heat diffusion on a square plate by Jacobi steps: a sequence of short parallel loops over memory.

use std::f64::consts::PI;

use crate::inputs::Rng;
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Par};

pub(crate) static HEAT: Entry = Entry {
    name: "heat",
    about: "Jacobi steps of the heat equation on a square",
    suite: Suite::Classics,
    bound: Bound::Memory,
    prepare: |size, grain, seed| {
        let mut rng = Rng::new(seed);
        let waves = [1 + rng.below(3) as usize, 1 + rng.below(3) as usize];
        let (side, parts) = size.pick((40, 2), (1022, 8), (2046, 16));
        let width = side + 2;
        prepared(Heat::new(side, size.pick(20, 500, 800), grain.pick(16 * width, width / parts), waves))
    },
};

/// Time step over the square of the grid spacing; stable below 1/4.
const SPEED: f64 = 0.125;

struct Heat {
    /// Inner points in a row. The boundary, at temperature zero, is added to these.
    side: usize,
    steps: usize,
    /// Points in a serial piece: whole rows, or an equal part of a row.
    piece: usize,
    /// Half-waves of the initial temperature along each axis.
    waves: [usize; 2],
    initial: Vec<f64>,
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Heat {
    fn new(side: usize, steps: usize, piece: usize, waves: [usize; 2]) -> Self {
        let width = side + 2;
        assert!(piece.is_multiple_of(width) || width.is_multiple_of(piece));
        let profile = waves.map(|waves| -> Vec<f64> {
            (0..width)
                .map(|i| if i == 0 || i == side + 1 { 0.0 } else { wave_angle(waves, side, i).sin() })
                .collect()
        });
        let initial: Vec<f64> =
            (0..width * width).map(|i| profile[0][i / width] * profile[1][i % width]).collect();
        Heat { side, steps, piece, waves, now: initial.clone(), next: initial.clone(), initial }
    }

    /// What one step multiplies the initial temperature by: it is an eigenvector of the discrete Laplacian.
    fn decay(&self) -> f64 {
        let eigenvalue: f64 =
            self.waves.iter().map(|waves| 2.0 - 2.0 * wave_angle(*waves, self.side, 1).cos()).sum();
        1.0 - SPEED * eigenvalue
    }
}

fn wave_angle(waves: usize, side: usize, point: usize) -> f64 {
    PI * (waves * point) as f64 / (side + 1) as f64
}

/// Writes the next temperatures of a row, or of a part of one. Its first point is number `at` of the plate.
fn step(next: &mut [f64], now: &[f64], at: usize, width: usize) {
    let (first, last) = (at.is_multiple_of(width), (at + next.len()).is_multiple_of(width));
    let end = next.len() - usize::from(last);
    let next = &mut next[usize::from(first)..end];
    let at = at + usize::from(first);
    let around = |at: usize| &now[at..][..next.len()];
    let (above, below, left, right) =
        (around(at - width), around(at + width), around(at - 1), around(at + 1));
    let here = around(at);
    for (i, next) in next.iter_mut().enumerate() {
        *next = here[i] + SPEED * (above[i] + below[i] + left[i] + right[i] - 4.0 * here[i]);
    }
}

impl Kernel for Heat {
    fn input(&self) -> String {
        format!("{0} × {0} points, {1} steps, {2} points a leaf", self.side, self.steps, self.piece)
    }

    fn reset(&mut self) {
        self.now.copy_from_slice(&self.initial);
        self.next.copy_from_slice(&self.initial);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let width = self.side + 2;
        for _ in 0..self.steps {
            let now = &self.now;
            let inner = &mut self.next[width..width * (self.side + 1)];
            fork.for_chunks(inner, self.piece, &|k, piece: &mut [f64]| {
                let first = width + k * self.piece;
                for (i, part) in piece.chunks_mut(width.min(self.piece)).enumerate() {
                    step(part, now, first + i * width, width);
                }
            });
            std::mem::swap(&mut self.now, &mut self.next);
        }
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.now)
    }

    fn check(&self) -> Result<(), String> {
        let decay = self.decay().powi(self.steps as i32);
        let worst = self
            .now
            .iter()
            .zip(&self.initial)
            .map(|(got, was)| (got - decay * was).abs())
            .fold(0.0, f64::max);
        ensure(worst < 1e-11, || format!("off by {worst:e} from the closed form"))
    }
}
