//! Adapters that turn the ordinary iterator of a block into another one: `map`, `filter` and their relatives. The block
//! stays one loop.

use super::onto::{Inner, Onto};
use super::plumbing::{Consumer, Extent, Producer, ProducerCallback, UnindexedConsumer, as_base};
use super::producers::{Adapt, Each, EachItem, with_base};
use super::{IndexedParallelIterator, ParallelIterator, delegate};
use std::iter;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// What becomes of the iterator of a block.
pub(crate) trait Stage<T>: Send + Sync {
    type Out: Send;
    /// Whether there are as many items afterwards as before.
    const EXACT: bool;

    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = Self::Out>;

    /// Whether further items make no difference.
    fn full(&self) -> bool {
        false
    }
}

/// A stage before a consumer.
pub(crate) struct Staged<S, C> {
    pub(crate) stage: S,
    pub(crate) base: C,
}

impl<T, S: Stage<T>, C: Consumer<S::Out>> Consumer<T> for Staged<S, C> {
    type Folder = C::Folder;
    type Result = C::Result;

    #[inline]
    fn start(&self, extent: Extent) -> C::Folder {
        self.base.start(if S::EXACT { extent } else { extent.inexact() })
    }

    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: C::Folder, iter: I) -> C::Folder {
        self.base.consume_iter(folder, self.stage.apply(iter))
    }

    #[inline]
    fn full(&self, folder: &C::Folder) -> bool {
        self.stage.full() || self.base.full(folder)
    }

    as_base!(folder);
}

/// An adapter with one stage.
macro_rules! staged {
    (
        $(#[$doc:meta])*
        $name:ident $(<$($f:ident),*>)? { $($field:ident: $fty:ty),* }
        [$($g:tt)*] where [$($w:tt)*] => $item:ty;
        stage($this:ident) $stage:expr;
        exact: $exact:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<I $($(, $f)*)?> {
            pub(crate) base: I,
            $(pub(crate) $field: $fty,)*
        }

        delegate::debug!($name<I> [$($($f),*)?] base);

        impl<$($g)* I $($(, $f)*)?> ParallelIterator for $name<I $($(, $f)*)?>
        where
            I: ParallelIterator,
            $($w)*
        {
            type Item = $item;

            #[inline]
            fn drive_unindexed<C_: UnindexedConsumer<Self::Item>>(self, consumer: C_) -> C_::Result {
                let $this = self;
                let stage = $stage;
                $this.base.drive_unindexed(Staged { stage, base: consumer })
            }

            fn opt_len(&self) -> Option<usize> {
                if $exact { self.base.opt_len() } else { None }
            }

            #[inline]
            fn drive_onto<C_: Consumer<Self::Item>>(self, consumer: &C_, folder: C_::Folder) -> Onto<C_::Folder, C_::Result> {
                let $this = self;
                let stage = $stage;
                $this.base.drive_onto(&Staged { stage, base: Inner { base: consumer, at: None } }, folder)
            }
        }
    };
}

/// The same as an indexed iterator, with the producer that `adapt` makes.
macro_rules! staged_indexed {
    ($name:ident $(<$($f:ident),*>)? [$($g:tt)*] where [$($w:tt)*]; adapt($this:ident) $adapt:expr) => {
        impl<$($g)* I $($(, $f)*)?> IndexedParallelIterator for $name<I $($(, $f)*)?>
        where
            I: IndexedParallelIterator,
            $($w)*
        {
            fn len(&self) -> usize {
                self.base.len()
            }

            #[inline]
            fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
                let $this = self;
                let adapt = $adapt;
                with_base($this.base, adapt, callback)
            }
        }
    };
}

// ---- map ----------------------------------------------------------------------------------------------------

pub(crate) struct MapStage<F>(pub(crate) F);

impl<T, R: Send, F: Fn(T) -> R + Sync + Send> Stage<T> for MapStage<F> {
    type Out = R;
    const EXACT: bool = true;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = R> {
        iter.map(&self.0)
    }
}

