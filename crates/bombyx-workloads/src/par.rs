//! Parallel loops, reductions, prefix sums and filters, built only on [`Fork::join`] and with an explicit grain. Every
//! loop splits in halves down to its grain. Where it splits depends only on lengths, so a reduction over floats gives
//! the same bits on every runtime. Mutable data is divided with `split_at_mut`. Nothing here is unsafe.

use std::ops::Range;

use crate::Fork;

/// Joins three closures. A macro, so that profiles name the line of the caller.
macro_rules! join3 {
    ($fork:expr, $a:expr, $b:expr, $c:expr $(,)?) => {{
        let (a, (b, c)) = $fork.join($a, |fork| fork.join($b, $c));
        (a, b, c)
    }};
}

/// Joins four closures, like [`join3`].
macro_rules! join4 {
    ($fork:expr, $a:expr, $b:expr, $c:expr, $d:expr $(,)?) => {{
        let ((a, b), (c, d)) = $fork.join(|fork| fork.join($a, $b), |fork| fork.join($c, $d));
        (a, b, c, d)
    }};
}

pub(crate) use {join3, join4};

/// Parallel patterns for every [`Fork`].
///
/// ```
/// use bombyx_workloads::{Par, Serial};
///
/// let squares = Serial.tabulate(5, 2, &|i| i * i);
/// assert_eq!(squares, [0, 1, 4, 9, 16]);
/// assert_eq!(Serial.filter(&squares, 2, &|x| x % 2 == 0), [0, 4, 16]);
/// let sum = Serial.map_reduce(0..5, 2, &|r| r.map(|i| squares[i]).sum::<usize>(), &|a, b| a + b);
/// assert_eq!(sum, 30);
/// ```
pub trait Par: Fork {
    /// Calls `body` on pieces of at most `grain` indices that together make up `range`.
    fn for_range<B>(&mut self, range: Range<usize>, grain: usize, body: &B)
    where
        B: Fn(Range<usize>) + Sync,
    {
        if range.len() <= grain.max(1) {
            return body(range);
        }
        let middle = range.start + range.len() / 2;
        self.join(
            |fork| fork.for_range(range.start..middle, grain, body),
            |fork| fork.for_range(middle..range.end, grain, body),
        );
    }

    /// Calls `body(k, chunk)` for every chunk of `size` elements of `data`, numbered as by `chunks_mut`.
    fn for_chunks<T, B>(&mut self, data: &mut [T], size: usize, body: &B)
    where
        T: Send,
        B: Fn(usize, &mut [T]) + Sync,
    {
        fn go<F: Fork, T: Send, B>(fork: &mut F, first: usize, data: &mut [T], size: usize, body: &B)
        where
            B: Fn(usize, &mut [T]) + Sync,
        {
            if data.len() <= size {
                return body(first, data);
            }
            let half = data.len().div_ceil(size) / 2;
            let (left, right) = data.split_at_mut(half * size);
            fork.join(
                |fork| go(fork, first, left, size, body),
                |fork| go(fork, first + half, right, size, body),
            );
        }
        if !data.is_empty() {
            go(self, 0, data, size.max(1), body);
        }
    }

