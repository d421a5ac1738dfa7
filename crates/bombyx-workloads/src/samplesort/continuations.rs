//! The sort in continuation-passing style.

use super::{cut_at, fill_bucket, partition_of, partitions_of, sort_serially, splitters};
use crate::continuations::halves;
use bombyx_rw::{Discipline, Ended, Pool, Slice, Task};
use std::sync::OnceLock;

type Part<'e> = Slice<'e, f64>;

/// Where the buckets start in each block, and how large the buckets are.
struct Cuts {
    of_blocks: Vec<Vec<u32>>,
    sizes: Vec<usize>,
}

/// What all branches read.
#[derive(Clone, Copy)]
struct Sort<'e> {
    block: usize,
    serial: usize,
    splitters: &'e [f64],
    /// Made when the blocks are sorted.
    cuts: &'e OnceLock<Cuts>,
}

/// Sorts `data`, using `blocks` as a buffer of the same length.
pub(super) fn sort<K: Discipline>(
    pool: &mut Pool<K>,
    data: &mut [f64],
    blocks: &mut [f64],
    block: usize,
    serial: usize,
) {
    let buckets = data.len().div_ceil(block);
    if buckets <= 1 {
        return pool.run(|task| {
            let data = Slice::from(data);
            task.call(move |task| quicksort(task, data, serial), |task, _| task.end(()))
        });
    }
    let (splitters, cuts) = (splitters(data, buckets), OnceLock::new());
    let sort = Sort { block, serial, splitters: &splitters, cuts: &cuts };
    pool.run(|task| {
        let parts = [Slice::from(data), Slice::from(blocks)];
        task.call(
            move |task| sort.blocks(task, parts),
            move |task, ([data, blocks], of_blocks)| {
                let size = |b: usize| of_blocks.iter().map(|cut| (cut[b + 1] - cut[b]) as usize).sum();
                let sizes = (0..buckets).map(size).collect();
                let cuts = sort.cuts.get_or_init(|| Cuts { of_blocks, sizes });
                task.call(
                    move |task| sort.buckets(task, cuts, blocks.share(), 0..buckets, data),
                    |task, _| task.end(()),
                )
            },
        )
    });
}

type Blocks<'e> = ([Part<'e>; 2], Vec<Vec<u32>>);

impl<'e> Sort<'e> {
    /// Sorts each block into the buffer, and says where it must be cut.
    fn blocks<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, Blocks<'e>, K>,
        [data, mut blocks]: [Part<'e>; 2],
    ) -> Ended<'w> {
        let Some(half) = halves(data.len(), self.block) else {
            blocks.copy_from_slice(&data);
            return task.call(
                move |task| quicksort(task, blocks, self.serial),
                move |task, blocks| {
                    let mut cuts = vec![0; self.splitters.len() + 2];
                    cut_at(&blocks, self.splitters, &mut cuts);
                    task.end(([data, blocks], vec![cuts]))
                },
            );
        };
        let ((data0, data1), (blocks0, blocks1)) = (data.split(half), blocks.split(half));
        task.fork(
            move |task| self.blocks(task, [data0, blocks0]),
            move |task| self.blocks(task, [data1, blocks1]),
            |task, ([data0, blocks0], mut cuts), ([data1, blocks1], more)| {
                cuts.extend(more);
                task.end(([data0.rejoin(data1), blocks0.rejoin(blocks1)], cuts))
            },
        )
    }

    /// Fills and sorts the buckets.
    fn buckets<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, Part<'e>, K>,
        cuts: &'e Cuts,
        blocks: &'e [f64],
        range: std::ops::Range<usize>,
        mut out: Part<'e>,
    ) -> Ended<'w> {
        if range.len() == 1 {
            fill_bucket(blocks, self.block, &cuts.of_blocks, range.start, &mut out);
            return quicksort(task, out, self.serial);
        }
        let middle = range.start + range.len() / 2;
        let (left, right) = out.split(cuts.sizes[range.start..middle].iter().sum());
        task.fork(
            move |task| self.buckets(task, cuts, blocks, range.start..middle, left),
            move |task| self.buckets(task, cuts, blocks, middle..range.end, right),
            |task, left, right| task.end(left.rejoin(right)),
        )
    }
}

/// Sorts by partitioning until stretches are at most `serial` long.
fn quicksort<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Part<'e>, K>,
    data: Part<'e>,
    serial: usize,
) -> Ended<'w> {
    let partitions = partitions_of(&data);
    parted(task, data, serial, partitions)
}

/// With this many partitions left.
fn parted<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Part<'e>, K>,
    mut data: Part<'e>,
    serial: usize,
    partitions: u32,
) -> Ended<'w> {
    if data.len() <= serial.max(1) || partitions == 0 {
        sort_serially(&mut data);
        return task.end(data);
    }
    let middle = partition_of(&mut data);
    let (left, rest) = data.split(middle);
    let (pivot, right) = rest.split(1);
    task.fork(
        move |task| parted(task, left, serial, partitions - 1),
        move |task| parted(task, right, serial, partitions - 1),
        move |task, left, right| task.end(left.rejoin(pivot).rejoin(right)),
    )
}
