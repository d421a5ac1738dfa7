//! Sample sort as in the Problem Based Benchmark Suite: sorts blocks, cuts each block at splitters drawn from a
//! sample, gathers what belongs to a bucket from all blocks, and sorts the buckets. Few rounds, and memory is
//! read in order.

use crate::inputs::Rng;
use crate::inputs::sequences::{self, sorts};
use crate::workload::{Checksum, Grain, Kernel, Prepared, Size, prepared};
use crate::{Fork, Par};

sorts!("samplesort", "sample sort", "doubles", prepare, sequences::random_f64, sequences::exponential_f64);

fn prepare(size: Size, grain: Grain, generate: impl Fn(usize) -> Vec<f64>) -> Box<dyn Prepared> {
    let input = generate(size.pick(8000, 12_000_000, 48_000_000));
    let n = input.len();
    let block = grain.pick(size.pick(500, 32_768, 32_768), size.pick(100, 8192, 8192));
    prepared(Samplesort { data: input.clone(), input, blocks: vec![0.0; n], block })
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
}

/// Sorts `data`, using `blocks` as a buffer of the same length.
fn sort<F: Fork>(fork: &mut F, data: &mut [f64], blocks: &mut [f64], block: usize) {
    let n = data.len();
    let buckets = n.div_ceil(block);
    if buckets <= 1 {
        return data.sort_unstable_by(f64::total_cmp);
    }
    let splitters = splitters(data, buckets);

    // Where each bucket starts in each block, with the end of the block last.
    let mut cuts = vec![0u32; buckets * (buckets + 1)];
    {
        let data = &*data;
        fork.for_chunks2((&mut *blocks, block), (&mut cuts, buckets + 1), &|k, sorted, cuts| {
            sorted.copy_from_slice(&data[k * block..][..sorted.len()]);
            sorted.sort_unstable_by(f64::total_cmp);
            let mut at = 0;
            for (cut, splitter) in cuts[1..buckets].iter_mut().zip(&splitters) {
                at += sorted[at..].partition_point(|x| x.total_cmp(splitter).is_lt());
                *cut = at as u32;
            }
            cuts[buckets] = sorted.len() as u32;
        });
    }

    let cuts: Vec<&[u32]> = cuts.chunks(buckets + 1).collect();
    let sizes: Vec<usize> =
        (0..buckets).map(|b| cuts.iter().map(|cut| (cut[b + 1] - cut[b]) as usize).sum()).collect();
    gather(fork, 0, &sizes, data, &|bucket, out| {
        let mut filled = 0;
        for (sorted, cut) in blocks.chunks(block).zip(&cuts) {
            let part = &sorted[cut[bucket] as usize..cut[bucket + 1] as usize];
            out[filled..filled + part.len()].copy_from_slice(part);
            filled += part.len();
        }
        out.sort_unstable_by(f64::total_cmp);
    });
}

/// `buckets - 1` values that cut `data` into about equal parts, in order.
fn splitters(data: &[f64], buckets: usize) -> Vec<f64> {
    let mut rng = Rng::new(data.len() as u64);
    let mut sample: Vec<f64> =
        (0..buckets * OVERSAMPLING).map(|_| data[rng.below(data.len() as u64) as usize]).collect();
    sample.sort_unstable_by(f64::total_cmp);
    (1..buckets).map(|b| sample[b * OVERSAMPLING]).collect()
}

/// Calls `fill(bucket, part)` for the consecutive parts of `out` that have the given sizes.
fn gather<F: Fork, B>(fork: &mut F, first: usize, sizes: &[usize], out: &mut [f64], fill: &B)
where
    B: Fn(usize, &mut [f64]) + Sync,
{
    if sizes.len() == 1 {
        return fill(first, out);
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
        format!("{} doubles, blocks and buckets of {}", self.data.len(), self.block)
    }

    fn reset(&mut self) {
        self.data.copy_from_slice(&self.input);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        sort(fork, &mut self.data, &mut self.blocks, self.block);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(&self.data)
    }

    fn check(&self) -> Result<(), String> {
        sequences::check_sorted(&self.input, &self.data, |x| x.to_bits())
    }
}
