//! [`Either`] of two iterators, or of two collections, is what it holds.

use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::{IndexedParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator, onto::Onto};
use ::either::{Either, for_both};

impl<L, R> ParallelIterator for Either<L, R>
where
    L: ParallelIterator,
    R: ParallelIterator<Item = L::Item>,
{
    type Item = L::Item;

    #[inline]
    fn drive_unindexed<C: UnindexedConsumer<L::Item>>(self, consumer: C) -> C::Result {
        for_both!(self, iter => iter.drive_unindexed(consumer))
    }

    fn opt_len(&self) -> Option<usize> {
        for_both!(self, iter => iter.opt_len())
    }

    #[inline]
    fn drive_onto<C: Consumer<L::Item>>(self, consumer: &C, folder: C::Folder) -> Onto<C::Folder, C::Result> {
        for_both!(self, iter => iter.drive_onto(consumer, folder))
    }
}

impl<L, R> IndexedParallelIterator for Either<L, R>
where
    L: IndexedParallelIterator,
    R: IndexedParallelIterator<Item = L::Item>,
{
    fn len(&self) -> usize {
        for_both!(self, iter => iter.len())
    }

    #[inline]
    fn with_producer<CB: ProducerCallback<L::Item>>(self, callback: CB) -> CB::Output {
        for_both!(self, iter => iter.with_producer(callback))
    }
}

impl<L, R, T: Send> ParallelExtend<T> for Either<L, R>
where
    L: ParallelExtend<T>,
    R: ParallelExtend<T>,
{
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        for_both!(self, collection => collection.par_extend(iter));
    }
}
