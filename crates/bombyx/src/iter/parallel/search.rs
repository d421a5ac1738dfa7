//! The methods that look for an item. One trait is one item, so they come as a macro that
//! [`ParallelIterator`](super::ParallelIterator) calls.

macro_rules! search {
    () => {
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
                site: LoopSite::iterator(),
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
            self.drive_unindexed(FindFirst { site: LoopSite::iterator(), op: predicate, best })
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
            self.drive_unindexed(FindLast { site: LoopSite::iterator(), op: predicate, best })
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
    };
}

pub(super) use search;
