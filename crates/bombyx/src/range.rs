//! Ranges of integers and characters.

use crate::iter::onto::Onto;
use crate::iter::plumbing::{
    Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer, UnindexedProducer, bridge_unindexed,
};
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, delegate};
use std::ops::Range;

/// The iterator of one kind of range: its type, and what it needs of the types of numbers.
macro_rules! range_iterator {
    ($(#[$attribute:meta])* $range:ident: $($t:ty)*) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct Iter<T> {
            range: $range<T>,
        }

        impl<T: RangeItem> IntoParallelIterator for $range<T> {
            type Item = T;
            type Iter = Iter<T>;

            fn into_par_iter(self) -> Iter<T> {
                Iter { range: self }
            }
        }

        /// Types whose ranges are parallel iterators: all integers, and characters.
        #[doc(hidden)]
        pub trait RangeItem: Copy + Send {
            type Of: ParallelIterator<Item = Self>;

            fn of(range: $range<Self>) -> Self::Of;
        }

        impl<T: RangeItem> ParallelIterator for Iter<T> {
            type Item = T;

            #[inline]
            fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
                T::of(self.range).drive_unindexed(consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                T::of(self.range.clone()).opt_len()
            }

            #[inline]
            fn drive_onto<C: Consumer<T>>(self, consumer: &C, folder: C::Folder) -> Onto<C::Folder, C::Result> {
                T::of(self.range).drive_onto(consumer, folder)
            }
        }

        impl<T: RangeItem<Of: IndexedParallelIterator>> IndexedParallelIterator for Iter<T> {
            fn len(&self) -> usize {
                T::of(self.range.clone()).len()
            }

            #[inline]
            fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
                T::of(self.range).with_producer(callback)
            }
        }

        /// The iterator of a range of one type.
        #[doc(hidden)]
        #[derive(Clone, Debug)]
        pub struct Of<T> {
            range: $range<T>,
        }

        $(
            impl RangeItem for $t {
                type Of = Of<$t>;

                #[inline]
                fn of(range: $range<$t>) -> Of<$t> {
                    Of { range }
                }
            }
        )*
    };
}

range_iterator! {
    /// A parallel iterator over a range.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!((0..1_000_000u64).into_par_iter().sum::<u64>(), 499_999_500_000);
    /// assert_eq!(('a'..'e').into_par_iter().collect::<String>(), "abcd");
    /// ```
    Range: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize char
}

/// Types whose ranges are iterators that know their lengths.
macro_rules! indexed {
    ($($t:ty)*) => {$(
        delegate::indexed! {
            [] Of<$t> => $t;
            len(this) { this.range.len() }
            with_producer(this, callback) { callback.callback(RangeProducer(this.range)) }
        }

        impl Producer for RangeProducer<$t> {
            type Item = $t;
            type IntoIter = Range<$t>;

            #[inline]
            fn into_iter(self) -> Range<$t> {
                self.0
            }

            #[inline]
            fn split_at(self, index: usize) -> (Self, Self) {
                assert!(index <= self.0.len(), "cannot split behind the end of a range");
                // The index is at most the length, so the result is right even if the addition wraps around.
                #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
                let middle = self.0.start.wrapping_add(index as $t);
                (RangeProducer(self.0.start..middle), RangeProducer(middle..self.0.end))
            }
        }
    )*};
}

struct RangeProducer<T>(Range<T>);

indexed! { u8 u16 u32 usize i8 i16 i32 isize }

/// Types whose ranges can be longer than an index can express.
macro_rules! unindexed {
    ($($t:ty, $unsigned:ty;)*) => {$(
        impl Of<$t> {
            /// How many there are.
            #[allow(clippy::cast_sign_loss)]
            fn distance(&self) -> $unsigned {
                let Range { start, end } = self.range;
                if start < end { end.wrapping_sub(start) as $unsigned } else { 0 }
            }
        }

        impl ParallelIterator for Of<$t> {
            type Item = $t;

            fn drive_unindexed<C: UnindexedConsumer<$t>>(self, consumer: C) -> C::Result {
                let start = self.range.start;
                match self.opt_len() {
                    #[allow(clippy::cast_possible_wrap)]
                    Some(len) => {
                        (0..len).into_par_iter().map(|i| start.wrapping_add(i as $t)).drive_unindexed(consumer)
                    }
                    None => bridge_unindexed(Long(self), consumer),
                }
            }

            fn opt_len(&self) -> Option<usize> {
                usize::try_from(self.distance()).ok()
            }
        }

        impl UnindexedProducer for Long<$t> {
            type Item = $t;

            #[allow(clippy::cast_possible_wrap)]
            fn split(self) -> (Self, Option<Self>) {
                let half = self.0.distance() / 2;
                if half == 0 {
                    return (self, None);
                }
                let Range { start, end } = self.0.range;
                let middle = start.wrapping_add(half as $t);
                (Long(Of { range: start..middle }), Some(Long(Of { range: middle..end })))
            }

            fn fold_with<F: Folder<$t>>(self, mut folder: F) -> F {
                let mut range = self.0.range;
                while !range.is_empty() && !folder.full() {
                    folder = folder.consume_iter(range.by_ref().take(1 << 10));
                }
                folder
            }
        }
    )*};
}

