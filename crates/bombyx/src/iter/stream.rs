//! `par_stream`: an ordinary iterator whose items are computed in parallel, in order, and in bounded memory.

use super::{IntoParallelIterator, ParallelIterator};
use crate::threads::in_place_scope;
use bombyx_core::in_pool;
use bombyx_core::loop_plumbing::{self as runtime, LoopSite};
use std::fmt;
use std::vec;

/// Makes ordered streams from ordinary iterators. See [`par_stream`](ParallelStream::par_stream).
pub trait ParallelStream: Iterator + Sized {
    /// A stream over the items of this iterator. It keeps at most `buffer` results that are computed and not yet
    /// consumed, and twice as many while it computes ahead.
    ///
    /// The results come in the order of the items, however many there are. The iterator may be infinite.
    ///
    /// # Panics
    /// If the buffer is 0.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let squares = (0u64..).par_stream(64).map(|n| n * n);
    /// assert_eq!(squares.take_while(|&square| square < 50).collect::<Vec<_>>(), [0, 1, 4, 9, 16, 25, 36, 49]);
    /// ```
    #[track_caller]
    fn par_stream(self, buffer: usize) -> Stream<Self>
    where
        Self: Send,
        Self::Item: Send,
    {
        assert!(buffer != 0, "the buffer must not be zero");
        Stream { iter: self, buffer }
    }
}

impl<I: Iterator> ParallelStream for I {}

/// From [`ParallelStream::par_stream`].
#[derive(Clone, Debug)]
#[must_use = "streams do nothing unless they are used"]
pub struct Stream<I> {
    iter: I,
    buffer: usize,
}

impl<I: Iterator<Item: Send> + Send> Stream<I> {
    /// Maps every item with `op`, as an ordinary iterator.
    ///
    /// With [`Iterator::for_each`] or [`Iterator::fold`], the next batch is computed while the last one is consumed. With
    /// [`Iterator::next`], and so in a `for` loop, a batch is computed when the last one has been consumed: between two
    /// calls of `next` nothing may run, because the stream may borrow from its caller.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let lines = "a\nbb\nccc".lines();
    /// assert_eq!(lines.par_stream(2).map(str::len).collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn map<F, R>(self, op: F) -> StreamMap<I, F, R>
    where
        F: Fn(I::Item) -> R + Sync + Send,
        R: Send,
    {
        let supply = Batches { iter: Some(self.iter), buffer: self.buffer, op, site: LoopSite::iterator() };
        StreamMap { supply, ready: Vec::new().into_iter() }
    }
}

/// From [`Stream::map`].
#[must_use = "iterators do nothing unless they are used"]
pub struct StreamMap<I, F, R> {
    supply: Batches<I, F>,
    ready: vec::IntoIter<R>,
}

impl<I: fmt::Debug, F, R> fmt::Debug for StreamMap<I, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamMap").field("iter", &self.supply.iter).finish_non_exhaustive()
    }
}

/// Computes batch after batch. `None` if the iterator has ended.
struct Batches<I, F> {
    iter: Option<I>,
    buffer: usize,
    op: F,
    site: LoopSite,
}

impl<I, F, R> Batches<I, F>
where
    I: Iterator<Item: Send> + Send,
    F: Fn(I::Item) -> R + Sync + Send,
    R: Send,
{
    /// The next results. Empty if there are no more.
    fn next(&mut self) -> Vec<R> {
        let Some(iter) = &mut self.iter else { return Vec::new() };
        let items: Vec<_> = iter.by_ref().take(self.buffer).collect();
        if items.len() < self.buffer {
            self.iter = None;
        }
        super::modes::Sited { base: items.into_par_iter().map(&self.op), site: self.site }.collect()
    }
}

impl<I, F, R> Iterator for StreamMap<I, F, R>
where
    I: Iterator<Item: Send> + Send,
    F: Fn(I::Item) -> R + Sync + Send,
    R: Send,
{
    type Item = R;

    fn next(&mut self) -> Option<R> {
        if self.ready.len() == 0 {
            self.ready = self.supply.next().into_iter();
        }
        self.ready.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (low, high) = self.supply.iter.as_ref().map_or((0, Some(0)), Iterator::size_hint);
        let ready = self.ready.len();
        (low.saturating_add(ready), high.and_then(|high| high.checked_add(ready)))
    }

    fn fold<B, G: FnMut(B, R) -> B>(mut self, first: B, mut g: G) -> B {
        let mut sum = Some(first);
        loop {
            let ready = std::mem::take(&mut self.ready);
            let nothing = ready.len() == 0;
            let (slot, supply) = (&mut sum, &mut self.supply);
            let consume = || *slot = slot.take().map(|sum| ready.fold(sum, &mut g));
            let mut next = Vec::new();
            if nothing {
                next = supply.next();
            } else if in_pool() {
                ((), next) = runtime::fork(supply.site, consume, |_| supply.next());
            } else {
                // The consumer stays on the calling thread: it may hold values that are not `Send`.
                in_place_scope(|scope| {
                    scope.spawn(|_| next = supply.next());
                    consume();
                });
            }
            self.ready = next.into_iter();
            if self.ready.len() == 0 {
                return sum.expect("put back by the fold");
            }
        }
    }
}
