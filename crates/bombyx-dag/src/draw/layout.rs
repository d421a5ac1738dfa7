//! Where everything goes: one row per level of the spawn tree, columns growing with time.
//!
//! Strands are placed in serial order, each as far left as its predecessors and the blocks already in its row
//! allow. A spawning strand moves right until there is room below it, so that spawn edges are short.

use crate::Computation;

/// The least number of columns from a spawning strand to its child's first strand, and from a join edge's source to its
/// target.
const STEP_ASIDE: f64 = 0.5;
/// Columns between two blocks of a row.
const GAP: f64 = 1.45;

pub(super) struct Layout {
    /// Column of every strand.
    pub(super) columns: Vec<f64>,
    /// Rows and columns in all.
    pub(super) rows: u32,
    pub(super) width: f64,
}

impl Layout {
    pub(super) fn of(c: &Computation) -> Self {
        let rows = c.threads().map(|t| c.spawn_depth(t)).max().unwrap_or(0) + 1;
        // Least column of every strand, and where the next block of every row may begin.
        let mut columns = vec![0.0_f64; c.strand_count()];
        let mut free = vec![0.0_f64; rows as usize + 1];
        for strand in c.strands() {
            let row = c.spawn_depth(c.thread_of(strand)) as usize;
            let mut column = columns[strand.index()];
            if strand == c.first_strand(c.thread_of(strand)) {
                column = column.max(free[row]);
            }
            if c.spawned(strand).is_some() {
                column = column.max(free[row + 1] - STEP_ASIDE);
            }
            columns[strand.index()] = column;
            free[row] = column + GAP;
            if let Some(child) = c.spawned(strand) {
                columns[child.index()] = column + STEP_ASIDE;
            }
            if let Some(next) = c.next(strand) {
                columns[next.index()] = columns[next.index()].max(column + 1.0);
            }
            for to in c.joins_from(strand) {
                columns[to.index()] = columns[to.index()].max(column + STEP_ASIDE);
            }
        }
        let width = columns.iter().copied().fold(0.0, f64::max);
        Self { columns, rows, width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Spec;

    #[test]
    fn blocks_do_not_overlap_and_time_goes_right() {
        for spec in
            ["figure1", "fib:6", "wavefront:rows=4,columns=5", "random:threads=30", "fan:9", "chain:7"]
        {
            let c = spec.parse::<Spec>().unwrap().build().unwrap();
            let layout = Layout::of(&c);
            for strand in c.strands() {
                let here = layout.columns[strand.index()];
                let after =
                    |to: crate::StrandId, by: f64| assert!(layout.columns[to.index()] >= here + by, "{spec}");
                c.next(strand).into_iter().for_each(|to| after(to, 1.0));
                c.spawned(strand).into_iter().for_each(|to| after(to, STEP_ASIDE));
                c.joins_from(strand).iter().for_each(|&to| after(to, STEP_ASIDE));
            }
            for row in 0..layout.rows {
                let mut blocks: Vec<_> = c
                    .threads()
                    .filter(|&t| c.spawn_depth(t) == row)
                    .map(|t| [c.first_strand(t), c.last_strand(t)].map(|s| layout.columns[s.index()]))
                    .collect();
                blocks.sort_by(|a, b| a[0].total_cmp(&b[0]));
                assert!(blocks.windows(2).all(|pair| pair[0][1] + 1.0 < pair[1][0]), "{spec}, row {row}");
            }
        }
    }
}
