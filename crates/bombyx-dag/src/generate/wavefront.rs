//! `wavefront`: a grid in which every cell waits for its left neighbour and for the cells above it.
//!
//! Every row is a thread. The last row is the root, and each row spawns the one above it. So a cell's join edges lead
//! to ancestors: from the row directly above to the parent, and from rows further above past it. With `reach` 2 or more
//! the computation is strict but not fully strict.

use super::{BuildError, Builder, Computation, FRAME, Generator, parameter, weight};
use crate::StrandId;

pub(super) const GENERATOR: Generator = Generator {
    name: "wavefront",
    about: "a grid of cells, each after its left neighbour and the cells above it: strict, not fully strict",
    parameters: &[
        parameter("rows", 16, 1, 1 << 20, "threads"),
        parameter("columns", 16, 1, 1 << 30, "cells of a row"),
        weight("work", 10, "weight of a cell"),
        parameter("reach", 2, 1, 1 << 20, "rows above that a cell waits for; 1 is fully strict"),
        FRAME,
    ],
    size: |values| {
        let (rows, columns, reach) = (values[0] as f64, values[1] as f64, values[3] as f64);
        (rows * (columns + 2.0)).max(rows * columns * reach.min(rows - 1.0))
    },
    build,
};

fn build(values: &[u64]) -> Result<Computation, BuildError> {
    let &[rows, columns, work, reach, frame] = values else { unreachable!("a spec holds every parameter") };
    let mut b = Builder::new(frame);
    for _ in 1..rows {
        b.strand(1);
        b.spawn(frame);
    }
    // First cells of the rows so far. A row's cells are consecutive strands.
    let mut first_cells: Vec<StrandId> = Vec::new();
    for row in 0..rows {
        if row > 0 {
            b.end();
            b.strand(1);
        }
        first_cells.push(b.upcoming());
        let above = &first_cells[(row.saturating_sub(reach)) as usize..row as usize];
        for column in 0..columns as u32 {
            b.strand(work);
            for first in above {
                b.wait_for(StrandId(first.0 + column));
            }
        }
    }
    b.build()
}
