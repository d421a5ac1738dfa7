//! What the slow paths count. Forks are not counted, because that would cost more than the fork.

use std::fmt;
use std::ops::Sub;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A counter with one writer at a time, so it needs no read-modify-write.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Raises the counter to `n`, for a peak.
    pub(crate) fn raise_to(&self, n: u64) {
        if n > self.0.load(Relaxed) {
            self.0.store(n, Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! statistics {
    (
        counters { $($(#[$doc:meta])* $name:ident: $label:literal,)* }
        gauges { $($(#[$gauge_doc:meta])* $gauge:ident: $gauge_label:literal,)* }
        groups {$(
            $(#[$group_doc:meta])*
            $group:ident: $Group:ident, $title:literal {
                counters { $($(#[$in_doc:meta])* $in_name:ident: $in_label:literal,)* }
                gauges { $($(#[$in_gauge_doc:meta])* $in_gauge:ident: $in_gauge_label:literal,)* }
            }
        )*}
    ) => {
        /// The counters of one processor. Its holder writes them; its lookout writes those of muggings.
        #[derive(Default)]
        #[repr(C)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
            $($(pub(crate) $in_name: Counter,)*)*
            pub(crate) longest_watch_list: Counter,
        }

        impl Counters {
            /// The names of the counters, in their order.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name),)* $($(stringify!($in_name),)*)* "longest_watch_list"];
        }

        const _: () = assert!(Counters::NAMES.len() * size_of::<u64>() == size_of::<Counters>());

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
        ///
        /// What only some schedulers count stands in groups. Printed, it shows what is not zero:
        ///
        /// ```
        /// let pool = bombyx::Pool::builder().processors(2).scheduler("dfdeques:50000".parse()?).build()?;
        /// assert_eq!(pool.stats().quotas.quota, 50_000);
        /// let text = pool.stats().to_string();
        /// assert!(text.starts_with("steals 0") && text.contains("; quotas: ") && !text.contains("muggings"));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            $($(#[$gauge_doc])* pub $gauge: u64,)*
            /// Carriers (OS threads) that the pool has now.
            pub carriers: u64,
            /// The most carriers that the pool has had.
            pub peak_carriers: u64,
            $($(#[$group_doc])* pub $group: $Group,)*
        }

        $(
            $(#[$group_doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            #[non_exhaustive]
            pub struct $Group {
                $($(#[$in_doc])* pub $in_name: u64,)*
                $($(#[$in_gauge_doc])* pub $in_gauge: u64,)*
            }
        )*

        impl Stats {
            pub(crate) fn add(&mut self, counters: &Counters) {
                $(self.$name = self.$name.wrapping_add(counters.$name.get());)*
                $($(self.$group.$in_name = self.$group.$in_name.wrapping_add(counters.$in_name.get());)*)*
                let longest = &mut self.read_write.longest_watch_list;
                *longest = (*longest).max(counters.longest_watch_list.get());
            }

            /// The sum of what two pools have done, one after the other.
            pub(crate) fn plus(self, other: Stats) -> Stats {
                Stats {
                    $($name: self.$name.wrapping_add(other.$name),)*
                    $($gauge: self.$gauge.max(other.$gauge),)*
                    carriers: self.carriers + other.carriers,
                    peak_carriers: self.peak_carriers.max(other.peak_carriers),
                    $($group: $Group {
                        $($in_name: self.$group.$in_name.wrapping_add(other.$group.$in_name),)*
                        $($in_gauge: self.$group.$in_gauge.max(other.$group.$in_gauge),)*
                    },)*
                }
            }
        }

        impl Sub for Stats {
            type Output = Stats;

            /// What was counted since `earlier`. Peaks and present values are not counts and stay as they are.
            fn sub(self, earlier: Stats) -> Stats {
                Stats {
                    $($name: self.$name.wrapping_sub(earlier.$name),)*
                    $($group: $Group {
                        $($in_name: self.$group.$in_name.wrapping_sub(earlier.$group.$in_name),)*
                        ..self.$group
                    },)*
                    ..self
                }
            }
        }

        impl fmt::Display for Stats {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "steals {}", self.steals)?;
                for (label, value) in [$(($label, self.$name),)* $(($gauge_label, self.$gauge),)*] {
                    if value > 0 && label != "steals" {
                        write!(f, ", {label} {value}")?;
                    }
                }
                write!(f, ", carriers {} (peak {})", self.carriers, self.peak_carriers)?;
                $({
                    let values = [
                        $(($in_label, self.$group.$in_name),)*
                        $(($in_gauge_label, self.$group.$in_gauge),)*
                    ];
                    let mut before = concat!("; ", $title, ": ");
                    for (label, value) in values.into_iter().filter(|(_, value)| *value > 0) {
                        write!(f, "{before}{label} {value}")?;
                        before = ", ";
                    }
                })*
                match self.granularity() {
                    Some(granularity) => write!(f, ", granularity {granularity:.1}"),
                    None => Ok(()),
                }
            }
        }
    };
}

statistics! {
    counters {
        /// Entries that processors took from others. Under the schedulers with private deques, gifts do not count.
        steals: "steals",
        /// Times a processor asked another one for work, or reached for it.
        attempts: "attempts",
        /// Steals without the victim's help, after it did not answer in time.
        escalations: "escalations",
        /// Barriers that thieves wanted for escalations. Each barrier interrupts every core. Thieves that want one at the
        /// same time share it.
        barriers: "barriers",
        /// Steals by which a waiting processor took a part of what it waits for.
        helps: "helps",
        /// Times a waiting carrier gave its processor to another carrier.
        hand_overs: "hand-overs",
        /// Times a processor found nothing and was returned to the pool.
        sleeps: "sleeps",
        /// Times a sleeping processor was woken.
        wakes: "wakes",
        /// Times the pool told all processors that one of them rests: a store to each processor, and a barrier that
        /// interrupts each core.
        rounds: "rounds",
        /// Times a fork woke nobody although others slept, because regions were short.
        postponed: "postponed",
        /// Entries that ran on top of a waiting frame because the pool could start no further carrier.
        in_place: "in place",
        /// Joins whose second half came back unstarted, except by the fast path, which is not counted.
        joins_local: "local joins",
    }
    gauges {
        /// Net bytes that the processors of the pool have allocated, in a [metered](crate::api::alloc::Metered)
        /// program. Up to 4 KiB per processor, more or less, are not reported yet.
        heap: "heap",
        /// The most that `heap` was.
        peak_heap: "peak heap",
    }
    groups {
        /// What schedulers with private deques count: `read-write`, `read-write-steals` and `private-cas`.
        private_deques: PrivateDequeStats, "private deques" {
            counters {
                /// Entries that sleeping processors got when they were woken.
                gifts: "gifts",
                /// Queries that thieves wrote into the cells of victims.
                queries: "queries",
                /// Queries that their victims answered with an entry.
                served: "served",
                /// Queries that their victims answered with nothing.
                declined: "declined",
                /// Queries that their thieves wrote again, because an older one had overwritten them.
                overwritten: "overwritten",
                /// Queries of an earlier round that victims found, and ignored.
                stale: "stale",
                /// Queries that their thieves withdrew after long waiting.
                withdrawn: "withdrawn",
            }
            gauges {}
        }
        /// How `read-write` resolves joins.
        read_write: ReadWriteStats, "read-write joins" {
            counters {
                /// Joins whose frame left its processor after the other side's ACK.
                joins_acknowledged: "acknowledged",
                /// Joins whose frame had a processor when the other side ended, so that the left side went on.
                joins_tied: "tied",
                /// Joins whose frame left its processor without waiting any longer for the other side's ACK.
                joins_unanswered: "unanswered",
            }
            gauges {
                /// The most joins that a processor has watched at a time.
                longest_watch_list: "longest watch list",
            }
        }
        /// What `heterogeneous` counts.
        heterogeneous: HeterogeneousStats, "speeds" {
            counters {
                /// Times an idle processor exchanged CPUs with a slower one that was busy.
                muggings: "muggings",
                /// Exchanges of CPUs that the system refused, or questions about a CPU that it did not answer.
                refused: "refused",
            }
            gauges {}
        }
        /// What `dfdeques:K` and `depth-first:K` count.
        quotas: QuotaStats, "quotas" {
            counters {
                /// Deques that were given up because a quota was used up. With `depth-first`, frames.
                give_ups: "give-ups",
                /// Dummy threads that were run.
                dummies: "dummies",
            }
            gauges {
                /// The most deques that there were at a time, with `dfdeques:K`.
                peak_deques: "peak deques",
                /// The quota K in force, in bytes, if there is one. With `dfdeques:auto`, the quota that it has chosen.
                quota: "quota",
            }
        }
        /// Living threads, if they are counted ([`crate::lab::BuilderExt::count_threads`]).
        threads: ThreadStats, "threads" {
            counters {
                /// Threads that a processor took from its own deque or, in a shared pool, that their own join took back.
                own: "own",
            }
            gauges {
                /// The most threads that were alive at a time.
                peak_threads: "peak",
            }
        }
    }
}

impl Stats {
    /// How many threads a processor took from its own deque for each one that it took from elsewhere: the scheduling
    /// granularity (DFD §5.3). `None` if forks are not counted ([`crate::lab::BuilderExt::count_threads`]).
    ///
    /// ```
    /// use bombyx::lab::BuilderExt as _;
    /// let pool = bombyx::Pool::builder().processors(2).count_threads(true).build()?;
    /// pool.run(|| bombyx::for_each(0..10_000, |_| ()));
    /// assert!(pool.stats().granularity().unwrap() > 0.0);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn granularity(&self) -> Option<f64> {
        (self.threads.own > 0).then(|| self.threads.own as f64 / self.steals.max(1) as f64)
    }
}
