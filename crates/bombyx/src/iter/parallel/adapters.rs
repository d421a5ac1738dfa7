//! The methods that turn an iterator into another one. One trait is one item, so they come as a macro that
//! [`ParallelIterator`](super::ParallelIterator) calls.

macro_rules! adapters {
    () => {
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
        /// is an iterator over these values. Their number depends on when other processors wanted work, so combine them.
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

        /// Yields each item as `Ok` until the token is cancelled, and then [`Cancelled`]. Consumers that stop at an error,
        /// such as [`try_for_each`](Self::try_for_each) or collecting into a `Result`, then stop within a block. This asks
        /// the token once for each item, which reads the clock if the token has a deadline.
        ///
        /// ```
        /// use bombyx::{CancelToken, Cancelled, prelude::*};
        /// let token = CancelToken::new();
        /// let all: Result<Vec<u32>, Cancelled> = (0..100).into_par_iter().cancellable(&token).collect();
        /// assert_eq!(all.unwrap().len(), 100);
        ///
        /// let endless = (0..u64::MAX).into_par_iter().cancellable(&token);
        /// let stopped = endless.try_for_each(|n| {
        ///     if n? == 1000 {
        ///         token.cancel();
        ///     }
        ///     Ok(())
        /// });
        /// assert_eq!(stopped, Err(Cancelled));
        /// ```
        fn cancellable(
            self,
            token: &CancelToken,
        ) -> impl ParallelIterator<Item = Result<Self::Item, Cancelled>> {
            let token = token.clone();
            self.map(move |item| token.check().map(|()| item))
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
        /// the same. Put this last in the chain. To collect into a vector that you have, use
        /// [`par_extend`](ParallelExtend::par_extend).
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
        /// shared. Put this last in the chain. To collect into a vector that you have, use
        /// [`par_extend`](ParallelExtend::par_extend).
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

        /// Gives the closures a value for each processor that takes part, made by `init`. For closures that need scratch
        /// space or count something. The loop hands all values back at the end.
        ///
        /// No two closures have a value at the same time. So if closures join or block, there may be more values than
        /// processors: a closure that waits keeps its value, and meanwhile its processor may go on with others.
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
    };
}

pub(super) use adapters;
