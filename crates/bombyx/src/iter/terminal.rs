//! Consumers that end a chain with one value: `for_each`, `reduce`, `sum` and others that are built from them.

use super::plumbing::{Consumer, Extent, Plan};
use super::private::Try;
use bombyx_core::loop_plumbing::LoopSite;
use std::iter::{Product, Sum};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The methods of consumers that do not need positions and can always take more.
macro_rules! simple {
    () => {
        #[inline]
        fn narrow(&self, _: &mut Self::Folder, _: usize) {}
        simple!(open);
        simple!(site);
    };
    (carries $value:ty) => {
        #[inline]
        fn narrow(&self, _: &mut Self::Folder, _: usize) {}
        simple!(open);
        #[inline]
        fn plan(&self) -> $crate::iter::plumbing::Plan<'_> {
            $crate::iter::plumbing::Plan::at(self.site).carries::<$value>()
        }
    };
    (open) => {
        #[inline]
        fn full(&self, _: &Self::Folder) -> bool {
            false
        }
    };
    (site) => {
        #[inline]
        fn plan(&self) -> $crate::iter::plumbing::Plan<'_> {
            $crate::iter::plumbing::Plan::at(self.site)
        }
    };
}
pub(crate) use simple;

/// Calls a closure for every item.
pub(crate) struct ForEach<F> {
    pub(crate) site: LoopSite,
    pub(crate) op: F,
}

impl<T, F: Fn(T) + Sync + Send> Consumer<T> for ForEach<F> {
    type Folder = ();
    type Result = ();

    fn start(&self, _: Extent) {}
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, (): (), iter: I) {
        iter.for_each(&self.op);
    }
    fn complete(&self, (): ()) {}
    fn reduce(&self, (): (), (): ()) {}
    simple!();
}

/// Combines all items, starting with a neutral one.
pub(crate) struct Reduce<ID, F> {
    pub(crate) site: LoopSite,
    pub(crate) identity: ID,
    pub(crate) op: F,
}

impl<T: Send, ID: Fn() -> T + Sync + Send, F: Fn(T, T) -> T + Sync + Send> Consumer<T> for Reduce<ID, F> {
    type Folder = T;
    type Result = T;

    fn start(&self, _: Extent) -> T {
        (self.identity)()
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: T, iter: I) -> T {
        iter.fold(folder, &self.op)
    }
    fn complete(&self, folder: T) -> T {
        folder
    }
    fn reduce(&self, left: T, right: T) -> T {
        (self.op)(left, right)
    }
    simple!(carries T);
}

/// Combines all items, if there are any.
pub(crate) struct ReduceWith<F> {
    pub(crate) site: LoopSite,
    pub(crate) op: F,
}

impl<T: Send, F: Fn(T, T) -> T + Sync + Send> Consumer<T> for ReduceWith<F> {
    type Folder = Option<T>;
    type Result = Option<T>;

    fn start(&self, _: Extent) -> Option<T> {
        None
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: Option<T>, mut iter: I) -> Option<T> {
        let first = match folder {
            Some(folder) => folder,
            None => iter.next()?,
        };
        Some(iter.fold(first, &self.op))
    }
    fn complete(&self, folder: Option<T>) -> Option<T> {
        folder
    }
    fn reduce(&self, left: Option<T>, right: Option<T>) -> Option<T> {
        match (left, right) {
            (Some(left), Some(right)) => Some((self.op)(left, right)),
            (left, right) => left.or(right),
        }
    }
    simple!(carries T);
}

/// Counts the items.
pub(crate) struct Count {
    pub(crate) site: LoopSite,
}

impl<T> Consumer<T> for Count {
    type Folder = usize;
    type Result = usize;

    fn start(&self, _: Extent) -> usize {
        0
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: usize, iter: I) -> usize {
        folder + iter.count()
    }
    fn complete(&self, folder: usize) -> usize {
        folder
    }
    fn reduce(&self, left: usize, right: usize) -> usize {
        left + right
    }
    simple!();
}

