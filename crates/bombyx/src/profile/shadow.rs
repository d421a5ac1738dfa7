//! The shadow of a carrier's stack: one frame for each fork and scope on it, and the chain that runs on top.
//!
//! Hooks are called where strands begin and end. Each carrier has a shadow of its own and nobody else touches it; what
//! another carrier must know (the path of a stolen half, of a spawned closure, of a run) travels in a [`Report`], under the
//! same synchronisation as the closure's result.
//!
//! A chain's position is its [`Length`] from its foot, so a fork remembers where it began, its first half goes on
//! from there, its second begins there again, and the join goes on from the farther of the two. The strands of the closure
//! at the foot of a stolen chain belong to [`SiteId::TAKEN`] until the join, which knows the site, puts it in.

use super::Profiler;
use super::algebra::{Lane, Lanes, Length, Path, add_to};
use super::clock::Clock;
use super::costs::Costs;
use super::heap::Heap;
use super::origin::Origin;
use super::record::Log;
use super::sites::{Cache, Kind, Site, SiteId};
use crate::alloc::{self, Uncharged};
use std::cell::RefCell;
use std::sync::Arc;

/// What is counted for one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) forks: u64,
    pub(crate) strands: u64,
    pub(crate) work: i64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.forks += other.forks;
        self.strands += other.strands;
        self.work += other.work;
    }
}

/// What is known of a chain that has ended.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) work: i64,
    pub(crate) blocked: i64,
    pub(crate) path: Path,
    /// Of the strands of the closure at its foot, if that was stolen.
    pub(crate) taken: Tally,
    /// The most frames on top of its foot, itself counted.
    pub(crate) peak: usize,
    /// Its foot, if others hang on it.
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) log: Log,
}

/// What happens on one carrier from the foot of a closure to its end.
struct Chain {
    /// None: nothing runs here that is profiled.
    profiler: Option<Arc<Profiler>>,
    clock: Clock,
    costs: Costs,
    /// When the strand that runs began.
    start: u64,
    /// What of it is the profiler's own time.
    own: i64,
    /// Whether a strand runs, as opposed to: waits.
    running: bool,
    site: SiteId,
    length: Length,
    work: i64,
    blocked: i64,
    /// While another chain runs on top, what was counted for [`SiteId::TAKEN`].
    taken: Tally,
    /// How many frames lie below its foot.
    foot: usize,
    peak: usize,
    origin: Option<Arc<Origin>>,
    /// How many of its frames are scopes.
    scopes: usize,
    log: Log,
    /// Ends with its first frame: begun by a fork of a thread that holds a processor without being in a run.
    ambient: Option<Path>,
}

impl Chain {
    const NONE: Chain = Chain {
        profiler: None,
        clock: Clock::Monotonic,
        costs: Costs::NONE,
        start: 0,
        own: 0,
        running: false,
        site: SiteId::TAKEN,
        length: Length::ZERO,
        work: 0,
        blocked: 0,
        taken: Tally { forks: 0, strands: 0, work: 0 },
        foot: 0,
        peak: 1,
        origin: None,
        scopes: 0,
        log: Log::OFF,
        ambient: None,
    };

    fn is_of(&self, profiler: &Profiler) -> bool {
        self.profiler.as_ref().is_some_and(|own| std::ptr::eq(&raw const **own, profiler))
    }

    /// The foot, for others to hang on.
    fn origin(&mut self) -> Arc<Origin> {
        Arc::clone(self.origin.get_or_insert_with(Origin::unknown))
    }
}

/// A fork, or a scope, whose halves are the scope's body and its longest closure.
struct Frame {
    /// Where it began.
    at: Length,
    /// Where the first half ended.
    first: Length,
    below: Lane,
    first_lane: Lane,
    /// Once the first half has ended.
    second_lane: Lane,
    site: SiteId,
    /// The site of the strand before, and after.
    outer: SiteId,
}

/// See the module text.
pub(crate) struct Shadow {
    chain: Chain,
    /// The chains below, whose strands wait.
    outer: Vec<(Chain, Lane)>,
    frames: Vec<Frame>,
    lanes: Lanes,
    cache: Cache,
    /// By site, what has not been told the profiler yet.
    tallies: Vec<Tally>,
    /// How many of the closures on the stack run on top of a waiting frame.
    pub(crate) helping: usize,
}

thread_local! {
    static SHADOW: RefCell<Shadow> = const { RefCell::new(Shadow::new()) };
}

