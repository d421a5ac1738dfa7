//! The search in continuation-passing style.

use super::{Divided, Point, Search, farther, farthest};
use crate::Serial;
use crate::continuations::{Tally, gather, halves, map_reduce};
use bombyx_rw::{Discipline, Ended, Slice, Task};

type Indices<'e> = Slice<'e, u32>;

/// What is sorted out: all points from a number on, or some of them.
enum Candidates<'e> {
    From(u32),
    Some(Indices<'e>),
}

impl<'e> Candidates<'e> {
    fn at(&self, i: usize) -> u32 {
        match self {
            Candidates::From(first) => first + i as u32,
            Candidates::Some(indices) => indices[i],
        }
    }

    fn split(self, at: usize) -> [Candidates<'e>; 2] {
        match self {
            Candidates::From(first) => [Candidates::From(first), Candidates::From(first + at as u32)],
            Candidates::Some(indices) => {
                let (left, right) = indices.split(at);
                [Candidates::Some(left), Candidates::Some(right)]
            }
        }
    }

    fn rejoin(self, right: Candidates<'e>) -> Candidates<'e> {
        match (self, right) {
            (Candidates::Some(left), Candidates::Some(right)) => Candidates::Some(left.rejoin(right)),
            (left, _) => left,
        }
    }
}

/// Candidates and the room of as many.
type Sorted<'e> = (Candidates<'e>, Indices<'e>, Tally);

/// Candidates on one side of a line, and as much room.
type Side<'e> = [Indices<'e>; 2];

impl<'e> Search<'e> {
    /// The whole hull.
    pub(super) fn hull_in_continuations<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, Vec<u32>, K>,
        candidates: Indices<'e>,
        room: Indices<'e>,
    ) -> Ended<'w> {
        task.call(
            move |task| {
                let leaf = move |range| self.extremes(range);
                map_reduce(task, 0..self.points.len(), self.grain, leaf, move |a, b| self.outer(a, b))
            },
            move |task, (left, right)| {
                let (a, b) = (self.at(left), self.at(right));
                task.call(
                    move |task| self.sort_out_from(task, Candidates::From(0), [[a, b], [b, a]], room),
                    move |task, (_, room, tally)| {
                        task.call(
                            move |task| self.two_chains(task, tally, [candidates, room], [left, right, left]),
                            move |task, [top, bottom]| {
                                task.end([vec![left], top, vec![right], bottom].concat())
                            },
                        )
                    },
                )
            },
        )
    }

    /// Like [`Search::sort_out`]: those left of the first line go to the front of their piece of the room, those left
    /// of the second to its end.
    fn sort_out_from<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, Sorted<'e>, K>,
        candidates: Candidates<'e>,
        lines: [[Point; 2]; 2],
        mut room: Indices<'e>,
    ) -> Ended<'w> {
        let Some(half) = halves(room.len(), self.grain) else {
            let counts = self.sort_out_piece(|i| candidates.at(i), lines, &mut room);
            return task.end((candidates, room, Tally::leaf(counts)));
        };
        let [left, right] = candidates.split(half);
        let (room_left, room_right) = room.split(half);
        task.fork(
            move |task| self.sort_out_from(task, left, lines, room_left),
            move |task| self.sort_out_from(task, right, lines, room_right),
            |task, (left, room_left, tally), (right, room_right, more)| {
                task.end((left.rejoin(right), room_left.rejoin(room_right), Tally::join(tally, more)))
            },
        )
    }

    /// Brings together what was sorted out, divides both arrays accordingly, and finds the corners strictly between the
    /// three, on two sides.
    fn two_chains<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, [Vec<u32>; 2], K>,
        tally: Tally,
        [candidates, room]: Side<'e>,
        [from, over, to]: [u32; 3],
    ) -> Ended<'w> {
        let [first, second] = tally.total;
        let (left, rest) = candidates.split(first);
        let (right, _) = rest.split(second);
        task.call(
            move |task| gather(task, tally, self.grain, [room, left, right]),
            move |task, [room, left, right]| {
                let (left_room, rest) = room.split(first);
                let (right_room, _) = rest.split(second);
                task.fork(
                    move |task| self.chain_in_continuations(task, [left, left_room], from, over),
                    move |task| self.chain_in_continuations(task, [right, right_room], over, to),
                    |task, first, second| task.end([first, second]),
                )
            },
        )
    }

    /// The corners strictly between `from` and `to`, given the candidates left of that line.
    fn chain_in_continuations<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, Vec<u32>, K>,
        [mut candidates, mut room]: Side<'e>,
        from: u32,
        to: u32,
    ) -> Ended<'w> {
        if candidates.len() <= self.grain {
            let left = Divided { candidates: &mut candidates, room: &mut room };
            return task.end(self.split(&mut Serial, left, from, to));
        }
        let (a, b) = (self.at(from), self.at(to));
        task.call(
            move |task| self.farthest_from(task, candidates, [a, b]),
            move |task, (candidates, (_, far))| {
                let p = self.at(far);
                task.call(
                    move |task| {
                        self.sort_out_from(task, Candidates::Some(candidates), [[a, p], [p, b]], room)
                    },
                    move |task, (candidates, room, tally)| {
                        let Candidates::Some(candidates) = candidates else {
                            unreachable!("some candidates stay some")
                        };
                        task.call(
                            move |task| self.two_chains(task, tally, [candidates, room], [from, far, to]),
                            move |task, [mut hull, rest]| {
                                hull.push(far);
                                hull.extend(rest);
                                task.end(hull)
                            },
                        )
                    },
                )
            },
        )
    }

    /// The candidate that is farthest from a line.
    fn farthest_from<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, (Indices<'e>, (f64, u32)), K>,
        candidates: Indices<'e>,
        line: [Point; 2],
    ) -> Ended<'w> {
        if candidates.len() <= self.grain {
            let far = farthest(&self, &candidates, line);
            return task.end((candidates, far));
        }
        let half = candidates.len() / 2;
        let (left, right) = candidates.split(half);
        task.fork(
            move |task| self.farthest_from(task, left, line),
            move |task| self.farthest_from(task, right, line),
            |task, (left, x), (right, y)| task.end((left.rejoin(right), farther(x, y))),
        )
    }
}
