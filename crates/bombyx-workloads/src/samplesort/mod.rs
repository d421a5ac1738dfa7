//! Sample sort as in the Problem Based Benchmark Suite: sorts blocks, cuts each block at splitters drawn from a
//! sample, gathers what belongs to a bucket from all blocks, and sorts the buckets. Few rounds, and memory is
//! read in order. Blocks and buckets are sorted serially at medium grain, and by a quicksort that forks at fine grain.

mod continuations;

use crate::inputs::Rng;
use crate::inputs::sequences::{self, sorts};
use crate::partition::partition;
use crate::workload::{Checksum, Grain, Kernel, Prepared, Size, prepared};
use crate::{Fork, Par};
use bombyx_rw::{Discipline, Pool};

sorts!("samplesort", "sample sort", "doubles", prepare, sequences::random_f64, sequences::exponential_f64);

fn prepare(size: Size, grain: Grain, generate: impl Fn(usize) -> Vec<f64>) -> Box<dyn Prepared> {
    let input = generate(size.pick(8000, 12_000_000, 48_000_000));
    let n = input.len();
    let block = size.pick(500, 32_768, 32_768);
    let serial = grain.pick(usize::MAX, 8);
    prepared(Samplesort { data: input.clone(), input, blocks: vec![0.0; n], block, serial })
}

/// Sampled elements for each splitter that is kept.
const OVERSAMPLING: usize = 8;

struct Samplesort {
    input: Vec<f64>,
    data: Vec<f64>,
    /// The elements again, sorted within blocks.
    blocks: Vec<f64>,
    /// Elements in a block, and on average in a bucket.
    block: usize,
    /// Longest stretch that is sorted serially.
    serial: usize,
}

/// Sorts `data`, using `blocks` as a buffer of the same length.
fn sort<F: Fork>(fork: &mut F, data: &mut [f64], blocks: &mut [f64], block: usize, serial: usize) {
    let n = data.len();
    let buckets = n.div_ceil(block);
    if buckets <= 1 {
        return quicksort(fork, data, serial);
    }
    let splitters = splitters(data, buckets);

    // Where each bucket starts in each block, with the end of the block last.
    let mut cuts = vec![0u32; buckets * (buckets + 1)];
    {
        let data = &*data;
        fork.for_chunks2(
            (&mut *blocks, block),
            (&mut cuts, buckets + 1),
            &|fork: &mut F, k, sorted: &mut [f64], cuts: &mut [u32]| {
                sorted.copy_from_slice(&data[k * block..][..sorted.len()]);
                quicksort(fork, sorted, serial);
                cut_at(sorted, &splitters, cuts);
            },
        );
    }

    let cuts: Vec<&[u32]> = cuts.chunks(buckets + 1).collect();
    let sizes: Vec<usize> =
        (0..buckets).map(|b| cuts.iter().map(|cut| (cut[b + 1] - cut[b]) as usize).sum()).collect();
    gather(fork, 0, &sizes, data, &|fork: &mut F, bucket, out: &mut [f64]| {
        fill_bucket(blocks, block, &cuts, bucket, out);
        quicksort(fork, out, serial);
    });
}

/// Where each bucket starts in a sorted block, with the end of the block last.
fn cut_at(sorted: &[f64], splitters: &[f64], cuts: &mut [u32]) {
    let buckets = splitters.len() + 1;
    let mut at = 0;
    for (cut, splitter) in cuts[1..buckets].iter_mut().zip(splitters) {
        at += sorted[at..].partition_point(|x| x.total_cmp(splitter).is_lt());
        *cut = at as u32;
    }
    cuts[buckets] = sorted.len() as u32;
}

/// Copies what belongs to a bucket from all blocks.
fn fill_bucket<C: AsRef<[u32]>>(blocks: &[f64], block: usize, cuts: &[C], bucket: usize, out: &mut [f64]) {
    let mut filled = 0;
    for (sorted, cut) in blocks.chunks(block).zip(cuts) {
        let cut = cut.as_ref();
        let part = &sorted[cut[bucket] as usize..cut[bucket + 1] as usize];
        out[filled..filled + part.len()].copy_from_slice(part);
        filled += part.len();
    }
}

/// How many partitions a sort may make in a row: each should halve the stretch.
fn partitions_of(data: &[f64]) -> u32 {
    2 * data.len().max(1).ilog2()
}

fn partition_of(data: &mut [f64]) -> usize {
    partition(data, |a, b| a.total_cmp(b).is_lt())
}

fn sort_serially(data: &mut [f64]) {
    data.sort_unstable_by(f64::total_cmp);
}

/// Sorts by partitioning until stretches are at most `serial` long.
fn quicksort<F: Fork>(fork: &mut F, data: &mut [f64], serial: usize) {
    /// With this many partitions left.
    fn go<F: Fork>(fork: &mut F, data: &mut [f64], serial: usize, partitions: u32) {
        if data.len() <= serial.max(1) || partitions == 0 {
            return sort_serially(data);
        }
        let middle = partition_of(data);
        let (left, right) = data.split_at_mut(middle);
        fork.join(
            |fork| go(fork, left, serial, partitions - 1),
            |fork| go(fork, &mut right[1..], serial, partitions - 1),
        );
    }
    go(fork, data, serial, partitions_of(data));
}

/// `buckets - 1` values that cut `data` into about equal parts, in order.
fn splitters(data: &[f64], buckets: usize) -> Vec<f64> {
    let mut rng = Rng::new(data.len() as u64);
    let mut sample: Vec<f64> =
        (0..buckets * OVERSAMPLING).map(|_| data[rng.below(data.len() as u64) as usize]).collect();
    sample.sort_unstable_by(f64::total_cmp);
    (1..buckets).map(|b| sample[b * OVERSAMPLING]).collect()
}

/// Calls `fill(fork, bucket, part)` for the consecutive parts of `out` that have the given sizes.
fn gather<F: Fork, B>(fork: &mut F, first: usize, sizes: &[usize], out: &mut [f64], fill: &B)
where
    B: Fn(&mut F, usize, &mut [f64]) + Sync,
{
    if sizes.len() == 1 {
        return fill(fork, first, out);
    }
    let (left, right) = sizes.split_at(sizes.len() / 2);
    let (out_left, out_right) = out.split_at_mut(left.iter().sum());
    fork.join(
        |fork| gather(fork, first, left, out_left, fill),
        |fork| gather(fork, first + left.len(), right, out_right, fill),
    );
}

impl Kernel for Samplesort {
    fn input(&self) -> String {
        let serial = self.serial.min(self.block);
        format!("{} doubles, blocks and buckets of {}, {serial} sorted serially", self.data.len(), self.block)
    }

    fn reset(&mut self) {
        self.data.copy_from_slice(&self.input);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        sort(fork, &mut self.data, &mut self.blocks, self.block, self.serial);
    }

    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        continuations::sort(pool, &mut self.data, &mut self.blocks, self.block, self.serial);
        true
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.data)
    }

    fn check(&self) -> Result<(), String> {
        sequences::check_sorted(&self.input, &self.data, |x| x.to_bits())
    }
}
