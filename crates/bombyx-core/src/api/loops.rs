//! Parallel loops that find their grain by themselves.
//!
//! Lazy binary splitting (Tzannes, Caragea, Barua and Vishkin, "Lazy binary-splitting: a run-time adaptive
//! work-stealing scheduler", PPoPP 2010): a loop runs block by block. It splits the rest in two only when its processor
//! has no entry that a thief could take. A block begins with one iteration and doubles until it takes [`BLOCK`]. So
//! cheap bodies do not drown in tests, and expensive bodies are shared promptly.
//!
//! With [`crate::Builder::deterministic`], the tree of halves depends only on the number of iterations. So results that
//! depend on the order of combination (sums of floats) are the same in every run.
//!
//! In a profiled pool, only the clock decides how a loop is split ([`profile::Loop`]). So the profile shows the loop,
//! and not the splits that thieves happened to ask for.

use crate::api::join::join_at;
use crate::api::pool::Pool;
use crate::machine::current;
use crate::profile::{self, Kind, Site};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a block should take: a few hundred times the test between blocks.
const BLOCK: Duration = Duration::from_micros(2);
/// How many leaves the fixed tree of a deterministic loop has, at most.
const LEAVES: usize = 1 << 10;

/// Calls `f` for every number of the range, in parallel where that helps.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// bombyx::for_each(0..1000, |i| { sum.fetch_add(i, Ordering::Relaxed); });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
#[track_caller]
pub fn for_each<F>(range: Range<usize>, f: F)
where
    F: Fn(usize) + Sync,
{
    reduce_at(Site::here(Kind::ForEach), range, f, || (), |(), ()| ());
}

/// Maps every number of the range and combines the results in order. `combine` must be associative, with `identity` as
/// its neutral element.
///
/// ```
/// let squares = bombyx::map_reduce(0..100, |i| i * i, || 0, |a, b| a + b);
/// assert_eq!(squares, 328_350);
/// ```
#[track_caller]
pub fn map_reduce<T, M, I, C>(range: Range<usize>, map: M, identity: I, combine: C) -> T
where
    T: Send,
    M: Fn(usize) -> T + Sync,
    I: Fn() -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    reduce_at(Site::here(Kind::MapReduce), range, map, identity, combine)
}

/// [`map_reduce`], with its forks at `site`.
fn reduce_at<T, M, I, C>(site: Site, range: Range<usize>, map: M, identity: I, combine: C) -> T
where
    T: Send,
    M: Fn(usize) -> T + Sync,
    I: Fn() -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    let body = Body { site, map: &map, identity: &identity, combine: &combine };
    match current::processor() {
        Some(_) => body.start(range),
        None => Pool::run_at_home(site, || body.start(range)),
    }
}

struct Body<'a, M, I, C> {
    site: Site,
    map: &'a M,
    identity: &'a I,
    combine: &'a C,
}

impl<T, M, I, C> Body<'_, M, I, C>
where
    T: Send,
    M: Fn(usize) -> T + Sync,
    I: Fn() -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    fn start(&self, range: Range<usize>) -> T {
        if current::held().pool().config.deterministic {
            let grain = range.len().div_ceil(LEAVES).max(1);
            self.fixed(range, grain)
        } else if let Some(measured) = profile::Loop::begin() {
            self.measured(range, &measured)
        } else {
            self.lazy(range, 1)
        }
    }

    fn serial(&self, range: Range<usize>, first: T) -> T {
        range.fold(first, |sum, i| (self.combine)(sum, (self.map)(i)))
    }

    fn lazy(&self, mut range: Range<usize>, mut block: usize) -> T {
        let mut sum = (self.identity)();
        while range.len() > block {
            if nothing_to_steal() {
                let middle = range.start + range.len() / 2;
                let (left, right) = join_at(
                    self.site,
                    |_| self.lazy(range.start..middle, block),
                    |_| self.lazy(middle..range.end, block),
                );
                return (self.combine)(sum, (self.combine)(left, right));
            }
            let end = range.start + block;
            let start = Instant::now();
            sum = self.serial(range.start..end, sum);
            range.start = end;
            if start.elapsed() < BLOCK {
                block *= 2;
            }
        }
        self.serial(range, sum)
    }

    /// The loop in a profiled pool.
    fn measured(&self, range: Range<usize>, measured: &profile::Loop<'_>) -> T {
        if !measured.is_long(range.len()) {
            return measured.piece(range.len(), || self.serial(range, (self.identity)()));
        }
        let middle = range.start + range.len() / 2;
        let (left, right) = join_at(
            self.site,
            |_| self.measured(range.start..middle, measured),
            |_| self.measured(middle..range.end, measured),
        );
        (self.combine)(left, right)
    }

    fn fixed(&self, range: Range<usize>, grain: usize) -> T {
        if range.len() <= grain {
            return self.serial(range, (self.identity)());
        }
        let middle = range.start + range.len() / 2;
        let (left, right) = join_at(
            self.site,
            |_| self.fixed(range.start..middle, grain),
            |_| self.fixed(middle..range.end, grain),
        );
        (self.combine)(left, right)
    }
}

