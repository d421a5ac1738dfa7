//! Parallel iterators, under the names that rayon made familiar. See [`ParallelIterator`], and `docs/iterators.md` for
//! what differs from rayon.
//!
//! **Not here:** slices, strings, ranges and collections. They have their own modules.
//!
//! ```
//! use bombyx::prelude::*;
//! let words = ["fork", "join", "steal", "sync"];
//! let longest = words.par_iter().max_by_key(|word| word.len());
//! assert_eq!(longest, Some(&"steal"));
//! ```

mod blocks;
mod bridge;
mod chunks;
mod collect;
pub(crate) mod delegate;
pub(crate) mod driver;
mod either;
pub(crate) mod explain;
mod extend;
mod find;
mod fold;
mod indexed;
mod intersperse;
mod modes;
#[doc(hidden)]
pub mod onto;
mod pairs;
mod parallel;
pub mod plumbing;
mod positions;
pub(crate) mod private;
pub(crate) mod producers;
mod sources;
mod stage;
mod state;
mod stream;
mod supply;
mod terminal;
mod unzip;

pub use ::either::Either;
pub use blocks::{ExponentialBlocks, UniformBlocks};
pub use bridge::{IterBridge, ParallelBridge};
pub use chunks::{Chunks, FoldChunks, FoldChunksWith};
pub use explain::{Explain, Explanation};
pub use fold::{FlatMap, Flatten, Fold, FoldWith, MapInit, MapWith, TryFold, TryFoldWith};
pub use indexed::IndexedParallelIterator;
pub use intersperse::Intersperse;
pub use modes::{Deterministic, Progress};
pub use pairs::{Chain, Interleave, InterleaveShortest, Zip, ZipEq};
pub use parallel::ParallelIterator;
pub use positions::{Enumerate, MaxLen, MinLen, Positions, Rev, Skip, StepBy, Take};
pub use sources::{Empty, MultiZip, Once, empty, once};
pub use stage::{
    Cloned, Copied, Filter, FilterMap, FlatMapIter, FlattenIter, Inspect, Map, PanicFuse, SkipAny,
    SkipAnyWhile, TakeAny, TakeAnyWhile, Update, WhileSome,
};
pub use state::{MapState, WithState};
pub use stream::{ParallelStream, Stream, StreamMap};
pub use supply::{
    Repeat, RepeatN, Split, WalkTree, WalkTreePostfix, WalkTreePrefix, repeat, repeat_n, repeatn, split,
    walk_tree, walk_tree_postfix, walk_tree_prefix,
};

use std::ops::RangeBounds;

/// Types that turn into parallel iterators: collections, ranges, tuples of these, and parallel iterators themselves.
pub trait IntoParallelIterator {
    /// The iterator that it turns into.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The items of that iterator.
    type Item: Send;

    /// Turns it into a parallel iterator.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(vec![1, 2, 3].into_par_iter().sum::<i32>(), 6);
    /// ```
    fn into_par_iter(self) -> Self::Iter;
}

/// Types that have a parallel iterator over references to their items.
pub trait IntoParallelRefIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The items of the iterator, usually `&T`.
    type Item: Send + 'data;

    /// The iterator.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 2, 3].par_iter().map(|n| n * 2).sum::<i32>(), 12);
    /// ```
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefIterator<'data> for I
where
    &'data I: IntoParallelIterator,
{
    type Iter = <&'data I as IntoParallelIterator>::Iter;
    type Item = <&'data I as IntoParallelIterator>::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// Types that have a parallel iterator over mutable references to their items.
pub trait IntoParallelRefMutIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The items of the iterator, usually `&mut T`.
    type Item: Send + 'data;

    /// The iterator.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_iter_mut().for_each(|n| *n += 1);
    /// assert_eq!(numbers, [2, 3, 4]);
    /// ```
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefMutIterator<'data> for I
where
    &'data mut I: IntoParallelIterator,
{
    type Iter = <&'data mut I as IntoParallelIterator>::Iter;
    type Item = <&'data mut I as IntoParallelIterator>::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// Types that can be [collected](ParallelIterator::collect) from a parallel iterator.
///
/// ```
/// use bombyx::prelude::*;
/// struct Total(u64);
/// impl FromParallelIterator<u64> for Total {
///     fn from_par_iter<I: IntoParallelIterator<Item = u64>>(iter: I) -> Total {
///         Total(iter.into_par_iter().sum())
///     }
/// }
/// assert_eq!((0..10u64).into_par_iter().collect::<Total>().0, 45);
/// ```
pub trait FromParallelIterator<T: Send> {
    /// Collects the items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(Vec::from_par_iter(0..3), [0, 1, 2]);
    /// ```
    #[track_caller]
    fn from_par_iter<I>(par_iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>;
}

/// Collects the items of anything that turns into a parallel iterator.
///
/// ```
/// let numbers: Vec<i32> = bombyx::iter::from_par_iter([1, 2, 3]);
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
#[track_caller]
pub fn from_par_iter<C, I>(items: I) -> C
where
    I: IntoParallelIterator,
    C: FromParallelIterator<I::Item>,
{
    C::from_par_iter(items)
}

/// Collections that can add the items of a parallel iterator to those that they have.
pub trait ParallelExtend<T: Send> {
    /// Adds the items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = vec![7];
    /// numbers.par_extend(0..3);
    /// assert_eq!(numbers, [7, 0, 1, 2]);
    /// ```
    #[track_caller]
    fn par_extend<I>(&mut self, par_iter: I)
    where
        I: IntoParallelIterator<Item = T>;
}

/// Collections that a parallel iterator can empty. They keep their memory.
pub trait ParallelDrainFull {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The items of the iterator.
    type Item: Send;

    /// Takes all items out. Items that are not used are dropped.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut set = std::collections::HashSet::from([1, 2, 3]);
    /// assert_eq!(set.par_drain().sum::<i32>(), 6);
    /// assert!(set.is_empty());
    /// ```
    fn par_drain(self) -> Self::Iter;
}

/// Collections from which a parallel iterator can take a range.
pub trait ParallelDrainRange<Idx = usize> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The items of the iterator.
    type Item: Send;

    /// Takes the items of the range out. Items that are not used are dropped.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut numbers = vec![0, 1, 2, 3];
    /// assert_eq!(numbers.par_drain(1..3).sum::<i32>(), 3);
    /// assert_eq!(numbers, [0, 3]);
    /// ```
    fn par_drain<R: RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}
