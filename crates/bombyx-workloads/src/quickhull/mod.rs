//! The convex hull of points in the plane by Quickhull, as in the Problem Based Benchmark Suite: find the point
//! farthest from a line, drop what lies inside the triangle, recurse on both sides.

use crate::inputs::points;
use crate::workload::{Bound, Checksum, Entry, Grain, Kernel, Prepared, Suite, ensure, prepared};
use crate::{Fork, Par, Serial};

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
    prepared(Quickhull { points, grain: grain.pick(4096, 32), hull: Vec::new() })
}

type Point = [f64; 2];

struct Quickhull {
    points: Vec<Point>,
    /// Points in a serial piece.
    grain: usize,
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

    fn hull<F: Fork>(&self, fork: &mut F) -> Vec<u32> {
        let n = self.points.len();
        let leftmost = |a: u32, b: u32| if self.at(b) < self.at(a) { b } else { a };
        let rightmost = |a: u32, b: u32| if self.at(b) > self.at(a) { b } else { a };
        let (left, right) = fork.map_reduce(
            0..n,
            self.grain,
            &|range| {
                let first = range.start as u32;
                range.fold((first, first), |(l, r), i| (leftmost(l, i as u32), rightmost(r, i as u32)))
            },
            &|(l1, r1), (l2, r2)| (leftmost(l1, l2), rightmost(r1, r2)),
        );
        let (a, b) = (self.at(left), self.at(right));
        let side = |fork: &mut F, from: Point, to: Point| {
            fork.pack(n, self.grain, &|range, out: &mut Vec<u32>| {
                out.extend(range.filter(|&i| area(from, to, self.points[i]) > 0.0).map(|i| i as u32));
            })
        };
        let (above, below) = fork.join(|fork| side(fork, a, b), |fork| side(fork, b, a));
        let (top, bottom) = fork
            .join(|fork| self.chain(fork, &above, left, right), |fork| self.chain(fork, &below, right, left));
        [vec![left], top, vec![right], bottom].concat()
    }

    /// The corners strictly between `from` and `to`, given the candidates left of that line.
    fn chain<F: Fork>(&self, fork: &mut F, candidates: &[u32], from: u32, to: u32) -> Vec<u32> {
        if candidates.len() <= self.grain {
            self.split(&mut Serial, candidates, from, to)
        } else {
            self.split(fork, candidates, from, to)
        }
    }

    fn split<F: Fork>(&self, fork: &mut F, candidates: &[u32], from: u32, to: u32) -> Vec<u32> {
        if candidates.len() <= 1 {
            return candidates.to_vec();
        }
        let (a, b) = (self.at(from), self.at(to));
        let (_, farthest) = fork.map_reduce(
            0..candidates.len(),
            self.grain,
            &|range| {
                let areas = candidates[range].iter().map(|&i| (area(a, b, self.at(i)), i));
                areas.fold(
                    (f64::NEG_INFINITY, u32::MAX),
                    |best, next| if next.0 > best.0 { next } else { best },
                )
            },
            &|x, y| if y.0 > x.0 { y } else { x },
        );
        let p = self.at(farthest);
        let (first, second) = fork.join(
            |fork| fork.filter(candidates, self.grain, &|&i| area(a, p, self.at(i)) > 0.0),
            |fork| fork.filter(candidates, self.grain, &|&i| area(p, b, self.at(i)) > 0.0),
        );
        let (mut hull, rest) = fork.join(
            |fork| self.chain(fork, &first, from, farthest),
            |fork| self.chain(fork, &second, farthest, to),
        );
        hull.push(farthest);
        hull.extend(rest);
        hull
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
        self.hull = Search { points: &self.points, grain: self.grain }.hull(fork);
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
