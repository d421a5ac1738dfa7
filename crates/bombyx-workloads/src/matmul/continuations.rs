//! The product in continuation-passing style. Each function passes on the part of the product that it was given.

use crate::tiles::{multiply_add_tile, quadrants};
use bombyx_rw::{Discipline, Ended, Slice, Task};

type Block<'e> = Slice<'e, f64>;

/// `c += a · b` on blocks in recursive-quadrant layout with the given tile.
pub(super) fn multiply_add<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Block<'e>, K>,
    mut c: Block<'e>,
    [a, b]: [&'e [f64]; 2],
    tile: usize,
) -> Ended<'w> {
    if c.len() <= tile * tile {
        multiply_add_tile(&mut c, a, b, tile, 1.0);
        return task.end(c);
    }
    task.call(
        move |task| four_products(task, c, [a, b], tile, 0),
        move |task, c| four_products(task, c, [a, b], tile, 1),
    )
}

/// Adds the products of the quadrants in column `k` of `a` with those in row `k` of `b`.
fn four_products<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Block<'e>, K>,
    c: Block<'e>,
    [a, b]: [&'e [f64]; 2],
    tile: usize,
    k: usize,
) -> Ended<'w> {
    let (a, b) = (quadrants(a), quadrants(b));
    let b = [b[2 * k], b[2 * k + 1]];
    let half = c.len() / 2;
    let (top, bottom) = c.split(half);
    task.fork(
        move |task| row(task, top, a[k], b, tile),
        move |task| row(task, bottom, a[2 + k], b, tile),
        |task, top, bottom| task.end(top.rejoin(bottom)),
    )
}

fn row<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Block<'e>, K>,
    c: Block<'e>,
    a: &'e [f64],
    b: [&'e [f64]; 2],
    tile: usize,
) -> Ended<'w> {
    let half = c.len() / 2;
    let (left, right) = c.split(half);
    task.fork(
        move |task| multiply_add(task, left, [a, b[0]], tile),
        move |task| multiply_add(task, right, [a, b[1]], tile),
        |task, left, right| task.end(left.rejoin(right)),
    )
}
