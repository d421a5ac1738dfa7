//! Adapters that do not touch the items: `deterministic` changes how the loop splits, and `progress` reports how far it is.

use super::explain::Trace;
use super::plumbing::{Consumer, Extent, Plan, UnindexedConsumer, as_base};
use super::{ParallelIterator, delegate};
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
        let total = self.base.opt_len();
        self.base.drive_unindexed(Telling {
            base: consumer,
            tell: self.tell,
            done: AtomicUsize::new(0),
            total,
        })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

/// Counts what its base has consumed.
struct Telling<C, F> {
    base: C,
    tell: F,
    done: AtomicUsize,
    total: Option<usize>,
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
        (self.tell)(self.done.fetch_add(count, Relaxed) + count, self.total);
        folder
    }
    #[inline]
    fn full(&self, folder: &C::Folder) -> bool {
        self.base.full(folder)
    }
    as_base!(folder);
}
