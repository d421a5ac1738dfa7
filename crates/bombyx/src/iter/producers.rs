//! How adapters of indexed iterators make their producers from those of their bases.

use super::IndexedParallelIterator;
use super::plumbing::{Producer, ProducerCallback};

/// Turns a producer into another one.
pub(crate) trait Adapt<T> {
    type Item;
    type Producer<P: Producer<Item = T>>: Producer<Item = Self::Item>;

    fn adapt<P: Producer<Item = T>>(self, producer: P) -> Self::Producer<P>;
}

/// Calls `callback` with what `adapt` makes of the producer of `base`.
#[inline]
pub(crate) fn with_base<I, A, CB>(base: I, adapt: A, callback: CB) -> CB::Output
where
    I: IndexedParallelIterator,
    A: Adapt<I::Item>,
    CB: ProducerCallback<A::Item>,
{
    struct Adapted<A, CB> {
        adapt: A,
        callback: CB,
    }

    impl<T, A: Adapt<T>, CB: ProducerCallback<A::Item>> ProducerCallback<T> for Adapted<A, CB> {
        type Output = CB::Output;

        #[inline]
        fn callback<P: Producer<Item = T>>(self, producer: P) -> CB::Output {
            self.callback.callback(self.adapt.adapt(producer))
        }
    }

    base.with_producer(Adapted { adapt, callback })
}

/// Turns two producers into one.
pub(crate) trait Pair<T, U> {
    type Item;
    type Producer<P: Producer<Item = T>, Q: Producer<Item = U>>: Producer<Item = Self::Item>;

    fn pair<P: Producer<Item = T>, Q: Producer<Item = U>>(self, left: P, right: Q) -> Self::Producer<P, Q>;
}

/// Calls `callback` with what `pair` makes of the producers of `left` and `right`.
#[inline]
pub(crate) fn with_both<I, J, A, CB>(left: I, right: J, pair: A, callback: CB) -> CB::Output
where
    I: IndexedParallelIterator,
    J: IndexedParallelIterator,
    A: Pair<I::Item, J::Item>,
    CB: ProducerCallback<A::Item>,
{
    struct First<J, A, CB> {
        right: J,
        pair: A,
        callback: CB,
    }

    struct Second<P, A, CB> {
        left: P,
        pair: A,
        callback: CB,
    }

    impl<T, J, A, CB> ProducerCallback<T> for First<J, A, CB>
    where
        J: IndexedParallelIterator,
        A: Pair<T, J::Item>,
        CB: ProducerCallback<A::Item>,
    {
        type Output = CB::Output;

        #[inline]
        fn callback<P: Producer<Item = T>>(self, left: P) -> CB::Output {
            self.right.with_producer(Second { left, pair: self.pair, callback: self.callback })
        }
    }

    impl<P, U, A, CB> ProducerCallback<U> for Second<P, A, CB>
    where
        P: Producer,
        A: Pair<P::Item, U>,
        CB: ProducerCallback<A::Item>,
    {
        type Output = CB::Output;

        #[inline]
        fn callback<Q: Producer<Item = U>>(self, right: Q) -> CB::Output {
            self.callback.callback(self.pair.pair(self.left, right))
        }
    }

    left.with_producer(First { right, pair, callback })
}

/// Something done to each item.
pub(crate) trait EachItem<T>: Clone {
    type Out;

    fn each(&self, item: T) -> Self::Out;
}

/// A producer that does something to each item, or an iterator that does, or what makes a producer.
pub(crate) struct Each<S>(pub(crate) S);

pub(crate) struct EachProducer<P, S> {
    base: P,
    each: S,
}

impl<T, S: EachItem<T> + Send> Adapt<T> for Each<S> {
    type Item = S::Out;
    type Producer<P: Producer<Item = T>> = EachProducer<P, S>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> EachProducer<P, S> {
        EachProducer { base, each: self.0 }
    }
}

impl<P: Producer, S: EachItem<P::Item> + Send> Producer for EachProducer<P, S> {
    type Item = S::Out;
    type IntoIter = EachProducer<P::IntoIter, S>;

    fn into_iter(self) -> Self::IntoIter {
        EachProducer { base: self.base.into_iter(), each: self.each }
    }
    fn min_len(&self) -> usize {
        self.base.min_len()
    }
    fn max_len(&self) -> usize {
        self.base.max_len()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (EachProducer { base: left, each: self.each.clone() }, EachProducer { base: right, each: self.each })
    }
}

impl<I: Iterator, S: EachItem<I::Item>> Iterator for EachProducer<I, S> {
    type Item = S::Out;

    #[inline]
    fn next(&mut self) -> Option<S::Out> {
        self.base.next().map(|item| self.each.each(item))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.base.size_hint()
    }
    #[inline]
    fn fold<B, F: FnMut(B, S::Out) -> B>(self, first: B, mut f: F) -> B {
        let each = self.each;
        self.base.fold(first, |sum, item| f(sum, each.each(item)))
    }
}

impl<I: DoubleEndedIterator, S: EachItem<I::Item>> DoubleEndedIterator for EachProducer<I, S> {
    #[inline]
    fn next_back(&mut self) -> Option<S::Out> {
        self.base.next_back().map(|item| self.each.each(item))
    }
}

impl<I: ExactSizeIterator, S: EachItem<I::Item>> ExactSizeIterator for EachProducer<I, S> {
    fn len(&self) -> usize {
        self.base.len()
    }
}

/// A producer that passes on its base's limits on lengths.
macro_rules! lengths_of {
    ($base:ident) => {
        fn min_len(&self) -> usize {
            self.$base.min_len()
        }
        fn max_len(&self) -> usize {
            self.$base.max_len()
        }
    };
}
pub(crate) use lengths_of;
