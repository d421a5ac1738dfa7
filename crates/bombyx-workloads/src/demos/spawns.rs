//! Many small closures spawned by one loop: what a spawn costs.

use super::{Demo, Program};
use crate::Checksum;
use crate::inputs::mix;
use crate::workload::ensure;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub(super) const SPAWNS: Program = Program {
    name: "spawns",
    about: "one scope, one loop, a hundred thousand spawns",
    prepare: |size, seed| {
        let cells = (0..size.pick(1000, 100_000, 1_000_000)).map(|_| AtomicU64::new(0)).collect();
        Box::new(Spawns { seed, cells })
    },
};

struct Spawns {
    seed: u64,
    cells: Vec<AtomicU64>,
}

impl Demo for Spawns {
    fn reset(&mut self) {
        self.cells.iter().for_each(|cell| cell.store(0, Relaxed));
    }

    fn compute(&mut self) {
        let seed = self.seed;
        rayon::scope(|scope| {
            for (i, cell) in (0..).zip(&self.cells) {
                scope.spawn(move |_| cell.store(mix(seed ^ i), Relaxed));
            }
        });
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.cells.iter().map(|cell| cell.load(Relaxed)))
    }

    fn check(&self) -> Result<(), String> {
        let missing = (0..).zip(&self.cells).find(|(i, cell)| cell.load(Relaxed) != mix(self.seed ^ i));
        ensure(missing.is_none(), || format!("closure {} has not run", missing.map_or(0, |(i, _)| i)))
    }
}
