//! Adapters of indexed iterators that move, count or choose positions: `enumerate`, `rev`, `skip`, `take`, `step_by`,
//! and the limits on parts.

use super::plumbing::{Producer, bridge_producer_consumer};
use super::producers::{Adapt, lengths_of, with_base};
use super::terminal::ForEach;
use super::{IndexedParallelIterator, delegate};
use bombyx_core::loop_plumbing::LoopSite;
use std::iter;
use std::ops::Range;

/// An adapter with a field and its own producer.
macro_rules! adapter {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $fty:ty),* } => $item:ty; len($this:ident) $len:expr; adapt($owner:ident) $adapt:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<I> {
            pub(crate) base: I,
            $(pub(crate) $field: $fty,)*
        }

        delegate::indexed! {
            [I: IndexedParallelIterator] $name<I> => $item;
            len($this) { $len }
            with_producer($owner, callback) {
                let adapt = $adapt;
                with_base($owner.base, adapt, callback)
            }
        }
    };
}

// ---- enumerate ----------------------------------------------------------------------------------------------

adapter! {
    /// From [`IndexedParallelIterator::enumerate`].
    Enumerate {} => (usize, I::Item); len(this) this.base.len(); adapt(this) EnumerateAdapt
}

pub(crate) struct EnumerateAdapt;
pub(crate) struct EnumerateProducer<P> {
    base: P,
    offset: usize,
}

impl<T> Adapt<T> for EnumerateAdapt {
    type Item = (usize, T);
    type Producer<P: Producer<Item = T>> = EnumerateProducer<P>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> EnumerateProducer<P> {
        EnumerateProducer { base, offset: 0 }
    }
}

impl<P: Producer> Producer for EnumerateProducer<P> {
    type Item = (usize, P::Item);
    type IntoIter = iter::Zip<Range<usize>, P::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        let base = self.base.into_iter();
        // Both have the same length, so that they also match from behind. The sum does not overflow, because there are
        // that many items.
        (self.offset..self.offset + base.len()).zip(base)
    }
    lengths_of!(base);
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (
            EnumerateProducer { base: left, offset: self.offset },
            EnumerateProducer { base: right, offset: self.offset + index },
        )
    }
}

// ---- rev ----------------------------------------------------------------------------------------------------

adapter! {
    /// From [`IndexedParallelIterator::rev`].
    Rev {} => I::Item; len(this) this.base.len(); adapt(this) RevAdapt { len: this.base.len() }
}

pub(crate) struct RevAdapt {
    len: usize,
}
pub(crate) struct RevProducer<P> {
    base: P,
    len: usize,
}

impl<T> Adapt<T> for RevAdapt {
    type Item = T;
    type Producer<P: Producer<Item = T>> = RevProducer<P>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> RevProducer<P> {
        RevProducer { base, len: self.len }
    }
}

impl<P: Producer> Producer for RevProducer<P> {
    type Item = P::Item;
    type IntoIter = iter::Rev<P::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.base.into_iter().rev()
    }
    lengths_of!(base);
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(self.len - index);
        (RevProducer { base: right, len: index }, RevProducer { base: left, len: self.len - index })
    }
}

// ---- skip and take ------------------------------------------------------------------------------------------

adapter! {
    /// From [`IndexedParallelIterator::skip`].
    Skip { count: usize } => I::Item; len(this) this.base.len() - this.count; adapt(this) SkipAdapt(this.count)
}

pub(crate) struct SkipAdapt(usize);

impl<T: Send> Adapt<T> for SkipAdapt {
    type Item = T;
    type Producer<P: Producer<Item = T>> = P;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> P {
        let (skipped, rest) = base.split_at(self.0);
        // As with ordinary iterators, closures before this one see the skipped items.
        bridge_producer_consumer(self.0, skipped, ForEach { site: LoopSite::for_each(), op: drop });
        rest
    }
}