staged! {
    /// From [`ParallelIterator::map`].
    Map<F> { op: F } [R,] where [F: Fn(I::Item) -> R + Sync + Send, R: Send] => R;
    stage(this) MapStage(this.op); exact: true
}

pub(crate) struct MapAdapt<'f, F>(&'f F);
pub(crate) struct MapProducer<'f, P, F> {
    base: P,
    op: &'f F,
}

impl<'f, T, R: Send, F: Fn(T) -> R + Sync + Send> Adapt<T> for MapAdapt<'f, F> {
    type Item = R;
    type Producer<P: Producer<Item = T>> = MapProducer<'f, P, F>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> MapProducer<'f, P, F> {
        MapProducer { base, op: self.0 }
    }
}

impl<'f, P: Producer, R: Send, F: Fn(P::Item) -> R + Sync + Send> Producer for MapProducer<'f, P, F> {
    type Item = R;
    type IntoIter = iter::Map<P::IntoIter, &'f F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.base.into_iter().map(self.op)
    }
    fn min_len(&self) -> usize {
        self.base.min_len()
    }
    fn max_len(&self) -> usize {
        self.base.max_len()
    }
    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (MapProducer { base: left, op: self.op }, MapProducer { base: right, op: self.op })
    }
}

staged_indexed!(Map<F> [R,] where [F: Fn(I::Item) -> R + Sync + Send, R: Send]; adapt(this) MapAdapt(&this.op));

// ---- cloned and copied --------------------------------------------------------------------------------------

macro_rules! by_value {
    ($name:ident, $stage:ident, $adapt:ident, $producer:ident, $method:ident, $bound:ident, $doc:literal) => {
        pub(crate) struct $stage;

        impl<'a, T: 'a + $bound + Send> Stage<&'a T> for $stage {
            type Out = T;
            const EXACT: bool = true;

            #[inline]
            fn apply<I: Iterator<Item = &'a T>>(&self, iter: I) -> impl Iterator<Item = T> {
                iter.$method()
            }
        }

        staged! {
            #[doc = $doc]
            $name {} ['a, T,] where [I: ParallelIterator<Item = &'a T>, T: 'a + $bound + Send + Sync] => T;
            stage(this) $stage; exact: true
        }

        pub(crate) struct $adapt;
        pub(crate) struct $producer<P>(P);

        impl<'a, T: 'a + $bound + Send + Sync> Adapt<&'a T> for $adapt {
            type Item = T;
            type Producer<P: Producer<Item = &'a T>> = $producer<P>;

            fn adapt<P: Producer<Item = &'a T>>(self, base: P) -> $producer<P> {
                $producer(base)
            }
        }

        impl<'a, T: 'a + $bound + Send + Sync, P: Producer<Item = &'a T>> Producer for $producer<P> {
            type Item = T;
            type IntoIter = iter::$name<P::IntoIter>;

            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter().$method()
            }
            fn min_len(&self) -> usize {
                self.0.min_len()
            }
            fn max_len(&self) -> usize {
                self.0.max_len()
            }
            #[inline]
            fn split_at(self, index: usize) -> (Self, Self) {
                let (left, right) = self.0.split_at(index);
                ($producer(left), $producer(right))
            }
        }

        staged_indexed!($name ['a, T,] where [I: IndexedParallelIterator<Item = &'a T>, T: 'a + $bound + Send + Sync]; adapt(this) $adapt);
    };
}

by_value!(
    Cloned,
    ClonedStage,
    ClonedAdapt,
    ClonedProducer,
    cloned,
    Clone,
    "From [`ParallelIterator::cloned`]."
);
by_value!(
    Copied,
    CopiedStage,
    CopiedAdapt,
    CopiedProducer,
    copied,
    Copy,
    "From [`ParallelIterator::copied`]."
);

// ---- inspect and update -------------------------------------------------------------------------------------

pub(crate) struct InspectStage<F>(F);

impl<T: Send, F: Fn(&T) + Sync + Send> Stage<T> for InspectStage<F> {
    type Out = T;
    const EXACT: bool = true;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.inspect(&self.0)
    }
}

