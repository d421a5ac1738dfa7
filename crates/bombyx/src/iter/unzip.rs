//! `unzip`, `partition`, `partition_map`: one loop that feeds two collections of any kind.
//!
//! A collection only says how it consumes an iterator. So the first collection gets an iterator that, when asked for
//! its items, gives the second collection another iterator. When that one is asked for its items, it runs the loop with
//! both consumers.

use super::plumbing::{Consumer, Extent, Plan, UnindexedConsumer};
use super::{FromParallelIterator, ParallelExtend, ParallelIterator};
use either::Either;

/// Which of two consumers gets which part of an item.
pub(crate) trait Op<T>: Sync + Send {
    type A: Send;
    type B: Send;
    /// Whether both get a part of every item.
    const BOTH: bool;

    fn split(&self, item: T) -> (Option<Self::A>, Option<Self::B>);
}

/// Pairs.
pub(crate) struct ByPair;

impl<A: Send, B: Send> Op<(A, B)> for ByPair {
    type A = A;
    type B = B;
    const BOTH: bool = true;

    #[inline]
    fn split(&self, (a, b): (A, B)) -> (Option<A>, Option<B>) {
        (Some(a), Some(b))
    }
}

/// Items that a predicate separates.
pub(crate) struct ByPredicate<P>(pub(crate) P);

impl<T: Send, P: Fn(&T) -> bool + Sync + Send> Op<T> for ByPredicate<P> {
    type A = T;
    type B = T;
    const BOTH: bool = false;

    #[inline]
    fn split(&self, item: T) -> (Option<T>, Option<T>) {
        if (self.0)(&item) { (Some(item), None) } else { (None, Some(item)) }
    }
}

/// Items that a closure turns into one of two things.
pub(crate) struct ByEither<P>(pub(crate) P);

impl<T, L: Send, R: Send, P: Fn(T) -> Either<L, R> + Sync + Send> Op<T> for ByEither<P> {
    type A = L;
    type B = R;
    const BOTH: bool = false;

    #[inline]
    fn split(&self, item: T) -> (Option<L>, Option<R>) {
        match (self.0)(item) {
            Either::Left(left) => (Some(left), None),
            Either::Right(right) => (None, Some(right)),
        }
    }
}

/// Feeds two consumers.
pub(crate) struct Unzipping<A, B, O> {
    pub(crate) a: A,
    pub(crate) b: B,
    pub(crate) op: O,
}

impl<T, O: Op<T>, A: Consumer<O::A>, B: Consumer<O::B>> Consumer<T> for Unzipping<A, B, O> {
    type Folder = (A::Folder, B::Folder);
    type Result = (A::Result, B::Result);

    fn start(&self, extent: Extent) -> Self::Folder {
        let extent = if O::BOTH { extent } else { extent.inexact() };
        let again = Extent { ..extent };
        (self.a.start(extent), self.b.start(again))
    }

    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, (mut a, mut b): Self::Folder, iter: I) -> Self::Folder {
        for item in iter {
            let (for_a, for_b) = self.op.split(item);
            if let Some(item) = for_a {
                a = self.a.consume_iter(a, std::iter::once(item));
            }
            if let Some(item) = for_b {
                b = self.b.consume_iter(b, std::iter::once(item));
            }
        }
        (a, b)
    }

    fn complete(&self, (a, b): Self::Folder) -> Self::Result {
        (self.a.complete(a), self.b.complete(b))
    }
    fn reduce(&self, left: Self::Result, right: Self::Result) -> Self::Result {
        (self.a.reduce(left.0, right.0), self.b.reduce(left.1, right.1))
    }
    fn narrow(&self, (a, b): &mut Self::Folder, end: usize) {
        self.a.narrow(a, end);
        self.b.narrow(b, end);
    }
    fn full(&self, (a, b): &Self::Folder) -> bool {
        self.a.full(a) && self.b.full(b)
    }
    fn plan(&self) -> Plan<'_> {
        self.a.plan()
    }
}

