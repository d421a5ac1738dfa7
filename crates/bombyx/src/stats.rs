//! What the slow paths count. Forks are not counted: that would cost more than the fork.

use std::fmt;
use std::ops::Sub;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A counter with one writer at a time: no read-modify-write needed.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $label:literal,)*) => {
        /// The counters of one processor, written by its holder; those of muggings by the pool's watcher.
        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        /// What a pool has done so far ([`crate::Pool::stats`]).
        ///
        /// Subtract an earlier snapshot to see what happened in between:
        ///
        /// ```
        /// let pool = bombyx::Pool::builder().processors(2).build()?;
        /// let before = pool.stats();
        /// pool.run(|| bombyx::join(|| 1, || 2));
        /// let during = pool.stats() - before;
        /// assert!(during.hand_overs <= during.steals);
        /// # Ok::<(), bombyx::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            /// Carriers (OS threads) that the pool has now.
            pub carriers: u64,
            /// The most carriers that the pool has had.
            pub peak_carriers: u64,
        }

        impl Stats {
            pub(crate) fn add(&mut self, counters: &Counters) {
                $(self.$name += counters.$name.get();)*
            }
        }

        impl Stats {
            /// What two pools have done together, one after the other.
            pub(crate) fn plus(self, other: Stats) -> Stats {
                Stats {
                    $($name: self.$name + other.$name,)*
                    carriers: self.carriers + other.carriers,
                    peak_carriers: self.peak_carriers.max(other.peak_carriers),
                }
            }
        }

        impl Sub for Stats {
            type Output = Stats;

            /// What was counted since `earlier`; the numbers of carriers are not counts and stay.
            fn sub(self, earlier: Stats) -> Stats {
                Stats {
                    $($name: self.$name.wrapping_sub(earlier.$name),)*
                    carriers: self.carriers,
                    peak_carriers: self.peak_carriers,
                }
            }
        }

        impl fmt::Display for Stats {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(write!(f, concat!($label, " {}, "), self.$name)?;)*
                write!(f, "carriers {} (peak {})", self.carriers, self.peak_carriers)
            }
        }
    };
}

counters! {
    /// Entries that processors took from others, in any way.
    steals: "steals",
    /// Times a processor asked another one for work, or reached for it.
    attempts: "attempts",
    /// Steals without the victim's help, after it did not answer in time.
    escalations: "escalations",
    /// Those of the steals by which a waiting processor took a part of what it waits for.
    helps: "helps",
    /// Times a waiting carrier gave its processor to another carrier.
    hand_overs: "hand-overs",
    /// Times a processor found nothing and was returned to the pool.
    sleeps: "sleeps",
    /// Times a fork woke a sleeping processor.
    wakes: "wakes",
    /// Entries run on top of a waiting frame because no further carrier could be had.
    in_place: "in place",
    /// Times an idle processor exchanged CPUs with a slower one that was busy.
    muggings: "muggings",
    /// Exchanges of CPUs, or looks at one, that the system refused.
    refused: "refused",
}
