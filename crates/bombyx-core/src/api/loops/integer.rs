//! The integers that a loop can run over. A loop counts positions from 0; its first number turns them into numbers.

use std::ops::Range;

/// An integer type that [`for_each`](crate::for_each) and its relatives can run over: all of them.
pub trait Integer: Copy + Send + Sync + sealed::Sealed {
    /// How many numbers the range has, or `None` if more than fit into a `usize`.
    #[doc(hidden)]
    fn count(range: &Range<Self>) -> Option<usize>;

    /// The number that comes `position` after this one.
    #[doc(hidden)]
    fn plus(self, position: usize) -> Self;
}

macro_rules! integers {
    ($($integer:ident as $unsigned:ident),*) => {$(
        impl Integer for $integer {
            #[inline(always)]
            fn count(range: &Range<$integer>) -> Option<usize> {
                if range.is_empty() {
                    return Some(0);
                }
                // The difference of two signed numbers may be too large for their type, but not for the unsigned one.
                usize::try_from(range.end.wrapping_sub(range.start) as $unsigned).ok()
            }

            #[inline(always)]
            fn plus(self, position: usize) -> $integer {
                self.wrapping_add(position as $integer)
            }
        }

        impl sealed::Sealed for $integer {}
    )*};
}

integers! {
    u8 as u8, u16 as u16, u32 as u32, u64 as u64, u128 as u128, usize as usize,
    i8 as u8, i16 as u16, i32 as u32, i64 as u64, i128 as u128, isize as usize
}

mod sealed {
    pub trait Sealed {}
}

/// The parts of a range, in order, each with no more numbers than fit into a `usize`.
#[inline]
pub(crate) fn parts<I: Integer>(range: Range<I>) -> impl Iterator<Item = (I, usize)> {
    let mut rest = Some(range);
    std::iter::from_fn(move || {
        let Range { start, end } = rest.take()?;
        let count = I::count(&(start..end)).unwrap_or_else(|| {
            rest = Some(start.plus(usize::MAX)..end);
            usize::MAX
        });
        Some((start, count))
    })
}

#[cfg(test)]
mod tests {
    use super::{Integer, parts};

    #[test]
    fn signed_ranges_may_be_longer_than_their_type_can_say() {
        assert_eq!(i8::count(&(-128..127)), Some(255));
        assert_eq!((-128i8).plus(254), 126);
        assert_eq!(i64::count(&(i64::MIN..i64::MAX)), Some(usize::MAX));
        assert_eq!(i64::MIN.plus(usize::MAX), i64::MAX);
        assert_eq!(u8::count(&(7..7)), Some(0));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 9..7;
        assert_eq!(i32::count(&reversed), Some(0));
    }

    #[test]
    fn long_ranges_have_several_parts() {
        let most = usize::MAX as u128;
        assert_eq!(u128::count(&(0..most + 1)), None);
        let found: Vec<_> = parts(5..2 * most + 8).collect();
        assert_eq!(found, [(5, usize::MAX), (most + 5, usize::MAX), (2 * most + 5, 3)]);
        assert_eq!(parts(-1i128..1).collect::<Vec<_>>(), [(-1, 2)]);
    }
}