macro_rules! accumulate {
    ($name:ident, $trait:ident, $method:ident) => {
        /// Adds or multiplies, block by block.
        pub(crate) struct $name<S> {
            pub(crate) site: LoopSite,
            pub(crate) marker: PhantomData<fn() -> S>,
        }

        impl<T, S: Send + $trait<T> + $trait> Consumer<T> for $name<S> {
            type Folder = Option<S>;
            type Result = Option<S>;

            fn start(&self, _: Extent) -> Option<S> {
                None
            }
            #[inline]
            fn consume_iter<I: Iterator<Item = T>>(&self, folder: Option<S>, iter: I) -> Option<S> {
                let block = iter.$method();
                Some(match folder {
                    Some(folder) => [folder, block].into_iter().$method(),
                    None => block,
                })
            }
            fn complete(&self, folder: Option<S>) -> Option<S> {
                folder
            }
            fn reduce(&self, left: Option<S>, right: Option<S>) -> Option<S> {
                match (left, right) {
                    (Some(left), Some(right)) => Some([left, right].into_iter().$method()),
                    (left, right) => left.or(right),
                }
            }
            simple!();
        }
    };
}

accumulate!(SumOf, Sum, sum);
accumulate!(ProductOf, Product, product);

/// Combines the values of the items until one of them fails. Without an identity, only if there are any items.
pub(crate) struct TryReduce<ID, F> {
    pub(crate) site: LoopSite,
    pub(crate) identity: ID,
    pub(crate) op: F,
    pub(crate) failed: AtomicBool,
}

impl<T, ID, F> Consumer<T> for TryReduce<ID, F>
where
    T: Try + Send,
    ID: Fn() -> Option<T::Output> + Sync + Send,
    F: Fn(T::Output, T::Output) -> T + Sync + Send,
{
    type Folder = ControlFlow<T::Residual, Option<T::Output>>;
    /// `None` if there were no items.
    type Result = Option<T>;

    fn start(&self, _: Extent) -> Self::Folder {
        ControlFlow::Continue((self.identity)())
    }

    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: Self::Folder, mut iter: I) -> Self::Folder {
        let ControlFlow::Continue(sum) = folder else { return folder };
        let result = iter.try_fold(sum, |sum, item| {
            let item = item.branch()?;
            match sum {
                Some(sum) => ControlFlow::Continue(Some((self.op)(sum, item).branch()?)),
                None => ControlFlow::Continue(Some(item)),
            }
        });
        if result.is_break() {
            self.failed.store(true, Relaxed);
        }
        result
    }

    fn complete(&self, folder: Self::Folder) -> Option<T> {
        match folder {
            ControlFlow::Continue(sum) => sum.map(T::from_output),
            ControlFlow::Break(residual) => Some(T::from_residual(residual)),
        }
    }

    fn reduce(&self, left: Option<T>, right: Option<T>) -> Option<T> {
        match (left, right) {
            (Some(left), Some(right)) => Some(match (left.branch(), right.branch()) {
                (ControlFlow::Continue(left), ControlFlow::Continue(right)) => {
                    let result = (self.op)(left, right).branch();
                    if result.is_break() {
                        self.failed.store(true, Relaxed);
                    }
                    match result {
                        ControlFlow::Continue(sum) => T::from_output(sum),
                        ControlFlow::Break(residual) => T::from_residual(residual),
                    }
                }
                (ControlFlow::Break(residual), _) | (_, ControlFlow::Break(residual)) => {
                    T::from_residual(residual)
                }
            }),
            (left, right) => left.or(right),
        }
    }

    fn narrow(&self, _: &mut Self::Folder, _: usize) {}

    fn full(&self, _: &Self::Folder) -> bool {
        self.failed.load(Relaxed)
    }

    fn plan(&self) -> Plan<'_> {
        Plan::at(self.site).carries::<T::Output>()
    }
}
