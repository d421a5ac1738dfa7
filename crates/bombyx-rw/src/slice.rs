//! [`Slice`]: a mutable slice that can be divided among branches and put together again at their join.
//!
//! `&mut [T]` can be split, but two halves cannot become one again. In continuation-passing style, a join needs just
//! that. A `Slice` remembers what it was cut from.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A part of a mutable slice.
///
/// ```
/// use bombyx_rw::Slice;
///
/// let mut data = [1, 2, 3, 4];
/// let (mut left, right) = Slice::from(&mut data[..]).split(1);
/// left[0] = 5;
/// let whole = left.rejoin(right);
/// assert_eq!(*whole, [5, 2, 3, 4]);
/// ```
pub struct Slice<'a, T> {
    /// What it was cut from. Equal for all parts.
    origin: NonNull<T>,
    from: usize,
    len: usize,
    _slice: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Slice` is a `&mut [T]`.
unsafe impl<T: Send> Send for Slice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Slice<'_, T> {}

impl<'a, T> From<&'a mut [T]> for Slice<'a, T> {
    fn from(slice: &'a mut [T]) -> Slice<'a, T> {
        Slice { len: slice.len(), from: 0, origin: NonNull::from(slice).cast(), _slice: PhantomData }
    }
}

impl<'a, T> Slice<'a, T> {
    /// The first `at` elements, and the rest.
    ///
    /// # Panics
    /// If there are fewer than `at`.
    #[inline]
    pub fn split(self, at: usize) -> (Slice<'a, T>, Slice<'a, T>) {
        assert!(at <= self.len, "cannot split {} elements at {at}", self.len);
        let Slice { origin, from, len, _slice } = self;
        (Slice { origin, from, len: at, _slice }, Slice { origin, from: from + at, len: len - at, _slice })
    }

    /// Joins this part and the one that follows it.
    ///
    /// # Panics
    /// If they were not cut from one slice, next to each other.
    #[inline]
    pub fn rejoin(self, right: Slice<'a, T>) -> Slice<'a, T> {
        assert!(
            self.origin == right.origin && self.from + self.len == right.from,
            "the parts are not neighbours"
        );
        Slice { len: self.len + right.len, ..self }
    }

    /// The elements, from now on only for reading, by any number of readers.
    #[inline]
    pub fn share(self) -> &'a [T] {
        // SAFETY: the part is a slice that nobody else can reach for `'a`, and this gives it up.
        unsafe { std::slice::from_raw_parts(self.origin.add(self.from).as_ptr(), self.len) }
    }
}

impl<T> Deref for Slice<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: parts are disjoint, and this one is borrowed.
        unsafe { std::slice::from_raw_parts(self.origin.add(self.from).as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Slice<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, mutably.
        unsafe { std::slice::from_raw_parts_mut(self.origin.add(self.from).as_ptr(), self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Slice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic = "not neighbours"]
    fn strangers_do_not_join() {
        let (mut a, mut b) = ([1], [2]);
        let _ = Slice::from(&mut a[..]).rejoin(Slice::from(&mut b[..]));
    }

    #[test]
    #[should_panic = "not neighbours"]
    fn order_matters() {
        let mut a = [1, 2];
        let (left, right) = Slice::from(&mut a[..]).split(1);
        let _ = right.rejoin(left);
    }
}
