//! Slices: parallel iterators over items, chunks, windows and pieces; sorting.
//!
//! **Not here:** the adapters, such as `map`. They are in [`crate::iter`].

mod chunks;
mod pieces;
mod sort;

pub use chunks::{
    ArrayWindows, Chunks, ChunksExact, ChunksExactMut, ChunksMut, RChunks, RChunksExact, RChunksExactMut,
    RChunksMut, Windows,
};
pub use pieces::{ChunkBy, ChunkByMut, Split, SplitInclusive, SplitInclusiveMut, SplitMut};

use crate::iter::plumbing::Producer;
use crate::iter::{IntoParallelIterator, ParallelIterator, delegate};
use std::cmp::Ordering;
use std::slice;

/// Parallel iterators over the parts of a slice.
pub trait ParallelSlice<T: Sync> {
    /// The slice.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(vec![1, 2].as_parallel_slice(), [1, 2]);
    /// ```
    fn as_parallel_slice(&self) -> &[T];

    /// The parts between items for which `separator` is true.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let sums: Vec<i32> = [1, 2, 0, 3].par_split(|&n| n == 0).map(|part| part.iter().sum()).collect();
    /// assert_eq!(sums, [3, 3]);
    /// ```
    fn par_split<P>(&self, separator: P) -> Split<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        Split { slice: self.as_parallel_slice(), separator }
    }

    /// Parts, each of which ends with an item for which `separator` is true. The last one may end without it.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let parts: Vec<_> = [1, 2, 0, 3].par_split_inclusive(|&n| n == 0).collect();
    /// assert_eq!(parts, [&[1, 2, 0][..], &[3]]);
    /// ```
    fn par_split_inclusive<P>(&self, separator: P) -> SplitInclusive<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusive { slice: self.as_parallel_slice(), separator }
    }

    /// All parts of `window_size` neighbouring items.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 5, 2].par_windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>(), [4, -3]);
    /// ```
    #[track_caller]
    fn par_windows(&self, window_size: usize) -> Windows<'_, T> {
        assert!(window_size != 0, "window_size must not be zero");
        Windows { slice: self.as_parallel_slice(), size: window_size }
    }

    /// All parts of `N` neighbouring items, as arrays.
    ///
    /// # Panics
    /// If `N` is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 5, 2].par_array_windows().map(|[a, b]| b - a).collect::<Vec<i32>>(), [4, -3]);
    /// ```
    #[track_caller]
    fn par_array_windows<const N: usize>(&self) -> ArrayWindows<'_, T, N> {
        assert!(N != 0, "window_size must not be zero");
        ArrayWindows { slice: self.as_parallel_slice() }
    }

    /// Parts of `chunk_size` items. The last one may be shorter.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 2, 3].par_chunks(2).map(|chunk| chunk.len()).collect::<Vec<_>>(), [2, 1]);
    /// ```
    #[track_caller]
    fn par_chunks(&self, chunk_size: usize) -> Chunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Chunks { slice: self.as_parallel_slice(), size: chunk_size }
    }

    /// Parts of exactly `chunk_size` items. Items that are left over at the end are not visited.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let chunks = [1, 2, 3].par_chunks_exact(2);
    /// assert_eq!(chunks.remainder(), [3]);
    /// assert_eq!(chunks.count(), 1);
    /// ```
    #[track_caller]
    fn par_chunks_exact(&self, chunk_size: usize) -> ChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        let slice = self.as_parallel_slice();
        let (slice, rest) = slice.split_at(slice.len() / chunk_size * chunk_size);
        ChunksExact { slice, rest, size: chunk_size }
    }

    /// Parts of `chunk_size` items, from the end. The last one, at the beginning, may be shorter.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 2, 3].par_rchunks(2).collect::<Vec<_>>(), [&[2, 3][..], &[1]]);
    /// ```
    #[track_caller]
    fn par_rchunks(&self, chunk_size: usize) -> RChunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunks { slice: self.as_parallel_slice(), size: chunk_size }
    }

    /// Parts of exactly `chunk_size` items, from the end. Items that are left over at the beginning are not visited.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 2, 3].par_rchunks_exact(2).collect::<Vec<_>>(), [&[2, 3]]);
    /// ```
    #[track_caller]
    fn par_rchunks_exact(&self, chunk_size: usize) -> RChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        let slice = self.as_parallel_slice();
        let (rest, slice) = slice.split_at(slice.len() % chunk_size);
        RChunksExact { slice, rest, size: chunk_size }
    }

    /// The longest parts in which `pred` is true for all neighbours.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let runs: Vec<_> = [1, 1, 2, 1].par_chunk_by(|a, b| a == b).map(|run| run.len()).collect();
    /// assert_eq!(runs, [2, 1, 1]);
    /// ```
    fn par_chunk_by<F>(&self, pred: F) -> ChunkBy<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        ChunkBy { slice: self.as_parallel_slice(), pred }
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// Parallel iterators over the parts of a mutable slice, and sorting.
pub trait ParallelSliceMut<T: Send> {
    /// The slice.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(vec![1, 2].as_parallel_slice_mut(), [1, 2]);
    /// ```
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// The parts between items for which `separator` is true.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [3, 1, 0, 5, 4];
    /// numbers.par_split_mut(|&n| n == 0).for_each(|part| part.sort());
    /// assert_eq!(numbers, [1, 3, 0, 4, 5]);
    /// ```
    fn par_split_mut<P>(&mut self, separator: P) -> SplitMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitMut { slice: self.as_parallel_slice_mut(), separator }
    }

    /// Parts, each of which ends with an item for which `separator` is true. The last one may end without it.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [3, 1, 0, 5, 4];
    /// numbers.par_split_inclusive_mut(|&n| n == 0).for_each(|part| part.reverse());
    /// assert_eq!(numbers, [0, 1, 3, 4, 5]);
    /// ```
    fn par_split_inclusive_mut<P>(&mut self, separator: P) -> SplitInclusiveMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusiveMut { slice: self.as_parallel_slice_mut(), separator }
    }

    /// Parts of `chunk_size` items. The last one may be shorter.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_chunks_mut(2).for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [2, 1, 3]);
    /// ```
    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksMut { slice: self.as_parallel_slice_mut(), size: chunk_size }
    }

    /// Parts of exactly `chunk_size` items. Items that are left over at the end are not visited.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_chunks_exact_mut(2).for_each(|chunk| chunk.fill(0));
    /// assert_eq!(numbers, [0, 0, 3]);
    /// ```
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        let slice = self.as_parallel_slice_mut();
        let (slice, rest) = slice.split_at_mut(slice.len() / chunk_size * chunk_size);
        ChunksExactMut { slice, rest, size: chunk_size }
    }

    /// Parts of `chunk_size` items, from the end. The last one, at the beginning, may be shorter.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_rchunks_mut(2).for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [1, 3, 2]);
    /// ```
    #[track_caller]
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> RChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksMut { slice: self.as_parallel_slice_mut(), size: chunk_size }
    }

    /// Parts of exactly `chunk_size` items, from the end. Items that are left over at the beginning are not visited.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_rchunks_exact_mut(2).for_each(|chunk| chunk.fill(0));
    /// assert_eq!(numbers, [1, 0, 0]);
    /// ```
    #[track_caller]
    fn par_rchunks_exact_mut(&mut self, chunk_size: usize) -> RChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        let slice = self.as_parallel_slice_mut();
        let (rest, slice) = slice.split_at_mut(slice.len() % chunk_size);
        RChunksExactMut { slice, rest, size: chunk_size }
    }

    /// The longest parts in which `pred` is true for all neighbours.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1, 1, 2];
    /// numbers.par_chunk_by_mut(|a, b| a == b).for_each(|run| run[0] = 7);
    /// assert_eq!(numbers, [7, 1, 7]);
    /// ```
    fn par_chunk_by_mut<F>(&mut self, pred: F) -> ChunkByMut<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        ChunkByMut { slice: self.as_parallel_slice_mut(), pred }
    }

    /// Sorts, and keeps the order of equal items. Parts are sorted and merged in parallel, which needs additional
    /// memory for all items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers: Vec<u32> = (0..10_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    /// numbers.par_sort();
    /// assert!(numbers.is_sorted());
    /// ```
    #[track_caller]
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        sort::stable(self.as_parallel_slice_mut(), T::cmp);
    }

    /// Sorts by `compare`, and keeps the order of equal items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1, 3, 2];
    /// numbers.par_sort_by(|a, b| b.cmp(a));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// ```
    #[track_caller]
    fn par_sort_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), compare);
    }

    /// Sorts by a key, and keeps the order of items with equal keys.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut words = ["steal", "fork", "join"];
    /// words.par_sort_by_key(|word| word.len());
    /// assert_eq!(words, ["fork", "join", "steal"]);
    /// ```
    #[track_caller]
    fn par_sort_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), |a, b| f(a).cmp(&f(b)));
    }

    /// Like [`par_sort_by_key`](Self::par_sort_by_key), for expensive keys: `f` is called only once for each item.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [10, 9, 100];
    /// numbers.par_sort_by_cached_key(|n| n.to_string());
    /// assert_eq!(numbers, [10, 100, 9]);
    /// ```
    #[track_caller]
    fn par_sort_by_cached_key<K, F>(&mut self, f: F)
    where
        F: Fn(&T) -> K + Sync,
        K: Ord + Send,
    {
        let slice = self.as_parallel_slice_mut();
        let mut order: Vec<(K, usize)> =
            slice.par_iter_mut().enumerate().map(|(index, item)| (f(item), index)).collect();
        // The position is part of the key, so equal items keep their order.
        sort::unstable(&mut order, Ord::cmp);
        for i in 0..slice.len() {
            // The item may have been exchanged with an earlier one.
            let mut from = order[i].1;
            while from < i {
                from = order[from].1;
            }
            order[i].1 = from;
            slice.swap(i, from);
        }
    }

    /// Sorts. Equal items may change places.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_unstable();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    #[track_caller]
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sort::unstable(self.as_parallel_slice_mut(), T::cmp);
    }

    /// Sorts by `compare`. Equal items may change places.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1.5, 0.5];
    /// numbers.par_sort_unstable_by(|a: &f64, b| a.total_cmp(b));
    /// assert_eq!(numbers, [0.5, 1.5]);
    /// ```
    #[track_caller]
    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), compare);
    }

    /// Sorts by a key. Items with equal keys may change places.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [-3i32, 1, 2];
    /// numbers.par_sort_unstable_by_key(|n| n.abs());
    /// assert_eq!(numbers, [1, 2, -3]);
    /// ```
    #[track_caller]
    fn par_sort_unstable_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), |a, b| f(a).cmp(&f(b)));
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}

