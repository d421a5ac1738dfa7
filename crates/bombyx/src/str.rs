//! Strings: characters, lines, words, and the parts between patterns.

use crate::iter::driver::{Source, drive};
use crate::iter::plumbing::{Folder, UnindexedConsumer};
use crate::iter::private::Sealed;
use crate::iter::{ParallelIterator, delegate};
use std::fmt;

/// Parallel iterators over the parts of a string.
pub trait ParallelString {
    /// The string.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("silk".to_owned().as_parallel_string(), "silk");
    /// ```
    fn as_parallel_string(&self) -> &str;

    /// The characters.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("hello".par_chars().max(), Some('o'));
    /// ```
    fn par_chars(&self) -> Chars<'_> {
        Chars { text: self.as_parallel_string() }
    }

    /// The characters with their positions in bytes.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("aéo".par_char_indices().collect::<Vec<_>>(), [(0, 'a'), (1, 'é'), (3, 'o')]);
    /// ```
    fn par_char_indices(&self) -> CharIndices<'_> {
        CharIndices { text: self.as_parallel_string() }
    }

    /// The bytes.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("abc".par_bytes().map(u32::from).sum::<u32>(), 294);
    /// ```
    fn par_bytes(&self) -> Bytes<'_> {
        use crate::iter::IntoParallelRefIterator as _;
        Bytes { inner: self.as_parallel_string().as_bytes().par_iter().copied() }
    }

    /// The string in UTF-16.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("a🦋".par_encode_utf16().count(), 3);
    /// ```
    fn par_encode_utf16(&self) -> EncodeUtf16<'_> {
        EncodeUtf16 { text: self.as_parallel_string() }
    }

    /// The parts between separators. A separator is a character, several characters, or a closure that recognises them.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("1,2;3".par_split([',', ';']).filter_map(|part| part.parse::<i32>().ok()).sum::<i32>(), 6);
    /// ```
    fn par_split<P: Pattern>(&self, separator: P) -> Split<'_, P> {
        Split { text: self.as_parallel_string(), pattern: separator }
    }

    /// Parts that end with a separator, except perhaps the last.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("a\nb".par_split_inclusive('\n').collect::<Vec<_>>(), ["a\n", "b"]);
    /// ```
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> SplitInclusive<'_, P> {
        SplitInclusive { text: self.as_parallel_string(), pattern: separator }
    }

    /// The parts before terminators, and the part after the last one, if there is any.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("a;b;".par_split_terminator(';').collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> SplitTerminator<'_, P> {
        SplitTerminator { text: self.as_parallel_string(), pattern: terminator }
    }

    /// The lines, without their line ends.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("a\r\nbb\n".par_lines().map(str::len).collect::<Vec<_>>(), [1, 2]);
    /// ```
    fn par_lines(&self) -> Lines<'_> {
        Lines { text: self.as_parallel_string() }
    }

    /// The words between white space.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(" fork  join ".par_split_whitespace().count(), 2);
    /// ```
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        SplitWhitespace { text: self.as_parallel_string() }
    }

    /// The words between white space in ASCII.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("fork\tjoin".par_split_ascii_whitespace().collect::<Vec<_>>(), ["fork", "join"]);
    /// ```
    fn par_split_ascii_whitespace(&self) -> SplitAsciiWhitespace<'_> {
        SplitAsciiWhitespace { text: self.as_parallel_string() }
    }

    /// The parts that match a pattern.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("a1b22".par_matches(char::is_numeric).collect::<Vec<_>>(), ["1", "2", "2"]);
    /// ```
    fn par_matches<P: Pattern>(&self, pattern: P) -> Matches<'_, P> {
        Matches { text: self.as_parallel_string(), pattern }
    }

    /// The parts that match a pattern, with their positions in bytes.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!("a1b2".par_match_indices(char::is_numeric).collect::<Vec<_>>(), [(1, "1"), (3, "2")]);
    /// ```
    fn par_match_indices<P: Pattern>(&self, pattern: P) -> MatchIndices<'_, P> {
        MatchIndices { text: self.as_parallel_string(), pattern }
    }
}

impl ParallelString for str {
    fn as_parallel_string(&self) -> &str {
        self
    }
}

/// A pattern that splits strings: a character, several characters, or a closure that recognises them.
pub trait Pattern: Sealed + Sync + Send {
    /// Whether it matches the character.
    #[doc(hidden)]
    fn test(&self, c: char) -> bool;
}

impl Sealed for char {}
impl Pattern for char {
    #[inline]
    fn test(&self, c: char) -> bool {
        *self == c
    }
}

impl Sealed for &[char] {}
impl Pattern for &[char] {
    #[inline]
    fn test(&self, c: char) -> bool {
        self.contains(&c)
    }
}

impl<const N: usize> Sealed for [char; N] {}
impl<const N: usize> Pattern for [char; N] {
    #[inline]
    fn test(&self, c: char) -> bool {
        self.contains(&c)
    }
}

