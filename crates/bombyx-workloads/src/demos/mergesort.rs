//! Mergesort with parallel merges: both the halves and the merges are joins, so the span is polylogarithmic.

use super::{Demo, Program, check_sorted};
use crate::Checksum;
use crate::inputs::sequences;

pub(super) const MERGESORT: Program = Program {
    name: "mergesort",
    about: "join on the halves, and merges that split at a median",
    prepare: |size, seed| {
        let input = sequences::random_u32(size.pick(10_000, 500_000, 4_000_000), seed);
        Box::new(Mergesort { data: input.clone(), other: input.clone(), input })
    },
};

/// The longest piece that is sorted serially.
const SORT: usize = 32;
/// The most elements that are merged serially.
const MERGE: usize = 256;

struct Mergesort {
    input: Vec<u32>,
    data: Vec<u32>,
    other: Vec<u32>,
}

/// Sorts `data`. The result is in `data` or in `other`, as `stay` says.
fn mergesort(data: &mut [u32], other: &mut [u32], stay: bool) {
    if data.len() <= SORT {
        data.sort_unstable();
        if !stay {
            other.copy_from_slice(data);
        }
        return;
    }
    let middle = data.len() / 2;
    let (data_left, data_right) = data.split_at_mut(middle);
    let (other_left, other_right) = other.split_at_mut(middle);
    rayon::join(|| mergesort(data_left, other_left, !stay), || mergesort(data_right, other_right, !stay));
    if stay {
        merge(other_left, other_right, data);
    } else {
        merge(data_left, data_right, other);
    }
}

/// Merges two sorted slices into `into`. The longer one is halved, and the other is split where the middle belongs.
fn merge(a: &[u32], b: &[u32], into: &mut [u32]) {
    if into.len() <= MERGE {
        return merge_serially(a, b, into);
    }
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let (long_left, long_right) = long.split_at(long.len() / 2);
    let (short_left, short_right) = short.split_at(short.partition_point(|&x| x < long_right[0]));
    let (left, right) = into.split_at_mut(long_left.len() + short_left.len());
    rayon::join(|| merge(long_left, short_left, left), || merge(long_right, short_right, right));
}

fn merge_serially(a: &[u32], b: &[u32], into: &mut [u32]) {
    let (mut i, mut j) = (0, 0);
    for slot in into {
        let from_a = j == b.len() || (i < a.len() && a[i] <= b[j]);
        *slot = if from_a { a[i] } else { b[j] };
        i += usize::from(from_a);
        j += usize::from(!from_a);
    }
}

impl Demo for Mergesort {
    fn reset(&mut self) {
        self.data.copy_from_slice(&self.input);
    }

    fn compute(&mut self) {
        mergesort(&mut self.data, &mut self.other, true);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.data.iter().map(|&x| u64::from(x)))
    }

    fn check(&self) -> Result<(), String> {
        check_sorted(&self.input, &self.data)
    }
}