/// A range that may be longer than an index can express.
struct Long<T>(Of<T>);

unindexed! { u64, u64; i64, u64; u128, u128; i128, u128; }

// ---- Characters ---------------------------------------------------------------------------------------------

/// The first number after the gap in which there are no characters, and how long the gap is.
const BEHIND_GAP: u32 = 0xE000;
const GAP: u32 = 0x800;

/// The position of a character among all characters.
fn position(c: char) -> u32 {
    let code = u32::from(c);
    if code < BEHIND_GAP { code } else { code - GAP }
}

/// The character at a position.
fn character(position: u32) -> char {
    let code = if position < BEHIND_GAP - GAP { position } else { position + GAP };
    char::from_u32(code).expect("between two characters there are no other numbers except the gap")
}

impl Of<char> {
    fn codes(&self) -> Of<u32> {
        Of { range: position(self.range.start)..position(self.range.end) }
    }
}

delegate::indexed! {
    [] Of<char> => char;
    len(this) { this.codes().len() }
    with_producer(this, callback) { this.codes().map(character).with_producer(callback) }
}

/// Ranges with both ends.
pub(crate) mod inclusive {
    use super::*;
    use std::ops::RangeInclusive;

    range_iterator! {
        /// A parallel iterator over a range with both ends.
        ///
        /// ```
        /// use bombyx::prelude::*;
        /// assert_eq!((1..=100u64).into_par_iter().sum::<u64>(), 5050);
        /// assert_eq!((250..=255u8).into_par_iter().count(), 6);
        /// ```
        RangeInclusive: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize char
    }

    impl<T: Copy + PartialOrd> Of<T> {
        /// The ends, if there is anything between them.
        fn bounds(&self) -> Option<(T, T)> {
            (!self.range.is_empty()).then(|| (*self.range.start(), *self.range.end()))
        }
    }

    macro_rules! indexed {
        ($($t:ty)*) => {$(
            delegate::indexed! {
                [] Of<$t> => $t;
                len(this) {
                    #[allow(clippy::cast_sign_loss)]
                    this.bounds().map_or(0, |(first, last)| (i64::from(last) - i64::from(first)) as usize + 1)
                }
                with_producer(this, callback) {
                    let first = *this.range.start();
                    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
                    (0..this.len()).into_par_iter().map(move |i| first.wrapping_add(i as $t)).with_producer(callback)
                }
            }
        )*};
    }

    indexed! { u8 u16 u32 i8 i16 i32 }

    macro_rules! unindexed {
        ($($t:ty)*) => {$(
            impl ParallelIterator for Of<$t> {
                type Item = $t;

                fn drive_unindexed<C: UnindexedConsumer<$t>>(self, consumer: C) -> C::Result {
                    match self.bounds() {
                        None => crate::iter::empty().drive_unindexed(consumer),
                        Some((first, last)) => match last.checked_add(1) {
                            Some(end) => (first..end).into_par_iter().drive_unindexed(consumer),
                            None => (first..last).into_par_iter().chain(crate::iter::once(last)).drive_unindexed(consumer),
                        },
                    }
                }

                fn opt_len(&self) -> Option<usize> {
                    match self.bounds() {
                        None => Some(0),
                        Some((first, last)) => (first..last).into_par_iter().opt_len()?.checked_add(1),
                    }
                }
            }
        )*};
    }

    unindexed! { u64 i64 u128 i128 usize isize }

    impl Of<char> {
        fn codes(&self) -> super::Of<u32> {
            let range = self.bounds().map_or(0..0, |(first, last)| position(first)..position(last) + 1);
            super::Of { range }
        }
    }

    delegate::indexed! {
        [] Of<char> => char;
        len(this) { this.codes().len() }
        with_producer(this, callback) { this.codes().map(character).with_producer(callback) }
    }
}