impl<const N: usize> Sealed for &[char; N] {}
impl<const N: usize> Pattern for &[char; N] {
    #[inline]
    fn test(&self, c: char) -> bool {
        self.contains(&c)
    }
}

impl<F: Sync + Send + Fn(char) -> bool> Sealed for F {}
impl<F: Sync + Send + Fn(char) -> bool> Pattern for F {
    #[inline]
    fn test(&self, c: char) -> bool {
        self(c)
    }
}

// ---- Parts of a text ----------------------------------------------------------------------------------------

/// A part of a string, cut where a kind of iterator allows that.
struct Part<'t, K> {
    text: &'t str,
    /// Where it begins in the whole string.
    offset: usize,
    /// Whether it ends where the string does, and not at a separator.
    last: bool,
    kind: K,
}

/// A kind of iterator over parts.
trait Kind: Copy + Send + Sync {
    /// Where to cut, from `at` on: the end of the first part, and the beginning of the second.
    fn border(self, text: &str, at: usize) -> Option<(usize, usize)>;

    /// Whether nothing is left in the part.
    fn is_over(self, rest: &str) -> bool;
}

/// Hands the items of a part to a folder.
trait Fold<'t>: Kind {
    type Item;

    fn fold<F: Folder<Self::Item>>(self, part: Part<'t, Self>, folder: F) -> F;
}

impl<'t, K: Fold<'t>> Source for Part<'t, K> {
    type Item = K::Item;

    fn weight(&self) -> usize {
        // Even an empty string may have a part.
        self.text.len() + 1
    }

    fn cut(self, weight: usize) -> (Self, Option<Self>) {
        if weight > self.text.len() {
            return (self, None);
        }
        let at = (weight.max(1)..).find(|&at| self.text.is_char_boundary(at)).unwrap_or(self.text.len());
        let Some((end, start)) = self.kind.border(self.text, at) else { return (self, None) };
        let rest = &self.text[start..];
        let right = Part { text: rest, offset: self.offset + start, ..self };
        let left = Part { text: &self.text[..end], last: false, ..self };
        (left, (!self.kind.is_over(rest)).then_some(right))
    }

    fn fold_with<F: Folder<K::Item>>(self, folder: F) -> F {
        self.kind.fold(self, folder)
    }
}

/// Iterators that may be cut anywhere.
macro_rules! anywhere {
    ($($(#[$doc:meta])* $name:ident, $kind:ident, $item:ty, |$part:ident| $items:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<'ch> {
            text: &'ch str,
        }

        impl<'ch> ParallelIterator for $name<'ch> {
            type Item = $item;

            fn drive_unindexed<C: UnindexedConsumer<$item>>(self, consumer: C) -> C::Result {
                drive(Part { text: self.text, offset: 0, last: true, kind: $kind }, &consumer)
            }
        }

        #[derive(Clone, Copy)]
        struct $kind;

        impl Kind for $kind {
            fn border(self, _: &str, at: usize) -> Option<(usize, usize)> {
                Some((at, at))
            }
            fn is_over(self, rest: &str) -> bool {
                rest.is_empty()
            }
        }

        impl<'t> Fold<'t> for $kind {
            type Item = $item;

            fn fold<F: Folder<$item>>(self, $part: Part<'t, Self>, folder: F) -> F {
                folder.consume_iter($items)
            }
        }
    )*};
}

anywhere! {
    /// From [`ParallelString::par_chars`].
    Chars, CharsKind, char, |part| part.text.chars();
    /// From [`ParallelString::par_char_indices`].
    CharIndices, CharIndicesKind, (usize, char), |part| {
        let offset = part.offset;
        part.text.char_indices().map(move |(at, c)| (offset + at, c))
    };
    /// From [`ParallelString::par_encode_utf16`].
    EncodeUtf16, EncodeUtf16Kind, u16, |part| part.text.encode_utf16();
}

/// From [`ParallelString::par_bytes`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Bytes<'ch> {
    inner: crate::iter::Copied<crate::slice::Iter<'ch, u8>>,
}

