//! `by_exponential_blocks` and `by_uniform_blocks`: blocks that follow each other, each computed in parallel.

use super::pairs::Shifted;
use super::plumbing::{
    Consumer, Extent, Producer, ProducerCallback, UnindexedConsumer, bridge_producer_consumer,
};
use super::{IndexedParallelIterator, ParallelIterator};
use bombyx_core::loop_plumbing as runtime;

/// From [`IndexedParallelIterator::by_exponential_blocks`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct ExponentialBlocks<I> {
    pub(crate) base: I,
}

/// From [`IndexedParallelIterator::by_uniform_blocks`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct UniformBlocks<I> {
    pub(crate) base: I,
    pub(crate) size: usize,
}

impl<I: IndexedParallelIterator> ParallelIterator for ExponentialBlocks<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let len = self.base.len();
        self.base.with_producer(Blocks { consumer, len, size: runtime::processors(), growth: 2 })
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for UniformBlocks<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let len = self.base.len();
        self.base.with_producer(Blocks { consumer, len, size: self.size, growth: 1 })
    }
}

struct Blocks<C> {
    consumer: C,
    len: usize,
    size: usize,
    growth: usize,
}

impl<T, C: Consumer<T>> ProducerCallback<T> for Blocks<C> {
    type Output = C::Result;

    fn callback<P: Producer<Item = T>>(self, mut producer: P) -> C::Result {
        let Blocks { consumer, mut len, mut size, growth } = self;
        let (mut offset, mut sum) = (0, None);
        loop {
            let block = size.min(len);
            let (first, rest) = producer.split_at(block);
            let result = bridge_producer_consumer(
                block,
                first,
                Shifted { base: &consumer, offset, limit: block, exact: false },
            );
            let settled = consumer.settled(&result);
            let so_far = match sum.take() {
                Some(sum) => consumer.reduce(sum, result),
                None => result,
            };
            producer = rest;
            offset += block;
            len -= block;
            size = size.saturating_mul(growth);
            if len == 0 || settled || is_full(&consumer, offset, offset + len) {
                return so_far;
            }
            sum = Some(so_far);
        }
    }
}

/// Whether the items from there on make no difference.
fn is_full<T, C: Consumer<T>>(consumer: &C, start: usize, end: usize) -> bool {
    consumer.full(&consumer.start(Extent { start, end, exact: false }))
}
