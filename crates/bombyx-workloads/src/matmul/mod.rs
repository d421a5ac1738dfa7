//! Multiplies dense matrices in place by divide and conquer on quadrants: cache-oblivious and without temporaries,
//! at the price of two rounds of four products on each level (Frigo, Leiserson, Prokop, Ramachandran, FOCS 1999).

mod continuations;

use crate::Fork;
use crate::par::join4;
use crate::tiles::{Tiled, check_product, multiply_add_tile, quadrants, quadrants_mut};
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, prepared};
use bombyx_rw::{Discipline, Pool};

pub(crate) static MATMUL: Entry = Entry {
    name: "matmul",
    about: "dense matrix product in place, cache-oblivious",
    suite: Suite::ReadWrite,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let (side, tile) = (size.pick(96, 1536, 3072), grain.pick(48, 12));
        prepared(Matmul {
            a: Tiled::random_integers(side, tile, seed),
            b: Tiled::random_integers(side, tile, seed ^ 1),
            c: Tiled::zeros(side, tile),
        })
    },
};

struct Matmul {
    a: Tiled,
    b: Tiled,
    c: Tiled,
}

/// `c += sign · a · b` on blocks in recursive-quadrant layout with the given tile.
pub(crate) fn multiply_add<F: Fork>(
    fork: &mut F,
    c: &mut [f64],
    a: &[f64],
    b: &[f64],
    tile: usize,
    sign: f64,
) {
    if c.len() <= tile * tile {
        return multiply_add_tile(c, a, b, tile, sign);
    }
    let [a00, a01, a10, a11] = quadrants(a);
    let [b00, b01, b10, b11] = quadrants(b);
    for (a0, a1, b0, b1) in [(a00, a10, b00, b01), (a01, a11, b10, b11)] {
        let [c00, c01, c10, c11] = quadrants_mut(c);
        join4!(
            fork,
            |fork| multiply_add(fork, c00, a0, b0, tile, sign),
            |fork| multiply_add(fork, c01, a0, b1, tile, sign),
            |fork| multiply_add(fork, c10, a1, b0, tile, sign),
            |fork| multiply_add(fork, c11, a1, b1, tile, sign),
        );
    }
}

impl Kernel for Matmul {
    fn input(&self) -> String {
        format!("{0} × {0} doubles, tiles of {1}", self.c.side, self.c.tile)
    }

    fn reset(&mut self) {
        self.c.data.fill(0.0);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        multiply_add(fork, &mut self.c.data, &self.a.data, &self.b.data, self.c.tile, 1.0);
    }

    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        let (c, a, b) = (&mut self.c.data[..], &self.a.data[..], &self.b.data[..]);
        let tile = self.c.tile;
        pool.run(|task| {
            let product = c.into();
            task.call(
                move |task| continuations::multiply_add(task, product, [a, b], tile),
                |task, _| task.end(()),
            )
        });
        true
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.c.data)
    }

    fn check(&self) -> Result<(), String> {
        check_product(&self.c, &self.a, &self.b)
    }
}
