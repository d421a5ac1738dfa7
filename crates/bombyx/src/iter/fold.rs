//! Adapters whose runs carry a value: `fold`, `try_fold`, `map_with`, `map_init`, `flat_map` and their relatives.

use super::onto::{Inner, Onto};
use super::plumbing::{Consumer, Extent, Producer, ProducerCallback, UnindexedConsumer, as_base};
use super::private::Try;
use super::producers::{Adapt, lengths_of, with_base};
use super::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, delegate};
use std::iter;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Mutex;

/// Makes the value that a run begins with.
pub(crate) trait Begin: Send + Sync {
    type Value;

    fn begin(&self) -> Self::Value;
}

/// Makes it by calling a closure.
pub(crate) struct ByCall<F>(pub(crate) F);

impl<T, F: Fn() -> T + Sync + Send> Begin for ByCall<F> {
    type Value = T;

    fn begin(&self) -> T {
        (self.0)()
    }
}

/// Makes it by cloning a value. Runs on other processors cannot see that value at the same time.
pub(crate) struct ByClone<T>(Mutex<T>);

impl<T> ByClone<T> {
    pub(crate) fn new(value: T) -> ByClone<T> {
        ByClone(Mutex::new(value))
    }
}

impl<T: Clone + Send> Begin for ByClone<T> {
    type Value = T;

