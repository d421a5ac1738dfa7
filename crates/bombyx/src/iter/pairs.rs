//! Two iterators become one: `zip`, `interleave`, `chain`.

use super::plumbing::{Consumer, Extent, Producer, ProducerCallback, UnindexedConsumer, as_base};
use super::producers::{Pair, with_both};
use super::{IndexedParallelIterator, ParallelIterator, delegate};
use bombyx_core::loop_plumbing as runtime;
use std::iter;

// ---- zip ----------------------------------------------------------------------------------------------------

/// From [`IndexedParallelIterator::zip`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Zip<A, B> {
    pub(crate) a: A,
    pub(crate) b: B,
}

delegate::indexed! {
    [A: IndexedParallelIterator, B: IndexedParallelIterator] Zip<A, B> => (A::Item, B::Item);
    len(this) { this.a.len().min(this.b.len()) }
    with_producer(this, callback) { with_both(this.a, this.b, ZipPair, callback) }
}

/// From [`IndexedParallelIterator::zip_eq`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct ZipEq<A, B> {
    pub(crate) inner: Zip<A, B>,
}

delegate::wrapper!([A: IndexedParallelIterator, B: IndexedParallelIterator] ZipEq<A, B> => (A::Item, B::Item));

pub(crate) struct ZipPair;
pub(crate) struct ZipProducer<P, Q>(P, Q);

impl<T, U> Pair<T, U> for ZipPair {
    type Item = (T, U);
    type Producer<P: Producer<Item = T>, Q: Producer<Item = U>> = ZipProducer<P, Q>;

    fn pair<P: Producer<Item = T>, Q: Producer<Item = U>>(self, left: P, right: Q) -> ZipProducer<P, Q> {
        ZipProducer(left, right)
    }
}

impl<P: Producer, Q: Producer> Producer for ZipProducer<P, Q> {
    type Item = (P::Item, Q::Item);
    type IntoIter = iter::Zip<P::IntoIter, Q::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().zip(self.1.into_iter())
    }
    fn min_len(&self) -> usize {
        self.0.min_len().max(self.1.min_len())
    }
    fn max_len(&self) -> usize {
        self.0.max_len().min(self.1.max_len())
    }
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let ((a, c), (b, d)) = (self.0.split_at(index), self.1.split_at(index));
        (ZipProducer(a, b), ZipProducer(c, d))
    }
}

// ---- interleave ---------------------------------------------------------------------------------------------

/// From [`IndexedParallelIterator::interleave`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Interleave<A, B> {
    pub(crate) a: A,
    pub(crate) b: B,
}

delegate::indexed! {
    [A: IndexedParallelIterator, B: IndexedParallelIterator<Item = A::Item>] Interleave<A, B> => A::Item;
    len(this) { this.a.len().checked_add(this.b.len()).expect("the number of items overflows") }
    with_producer(this, callback) {
        let pair = InterleavePair { lens: (this.a.len(), this.b.len()), second: false };
        with_both(this.a, this.b, pair, callback)
    }
}

/// From [`IndexedParallelIterator::interleave_shortest`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct InterleaveShortest<A, B> {
    pub(crate) a: A,
    pub(crate) b: B,
}

