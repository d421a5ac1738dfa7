//! [`IndexedParallelIterator`]: methods of iterators that know how many items they have.

use super::blocks::{ExponentialBlocks, UniformBlocks};
use super::chunks::{Chunks, FoldChunks, FoldChunksWith};
use super::collect::{append_both, append_in_place};
use super::modes::Sited;
use super::pairs::{Interleave, InterleaveShortest, Zip, ZipEq};
use super::plumbing::{Consumer, ProducerCallback};
use super::positions::{Enumerate, MaxLen, MinLen, Positions, Rev, Skip, StepBy, Take};
use super::{IntoParallelIterator, ParallelIterator};
use bombyx_core::loop_plumbing::LoopSite;
use std::cmp::Ordering;

/// A parallel iterator that knows how many items it has, and can begin anywhere.
///
/// ```
/// use bombyx::prelude::*;
/// let (a, b) = (vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]);
/// let product: f64 = a.par_iter().zip(&b).map(|(x, y)| x * y).sum();
/// assert_eq!(product, 32.0);
/// ```
#[allow(clippy::len_without_is_empty)]
pub trait IndexedParallelIterator: ParallelIterator {
    /// Computes the items in blocks that follow each other and double in size. Within a block they are computed in
    /// parallel. For searches that tend to end early.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..1000).into_par_iter().by_exponential_blocks().find_first(|i| *i > 30), Some(31));
    /// ```
    fn by_exponential_blocks(self) -> ExponentialBlocks<Self> {
        ExponentialBlocks { base: self }
    }

    /// Computes the items in blocks of one size that follow each other. Within a block they are computed in parallel.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..1000).into_par_iter().by_uniform_blocks(100).sum::<i32>(), 499_500);
    /// ```
    fn by_uniform_blocks(self, block_size: usize) -> UniformBlocks<Self> {
        assert!(block_size != 0, "block_size must not be zero");
        UniformBlocks { base: self, size: block_size }
    }

