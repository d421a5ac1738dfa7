//! `chunks`, `fold_chunks` and `fold_chunks_with`: several items become one.

use super::plumbing::Producer;
use super::producers::{Adapt, with_base};
use super::{IndexedParallelIterator, delegate};

/// Turns an ordinary iterator over a chunk into one item.
pub(crate) trait Gather<T>: Clone {
    type Out;

    fn gather<I: Iterator<Item = T>>(&self, chunk: I) -> Self::Out;
}

/// A producer of gathered chunks, or an iterator of them, or what makes a producer. `len` is the length of the base.
pub(crate) struct Chunked<B, G> {
    base: B,
    gather: G,
    size: usize,
    len: usize,
}

impl<T, G: Gather<T> + Send> Adapt<T> for Chunked<(), G> {
    type Item = G::Out;
    type Producer<P: Producer<Item = T>> = Chunked<P, G>;

    fn adapt<P: Producer<Item = T>>(self, base: P) -> Chunked<P, G> {
        Chunked { base, gather: self.gather, size: self.size, len: self.len }
    }
}

impl<P: Producer, G: Gather<P::Item> + Send> Producer for Chunked<P, G> {
    type Item = G::Out;
    type IntoIter = ChunkedIter<P, G>;

    fn into_iter(self) -> Self::IntoIter {
        ChunkedIter(Chunked { base: Some(self.base), gather: self.gather, size: self.size, len: self.len })
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = index.saturating_mul(self.size).min(self.len);
        let (left, right) = self.base.split_at(middle);
        let size = self.size;
        (
            Chunked { base: left, gather: self.gather.clone(), size, len: middle },
            Chunked { base: right, gather: self.gather, size, len: self.len - middle },
        )
    }
    fn min_len(&self) -> usize {
        self.base.min_len().div_ceil(self.size)
    }
    fn max_len(&self) -> usize {
        (self.base.max_len() / self.size).max(1)
    }
}

pub(crate) struct ChunkedIter<P, G>(Chunked<Option<P>, G>);

impl<P: Producer, G: Gather<P::Item>> ChunkedIter<P, G> {
    /// Takes the items before that place, or those from it on.
    fn take(&mut self, at: usize, front: bool) -> Option<G::Out> {
        let Chunked { base, gather, len, .. } = &mut self.0;
        if *len == 0 {
            return None;
        }
        let (left, right) = base.take()?.split_at(at);
        let (chunk, rest, left_over) = if front { (left, right, *len - at) } else { (right, left, at) };
        *base = Some(rest);
        *len = left_over;
        Some(gather.gather(chunk.into_iter()))
    }
}

impl<P: Producer, G: Gather<P::Item>> Iterator for ChunkedIter<P, G> {
    type Item = G::Out;

    fn next(&mut self) -> Option<G::Out> {
        self.take(self.0.size.min(self.0.len), true)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.0.len.div_ceil(self.0.size);
        (len, Some(len))
    }
}

impl<P: Producer, G: Gather<P::Item>> DoubleEndedIterator for ChunkedIter<P, G> {
    fn next_back(&mut self) -> Option<G::Out> {
        let Chunked { size, len, .. } = self.0;
        self.take(len.saturating_sub(1) / size * size, false)
    }
}

impl<P: Producer, G: Gather<P::Item>> ExactSizeIterator for ChunkedIter<P, G> {}

macro_rules! chunked {
    (
        $(#[$doc:meta])* $name:ident [$($f:ident),*] { $($field:ident: $fty:ty),* } [$($g:tt)*] => $item:ty;
        where [$($w:tt)*] gather($this:ident) $gather:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<I $(, $f)*> {
            pub(crate) base: I,
            pub(crate) size: usize,
            $(pub(crate) $field: $fty,)*
        }

        delegate::debug!($name<I> [$($f),*] base, size);

        delegate::indexed! {
            [I $(, $f)* $($g)*] $name<I $(, $f)*> => $item where [I: IndexedParallelIterator, $($w)*];
            len(this) { this.base.len().div_ceil(this.size) }
            with_producer($this, callback) {
                let gather = $gather;
                let adapt = Chunked { base: (), gather, size: $this.size, len: $this.base.len() };
                with_base($this.base, adapt, callback)
            }
        }
    };
}

#[derive(Clone)]
pub(crate) struct GatherVec;

impl<T> Gather<T> for GatherVec {
    type Out = Vec<T>;

    fn gather<I: Iterator<Item = T>>(&self, chunk: I) -> Vec<T> {
        chunk.collect()
    }
}

chunked! {
    /// From [`IndexedParallelIterator::chunks`].
    Chunks [] {} [] => Vec<I::Item>; where [] gather(this) GatherVec
}

pub(crate) struct GatherFold<'a, ID, F> {
    identity: &'a ID,
    op: &'a F,
}

impl<ID, F> Clone for GatherFold<'_, ID, F> {
    fn clone(&self) -> Self {
        GatherFold { ..*self }
    }
}

impl<T, U, ID: Fn() -> U, F: Fn(U, T) -> U> Gather<T> for GatherFold<'_, ID, F> {
    type Out = U;

    fn gather<I: Iterator<Item = T>>(&self, chunk: I) -> U {
        chunk.fold((self.identity)(), self.op)
    }
}

chunked! {
    /// From [`IndexedParallelIterator::fold_chunks`].
    FoldChunks [ID, F] { identity: ID, op: F } [, U] => U;
    where [ID: Fn() -> U + Send + Sync, F: Fn(U, I::Item) -> U + Send + Sync, U: Send]
    gather(this) GatherFold { identity: &this.identity, op: &this.op }
}

pub(crate) struct GatherFoldWith<'a, U, F> {
    init: U,
    op: &'a F,
}

impl<U: Clone, F> Clone for GatherFoldWith<'_, U, F> {
    fn clone(&self) -> Self {
        GatherFoldWith { init: self.init.clone(), op: self.op }
    }
}

impl<T, U: Clone, F: Fn(U, T) -> U> Gather<T> for GatherFoldWith<'_, U, F> {
    type Out = U;

    fn gather<I: Iterator<Item = T>>(&self, chunk: I) -> U {
        chunk.fold(self.init.clone(), self.op)
    }
}

chunked! {
    /// From [`IndexedParallelIterator::fold_chunks_with`].
    FoldChunksWith [U, F] { init: U, op: F } [] => U;
    where [F: Fn(U, I::Item) -> U + Send + Sync, U: Send + Clone]
    gather(this) GatherFoldWith { init: this.init, op: &this.op }
}
