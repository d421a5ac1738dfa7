//! Identifiers of strands, threads and fork sites. They are `u32` newtypes, so that tables stay compact and an index of
//! one kind cannot be used for another. They are numbered from 0 and mean nothing outside their computation.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The identifier as an index into a table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The identifier of the table entry `index`.
            ///
            /// # Panics
            /// If `index` does not fit in 32 bits, which no index of a [`Computation`](crate::Computation) does.
            #[inline]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("a computation has fewer than 2^32 strands"))
            }
        }

        /// The papers count from 1.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), u64::from(self.0) + 1)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id! {
    /// A strand. Strands are numbered in the serial depth-first order (the order in which one processor executes them).
    /// So comparing two ids compares the priorities of DFD §2: the smaller id has the higher priority. Displayed as in
    /// BL's figures: strand 0 is `v1`.
    StrandId, "v"
}

id! {
    /// A thread. Threads are numbered in the order in which the serial execution spawns them; 0 is the root.
    /// Displayed as in BL's figures: thread 0 is `Γ1`.
    ThreadId, "Γ"
}

id! {
    /// A place in a program at which threads are spawned: an entry of the computation's site table.
    SiteId, "site "
}