    /// Calls `body(fork, k, &mut a[k], &mut b[k])` on matching chunks of two slices; both must hold the same number
    /// of chunks.
    fn for_chunks2<T, U, B>(&mut self, a: (&mut [T], usize), b: (&mut [U], usize), body: &B)
    where
        T: Send,
        U: Send,
        B: Fn(&mut Self, usize, &mut [T], &mut [U]) + Sync,
    {
        type Sized<'a, T> = (&'a mut [T], usize);
        fn go<F: Fork, T: Send, U: Send, B>(fork: &mut F, first: usize, a: Sized<T>, b: Sized<U>, body: &B)
        where
            B: Fn(&mut F, usize, &mut [T], &mut [U]) + Sync,
        {
            if a.0.len() <= a.1 {
                return body(fork, first, a.0, b.0);
            }
            let half = a.0.len().div_ceil(a.1) / 2;
            let (a_left, a_right) = a.0.split_at_mut(half * a.1);
            let (b_left, b_right) = b.0.split_at_mut(half * b.1);
            fork.join(
                |fork| go(fork, first, (a_left, a.1), (b_left, b.1), body),
                |fork| go(fork, first + half, (a_right, a.1), (b_right, b.1), body),
            );
        }
        assert_eq!(
            a.0.len().div_ceil(a.1),
            b.0.len().div_ceil(b.1),
            "the slices differ in their number of chunks"
        );
        if !a.0.is_empty() {
            go(self, 0, a, b, body);
        }
    }

    /// Combines `leaf` of pieces of at most `grain` indices, in order. `range` must not be empty unless `leaf`
    /// accepts an empty piece.
    fn map_reduce<R, L, C>(&mut self, range: Range<usize>, grain: usize, leaf: &L, combine: &C) -> R
    where
        R: Send,
        L: Fn(Range<usize>) -> R + Sync,
        C: Fn(R, R) -> R + Sync,
    {
        if range.len() <= grain.max(1) {
            return leaf(range);
        }
        let middle = range.start + range.len() / 2;
        let (left, right) = self.join(
            |fork| fork.map_reduce(range.start..middle, grain, leaf, combine),
            |fork| fork.map_reduce(middle..range.end, grain, leaf, combine),
        );
        combine(left, right)
    }

    /// The vector of `f(0), …, f(n - 1)`.
    fn tabulate<T, B>(&mut self, n: usize, grain: usize, f: &B) -> Vec<T>
    where
        T: Clone + Default + Send,
        B: Fn(usize) -> T + Sync,
    {
        let grain = grain.max(1);
        let mut out = vec![T::default(); n];
        self.for_chunks(&mut out, grain, &|k, chunk: &mut [T]| {
            for (i, slot) in chunk.iter_mut().enumerate() {
                *slot = f(k * grain + i);
            }
        });
        out
    }

    /// Replaces every element by the sum of those before it and returns the sum of all.
    fn scan(&mut self, data: &mut [u32], grain: usize) -> u32 {
        fn exclusive(data: &mut [u32], mut sum: u32) -> u32 {
            for x in data {
                sum += std::mem::replace(x, sum);
            }
            sum
        }
        let grain = grain.max(1);
        if data.len() <= grain {
            return exclusive(data, 0);
        }
        let mut sums = {
            let data = &*data;
            self.tabulate(data.len().div_ceil(grain), 1, &|k| {
                data[k * grain..data.len().min((k + 1) * grain)].iter().sum::<u32>()
            })
        };
        let total = exclusive(&mut sums, 0);
        self.for_chunks(data, grain, &|k, chunk: &mut [u32]| {
            exclusive(chunk, sums[k]);
        });
        total
    }

    /// The elements for which `keep` holds, in order.
    fn filter<T, B>(&mut self, data: &[T], grain: usize, keep: &B) -> Vec<T>
    where
        T: Copy + Default + Send + Sync,
        B: Fn(&T) -> bool + Sync,
    {
        let mut room = vec![T::default(); data.len()];
        let counts = self.sift(&mut room, grain, &|range, room| {
            fill(room, data[range].iter().filter(|x| keep(x)).copied())
        });
        let mut out = vec![T::default(); counts.iter().sum()];
        self.gather(&room, grain, &counts, &mut out);
        out
    }

    /// Lets `leaf` fill the pieces of `room` of `grain` elements. It gets the indices of a piece, and returns how many
    /// elements it has written to the front of the piece. Returns these numbers, for [`gather`](Self::gather).
    fn sift<T, B>(&mut self, room: &mut [T], grain: usize, leaf: &B) -> Vec<usize>
    where
        T: Send,
        B: Fn(Range<usize>, &mut [T]) -> usize + Sync,
    {
        let grain = grain.max(1);
        let mut counts = vec![0; room.len().div_ceil(grain)];
        self.for_chunks2((room, grain), (&mut counts, 1), &|_, k, room, count: &mut [usize]| {
            count[0] = leaf(k * grain..k * grain + room.len(), room);
        });
        counts
    }

    /// Copies what [`sift`](Self::sift) left at the front of each piece, one after the other, into `out`. `out` must
    /// hold exactly as much.
    fn gather<T>(&mut self, room: &[T], grain: usize, counts: &[usize], out: &mut [T])
    where
        T: Copy + Send + Sync,
    {
        match *counts {
            [] => {}
            [count] => out.copy_from_slice(&room[..count]),
            _ => {
                let half = counts.len() / 2;
                let (left, right) = room.split_at(half * grain.max(1));
                let (counts_left, counts_right) = counts.split_at(half);
                let (out_left, out_right) = out.split_at_mut(counts_left.iter().sum());
                self.join(
                    |fork| fork.gather(left, grain, counts_left, out_left),
                    |fork| fork.gather(right, grain, counts_right, out_right),
                );
            }
        }
    }
}

/// Writes elements to the front of `room`, which must be large enough, and returns how many there were.
pub(crate) fn fill<T>(room: &mut [T], elements: impl Iterator<Item = T>) -> usize {
    let mut count = 0;
    for element in elements {
        room[count] = element;
        count += 1;
    }
    count
}

impl<F: Fork> Par for F {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn loops_cover_every_index_once() {
        for n in [0, 1, 2, 7, 64, 65] {
            for grain in [1, 3, 64, 100] {
                let hits: Vec<_> = (0..n).map(|_| std::sync::atomic::AtomicU32::new(0)).collect();
                Serial.for_range(0..n, grain, &|range| {
                    assert!(range.len() <= grain);
                    for i in range {
                        hits[i].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                });
                assert!(hits.iter().all(|h| h.load(std::sync::atomic::Ordering::Relaxed) == 1));
                let numbered = Serial.tabulate(n, grain, &|i| i);
                assert_eq!(numbered, (0..n).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn chunks_are_those_of_chunks_mut() {
        let mut a: Vec<usize> = (0..23).collect();
        let mut b = vec![0; 5];
        Serial.for_chunks2((&mut a, 5), (&mut b, 1), &|_, k, xs, sum| {
            assert_eq!(xs[0], 5 * k);
            sum[0] = xs.len();
        });
        assert_eq!(b, [5, 5, 5, 5, 3]);
    }

    #[test]
    fn scan_is_the_exclusive_prefix_sum() {
        for n in [0, 1, 5, 100] {
            for grain in [1, 4, 1000] {
                let mut data: Vec<u32> = (0..n).map(|i| i * i % 7).collect();
                let expected: Vec<u32> = (0..n as usize).map(|i| data[..i].iter().sum()).collect();
                let total: u32 = data.iter().sum();
                assert_eq!(Serial.scan(&mut data, grain), total);
                assert_eq!(data, expected);
            }
        }
    }

    #[test]
    fn filter_keeps_order() {
        let data: Vec<u32> = (0..100).map(|i| i * 37 % 101).collect();
        let expected: Vec<u32> = data.iter().copied().filter(|x| x % 3 == 0).collect();
        for grain in [1, 7, 200] {
            assert_eq!(Serial.filter(&data, grain, &|x| x % 3 == 0), expected);
        }
    }
}