delegate::indexed! {
    [A: IndexedParallelIterator, B: IndexedParallelIterator<Item = A::Item>] InterleaveShortest<A, B> => A::Item;
    len(this) {
        let (a, b) = (this.a.len(), this.b.len());
        if a <= b { 2 * a } else { 2 * b + 1 }
    }
    with_producer(this, callback) {
        let (a, b) = (this.a.len(), this.b.len());
        let lens = if a <= b { (a, a) } else { (b + 1, b) };
        let (a, b) = (this.a.take(lens.0), this.b.take(lens.1));
        with_both(a, b, InterleavePair { lens, second: false }, callback)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct InterleavePair {
    lens: (usize, usize),
    /// Whether the second iterator is next.
    second: bool,
}
pub(crate) struct InterleaveProducer<P, Q> {
    a: P,
    b: Q,
    state: InterleavePair,
}

impl<T> Pair<T, T> for InterleavePair {
    type Item = T;
    type Producer<P: Producer<Item = T>, Q: Producer<Item = T>> = InterleaveProducer<P, Q>;

    fn pair<P: Producer<Item = T>, Q: Producer<Item = T>>(self, a: P, b: Q) -> InterleaveProducer<P, Q> {
        InterleaveProducer { a, b, state: self }
    }
}

impl<P: Producer, Q: Producer<Item = P::Item>> Producer for InterleaveProducer<P, Q> {
    type Item = P::Item;
    type IntoIter = InterleaveIter<P::IntoIter, Q::IntoIter>;

    fn into_iter(self) -> Self::IntoIter {
        InterleaveIter { a: self.a.into_iter(), b: self.b.into_iter(), second: self.state.second }
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let InterleavePair { lens: (a, b), second } = self.state;
        // They alternate until one is exhausted. The other one has the rest.
        let (first, other) = if second { (b, a) } else { (a, b) };
        let taken_first = index.div_ceil(2).min(first).max(index.saturating_sub(other));
        let taken =
            if second { (index - taken_first, taken_first) } else { (taken_first, index - taken_first) };
        let ((a1, a2), (b1, b2)) = (self.a.split_at(taken.0), self.b.split_at(taken.1));
        let rest = InterleavePair { lens: (a - taken.0, b - taken.1), second: second ^ (index % 2 == 1) };
        (
            InterleaveProducer { a: a1, b: b1, state: InterleavePair { lens: taken, second } },
            InterleaveProducer { a: a2, b: b2, state: rest },
        )
    }
    fn min_len(&self) -> usize {
        self.a.min_len().max(self.b.min_len())
    }
    fn max_len(&self) -> usize {
        self.a.max_len().min(self.b.max_len())
    }
}

pub(crate) struct InterleaveIter<A, B> {
    a: A,
    b: B,
    second: bool,
}

impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for InterleaveIter<A, B> {
    type Item = A::Item;

    #[inline]
    fn next(&mut self) -> Option<A::Item> {
        self.second = !self.second;
        if self.second {
            self.a.next().or_else(|| self.b.next())
        } else {
            self.b.next().or_else(|| self.a.next())
        }
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let ((a, upper_a), (b, upper_b)) = (self.a.size_hint(), self.b.size_hint());
        (a.saturating_add(b), upper_a.zip(upper_b).and_then(|(a, b)| a.checked_add(b)))
    }
}

impl<A, B> DoubleEndedIterator for InterleaveIter<A, B>
where
    A: DoubleEndedIterator + ExactSizeIterator,
    B: DoubleEndedIterator<Item = A::Item> + ExactSizeIterator,
{
    fn next_back(&mut self) -> Option<A::Item> {
        let (a, b) = (self.a.len(), self.b.len());
        // The last item belongs to the longer one. If both are equally long, it belongs to the one that is not next.
        let last_is_a = if a == b { self.second } else { a > b };
        if last_is_a { self.a.next_back() } else { self.b.next_back() }
    }
}

impl<A, B> ExactSizeIterator for InterleaveIter<A, B>
where
    A: ExactSizeIterator,
    B: ExactSizeIterator<Item = A::Item>,
{
}

// ---- chain --------------------------------------------------------------------------------------------------

/// From [`ParallelIterator::chain`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Chain<A, B> {
    pub(crate) a: A,
    pub(crate) b: B,
}

impl<A, B> ParallelIterator for Chain<A, B>
where
    A: ParallelIterator,
    B: ParallelIterator<Item = A::Item>,
{
    type Item = A::Item;

    fn drive_unindexed<C: UnindexedConsumer<A::Item>>(self, consumer: C) -> C::Result {
        // If the lengths are unknown, the second half of all positions belongs to the second iterator.
        let limit = self.a.opt_len().unwrap_or(usize::MAX / 2);
        let exact = self.opt_len().is_some();
        let site = consumer.plan().site;
        let left = Shifted { base: &consumer, offset: 0, limit, exact };
        let right = Shifted { base: &consumer, offset: limit, limit: usize::MAX, exact };
        let (left, right) = runtime::enter(site, || {
            runtime::fork(site, || self.a.drive_unindexed(left), |_| self.b.drive_unindexed(right))
        });
        consumer.reduce(left, right)
    }

    fn opt_len(&self) -> Option<usize> {
        self.a.opt_len()?.checked_add(self.b.opt_len()?)
    }
}

/// A consumer for one part of a loop that consists of several.
pub(crate) struct Shifted<'a, C> {
    pub(crate) base: &'a C,
    pub(crate) offset: usize,
    /// The most positions that this part has. An iterator with more items than it said must not reach into the next
    /// part.
    pub(crate) limit: usize,
    pub(crate) exact: bool,
}

