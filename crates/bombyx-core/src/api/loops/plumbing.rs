//! The parts that parallel iterators are built from: where a loop is written, whether somebody wants work, forks, a clock,
//! and how the blocks of a loop have gone. For the crate `bombyx` only; anything here may change.

use super::nothing_to_steal;
pub use super::pace::{BlockClock, Costs, Cuts, Pace};
use crate::api::join::join_at;
use crate::api::pool::Pool;
use crate::machine::current;
use crate::machine::telling::Meanwhile;
use crate::profile::{Kind, Site};
use bombyx_base::trace::Region;

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

    /// Like [`LoopSite::for_each`], for a call of `map_reduce`.
    #[inline(always)]
    #[track_caller]
    pub fn map_reduce() -> LoopSite {
        LoopSite(Site::here(Kind::MapReduce))
    }

    /// Like [`LoopSite::for_each`], for an iterator with a result.
    #[inline(always)]
    #[track_caller]
    pub fn iterator() -> LoopSite {
        LoopSite(Site::here(Kind::Iterator))
    }

    /// Like [`LoopSite::for_each`], for a sort.
    #[inline(always)]
    #[track_caller]
    pub fn sort() -> LoopSite {
        LoopSite(Site::here(Kind::Sort))
    }

    /// A number that identifies this place.
    #[inline]
    pub fn key(self) -> usize {
        std::ptr::from_ref(self.0.location).addr()
    }
}

/// Gives an entry to a thief that waits, if there is one, and returns whether the next thief would leave empty-handed. If
/// so, the caller should [`fork`], or else [`decline`].
#[inline]
pub fn hungry() -> bool {
    nothing_to_steal()
}

/// Sends a thief away that waits. For a loop that has found that it cannot be cut.
#[inline]
pub fn decline() {
    if let Some(processor) = current::processor() {
        processor.poll();
    }
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
        Some(processor) => {
            let _traced = Meanwhile::region(processor.pool(), Region::Loop, site.0.location);
            f()
        }
        None => Pool::run_at_home(site.0, f),
    }
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
    current::processor().map_or_else(|| Pool::global().processors(), |here| here.pool().in_service())
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
