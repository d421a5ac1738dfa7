//! [`ParallelIterator`]: the methods of every parallel iterator.

use super::collect::pieces;
use super::explain::{Explain, Explanation};
use super::find::{FindAny, FindFirst, FindLast};
use super::fold::{FlatMap, Flatten, Fold, FoldWith, MapInit, MapWith, TryFold, TryFoldWith};
use super::intersperse::Intersperse;
use super::modes::{Deterministic, Progress, Sited};
use super::onto::{Inner, Onto};
use super::pairs::Chain;
use super::plumbing::{Consumer, UnindexedConsumer};
use super::private::Try;
use super::stage::{
    Cloned, Copied, Filter, FilterMap, FlatMapIter, FlattenIter, Inspect, Map, PanicFuse, SkipAny,
    SkipAnyWhile, TakeAny, TakeAnyWhile, Update, WhileSome,
};
use super::state::WithState;
use super::terminal::{Count, ForEach, ProductOf, Reduce, ReduceWith, SumOf, TryReduce};
use super::unzip::{ByEither, ByPredicate, extend_both};
use super::{FromParallelIterator, IntoParallelIterator, ParallelExtend};
use bombyx_core::loop_plumbing::LoopSite;
use either::Either;
use std::cmp::Ordering;
use std::collections::LinkedList;
use std::iter::{Product, Sum};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// An iterator whose items are computed in parallel.
///
/// The methods have the names and the meaning of those of [`Iterator`]. Several processors call the closures at the
/// same time, so closures are `Fn` and `Sync`. Nothing happens before a method is called that yields a result.
///
/// ```
/// use bombyx::prelude::*;
/// let sum: u64 = (0..1000u64).into_par_iter().filter(|n| n % 3 == 0).map(|n| n * n).sum();
/// assert_eq!(sum, (0..1000u64).filter(|n| n % 3 == 0).map(|n| n * n).sum());
/// ```
pub trait ParallelIterator: Sized + Send {
    /// The type of the items.
    type Item: Send;

    // ---- Effects --------------------------------------------------------------------------------------------

    /// Calls `op` for every item.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let sum = AtomicUsize::new(0);
    /// (0..100usize).into_par_iter().for_each(|i| { sum.fetch_add(i, Ordering::Relaxed); });
    /// assert_eq!(sum.into_inner(), 4950);
    /// ```
    #[track_caller]
    fn for_each<OP>(self, op: OP)
    where
        OP: Fn(Self::Item) + Sync + Send,
    {
        self.drive_unindexed(ForEach { site: LoopSite::for_each(), op });
    }

    /// Like [`for_each`](Self::for_each), with a clone of `init` for every run of items on one processor.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// (0..5).into_par_iter().for_each_with(sender, |sender, i| sender.send(i).unwrap());
    /// assert_eq!(receiver.iter().sum::<i32>(), 10);
    /// ```
    #[track_caller]
    fn for_each_with<OP, T>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        T: Send + Clone,
    {
        self.map_with(init, op).for_each(drop);
    }

