//! Quicksort: a serial partition, then `join` on both sides. The first partition is the span.

use super::{Demo, Program, check_sorted};
use crate::Checksum;
use crate::inputs::sequences;
use crate::partition::partition;

pub(super) const QUICKSORT: Program = Program {
    name: "quicksort",
    about: "serial partitions, join on both sides",
    prepare: |size, seed| {
        let input = sequences::random_u32(size.pick(10_000, 500_000, 4_000_000), seed);
        Box::new(Quicksort { data: input.clone(), input })
    },
};

/// Where textbooks change to insertion sort. Forks are not thinned out any further.
const SERIAL: usize = 20;

struct Quicksort {
    input: Vec<u32>,
    data: Vec<u32>,
}

fn quicksort(data: &mut [u32]) {
    if data.len() <= SERIAL {
        data.sort_unstable();
        return;
    }
    let middle = partition(data, |a, b| a < b);
    let (left, right) = data.split_at_mut(middle);
    rayon::join(|| quicksort(left), || quicksort(&mut right[1..]));
}

impl Demo for Quicksort {
    fn reset(&mut self) {
        self.data.copy_from_slice(&self.input);
    }

    fn compute(&mut self) {
        quicksort(&mut self.data);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.data.iter().map(|&x| u64::from(x)))
    }

    fn check(&self) -> Result<(), String> {
        check_sorted(&self.input, &self.data)
    }
}