impl<T, C: Consumer<T>> Consumer<T> for Shifted<'_, C> {
    type Folder = C::Folder;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> C::Folder {
        let exact = self.exact && extent.exact;
        assert!(!exact || extent.end <= self.limit, "an iterator yields more items than it said");
        let shift = |position: usize| self.offset.saturating_add(position.min(self.limit));
        self.base.start(Extent { start: shift(extent.start), end: shift(extent.end), exact })
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: C::Folder, iter: I) -> C::Folder {
        self.base.consume_iter(folder, iter)
    }
    fn complete(&self, folder: C::Folder) -> C::Result {
        self.base.complete(folder)
    }
    fn narrow(&self, folder: &mut C::Folder, end: usize) {
        self.base.narrow(folder, self.offset.saturating_add(end.min(self.limit)));
    }
    #[inline]
    fn full(&self, folder: &C::Folder) -> bool {
        self.base.full(folder)
    }
    as_base!(results);
}

impl<A, B> IndexedParallelIterator for Chain<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator<Item = A::Item>,
{
    fn len(&self) -> usize {
        self.a.len().checked_add(self.b.len()).expect("the number of items overflows")
    }

    fn with_producer<CB: ProducerCallback<A::Item>>(self, callback: CB) -> CB::Output {
        let pair = ChainPair { len: self.a.len() };
        with_both(self.a, self.b, pair, callback)
    }
}

pub(crate) struct ChainPair {
    /// The length of the first one.
    len: usize,
}
pub(crate) struct ChainProducer<P, Q> {
    a: P,
    b: Q,
    len: usize,
}

impl<T> Pair<T, T> for ChainPair {
    type Item = T;
    type Producer<P: Producer<Item = T>, Q: Producer<Item = T>> = ChainProducer<P, Q>;

    fn pair<P: Producer<Item = T>, Q: Producer<Item = T>>(self, a: P, b: Q) -> ChainProducer<P, Q> {
        ChainProducer { a, b, len: self.len }
    }
}

impl<P: Producer, Q: Producer<Item = P::Item>> Producer for ChainProducer<P, Q> {
    type Item = P::Item;
    type IntoIter = ChainIter<P::IntoIter, Q::IntoIter>;

    fn into_iter(self) -> Self::IntoIter {
        let (a, b) = (self.a.into_iter(), self.b.into_iter());
        ChainIter { len: a.len() + b.len(), chain: a.chain(b) }
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let len = self.len;
        let (in_a, in_b) = (index.min(len), index.saturating_sub(len));
        let ((a1, a2), (b1, b2)) = (self.a.split_at(in_a), self.b.split_at(in_b));
        (ChainProducer { a: a1, b: b1, len: in_a }, ChainProducer { a: a2, b: b2, len: len - in_a })
    }
    fn min_len(&self) -> usize {
        self.a.min_len().max(self.b.min_len())
    }
    fn max_len(&self) -> usize {
        self.a.max_len().min(self.b.max_len())
    }
}

/// A chain that knows its length.
pub(crate) struct ChainIter<A, B> {
    chain: iter::Chain<A, B>,
    len: usize,
}

impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for ChainIter<A, B> {
    type Item = A::Item;

    #[inline]
    fn next(&mut self) -> Option<A::Item> {
        let next = self.chain.next();
        self.len -= usize::from(next.is_some());
        next
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
    #[inline]
    fn fold<R, F: FnMut(R, A::Item) -> R>(self, first: R, f: F) -> R {
        self.chain.fold(first, f)
    }
}

impl<A: DoubleEndedIterator, B: DoubleEndedIterator<Item = A::Item>> DoubleEndedIterator for ChainIter<A, B> {
    #[inline]
    fn next_back(&mut self) -> Option<A::Item> {
        let next = self.chain.next_back();
        self.len -= usize::from(next.is_some());
        next
    }
}

impl<A: Iterator, B: Iterator<Item = A::Item>> ExactSizeIterator for ChainIter<A, B> {}