/// Answers a thief that waits, and returns whether the next thief would leave empty-handed.
fn nothing_to_steal() -> bool {
    current::processor().is_none_or(|processor| {
        processor.poll();
        processor.deque.looks_empty()
    })
}

/// The parts that parallel iterators are built from: where a loop is written, whether somebody wants work, forks, and a
/// clock. For the crate `bombyx` only; anything here may change.
#[doc(hidden)]
pub mod plumbing {
    use super::{BLOCK, current, join_at, nothing_to_steal};
    use crate::api::pool::Pool;
    use crate::profile::clock::Clock;
    use crate::profile::{Kind, Site};
    use std::sync::OnceLock;
    use std::time::Instant;

    /// Where a loop is written.
    #[derive(Clone, Copy, Debug)]
    pub struct LoopSite(Site);

    impl LoopSite {
        /// The place where the calling function was called, if the calling function is `track_caller`. For a loop that
        /// is run for its effects.
        #[inline(always)]
        #[track_caller]
        pub fn for_each() -> LoopSite {
            LoopSite(Site::here(Kind::ForEach))
        }

        /// Like [`LoopSite::for_each`], for a loop with a result.
        #[inline(always)]
        #[track_caller]
        pub fn map_reduce() -> LoopSite {
            LoopSite(Site::here(Kind::MapReduce))
        }

        /// A number that identifies this place.
        #[inline]
        pub fn key(self) -> usize {
            std::ptr::from_ref(self.0.location).addr()
        }
    }

    /// Answers a thief that waits, and returns whether the next thief would leave empty-handed.
    #[inline]
    pub fn hungry() -> bool {
        nothing_to_steal()
    }

    /// A join whose first half may hold values that are not `Send`. Outside a pool it runs one half after the other.
    /// The second half learns whether it runs on another processor.
    #[inline]
    pub fn fork<A, B, RA, RB>(site: LoopSite, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA,
        B: FnOnce(bool) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        if current::processor().is_none() {
            return (a(), b(false));
        }
        let a = Here(a);
        join_at(site.0, move |_| a.into_inner()(), |context| b(context.migrated()))
    }

    /// Runs `f` in the caller's pool. Outside any pool, runs it in the pool where the caller belongs.
    #[inline]
    pub fn enter<F, R>(site: LoopSite, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        match current::processor() {
            Some(_) => f(),
            None => Pool::run_at_home(site.0, f),
        }
    }

    /// Whether loops of the caller's pool must split in the same way in every run.
    #[inline]
    pub fn splits_fixed() -> bool {
        current::processor().is_some_and(|processor| processor.pool().config.deterministic)
    }

    /// Whether a caller outside any pool may run closures of a loop before it enters a pool. It may if the pool would
    /// lend it a processor for them anyway, and if nobody measures them or wants them in a fixed order.
    #[inline]
    pub fn lends() -> bool {
        if current::home().is_some() {
            return false;
        }
        let config = &Pool::global().pool().config;
        config.lends && config.observer.is_none() && !config.deterministic && !config.metered
    }

    /// How many processors the loops of the caller can use.
    #[inline]
    pub fn processors() -> usize {
        current::processor()
            .map_or_else(|| Pool::global().processors(), |here| here.pool().processors().len())
    }

    /// The cheapest clock that is steady here, and how many of its ticks a block of a loop should take.
    #[derive(Clone, Copy, Debug)]
    pub struct BlockClock {
        clock: Clock,
        /// How many ticks a block should take.
        pub block: u64,
    }

    impl BlockClock {
        /// The clock. The first call takes some microseconds, to compare this clock with the system's.
        #[inline]
        pub fn get() -> BlockClock {
            static FOUND: OnceLock<BlockClock> = OnceLock::new();
            *FOUND.get_or_init(|| {
                let clock = Clock::best();
                let (start, ticks) = (Instant::now(), clock.now());
                while start.elapsed() < 8 * BLOCK {
                    std::hint::spin_loop();
                }
                let (elapsed, ticks) = (start.elapsed(), clock.now().wrapping_sub(ticks));
                let block = u128::from(ticks) * BLOCK.as_nanos() / elapsed.as_nanos().max(1);
                BlockClock { clock, block: u64::try_from(block).unwrap_or(u64::MAX).max(1) }
            })
        }

        /// The reading, in ticks.
        #[inline(always)]
        pub fn now(self) -> u64 {
            self.clock.now()
        }
    }

    /// A value that stays on the thread that made it.
    struct Here<T>(T);

    impl<T> Here<T> {
        fn into_inner(self) -> T {
            self.0
        }
    }

    // SAFETY: only [`fork`] makes one, in a pool, as the first half of a join. That half runs on the thread that calls
    // the join, before the join returns.
    unsafe impl<T> Send for Here<T> {}
}