    /// Like [`for_each`](Self::for_each), with a value that `init` makes for every run of items on one processor. See
    /// [`with_state`](Self::with_state) for one value per processor.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut rows = vec![[0; 3]; 10];
    /// rows.par_iter_mut().for_each_init(Vec::new, |scratch, row| {
    ///     scratch.clear();
    ///     scratch.extend([1, 2, 3]);
    ///     row.copy_from_slice(scratch);
    /// });
    /// assert_eq!(rows[9], [1, 2, 3]);
    /// ```
    #[track_caller]
    fn for_each_init<OP, INIT, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        self.map_init(init, op).for_each(drop);
    }

    /// Calls `op` for every item until one call fails. The others then stop within a block. If several calls fail, the
    /// result is that of one of them.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let check = |n: u32| if n < 50 { Ok(()) } else { Err(n) };
    /// assert_eq!((0..50u32).into_par_iter().try_for_each(check), Ok(()));
    /// assert!((0..100u32).into_par_iter().try_for_each(check).is_err());
    /// ```
    #[track_caller]
    fn try_for_each<OP, R>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map(op).try_reduce(|| (), |(), ()| R::from_output(()))
    }

    /// Like [`try_for_each`](Self::try_for_each), with a clone of `init` for every run of items on one processor.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// (0..5).into_par_iter().try_for_each_with(sender, |sender, i| sender.send(i)).unwrap();
    /// assert_eq!(receiver.iter().count(), 5);
    /// ```
    #[track_caller]
    fn try_for_each_with<OP, T, R>(self, init: T, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Try<Output = ()> + Send,
    {
        self.map_with(init, op).try_reduce(|| (), |(), ()| R::from_output(()))
    }

    /// Like [`try_for_each`](Self::try_for_each), with a value that `init` makes for every run of items on one
    /// processor.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let result = (0..5).into_par_iter().try_for_each_init(String::new, |text, i| {
    ///     text.push('x');
    ///     if i < 9 { Some(()) } else { None }
    /// });
    /// assert_eq!(result, Some(()));
    /// ```
    #[track_caller]
    fn try_for_each_init<OP, INIT, T, R>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map_init(init, op).try_reduce(|| (), |(), ()| R::from_output(()))
    }

    // ---- Adapters -------------------------------------------------------------------------------------------

    /// Maps every item with `map_op`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..4).into_par_iter().map(|i| 2 * i).collect::<Vec<_>>(), [0, 2, 4, 6]);
    /// ```
    fn map<F, R>(self, map_op: F) -> Map<Self, F>
    where
        F: Fn(Self::Item) -> R + Sync + Send,
        R: Send,
    {
        Map { base: self, op: map_op }
    }

    /// Like [`map`](Self::map), with a clone of `init` for every run of items on one processor.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let text: Vec<_> = (0..3).into_par_iter().map_with(String::from("#"), |text, i| format!("{text}{i}")).collect();
    /// assert_eq!(text, ["#0", "#1", "#2"]);
    /// ```
    fn map_with<F, T, R>(self, init: T, map_op: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Send,
    {
        MapWith { base: self, init, op: map_op }
    }

    /// Like [`map`](Self::map), with a value that `init` makes for every run of items on one processor.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let lengths: Vec<_> = (0..3usize).into_par_iter().map_init(Vec::new, |scratch: &mut Vec<usize>, n| {
    ///     scratch.clear();
    ///     scratch.extend(0..n);
    ///     scratch.len()
    /// }).collect();
    /// assert_eq!(lengths, [0, 1, 2]);
    /// ```
    fn map_init<F, INIT, T, R>(self, init: INIT, map_op: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Send,
    {
        MapInit { base: self, init, op: map_op }
    }

    /// Clones the items, which are references.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let words = vec![String::from("fork"), String::from("join")];
    /// assert_eq!(words.par_iter().cloned().collect::<Vec<_>>(), words);
    /// ```
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: 'a + Clone + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Cloned { base: self }
    }

    /// Copies the items, which are references.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([1, 2, 3].par_iter().copied().sum::<i32>(), 6);
    /// ```
    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: 'a + Copy + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied { base: self }
    }

    /// Calls `inspect_op` with a reference to each item, and passes the item on.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let sum: i32 = (0..5).into_par_iter().inspect(|i| assert!(*i < 5)).sum();
    /// assert_eq!(sum, 10);
    /// ```
    fn inspect<OP>(self, inspect_op: OP) -> Inspect<Self, OP>
    where
        OP: Fn(&Self::Item) + Sync + Send,
    {
        Inspect { base: self, op: inspect_op }
    }

    /// Lets `update_op` change each item, and passes the item on.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let more: Vec<_> = (0..3).into_par_iter().update(|i| *i += 10).collect();
    /// assert_eq!(more, [10, 11, 12]);
    /// ```
    fn update<F>(self, update_op: F) -> Update<Self, F>
    where
        F: Fn(&mut Self::Item) + Sync + Send,
    {
        Update { base: self, op: update_op }
    }

    /// Keeps the items for which `filter_op` is true.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..8).into_par_iter().filter(|i| i % 3 == 0).collect::<Vec<_>>(), [0, 3, 6]);
    /// ```
    fn filter<P>(self, filter_op: P) -> Filter<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        Filter { base: self, op: filter_op }
    }

    /// Maps every item with `filter_op`, and keeps the results that are `Some`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let numbers: Vec<i32> = ["1", "x", "3"].par_iter().filter_map(|text| text.parse().ok()).collect();
    /// assert_eq!(numbers, [1, 3]);
    /// ```
    fn filter_map<P, R>(self, filter_op: P) -> FilterMap<Self, P>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        FilterMap { base: self, op: filter_op }
    }

    /// Maps every item to a parallel iterator, and yields the items of all of these. For short ordinary iterators, use
    /// [`flat_map_iter`](Self::flat_map_iter).
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let all: Vec<_> = (1..4).into_par_iter().flat_map(|n| (0..n).into_par_iter()).collect();
    /// assert_eq!(all, [0, 0, 1, 0, 1, 2]);
    /// ```
    fn flat_map<F, PI>(self, map_op: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
        PI: IntoParallelIterator,
    {
        FlatMap { base: self, op: map_op }
    }

    /// Maps every item to an ordinary iterator, and yields the items of all of these.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let all: Vec<_> = (1..4).into_par_iter().flat_map_iter(|n| 0..n).collect();
    /// assert_eq!(all, [0, 0, 1, 0, 1, 2]);
    /// ```
    fn flat_map_iter<F, SI>(self, map_op: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
        SI: IntoIterator<Item: Send>,
    {
        FlatMapIter { base: self, op: map_op }
    }

    /// Yields the items of the items, which are parallel iterators or collections.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let all: Vec<_> = vec![vec![1, 2], vec![3]].into_par_iter().flatten().collect();
    /// assert_eq!(all, [1, 2, 3]);
    /// ```
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Flatten { base: self }
    }

    /// Yields the items of the items, which are ordinary iterators or collections.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let all: Vec<_> = vec![Some(1), None, Some(3)].into_par_iter().flatten_iter().collect();
    /// assert_eq!(all, [1, 3]);
    /// ```
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        FlattenIter { base: self }
    }

    /// Folds the items of each run on one processor into one value, starting with the result of `identity`. The result
    /// is an iterator over these values. How many there are depends on who wanted work and when, so combine them.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let letters = "abracadabra".par_chars()
    ///     .fold(|| [0; 26], |mut counts, letter| { counts[letter as usize - 97] += 1; counts })
    ///     .reduce(|| [0; 26], |mut all, counts| { all.iter_mut().zip(counts).for_each(|(a, c)| *a += c); all });
    /// assert_eq!(letters[..4], [5, 2, 1, 1]);
    /// ```
    fn fold<T, ID, F>(self, identity: ID, fold_op: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        T: Send,
    {
        Fold { base: self, identity, op: fold_op }
    }

    /// Like [`fold`](Self::fold), starting with clones of `init`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..10).into_par_iter().fold_with(0, |a, b| a + b).sum::<i32>(), 45);
    /// ```
    fn fold_with<F, T>(self, init: T, fold_op: F) -> FoldWith<Self, T, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        T: Send + Clone,
    {
        FoldWith { base: self, init, op: fold_op }
    }

    /// Like [`fold`](Self::fold), but a run ends when `fold_op` fails.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let sum = [1u8, 2, 3].par_iter().try_fold(|| 0u8, |a, &b| a.checked_add(b)).try_reduce(|| 0, |a, b| a.checked_add(b));
    /// assert_eq!(sum, Some(6));
    /// ```
    fn try_fold<T, R, ID, F>(self, identity: ID, fold_op: F) -> TryFold<Self, R, ID, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        R: Try<Output = T> + Send,
    {
        TryFold { base: self, identity, op: fold_op, marker: PhantomData }
    }

    /// Like [`try_fold`](Self::try_fold), starting with clones of `init`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let sum = [1u8, 2, 255].par_iter().try_fold_with(0u8, |a, &b| a.checked_add(b)).try_reduce(|| 0, u8::checked_add);
    /// assert_eq!(sum, None);
    /// ```
    fn try_fold_with<F, T, R>(self, init: T, fold_op: F) -> TryFoldWith<Self, R, T, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        R: Try<Output = T> + Send,
        T: Clone + Send,
    {
        TryFoldWith { base: self, init, op: fold_op, marker: PhantomData }
    }

    /// The items of this iterator, then those of another one.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..2).into_par_iter().chain(7..9).collect::<Vec<_>>(), [0, 1, 7, 8]);
    /// ```
    fn chain<C>(self, chain: C) -> Chain<Self, C::Iter>
    where
        C: IntoParallelIterator<Item = Self::Item>,
    {
        Chain { a: self, b: chain.into_par_iter() }
    }

    /// Puts `element` between every two items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((1..4).into_par_iter().intersperse(0).collect::<Vec<_>>(), [1, 0, 2, 0, 3]);
    /// ```
    fn intersperse(self, element: Self::Item) -> Intersperse<Self>
    where
        Self::Item: Clone,
    {
        Intersperse { base: self, element }
    }

    /// The values of the items up to the first `None`. Some items after that may be used, too.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..1000).into_par_iter().map(|i| (i < 10).then_some(i)).while_some().count() <= 10);
    /// ```
    fn while_some<T>(self) -> WhileSome<Self>
    where
        Self: ParallelIterator<Item = Option<T>>,
        T: Send,
    {
        WhileSome { base: self }
    }

    /// The same iterator. In rayon, this makes others stop when a closure panics. Here they always stop, within a
    /// block.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..10).into_par_iter().panic_fuse().count(), 10);
    /// ```
    fn panic_fuse(self) -> PanicFuse<Self> {
        PanicFuse { base: self }
    }

    /// Takes any `n` of the items, whichever come first. They stay in order.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..100).into_par_iter().filter(|i| i % 2 == 0).take_any(5).count(), 5);
    /// ```
    fn take_any(self, n: usize) -> TakeAny<Self> {
        TakeAny { base: self, count: n }
    }

    /// Skips any `n` of the items, whichever come first. The others stay in order.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..100).into_par_iter().filter(|i| i % 2 == 0).skip_any(5).count(), 45);
    /// ```
    fn skip_any(self, n: usize) -> SkipAny<Self> {
        SkipAny { base: self, count: n }
    }

    /// Takes items until `predicate` is false for one of them, whichever comes first.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..100).into_par_iter().take_any_while(|&i| i < 50).all(|i| i < 50));
    /// ```
    fn take_any_while<P>(self, predicate: P) -> TakeAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        TakeAnyWhile { base: self, op: predicate }
    }

    /// Skips items until `predicate` is false for one of them, whichever comes first.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..100).into_par_iter().skip_any_while(|&i| i < 50).count() >= 50);
    /// ```
    fn skip_any_while<P>(self, predicate: P) -> SkipAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        SkipAnyWhile { base: self, op: predicate }
    }

    // ---- How the loop runs ----------------------------------------------------------------------------------

    /// Splits this loop in the same way in every run, on any number of processors, so that a sum of floats is always
    /// the same. Put this last in the chain.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let sum = || (1..100_000).into_par_iter().map(|i| 1.0 / f64::from(i)).deterministic().sum::<f64>();
    /// assert_eq!(sum().to_bits(), sum().to_bits());
    /// ```
    fn deterministic(self) -> Deterministic<Self> {
        Deterministic { base: self }
    }

    /// Calls `tell` now and then, from any processor, with the number of items done and the number of all items, if
    /// known. Calls may overtake each other. One of them reports all items as done. Put this last in the chain.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let seen = AtomicUsize::new(0);
    /// let tell = |done, total| { assert_eq!(total, Some(1000)); seen.fetch_max(done, Ordering::Relaxed); };
    /// (0..1000).into_par_iter().progress(tell).for_each(|_| ());
    /// assert_eq!(seen.into_inner(), 1000);
    /// ```
    fn progress<F>(self, tell: F) -> Progress<Self, F>
    where
        F: Fn(usize, Option<usize>) + Sync + Send,
    {
        Progress { base: self, tell }
    }

    /// Calls `tell` at the end with what the loop did: splits, steals, the size of blocks, how evenly the work was
    /// shared. Put this last in the chain.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut told = None;
    /// let sum: u64 = (0..10_000u64).into_par_iter().explain(|explanation| told = Some(explanation)).sum();
    /// assert_eq!((sum, told.unwrap().items), (49_995_000, 10_000));
    /// ```
    fn explain<F>(self, tell: F) -> Explain<Self, F>
    where
        F: FnOnce(Explanation) + Send,
    {
        Explain { base: self, tell }
    }

    /// Gives closures a value for each processor that takes part, made by `init`. For closures that need scratch space
    /// or count something. All values are handed back at the end.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let counts = (0..1000).into_par_iter().with_state(|| 0).for_each(|count, _| *count += 1);
    /// assert_eq!(counts.iter().sum::<i32>(), 1000);
    /// assert!(counts.len() <= bombyx::Pool::global().processors());
    /// ```
    fn with_state<S, INIT>(self, init: INIT) -> WithState<Self, INIT>
    where
        INIT: Fn() -> S + Sync + Send,
        S: Send,
    {
        WithState { base: self, init }
    }

    // ---- One value ------------------------------------------------------------------------------------------

    /// How many items there are.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..100).into_par_iter().filter(|i| i % 7 == 0).count(), 15);
    /// ```
    #[track_caller]
    fn count(self) -> usize {
        self.drive_unindexed(Count { site: LoopSite::map_reduce() })
    }

    /// Combines all items with `op`, which must be associative, starting with the result of `identity`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let (low, high) = [3, 1, 2].par_iter().map(|&n| (n, n))
    ///     .reduce(|| (i32::MAX, i32::MIN), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    /// assert_eq!((low, high), (1, 3));
    /// ```
    #[track_caller]
    fn reduce<OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
        ID: Fn() -> Self::Item + Sync + Send,
    {
        self.drive_unindexed(Reduce { site: LoopSite::map_reduce(), identity, op })
    }

    /// Combines all items with `op`, which must be associative. `None` if there are no items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((1..5).into_par_iter().reduce_with(|a, b| a * b), Some(24));
    /// assert_eq!((1..1).into_par_iter().reduce_with(|a: i32, b| a * b), None);
    /// ```
    #[track_caller]
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        self.drive_unindexed(ReduceWith { site: LoopSite::map_reduce(), op })
    }

    /// Like [`reduce`](Self::reduce), until an item or `op` fails. The others then stop within a block.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let sum = |numbers: &[i32]| numbers.par_iter().map(|&n| Some(n)).try_reduce(|| 0, |a, b| a.checked_add(b));
    /// assert_eq!(sum(&[1, 2, 3]), Some(6));
    /// assert_eq!(sum(&[i32::MAX, 1]), None);
    /// ```
    #[track_caller]
    fn try_reduce<T, OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        let identity = move || Some(identity());
        let failed = AtomicBool::new(false);
        self.drive_unindexed(TryReduce { site: LoopSite::map_reduce(), identity, op, failed })
            .expect("every run began with an identity")
    }

    /// Like [`reduce_with`](Self::reduce_with), until an item or `op` fails. The others then stop within a block.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([Ok(1), Ok(2)].into_par_iter().try_reduce_with(|a, b| Ok::<i32, ()>(a + b)), Some(Ok(3)));
    /// assert_eq!([Ok(1), Err(())].into_par_iter().try_reduce_with(|a, b| Ok(a + b)), Some(Err(())));
    /// ```
    #[track_caller]
    fn try_reduce_with<T, OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        let failed = AtomicBool::new(false);
        self.drive_unindexed(TryReduce { site: LoopSite::map_reduce(), identity: || None, op, failed })
    }

    /// The sum of all items. The order of additions is not fixed: see [`deterministic`](Self::deterministic) for floats.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..10).into_par_iter().sum::<i32>(), 45);
    /// ```
    #[track_caller]
    fn sum<S>(self) -> S
    where
        S: Send + Sum<Self::Item> + Sum<S>,
    {
        let sum = self.drive_unindexed(SumOf { site: LoopSite::map_reduce(), marker: PhantomData });
        sum.unwrap_or_else(|| std::iter::empty::<S>().sum())
    }

    /// The product of all items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((1..6).into_par_iter().product::<i32>(), 120);
    /// ```
    #[track_caller]
    fn product<P>(self) -> P
    where
        P: Send + Product<Self::Item> + Product<P>,
    {
        let product = self.drive_unindexed(ProductOf { site: LoopSite::map_reduce(), marker: PhantomData });
        product.unwrap_or_else(|| std::iter::empty::<P>().product())
    }

    /// The least item, or the first of several.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().min(), Some(&1));
    /// ```
    #[track_caller]
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(Ord::min)
    }

    /// The least item by `f`, or the first of several.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([3.0, 1.0, 2.0f64].par_iter().min_by(|a, b| a.total_cmp(b)), Some(&1.0));
    /// ```
    #[track_caller]
    fn min_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        self.reduce_with(move |a, b| if f(&a, &b) == Ordering::Greater { b } else { a })
    }

    /// The item with the least key, or the first of several.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([-3i32, 1, 2].par_iter().min_by_key(|n| n.abs()), Some(&1));
    /// ```
    #[track_caller]
    fn min_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        let keyed = self.map(move |item| (f(&item), item));
        keyed.reduce_with(|a, b| if a.0 > b.0 { b } else { a }).map(|(_, item)| item)
    }

    /// The greatest item, or the last of several.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().max(), Some(&3));
    /// ```
    #[track_caller]
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(Ord::max)
    }

    /// The greatest item by `f`, or the last of several.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([3.0, 1.0, 2.0f64].par_iter().max_by(|a, b| a.total_cmp(b)), Some(&3.0));
    /// ```
    #[track_caller]
    fn max_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        self.reduce_with(move |a, b| if f(&a, &b) == Ordering::Greater { a } else { b })
    }

    /// The item with the greatest key, or the last of several.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!([-3i32, 1, 2].par_iter().max_by_key(|n| n.abs()), Some(&-3));
    /// ```
    #[track_caller]
    fn max_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        let keyed = self.map(move |item| (f(&item), item));
        keyed.reduce_with(|a, b| if a.0 > b.0 { a } else { b }).map(|(_, item)| item)
    }

    // ---- Search ---------------------------------------------------------------------------------------------

    /// Any item for which `predicate` is true: the one that is found first. The others then stop within a block.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..1000).into_par_iter().find_any(|i| i % 7 == 6).is_some());
    /// ```
    #[track_caller]
    fn find_any<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_any(move |item| predicate(&item).then_some(item))
    }

    /// The first item for which `predicate` is true. An early hit costs little more than in an ordinary loop.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..1000).into_par_iter().find_first(|i| i % 7 == 6), Some(6));
    /// ```
    #[track_caller]
    fn find_first<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_first(move |item| predicate(&item).then_some(item))
    }

    /// The last item for which `predicate` is true.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..1000).into_par_iter().find_last(|i| i % 7 == 6), Some(993));
    /// ```
    #[track_caller]
    fn find_last<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_last(move |item| predicate(&item).then_some(item))
    }

    /// The result of `predicate` for any item for which it returns `Some`: the one that is found first.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(["a", "7"].par_iter().find_map_any(|text| text.parse::<i32>().ok()), Some(7));
    /// ```
    #[track_caller]
    fn find_map_any<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.drive_unindexed(FindAny {
            site: LoopSite::map_reduce(),
            op: predicate,
            found: AtomicBool::new(false),
        })
    }

    /// The result of `predicate` for the first item for which it returns `Some`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(["a", "7", "8"].par_iter().find_map_first(|text| text.parse::<i32>().ok()), Some(7));
    /// ```
    #[track_caller]
    fn find_map_first<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        let best = AtomicUsize::new(usize::MAX);
        self.drive_unindexed(FindFirst { site: LoopSite::map_reduce(), op: predicate, best })
    }

    /// The result of `predicate` for the last item for which it returns `Some`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(["a", "7", "8"].par_iter().find_map_last(|text| text.parse::<i32>().ok()), Some(8));
    /// ```
    #[track_caller]
    fn find_map_last<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        let best = AtomicUsize::new(0);
        self.drive_unindexed(FindLast { site: LoopSite::map_reduce(), op: predicate, best })
    }

    #[doc(hidden)]
    #[deprecated(note = "use `find_any`, `find_first` or `find_last`")]
    #[track_caller]
    fn find<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_any(predicate)
    }

    /// Whether `predicate` is true for any item.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..100).into_par_iter().any(|i| i == 50));
    /// ```
    #[track_caller]
    fn any<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.find_map_any(move |item| predicate(item).then_some(())).is_some()
    }

    /// Whether `predicate` is true for all items.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert!((0..100).into_par_iter().all(|i| i < 100));
    /// ```
    #[track_caller]
    fn all<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        !self.any(move |item| !predicate(item))
    }

    // ---- Collections ----------------------------------------------------------------------------------------

    /// Collects the items in order. If their number is known, a vector is allocated once and the items are written
    /// directly into place.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// use std::collections::HashMap;
    /// let squares: Vec<_> = (0..4).into_par_iter().map(|i| i * i).collect();
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// let lengths: HashMap<_, _> = ["fork", "steal"].par_iter().map(|word| (word.len(), *word)).collect();
    /// assert_eq!(lengths[&5], "steal");
    /// let numbers: Result<Vec<i32>, _> = ["1", "x"].par_iter().map(|text| text.parse::<i32>()).collect();
    /// assert!(numbers.is_err());
    /// ```
    #[track_caller]
    fn collect<C>(self) -> C
    where
        C: FromParallelIterator<Self::Item>,
    {
        C::from_par_iter(Sited { base: self, site: LoopSite::map_reduce() })
    }

    /// Makes two collections from pairs.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let (numbers, squares): (Vec<_>, Vec<_>) = (0..3).into_par_iter().map(|i| (i, i * i)).unzip();
    /// assert_eq!((numbers, squares), (vec![0, 1, 2], vec![0, 1, 4]));
    /// ```
    #[track_caller]
    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
        A: Send,
        B: Send,
    {
        let mut both = (FromA::default(), FromB::default());
        both.par_extend(Sited { base: self, site: LoopSite::map_reduce() });
        both
    }

    /// Makes two collections: the items for which `predicate` is true, and the others.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let (even, odd): (Vec<_>, Vec<_>) = (0..5).into_par_iter().partition(|i| i % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3]));
    /// ```
    #[track_caller]
    fn partition<A, B, P>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        let mut both = (A::default(), B::default());
        let sited = Sited { base: self, site: LoopSite::map_reduce() };
        extend_both(sited, ByPredicate(predicate), &mut both.0, &mut both.1);
        both
    }

    /// Makes two collections, of what `predicate` puts left and right.
    ///
    /// ```
    /// use bombyx::iter::Either;
    /// use bombyx::prelude::*;
    /// let (numbers, words): (Vec<i32>, Vec<&str>) = ["1", "x"].par_iter().partition_map(|text| match text.parse::<i32>() {
    ///     Ok(number) => Either::Left(number),
    ///     Err(_) => Either::Right(*text),
    /// });
    /// assert_eq!((numbers, words), (vec![1], vec!["x"]));
    /// ```
    #[track_caller]
    fn partition_map<A, B, P, L, R>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<L>,
        B: Default + Send + ParallelExtend<R>,
        P: Fn(Self::Item) -> Either<L, R> + Sync + Send,
        L: Send,
        R: Send,
    {
        let mut both = (A::default(), B::default());
        let sited = Sited { base: self, site: LoopSite::map_reduce() };
        extend_both(sited, ByEither(predicate), &mut both.0, &mut both.1);
        both
    }

    /// The items in the pieces in which they were computed. For collections that take them piece by piece.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let list = (0..1000).into_par_iter().filter(|i| i % 2 == 0).collect_vec_list();
    /// assert_eq!(list.iter().map(Vec::len).sum::<usize>(), 500);
    /// ```
    #[track_caller]
    fn collect_vec_list(self) -> LinkedList<Vec<Self::Item>> {
        let sited = Sited { base: self, site: LoopSite::map_reduce() };
        match sited.opt_len() {
            Some(0) => LinkedList::new(),
            Some(_) => LinkedList::from([sited.collect()]),
            None => pieces(sited).into_iter().collect(),
        }
    }

    // ---- Plumbing -------------------------------------------------------------------------------------------

    /// Feeds the consumer with all items. For authors of iterators: see [`plumbing`](super::plumbing).
    fn drive_unindexed<C>(self, consumer: C) -> C::Result
    where
        C: UnindexedConsumer<Self::Item>;

    /// How many items there are, if known. Then the consumer learns the exact position of every item.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..10).into_par_iter().map(|i| i + 1).opt_len(), Some(10));
    /// assert_eq!((0..10).into_par_iter().filter(|i| *i > 1).opt_len(), None);
    /// ```
    fn opt_len(&self) -> Option<usize> {
        None
    }

    #[doc(hidden)]
    fn drive_onto<C>(self, consumer: &C, folder: C::Folder) -> Onto<C::Folder, C::Result>
    where
        C: Consumer<Self::Item>,
    {
        let first = consumer.complete(folder);
        let rest = self.drive_unindexed(Inner { base: consumer, at: None });
        Onto::Result(consumer.reduce(first, rest))
    }
}

impl<T: ParallelIterator> IntoParallelIterator for T {
    type Iter = T;
    type Item = T::Item;

    fn into_par_iter(self) -> T {
        self
    }
}