/// Calls `f` with the calling thread's shadow, at nobody's expense. None if the thread is ending and has none any more.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&mut Shadow) -> R) -> Option<R> {
    let _uncharged = Uncharged::begin();
    SHADOW.try_with(|shadow| f(&mut shadow.borrow_mut())).ok()
}

/// How the second half of a frame came to its end elsewhere.
pub(crate) enum Second {
    /// As another chain.
    Taken(Box<Report>),
    /// The closures of a scope: the longest path to the end of one, from the foot of the scope's chain.
    Spawned { path: Option<Path>, work: i64, blocked: i64, peak: usize, unrecorded: (i64, Heap) },
}

impl Shadow {
    const fn new() -> Shadow {
        Shadow {
            chain: Chain::NONE,
            outer: Vec::new(),
            frames: Vec::new(),
            lanes: Lanes::new(),
            cache: Cache::new(),
            tallies: Vec::new(),
            helping: 0,
        }
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.chain.clock.now()
    }

    /// The number of a site, for which there is a tally from now on.
    #[inline(always)]
    fn id(&mut self, site: Site) -> SiteId {
        let id = self.cache.id(site);
        if id.index() >= self.tallies.len() {
            self.tallies.resize(id.index() + 1, Tally::default());
        }
        id
    }

    #[inline(always)]
    fn tally(&mut self, site: SiteId) -> &mut Tally {
        &mut self.tallies[site.index()]
    }

    /// Ends the strand that runs.
    #[inline(always)]
    fn cut(&mut self, now: u64) {
        self.pause(now, 1);
    }

    /// Adds up what of the strand has run so far; it ends if `strands` is 1, not 0.
    #[inline(always)]
    fn pause(&mut self, now: u64, strands: u64) {
        let ticks = now.wrapping_sub(self.chain.start) as i64 - self.chain.own;
        self.chain.work += ticks;
        self.chain.length.span += ticks;
        let site = self.chain.site;
        self.lanes.add(site, ticks);
        let tally = self.tally(site);
        tally.work += ticks;
        tally.strands += strands;
        self.chain.log.strand(ticks);
    }

    /// Begins a strand of which no time is the profiler's, after something that was no strand.
    fn begin_anew(&mut self, now: u64) {
        alloc::take_strand();
        self.begin(now, 0);
    }

    /// Begins a strand, `own` ticks of which will be the profiler's.
    #[inline(always)]
    fn begin(&mut self, now: u64, own: i64) {
        self.chain.start = now;
        self.chain.own = own;
        self.chain.running = true;
    }

    // ---- Forks and scopes -----------------------------------------------------------------------------

    /// A strand ends with a fork, or at the beginning of a scope; the first half, or the body, begins.
    #[inline(always)]
    pub(crate) fn fork(&mut self, profiler: &Arc<Profiler>, site: Site) {
        let now = profiler.clock.now();
        if !self.chain.is_of(profiler) {
            self.begin_ambient(profiler, site);
            self.begin(now, 0);
        }
        self.cut(now);
        let id = self.id(site);
        self.tally(id).forks += 1;
        self.chain.log.fork(id, site.kind, self.chain.work);
        let below = self.lanes.open();
        self.frames.push(Frame {
            at: self.chain.length,
            first: Length::ZERO,
            below,
            first_lane: self.lanes.top(),
            second_lane: 0,
            site: id,
            outer: self.chain.site,
        });
        self.chain.peak = self.chain.peak.max(self.frames.len() - self.chain.foot + 1);
        self.chain.scopes += usize::from(site.kind == Kind::Scope);
        self.chain.site = id;
        self.begin(now, self.chain.costs.fork);
    }

    /// The first half, or the body, ends.
    #[inline(always)]
    pub(crate) fn middle(&mut self) {
        let now = self.now();
        self.cut(now);
        self.chain.log.middle();
        self.lanes.open();
        let second_lane = self.lanes.top();
        let frame = self.frames.last_mut().expect("a join has a frame");
        frame.first = self.chain.length;
        frame.second_lane = second_lane;
        self.chain.length = frame.at.burdened_by(self.chain.costs.burden.steal);
        self.begin(now, self.chain.costs.middle);
    }

    /// The join waits from now on.
    pub(crate) fn wait(&mut self) {
        self.chain.running = false;
    }

    /// The join has waited, and its second half begins here.
    pub(crate) fn waited(&mut self) {
        self.begin_anew(self.now());
    }

    /// The second half, which ran here, has ended.
    #[inline(always)]
    pub(crate) fn join_here(&mut self) {
        let now = self.now();
        self.cut(now);
        let frame = self.frames.pop().expect("a join has a frame");
        let end = self.chain.length.burdened_by(self.chain.costs.burden.hand_over);
        self.begin(now, self.chain.costs.join);
        self.join(&frame, end);
    }

