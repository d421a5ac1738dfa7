//! `empty`, `once`, and tuples of iterators.

use super::plumbing::{Producer, ProducerCallback, UnindexedConsumer};
use super::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, delegate};
use crate::option;
use std::marker::PhantomData;

/// An iterator without items.
///
/// ```
/// use bombyx::prelude::*;
/// assert_eq!(bombyx::iter::empty::<i32>().chain(0..2).collect::<Vec<_>>(), [0, 1]);
/// ```
pub fn empty<T: Send>() -> Empty<T> {
    Empty { marker: PhantomData }
}

/// From [`empty`].
#[must_use = "iterators do nothing unless they are used"]
pub struct Empty<T> {
    marker: PhantomData<T>,
}

impl<T> Clone for Empty<T> {
    fn clone(&self) -> Self {
        Empty { marker: PhantomData }
    }
}

impl<T> std::fmt::Debug for Empty<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad("Empty")
    }
}

delegate::indexed! {
    [T: Send] Empty<T> => T;
    len(_this) { 0 }
    with_producer(_this, callback) { callback.callback(EmptyProducer(PhantomData)) }
}

struct EmptyProducer<T>(PhantomData<T>);

impl<T: Send> Producer for EmptyProducer<T> {
    type Item = T;
    type IntoIter = std::iter::Empty<T>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::empty()
    }
    fn split_at(self, _: usize) -> (Self, Self) {
        (EmptyProducer(PhantomData), EmptyProducer(PhantomData))
    }
}

/// An iterator with one item.
///
/// ```
/// use bombyx::prelude::*;
/// assert_eq!(bombyx::iter::once(7).chain(0..2).collect::<Vec<_>>(), [7, 0, 1]);
/// ```
pub fn once<T: Send>(item: T) -> Once<T> {
    Once { inner: Some(item).into_par_iter() }
}

/// From [`once`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Once<T: Send> {
    inner: option::IntoIter<T>,
}

delegate::wrapper!([T: Send] Once<T> => T);

/// Several iterators that yield their items together, as many as all have. Tuples turn into this.
///
/// ```
/// use bombyx::prelude::*;
/// let all: Vec<_> = (0..3, vec!['a', 'b'], [1.0, 2.0, 3.0]).into_par_iter().collect();
/// assert_eq!(all, [(0, 'a', 1.0), (1, 'b', 2.0)]);
/// ```
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct MultiZip<T> {
    tuple: T,
}

/// Zips pairwise, from the right, and flattens the nested pairs.
macro_rules! multizip {
    ($($t:ident $i:ident),+) => {
        impl<$($t),+> IntoParallelIterator for ($($t,)+)
        where
            $($t: IntoParallelIterator<Iter: IndexedParallelIterator>,)+
        {
            type Item = ($($t::Item,)+);
            type Iter = MultiZip<($($t::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                let ($($i,)+) = self;
                MultiZip { tuple: ($($i.into_par_iter(),)+) }
            }
        }

        impl<'a, $($t),+> IntoParallelIterator for &'a ($($t,)+)
        where
            $($t: super::IntoParallelRefIterator<'a, Iter: IndexedParallelIterator>,)+
        {
            type Item = ($($t::Item,)+);
            type Iter = MultiZip<($($t::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                let ($($i,)+) = self;
                MultiZip { tuple: ($($i.par_iter(),)+) }
            }
        }

        impl<'a, $($t),+> IntoParallelIterator for &'a mut ($($t,)+)
        where
            $($t: super::IntoParallelRefMutIterator<'a, Iter: IndexedParallelIterator>,)+
        {
            type Item = ($($t::Item,)+);
            type Iter = MultiZip<($($t::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                let ($($i,)+) = self;
                MultiZip { tuple: ($($i.par_iter_mut(),)+) }
            }
        }

        impl<$($t: IndexedParallelIterator),+> ParallelIterator for MultiZip<($($t,)+)> {
            type Item = ($($t::Item,)+);

            fn drive_unindexed<C_: UnindexedConsumer<Self::Item>>(self, consumer: C_) -> C_::Result {
                let ($($i,)+) = self.tuple;
                multizip!(@zip $($i),+).map(|multizip!(@nest $($i),+)| ($($i,)+)).drive_unindexed(consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }

        impl<$($t: IndexedParallelIterator),+> IndexedParallelIterator for MultiZip<($($t,)+)> {
            fn len(&self) -> usize {
                let ($($i,)+) = &self.tuple;
                [$($i.len()),+].into_iter().min().unwrap_or(0)
            }

            fn with_producer<CB_: ProducerCallback<Self::Item>>(self, callback: CB_) -> CB_::Output {
                let ($($i,)+) = self.tuple;
                multizip!(@zip $($i),+).map(|multizip!(@nest $($i),+)| ($($i,)+)).with_producer(callback)
            }
        }
    };
    (@zip $i:ident) => { $i };
    (@zip $i:ident, $($rest:ident),+) => { $i.zip(multizip!(@zip $($rest),+)) };
    (@nest $i:ident) => { $i };
    (@nest $i:ident, $($rest:ident),+) => { ($i, multizip!(@nest $($rest),+)) };
}

multizip!(A a);
multizip!(A a, B b);
multizip!(A a, B b, C c);
multizip!(A a, B b, C c, D d);
multizip!(A a, B b, C c, D d, E e);
multizip!(A a, B b, C c, D d, E e, F f);
multizip!(A a, B b, C c, D d, E e, F f, G g);
multizip!(A a, B b, C c, D d, E e, F f, G g, H h);
multizip!(A a, B b, C c, D d, E e, F f, G g, H h, I i);
multizip!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j);
multizip!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k);
multizip!(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k, L l);