adapter! {
    /// From [`IndexedParallelIterator::take`].
    Take { count: usize } => I::Item; len(this) this.count; adapt(this) TakeAdapt(this.count)
}

pub(crate) struct TakeAdapt(usize);

impl<T> Adapt<T> for TakeAdapt {
    type Item = T;
    type Producer<P: Producer<Item = T>> = P;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> P {
        base.split_at(self.0).0
    }
}

// ---- step_by ------------------------------------------------------------------------------------------------

adapter! {
    /// From [`IndexedParallelIterator::step_by`].
    StepBy { step: usize } => I::Item;
    len(this) this.base.len().div_ceil(this.step);
    adapt(this) StepByAdapt { step: this.step, len: this.base.len() }
}

pub(crate) struct StepByAdapt {
    step: usize,
    len: usize,
}
pub(crate) struct StepByProducer<P> {
    base: P,
    step: usize,
    /// The length of the base.
    len: usize,
}

impl<T> Adapt<T> for StepByAdapt {
    type Item = T;
    type Producer<P: Producer<Item = T>> = StepByProducer<P>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> StepByProducer<P> {
        StepByProducer { base, step: self.step, len: self.len }
    }
}

impl<P: Producer> Producer for StepByProducer<P> {
    type Item = P::Item;
    type IntoIter = iter::StepBy<P::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.base.into_iter().step_by(self.step)
    }
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = index.saturating_mul(self.step).min(self.len);
        let (left, right) = self.base.split_at(middle);
        let step = self.step;
        (
            StepByProducer { base: left, step, len: middle },
            StepByProducer { base: right, step, len: self.len - middle },
        )
    }
    fn min_len(&self) -> usize {
        self.base.min_len().div_ceil(self.step)
    }
    fn max_len(&self) -> usize {
        (self.base.max_len() / self.step).max(1)
    }
}

// ---- Bounds on parts ----------------------------------------------------------------------------------------

adapter! {
    /// From [`IndexedParallelIterator::with_min_len`].
    MinLen { min: usize } => I::Item; len(this) this.base.len(); adapt(this) Bounds { min: this.min, max: usize::MAX }
}

adapter! {
    /// From [`IndexedParallelIterator::with_max_len`].
    MaxLen { max: usize } => I::Item; len(this) this.base.len(); adapt(this) Bounds { min: 1, max: this.max }
}

#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    min: usize,
    max: usize,
}
pub(crate) struct BoundedProducer<P> {
    base: P,
    bounds: Bounds,
}

impl<T> Adapt<T> for Bounds {
    type Item = T;
    type Producer<P: Producer<Item = T>> = BoundedProducer<P>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> BoundedProducer<P> {
        BoundedProducer { base, bounds: self }
    }
}

impl<P: Producer> Producer for BoundedProducer<P> {
    type Item = P::Item;
    type IntoIter = P::IntoIter;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.base.into_iter()
    }
    fn min_len(&self) -> usize {
        self.base.min_len().max(self.bounds.min)
    }
    fn max_len(&self) -> usize {
        self.base.max_len().min(self.bounds.max)
    }
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (
            BoundedProducer { base: left, bounds: self.bounds },
            BoundedProducer { base: right, bounds: self.bounds },
        )
    }
}

/// From [`IndexedParallelIterator::positions`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Positions<I, F> {
    pub(crate) base: I,
    pub(crate) op: F,
}

delegate::debug!(Positions<I> [F] base);

impl<I, F> super::ParallelIterator for Positions<I, F>
where
    I: IndexedParallelIterator,
    F: Fn(I::Item) -> bool + Sync + Send,
{
    type Item = usize;

    fn drive_unindexed<C: super::plumbing::UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        let op = self.op;
        super::ParallelIterator::filter_map(self.base.enumerate(), move |(index, item)| {
            op(item).then_some(index)
        })
        .drive_unindexed(consumer)
    }
}
