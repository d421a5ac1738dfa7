//! Macros for the parts that every iterator repeats.

/// `Debug` that shows some fields and leaves out the closures.
macro_rules! debug {
    ($name:ident<$($g:ident),*> [$($c:ident),*] $($field:ident),*) => {
        impl<$($g: ::std::fmt::Debug,)* $($c,)*> ::std::fmt::Debug for $name<$($g,)* $($c,)*> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

/// An iterator that knows its length and has a producer.
macro_rules! indexed {
    (
        [$($g:tt)*] $name:ty => $item:ty $(where [$($w:tt)*])?;
        len($this:ident) $len:block
        with_producer($owner:ident, $callback:ident) $with:block
    ) => {
        impl<$($g)*> $crate::iter::ParallelIterator for $name $(where $($w)*)? {
            type Item = $item;

            #[inline]
            fn drive_unindexed<C_>(self, consumer: C_) -> C_::Result
            where
                C_: $crate::iter::plumbing::UnindexedConsumer<Self::Item>,
            {
                $crate::iter::plumbing::bridge(self, consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                Some($crate::iter::IndexedParallelIterator::len(self))
            }

            #[inline]
            fn drive_onto<C_>(self, consumer: &C_, folder: C_::Folder) -> $crate::iter::onto::Onto<C_::Folder, C_::Result>
            where
                C_: $crate::iter::plumbing::Consumer<Self::Item>,
            {
                $crate::iter::onto::bridge_onto(self, consumer, folder)
            }
        }

        impl<$($g)*> $crate::iter::IndexedParallelIterator for $name $(where $($w)*)? {
            fn len(&self) -> usize {
                let $this = self;
                $len
            }

            #[inline]
            fn with_producer<CB_>(self, $callback: CB_) -> CB_::Output
            where
                CB_: $crate::iter::plumbing::ProducerCallback<Self::Item>,
            {
                let $owner = self;
                $with
            }
        }
    };
}

/// An iterator that wraps another one, in its field `inner`, under a new name.
macro_rules! wrapper {
    ([$($g:tt)*] $name:ty => $item:ty $(where [$($w:tt)*])?) => {
        $crate::iter::delegate::indexed! {
            [$($g)*] $name => $item $(where [$($w)*])?;
            len(this) { $crate::iter::IndexedParallelIterator::len(&this.inner) }
            with_producer(this, callback) { $crate::iter::IndexedParallelIterator::with_producer(this.inner, callback) }
        }
    };
}

pub(crate) use {debug, indexed, wrapper};
