//! Parts of slices by their content: `par_split` and `par_chunk_by`. A cut moves to the next border.

use crate::iter::ParallelIterator;
use crate::iter::driver::{Source, drive};
use crate::iter::plumbing::{Folder, UnindexedConsumer};
use std::fmt;
use std::mem;

/// A kind of parts of a slice `S`.
macro_rules! pieces {
    (
        $(#[$doc:meta])* $name:ident, $source:ident, $bound:ident, $slice:ty, $field:ident: [$($fn:tt)*];
        weight($len:ident) $weight:expr;
        cut($s:ident, $test:ident, $at:ident) $cut:expr;
        parts($whole:ident, $by:ident) $parts:expr
    ) => {
        $(#[$doc])*
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<'data, T, P> {
            pub(super) slice: $slice,
            pub(super) $field: P,
        }

        impl<T: fmt::Debug, P> fmt::Debug for $name<'_, T, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("slice", &self.slice).finish_non_exhaustive()
            }
        }

        impl<'data, T: $bound, P: $($fn)* + Sync + Send> ParallelIterator for $name<'data, T, P> {
            type Item = $slice;

            fn drive_unindexed<C: UnindexedConsumer<$slice>>(self, consumer: C) -> C::Result {
                drive($source { slice: self.slice, test: &self.$field }, &consumer)
            }
        }

        struct $source<'data, 'p, T, P> {
            slice: $slice,
            test: &'p P,
        }

        impl<'data, T: $bound, P: $($fn)* + Sync + Send> Source for $source<'data, '_, T, P> {
            type Item = $slice;

            fn weight(&self) -> usize {
                let $len = self.slice.len();
                $weight
            }

            fn cut(mut self, weight: usize) -> (Self, Option<Self>) {
                if weight >= self.weight() {
                    return (self, None);
                }
                let ($test, $at) = (self.test, weight.max(1));
                // Returns both parts, or the whole.
                let $s = mem::take(&mut self.slice);
                let (left, right) = $cut;
                (Self { slice: left, ..self }, right.map(|slice| Self { slice, ..self }))
            }

            fn fold_with<F: Folder<$slice>>(self, folder: F) -> F {
                let ($whole, $by) = (self.slice, self.test);
                folder.consume_iter($parts)
            }
        }
    };
}

pieces! {
    /// From [`ParallelSlice::par_split`](super::ParallelSlice::par_split).
    Split, SplitSource, Sync, &'data [T], separator: [Fn(&T) -> bool];
    // An empty slice is a part, too.
    weight(len) len + 1;
    cut(slice, test, at) match slice[at - 1..].iter().position(test) {
        Some(i) => (&slice[..at - 1 + i], Some(&slice[at + i..])),
        None => (slice, None),
    };
    parts(slice, test) slice.split(test)
}

pieces! {
    /// From [`ParallelSliceMut::par_split_mut`](super::ParallelSliceMut::par_split_mut).
    SplitMut, SplitMutSource, Send, &'data mut [T], separator: [Fn(&T) -> bool];
    weight(len) len + 1;
    cut(slice, test, at) match slice[at - 1..].iter().position(test) {
        Some(i) => {
            let (left, right) = slice.split_at_mut(at - 1 + i);
            (left, Some(&mut right[1..]))
        }
        None => (slice, None),
    };
    parts(slice, test) slice.split_mut(test)
}

pieces! {
    /// From [`ParallelSlice::par_split_inclusive`](super::ParallelSlice::par_split_inclusive).
    SplitInclusive, SplitInclusiveSource, Sync, &'data [T], separator: [Fn(&T) -> bool];
    weight(len) len;
    cut(slice, test, at) match slice[at - 1..].iter().position(test) {
        Some(i) => (&slice[..at + i], Some(&slice[at + i..]).filter(|rest| !rest.is_empty())),
        None => (slice, None),
    };
    parts(slice, test) slice.split_inclusive(test)
}

pieces! {
    /// From [`ParallelSliceMut::par_split_inclusive_mut`](super::ParallelSliceMut::par_split_inclusive_mut).
    SplitInclusiveMut, SplitInclusiveMutSource, Send, &'data mut [T], separator: [Fn(&T) -> bool];
    weight(len) len;
    cut(slice, test, at) match slice[at - 1..].iter().position(test) {
        Some(i) => {
            let (left, right) = slice.split_at_mut(at + i);
            (left, Some(right).filter(|rest| !rest.is_empty()))
        }
        None => (slice, None),
    };
    parts(slice, test) slice.split_inclusive_mut(test)
}

/// The first border between unlike neighbours, from `at` on.
fn border<T>(slice: &[T], at: usize, alike: impl Fn(&T, &T) -> bool) -> Option<usize> {
    (at..slice.len()).find(|&i| !alike(&slice[i - 1], &slice[i]))
}

pieces! {
    /// From [`ParallelSlice::par_chunk_by`](super::ParallelSlice::par_chunk_by).
    ChunkBy, ChunkBySource, Sync, &'data [T], pred: [Fn(&T, &T) -> bool];
    weight(len) len;
    cut(slice, test, at) match border(slice, at, test) {
        Some(i) => (&slice[..i], Some(&slice[i..])),
        None => (slice, None),
    };
    parts(slice, test) slice.chunk_by(test)
}

pieces! {
    /// From [`ParallelSliceMut::par_chunk_by_mut`](super::ParallelSliceMut::par_chunk_by_mut).
    ChunkByMut, ChunkByMutSource, Send, &'data mut [T], pred: [Fn(&T, &T) -> bool];
    weight(len) len;
    cut(slice, test, at) match border(slice, at, test) {
        Some(i) => {
            let (left, right) = slice.split_at_mut(i);
            (left, Some(right))
        }
        None => (slice, None),
    };
    parts(slice, test) slice.chunk_by_mut(test)
}

macro_rules! clone {
    ($($name:ident, $field:ident;)*) => {$(
        impl<T, P: Clone> Clone for $name<'_, T, P> {
            fn clone(&self) -> Self {
                $name { slice: self.slice, $field: self.$field.clone() }
            }
        }
    )*};
}

clone! { Split, separator; SplitInclusive, separator; ChunkBy, pred; }
