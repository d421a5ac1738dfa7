//! The octree that all processors build together, inserting bodies with a lock on each cell that changes.
//!
//! A slot of a cell is empty, a body, or a cell, and goes through these states only in this order. Descending takes no
//! lock. Changing a slot takes the lock of its cell ([`Lock`]) and looks again. A new cell is filled before it is
//! published by a release store, which the acquire load of a descent sees. A cell is divided exactly when two bodies
//! meet in it, so the finished tree does not depend on the order of insertions.

use super::lock::Lock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

pub(super) type Vector = [f64; 3];

/// A cube, given by its centre and half its side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cube {
    pub(super) centre: Vector,
    pub(super) half: f64,
}

impl Cube {
    /// A cube around the origin that holds all bodies. Its half edge is a power of two, so that the centres of all
    /// cells are exact and no body at the border is rounded out of its cell.
    pub(super) fn around(bodies: &[Vector]) -> Cube {
        let reach = bodies.iter().flatten().fold(0.0, |reach: f64, x| reach.max(x.abs()));
        Cube { centre: [0.0; 3], half: reach.log2().ceil().exp2() }
    }

    /// The number of the octant that holds `at`.
    pub(super) fn octant(&self, at: &Vector) -> usize {
        (0..3).map(|axis| usize::from(at[axis] >= self.centre[axis]) << axis).sum()
    }

    pub(super) fn child(&self, octant: usize) -> Cube {
        let half = 0.5 * self.half;
        let side = |axis: usize| if octant >> axis & 1 == 1 { half } else { -half };
        Cube { centre: std::array::from_fn(|axis| self.centre[axis] + side(axis)), half }
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Empty,
    Body(u32),
    Cell(u32),
}

impl Slot {
    const BODY: u32 = 1 << 31;

    fn encode(self) -> u32 {
        match self {
            Slot::Empty => u32::MAX,
            Slot::Body(body) => body | Slot::BODY,
            Slot::Cell(cell) => cell,
        }
    }

    fn decode(word: u32) -> Slot {
        match word {
            u32::MAX => Slot::Empty,
            word if word & Slot::BODY != 0 => Slot::Body(word & !Slot::BODY),
            cell => Slot::Cell(cell),
        }
    }
}

#[derive(Default)]
struct Cell<L> {
    slots: [AtomicU32; 8],
    changing: L,
}

/// A tree under construction, or finished. Cell 0 is the root.
pub(super) struct Tree<L> {
    pub(super) cube: Cube,
    cells: Cells<L>,
}

/// Deeper than any two different positions in double precision can be told apart by halving.
const DEPTH_LIMIT: u32 = 1100;

impl<L: Lock> Tree<L> {
    pub(super) fn new(cube: Cube) -> Self {
        let mut tree = Tree { cube, cells: Cells::default() };
        tree.clear();
        tree
    }

    /// Takes all bodies out, keeping the memory.
    pub(super) fn clear(&mut self) {
        *self.cells.used.get_mut() = 0;
        self.cells.allocate();
    }

    pub(super) fn slot(&self, cell: u32, octant: usize) -> Slot {
        Slot::decode(self.cells.get(cell).slots[octant].load(Acquire))
    }

    /// Inserts a body, in parallel with other insertions.
    ///
    /// # Panics
    /// If the body is where another one is already.
    pub(super) fn insert(&self, bodies: &[Vector], body: u32) {
        let at = &bodies[body as usize];
        let (mut cube, mut cell) = (self.cube, 0);
        for _ in 0..DEPTH_LIMIT {
            let octant = cube.octant(at);
            match self.slot(cell, octant) {
                Slot::Cell(child) => cell = child,
                _ => match self.change(cell, octant, cube.child(octant), bodies, body) {
                    Some(child) => cell = child,
                    None => return,
                },
            }
            cube = cube.child(octant);
        }
        panic!("body {body} has the same position as another one");
    }

    /// Puts the body into the slot if it is empty. Otherwise makes the slot a cell, if it is not one by now, and
    /// returns the cell.
    fn change(&self, cell: u32, octant: usize, cube: Cube, bodies: &[Vector], body: u32) -> Option<u32> {
        let parent = self.cells.get(cell);
        let slot = &parent.slots[octant];
        parent.changing.hold(|| match Slot::decode(slot.load(Relaxed)) {
            Slot::Empty => {
                slot.store(Slot::Body(body).encode(), Release);
                None
            }
            Slot::Body(other) => {
                let child = self.cells.allocate();
                let inner = cube.octant(&bodies[other as usize]);
                self.cells.get(child).slots[inner].store(Slot::Body(other).encode(), Relaxed);
                slot.store(Slot::Cell(child).encode(), Release);
                Some(child)
            }
            Slot::Cell(child) => Some(child),
        })
    }
}

/// Cells by number, in blocks of doubling size that never move.
#[derive(Default)]
struct Cells<L> {
    blocks: [OnceLock<Box<[Cell<L>]>>; 32],
    used: AtomicU32,
}

const FIRST_BLOCK: u32 = 1024;

/// The block of a cell and its place there.
fn place(cell: u32) -> (usize, usize) {
    let block = (cell / FIRST_BLOCK + 1).ilog2();
    let first = FIRST_BLOCK * ((1 << block) - 1);
    (block as usize, (cell - first) as usize)
}

impl<L: Lock> Cells<L> {
    fn get(&self, cell: u32) -> &Cell<L> {
        let (block, place) = place(cell);
        &self.blocks[block].get().expect("cells are allocated before they are used")[place]
    }

    /// A cell with empty slots that nobody else knows.
    fn allocate(&self) -> u32 {
        let cell = self.used.fetch_add(1, Relaxed);
        let (block, place) = place(cell);
        let size = (FIRST_BLOCK as usize) << block;
        let cells = self.blocks[block].get_or_init(|| (0..size).map(|_| Cell::default()).collect());
        for slot in &cells[place].slots {
            slot.store(Slot::Empty.encode(), Relaxed);
        }
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::Blocking;
    use super::*;

    #[test]
    fn cells_have_places_of_their_own() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(1023), (0, 1023));
        assert_eq!(place(1024), (1, 0));
        assert_eq!(place(3071), (1, 2047));
        assert_eq!(place(3072), (2, 0));
    }

    #[test]
    fn slots_encode() {
        for slot in [Slot::Empty, Slot::Body(0), Slot::Body(77), Slot::Cell(0), Slot::Cell(12)] {
            assert_eq!(Slot::decode(slot.encode()), slot);
        }
    }

    #[test]
    #[should_panic(expected = "same position")]
    fn coincident_bodies_are_refused() {
        let bodies = [[0.5, 0.25, 0.125]; 2];
        let tree = Tree::<Blocking>::new(Cube { centre: [0.0; 3], half: 1.0 });
        tree.insert(&bodies, 0);
        tree.insert(&bodies, 1);
    }
}
