//! [`ParallelIterator`]: the methods of every parallel iterator.
//!
//! **Not here:** methods that need to know the number of items. They are in
//! [`IndexedParallelIterator`](crate::iter::IndexedParallelIterator).

mod adapters;
mod search;

use crate::iter::collect::pieces;
use crate::iter::explain::{Explain, Explanation};
use crate::iter::find::{FindAny, FindFirst, FindLast};
use crate::iter::fold::{FlatMap, Flatten, Fold, FoldWith, MapInit, MapWith, TryFold, TryFoldWith};
use crate::iter::intersperse::Intersperse;
use crate::iter::modes::{Deterministic, Progress, Sited};
use crate::iter::onto::{Inner, Onto};
use crate::iter::pairs::Chain;
use crate::iter::plumbing::{Consumer, UnindexedConsumer};
use crate::iter::private::Try;
use crate::iter::stage::{
    Cloned, Copied, Filter, FilterMap, FlatMapIter, FlattenIter, Inspect, Map, PanicFuse, SkipAny,
    SkipAnyWhile, TakeAny, TakeAnyWhile, Update, WhileSome,
};
use crate::iter::state::WithState;
use crate::iter::terminal::{Count, ForEach, ProductOf, Reduce, ReduceWith, SumOf, TryReduce};
use crate::iter::unzip::{ByEither, ByPredicate, extend_both};
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend};
use bombyx_core::loop_plumbing::LoopSite;
use bombyx_core::{CancelToken, Cancelled};
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

    adapters::adapters!();

    // ---- One value ------------------------------------------------------------------------------------------

    /// How many items there are.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..100).into_par_iter().filter(|i| i % 7 == 0).count(), 15);
    /// ```
    #[track_caller]
    fn count(self) -> usize {
        self.drive_unindexed(Count { site: LoopSite::iterator() })
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
        self.drive_unindexed(Reduce { site: LoopSite::iterator(), identity, op })
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
        self.drive_unindexed(ReduceWith { site: LoopSite::iterator(), op })
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
        self.drive_unindexed(TryReduce { site: LoopSite::iterator(), identity, op, failed })
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
        self.drive_unindexed(TryReduce { site: LoopSite::iterator(), identity: || None, op, failed })
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
        let sum = self.drive_unindexed(SumOf { site: LoopSite::iterator(), marker: PhantomData });
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
        let product = self.drive_unindexed(ProductOf { site: LoopSite::iterator(), marker: PhantomData });
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

    search::search!();

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
        C::from_par_iter(Sited { base: self, site: LoopSite::iterator() })
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
        both.par_extend(Sited { base: self, site: LoopSite::iterator() });
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
        let sited = Sited { base: self, site: LoopSite::iterator() };
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
        let sited = Sited { base: self, site: LoopSite::iterator() };
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
        let sited = Sited { base: self, site: LoopSite::iterator() };
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
