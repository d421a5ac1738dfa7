//! Masses summed up the tree, and accelerations found from them. All bodies together weigh one.

use super::lock::Lock;
use super::tree::{Slot, Tree, Vector};
use crate::{Fork, Par, Serial};

/// A cell is taken as one body if its side is less than this share of its distance (Barnes and Hut 1986).
const OPENING: f64 = 0.6;
/// The square of the length below which gravity is softened.
const SOFTENING: f64 = 1e-4;

/// A cell with what is in it.
pub(super) struct Summary {
    bodies: u32,
    mass: f64,
    centre: Vector,
    side: f64,
    children: [Part; 8],
}

#[derive(Default)]
enum Part {
    #[default]
    Empty,
    Body(u32),
    Cell(Box<Summary>),
}

/// Sums up a finished tree. Cells up to `depth` are done in parallel.
pub(super) fn summarise<F: Fork, L: Lock>(
    fork: &mut F,
    tree: &Tree<L>,
    bodies: &[Vector],
    depth: u32,
) -> Summary {
    Survey { tree, bodies }.cell(fork, 0, 2.0 * tree.cube.half, depth)
}

struct Survey<'a, L> {
    tree: &'a Tree<L>,
    bodies: &'a [Vector],
}

impl<L: Lock> Survey<'_, L> {
    fn cell<F: Fork>(&self, fork: &mut F, cell: u32, side: f64, depth: u32) -> Summary {
        let mut children: [Part; 8] = Default::default();
        if depth == 0 {
            self.parts(&mut Serial, cell, 0, &mut children, 0.5 * side, 0);
        } else {
            self.parts(fork, cell, 0, &mut children, 0.5 * side, depth - 1);
        }
        let (mut count, mut moment) = (0, [0.0; 3]);
        for child in &children {
            let (bodies, centre) = match child {
                Part::Empty => continue,
                Part::Body(body) => (1, self.bodies[*body as usize]),
                Part::Cell(cell) => (cell.bodies, cell.centre),
            };
            count += bodies;
            moment = std::array::from_fn(|axis| moment[axis] + f64::from(bodies) * centre[axis]);
        }
        Summary {
            bodies: count,
            mass: f64::from(count) / self.bodies.len() as f64,
            centre: moment.map(|m| m / f64::from(count)),
            side,
            children,
        }
    }

    /// Fills `parts`, which are the octants of `cell` from `first` on.
    fn parts<F: Fork>(
        &self,
        fork: &mut F,
        cell: u32,
        first: usize,
        parts: &mut [Part],
        side: f64,
        depth: u32,
    ) {
        if let [part] = parts {
            *part = match self.tree.slot(cell, first) {
                Slot::Empty => Part::Empty,
                Slot::Body(body) => Part::Body(body),
                Slot::Cell(child) => Part::Cell(Box::new(self.cell(fork, child, side, depth))),
            };
            return;
        }
        let half = parts.len() / 2;
        let (low, high) = parts.split_at_mut(half);
        fork.join(
            |fork| self.parts(fork, cell, first, low, side, depth),
            |fork| self.parts(fork, cell, first + half, high, side, depth),
        );
    }
}

impl Part {
    fn bodies(&self) -> usize {
        match self {
            Part::Empty => 0,
            Part::Body(_) => 1,
            Part::Cell(cell) => cell.bodies as usize,
        }
    }
}

impl Summary {
    /// The bodies in the order of the tree: neighbours in space are neighbours in the list.
    pub(super) fn order<F: Fork>(&self, fork: &mut F, grain: usize) -> Vec<u32> {
        let mut order = vec![0; self.bodies as usize];
        list(fork, &self.children, &mut order, grain);
        order
    }

    /// What [`pull`](Self::pull) reads.
    fn touch<F: Fork>(&self, bodies: &[Vector], at: &Vector) {
        F::touch(std::slice::from_ref(self));
        if self.side * self.side < OPENING * OPENING * distance_square(&self.centre, at) {
            return;
        }
        for child in &self.children {
            match child {
                Part::Empty => {}
                Part::Body(body) => F::touch(std::slice::from_ref(&bodies[*body as usize])),
                Part::Cell(cell) => cell.touch::<F>(bodies, at),
            }
        }
    }

    /// Adds the pull of this cell on something at `at` to `sum`.
    fn pull(&self, bodies: &[Vector], at: &Vector, sum: &mut Vector) {
        let square = distance_square(&self.centre, at);
        if self.side * self.side < OPENING * OPENING * square {
            return pull(&self.centre, self.mass, at, sum);
        }
        for child in &self.children {
            match child {
                Part::Empty => {}
                Part::Body(body) => pull(&bodies[*body as usize], 1.0 / bodies.len() as f64, at, sum),
                Part::Cell(cell) => cell.pull(bodies, at, sum),
            }
        }
    }
}

/// Writes the bodies of `parts` to `out`, which has room for exactly these.
fn list<F: Fork>(fork: &mut F, parts: &[Part], out: &mut [u32], grain: usize) {
    match parts {
        [Part::Empty] => {}
        [Part::Body(body)] => out[0] = *body,
        [Part::Cell(cell)] if cell.bodies as usize <= grain => list(&mut Serial, &cell.children, out, 0),
        [Part::Cell(cell)] => list(fork, &cell.children, out, grain),
        _ => {
            let (low, high) = parts.split_at(parts.len() / 2);
            let (out_low, out_high) = out.split_at_mut(low.iter().map(Part::bodies).sum());
            fork.join(|fork| list(fork, low, out_low, grain), |fork| list(fork, high, out_high, grain));
        }
    }
}

/// The accelerations of the bodies in the given order.
pub(super) fn accelerations<F: Fork>(
    fork: &mut F,
    root: &Summary,
    bodies: &[Vector],
    order: &[u32],
    grain: usize,
) -> Vec<Vector> {
    fork.tabulate(order.len(), grain, &|i| {
        let mut sum = [0.0; 3];
        if F::TOUCHES {
            root.touch::<F>(bodies, &bodies[order[i] as usize]);
        }
        root.pull(bodies, &bodies[order[i] as usize], &mut sum);
        sum
    })
}

/// The acceleration of one body by summing over all.
pub(super) fn direct_acceleration(bodies: &[Vector], body: usize) -> Vector {
    let mut sum = [0.0; 3];
    bodies.iter().for_each(|other| pull(other, 1.0 / bodies.len() as f64, &bodies[body], &mut sum));
    sum
}

fn distance_square(a: &Vector, b: &Vector) -> f64 {
    (0..3).map(|axis| (a[axis] - b[axis]) * (a[axis] - b[axis])).sum()
}

/// Adds the pull of a mass. A body does not pull itself: the distance is zero, and so is the pull.
#[inline]
fn pull(from: &Vector, mass: f64, at: &Vector, sum: &mut Vector) {
    let square = distance_square(from, at) + SOFTENING;
    let factor = mass / (square * square.sqrt());
    for axis in 0..3 {
        sum[axis] += factor * (from[axis] - at[axis]);
    }
}