    fn begin(&self) -> T {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

/// A run's own value, beside the folder of the next consumer.
pub(crate) struct With<T, F> {
    value: T,
    folder: F,
}

/// An adapter that is driven by a consumer, `$consumer`.
macro_rules! driven {
    (
        $(#[$doc:meta])*
        $name:ident [$($f:ident),*] { $($field:ident: $fty:ty),* } [$($g:tt)*] where [$($w:tt)*] => $item:ty;
        consumer($this:ident, $base:ident) $consumer:expr;
        exact: $exact:expr
    ) => {
        $(#[$doc])*
        #[must_use = "iterators do nothing unless they are used"]
        #[derive(Clone)]
        pub struct $name<I $(, $f)*> {
            pub(crate) base: I,
            $(pub(crate) $field: $fty,)*
        }

        delegate::debug!($name<I> [$($f),*] base);

        impl<I $(, $f)* $($g)*> ParallelIterator for $name<I $(, $f)*>
        where
            I: ParallelIterator,
            $($w)*
        {
            type Item = $item;

            #[inline]
            fn drive_unindexed<C_: UnindexedConsumer<Self::Item>>(self, $base: C_) -> C_::Result {
                let $this = self;
                let consumer = $consumer;
                $this.base.drive_unindexed(consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                if $exact { self.base.opt_len() } else { None }
            }
        }
    };
}

// ---- fold ---------------------------------------------------------------------------------------------------

driven! {
    /// From [`ParallelIterator::fold`].
    Fold [ID, F] { identity: ID, op: F } [, U] where [ID: Fn() -> U + Sync + Send, F: Fn(U, I::Item) -> U + Sync + Send, U: Send] => U;
    consumer(this, base) FoldConsumer { base, begin: ByCall(this.identity), op: this.op }; exact: false
}

driven! {
    /// From [`ParallelIterator::fold_with`].
    FoldWith [U, F] { init: U, op: F } [] where [F: Fn(U, I::Item) -> U + Sync + Send, U: Send + Clone] => U;
    consumer(this, base) FoldConsumer { base, begin: ByClone::new(this.init), op: this.op }; exact: false
}

struct FoldConsumer<C, B, F> {
    base: C,
    begin: B,
    op: F,
}

impl<T, U: Send, C, B, F> Consumer<T> for FoldConsumer<C, B, F>
where
    C: Consumer<U>,
    B: Begin<Value = U>,
    F: Fn(U, T) -> U + Sync + Send,
{
    type Folder = With<U, C::Folder>;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> Self::Folder {
        With { value: self.begin.begin(), folder: self.base.start(extent.inexact()) }
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, with: Self::Folder, iter: I) -> Self::Folder {
        With { value: iter.fold(with.value, &self.op), folder: with.folder }
    }
    fn complete(&self, with: Self::Folder) -> C::Result {
        self.base.complete(self.base.consume_iter(with.folder, iter::once(with.value)))
    }
    fn narrow(&self, with: &mut Self::Folder, end: usize) {
        self.base.narrow(&mut with.folder, end);
    }
    fn full(&self, with: &Self::Folder) -> bool {
        self.base.full(&with.folder)
    }
    as_base!(results, carries U);
}

// ---- try_fold -----------------------------------------------------------------------------------------------

driven! {
    /// From [`ParallelIterator::try_fold`].
    TryFold [R, ID, F] { identity: ID, op: F, marker: PhantomData<R> } []
    where [ID: Fn() -> R::Output + Sync + Send, F: Fn(R::Output, I::Item) -> R + Sync + Send, R: Try + Send] => R;
    consumer(this, base) TryFoldConsumer { base, begin: ByCall(this.identity), op: this.op, marker: PhantomData }; exact: false
}

driven! {
    /// From [`ParallelIterator::try_fold_with`].
    TryFoldWith [R, U, F] { init: U, op: F, marker: PhantomData<R> } []
    where [F: Fn(U, I::Item) -> R + Sync + Send, U: Clone + Send, R: Try<Output = U> + Send] => R;
    consumer(this, base) TryFoldConsumer { base, begin: ByClone::new(this.init), op: this.op, marker: PhantomData }; exact: false
}

struct TryFoldConsumer<C, B, F, R> {
    base: C,
    begin: B,
    op: F,
    marker: PhantomData<fn() -> R>,
}

impl<T, R: Try + Send, C, B, F> Consumer<T> for TryFoldConsumer<C, B, F, R>
where
    C: Consumer<R>,
    B: Begin<Value = R::Output>,
    F: Fn(R::Output, T) -> R + Sync + Send,
{
    type Folder = With<ControlFlow<R::Residual, R::Output>, C::Folder>;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> Self::Folder {
        With { value: ControlFlow::Continue(self.begin.begin()), folder: self.base.start(extent.inexact()) }
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, with: Self::Folder, mut iter: I) -> Self::Folder {
        let value = match with.value {
            ControlFlow::Continue(sum) => iter.try_fold(sum, |sum, item| (self.op)(sum, item).branch()),
            failed => failed,
        };
        With { value, folder: with.folder }
    }
    fn complete(&self, with: Self::Folder) -> C::Result {
        let value = match with.value {
            ControlFlow::Continue(sum) => R::from_output(sum),
            ControlFlow::Break(residual) => R::from_residual(residual),
        };
        self.base.complete(self.base.consume_iter(with.folder, iter::once(value)))
    }
    fn narrow(&self, with: &mut Self::Folder, end: usize) {
        self.base.narrow(&mut with.folder, end);
    }
    fn full(&self, with: &Self::Folder) -> bool {
        with.value.is_break() || self.base.full(&with.folder)
    }
    as_base!(results, carries R::Output);
}

// ---- map_with and map_init ----------------------------------------------------------------------------------

driven! {
    /// From [`ParallelIterator::map_with`].
    MapWith [U, F] { init: U, op: F } [, R] where [F: Fn(&mut U, I::Item) -> R + Sync + Send, U: Send + Clone, R: Send] => R;
    consumer(this, base) MapConsumer { base, begin: ByClone::new(this.init), op: this.op }; exact: true
}

driven! {
    /// From [`ParallelIterator::map_init`].
    MapInit [INIT, F] { init: INIT, op: F } [, U, R] where [INIT: Fn() -> U + Sync + Send, F: Fn(&mut U, I::Item) -> R + Sync + Send, R: Send] => R;
    consumer(this, base) MapConsumer { base, begin: ByCall(this.init), op: this.op }; exact: true
}

struct MapConsumer<C, B, F> {
    base: C,
    begin: B,
    op: F,
}

impl<T, R, C, B, F> Consumer<T> for MapConsumer<C, B, F>
where
    C: Consumer<R>,
    B: Begin,
    F: Fn(&mut B::Value, T) -> R + Sync + Send,
{
    type Folder = With<B::Value, C::Folder>;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> Self::Folder {
        With { value: self.begin.begin(), folder: self.base.start(extent) }
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, with: Self::Folder, iter: I) -> Self::Folder {
        let With { mut value, folder } = with;
        let folder = self.base.consume_iter(folder, iter.map(|item| (self.op)(&mut value, item)));
        With { value, folder }
    }
    fn complete(&self, with: Self::Folder) -> C::Result {
        self.base.complete(with.folder)
    }
    fn narrow(&self, with: &mut Self::Folder, end: usize) {
        self.base.narrow(&mut with.folder, end);
    }
    fn full(&self, with: &Self::Folder) -> bool {
        self.base.full(&with.folder)
    }
    as_base!(results, carries B::Value);
}

/// Makes producers that carry a value. Each part begins with its own value.
pub(crate) struct MapParts<'f, B, F> {
    begin: B,
    op: &'f F,
}
pub(crate) struct MapPartsProducer<'f, P, B, F> {
    base: P,
    begin: B,
    op: &'f F,
}
pub(crate) struct MapPartsIter<'f, I, V, F> {
    base: I,
    value: V,
    op: &'f F,
}

/// Begins a part, and can make another one.
pub(crate) trait Parts: Send {
    type Value;

    fn part(&self) -> Self;
    fn value(self) -> Self::Value;
}

impl<U, F: Fn() -> U + Sync + Send> Parts for &F {
    type Value = U;

    fn part(&self) -> Self {
        self
    }
    fn value(self) -> U {
        self()
    }
}

/// A value that is cloned for each part.
pub(crate) struct Cloning<U>(U);

impl<U: Clone + Send> Parts for Cloning<U> {
    type Value = U;

    fn part(&self) -> Self {
        Cloning(self.0.clone())
    }
    fn value(self) -> U {
        self.0
    }
}

impl<'f, T, R, B: Parts, F: Fn(&mut B::Value, T) -> R + Sync + Send> Adapt<T> for MapParts<'f, B, F> {
    type Item = R;
    type Producer<P: Producer<Item = T>> = MapPartsProducer<'f, P, B, F>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> MapPartsProducer<'f, P, B, F> {
        MapPartsProducer { base, begin: self.begin, op: self.op }
    }
}

impl<'f, P: Producer, R, B: Parts, F: Fn(&mut B::Value, P::Item) -> R + Sync + Send> Producer
    for MapPartsProducer<'f, P, B, F>
{
    type Item = R;
    type IntoIter = MapPartsIter<'f, P::IntoIter, B::Value, F>;

    fn into_iter(self) -> Self::IntoIter {
        MapPartsIter { base: self.base.into_iter(), value: self.begin.value(), op: self.op }
    }
    lengths_of!(base);
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        let (begin, op) = (self.begin.part(), self.op);
        (MapPartsProducer { base: left, begin, op }, MapPartsProducer { base: right, begin: self.begin, op })
    }
}

impl<I: Iterator, V, R, F: Fn(&mut V, I::Item) -> R> Iterator for MapPartsIter<'_, I, V, F> {
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        self.base.next().map(|item| (self.op)(&mut self.value, item))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.base.size_hint()
    }
}