use crate::iter::{IndexedParallelIterator, IntoParallelRefMutIterator};

// ---- Items --------------------------------------------------------------------------------------------------

/// A parallel iterator over references to the items of a slice.
#[derive(Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Iter<'data, T: Sync> {
    slice: &'data [T],
}

impl<T: Sync> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data [T] {
    type Item = &'data T;
    type Iter = Iter<'data, T>;

    fn into_par_iter(self) -> Iter<'data, T> {
        Iter { slice: self }
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data Vec<T> {
    type Item = &'data T;
    type Iter = Iter<'data, T>;

    fn into_par_iter(self) -> Iter<'data, T> {
        Iter { slice: self }
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data Box<[T]> {
    type Item = &'data T;
    type Iter = Iter<'data, T>;

    fn into_par_iter(self) -> Iter<'data, T> {
        Iter { slice: self }
    }
}

delegate::indexed! {
    ['data, T: Sync] Iter<'data, T> => &'data T;
    len(this) { this.slice.len() }
    with_producer(this, callback) { callback.callback(IterProducer(this.slice)) }
}

struct IterProducer<'data, T>(&'data [T]);

impl<'data, T: Sync> Producer for IterProducer<'data, T> {
    type Item = &'data T;
    type IntoIter = slice::Iter<'data, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at(index);
        (IterProducer(left), IterProducer(right))
    }
}