    /// Replaces the content of the vector with the items. Reuses its memory.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = vec![7];
    /// (0..3).into_par_iter().collect_into_vec(&mut numbers);
    /// assert_eq!(numbers, [0, 1, 2]);
    /// ```
    #[track_caller]
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        target.clear();
        let sited = Sited { base: self, site: LoopSite::iterator() };
        let len = sited.base.len();
        append_in_place(target, len, |consumer| sited.drive_unindexed(consumer));
    }

    /// Replaces the contents of the two vectors with the two halves of the items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let (mut a, mut b) = (Vec::new(), Vec::new());
    /// (0..3i32).into_par_iter().map(|i| (i, -i)).unzip_into_vecs(&mut a, &mut b);
    /// assert_eq!((a, b), (vec![0, 1, 2], vec![0, -1, -2]));
    /// ```
    #[track_caller]
    fn unzip_into_vecs<A, B>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
        A: Send,
        B: Send,
    {
        left.clear();
        right.clear();
        let len = self.len();
        append_both(Sited { base: self, site: LoopSite::iterator() }, len, left, right);
    }

    /// Pairs the items with those of another iterator, as many as both have.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..3).into_par_iter().zip(vec!['a', 'b']).collect::<Vec<_>>(), [(0, 'a'), (1, 'b')]);
    /// ```
    fn zip<Z>(self, zip_op: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Zip { a: self, b: zip_op.into_par_iter() }
    }

    /// Like [`zip`](Self::zip), for iterators of equal lengths.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..2).into_par_iter().zip_eq([5, 6]).map(|(a, b)| a * b).sum::<i32>(), 6);
    /// ```
    #[track_caller]
    fn zip_eq<Z>(self, zip_op: Z) -> ZipEq<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let other = zip_op.into_par_iter();
        assert_eq!(self.len(), other.len(), "iterators must have the same length");
        ZipEq { inner: Zip { a: self, b: other } }
    }

    /// Alternates between the items of both iterators. When one has no more, the rest of the other follows.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 2].into_par_iter().interleave([7, 8, 9]).collect::<Vec<_>>(), [1, 7, 2, 8, 9]);
    /// ```
    fn interleave<I>(self, other: I) -> Interleave<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Interleave { a: self, b: other.into_par_iter() }
    }

    /// Alternates between the items of both iterators, until the one whose turn it is has no more.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 2].into_par_iter().interleave_shortest([7, 8, 9]).collect::<Vec<_>>(), [1, 7, 2, 8]);
    /// ```
    fn interleave_shortest<I>(self, other: I) -> InterleaveShortest<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        InterleaveShortest { a: self, b: other.into_par_iter() }
    }

    /// Gathers the items in vectors of `chunk_size`. The last one may be shorter.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..5).into_par_iter().chunks(2).collect::<Vec<_>>(), [vec![0, 1], vec![2, 3], vec![4]]);
    /// ```
    #[track_caller]
    fn chunks(self, chunk_size: usize) -> Chunks<Self> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Chunks { base: self, size: chunk_size }
    }

    /// Folds every chunk of `chunk_size` items into one, starting with the result of `identity`.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..5).into_par_iter().fold_chunks(2, || 0, |a, b| a + b).collect::<Vec<_>>(), [1, 5, 4]);
    /// ```
    #[track_caller]
    fn fold_chunks<T, ID, F>(self, chunk_size: usize, identity: ID, fold_op: F) -> FoldChunks<Self, ID, F>
    where
        ID: Fn() -> T + Send + Sync,
        F: Fn(T, Self::Item) -> T + Send + Sync,
        T: Send,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        FoldChunks { base: self, size: chunk_size, identity, op: fold_op }
    }

    /// Like [`fold_chunks`](Self::fold_chunks), starting with clones of `init`.
    ///
    /// # Panics
    /// If the size is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..5).into_par_iter().fold_chunks_with(2, 10, |a, b| a + b).collect::<Vec<_>>(), [11, 15, 14]);
    /// ```
    #[track_caller]
    fn fold_chunks_with<T, F>(self, chunk_size: usize, init: T, fold_op: F) -> FoldChunksWith<Self, T, F>
    where
        T: Send + Clone,
        F: Fn(T, Self::Item) -> T + Send + Sync,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        FoldChunksWith { base: self, size: chunk_size, init, op: fold_op }
    }

    /// Compares the items with those of another iterator, in lexicographic order.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!([1, 2].par_iter().cmp(&[1, 2, 0]).is_lt());
    /// ```
    #[track_caller]
    fn cmp<I>(self, other: I) -> Ordering
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
        Self::Item: Ord,
    {
        let other = other.into_par_iter();
        let by_length = self.len().cmp(&other.len());
        self.zip(other).map(|(a, b)| a.cmp(&b)).find_first(|order| order.is_ne()).unwrap_or(by_length)
    }

    /// Compares the items with those of another iterator, in lexicographic order. `None` if the first items that differ
    /// cannot be compared.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1.0, f64::NAN].par_iter().partial_cmp(&[1.0, 2.0]), None);
    /// ```
    #[track_caller]
    fn partial_cmp<I>(self, other: I) -> Option<Ordering>
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        let other = other.into_par_iter();
        let by_length = self.len().cmp(&other.len());
        let first = self
            .zip(other)
            .map(|(a, b)| a.partial_cmp(&b))
            .find_first(|&order| order != Some(Ordering::Equal));
        first.unwrap_or(Some(by_length))
    }

    /// Whether both iterators have equal items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..3).into_par_iter().eq([0, 1, 2]));
    /// ```
    #[track_caller]
    fn eq<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        let other = other.into_par_iter();
        self.len() == other.len() && self.zip(other).all(|(a, b)| a == b)
    }

    /// Whether the iterators differ.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..3).into_par_iter().ne([0, 1, 3]));
    /// ```
    #[track_caller]
    fn ne<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        !self.eq(other)
    }

    /// Whether this iterator is less than the other, in lexicographic order.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!([1, 2].par_iter().lt(&[1, 3]));
    /// ```
    #[track_caller]
    fn lt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other) == Some(Ordering::Less)
    }

    /// Whether this iterator is less than the other or equal to it, in lexicographic order.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!([1, 2].par_iter().le(&[1, 2]));
    /// ```
    #[track_caller]
    fn le<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_le)
    }

    /// Whether this iterator is greater than the other, in lexicographic order.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!([1, 4].par_iter().gt(&[1, 3]));
    /// ```
    #[track_caller]
    fn gt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other) == Some(Ordering::Greater)
    }

    /// Whether this iterator is greater than the other or equal to it, in lexicographic order.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!([1, 3].par_iter().ge(&[1, 3]));
    /// ```
    #[track_caller]
    fn ge<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_ge)
    }

    /// Pairs the items with their positions.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(['a', 'b'].into_par_iter().enumerate().collect::<Vec<_>>(), [(0, 'a'), (1, 'b')]);
    /// ```
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { base: self }
    }

    /// Takes every `step`-th item, starting with the first.
    ///
    /// # Panics
    /// If the step is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..8).into_par_iter().step_by(3).collect::<Vec<_>>(), [0, 3, 6]);
    /// ```
    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step != 0, "step must not be zero");
        StepBy { base: self, step }
    }

    /// Skips the first `n` items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..5).into_par_iter().skip(3).collect::<Vec<_>>(), [3, 4]);
    /// ```
    fn skip(self, n: usize) -> Skip<Self> {
        let count = n.min(self.len());
        Skip { base: self, count }
    }

    /// Takes the first `n` items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..5).into_par_iter().take(2).collect::<Vec<_>>(), [0, 1]);
    /// ```
    fn take(self, n: usize) -> Take<Self> {
        let count = n.min(self.len());
        Take { base: self, count }
    }

    /// The position of any item for which `predicate` is true: the one that is found first.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([5, 6, 7].par_iter().position_any(|&n| n == 6), Some(1));
    /// ```
    #[track_caller]
    fn position_any<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.enumerate().find_map_any(move |(index, item)| predicate(item).then_some(index))
    }

    /// The position of the first item for which `predicate` is true.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([5, 6, 6].par_iter().position_first(|&n| n == 6), Some(1));
    /// ```
    #[track_caller]
    fn position_first<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.enumerate().find_map_first(move |(index, item)| predicate(item).then_some(index))
    }

    /// The position of the last item for which `predicate` is true.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([5, 6, 6].par_iter().position_last(|&n| n == 6), Some(2));
    /// ```
    #[track_caller]
    fn position_last<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.enumerate().find_map_last(move |(index, item)| predicate(item).then_some(index))
    }

    #[doc(hidden)]
    #[deprecated(note = "use `position_any`, `position_first` or `position_last`")]
    #[track_caller]
    fn position<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.position_any(predicate)
    }

    /// The positions of all items for which `predicate` is true.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([5, 6, 6].par_iter().positions(|&n| n == 6).collect::<Vec<_>>(), [1, 2]);
    /// ```
    fn positions<P>(self, predicate: P) -> Positions<Self, P>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        Positions { base: self, op: predicate }
    }

    /// Reverses the order of the items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..3).into_par_iter().rev().collect::<Vec<_>>(), [2, 1, 0]);
    /// ```
    fn rev(self) -> Rev<Self> {
        Rev { base: self }
    }

    /// Does not share parts with fewer than `min` items. This is seldom needed, because parts that are not worth a
    /// thief's effort are not shared anyway.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..1000).into_par_iter().with_min_len(100).count(), 1000);
    /// ```
    fn with_min_len(self, min: usize) -> MinLen<Self> {
        MinLen { base: self, min }
    }

    /// Splits down to parts of at most `max` items, whether or not anybody wants work. For items that take very
    /// different times, or to make [`fold`](ParallelIterator::fold) yield many values.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..1000).into_par_iter().with_max_len(100).fold(|| 0, |n, _| n + 1).all(|n| n <= 100));
    /// ```
    fn with_max_len(self, max: usize) -> MaxLen<Self> {
        MaxLen { base: self, max }
    }

    /// How many items there are.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..10).into_par_iter().chunks(3).len(), 4);
    /// ```
    fn len(&self) -> usize;

    /// Feeds the consumer with all items. For authors of iterators: see [`plumbing`](super::plumbing).
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.drive_unindexed(consumer)
    }

    /// Calls back with a producer of the items. For authors of iterators: see [`plumbing`](super::plumbing).
    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output;
}
