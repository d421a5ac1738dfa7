//! Adapters that do not touch the items: `deterministic` changes how the loop splits, and `progress` reports how far it is.

use super::explain::Trace;
use super::plumbing::{Consumer, Extent, Plan, Producer, ProducerCallback, UnindexedConsumer, as_base};
use super::producers::{Adapt, with_base};
use super::{IndexedParallelIterator, ParallelIterator, delegate};
use bombyx_core::loop_plumbing::LoopSite;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// A consumer with another plan.
pub(crate) struct Planned<'t, C> {
    pub(crate) base: C,
    pub(crate) change: Change<'t>,
}

/// What the new plan changes.
#[derive(Clone, Copy)]
pub(crate) enum Change<'t> {
    Site(LoopSite),
    Fixed,
    Trace(&'t Trace),
}

impl<T, C: Consumer<T>> Consumer<T> for Planned<'_, C> {
    type Folder = C::Folder;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> C::Folder {
        self.base.start(extent)
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: C::Folder, iter: I) -> C::Folder {
        self.base.consume_iter(folder, iter)
    }
    fn complete(&self, folder: C::Folder) -> C::Result {
        self.base.complete(folder)
    }
    fn narrow(&self, folder: &mut C::Folder, end: usize) {
        self.base.narrow(folder, end);
    }
    fn reduce(&self, left: C::Result, right: C::Result) -> C::Result {
        self.base.reduce(left, right)
    }
    #[inline]
    fn full(&self, folder: &C::Folder) -> bool {
        self.base.full(folder)
    }
    fn settled(&self, result: &C::Result) -> bool {
        self.base.settled(result)
    }
    fn plan(&self) -> Plan<'_> {
        let plan = self.base.plan();
        match self.change {
            Change::Site(site) => Plan { site, ..plan },
            Change::Fixed => Plan { fixed: true, ..plan },
            Change::Trace(trace) => Plan { trace: Some(trace), ..plan },
        }
    }
}

/// A loop whose site is the place where its method was called, not the place of the collection that runs it.
#[derive(Clone, Debug)]
pub(crate) struct Sited<I> {
    pub(crate) base: I,
    pub(crate) site: LoopSite,
}

impl<I: ParallelIterator> ParallelIterator for Sited<I> {
    type Item = I::Item;

    #[inline]
    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Planned { base: consumer, change: Change::Site(self.site) })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

/// From [`ParallelIterator::deterministic`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Deterministic<I> {
    pub(crate) base: I,
}

impl<I: ParallelIterator> ParallelIterator for Deterministic<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Planned { base: consumer, change: Change::Fixed })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

/// From [`ParallelIterator::progress`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Progress<I, F> {
    pub(crate) base: I,
    pub(crate) tell: F,
}

delegate::debug!(Progress<I> [F] base);

impl<I, F> ParallelIterator for Progress<I, F>
where
    I: ParallelIterator,
    F: Fn(usize, Option<usize>) + Sync + Send,
{
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let told = Told { tell: self.tell, done: AtomicUsize::new(0), total: self.base.opt_len() };
        self.base.drive_unindexed(Telling { base: consumer, told })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, F> IndexedParallelIterator for Progress<I, F>
where
    I: IndexedParallelIterator,
    F: Fn(usize, Option<usize>) + Sync + Send,
{
    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        let told = Told { tell: self.tell, done: AtomicUsize::new(0), total: Some(self.base.len()) };
        with_base(self.base, &told, callback)
    }
}

/// Counts what is done, and tells.
struct Told<F> {
    tell: F,
    done: AtomicUsize,
    total: Option<usize>,
}

impl<F: Fn(usize, Option<usize>)> Told<F> {
    fn add(&self, count: usize) {
        (self.tell)(self.done.fetch_add(count, Relaxed) + count, self.total);
    }
}

impl<'t, T, F: Fn(usize, Option<usize>) + Sync + Send> Adapt<T> for &'t Told<F> {
    type Item = T;
    type Producer<P: Producer<Item = T>> = ToldProducer<'t, P, F>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> ToldProducer<'t, P, F> {
        ToldProducer { base, told: self }
    }
}

struct ToldProducer<'t, P, F> {
    base: P,
    told: &'t Told<F>,
}

impl<'t, P: Producer, F: Fn(usize, Option<usize>) + Sync + Send> Producer for ToldProducer<'t, P, F> {
    type Item = P::Item;
    type IntoIter = ToldItems<'t, P::IntoIter, F>;

    fn into_iter(self) -> Self::IntoIter {
        ToldItems { base: self.base.into_iter(), told: self.told, count: 0 }
    }
    fn min_len(&self) -> usize {
        self.base.min_len()
    }
    fn max_len(&self) -> usize {
        self.base.max_len()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (ToldProducer { base: left, told: self.told }, ToldProducer { base: right, told: self.told })
    }
}

/// The items of a block. At its end it tells how many were taken.
struct ToldItems<'t, I, F: Fn(usize, Option<usize>)> {
    base: I,
    told: &'t Told<F>,
    count: usize,
}

impl<I: Iterator, F: Fn(usize, Option<usize>)> Iterator for ToldItems<'_, I, F> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let item = self.base.next();
        self.count += usize::from(item.is_some());
        item
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.base.size_hint()
    }
}

impl<I: DoubleEndedIterator, F: Fn(usize, Option<usize>)> DoubleEndedIterator for ToldItems<'_, I, F> {
    fn next_back(&mut self) -> Option<I::Item> {
        let item = self.base.next_back();
        self.count += usize::from(item.is_some());
        item
    }
}

impl<I: ExactSizeIterator, F: Fn(usize, Option<usize>)> ExactSizeIterator for ToldItems<'_, I, F> {}

impl<I, F: Fn(usize, Option<usize>)> Drop for ToldItems<'_, I, F> {
    fn drop(&mut self) {
        if self.count > 0 && !std::thread::panicking() {
            self.told.add(self.count);
        }
    }
}

/// Counts what its base has consumed.
struct Telling<C, F> {
    base: C,
    told: Told<F>,
}

impl<T, C: Consumer<T>, F: Fn(usize, Option<usize>) + Sync + Send> Consumer<T> for Telling<C, F> {
    type Folder = C::Folder;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> C::Folder {
        self.base.start(extent)
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: C::Folder, iter: I) -> C::Folder {
        let mut count = 0;
        let folder = self.base.consume_iter(folder, iter.inspect(|_| count += 1));
        self.told.add(count);
        folder
    }
    #[inline]
    fn full(&self, folder: &C::Folder) -> bool {
        self.base.full(folder)
    }
    as_base!(folder);
}