/// Extends both collections.
pub(crate) fn extend_both<I, O, A, B>(iter: I, op: O, a: &mut A, b: &mut B)
where
    I: ParallelIterator,
    O: Op<I::Item>,
    A: ParallelExtend<O::A> + Send,
    B: ParallelExtend<O::B> + Send,
{
    a.par_extend(First { base: iter, op, b });
}

/// What the first collection sees.
struct First<'b, I, O, B> {
    base: I,
    op: O,
    b: &'b mut B,
}

impl<I, O, B> ParallelIterator for First<'_, I, O, B>
where
    I: ParallelIterator,
    O: Op<I::Item>,
    B: ParallelExtend<O::B> + Send,
{
    type Item = O::A;

    fn drive_unindexed<C: UnindexedConsumer<O::A>>(self, consumer: C) -> C::Result {
        let mut result = None;
        self.b.par_extend(Second { base: self.base, op: self.op, a: consumer, result: &mut result });
        result.expect("a collection that is extended consumes the iterator")
    }

    fn opt_len(&self) -> Option<usize> {
        if O::BOTH { self.base.opt_len() } else { None }
    }
}

/// What the second collection sees.
struct Second<'r, I, O, C, R> {
    base: I,
    op: O,
    a: C,
    result: &'r mut Option<R>,
}

impl<I, O, C> ParallelIterator for Second<'_, I, O, C, C::Result>
where
    I: ParallelIterator,
    O: Op<I::Item>,
    C: Consumer<O::A> + Send,
{
    type Item = O::B;

    fn drive_unindexed<D: UnindexedConsumer<O::B>>(self, consumer: D) -> D::Result {
        let both = Unzipping { a: self.a, b: consumer, op: self.op };
        let (a, b) = self.base.drive_unindexed(both);
        *self.result = Some(a);
        b
    }

    fn opt_len(&self) -> Option<usize> {
        if O::BOTH { self.base.opt_len() } else { None }
    }
}

impl<A, B, FromA, FromB> ParallelExtend<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Send + ParallelExtend<A>,
    FromB: Send + ParallelExtend<B>,
{
    fn par_extend<I: super::IntoParallelIterator<Item = (A, B)>>(&mut self, iter: I) {
        extend_both(iter.into_par_iter(), ByPair, &mut self.0, &mut self.1);
    }
}

impl<L, R, A, B> ParallelExtend<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Send + ParallelExtend<L>,
    B: Send + ParallelExtend<R>,
{
    fn par_extend<I: super::IntoParallelIterator<Item = Either<L, R>>>(&mut self, iter: I) {
        extend_both(iter.into_par_iter(), ByEither(|item| item), &mut self.0, &mut self.1);
    }
}

/// A collection that becomes whatever extends it first.
struct Collector<T>(Option<T>);

impl<T: Send, F: FromParallelIterator<T> + Send> ParallelExtend<T> for Collector<F> {
    fn par_extend<I: super::IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        self.0 = Some(iter.into_par_iter().collect());
    }
}

impl<F> Collector<F> {
    fn into_inner(self) -> F {
        self.0.expect("the loop has ended")
    }
}

impl<A, B, FromA, FromB> FromParallelIterator<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Send + FromParallelIterator<A>,
    FromB: Send + FromParallelIterator<B>,
{
    fn from_par_iter<I: super::IntoParallelIterator<Item = (A, B)>>(iter: I) -> Self {
        let (mut a, mut b) = (Collector(None), Collector(None));
        extend_both(iter.into_par_iter(), ByPair, &mut a, &mut b);
        (a.into_inner(), b.into_inner())
    }
}

impl<L, R, A, B> FromParallelIterator<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Send + FromParallelIterator<L>,
    B: Send + FromParallelIterator<R>,
{
    fn from_par_iter<I: super::IntoParallelIterator<Item = Either<L, R>>>(iter: I) -> Self {
        let (mut a, mut b) = (Collector(None), Collector(None));
        extend_both(iter.into_par_iter(), ByEither(|item| item), &mut a, &mut b);
        (a.into_inner(), b.into_inner())
    }
}
