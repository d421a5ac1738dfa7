//! What parallel iterators are made of. Only authors of new sources need this; users of iterators do not.
//!
//! A [`Producer`] is a part of a loop that knows its length. It can be cut in two anywhere, and turned into an ordinary
//! iterator. An [`UnindexedProducer`] chooses itself where it is cut. A [`Consumer`] says what becomes of the items.
//! One consumer serves the whole loop, by reference. Every run of blocks on one processor has its own folder, made by
//! the consumer. The folder takes block after block and ends as a result. The results of neighbours are combined in
//! order.
//!
//! The names are those of rayon's plumbing. Producers, callbacks and `drive` methods that only pass a consumer on are
//! the same. Consumers are not: rayon's are cut at a known place before the work begins, and here nobody knows that
//! place before somebody wants work. So consumers cannot be written outside this crate.
//!
//! ```
//! use bombyx::iter::plumbing::{ProducerCallback, UnindexedConsumer, bridge};
//! use bombyx::prelude::*;
//!
//! /// The even numbers below 2n.
//! struct Evens(usize);
//!
//! impl ParallelIterator for Evens {
//!     type Item = usize;
//!     fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
//!         bridge(self, consumer)
//!     }
//!     fn opt_len(&self) -> Option<usize> {
//!         Some(self.0)
//!     }
//! }
//!
//! impl IndexedParallelIterator for Evens {
//!     fn len(&self) -> usize {
//!         self.0
//!     }
//!     fn with_producer<CB: ProducerCallback<usize>>(self, callback: CB) -> CB::Output {
//!         (0..self.0).into_par_iter().map(|i| 2 * i).with_producer(callback)
//!     }
//! }
//!
//! assert_eq!(Evens(5).collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
//! assert_eq!(Evens(1000).zip(0..1000usize).filter(|(even, i)| even / 2 == *i).count(), 1000);
//! ```

use super::IndexedParallelIterator;
use super::driver;
pub(crate) use sealed::{Extent, Plan};

/// Something to do with a producer, whatever its type.
pub trait ProducerCallback<T> {
    /// The result.
    type Output;

    /// Does it with this producer.
    fn callback<P>(self, producer: P) -> Self::Output
    where
        P: Producer<Item = T>;
}

/// A part of a loop that knows its length.
pub trait Producer: Send + Sized {
    /// The type of the items.
    type Item;
    /// The ordinary iterator that it turns into.
    type IntoIter: Iterator<Item = Self::Item> + DoubleEndedIterator + ExactSizeIterator;

    /// The items, one after the other.
    fn into_iter(self) -> Self::IntoIter;

    /// Parts with fewer items should not be made.
    fn min_len(&self) -> usize {
        1
    }

    /// Parts with more items should be cut.
    fn max_len(&self) -> usize {
        usize::MAX
    }

    /// Cuts in two: the first `index` items, and the rest.
    fn split_at(self, index: usize) -> (Self, Self);

    /// Hands all items to the folder.
    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>,
    {
        folder.consume_iter(self.into_iter())
    }
}

/// A part of a loop that can be cut in two, but does not know how many items it has.
pub trait UnindexedProducer: Send + Sized {
    /// The type of the items.
    type Item;

    /// Cuts in two, if possible.
    fn split(self) -> (Self, Option<Self>);

    /// Hands all items to the folder.
    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>;
}

/// Takes items one after the other.
pub trait Folder<Item>: Sized {
    /// The result of all items.
    type Result;

    /// Takes an item.
    fn consume(self, item: Item) -> Self;

    /// Takes many items.
    fn consume_iter<I>(self, iter: I) -> Self
    where
        I: IntoIterator<Item = Item>;

    /// Ends, and returns the result.
    fn complete(self) -> Self::Result;

    /// Whether further items make no difference.
    fn full(&self) -> bool;
}

/// What becomes of the items of a loop. Only this crate has any: see [the module](self).
pub trait Consumer<Item>: Send + Sync + Sized {
    /// What one run of blocks carries from one item to the next.
    type Folder;
    /// The result of a run.
    type Result: Send;

    /// Begins a run.
    #[doc(hidden)]
    fn start(&self, extent: Extent) -> Self::Folder;

    /// Takes a block.
    fn consume_iter<I>(&self, folder: Self::Folder, iter: I) -> Self::Folder
    where
        I: Iterator<Item = Item>;

    /// Ends a run.
    fn complete(&self, folder: Self::Folder) -> Self::Result;

    /// Combines the results of neighbours.
    fn reduce(&self, left: Self::Result, right: Self::Result) -> Self::Result;

    /// The run will end before this position, because what follows has become another run.
    fn narrow(&self, folder: &mut Self::Folder, end: usize);

    /// Whether further items of this run make no difference.
    fn full(&self, folder: &Self::Folder) -> bool;

    /// Whether items after those of a result make no difference to it.
    fn settled(&self, _: &Self::Result) -> bool {
        false
    }

