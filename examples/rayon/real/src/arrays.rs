//! `ndarray`: its `Zip` and its element-wise operations, in parallel.

use crate::digest;
use cores::Subject;
use ndarray::parallel::prelude::*;
use ndarray::{Array2, Zip, s};

/// Heat that spreads on a plate: a five-point stencil, some steps.
pub(crate) struct Stencil {
    start: Array2<f64>,
    plate: Array2<f64>,
    other: Array2<f64>,
}

const SIDE: usize = 500;
const STEPS: usize = 20;

impl Stencil {
    pub(crate) fn new() -> Stencil {
        let start = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| f64::from((i * 7 + j * 13) as u32 % 101));
        Stencil { plate: start.clone(), other: start.clone(), start }
    }
}

fn step(centre: f64, north: f64, south: f64, west: f64, east: f64) -> f64 {
    centre + 0.2 * (north + south + west + east - 4.0 * centre)
}

impl Subject for Stencil {
    fn reset(&mut self) {
        self.plate.assign(&self.start);
        self.other.assign(&self.start);
    }

    fn compute(&mut self) {
        for _ in 0..STEPS {
            let plate = &self.plate;
            Zip::from(self.other.slice_mut(s![1..-1, 1..-1]))
                .and(plate.slice(s![1..-1, 1..-1]))
                .and(plate.slice(s![..-2, 1..-1]))
                .and(plate.slice(s![2.., 1..-1]))
                .and(plate.slice(s![1..-1, ..-2]))
                .and(plate.slice(s![1..-1, 2..]))
                .par_for_each(|new, &centre, &north, &south, &west, &east| {
                    *new = step(centre, north, south, west, east);
                });
            std::mem::swap(&mut self.plate, &mut self.other);
        }
    }

    fn digest(&self) -> String {
        digest(self.plate.iter().flat_map(|value| value.to_le_bytes()))
    }

    fn check(&self) -> Result<(), String> {
        let (mut plate, mut other) = (self.start.clone(), self.start.clone());
        for _ in 0..STEPS {
            for i in 1..SIDE - 1 {
                for j in 1..SIDE - 1 {
                    let at = |i: usize, j: usize| plate[[i, j]];
                    other[[i, j]] = step(at(i, j), at(i - 1, j), at(i + 1, j), at(i, j - 1), at(i, j + 1));
                }
            }
            std::mem::swap(&mut plate, &mut other);
        }
        if plate == self.plate { Ok(()) } else { Err("the plate is wrong".to_string()) }
    }
}

/// An element-wise function, then the largest element of every row.
pub(crate) struct Map {
    start: Array2<f64>,
    matrix: Array2<f64>,
    largest: Vec<f64>,
}

impl Map {
    pub(crate) fn new() -> Map {
        let start = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| (i * SIDE + j) as f64 * 1e-3);
        Map { matrix: start.clone(), start, largest: Vec::new() }
    }
}

fn wave(x: f64) -> f64 {
    (x.sqrt() + 1.0).ln() * (1.0 - x * 1e-3)
}

impl Subject for Map {
    fn reset(&mut self) {
        self.matrix.assign(&self.start);
    }

    fn compute(&mut self) {
        self.matrix.par_mapv_inplace(wave);
        let rows = self.matrix.outer_iter().into_par_iter();
        self.largest = rows.map(|row| row.fold(f64::MIN, |a, &b| a.max(b))).collect();
    }

    fn digest(&self) -> String {
        digest(self.largest.iter().flat_map(|value| value.to_le_bytes()))
    }

    fn check(&self) -> Result<(), String> {
        let expected: Vec<f64> =
            self.start.outer_iter().map(|row| row.fold(f64::MIN, |a, &b| a.max(wave(b)))).collect();
        if expected == self.largest { Ok(()) } else { Err("a largest element is wrong".to_string()) }
    }
}
