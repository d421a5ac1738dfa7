//! Strassen's matrix product: seven products of half the side instead of eight, paid for with temporaries that
//! every level allocates.

use crate::matmul::multiply_add;
use crate::par::{join3, join4};
use crate::tiles::{Tiled, check_product, quadrants, quadrants_mut};
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, prepared};
use crate::{Fork, Serial};

pub(crate) static STRASSEN: Entry = Entry {
    name: "strassen",
    about: "dense matrix product by Strassen's recursion",
    suite: Suite::Classics,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let (side, tile, base) = size.pick(
            (96, 24, grain.pick(48, 24)),
            (1536, 48, grain.pick(192, 48)),
            (3072, 48, grain.pick(192, 48)),
        );
        prepared(Strassen {
            a: Tiled::random_integers(side, tile, seed),
            b: Tiled::random_integers(side, tile, seed ^ 1),
            c: Tiled::zeros(side, tile),
            base,
        })
    },
};

struct Strassen {
    a: Tiled,
    b: Tiled,
    c: Tiled,
    /// Blocks of this side are multiplied serially in the ordinary way.
    base: usize,
}

/// Where the recursion ends, and the tiles there.
#[derive(Clone, Copy)]
struct Base {
    side: usize,
    tile: usize,
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x + y).collect()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

fn combine(out: &mut [f64], f: impl Fn(usize) -> f64) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = f(i);
    }
}

/// `a() · b()` for blocks in recursive-quadrant layout of `len` numbers each. That many are allocated.
fn product<F: Fork, A: AsRef<[f64]>, B: AsRef<[f64]>>(
    fork: &mut F,
    (blocks, len): (usize, usize),
    a: impl FnOnce() -> A,
    b: impl FnOnce() -> B,
    base: Base,
) -> Vec<f64> {
    fork.reserve(blocks * len * size_of::<f64>());
    let (a, b) = (a(), b());
    let mut c = vec![0.0; len];
    multiply_into(fork, &mut c, a.as_ref(), b.as_ref(), base);
    c
}

fn multiply_into<F: Fork>(fork: &mut F, c: &mut [f64], a: &[f64], b: &[f64], base: Base) {
    if c.len() <= base.side * base.side {
        c.fill(0.0);
        return multiply_add(&mut Serial, c, a, b, base.tile, 1.0);
    }
    let [a00, a01, a10, a11] = quadrants(a);
    let [b00, b01, b10, b11] = quadrants(b);
    let (two, three) = ((2, a00.len()), (3, a00.len()));
    let ((m1, m2, m3, m4), (m5, m6, m7)) = fork.join(
        |fork| {
            join4!(
                fork,
                |fork| product(fork, three, || sum(a00, a11), || sum(b00, b11), base),
                |fork| product(fork, two, || sum(a10, a11), || b00, base),
                |fork| product(fork, two, || a00, || difference(b01, b11), base),
                |fork| product(fork, two, || a11, || difference(b10, b00), base),
            )
        },
        |fork| {
            join3!(
                fork,
                |fork| product(fork, two, || sum(a00, a01), || b11, base),
                |fork| product(fork, three, || difference(a10, a00), || sum(b00, b01), base),
                |fork| product(fork, three, || difference(a01, a11), || sum(b10, b11), base),
            )
        },
    );
    let [c00, c01, c10, c11] = quadrants_mut(c);
    join4!(
        fork,
        |_| combine(c00, |i| m1[i] + m4[i] - m5[i] + m7[i]),
        |_| combine(c01, |i| m3[i] + m5[i]),
        |_| combine(c10, |i| m2[i] + m4[i]),
        |_| combine(c11, |i| m1[i] - m2[i] + m3[i] + m6[i]),
    );
}

impl Kernel for Strassen {
    fn input(&self) -> String {
        format!("{0} × {0} doubles, ordinary below {1}", self.c.side, self.base)
    }

    fn reset(&mut self) {
        self.c.data.fill(0.0);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let base = Base { side: self.base, tile: self.c.tile };
        multiply_into(fork, &mut self.c.data, &self.a.data, &self.b.data, base);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.c.data)
    }

    fn check(&self) -> Result<(), String> {
        check_product(&self.c, &self.a, &self.b)
    }
}