delegate::wrapper!(['ch] Bytes<'ch> => u8);

/// Iterators that are cut where a pattern matches.
macro_rules! by_pattern {
    ($(
        $(#[$doc:meta])* $name:ident, $kind:ident, $item:ty;
        border($start:ident, $end:ident) $border:expr;
        over($rest:ident) $over:expr;
        fold($part:ident, $pattern:ident) $items:expr;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<'ch, P: Pattern> {
            text: &'ch str,
            pattern: P,
        }

        impl<P: Pattern> fmt::Debug for $name<'_, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("text", &self.text).finish_non_exhaustive()
            }
        }

        impl<'ch, P: Pattern> ParallelIterator for $name<'ch, P> {
            type Item = $item;

            fn drive_unindexed<C: UnindexedConsumer<$item>>(self, consumer: C) -> C::Result {
                drive(Part { text: self.text, offset: 0, last: true, kind: $kind(&self.pattern) }, &consumer)
            }
        }

        struct $kind<'p, P>(&'p P);

        impl<P> Clone for $kind<'_, P> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<P> Copy for $kind<'_, P> {}

        impl<P: Pattern> Kind for $kind<'_, P> {
            fn border(self, text: &str, at: usize) -> Option<(usize, usize)> {
                let (found, matched) = text[at..].char_indices().find(|&(_, c)| self.0.test(c))?;
                let ($start, $end) = (at + found, at + found + matched.len_utf8());
                Some($border)
            }
            fn is_over(self, $rest: &str) -> bool {
                $over
            }
        }

        impl<'ch, P: Pattern> Fold<'ch> for $kind<'_, P> {
            type Item = $item;

            fn fold<F: Folder<Self::Item>>(self, $part: Part<'ch, Self>, folder: F) -> F {
                let $pattern = |c| self.0.test(c);
                $items(folder)
            }
        }
    )*};
}

by_pattern! {
    /// From [`ParallelString::par_split`].
    Split, SplitKind, &'ch str;
    border(start, end) (start, end);
    // After a separator there is always a part.
    over(_rest) false;
    fold(part, pattern) |folder: F| folder.consume_iter(part.text.split(pattern));

    /// From [`ParallelString::par_split_terminator`].
    SplitTerminator, SplitTerminatorKind, &'ch str;
    border(start, end) (start, end);
    over(rest) rest.is_empty();
    fold(part, pattern) |folder: F| if part.last {
        folder.consume_iter(part.text.split_terminator(pattern))
    } else {
        folder.consume_iter(part.text.split(pattern))
    };

    /// From [`ParallelString::par_split_inclusive`].
    SplitInclusive, SplitInclusiveKind, &'ch str;
    border(_start, end) (end, end);
    over(rest) rest.is_empty();
    fold(part, pattern) |folder: F| folder.consume_iter(part.text.split_inclusive(pattern));

    /// From [`ParallelString::par_matches`].
    Matches, MatchesKind, &'ch str;
    border(start, _end) (start, start);
    over(rest) rest.is_empty();
    fold(part, pattern) |folder: F| folder.consume_iter(part.text.matches(pattern));

    /// From [`ParallelString::par_match_indices`].
    MatchIndices, MatchIndicesKind, (usize, &'ch str);
    border(start, _end) (start, start);
    over(rest) rest.is_empty();
    fold(part, pattern) |folder: F| {
        let offset = part.offset;
        folder.consume_iter(part.text.match_indices(pattern).map(move |(at, found)| (offset + at, found)))
    };
}

/// Iterators that are made from another one.
macro_rules! made {
    ($($(#[$doc:meta])* $name:ident, |$text:ident| $made:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use = "iterators do nothing unless they are used"]
        pub struct $name<'ch> {
            text: &'ch str,
        }

        impl<'ch> ParallelIterator for $name<'ch> {
            type Item = &'ch str;

            fn drive_unindexed<C: UnindexedConsumer<&'ch str>>(self, consumer: C) -> C::Result {
                let $text = self.text;
                $made.drive_unindexed(consumer)
            }
        }
    )*};
}

made! {
    /// From [`ParallelString::par_lines`].
    Lines, |text| text.par_split_terminator('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    /// From [`ParallelString::par_split_whitespace`].
    SplitWhitespace, |text| text.par_split(char::is_whitespace).filter(|word| !word.is_empty());
    /// From [`ParallelString::par_split_ascii_whitespace`].
    SplitAsciiWhitespace, |text| text.par_split(|c: char| c.is_ascii_whitespace()).filter(|word| !word.is_empty());
}

/// Taking a range out of a `String`.
pub(crate) mod string {
    use super::*;
    use crate::iter::ParallelDrainRange;
    use crate::vec::simplify;
    use std::ops::{Range, RangeBounds};

    /// A parallel iterator that takes characters out of a string. From [`ParallelDrainRange::par_drain`].
    #[must_use = "iterators do nothing unless they are used"]
    #[derive(Debug)]
    pub struct Drain<'a> {
        string: &'a mut String,
        range: Range<usize>,
    }

    impl<'a> ParallelDrainRange<usize> for &'a mut String {
        type Iter = Drain<'a>;
        type Item = char;

        fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a> {
            let range = simplify(range, self.len());
            assert!(
                self.is_char_boundary(range.start) && self.is_char_boundary(range.end),
                "not between characters"
            );
            Drain { range, string: self }
        }
    }

    impl ParallelIterator for Drain<'_> {
        type Item = char;

        fn drive_unindexed<C: UnindexedConsumer<char>>(self, consumer: C) -> C::Result {
            self.string[self.range.clone()].par_chars().drive_unindexed(consumer)
        }
    }

    impl Drop for Drain<'_> {
        fn drop(&mut self) {
            self.string.drain(self.range.clone());
        }
    }
}
