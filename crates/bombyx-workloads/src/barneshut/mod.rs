//! One step of the Barnes–Hut n-body method on Plummer's model: all processors build an octree together, with locks
//! on its cells; masses are summed up the tree; then the acceleration of every body is found, taking cells that are
//! far away as one body. The tree-building phase alone is a workload too (Narlikar, SPAA 1999, Figure 14).

use crate::inputs::points;
use crate::workload::{Bound, Checksum, Entry, Grain, Kernel, Prepared, Size, Suite, ensure, prepared};
use crate::{Fork, Par};

mod gravity;
mod lock;
mod tree;

use gravity::{Summary, accelerations, direct_acceleration, summarise};
use lock::{Blocking, Lock, Spinning};
use tree::{Cube, Slot, Tree, Vector};

pub(crate) static BARNES_HUT: Entry = Entry {
    name: "barnes-hut",
    about: "Barnes-Hut accelerations of a Plummer cluster",
    suite: Suite::DfDeques,
    bound: Bound::Compute,
    prepare: |size, grain, seed| {
        let bodies = points::plummer(size.pick(300, 100_000, 400_000), seed);
        let n = bodies.len();
        let grains =
            Grains { insert: grain.pick(128, 1), depth: grain.pick(4, 8), accelerate: grain.pick(32, 1) };
        let build = Build { tree: Tree::new(Cube::around(&bodies)), bodies, grain: grains.insert };
        prepared(BarnesHut { build, grains, result: vec![[0.0; 3]; n] })
    },
};

pub(crate) static TREE: Entry = Entry {
    name: "barnes-hut-tree",
    about: "lock-based tree building of Barnes-Hut alone",
    suite: Suite::DfDeques,
    bound: Bound::Memory,
    prepare: prepare_tree::<Blocking>,
};

pub(crate) static TREE_SPIN: Entry = Entry {
    name: "barnes-hut-tree-spin",
    about: "the same with locks that spin",
    suite: Suite::DfDeques,
    bound: Bound::Memory,
    prepare: prepare_tree::<Spinning>,
};

fn prepare_tree<L: Lock + 'static>(size: Size, grain: Grain, seed: u64) -> Box<dyn Prepared> {
    let bodies = points::plummer(size.pick(500, 1_000_000, 4_000_000), seed);
    prepared(Build::<L> { tree: Tree::new(Cube::around(&bodies)), bodies, grain: grain.pick(128, 1) })
}

/// The first phase.
struct Build<L> {
    bodies: Vec<Vector>,
    tree: Tree<L>,
    /// Bodies that are inserted one after the other.
    grain: usize,
}

impl<L: Lock> Build<L> {
    fn run<F: Fork>(&self, fork: &mut F) {
        fork.for_range(0..self.bodies.len(), self.grain, &|range| {
            for body in range {
                self.tree.insert(&self.bodies, body as u32);
            }
        });
    }

    /// The bodies in the order of the tree, each with its depth. Reports a body that is in a wrong place.
    fn walk(&self) -> Result<Vec<(u32, u32)>, String> {
        let mut found = Vec::with_capacity(self.bodies.len());
        let mut waiting = vec![(Slot::Cell(0), self.tree.cube, 0)];
        while let Some((slot, cube, depth)) = waiting.pop() {
            match slot {
                Slot::Empty => {}
                Slot::Body(body) => {
                    let at = &self.bodies[body as usize];
                    let inside = (0..3).all(|axis| (at[axis] - cube.centre[axis]).abs() <= cube.half);
                    ensure(inside, || format!("body {body} is in a wrong cell"))?;
                    found.push((body, depth));
                }
                Slot::Cell(cell) => waiting.extend(
                    (0..8).map(|octant| (self.tree.slot(cell, octant), cube.child(octant), depth + 1)),
                ),
            }
        }
        Ok(found)
    }
}

impl<L: Lock> Kernel for Build<L> {
    fn input(&self) -> String {
        format!("{} bodies, {} a leaf", self.bodies.len(), self.grain)
    }

    fn reset(&mut self) {
        self.tree.clear();
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        self.run(fork);
    }

    fn checksum(&self) -> Checksum {
        let walk = self.walk().unwrap_or_default();
        Checksum::of(walk.iter().map(|(body, depth)| u64::from(*body) << 32 | u64::from(*depth)))
    }

    /// Every body is in the tree once, inside the cells it belongs to.
    fn check(&self) -> Result<(), String> {
        let mut found: Vec<u32> = self.walk()?.iter().map(|(body, _)| *body).collect();
        found.sort_unstable();
        let all =
            found.len() == self.bodies.len() && found.iter().enumerate().all(|(i, body)| i == *body as usize);
        ensure(all, || {
            format!("{} of {} bodies are in the tree, or some twice", found.len(), self.bodies.len())
        })
    }
}

/// Leaf sizes of the phases.
struct Grains {
    insert: usize,
    /// Cells up to this depth are summarised in parallel.
    depth: u32,
    /// Bodies whose accelerations are found one after the other.
    accelerate: usize,
}

struct BarnesHut {
    build: Build<Blocking>,
    grains: Grains,
    result: Vec<Vector>,
}

impl Kernel for BarnesHut {
    fn input(&self) -> String {
        let Grains { insert, accelerate, .. } = self.grains;
        format!("{} bodies, {insert} inserted and {accelerate} moved a leaf", self.result.len())
    }

    fn reset(&mut self) {
        self.build.tree.clear();
        self.result.fill([0.0; 3]);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        self.build.run(fork);
        let Build { bodies, tree, .. } = &self.build;
        let root: Summary = summarise(fork, tree, bodies, self.grains.depth);
        let order = root.order(fork, self.grains.accelerate);
        let in_order = accelerations(fork, &root, bodies, &order, self.grains.accelerate);
        for (body, acceleration) in order.iter().zip(in_order) {
            self.result[*body as usize] = acceleration;
        }
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(self.result.iter().flatten())
    }

    /// Accelerations agree with direct summation, to the accuracy of the method.
    fn check(&self) -> Result<(), String> {
        self.build.check()?;
        let sample = (0..self.result.len()).step_by(self.result.len() / 50);
        let (mut error, mut total) = (0.0, 0.0);
        for body in sample {
            let expected = direct_acceleration(&self.build.bodies, body);
            error += (0..3).map(|axis| (self.result[body][axis] - expected[axis]).powi(2)).sum::<f64>();
            total += expected.iter().map(|x| x * x).sum::<f64>();
        }
        ensure(error < 0.02f64.powi(2) * total, || format!("relative error {}", (error / total).sqrt()))
    }
}
