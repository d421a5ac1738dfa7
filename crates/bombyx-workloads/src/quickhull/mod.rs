//! The convex hull of points in the plane by Quickhull, as in the Problem Based Benchmark Suite: find the point
//! farthest from a line, drop what lies inside the triangle, recurse on both sides. Candidates stay in one array and move
//! within it, by way of a second one, so that a run allocates next to nothing.

mod continuations;

use std::ops::Range;

use crate::inputs::points;
use crate::workload::{Bound, Checksum, Entry, Grain, Kernel, Prepared, Suite, ensure, prepared};
use crate::{Fork, Par, Serial};
use bombyx_rw::{Discipline, Pool};

pub(crate) static UNIFORM: Entry = Entry {
    name: "quickhull-uniform",
    about: "convex hull of points uniform in a disc",
    suite: Suite::ReadWrite,
    bound: Bound::Memory,
    prepare: |size, grain, seed| {
        prepare(points::uniform(size.pick(5000, 10_000_000, 40_000_000), seed), grain)
    },
};

pub(crate) static PLUMMER: Entry = Entry {
    name: "quickhull-plummer",
    about: "convex hull of points after Plummer's model",
    suite: Suite::ReadWrite,
    bound: Bound::Memory,
    prepare: |size, grain, seed| {
        prepare(points::plummer(size.pick(5000, 25_000_000, 60_000_000), seed), grain)
    },
};

fn prepare(points: Vec<Point>, grain: Grain) -> Box<dyn Prepared> {
    let n = points.len();
    prepared(Quickhull {
        points,
        grain: grain.pick(4096, 32),
        candidates: vec![0; n],
        room: vec![0; n],
        hull: Vec::new(),
    })
}

type Point = [f64; 2];

struct Quickhull {
    points: Vec<Point>,
    /// Points in a serial piece.
    grain: usize,
    /// Indices of the points that are left.
    candidates: Vec<u32>,
    /// As many, for moving them.
    room: Vec<u32>,
    /// Indices of the hull's corners, clockwise from the leftmost.
    hull: Vec<u32>,
}

/// Twice the area of the triangle `a`, `b`, `p`: positive if `p` lies left of the line from `a` to `b`.
#[inline]
fn area(a: Point, b: Point, p: Point) -> f64 {
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}

/// Points and grain of one run.
#[derive(Clone, Copy)]
struct Search<'a> {
    points: &'a [Point],
    grain: usize,
}

impl Search<'_> {
    fn at(&self, index: u32) -> Point {
        self.points[index as usize]
    }

    /// The leftmost and the rightmost of some points.
    fn extremes(&self, range: Range<usize>) -> (u32, u32) {
        let first = range.start as u32;
        range.fold((first, first), |ends, i| self.outer(ends, (i as u32, i as u32)))
    }

    /// The leftmost and the rightmost of two pairs.
    #[inline]
    fn outer(&self, (l1, r1): (u32, u32), (l2, r2): (u32, u32)) -> (u32, u32) {
        let left = if self.at(l2) < self.at(l1) { l2 } else { l1 };
        (left, if self.at(r2) > self.at(r1) { r2 } else { r1 })
    }

    fn hull<F: Fork>(&self, fork: &mut F, candidates: &mut [u32], room: &mut [u32]) -> Vec<u32> {
        let n = self.points.len();
        let (left, right) =
            fork.map_reduce(0..n, self.grain, &|range| self.extremes(range), &|a, b| self.outer(a, b));
        let (a, b) = (self.at(left), self.at(right));
        let counts = self.sort_out(fork, &|i| i as u32, [[a, b], [b, a]], room);
        let [above, below] = self.collect(fork, &counts, candidates, room);
        let (top, bottom) = fork
            .join(|fork| self.chain(fork, above, left, right), |fork| self.chain(fork, below, right, left));
        [vec![left], top, vec![right], bottom].concat()
    }

    /// Looks at as many candidates as there is room, in pieces. Those left of the first line go to the front of their
    /// piece of the room, and those left of the second to its end. Returns how many there are of both in each piece.
    fn sort_out<F: Fork>(
        &self,
        fork: &mut F,
        candidate: &(impl Fn(usize) -> u32 + Sync),
        [first, second]: [[Point; 2]; 2],
        room: &mut [u32],
    ) -> Vec<[usize; 2]> {
        let mut counts = vec![[0; 2]; room.len().div_ceil(self.grain)];
        fork.for_chunks2((room, self.grain), (&mut counts, 1), &|_, k, room, counts: &mut [[usize; 2]]| {
            counts[0] = self.sort_out_piece(|i| candidate(k * self.grain + i), [first, second], room);
        });
        counts
    }

    /// Sorts out one piece.
    fn sort_out_piece(
        &self,
        candidate: impl Fn(usize) -> u32,
        [first, second]: [[Point; 2]; 2],
        room: &mut [u32],
    ) -> [usize; 2] {
        let (mut front, mut back) = (0, room.len());
        for i in 0..room.len() {
            let index = candidate(i);
            let point = self.at(index);
            if area(first[0], first[1], point) > 0.0 {
                room[front] = index;
                front += 1;
            } else if area(second[0], second[1], point) > 0.0 {
                back -= 1;
                room[back] = index;
            }
        }
        [front, room.len() - back]
    }

    /// Brings together what was sorted out, and divides both arrays accordingly.
    fn collect<'a, F: Fork>(
        &self,
        fork: &mut F,
        counts: &[[usize; 2]],
        candidates: &'a mut [u32],
        room: &'a mut [u32],
    ) -> [Divided<'a>; 2] {
        let [first, second] = total(counts);
        let (left, rest) = candidates.split_at_mut(first);
        let (right, _) = rest.split_at_mut(second);
        gather(fork, room, self.grain, counts, left, right);
        let (left_room, rest) = room.split_at_mut(first);
        let (right_room, _) = rest.split_at_mut(second);
        [Divided { candidates: left, room: left_room }, Divided { candidates: right, room: right_room }]
    }

    /// The corners strictly between `from` and `to`, given the candidates left of that line.
    fn chain<F: Fork>(&self, fork: &mut F, left: Divided<'_>, from: u32, to: u32) -> Vec<u32> {
        if left.candidates.len() <= self.grain {
            self.split(&mut Serial, left, from, to)
        } else {
            self.split(fork, left, from, to)
        }
    }

    fn split<F: Fork>(&self, fork: &mut F, left: Divided<'_>, from: u32, to: u32) -> Vec<u32> {
        let Divided { candidates, room } = left;
        if candidates.len() <= 1 {
            return candidates.to_vec();
        }
        let (a, b) = (self.at(from), self.at(to));
        let (_, far) = fork.map_reduce(
            0..candidates.len(),
            self.grain,
            &|range| farthest(self, &candidates[range], [a, b]),
            &farther,
        );
        let p = self.at(far);
        let counts = self.sort_out(fork, &|i| candidates[i], [[a, p], [p, b]], room);
        let [first, second] = self.collect(fork, &counts, candidates, room);
        let (mut hull, rest) =
            fork.join(|fork| self.chain(fork, first, from, far), |fork| self.chain(fork, second, far, to));
        hull.push(far);
        hull.extend(rest);
        hull
    }
}