    /// How the loop should run.
    #[doc(hidden)]
    fn plan(&self) -> Plan<'_>;
}

/// The same as [`Consumer`]: here every consumer works without positions.
pub trait UnindexedConsumer<Item>: Consumer<Item> {}

impl<Item, C: Consumer<Item>> UnindexedConsumer<Item> for C {}

mod sealed {
    use crate::iter::explain::Trace;
    use bombyx_core::loop_plumbing::LoopSite;

    /// Which items a run gets. Only the driver makes extents, each for a part of its loop that no other run has.
    #[derive(Debug)]
    pub struct Extent {
        pub(crate) start: usize,
        pub(crate) end: usize,
        /// Whether the positions are those of the items. If not, they only have the same order.
        pub(crate) exact: bool,
    }

    impl Extent {
        /// The same extent, for items that may be fewer or more than the positions.
        pub(crate) fn inexact(self) -> Extent {
            Extent { exact: false, ..self }
        }
    }

    /// How a loop should run. Its last consumer decides.
    #[derive(Clone, Copy, Debug)]
    pub struct Plan<'a> {
        pub(crate) site: LoopSite,
        /// Whether the loop splits in the same way in every run.
        pub(crate) fixed: bool,
        /// Where to report what the loop did.
        pub(crate) trace: Option<&'a Trace>,
        /// Whether every piece has a value that owns something, such as a map.
        pub(crate) carries: bool,
    }

    impl Plan<'_> {
        pub(crate) fn at(site: LoopSite) -> Plan<'static> {
            Plan { site, fixed: false, trace: None, carries: false }
        }

        /// Every piece has a value of this type.
        #[inline]
        pub(crate) fn carries<T>(self) -> Self {
            Plan { carries: self.carries || std::mem::needs_drop::<T>(), ..self }
        }
    }
}

/// A folder together with its consumer.
pub(crate) struct Running<'a, Item, C: Consumer<Item>> {
    pub(crate) consumer: &'a C,
    pub(crate) folder: C::Folder,
}

impl<Item, C: Consumer<Item>> Folder<Item> for Running<'_, Item, C> {
    type Result = C::Result;

    #[inline]
    fn consume(self, item: Item) -> Self {
        self.consume_iter(std::iter::once(item))
    }

    #[inline]
    fn consume_iter<I>(self, iter: I) -> Self
    where
        I: IntoIterator<Item = Item>,
    {
        Running { folder: self.consumer.consume_iter(self.folder, iter.into_iter()), ..self }
    }

    #[inline]
    fn complete(self) -> C::Result {
        self.consumer.complete(self.folder)
    }

    #[inline]
    fn full(&self) -> bool {
        self.consumer.full(&self.folder)
    }
}

/// Feeds a consumer with all items of an iterator that has a producer.
pub fn bridge<I, C>(par_iter: I, consumer: C) -> C::Result
where
    I: IndexedParallelIterator,
    C: Consumer<I::Item>,
{
    struct Feed<C> {
        len: usize,
        consumer: C,
    }

    impl<T, C: Consumer<T>> ProducerCallback<T> for Feed<C> {
        type Output = C::Result;

        #[inline]
        fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
            bridge_producer_consumer(self.len, producer, self.consumer)
        }
    }

    let len = par_iter.len();
    par_iter.with_producer(Feed { len, consumer })
}

/// Feeds a consumer with the `len` items of a producer.
pub fn bridge_producer_consumer<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    driver::drive(driver::Indexed { producer, len }, &consumer)
}

/// Feeds a consumer with all items of a producer that does not know how many there are.
pub fn bridge_unindexed<P, C>(producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    driver::drive_tree(producer, &consumer)
}

/// The methods of a consumer that only asks another one, its `base`. Both combine the same results.
macro_rules! as_base {
    (results) => {
        as_base!(combined);
        as_base!(plan);
    };
    (results, carries $value:ty) => {
        as_base!(combined);
        #[inline]
        fn plan(&self) -> $crate::iter::plumbing::Plan<'_> {
            self.base.plan().carries::<$value>()
        }
    };
    (combined) => {
        #[inline]
        fn reduce(&self, left: Self::Result, right: Self::Result) -> Self::Result {
            self.base.reduce(left, right)
        }
        #[inline]
        fn settled(&self, result: &Self::Result) -> bool {
            self.base.settled(result)
        }
    };
    (plan) => {
        #[inline]
        fn plan(&self) -> $crate::iter::plumbing::Plan<'_> {
            self.base.plan()
        }
    };
    (folder) => {
        #[inline]
        fn complete(&self, folder: Self::Folder) -> Self::Result {
            self.base.complete(folder)
        }
        #[inline]
        fn narrow(&self, folder: &mut Self::Folder, end: usize) {
            self.base.narrow(folder, end);
        }
        as_base!(results);
    };
}
pub(crate) use as_base;