    /// Goes on after the farther of two halves, the second of which ended at `end`.
    #[inline(always)]
    fn join(&mut self, frame: &Frame, end: Length) {
        self.chain.length = frame.first.beside(end);
        self.lanes.join(frame.below, frame.first_lane, frame.second_lane, end.span > frame.first.span);
        self.chain.log.join(self.chain.work);
        self.chain.site = frame.outer;
        if self.frames.len() == self.chain.foot && self.chain.ambient.is_some() {
            self.end_ambient();
        }
    }

    /// The second half, or all closures of the scope, have ended elsewhere.
    #[cold]
    pub(crate) fn join_elsewhere(&mut self, second: Second) {
        let frame = self.frames.pop().expect("a join has a frame");
        let end = self.absorb_second(&frame, second);
        self.begin_anew(self.now());
        self.join(&frame, end);
    }

    /// Takes over what happened elsewhere in a second half, and tells where it ended.
    fn absorb_second(&mut self, frame: &Frame, second: Second) -> Length {
        match second {
            Second::Taken(report) => {
                let report = *report;
                let burden = self.chain.costs.burden;
                let depth = self.frames.len() - self.chain.foot + 1;
                self.absorb(report.work, report.blocked, depth + report.peak);
                for &(site, ticks) in &report.path.split {
                    self.lanes.add(if site == SiteId::TAKEN { frame.site } else { site }, ticks);
                }
                self.tally(frame.site).add(report.taken);
                if let Some(origin) = report.origin {
                    let mut path = self.path_to(self.frames.len(), frame.below..frame.first_lane);
                    path.length = frame.at.burdened_by(burden.steal);
                    origin.settle(self.chain.origin(), path, depth, frame.site);
                }
                self.chain.log.append(report.log);
                frame.at.then(report.path.length).burdened_by(burden.steal + burden.hand_over)
            }
            Second::Spawned { path, work, blocked, peak, unrecorded } => {
                self.absorb(work, blocked, peak);
                self.chain.log.other_strand(unrecorded.0, unrecorded.1);
                self.chain.scopes -= 1;
                let Some(path) = path else { return frame.at };
                let start = self.path_to(self.frames.len(), frame.below..frame.first_lane);
                let end = path.length;
                for (site, ticks) in path.since(&start).split {
                    self.lanes.add(site, ticks);
                }
                end
            }
        }
    }

    /// Takes over what other chains have done, which had up to `peak` frames on top of this one's foot.
    fn absorb(&mut self, work: i64, blocked: i64, peak: usize) {
        self.chain.work += work;
        self.chain.blocked += blocked;
        self.chain.peak = self.chain.peak.max(peak);
    }

    /// The split of the way from the chain's foot to where its frame number `end` began, whose range is `last`; the length
    /// is left at nothing.
    fn path_to(&self, end: usize, last: std::ops::Range<Lane>) -> Path {
        let mut path = Path::default();
        let mut add = |range| {
            for &(site, ticks) in self.lanes.parts(range) {
                add_to(&mut path.split, site, ticks);
            }
        };
        for frame in &self.frames[self.chain.foot..end] {
            add(frame.below..frame.first_lane);
        }
        add(last);
        path
    }

    /// The way from the chain's foot to where it is now.
    fn path(&self) -> Path {
        Path {
            length: self.chain.length,
            ..self.path_to(self.frames.len(), self.lanes.top()..self.lanes.len())
        }
    }

    /// The strand ends with a spawn: tells where the closure begins, and the number of its site.
    pub(crate) fn spawn(&mut self, profiler: &Arc<Profiler>, site: Site) -> (Arc<Origin>, SiteId) {
        let id = self.id(site);
        if !self.chain.is_of(profiler) {
            // From outside: the closure hangs on nothing that is known.
            profiler.add_tallies([(id.index(), Tally { forks: 1, ..Tally::default() })].into_iter());
            return (Origin::unknown(), id);
        }
        self.tally(id).forks += 1;
        self.cut(self.now());
        let mut path = self.path();
        path.length = path.length.burdened_by(self.chain.costs.burden.steal);
        let depth = self.frames.len() - self.chain.foot + 1;
        let parent = self.chain.origin();
        // Without a scope in this chain nobody asks for paths from its foot, and long lines of spawns stay short.
        let origin = if self.chain.scopes == 0 {
            parent.extended(path, depth, id)
        } else {
            Origin::at(parent, path, depth, id)
        };
        (origin, id)
    }

