//! The shortest round trip by branch and bound: every city that a trip may go to next is a spawn of a scope, down to a
//! depth, and the best length so far is shared. How much is searched depends on what is found first; the length of the
//! shortest trip does not.

use super::{Demo, Program};
use crate::Checksum;
use crate::inputs::Rng;
use crate::workload::ensure;
use rayon::Scope;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub(super) const TSP: Program = Program {
    name: "tsp",
    about: "shortest round trip by branch and bound, a scope with nested spawns",
    prepare: |size, seed| {
        let cities = size.pick(8, 13, 16);
        let mut rng = Rng::new(seed);
        let places: Vec<(f64, f64)> = (0..cities).map(|_| (rng.unit() * 1e6, rng.unit() * 1e6)).collect();
        let distance =
            |a: (f64, f64), b: (f64, f64)| ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)).sqrt() as u64;
        let ways = places.iter().map(|&a| places.iter().map(|&b| distance(a, b)).collect()).collect();
        Box::new(Tsp { map: Map { ways }, best: AtomicU64::new(u64::MAX) })
    },
};

/// Trips with fewer open cities than this are searched without further spawns.
const SERIAL: u32 = 6;

struct Map {
    ways: Vec<Vec<u64>>,
}

struct Tsp {
    map: Map,
    best: AtomicU64,
}

/// A trip from city 0 that has come to `city`.
#[derive(Clone, Copy)]
struct Trip {
    city: usize,
    /// The cities that are still open, one bit each.
    open: u32,
    length: u64,
}

impl Map {
    fn start(&self) -> Trip {
        Trip { city: 0, open: (1 << self.ways.len()) - 2, length: 0 }
    }

    /// The trips that go one city further.
    fn next(&self, trip: Trip) -> impl Iterator<Item = Trip> {
        (0..self.ways.len()).filter(move |city| trip.open >> city & 1 == 1).map(move |city| Trip {
            city,
            open: trip.open & !(1 << city),
            length: trip.length + self.ways[trip.city][city],
        })
    }

    /// No round trip that begins like this one is shorter: every city that has yet to be left is left by its shortest
    /// way to one that has yet to be reached.
    fn at_least(&self, trip: Trip) -> u64 {
        let reachable = trip.open | 1;
        let shortest = |from: usize| {
            let ways = self.ways[from].iter().enumerate();
            ways.filter(|&(to, _)| to != from && reachable >> to & 1 == 1)
                .map(|(_, &way)| way)
                .min()
                .unwrap_or(0)
        };
        let open = (0..self.ways.len()).filter(|city| trip.open >> city & 1 == 1);
        trip.length + shortest(trip.city) + open.map(shortest).sum::<u64>()
    }
}

fn search_serially(map: &Map, best: &AtomicU64, trip: Trip) {
    if trip.open == 0 {
        best.fetch_min(trip.length + map.ways[trip.city][0], Relaxed);
    } else if map.at_least(trip) < best.load(Relaxed) {
        map.next(trip).for_each(|trip| search_serially(map, best, trip));
    }
}

fn search<'scope>(scope: &Scope<'scope>, map: &'scope Map, best: &'scope AtomicU64, trip: Trip) {
    if trip.open.count_ones() < SERIAL {
        search_serially(map, best, trip);
    } else if map.at_least(trip) < best.load(Relaxed) {
        for trip in map.next(trip) {
            scope.spawn(move |scope| search(scope, map, best, trip));
        }
    }
}

impl Demo for Tsp {
    fn reset(&mut self) {
        self.best = AtomicU64::new(u64::MAX);
    }

    fn compute(&mut self) {
        rayon::scope(|scope| search(scope, &self.map, &self.best, self.map.start()));
    }

    fn checksum(&self) -> Checksum {
        Checksum::of([self.best.load(Relaxed)])
    }

    /// Held and Karp: the shortest way through every set of cities to each of its members, sets in ascending order.
    fn check(&self) -> Result<(), String> {
        let ways = &self.map.ways;
        let others = ways.len() - 1;
        let mut shortest = vec![vec![u64::MAX; others]; 1 << others];
        for set in 1usize..1 << others {
            for last in (0..others).filter(|last| set >> last & 1 == 1) {
                let before = set & !(1 << last);
                shortest[set][last] = if before == 0 {
                    ways[0][last + 1]
                } else {
                    let via = (0..others).filter(|via| before >> via & 1 == 1);
                    via.map(|via| shortest[before][via] + ways[via + 1][last + 1]).min().unwrap_or(u64::MAX)
                };
            }
        }
        let expected = (0..others).map(|last| shortest[(1 << others) - 1][last] + ways[last + 1][0]).min();
        let found = self.best.load(Relaxed);
        ensure(expected == Some(found), || format!("the trip is {found} long instead of {expected:?}"))
    }
}
