//! What a scope knows of its closures: their work, and the longest path to the end of one.

use super::algebra::Path;
use super::chain::Report;
use super::heap::Uncharged;
use super::held;
use super::origin::Origin;
use super::shadow::{Second, Shadow};
use super::{Heap, Profiler, Site, of};
use crate::machine::pool::PoolCore;
use crate::system::primitive::lock;
use std::sync::{Arc, Mutex};

/// The closures of a scope in a profiled pool. In other pools, nothing.
pub(crate) struct Closures(Option<Box<Known>>);

struct Known {
    profiler: Arc<Profiler>,
    /// The foot of the chain in which the scope is.
    anchor: Arc<Origin>,
    /// Where the scope begins, as a path from there, and how many frames lie below it.
    start: (Path, usize),
    /// The number of the scope, if the run is recorded.
    number: u64,
    ended: Mutex<Ended>,
}

#[derive(Default)]
struct Ended {
    work: i64,
    blocked: i64,
    peak: usize,
    /// The time and the memory of closures that are not recorded one by one.
    unrecorded: (i64, Heap),
    /// The longest path from the anchor to the end of a closure.
    longest: Option<Path>,
    /// Closures whose beginnings are not connected with the anchor yet: their paths and peaks.
    loose: Vec<(Arc<Origin>, Path, usize)>,
}

impl Ended {
    /// A closure that began at `start` has ended. Its deepest frame is number `peak` from its foot.
    fn reach(&mut self, (start, depth): (Path, usize), path: &Path, peak: usize) {
        self.peak = self.peak.max(depth + peak);
        let mut end = start;
        end.extend(path);
        match &mut self.longest {
            Some(longest) => longest.beside(end),
            None => self.longest = Some(end),
        }
    }
}

/// A closure that was spawned, until it runs.
pub(crate) struct Spawned(Option<Box<Beginning>>);

struct Beginning {
    site: Site,
    origin: Arc<Origin>,
    /// The closure's number, if it is recorded.
    child: u64,
}

impl Closures {
    /// A scope begins on the calling thread, with its body.
    pub(crate) fn begin(pool: &PoolCore, site: Site) -> Closures {
        Closures(of(pool).and_then(|profiler| {
            let _uncharged = Uncharged::begin();
            let (anchor, start, number) = held::with(|shadow| shadow.begin_scope(profiler, site))?;
            let profiler = Arc::clone(profiler);
            Some(Box::new(Known { profiler, anchor, start, number, ended: Mutex::default() }))
        }))
    }

    /// The body has ended. Drop what this returns when all closures have ended.
    pub(crate) fn body_ended(&self) -> Ending<'_> {
        if self.0.is_some() {
            held::with(Shadow::middle);
        }
        Ending(self)
    }

    /// A closure is spawned.
    #[inline]
    pub(crate) fn spawn(&self, site: Site) -> Spawned {
        Spawned(self.0.as_ref().and_then(|known| known.spawn(site)))
    }

    /// A closure begins on the calling carrier.
    #[inline]
    pub(crate) fn begin_closure(&self, spawned: &Spawned) {
        if let (Some(known), Some(beginning)) = (&self.0, &spawned.0) {
            known.begin_closure(beginning);
        }
    }

    /// A closure has ended, but has not been counted down yet.
    #[inline]
    pub(crate) fn end_closure(&self, spawned: Spawned) {
        if let Some(known) = &self.0 {
            known.end_closure(spawned);
        }
    }
}

impl Drop for Closures {
    #[inline]
    fn drop(&mut self) {
        if let Some(known) = self.0.take() {
            let _uncharged = Uncharged::begin();
            drop(known);
        }
    }
}

impl Known {
    #[cold]
    fn spawn(&self, site: Site) -> Option<Box<Beginning>> {
        held::with(|shadow| {
            let (origin, id) = shadow.spawn(&self.profiler, site);
            let child = self.profiler.recorder().map_or(0, |recorder| recorder.child());
            shadow.spawned(&self.profiler, id, self.number, child);
            Box::new(Beginning { site, origin, child })
        })
    }

    #[cold]
    fn begin_closure(&self, beginning: &Beginning) {
        held::with(|shadow| {
            let origin = Some(Arc::clone(&beginning.origin));
            shadow.begin_chain(&self.profiler, Some(beginning.site), origin);
        });
    }

    #[cold]
    fn end_closure(&self, spawned: Spawned) {
        let _uncharged = Uncharged::begin();
        let Some(beginning) = spawned.0 else { return };
        if let Some(report) = held::with(Shadow::end_chain) {
            self.end(*beginning, report);
        }
    }

    fn end(&self, beginning: Beginning, report: Report) {
        let mut path = report.path;
        path.length = path.length.burdened_by(self.profiler.costs.burden.hand_over);
        match self.profiler.recorder() {
            Some(recorder) if beginning.child != 0 => {
                recorder.child_ended(beginning.child, report.log, report.work + report.blocked);
            }
            Some(_) => {
                let mut ended = lock(&self.ended);
                let (ticks, heap) = ended.unrecorded;
                ended.unrecorded = (ticks + report.work + report.blocked, heap.then(report.log.heap()));
            }
            None => {}
        }
        let start = beginning.origin.path_from(&self.anchor);
        let mut ended = lock(&self.ended);
        ended.work += report.work;
        ended.blocked += report.blocked;
        match start {
            Some(start) => ended.reach(start, &path, report.peak),
            None => ended.loose.push((beginning.origin, path, report.peak)),
        }
    }

    fn second(&self) -> Second {
        let mut ended = std::mem::take(&mut *lock(&self.ended));
        for (origin, path, peak) in std::mem::take(&mut ended.loose) {
            // A closure that hangs on nothing known was spawned from outside.
            let start = origin.path_from(&self.anchor).unwrap_or_else(|| self.start.clone());
            ended.reach(start, &path, peak);
        }
        Second::Spawned {
            path: ended.longest,
            work: ended.work,
            blocked: ended.blocked,
            peak: ended.peak,
            unrecorded: ended.unrecorded,
        }
    }
}

/// The end of a scope. When this is dropped, all closures have ended.
pub(crate) struct Ending<'a>(&'a Closures);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if let Some(known) = &self.0.0 {
            held::with(|shadow| shadow.join_elsewhere(known.second()));
        }
    }
}
