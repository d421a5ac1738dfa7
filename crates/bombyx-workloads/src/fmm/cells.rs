//! The cells of a quadtree over the unit square and which of them are close to each other.

use crate::complex::Complex;

/// A square of side 2^-level, numbered in Morton order within its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) level: u32,
    pub(super) index: usize,
}

impl Cell {
    /// The cell of a level that a point of the unit square lies in.
    pub(super) fn containing(level: u32, at: Complex) -> Cell {
        let side = f64::from(1u32 << level);
        Cell::at(level, (at.re * side) as usize, (at.im * side) as usize)
    }

    fn at(level: u32, x: usize, y: usize) -> Cell {
        let bit = |bit: u32| (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1);
        Cell { level, index: (0..level).map(bit).sum() }
    }

    fn position(self) -> [usize; 2] {
        [0, 1].map(|axis| (0..self.level).map(|bit| (self.index >> (2 * bit + axis) & 1) << bit).sum())
    }

    pub(super) fn centre(self) -> Complex {
        let side = 1.0 / f64::from(1u32 << self.level);
        let [x, y] = self.position().map(|x| (x as f64 + 0.5) * side);
        Complex { re: x, im: y }
    }

    pub(super) fn parent(self) -> Cell {
        Cell { level: self.level - 1, index: self.index / 4 }
    }

    pub(super) fn children(self) -> impl Iterator<Item = Cell> {
        (0..4).map(move |child| Cell { level: self.level + 1, index: 4 * self.index + child })
    }
}

/// The cell itself and those that touch it.
pub(super) fn neighbours(cell: Cell) -> impl Iterator<Item = Cell> {
    let [x, y] = cell.position();
    let last = (1 << cell.level) - 1;
    let around = move |at: usize| at.saturating_sub(1)..=(at + 1).min(last);
    around(y).flat_map(move |y| around(x).map(move |x| Cell::at(cell.level, x, y)))
}

/// The cells that do not touch this one, while their parents touch its parent: at most 27.
pub(super) fn well_separated(cell: Cell) -> impl Iterator<Item = Cell> {
    let [x, y] = cell.position();
    neighbours(cell.parent()).flat_map(Cell::children).filter(move |other| {
        let [other_x, other_y] = other.position();
        other_x.abs_diff(x) > 1 || other_y.abs_diff(y) > 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_interaction_lists_cover_the_plane_once() {
        let level = 4;
        for index in 0..1 << (2 * level) {
            let mut seen: Vec<usize> = neighbours(Cell { level, index }).map(|c| c.index).collect();
            let mut cell = Cell { level, index };
            while cell.level >= 2 {
                for mut far in well_separated(cell).map(|c| vec![c]) {
                    while far[0].level < level {
                        far = far.into_iter().flat_map(Cell::children).collect();
                    }
                    seen.extend(far.iter().map(|c| c.index));
                }
                cell = cell.parent();
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..1 << (2 * level)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn cells_contain_their_centres() {
        for index in 0..64 {
            let cell = Cell { level: 3, index };
            assert_eq!(Cell::containing(3, cell.centre()), cell);
            assert!(cell.children().all(|child| child.parent() == cell));
        }
    }
}
