//! `find_any`, `find_first`, `find_last`: loops that end early. Within a block the search stops at the hit. Between
//! blocks each run checks whether another run has a better hit.

use super::plumbing::{Consumer, Extent};
use super::terminal::simple;
use bombyx_core::loop_plumbing::LoopSite;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Any item for which `op` returns something.
pub(crate) struct FindAny<F> {
    pub(crate) site: LoopSite,
    pub(crate) op: F,
    pub(crate) found: AtomicBool,
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync + Send> Consumer<T> for FindAny<F> {
    type Folder = Option<R>;
    type Result = Option<R>;

    fn start(&self, _: Extent) -> Option<R> {
        None
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: Option<R>, mut iter: I) -> Option<R> {
        if folder.is_some() {
            return folder;
        }
        let hit = iter.find_map(&self.op);
        if hit.is_some() {
            self.found.store(true, Relaxed);
        }
        hit
    }
    fn complete(&self, folder: Option<R>) -> Option<R> {
        folder
    }
    fn reduce(&self, left: Option<R>, right: Option<R>) -> Option<R> {
        left.or(right)
    }
    fn narrow(&self, _: &mut Option<R>, _: usize) {}
    fn full(&self, _: &Option<R>) -> bool {
        self.found.load(Relaxed)
    }
    simple!(site);
}

/// The first item for which `op` returns something. `best` is the least position at which a run with a hit began.
pub(crate) struct FindFirst<F> {
    pub(crate) site: LoopSite,
    pub(crate) op: F,
    pub(crate) best: AtomicUsize,
}

/// A run's hit, and where the run began.
pub(crate) struct Hit<R> {
    start: usize,
    item: Option<R>,
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync + Send> Consumer<T> for FindFirst<F> {
    type Folder = Hit<R>;
    type Result = Option<R>;

    fn start(&self, extent: Extent) -> Hit<R> {
        Hit { start: extent.start, item: None }
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, mut folder: Hit<R>, mut iter: I) -> Hit<R> {
        if folder.item.is_none() {
            folder.item = iter.find_map(&self.op);
            if folder.item.is_some() {
                self.best.fetch_min(folder.start, Relaxed);
            }
        }
        folder
    }
    fn complete(&self, folder: Hit<R>) -> Option<R> {
        folder.item
    }
    fn reduce(&self, left: Option<R>, right: Option<R>) -> Option<R> {
        left.or(right)
    }
    fn narrow(&self, _: &mut Hit<R>, _: usize) {}
    fn full(&self, folder: &Hit<R>) -> bool {
        folder.item.is_some() || self.best.load(Relaxed) < folder.start
    }
    fn settled(&self, result: &Option<R>) -> bool {
        result.is_some()
    }
    simple!(site);
}

/// The last item for which `op` returns something. `best` is the greatest position before which a run with a hit will
/// end, plus one.
pub(crate) struct FindLast<F> {
    pub(crate) site: LoopSite,
    pub(crate) op: F,
    pub(crate) best: AtomicUsize,
}

/// A run's last hit so far, and where the run begins and ends.
pub(crate) struct LastHit<R> {
    start: usize,
    end: usize,
    item: Option<R>,
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync + Send> Consumer<T> for FindLast<F> {
    type Folder = LastHit<R>;
    type Result = Option<R>;

    fn start(&self, extent: Extent) -> LastHit<R> {
        LastHit { start: extent.start, end: extent.end, item: None }
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, mut folder: LastHit<R>, iter: I) -> LastHit<R> {
        if let Some(hit) = iter.filter_map(&self.op).last() {
            if folder.item.is_none() {
                self.best.fetch_max(folder.start, Relaxed);
            }
            folder.item = Some(hit);
        }
        folder
    }
    fn complete(&self, folder: LastHit<R>) -> Option<R> {
        folder.item
    }
    fn reduce(&self, left: Option<R>, right: Option<R>) -> Option<R> {
        right.or(left)
    }
    fn narrow(&self, folder: &mut LastHit<R>, end: usize) {
        folder.end = end;
    }
    fn full(&self, folder: &LastHit<R>) -> bool {
        // A hit of a run that begins where this one has ended is better than all hits of this one.
        let best = self.best.load(Relaxed);
        best > folder.start && best >= folder.end
    }
    simple!(site);
}
