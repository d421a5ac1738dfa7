//! Loops over slices in pieces, as in [`Par`](crate::Par), in continuation-passing style. A loop divides its data among
//! its branches, puts it together again at the join, and passes it on.

use bombyx_rw::{Discipline, Ended, Slice, Task};
use std::ops::Range;

/// How many elements each piece of a loop has kept, as the tree in which the loop was divided.
pub(crate) struct Tally {
    /// Those at the front of the pieces, and those at their end.
    pub(crate) total: [usize; 2],
    parts: Option<Box<[Tally; 2]>>,
}

impl Tally {
    /// One piece.
    pub(crate) fn leaf(total: [usize; 2]) -> Tally {
        Tally { total, parts: None }
    }

    /// The pieces of two halves.
    pub(crate) fn join(left: Tally, right: Tally) -> Tally {
        let total = [left.total[0] + right.total[0], left.total[1] + right.total[1]];
        Tally { total, parts: Some(Box::new([left, right])) }
    }
}

/// Where a loop over this many elements in pieces of `grain` is divided. `None` if they are one piece.
pub(crate) fn halves(len: usize, grain: usize) -> Option<usize> {
    (len > grain).then(|| len.div_ceil(grain) / 2 * grain)
}

/// What [`gather`] read, and what it filled.
pub(crate) type Gathered<'e, T> = [Slice<'e, T>; 3];

/// Copies what lies at the front of each piece of `grain`, one after the other, and what lies at the end of each, as
/// the tally says. The targets must hold exactly as much.
pub(crate) fn gather<'w, 'e, T, K>(
    task: Task<'w, 'e, Gathered<'e, T>, K>,
    tally: Tally,
    grain: usize,
    [pieces, mut fronts, mut ends]: Gathered<'e, T>,
) -> Ended<'w>
where
    T: Copy + Send + 'e,
    K: Discipline,
{
    let ([front, end], Some(parts)) = (tally.total, tally.parts) else {
        let [front, end] = tally.total;
        fronts.copy_from_slice(&pieces[..front]);
        ends.copy_from_slice(&pieces[pieces.len() - end..]);
        return task.end([pieces, fronts, ends]);
    };
    debug_assert_eq!((fronts.len(), ends.len()), (front, end));
    let [left, right] = *parts;
    let at = halves(pieces.len(), grain).unwrap_or(pieces.len());
    let (pieces_left, pieces_right) = pieces.split(at);
    let (fronts_left, fronts_right) = fronts.split(left.total[0]);
    let (ends_left, ends_right) = ends.split(left.total[1]);
    task.fork(
        move |task| gather(task, left, grain, [pieces_left, fronts_left, ends_left]),
        move |task| gather(task, right, grain, [pieces_right, fronts_right, ends_right]),
        |task, [pieces, fronts, ends], [more_pieces, more_fronts, more_ends]| {
            task.end([pieces.rejoin(more_pieces), fronts.rejoin(more_fronts), ends.rejoin(more_ends)])
        },
    )
}

/// Combines `leaf` of pieces of at most `grain` indices, in order.
pub(crate) fn map_reduce<'w, 'e, R, L, C, K>(
    task: Task<'w, 'e, R, K>,
    range: Range<usize>,
    grain: usize,
    leaf: L,
    combine: C,
) -> Ended<'w>
where
    R: Send + 'e,
    L: Fn(Range<usize>) -> R + Copy + Send + 'e,
    C: Fn(R, R) -> R + Copy + Send + 'e,
    K: Discipline,
{
    if range.len() <= grain {
        return task.end(leaf(range));
    }
    let middle = range.start + range.len() / 2;
    task.fork(
        move |task| map_reduce(task, range.start..middle, grain, leaf, combine),
        move |task| map_reduce(task, middle..range.end, grain, leaf, combine),
        move |task, left, right| task.end(combine(left, right)),
    )
}
