//! [`RwPool`]: a pool of `bombyx-rw` whose scheduler is chosen when the program runs.

use crate::unknown_name::UnknownName;
use bombyx_rw::{ChaseLev, Count, Discipline, PdCas, PdCasJr, Pool, PoolError, Shaken, Ws, WsJr};
use std::fmt;
use std::str::FromStr;

macro_rules! lanes {
    ($($lane:ident, $type:ty, $name:literal;)*) => {
        /// A scheduler of `bombyx-rw`: one for each of its disciplines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "named after the disciplines")]
        pub enum RwLane {
            $($lane,)*
        }

        impl RwLane {
            /// All of them.
            pub const ALL: &[RwLane] = &[$(RwLane::$lane,)*];

            /// Its name, which is the paper's if the paper has one.
            pub fn name(self) -> &'static str {
                match self { $(RwLane::$lane => $name,)* }
            }
        }

        impl FromStr for RwLane {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<RwLane, UnknownName> {
                let found = RwLane::ALL.iter().find(|lane| lane.name() == text);
                found.copied().ok_or_else(|| UnknownName::new("lane", text, &[$($name,)*]))
            }
        }

        /// Processors that run programs in continuation-passing style.
        ///
        /// ```
        /// use bombyx_workloads::{Grain, RwLane, RwPool, Size, find};
        ///
        /// let mut fib = find("fib")?.prepare(Size::Small, Grain::Fine, 42);
        /// let mut pool = RwPool::new(RwLane::WsJr, 2)?;
        /// fib.reset();
        /// assert!(fib.continue_on(&mut pool));
        /// fib.check()?;
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Debug)]
        #[allow(missing_docs, reason = "named after the disciplines")]
        pub enum RwPool {
            $($lane(Pool<$type>),)*
        }

        impl RwPool {
            /// A pool of this many processors.
            ///
            /// # Errors
            /// As for [`Pool::new`].
            pub fn new(lane: RwLane, processors: usize) -> Result<RwPool, PoolError> {
                Ok(match lane { $(RwLane::$lane => RwPool::$lane(Pool::new(processors)?),)* })
            }

            /// What all processors counted so far.
            pub fn counted(&self, what: Count) -> u64 {
                match self { $(RwPool::$lane(pool) => pool.counted(what),)* }
            }

            /// Lets a program run on the pool.
            pub(crate) fn visit<V: Visit>(&mut self, visitor: V) -> V::Out {
                match self { $(RwPool::$lane(pool) => visitor.visit(pool),)* }
            }
        }
    };
}

lanes! {
    PdCas, PdCas, "PD/CAS";
    PdCasJr, PdCasJr, "PD/CAS+JR";
    ChaseLev, ChaseLev, "Chase Lev";
    Ws, Ws, "WS";
    WsJr, WsJr, "WS+JR";
    ShakenWsJr, Shaken<WsJr>, "WS+JR, shaken";
}

/// Something that runs on a pool of any discipline.
pub(crate) trait Visit {
    type Out;
    fn visit<K: Discipline>(self, pool: &mut Pool<K>) -> Self::Out;
}

impl fmt::Display for RwLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
