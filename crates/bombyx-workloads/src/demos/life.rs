//! Conway's game of life on a torus: a parallel loop over the cells for each generation.

use super::{Demo, Program};
use crate::Checksum;
use crate::inputs::Rng;
use crate::workload::ensure;
use rayon::prelude::*;

pub(super) const LIFE: Program = Program {
    name: "life",
    about: "game of life, a parallel loop over cells for each generation",
    prepare: |size, seed| {
        let (side, generations) = size.pick((20, 5), (200, 30), (1000, 50));
        let mut rng = Rng::new(seed);
        let cells: Vec<bool> = (0..side * side).map(|_| rng.below(2) == 1).collect();
        Box::new(Life { side, generations, start: cells.clone(), cells })
    },
};

struct Life {
    side: usize,
    generations: usize,
    start: Vec<bool>,
    cells: Vec<bool>,
}

impl Life {
    /// Whether cell `i` lives in the generation after `cells`.
    fn lives(&self, cells: &[bool], i: usize) -> bool {
        let side = self.side;
        let (row, column) = (i / side, i % side);
        let rows = [(row + side - 1) % side, row, (row + 1) % side];
        let columns = [(column + side - 1) % side, column, (column + 1) % side];
        let around: u32 = rows
            .iter()
            .map(|row| columns.iter().map(|column| u32::from(cells[row * side + column])).sum::<u32>())
            .sum();
        around == 3 || (around == 4 && cells[i])
    }
}

impl Demo for Life {
    fn reset(&mut self) {
        self.cells.copy_from_slice(&self.start);
    }

    fn compute(&mut self) {
        for _ in 0..self.generations {
            let next = (0..self.cells.len()).into_par_iter().map(|i| self.lives(&self.cells, i));
            self.cells = next.collect();
        }
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.cells.iter().map(|&lives| u64::from(lives)))
    }

    fn check(&self) -> Result<(), String> {
        let mut cells = self.start.clone();
        for _ in 0..self.generations {
            cells = (0..cells.len()).map(|i| self.lives(&cells, i)).collect();
        }
        ensure(cells == self.cells, || "a cell is wrong".to_string())
    }
}
