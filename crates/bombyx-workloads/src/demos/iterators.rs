//! What rayon itself has: its two sorts, and the shapes of parallel iterators that programs consist of.

use super::{Demo, Program, check_sorted};
use crate::inputs::{mix, sequences};
use crate::workload::ensure;
use crate::{Checksum, Size};
use rayon::prelude::*;

pub(super) const SORT: Program = Program {
    name: "sort",
    about: "par_sort of 32-bit integers",
    prepare: |size, seed| Box::new(Sort::new(size, seed, |data| data.par_sort())),
};

pub(super) const SORT_UNSTABLE: Program = Program {
    name: "sort-unstable",
    about: "par_sort_unstable of 32-bit integers",
    prepare: |size, seed| Box::new(Sort::new(size, seed, |data| data.par_sort_unstable())),
};

pub(super) const MAP_SUM: Program = Program {
    name: "map-sum",
    about: "par_iter().map().sum() over a slice",
    prepare: |size, seed| {
        Box::new(Fold::new(size, seed, |data| data.par_iter().map(|&x| mix(u64::from(x)) >> 32).sum()))
    },
};

pub(super) const PAR_CHUNKS: Program = Program {
    name: "par-chunks",
    about: "par_chunks(1000): one number for each chunk, then their sum",
    prepare: |size, seed| {
        let fold = |data: &[u32]| {
            let chunk = |chunk: &[u32]| chunk.iter().map(|&x| mix(u64::from(x)) >> 32).sum::<u64>();
            data.par_chunks(1000).map(chunk).sum()
        };
        Box::new(Fold::new(size, seed, fold))
    },
};

pub(super) const PAR_BRIDGE: Program = Program {
    name: "par-bridge",
    about: "a serial iterator over chunks, par_bridge().map().sum()",
    prepare: |size, seed| {
        let fold = |data: &[u32]| {
            let chunk = |chunk: &[u32]| chunk.iter().map(|&x| mix(u64::from(x)) >> 32).sum::<u64>();
            data.chunks(1000).par_bridge().map(chunk).sum()
        };
        Box::new(Fold::new(size, seed, fold))
    },
};

pub(super) const COLLECT: Program = Program {
    name: "collect",
    about: "into_par_iter().map().collect() of a range into a vector",
    prepare: |size, seed| {
        Box::new(Collect { count: size.pick(1000, 1 << 20, 1 << 23), seed, result: Vec::new() })
    },
};

struct Sort {
    input: Vec<u32>,
    data: Vec<u32>,
    sort: fn(&mut [u32]),
}

impl Sort {
    fn new(size: Size, seed: u64, sort: fn(&mut [u32])) -> Sort {
        let input = sequences::random_u32(size.pick(30_000, 500_000, 4_000_000), seed);
        Sort { data: input.clone(), input, sort }
    }
}

impl Demo for Sort {
    fn reset(&mut self) {
        self.data.copy_from_slice(&self.input);
    }

    fn compute(&mut self) {
        (self.sort)(&mut self.data);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.data.iter().map(|&x| u64::from(x)))
    }

    fn check(&self) -> Result<(), String> {
        check_sorted(&self.input, &self.data)
    }
}

/// The sum of the upper halves of the hashes of all numbers, computed in some way.
struct Fold {
    data: Vec<u32>,
    fold: fn(&[u32]) -> u64,
    result: u64,
}

impl Fold {
    fn new(size: Size, seed: u64, fold: fn(&[u32]) -> u64) -> Fold {
        Fold { data: sequences::random_u32(size.pick(10_000, 4_000_000, 32_000_000), seed), fold, result: 0 }
    }
}

impl Demo for Fold {
    fn compute(&mut self) {
        self.result = (self.fold)(&self.data);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of([self.result])
    }

    fn check(&self) -> Result<(), String> {
        let expected: u64 = self.data.iter().map(|&x| mix(u64::from(x)) >> 32).sum();
        ensure(self.result == expected, || format!("the sum is {} instead of {expected}", self.result))
    }
}

struct Collect {
    count: u64,
    seed: u64,
    result: Vec<u64>,
}

impl Demo for Collect {
    fn reset(&mut self) {
        self.result = Vec::new();
    }

    fn compute(&mut self) {
        let seed = self.seed;
        self.result = (0..self.count).into_par_iter().map(|i| mix(seed ^ i)).collect();
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.result.iter().copied())
    }

    fn check(&self) -> Result<(), String> {
        let right = self.result.iter().zip(0..).all(|(&found, i)| found == mix(self.seed ^ i));
        ensure(right && self.result.len() as u64 == self.count, || {
            "an element is missing or wrong".to_string()
        })
    }
}
