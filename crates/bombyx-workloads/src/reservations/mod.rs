//! Deterministic reservations (Blelloch, Fineman, Gibbons, Shun, PPoPP 2012): runs a greedy loop in parallel and gives
//! the result of the sequential one. Each round takes the earliest iterations that are left. First all of them reserve
//! what they need, by priority. Then those that hold everything they reserved commit.

mod continuations;

pub(crate) use continuations::speculative_on;

use crate::par::fill;
use crate::workload::{Grain, Size};
use crate::{Fork, Par};

/// The workloads of a greedy graph algorithm, one for each kind of graph in the tables of Acar, Charguéraud, Muller and
/// Rainey, with the iterations in a serial piece at fine grain. Sizes are for small, default and large runs: sides of
/// grids, vertices, edges.
macro_rules! on_graphs {
    ($program:literal, $about:literal, $prepare:path, fine: $fine:literal, grid2d: $grid2d:expr, grid3d: $grid3d:expr,
     rlg: $rlg:expr, rmat: $rmat:expr) => {
        on_graphs!(@entry GRID2D, $program, "grid2d", $about, "a 2-d grid", $prepare, $fine, |size: $crate::Size, seed| {
            graphs::grid::<2>(size.of($grid2d), seed)
        });
        on_graphs!(@entry GRID3D, $program, "grid3d", $about, "a 3-d grid", $prepare, $fine, |size: $crate::Size, seed| {
            graphs::grid::<3>(size.of($grid3d), seed)
        });
        on_graphs!(@entry LOCAL, $program, "rlg", $about, "a random local graph", $prepare, $fine, |size: $crate::Size, seed| {
            graphs::random_local(size.of($rlg), 5, seed)
        });
        on_graphs!(@entry RMAT, $program, "rmat", $about, "an rMat graph", $prepare, $fine, |size: $crate::Size, seed| {
            graphs::rmat(size.of([10, 22, 24]), size.of($rmat), seed)
        });
    };
    (@entry $name:ident, $program:literal, $input:literal, $about:literal, $graph:literal, $prepare:path,
     $fine:literal, $generate:expr) => {
        pub(crate) static $name: $crate::workload::Entry = $crate::workload::Entry {
            name: concat!($program, "-", $input),
            about: concat!($about, " of ", $graph),
            suite: $crate::workload::Suite::ReadWrite,
            bound: $crate::workload::Bound::Memory,
            prepare: |size, grain, seed| $prepare($generate(size, seed), seed, grain_of(size, grain, $fine)),
        };
    };
}

pub(crate) use on_graphs;

/// Iterations in a serial piece; few in small runs, so that they fork too.
pub(crate) fn grain_of(size: Size, grain: Grain, fine: usize) -> usize {
    match size {
        Size::Small => grain.pick(32, 8),
        _ => grain.pick(1024, fine),
    }
}

/// The body of a greedy loop, in two phases.
pub(crate) trait Speculative: Sync {
    /// What an iteration learned in its first phase.
    type Plan: Copy + Default + Send + Sync;

    /// First phase: looks at the state and reserves. Runs in parallel only with other reservations.
    fn reserve(&self, iteration: u32) -> Self::Plan;

    /// Second phase: acts if the reservations held, and returns whether the iteration is over. If not, it is tried
    /// again in the next round. Runs in parallel only with other commits.
    fn commit(&self, iteration: u32, plan: Self::Plan) -> bool;
}

/// Runs iterations `0..n`, at most `round` of them at a time, in pieces of `grain`.
pub(crate) fn speculative_for<F: Fork, S: Speculative>(
    fork: &mut F,
    step: &S,
    n: u32,
    round: usize,
    grain: usize,
) {
    let mut active: Vec<u32> = Vec::new();
    let (mut plans, mut room) = (Vec::new(), Vec::new());
    let mut next = 0;
    while next < n || !active.is_empty() {
        let fresh = (round.saturating_sub(active.len()) as u32).min(n - next);
        active.extend(next..next + fresh);
        next += fresh;

        plans.resize(active.len(), S::Plan::default());
        fork.for_chunks(&mut plans, grain, &|k, plans: &mut [S::Plan]| {
            for (plan, iteration) in plans.iter_mut().zip(&active[k * grain..]) {
                *plan = step.reserve(*iteration);
            }
        });
        room.resize(active.len(), 0);
        let counts = fork.sift(&mut room, grain, &|range, room| {
            fill(room, range.filter(|&i| !step.commit(active[i], plans[i])).map(|i| active[i]))
        });
        active.truncate(counts.iter().sum());
        fork.gather(&room, grain, &counts, &mut active);
    }
}
