//! Parts of slices by their length: chunks and windows.

use crate::iter::delegate;
use crate::iter::plumbing::Producer;
use std::iter;
use std::slice;

/// Where to cut a slice of `len` items before the chunk with this index, counted from the front or from the end.
fn from_front(len: usize, size: usize, index: usize) -> usize {
    index.saturating_mul(size).min(len)
}

fn from_end(len: usize, size: usize, index: usize) -> usize {
    len - index.saturating_mul(size).min(len)
}

macro_rules! chunks {
    (
        $(#[$doc:meta])* $name:ident, $producer:ident, $bound:ident, $slice:ty, $cut:ident, $split:ident, $iter:ident,
        $method:ident, $flip:expr $(, $rest:ident)?
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<'data, T: $bound> {
            pub(super) slice: $slice,
            $(pub(super) $rest: $slice,)?
            pub(super) size: usize,
        }

        delegate::indexed! {
            ['data, T: $bound] $name<'data, T> => $slice;
            len(this) { this.slice.len().div_ceil(this.size) }
            with_producer(this, callback) { callback.callback($producer { slice: this.slice, size: this.size }) }
        }

        struct $producer<'data, T> {
            slice: $slice,
            size: usize,
        }

        impl<'data, T: $bound> Producer for $producer<'data, T> {
            type Item = $slice;
            type IntoIter = slice::$iter<'data, T>;

            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                self.slice.$method(self.size)
            }
            #[inline]
            fn split_at(self, index: usize) -> (Self, Self) {
                let middle = $cut(self.slice.len(), self.size, index);
                let (left, right) = self.slice.$split(middle);
                let (left, right) = if $flip { (right, left) } else { (left, right) };
                ($producer { slice: left, size: self.size }, $producer { slice: right, size: self.size })
            }
        }
    };
}

macro_rules! shared {
    ($($name:ident $(, $rest:ident)?;)*) => {$(
        impl<T: Sync> Clone for $name<'_, T> {
            fn clone(&self) -> Self {
                $name { ..*self }
            }
        }

        $(impl<'data, T: Sync> $name<'data, T> {
            /// The items that are left over.
            ///
            /// ```
            /// use bombyx::prelude::*;
            /// assert_eq!([1, 2, 3].par_chunks_exact(2).remainder(), [3]);
            /// ```
            pub fn remainder(&self) -> &'data [T] {
                self.$rest
            }
        })?
    )*};
}

macro_rules! exclusive {
    ($($name:ident;)*) => {$(
        impl<'data, T: Send> $name<'data, T> {
            /// The items that are left over.
            ///
            /// ```
            /// use bombyx::prelude::*;
            /// assert_eq!([1, 2, 3].par_chunks_exact_mut(2).into_remainder(), [3]);
            /// ```
            pub fn into_remainder(self) -> &'data mut [T] {
                self.rest
            }

            /// The items that are left over, borrowed.
            ///
            /// ```
            /// use bombyx::prelude::*;
            /// assert_eq!([1, 2, 3].par_chunks_exact_mut(2).remainder(), [3]);
            /// ```
            pub fn remainder(&mut self) -> &mut [T] {
                self.rest
            }

            /// Takes the items that are left over. The iterator then no longer has them.
            ///
            /// ```
            /// use bombyx::prelude::*;
            /// let mut items = [1, 2, 3];
            /// let mut chunks = items.par_chunks_exact_mut(2);
            /// assert_eq!(chunks.take_remainder(), [3]);
            /// assert!(chunks.remainder().is_empty());
            /// ```
            pub fn take_remainder(&mut self) -> &'data mut [T] {
                std::mem::take(&mut self.rest)
            }
        }
    )*};
}

