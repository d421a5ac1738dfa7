//! Cilk's merge sort: sorts quarters, merges pairs of quarters into a buffer and the halves back, with the merges
//! parallel too.

mod continuations;

use crate::Fork;
use crate::inputs::sequences::{self, sorts};
use crate::par::join4;
use crate::workload::{Checksum, Grain, Kernel, Prepared, Size, prepared};
use bombyx_rw::{Discipline, Pool};

sorts!(
    "cilksort",
    "parallel merge sort",
    "32-bit integers",
    prepare,
    sequences::random_u32,
    sequences::exponential_u32
);

fn prepare(size: Size, grain: Grain, generate: impl Fn(usize) -> Vec<u32>) -> Box<dyn Prepared> {
    let input = generate(size.pick(10_000, 16_000_000, 64_000_000));
    let n = input.len();
    prepared(Cilksort { data: input.clone(), input, buffer: vec![0; n], grain: grain.pick(4096, 12) })
}

struct Cilksort {
    input: Vec<u32>,
    data: Vec<u32>,
    buffer: Vec<u32>,
    /// Longest stretch that is sorted or merged serially.
    grain: usize,
}

fn sort<F: Fork>(fork: &mut F, data: &mut [u32], buffer: &mut [u32], grain: usize) {
    if data.len() <= grain {
        return data.sort_unstable();
    }
    let half = data.len() / 2;
    let quarter = half / 2;
    {
        let (left, right) = data.split_at_mut(half);
        let (d0, d1) = left.split_at_mut(quarter);
        let (d2, d3) = right.split_at_mut(quarter);
        let (left, right) = buffer.split_at_mut(half);
        let (b0, b1) = left.split_at_mut(quarter);
        let (b2, b3) = right.split_at_mut(quarter);
        join4!(
            fork,
            |fork| sort(fork, d0, b0, grain),
            |fork| sort(fork, d1, b1, grain),
            |fork| sort(fork, d2, b2, grain),
            |fork| sort(fork, d3, b3, grain),
        );
        fork.join(|fork| merge(fork, d0, d1, left, grain), |fork| merge(fork, d2, d3, right, grain));
    }
    let (left, right) = buffer.split_at(half);
    merge(fork, left, right, data, grain);
}

/// Merges two sorted slices into `out`: halves the longer one and cuts the other where its middle element belongs.
fn merge<F: Fork>(fork: &mut F, a: &[u32], b: &[u32], out: &mut [u32], grain: usize) {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    if out.len() <= grain || short.is_empty() {
        return merge_serial(long, short, out);
    }
    let (long_left, long_right) = long.split_at(long.len() / 2);
    let (short_left, short_right) = short.split_at(short.partition_point(|x| *x < long_right[0]));
    let (out_left, out_right) = out.split_at_mut(long_left.len() + short_left.len());
    fork.join(
        |fork| merge(fork, long_left, short_left, out_left, grain),
        |fork| merge(fork, long_right, short_right, out_right, grain),
    );
}

fn merge_serial(mut a: &[u32], mut b: &[u32], out: &mut [u32]) {
    for (k, slot) in out.iter_mut().enumerate() {
        match (a, b) {
            ([x, a_rest @ ..], [y, b_rest @ ..]) => {
                let from_a = x <= y;
                *slot = if from_a { *x } else { *y };
                a = if from_a { a_rest } else { a };
                b = if from_a { b } else { b_rest };
            }
            _ => {
                let (rest_a, rest_b) = out[k..].split_at_mut(a.len());
                rest_a.copy_from_slice(a);
                return rest_b.copy_from_slice(b);
            }
        }
    }
}

impl Kernel for Cilksort {
    fn input(&self) -> String {
        format!("{} integers, {} sorted or merged serially", self.data.len(), self.grain)
    }

    fn reset(&mut self) {
        self.data.copy_from_slice(&self.input);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        sort(fork, &mut self.data, &mut self.buffer, self.grain);
    }

    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        let (data, buffer, grain) = (&mut self.data[..], &mut self.buffer[..], self.grain);
        pool.run(|task| {
            let parts = [data.into(), buffer.into()];
            task.call(move |task| continuations::sort(task, parts, grain), |task, _| task.end(()))
        });
        true
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.data.iter().map(|x| u64::from(*x)))
    }

    fn check(&self) -> Result<(), String> {
        sequences::check_sorted(&self.input, &self.data, |x| u64::from(*x))
    }
}