impl<T, F: Fn(&T) + Sync + Send> EachItem<T> for InspectStage<&F> {
    type Out = T;
    #[inline]
    fn each(&self, item: T) -> T {
        (self.0)(&item);
        item
    }
}

impl<F> Clone for InspectStage<&F> {
    fn clone(&self) -> Self {
        InspectStage(self.0)
    }
}

staged! {
    /// From [`ParallelIterator::inspect`].
    Inspect<F> { op: F } [] where [F: Fn(&I::Item) + Sync + Send] => I::Item;
    stage(this) InspectStage(this.op); exact: true
}
staged_indexed!(Inspect<F> [] where [F: Fn(&I::Item) + Sync + Send]; adapt(this) Each(InspectStage(&this.op)));

pub(crate) struct UpdateStage<F>(F);

impl<T: Send, F: Fn(&mut T) + Sync + Send> Stage<T> for UpdateStage<F> {
    type Out = T;
    const EXACT: bool = true;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.map(|mut item| {
            (self.0)(&mut item);
            item
        })
    }
}

impl<T, F: Fn(&mut T) + Sync + Send> EachItem<T> for UpdateStage<&F> {
    type Out = T;
    #[inline]
    fn each(&self, mut item: T) -> T {
        (self.0)(&mut item);
        item
    }
}

impl<F> Clone for UpdateStage<&F> {
    fn clone(&self) -> Self {
        UpdateStage(self.0)
    }
}

staged! {
    /// From [`ParallelIterator::update`].
    Update<F> { op: F } [] where [F: Fn(&mut I::Item) + Sync + Send] => I::Item;
    stage(this) UpdateStage(this.op); exact: true
}
staged_indexed!(Update<F> [] where [F: Fn(&mut I::Item) + Sync + Send]; adapt(this) Each(UpdateStage(&this.op)));

// ---- panic_fuse ---------------------------------------------------------------------------------------------

pub(crate) struct FuseStage;

impl<T: Send> Stage<T> for FuseStage {
    type Out = T;
    const EXACT: bool = true;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter
    }
}

impl<T> EachItem<T> for FuseStage {
    type Out = T;
    #[inline]
    fn each(&self, item: T) -> T {
        item
    }
}

impl Clone for FuseStage {
    fn clone(&self) -> Self {
        FuseStage
    }
}

staged! {
    /// From [`ParallelIterator::panic_fuse`].
    PanicFuse {} [] where [] => I::Item;
    stage(this) FuseStage; exact: true
}
staged_indexed!(PanicFuse [] where []; adapt(this) Each(FuseStage));

// ---- Fewer or more items ------------------------------------------------------------------------------------

pub(crate) struct FilterStage<F>(F);

impl<T: Send, F: Fn(&T) -> bool + Sync + Send> Stage<T> for FilterStage<F> {
    type Out = T;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.filter(&self.0)
    }
}

staged! {
    /// From [`ParallelIterator::filter`].
    Filter<F> { op: F } [] where [F: Fn(&I::Item) -> bool + Sync + Send] => I::Item;
    stage(this) FilterStage(this.op); exact: false
}

pub(crate) struct FilterMapStage<F>(F);

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync + Send> Stage<T> for FilterMapStage<F> {
    type Out = R;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = R> {
        iter.filter_map(&self.0)
    }
}

staged! {
    /// From [`ParallelIterator::filter_map`].
    FilterMap<F> { op: F } [R,] where [F: Fn(I::Item) -> Option<R> + Sync + Send, R: Send] => R;
    stage(this) FilterMapStage(this.op); exact: false
}

pub(crate) struct FlatMapIterStage<F>(F);

impl<T, S: IntoIterator<Item: Send>, F: Fn(T) -> S + Sync + Send> Stage<T> for FlatMapIterStage<F> {
    type Out = S::Item;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = S::Item> {
        iter.flat_map(&self.0)
    }
}

staged! {
    /// From [`ParallelIterator::flat_map_iter`].
    FlatMapIter<F> { op: F } [S,] where [F: Fn(I::Item) -> S + Sync + Send, S: IntoIterator<Item: Send>] => S::Item;
    stage(this) FlatMapIterStage(this.op); exact: false
}

