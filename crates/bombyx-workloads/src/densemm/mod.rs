//! Multiplies dense matrices with all eight products of a level in parallel, four of them into a temporary that
//! the level allocates: more parallelism than in place, and memory that grows with the schedule's breadth. This is
//! the dense matrix multiply of Narlikar, SPAA 1999, with as many levels at each grain.

use crate::par::join4;
use crate::tiles::{Tiled, check_product, multiply_add_tile, quadrants, quadrants_mut};
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, prepared};
use crate::{Fork, Par};

pub(crate) static DENSE_MM: Entry = Entry {
    name: "dense-mm",
    about: "dense matrix product with temporaries",
    suite: Suite::DfDeques,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let (side, tile) =
            size.pick((96, grain.pick(48, 24)), (1536, grain.pick(96, 48)), (3072, grain.pick(96, 48)));
        prepared(DenseMm {
            a: Tiled::random_integers(side, tile, seed),
            b: Tiled::random_integers(side, tile, seed ^ 1),
            c: Tiled::zeros(side, tile),
        })
    },
};

struct DenseMm {
    a: Tiled,
    b: Tiled,
    c: Tiled,
}

/// `c = a · b`, where `c` holds zeros.
fn multiply<F: Fork>(fork: &mut F, c: &mut [f64], a: &[f64], b: &[f64], tile: usize) {
    if c.len() <= tile * tile {
        F::touch(a);
        F::touch(b);
        F::touch(c);
        return multiply_add_tile(c, a, b, tile, 1.0);
    }
    fork.reserve(size_of_val(c));
    let mut temporary = vec![0.0; c.len()];
    F::touch(&temporary);
    let [a00, a01, a10, a11] = quadrants(a);
    let [b00, b01, b10, b11] = quadrants(b);
    let [c00, c01, c10, c11] = quadrants_mut(c);
    let [t00, t01, t10, t11] = quadrants_mut(&mut temporary);
    fork.join(
        |fork| {
            join4!(
                fork,
                |fork| multiply(fork, c00, a00, b00, tile),
                |fork| multiply(fork, c01, a00, b01, tile),
                |fork| multiply(fork, c10, a10, b00, tile),
                |fork| multiply(fork, c11, a10, b01, tile),
            )
        },
        |fork| {
            join4!(
                fork,
                |fork| multiply(fork, t00, a01, b10, tile),
                |fork| multiply(fork, t01, a01, b11, tile),
                |fork| multiply(fork, t10, a11, b10, tile),
                |fork| multiply(fork, t11, a11, b11, tile),
            )
        },
    );
    let size = tile * tile;
    fork.for_chunks(c, size, &|k, chunk: &mut [f64]| {
        F::touch(chunk);
        F::touch(&temporary[k * size..][..chunk.len()]);
        for (x, y) in chunk.iter_mut().zip(&temporary[k * size..]) {
            *x += y;
        }
    });
}

impl Kernel for DenseMm {
    fn input(&self) -> String {
        format!("{0} × {0} doubles, tiles of {1}", self.c.side, self.c.tile)
    }

    fn reset(&mut self) {
        self.c.data.fill(0.0);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        multiply(fork, &mut self.c.data, &self.a.data, &self.b.data, self.c.tile);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.c.data)
    }

    fn check(&self) -> Result<(), String> {
        check_product(&self.c, &self.a, &self.b)
    }
}