impl<I: DoubleEndedIterator, V, R, F: Fn(&mut V, I::Item) -> R> DoubleEndedIterator
    for MapPartsIter<'_, I, V, F>
{
    #[inline]
    fn next_back(&mut self) -> Option<R> {
        self.base.next_back().map(|item| (self.op)(&mut self.value, item))
    }
}

impl<I: ExactSizeIterator, V, R, F: Fn(&mut V, I::Item) -> R> ExactSizeIterator
    for MapPartsIter<'_, I, V, F>
{
}

impl<I, U, F, R> IndexedParallelIterator for MapWith<I, U, F>
where
    I: IndexedParallelIterator,
    F: Fn(&mut U, I::Item) -> R + Sync + Send,
    U: Send + Clone,
    R: Send,
{
    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<R>>(self, callback: CB) -> CB::Output {
        with_base(self.base, MapParts { begin: Cloning(self.init), op: &self.op }, callback)
    }
}

impl<I, INIT, F, U, R> IndexedParallelIterator for MapInit<I, INIT, F>
where
    I: IndexedParallelIterator,
    INIT: Fn() -> U + Sync + Send,
    F: Fn(&mut U, I::Item) -> R + Sync + Send,
    R: Send,
{
    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<R>>(self, callback: CB) -> CB::Output {
        with_base(self.base, MapParts { begin: &self.init, op: &self.op }, callback)
    }
}

