//! Vectors and arrays by value, and `par_drain`.

use crate::iter::plumbing::Producer;
use crate::iter::{IntoParallelIterator, ParallelDrainRange, delegate};
use std::fmt;
use std::iter::FusedIterator;
use std::mem;
use std::ops::{Bound, Range, RangeBounds};
use std::ptr;
use std::slice;

/// A parallel iterator over the items of a vector.
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct IntoIter<T: Send> {
    vec: Vec<T>,
}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { vec: self }
    }
}

impl<T: Send> IntoParallelIterator for Box<[T]> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { vec: self.into_vec() }
    }
}

delegate::indexed! {
    [T: Send] IntoIter<T> => T;
    len(this) { this.vec.len() }
    with_producer(this, callback) {
        let mut vec = this.vec;
        let len = vec.len();
        // SAFETY: from now on the items belong to the producer. The vector only keeps the memory.
        let items = unsafe {
            vec.set_len(0);
            slice::from_raw_parts_mut(vec.as_mut_ptr(), len)
        };
        // SAFETY: as above. The memory outlives the call.
        callback.callback(unsafe { Owned::new(items) })
    }
}

/// Items that belong to whoever has this, in memory that does not. Both a producer and an iterator.
pub(crate) struct Owned<'data, T> {
    items: &'data mut [T],
}

impl<'data, T> Owned<'data, T> {
    /// # Safety
    /// Nobody else uses or drops the items, whether or not this one does.
    pub(crate) unsafe fn new(items: &'data mut [T]) -> Owned<'data, T> {
        Owned { items }
    }
}

impl<T> Drop for Owned<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the items are ours, and nobody sees them again.
        unsafe { ptr::from_mut(mem::take(&mut self.items)).drop_in_place() }
    }
}

impl<'data, T: Send> Producer for Owned<'data, T> {
    type Item = T;
    type IntoIter = OwnedIter<'data, T>;

    #[inline]
    fn into_iter(mut self) -> OwnedIter<'data, T> {
        OwnedIter { items: mem::take(&mut self.items).iter_mut() }
    }

    #[inline]
    fn split_at(mut self, index: usize) -> (Self, Self) {
        let (left, right) = mem::take(&mut self.items).split_at_mut(index);
        (Owned { items: left }, Owned { items: right })
    }
}

/// The same as an iterator. The items after its position must still be dropped.
pub(crate) struct OwnedIter<'data, T> {
    items: slice::IterMut<'data, T>,
}

impl<T> Iterator for OwnedIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: the item is ours, and the position is now after it.
        self.items.next().map(|item| unsafe { ptr::read(item) })
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<T> DoubleEndedIterator for OwnedIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        // SAFETY: the item is ours, and the position is now before it.
        self.items.next_back().map(|item| unsafe { ptr::read(item) })
    }
}

impl<T> ExactSizeIterator for OwnedIter<'_, T> {}
impl<T> FusedIterator for OwnedIter<'_, T> {}

impl<T> Drop for OwnedIter<'_, T> {
    fn drop(&mut self) {
        let rest = mem::replace(&mut self.items, [].iter_mut());
        // SAFETY: the items are ours, and nobody sees them again.
        unsafe { ptr::from_mut(rest.into_slice()).drop_in_place() }
    }
}

// ---- Drain --------------------------------------------------------------------------------------------------

/// A parallel iterator that takes a range out of a vector. From [`ParallelDrainRange::par_drain`].
#[must_use = "iterators do nothing unless they are used"]
pub struct Drain<'data, T: Send> {
    vec: &'data mut Vec<T>,
    range: Range<usize>,
    len: usize,
}

impl<T: Send + fmt::Debug> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("range", &self.range).finish_non_exhaustive()
    }
}

/// The range as numbers below `len`.
///
/// # Panics
/// If the range begins after its end, or reaches further than `len`.
#[track_caller]
pub(crate) fn simplify<R: RangeBounds<usize>>(range: R, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Unbounded => 0,
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1).expect("a range begins behind the last number"),
    };
    let end = match range.end_bound() {
        Bound::Unbounded => len,
        Bound::Included(&last) => last.checked_add(1).expect("a range ends behind the last number"),
        Bound::Excluded(&end) => end,
    };
    assert!(start <= end, "range {start}..{end} begins after its end");
    assert!(end <= len, "range {start}..{end} ends after the length, {len}");
    start..end
}

impl<'data, T: Send> ParallelDrainRange<usize> for &'data mut Vec<T> {
    type Iter = Drain<'data, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'data, T> {
        let len = self.len();
        Drain { range: simplify(range, len), len, vec: self }
    }
}

delegate::indexed! {
    [T: Send] Drain<'_, T> => T;
    len(this) { this.range.len() }
    with_producer(this, callback) {
        let Range { start, end } = this.range.clone();
        // SAFETY: from now on the items of the range belong to the producer. Those after it are put back when the drain
        // is dropped, which happens later.
        let items = unsafe {
            this.vec.set_len(start);
            slice::from_raw_parts_mut(this.vec.as_mut_ptr().add(start), end - start)
        };
        // SAFETY: as above.
        callback.callback(unsafe { Owned::new(items) })
    }
}

impl<T: Send> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        let Range { start, end } = self.range.clone();
        if self.vec.len() != start {
            // The drain was never used as an iterator.
            debug_assert_eq!(self.vec.len(), self.len);
            self.vec.drain(start..end);
            return;
        }
        if start == end && self.vec.len() == self.len {
            return;
        }
        let tail = self.len - end;
        // SAFETY: the range has been consumed. What is after it belongs to the vector, and moves to where the range
        // began.
        unsafe {
            let first = self.vec.as_mut_ptr();
            ptr::copy(first.add(end), first.add(start), tail);
            self.vec.set_len(start + tail);
        }
    }
}

// ---- Arrays -------------------------------------------------------------------------------------------------

/// Arrays by value.
pub(crate) mod array {
    use super::*;
    use std::mem::ManuallyDrop;

    /// A parallel iterator over the items of an array.
    #[derive(Clone, Debug)]
    #[must_use = "iterators do nothing unless they are used"]
    pub struct IntoIter<T: Send, const N: usize> {
        array: [T; N],
    }

    impl<T: Send, const N: usize> IntoParallelIterator for [T; N] {
        type Item = T;
        type Iter = IntoIter<T, N>;

        fn into_par_iter(self) -> IntoIter<T, N> {
            IntoIter { array: self }
        }
    }

    delegate::indexed! {
        [T: Send, const N: usize] IntoIter<T, N> => T;
        len(_this) { N }
        with_producer(this, callback) {
            let mut array = ManuallyDrop::new(this.array);
            // SAFETY: the array is not dropped, so the items belong to the producer.
            callback.callback(unsafe { Owned::new(array.as_mut_slice()) })
        }
    }

    impl<'data, T: Sync + 'data, const N: usize> IntoParallelIterator for &'data [T; N] {
        type Item = &'data T;
        type Iter = crate::slice::Iter<'data, T>;

        fn into_par_iter(self) -> Self::Iter {
            self.as_slice().into_par_iter()
        }
    }

    impl<'data, T: Send + 'data, const N: usize> IntoParallelIterator for &'data mut [T; N] {
        type Item = &'data mut T;
        type Iter = crate::slice::IterMut<'data, T>;

        fn into_par_iter(self) -> Self::Iter {
            self.as_mut_slice().into_par_iter()
        }
    }
}