    /// Notes the spawn of the closure with this number in the scope with that one, and begins the strand after it.
    pub(crate) fn spawned(&mut self, profiler: &Profiler, id: SiteId, scope: u64, child: u64) {
        if self.chain.is_of(profiler) {
            self.chain.log.spawn(id, scope, child);
            self.begin(self.now(), 0);
        }
    }

    /// For a scope that has just begun: the foot of the chain that runs, the way from there and the number of frames on
    /// it, and the number of the scope.
    pub(crate) fn anchor(&mut self) -> (Arc<Origin>, (Path, usize), u64) {
        let start = (self.path(), self.frames.len() - self.chain.foot + 1);
        (self.chain.origin(), start, self.chain.log.last_scope())
    }

    // ---- Chains ---------------------------------------------------------------------------------------

    /// A closure begins that was taken from elsewhere, or that enters the pool. What ran here waits.
    pub(crate) fn begin_chain(
        &mut self,
        profiler: &Arc<Profiler>,
        site: Option<Site>,
        origin: Option<Arc<Origin>>,
    ) {
        if self.chain.running {
            self.pause(self.now(), 0);
        }
        if let Some(other) = self.chain.profiler.clone().filter(|other| !Arc::ptr_eq(other, profiler)) {
            self.flush(&other);
        }
        if self.tallies.is_empty() {
            self.tallies.push(Tally::default());
        }
        self.chain.taken = std::mem::take(self.tally(SiteId::TAKEN));
        let site = site.map_or(SiteId::TAKEN, |site| self.id(site));
        let below = self.lanes.open();
        let chain = Chain {
            profiler: Some(Arc::clone(profiler)),
            clock: profiler.clock,
            costs: profiler.costs,
            site,
            foot: self.frames.len(),
            origin,
            log: profiler.new_log(),
            ..Chain::NONE
        };
        self.outer.push((std::mem::replace(&mut self.chain, chain), below));
        self.begin_anew(profiler.clock.now());
    }

    /// The closure has ended; what waited below goes on.
    pub(crate) fn end_chain(&mut self) -> Report {
        self.cut(self.now());
        debug_assert_eq!(self.frames.len(), self.chain.foot, "all forks of the chain are joined");
        let (outer, below) = self.outer.pop().expect("a chain that ends has begun");
        let split = self.lanes.close(below);
        let chain = std::mem::replace(&mut self.chain, outer);
        let outer = self.chain.taken;
        let taken = std::mem::replace(self.tally(SiteId::TAKEN), outer);
        self.flush(chain.profiler.as_deref().expect("the chain is profiled"));
        if self.chain.running {
            self.begin_anew(self.now());
        }
        Report {
            work: chain.work,
            blocked: chain.blocked,
            path: Path { length: chain.length, split },
            taken,
            peak: chain.peak,
            origin: chain.origin,
            log: chain.log,
        }
    }

    /// Tells the profiler what was counted here.
    fn flush(&mut self, profiler: &Profiler) {
        if let Some(tallies) = self.tallies.get_mut(1..) {
            profiler
                .add_tallies(tallies.iter_mut().enumerate().map(|(n, tally)| (n + 1, std::mem::take(tally))));
        }
    }

    #[cold]
    fn begin_ambient(&mut self, profiler: &Arc<Profiler>, site: Site) {
        let before = profiler.begin_run();
        self.begin_chain(profiler, Some(Site { kind: Kind::Run, ..site }), None);
        self.chain.ambient = Some(before);
    }

    #[cold]
    fn end_ambient(&mut self) {
        let profiler = self.chain.profiler.clone().expect("the chain is profiled");
        let before = self.chain.ambient.take().expect("seen by the caller");
        let report = self.end_chain();
        profiler.end_run(before, report);
    }

    // ---- Blocking -------------------------------------------------------------------------------------

    /// The strand blocks from now on. None if nothing profiled runs here.
    pub(crate) fn block(&mut self) -> Option<u64> {
        if !self.chain.running {
            return None;
        }
        let now = self.now();
        self.cut(now);
        self.chain.running = false;
        Some(now)
    }

    /// The strand that blocked since then goes on.
    pub(crate) fn unblock(&mut self, since: u64) {
        let now = self.now();
        let ticks = now.wrapping_sub(since) as i64;
        self.chain.blocked += ticks;
        self.chain.length = self.chain.length.then(Length::strand(ticks));
        self.lanes.add(self.chain.site, ticks);
        self.chain.log.other_strand(ticks, Heap::NONE);
        self.begin_anew(now);
    }
}