pub(crate) struct FlattenIterStage;

impl<T: IntoIterator<Item: Send>> Stage<T> for FlattenIterStage {
    type Out = T::Item;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T::Item> {
        iter.flatten()
    }
}

staged! {
    /// From [`ParallelIterator::flatten_iter`].
    FlattenIter {} [] where [I::Item: IntoIterator<Item: Send>] => <I::Item as IntoIterator>::Item;
    stage(this) FlattenIterStage; exact: false
}

// ---- Until somebody has enough ------------------------------------------------------------------------------

pub(crate) struct WhileSomeStage(AtomicBool);

impl<T: Send> Stage<Option<T>> for WhileSomeStage {
    type Out = T;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = Option<T>>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.map_while(|item| {
            if item.is_none() {
                self.0.store(true, Relaxed);
            }
            item
        })
    }

    fn full(&self) -> bool {
        self.0.load(Relaxed)
    }
}

staged! {
    /// From [`ParallelIterator::while_some`].
    WhileSome {} [T,] where [I: ParallelIterator<Item = Option<T>>, T: Send] => T;
    stage(this) WhileSomeStage(AtomicBool::new(false)); exact: false
}

/// Takes one of those that are left, if there are any.
fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
}

pub(crate) struct TakeAnyStage(AtomicUsize);

impl<T: Send> Stage<T> for TakeAnyStage {
    type Out = T;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.take_while(|_| take_one(&self.0))
    }

    fn full(&self) -> bool {
        self.0.load(Relaxed) == 0
    }
}

staged! {
    /// From [`ParallelIterator::take_any`].
    TakeAny { count: usize } [] where [] => I::Item;
    stage(this) TakeAnyStage(AtomicUsize::new(this.count)); exact: false
}

pub(crate) struct SkipAnyStage(AtomicUsize);

impl<T: Send> Stage<T> for SkipAnyStage {
    type Out = T;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.skip_while(|_| take_one(&self.0))
    }
}

staged! {
    /// From [`ParallelIterator::skip_any`].
    SkipAny { count: usize } [] where [] => I::Item;
    stage(this) SkipAnyStage(AtomicUsize::new(this.count)); exact: false
}

pub(crate) struct TakeAnyWhileStage<F> {
    op: F,
    ended: AtomicBool,
}

impl<T: Send, F: Fn(&T) -> bool + Sync + Send> Stage<T> for TakeAnyWhileStage<F> {
    type Out = T;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.take_while(|item| {
            if self.ended.load(Relaxed) {
                return false;
            }
            let wanted = (self.op)(item);
            if !wanted {
                self.ended.store(true, Relaxed);
            }
            wanted
        })
    }

    fn full(&self) -> bool {
        self.ended.load(Relaxed)
    }
}

staged! {
    /// From [`ParallelIterator::take_any_while`].
    TakeAnyWhile<F> { op: F } [] where [F: Fn(&I::Item) -> bool + Sync + Send] => I::Item;
    stage(this) TakeAnyWhileStage { op: this.op, ended: AtomicBool::new(false) }; exact: false
}

pub(crate) struct SkipAnyWhileStage<F> {
    op: F,
    ended: AtomicBool,
}

impl<T: Send, F: Fn(&T) -> bool + Sync + Send> Stage<T> for SkipAnyWhileStage<F> {
    type Out = T;
    const EXACT: bool = false;

    #[inline]
    fn apply<I: Iterator<Item = T>>(&self, iter: I) -> impl Iterator<Item = T> {
        iter.skip_while(|item| {
            if self.ended.load(Relaxed) {
                return false;
            }
            let unwanted = (self.op)(item);
            if !unwanted {
                self.ended.store(true, Relaxed);
            }
            unwanted
        })
    }
}

staged! {
    /// From [`ParallelIterator::skip_any_while`].
    SkipAnyWhile<F> { op: F } [] where [F: Fn(&I::Item) -> bool + Sync + Send] => I::Item;
    stage(this) SkipAnyWhileStage { op: this.op, ended: AtomicBool::new(false) }; exact: false
}
