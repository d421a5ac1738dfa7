//! Dense matrix product by divide and conquer on quadrants, without temporaries: two rounds of four products on each
//! level, each round three joins. The matrices lie in tiles, one after the other in the order of the recursion.

use super::{Demo, Program};
use crate::Checksum;
use crate::tiles::{Tiled, check_product, multiply_add_tile, quadrants, quadrants_mut};
use rayon::join;

pub(super) const MATMUL: Program = Program {
    name: "matmul",
    about: "matrix product by joins on quadrants",
    prepare: |size, seed| {
        let side = size.pick(48, 384, 768);
        Box::new(Matmul {
            a: Tiled::random_integers(side, TILE, seed),
            b: Tiled::random_integers(side, TILE, seed ^ 1),
            c: Tiled::zeros(side, TILE),
        })
    },
};

/// Three tiles fit into the first-level cache several times over.
const TILE: usize = 24;

struct Matmul {
    a: Tiled,
    b: Tiled,
    c: Tiled,
}

/// `c += a · b`
fn multiply_add(c: &mut [f64], a: &[f64], b: &[f64]) {
    if c.len() <= TILE * TILE {
        return multiply_add_tile(c, a, b, TILE, 1.0);
    }
    let [a00, a01, a10, a11] = quadrants(a);
    let [b00, b01, b10, b11] = quadrants(b);
    for (a0, a1, b0, b1) in [(a00, a10, b00, b01), (a01, a11, b10, b11)] {
        let [c00, c01, c10, c11] = quadrants_mut(c);
        join(
            || join(|| multiply_add(c00, a0, b0), || multiply_add(c01, a0, b1)),
            || join(|| multiply_add(c10, a1, b0), || multiply_add(c11, a1, b1)),
        );
    }
}

impl Demo for Matmul {
    fn reset(&mut self) {
        self.c.data.fill(0.0);
    }

    fn compute(&mut self) {
        multiply_add(&mut self.c.data, &self.a.data, &self.b.data);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.c.data)
    }

    fn check(&self) -> Result<(), String> {
        check_product(&self.c, &self.a, &self.b)
    }
}
