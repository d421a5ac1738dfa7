//! `intersperse`: puts an element between every two items.

use super::fold::{Begin, ByClone};
use super::plumbing::{Consumer, Extent, Producer, ProducerCallback, UnindexedConsumer, as_base};
use super::producers::{Adapt, with_base};
use super::{IndexedParallelIterator, ParallelIterator};
use std::iter;

/// From [`ParallelIterator::intersperse`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Intersperse<I: ParallelIterator> {
    pub(crate) base: I,
    pub(crate) element: I::Item,
}

impl<I: ParallelIterator<Item: Clone>> ParallelIterator for Intersperse<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let between = Between { base: consumer, element: ByClone::new(self.element) };
        self.base.drive_unindexed(between).result
    }
}

/// Puts the element between the items of a run, and between the results of runs that have items.
struct Between<C, T> {
    base: C,
    element: ByClone<T>,
}

/// A run's own clone of the element.
struct Run<T, F> {
    element: T,
    folder: F,
    empty: bool,
}

struct Part<R> {
    result: R,
    empty: bool,
}

impl<T: Clone + Send, C: Consumer<T>> Consumer<T> for Between<C, T> {
    type Folder = Run<T, C::Folder>;
    type Result = Part<C::Result>;

    fn start(&self, extent: Extent) -> Self::Folder {
        Run { element: self.element.begin(), folder: self.base.start(extent.inexact()), empty: true }
    }
    fn consume_iter<I: Iterator<Item = T>>(&self, run: Self::Folder, iter: I) -> Self::Folder {
        let Run { element, folder, mut empty } = run;
        let folder = self.base.consume_iter(
            folder,
            iter.flat_map(|item| {
                let before = (!empty).then(|| element.clone());
                empty = false;
                before.into_iter().chain(iter::once(item))
            }),
        );
        Run { element, folder, empty }
    }
    fn complete(&self, run: Self::Folder) -> Self::Result {
        Part { result: self.base.complete(run.folder), empty: run.empty }
    }
    fn reduce(&self, left: Self::Result, right: Self::Result) -> Self::Result {
        if left.empty || right.empty {
            let empty = left.empty && right.empty;
            return Part { result: self.base.reduce(left.result, right.result), empty };
        }
        let folder = self.base.start(Extent { start: 0, end: 0, exact: false });
        let element = self.base.complete(self.base.consume_iter(folder, iter::once(self.element.begin())));
        let left = self.base.reduce(left.result, element);
        Part { result: self.base.reduce(left, right.result), empty: false }
    }
    fn narrow(&self, run: &mut Self::Folder, end: usize) {
        self.base.narrow(&mut run.folder, end);
    }
    fn full(&self, run: &Self::Folder) -> bool {
        self.base.full(&run.folder)
    }
    fn settled(&self, part: &Self::Result) -> bool {
        self.base.settled(&part.result)
    }
    as_base!(plan);
}

impl<I: IndexedParallelIterator<Item: Clone>> IndexedParallelIterator for Intersperse<I> {
    fn len(&self) -> usize {
        match self.base.len() {
            0 => 0,
            len => len.checked_add(len - 1).expect("the number of items overflows"),
        }
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        let adapt = InterspersedAdapt { len: self.len(), element: self.element };
        with_base(self.base, adapt, callback)
    }
}

struct InterspersedAdapt<T> {
    element: T,
    len: usize,
}

/// A producer or an iterator that alternates between items and elements.
struct Interspersed<B, T> {
    base: B,
    element: T,
    /// How many items and elements there are together.
    len: usize,
    /// Whether the element is next.
    element_next: bool,
}

impl<T: Clone + Send> Adapt<T> for InterspersedAdapt<T> {
    type Item = T;
    type Producer<P: Producer<Item = T>> = Interspersed<P, T>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> Interspersed<P, T> {
        Interspersed { base, element: self.element, len: self.len, element_next: false }
    }
}

impl<T: Clone + Send, P: Producer<Item = T>> Producer for Interspersed<P, T> {
    type Item = T;
    type IntoIter = Interspersed<P::IntoIter, T>;

    fn into_iter(self) -> Self::IntoIter {
        let Interspersed { base, element, len, element_next } = self;
        Interspersed { base: base.into_iter(), element, len, element_next }
    }
    fn min_len(&self) -> usize {
        self.base.min_len()
    }
    fn max_len(&self) -> usize {
        self.base.max_len()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let Interspersed { base, element, len, element_next } = self;
        let items = if element_next { index / 2 } else { index.div_ceil(2) };
        let (left, right) = base.split_at(items);
        let (clone, odd) = (element.clone(), index % 2 == 1);
        (
            Interspersed { base: left, element: clone, len: index, element_next },
            Interspersed { base: right, element, len: len - index, element_next: element_next ^ odd },
        )
    }
}

impl<T: Clone, B: Iterator<Item = T>> Iterator for Interspersed<B, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        let element = self.element_next;
        self.element_next = !element;
        if element { Some(self.element.clone()) } else { self.base.next() }
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<T: Clone, B: DoubleEndedIterator<Item = T>> DoubleEndedIterator for Interspersed<B, T> {
    fn next_back(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // From the next one on, items and elements alternate.
        let element = self.element_next ^ (self.len % 2 == 1);
        if element { Some(self.element.clone()) } else { self.base.next_back() }
    }
}

impl<T: Clone, B: Iterator<Item = T>> ExactSizeIterator for Interspersed<B, T> {}
