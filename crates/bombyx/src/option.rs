//! Options and results: iterators with one item or none.

use crate::iter::plumbing::Producer;
use crate::iter::{IntoParallelIterator, delegate};

/// An option is a producer of its value.
struct OptionProducer<T>(Option<T>);

impl<T: Send> Producer for OptionProducer<T> {
    type Item = T;
    type IntoIter = std::option::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        if index == 0 { (OptionProducer(None), self) } else { (self, OptionProducer(None)) }
    }
}

/// A parallel iterator over the value of an option.
///
/// ```
/// use bombyx::prelude::*;
/// assert_eq!(Some(7).into_par_iter().chain(None).collect::<Vec<i32>>(), [7]);
/// ```
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct IntoIter<T: Send> {
    option: Option<T>,
}

impl<T: Send> IntoParallelIterator for Option<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { option: self }
    }
}

delegate::indexed! {
    [T: Send] IntoIter<T> => T;
    len(this) { usize::from(this.option.is_some()) }
    with_producer(this, callback) { callback.callback(OptionProducer(this.option)) }
}

/// The iterators over references to the value of `$type`, made from [`IntoIter`] of an option.
macro_rules! references {
    ([$($g:ident),*] $type:ty, $this:ident => $as_ref:expr, $as_mut:expr) => {
        /// A parallel iterator over a reference to the value.
        #[derive(Debug)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct Iter<'a, T: Sync> {
            inner: crate::option::IntoIter<&'a T>,
        }

        impl<T: Sync> Clone for Iter<'_, T> {
            fn clone(&self) -> Self {
                Iter { inner: self.inner.clone() }
            }
        }

        impl<'a, T: Sync $(, $g)*> IntoParallelIterator for &'a $type {
            type Item = &'a T;
            type Iter = Iter<'a, T>;

            fn into_par_iter(self) -> Iter<'a, T> {
                let $this = self;
                Iter { inner: $as_ref.into_par_iter() }
            }
        }

        delegate::wrapper!(['a, T: Sync] Iter<'a, T> => &'a T);

        /// A parallel iterator over a mutable reference to the value.
        #[derive(Debug)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct IterMut<'a, T: Send> {
            inner: crate::option::IntoIter<&'a mut T>,
        }

        impl<'a, T: Send $(, $g)*> IntoParallelIterator for &'a mut $type {
            type Item = &'a mut T;
            type Iter = IterMut<'a, T>;

            fn into_par_iter(self) -> IterMut<'a, T> {
                let $this = self;
                IterMut { inner: $as_mut.into_par_iter() }
            }
        }

        delegate::wrapper!(['a, T: Send] IterMut<'a, T> => &'a mut T);
    };
}

references!([] Option<T>, this => this.as_ref(), this.as_mut());

/// Results: the value, or nothing if there is an error.
pub(crate) mod result {
    use super::*;

    /// A parallel iterator over the value of a result.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("7".parse::<i32>().into_par_iter().sum::<i32>(), 7);
    /// ```
    #[derive(Clone, Debug)]
    #[must_use = "iterators do nothing unless they are used"]
    pub struct IntoIter<T: Send> {
        inner: crate::option::IntoIter<T>,
    }

    impl<T: Send, E> IntoParallelIterator for Result<T, E> {
        type Item = T;
        type Iter = IntoIter<T>;

        fn into_par_iter(self) -> IntoIter<T> {
            IntoIter { inner: self.ok().into_par_iter() }
        }
    }

    delegate::wrapper!([T: Send] IntoIter<T> => T);

    references!([E] Result<T, E>, this => this.as_ref().ok(), this.as_mut().ok());
}