/// Of some candidates the one that is farthest from a line, with the area that it spans.
fn farthest(search: &Search<'_>, candidates: &[u32], [a, b]: [Point; 2]) -> (f64, u32) {
    let areas = candidates.iter().map(|&i| (area(a, b, search.at(i)), i));
    areas.fold((f64::NEG_INFINITY, u32::MAX), farther)
}

/// The farther of two, the first if they are equal.
#[inline]
fn farther(x: (f64, u32), y: (f64, u32)) -> (f64, u32) {
    if y.0 > x.0 { y } else { x }
}

/// Candidates on one side of a line, and as much room.
struct Divided<'a> {
    candidates: &'a mut [u32],
    room: &'a mut [u32],
}

fn total(counts: &[[usize; 2]]) -> [usize; 2] {
    counts.iter().fold([0; 2], |sum, count| [sum[0] + count[0], sum[1] + count[1]])
}

/// Copies what lies at the front of each chunk of `size`, one after the other, and what lies at the end of each.
fn gather<F: Fork>(
    fork: &mut F,
    chunks: &[u32],
    size: usize,
    counts: &[[usize; 2]],
    fronts: &mut [u32],
    ends: &mut [u32],
) {
    match *counts {
        [] => {}
        [[front, end]] => {
            fronts.copy_from_slice(&chunks[..front]);
            ends.copy_from_slice(&chunks[chunks.len() - end..]);
        }
        _ => {
            let half = counts.len() / 2;
            let (left, right) = counts.split_at(half);
            let (chunks_left, chunks_right) = chunks.split_at(half * size);
            let [front, end] = total(left);
            let (fronts_left, fronts_right) = fronts.split_at_mut(front);
            let (ends_left, ends_right) = ends.split_at_mut(end);
            fork.join(
                |fork| gather(fork, chunks_left, size, left, fronts_left, ends_left),
                |fork| gather(fork, chunks_right, size, right, fronts_right, ends_right),
            );
        }
    }
}

impl Kernel for Quickhull {
    fn input(&self) -> String {
        format!("{} points, {} a leaf", self.points.len(), self.grain)
    }

    fn reset(&mut self) {
        self.hull = Vec::new();
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let search = Search { points: &self.points, grain: self.grain };
        self.hull = search.hull(fork, &mut self.candidates, &mut self.room);
    }

    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        let search = Search { points: &self.points, grain: self.grain };
        let (candidates, room) = (&mut self.candidates[..], &mut self.room[..]);
        self.hull = pool.run(|task| search.hull_in_continuations(task, candidates.into(), room.into()));
        true
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.hull.iter().map(|i| u64::from(*i)))
    }

    fn check(&self) -> Result<(), String> {
        let corners: Vec<Point> = self.hull.iter().map(|i| self.points[*i as usize]).collect();
        ensure(corners.len() >= 3, || format!("a hull of {} points", corners.len()))?;
        let extent = self.points.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
        let tolerance = 1e-12 * extent * extent;
        for i in 0..corners.len() {
            let [a, b, c] = [0, 1, 2].map(|k| corners[(i + k) % corners.len()]);
            ensure(area(a, b, c) <= tolerance, || format!("the hull turns left at corner {i}"))?;
        }
        let right = (0..corners.len()).max_by(|&i, &j| corners[i][0].total_cmp(&corners[j][0])).unwrap_or(0);
        let top = &corners[..=right];
        let bottom: Vec<Point> = corners[right..].iter().chain(&corners[..1]).copied().collect();
        for (i, p) in self.points.iter().enumerate() {
            let over = top.partition_point(|c| c[0] < p[0]).clamp(1, top.len() - 1);
            let under = bottom.partition_point(|c| c[0] > p[0]).clamp(1, bottom.len() - 1);
            let outside = area(top[over - 1], top[over], *p).max(area(bottom[under - 1], bottom[under], *p));
            ensure(outside <= tolerance, || format!("point {i} lies outside of the hull"))?;
        }
        Ok(())
    }
}