/// A parallel iterator over mutable references to the items of a slice.
#[derive(Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct IterMut<'data, T: Send> {
    slice: &'data mut [T],
}

impl<'data, T: Send> IntoParallelIterator for &'data mut [T] {
    type Item = &'data mut T;
    type Iter = IterMut<'data, T>;

    fn into_par_iter(self) -> IterMut<'data, T> {
        IterMut { slice: self }
    }
}

impl<'data, T: Send> IntoParallelIterator for &'data mut Vec<T> {
    type Item = &'data mut T;
    type Iter = IterMut<'data, T>;

    fn into_par_iter(self) -> IterMut<'data, T> {
        IterMut { slice: self }
    }
}

impl<'data, T: Send> IntoParallelIterator for &'data mut Box<[T]> {
    type Item = &'data mut T;
    type Iter = IterMut<'data, T>;

    fn into_par_iter(self) -> IterMut<'data, T> {
        IterMut { slice: self }
    }
}

delegate::indexed! {
    ['data, T: Send] IterMut<'data, T> => &'data mut T;
    len(this) { this.slice.len() }
    with_producer(this, callback) { callback.callback(IterMutProducer(this.slice)) }
}

struct IterMutProducer<'data, T>(&'data mut [T]);

impl<'data, T: Send> Producer for IterMutProducer<'data, T> {
    type Item = &'data mut T;
    type IntoIter = slice::IterMut<'data, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at_mut(index);
        (IterMutProducer(left), IterMutProducer(right))
    }
}