chunks!(
    /// From [`ParallelSlice::par_chunks`](super::ParallelSlice::par_chunks).
    Chunks, ChunksProducer, Sync, &'data [T], from_front, split_at, Chunks, chunks, false
);
chunks!(
    /// From [`ParallelSlice::par_chunks_exact`](super::ParallelSlice::par_chunks_exact).
    ChunksExact, ChunksExactProducer, Sync, &'data [T], from_front, split_at, ChunksExact, chunks_exact, false, rest
);
chunks!(
    /// From [`ParallelSlice::par_rchunks`](super::ParallelSlice::par_rchunks).
    RChunks, RChunksProducer, Sync, &'data [T], from_end, split_at, RChunks, rchunks, true
);
chunks!(
    /// From [`ParallelSlice::par_rchunks_exact`](super::ParallelSlice::par_rchunks_exact).
    RChunksExact, RChunksExactProducer, Sync, &'data [T], from_end, split_at, RChunksExact, rchunks_exact, true, rest
);
chunks!(
    /// From [`ParallelSliceMut::par_chunks_mut`](super::ParallelSliceMut::par_chunks_mut).
    ChunksMut, ChunksMutProducer, Send, &'data mut [T], from_front, split_at_mut, ChunksMut, chunks_mut, false
);
chunks!(
    /// From [`ParallelSliceMut::par_chunks_exact_mut`](super::ParallelSliceMut::par_chunks_exact_mut).
    ChunksExactMut, ChunksExactMutProducer, Send, &'data mut [T], from_front, split_at_mut, ChunksExactMut, chunks_exact_mut, false, rest
);
chunks!(
    /// From [`ParallelSliceMut::par_rchunks_mut`](super::ParallelSliceMut::par_rchunks_mut).
    RChunksMut, RChunksMutProducer, Send, &'data mut [T], from_end, split_at_mut, RChunksMut, rchunks_mut, true
);
chunks!(
    /// From [`ParallelSliceMut::par_rchunks_exact_mut`](super::ParallelSliceMut::par_rchunks_exact_mut).
    RChunksExactMut, RChunksExactMutProducer, Send, &'data mut [T], from_end, split_at_mut, RChunksExactMut, rchunks_exact_mut, true, rest
);

shared! { Chunks; ChunksExact, rest; RChunks; RChunksExact, rest; Windows; }
exclusive! { ChunksExactMut; RChunksExactMut; }

/// From [`ParallelSlice::par_windows`](super::ParallelSlice::par_windows).
#[derive(Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Windows<'data, T: Sync> {
    pub(super) slice: &'data [T],
    pub(super) size: usize,
}

delegate::indexed! {
    ['data, T: Sync] Windows<'data, T> => &'data [T];
    len(this) { (this.slice.len() + 1).saturating_sub(this.size) }
    with_producer(this, callback) { callback.callback(WindowsProducer { slice: this.slice, size: this.size }) }
}

struct WindowsProducer<'data, T> {
    slice: &'data [T],
    size: usize,
}

impl<'data, T: Sync> Producer for WindowsProducer<'data, T> {
    type Item = &'data [T];
    type IntoIter = slice::Windows<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.windows(self.size)
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        // The windows of both parts overlap.
        let (left, right) =
            (&self.slice[..self.slice.len().min(index + (self.size - 1))], &self.slice[index..]);
        (WindowsProducer { slice: left, size: self.size }, WindowsProducer { slice: right, size: self.size })
    }
}

/// From [`ParallelSlice::par_array_windows`](super::ParallelSlice::par_array_windows).
#[derive(Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct ArrayWindows<'data, T: Sync, const N: usize> {
    pub(super) slice: &'data [T],
}

impl<T: Sync, const N: usize> Clone for ArrayWindows<'_, T, N> {
    fn clone(&self) -> Self {
        ArrayWindows { ..*self }
    }
}

delegate::indexed! {
    ['data, T: Sync, const N: usize] ArrayWindows<'data, T, N> => &'data [T; N];
    len(this) { (this.slice.len() + 1).saturating_sub(N) }
    with_producer(this, callback) {
        callback.callback(ArrayWindowsProducer(WindowsProducer { slice: this.slice, size: N }))
    }
}

struct ArrayWindowsProducer<'data, T, const N: usize>(WindowsProducer<'data, T>);

impl<'data, T: Sync, const N: usize> Producer for ArrayWindowsProducer<'data, T, N> {
    type Item = &'data [T; N];
    type IntoIter = iter::Map<slice::Windows<'data, T>, fn(&'data [T]) -> &'data [T; N]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|window| window.try_into().expect("all windows have this length"))
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at(index);
        (ArrayWindowsProducer(left), ArrayWindowsProducer(right))
    }
}