// ---- flat_map -----------------------------------------------------------------------------------------------

driven! {
    /// From [`ParallelIterator::flat_map`].
    FlatMap [F] { op: F } [, PI] where [F: Fn(I::Item) -> PI + Sync + Send, PI: IntoParallelIterator] => PI::Item;
    consumer(this, base) FlatMapConsumer { base, op: this.op }; exact: false
}

driven! {
    /// From [`ParallelIterator::flatten`].
    Flatten [] {} [] where [I::Item: IntoParallelIterator] => <I::Item as IntoParallelIterator>::Item;
    consumer(this, base) FlatMapConsumer { base, op: |item| item }; exact: false
}

struct FlatMapConsumer<C, F> {
    base: C,
    op: F,
}

/// A run over inner loops: the results of those that were shared, and the folder since then.
struct Flat<R, F> {
    before: Option<R>,
    folder: F,
    at: usize,
    /// Whether what follows makes no difference.
    settled: bool,
}

impl<C, F> FlatMapConsumer<C, F> {
    fn plus<U>(&self, before: Option<C::Result>, result: C::Result) -> C::Result
    where
        C: Consumer<U>,
    {
        match before {
            Some(before) => self.base.reduce(before, result),
            None => result,
        }
    }
}

impl<T, C, PI, F> Consumer<T> for FlatMapConsumer<C, F>
where
    PI: IntoParallelIterator,
    C: Consumer<PI::Item>,
    F: Fn(T) -> PI + Sync + Send,
{
    type Folder = Flat<C::Result, C::Folder>;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> Self::Folder {
        let at = extent.start;
        Flat { before: None, folder: self.base.start(extent.inexact()), at, settled: false }
    }

    fn consume_iter<I: Iterator<Item = T>>(&self, mut flat: Self::Folder, iter: I) -> Self::Folder {
        let inner = Inner { base: &self.base, at: Some(flat.at) };
        for item in iter {
            match (self.op)(item).into_par_iter().drive_onto(&inner, flat.folder) {
                Onto::Folder(folder) => flat.folder = folder,
                Onto::Result(result) => {
                    flat.settled = self.base.settled(&result);
                    flat.before = Some(self.plus(flat.before, result));
                    flat.folder = self.base.start(Extent { start: flat.at, end: flat.at, exact: false });
                }
            }
            if self.full(&flat) {
                break;
            }
        }
        flat
    }

    fn complete(&self, flat: Self::Folder) -> C::Result {
        self.plus(flat.before, self.base.complete(flat.folder))
    }
    fn narrow(&self, flat: &mut Self::Folder, end: usize) {
        self.base.narrow(&mut flat.folder, end);
    }
    fn full(&self, flat: &Self::Folder) -> bool {
        flat.settled || self.base.full(&flat.folder)
    }
    as_base!(results);
}
