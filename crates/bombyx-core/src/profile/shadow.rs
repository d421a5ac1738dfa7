//! The shadow of a carrier's stack: one frame for each fork and scope on it, and the chain ([`super::chain`]) that runs on
//! top.
//!
//! Hooks are called where strands begin and end. Each carrier has its own shadow, and nobody else touches it. What
//! another carrier must know (the path of a stolen half, of a spawned closure, of a run) travels in a [`Report`], under
//! the same synchronisation as the closure's result.
//!
//! A chain's position is its [`Length`] from its foot. So a fork remembers where it began. Its first half goes on from
//! there, its second half begins there again, and the join goes on from the farther of the two. The strands of the
//! closure at the foot of a stolen chain belong to [`SiteId::TAKEN`] until the join, which knows the site, fills it in.
//!
//! Every fork calls three hooks: [`Shadow::fork`], [`Shadow::middle`] and [`Shadow::join_here`]. Each hook reads the
//! clock once, because the end of one strand is the beginning of the next, and adds to three sums. Everything else is
//! done when the site changes ([`Shadow::count`], [`super::algebra::Lanes`]).

use super::Profiler;
use super::algebra::{Branch, Halves, Lane, Lanes, Length, Path};
use super::chain::{Chain, Report, Tally};
use super::heap::Heap;
use super::heap::{self, Uncharged};
use super::origin::Origin;
use super::presence::Presence;
use super::sites::{self, Cache, Kind, Site, SiteId};
use crate::machine::current;
use crate::machine::tracer::Event;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A fork, or a scope. The halves of a scope are its body and its longest closure.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Frame {
    /// Where it began.
    at: Length,
    /// Where the first half ended, once it has.
    first: Length,
    /// The work of the chain when the frame began, and how long the piece around it was expected to take.
    work: i64,
    expected: i64,
    /// Where the range of the branch around it begins, and where that of the first half begins.
    below: u32,
    first_lane: u32,
    /// The site of the strands before and after. While a half runs, the chain has the site of the half's own strands.
    outer: SiteId,
}

/// How many frames a new shadow has room for. Few programs ever wait for more.
const FRAMES: usize = 64;

/// See the module text.
pub(crate) struct Shadow {
    pub(super) chain: Chain,
    /// The chains below, whose strands wait.
    pub(super) outer: Vec<(Chain, Lane)>,
    frames: Vec<Frame>,
    pub(super) lanes: Lanes,
    cache: Cache,
    /// What is not yet in the tally of the present strand's site.
    pub(super) uncounted: Tally,
    /// What has not been reported to the profiler yet, by site.
    pub(super) tallies: Vec<Tally>,
    /// How many of the closures on the stack run on top of a waiting frame.
    pub(crate) helping: usize,
    presence: Presence,
    /// The site whose strand was told last, and its place.
    told: (SiteId, Option<&'static Location<'static>>),
    /// How often the presence was looked at since the profiler last heard of this carrier.
    looks: u32,
}

/// How the second half of a frame ended on another carrier.
pub(crate) enum Second {
    /// As another chain.
    Taken(Box<Report>),
    /// As the closures of a scope: the longest path to the end of one, from the foot of the scope's chain.
    Spawned { path: Option<Path>, work: i64, blocked: i64, peak: usize, unrecorded: (i64, Heap) },
}

impl Shadow {
    pub(super) fn new() -> Shadow {
        Shadow {
            chain: Chain::NONE,
            outer: Vec::new(),
            frames: Vec::with_capacity(FRAMES),
            lanes: Lanes::new(),
            cache: Cache::new(),
            uncounted: Tally::NONE,
            tallies: Vec::new(),
            helping: 0,
            presence: Presence::new(),
            told: (SiteId::TAKEN, None),
            looks: 0,
        }
    }

    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.chain.clock.now()
    }

    /// The number of a site.
    #[inline(always)]
    pub(super) fn id(&mut self, site: Site, code: usize) -> SiteId {
        self.cache.id(site, code, self.chain.run)
    }

    /// The run that has just begun was called from this site.
    pub(crate) fn called_from(&mut self, caller: SiteId) {
        self.enter(caller);
        self.chain.run = caller;
        sites::note_run(caller);
    }

    pub(super) fn tally(&mut self, site: SiteId) -> &mut Tally {
        if site.index() >= self.tallies.len() {
            let _uncharged = Uncharged::begin();
            self.tallies.resize(site.index() + 1, Tally::NONE);
        }
        &mut self.tallies[site.index()]
    }

    /// How many frames there are on the stack.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Ends the present strand. Returns its length, and where the chain is now.
    #[inline(always)]
    fn cut(&mut self, now: u64) -> (i64, Length) {
        let ticks = now.wrapping_sub(self.chain.start) as i64;
        self.uncounted.work += ticks;
        self.uncounted.longest = self.uncounted.longest.max(ticks);
        self.uncounted.strands += 1;
        let length = self.chain.length.then(Length::strand(ticks));
        self.chain.length = length;
        if ticks >= self.chain.long {
            self.tell_strand();
        }
        (ticks, length)
    }

    /// Tells the tracer that a long strand ends.
    #[cold]
    #[inline(never)]
    fn tell_strand(&mut self) {
        let _uncharged = Uncharged::begin();
        if self.told.0 != self.chain.site {
            self.told = (self.chain.site, sites::place(self.chain.site));
        }
        if let Some(processor) = current::processor() {
            processor.trace(Event::Strand(self.told.1, self.chain.start));
        }
    }

    /// Ends the present strand, and tells the recorder.
    pub(super) fn end_strand(&mut self) {
        let now = self.present();
        let (ticks, _) = self.cut(now);
        self.chain.log.strand(ticks);
    }

    /// Adds up what the strand has run so far. The strand does not end.
    pub(super) fn pause(&mut self) {
        self.end_strand();
        self.uncounted.strands -= 1;
    }

    /// Begins a strand after something that was not a strand. None of its time is the profiler's.
    pub(super) fn begin_anew(&mut self) {
        heap::take_strand();
        if let Some(every) = self.chain.profiler.as_ref().and_then(|profiler| profiler.look_every) {
            self.presence.begin();
            self.chain.looked = self.now();
            self.chain.look_at = self.chain.looked + every;
        }
        self.begin(self.now(), 0);
        self.chain.running = true;
    }

    /// The time, at the end of a strand that the thread has run with a CPU: if it had none, or slept, that is counted
    /// now and then.
    #[inline(always)]
    fn present(&mut self) -> u64 {
        self.present_at(self.now())
    }

    #[inline(always)]
    fn present_at(&mut self, now: u64) -> u64 {
        if self.chain.should_look(now) { self.look(now) } else { now }
    }

    /// Asks the system whether the thread had a CPU since it was last asked. A strand that had none for long is suspiciously
    /// long, so it is the present one. Its time without a CPU is taken from it. Returns the time. What this takes is no part of
    /// the strand.
    #[cold]
    #[inline(never)]
    fn look(&mut self, now: u64) -> u64 {
        /// After so many looks, the profiler hears of this carrier, in case the program is interrupted.
        const HEARD: u32 = 32;
        /// A look that takes longer has lost its CPU.
        const LOOK: Duration = Duration::from_micros(50);
        let _uncharged = Uncharged::begin();
        let Some(profiler) = self.chain.profiler.clone() else { return now };
        let ns = now.wrapping_sub(self.chain.looked) as f64 * profiler.ns_per_tick_then;
        if let Some(absent) = self.presence.absent(ns as u64) {
            let ticks = |ns: u64| (ns as f64 / profiler.ns_per_tick_then) as i64;
            let strand = (now.wrapping_sub(self.chain.start) as i64).max(0);
            let delayed = ticks(absent.delayed_ns).min(strand);
            self.chain.start = self.chain.start.wrapping_add(delayed as u64);
            self.uncounted.delayed += delayed;
            self.uncounted.asleep += ticks(absent.asleep_ns);
            self.uncounted.waits += absent.waits;
        }
        let strand = now.wrapping_sub(self.chain.start) as i64;
        if strand >= self.chain.suspicious {
            self.chain.suspicious = strand.saturating_mul(2);
        }
        self.looks += 1;
        if self.looks >= HEARD {
            self.looks = 0;
            self.count();
            self.flush(&profiler);
            if self.chain.run != SiteId::TAKEN {
                profiler.so_far(self.chain.length.span + now.wrapping_sub(self.chain.start) as i64);
            }
        }
        self.chain.looked = self.now();
        self.chain.look_at = self.chain.looked + profiler.look_every.unwrap_or(u64::MAX - self.chain.looked);
        let took = self.chain.looked.wrapping_sub(now);
        self.chain.start = self.chain.start.wrapping_add(took);
        // The system likes to take the CPU away when a call ends, so on a busy machine most delays fall into looks.
        if took as f64 * profiler.ns_per_tick_then > LOOK.as_nanos() as f64 {
            self.uncounted.delayed += took as i64;
        }
        self.chain.looked
    }

    /// Begins a strand. `own` ticks of it will be the profiler's.
    #[inline(always)]
    fn begin(&mut self, now: u64, own: i64) {
        self.chain.start = now.wrapping_add(own as u64);
    }

    /// The strands from now on belong to `site`.
    #[inline(always)]
    fn enter(&mut self, site: SiteId) {
        if self.chain.site != site {
            self.count();
            self.chain.site = site;
        }
    }

    /// Brings the tally of the present strand's site up to date.
    #[inline(never)]
    pub(super) fn count(&mut self) {
        let counted = std::mem::take(&mut self.uncounted);
        self.chain.work += counted.work;
        self.tally(self.chain.site).add(counted);
    }

    /// The work of the chain so far.
    fn work(&self) -> i64 {
        self.chain.work + self.uncounted.work
    }

    // ---- Forks and scopes -----------------------------------------------------------------------------

    /// A strand ends with a fork, or at the beginning of a scope. The first half, or the body, begins.
    #[inline(always)]
    pub(crate) fn fork(&mut self, profiler: &Arc<Profiler>, site: Site, code: usize) {
        let mut now = profiler.clock.now();
        if !self.chain.is_of(profiler) {
            self.begin_ambient(profiler, site, now);
        } else {
            now = self.present_at(now);
        }
        let (ticks, at) = self.cut(now);
        let id = self.id(site, code);
        if self.cache.take_missed() {
            now = self.now();
        }
        if self.chain.log.is_on() {
            self.record_fork(ticks, id, site.kind);
        }
        if self.frames.len() == self.frames.capacity() {
            self.more_frames();
        }
        let below = self.lanes.open();
        self.frames.push(Frame {
            at,
            first: Length::ZERO,
            work: self.work(),
            expected: self.chain.expected,
            below: below as u32,
            first_lane: self.lanes.top() as u32,
            outer: self.chain.site,
        });
        self.chain.expected /= 2;
        if self.frames.len() > self.chain.deepest {
            self.chain.deepest = self.frames.len();
        }
        self.enter(id);
        self.uncounted.forks += 1;
        self.begin(now, self.chain.costs.fork);
    }

    /// A scope begins. Returns the foot of the present chain, the path from there and the number of frames on it, and
    /// the number of the scope.
    pub(crate) fn begin_scope(
        &mut self,
        profiler: &Arc<Profiler>,
        site: Site,
    ) -> (Arc<Origin>, (Path, usize), u64) {
        self.fork(profiler, site, 0);
        self.chain.scopes += 1;
        let start = (self.path(), self.chain.frames_to(self.depth()));
        (self.chain.origin(), start, self.chain.log.last_scope())
    }

    #[cold]
    fn more_frames(&mut self) {
        let _uncharged = Uncharged::begin();
        self.frames.reserve(1);
    }

    #[cold]
    #[inline(never)]
    fn record_fork(&mut self, ticks: i64, id: SiteId, kind: Kind) {
        let _uncharged = Uncharged::begin();
        let work = self.work();
        self.chain.log.strand(ticks);
        self.chain.log.fork(id, kind, work);
    }

    /// The first half, or the body, ends.
    #[inline(always)]
    pub(crate) fn middle(&mut self) {
        let now = self.present();
        let (ticks, first) = self.cut(now);
        if self.chain.log.is_on() {
            self.record_middle(ticks);
        }
        self.lanes.open();
        let frame = self.frames.last_mut().expect("a join has a frame");
        frame.first = first;
        let began = frame.work;
        self.chain.length = frame.at.burdened_by(self.chain.costs.burden.steal);
        self.begin(now, self.chain.costs.middle);
        self.chain.expected = self.work() - began;
    }

    #[cold]
    #[inline(never)]
    fn record_middle(&mut self, ticks: i64) {
        let _uncharged = Uncharged::begin();
        self.chain.log.strand(ticks);
        self.chain.log.middle();
    }

    /// The join waits from now on.
    pub(crate) fn wait(&mut self) {
        self.chain.running = false;
    }

    /// The strand stops for something that is no part of it. Returns false if no strand runs.
    pub(crate) fn step_aside(&mut self) -> bool {
        let runs = self.chain.running;
        if runs {
            self.pause();
            self.chain.running = false;
        }
        runs
    }

    /// The strand goes on. Or the join has waited, and its second half begins here.
    pub(crate) fn go_on(&mut self) {
        self.begin_anew();
    }

    /// The second half, which ran here, has ended.
    #[inline(always)]
    pub(crate) fn join_here(&mut self) {
        let now = self.present();
        let (ticks, end) = self.cut(now);
        if self.chain.log.is_on() {
            self.record_join(ticks);
        }
        self.begin(now, self.chain.costs.join);
        self.join(end.burdened_by(self.chain.costs.burden.hand_over));
    }

    #[cold]
    #[inline(never)]
    fn record_join(&mut self, ticks: i64) {
        let _uncharged = Uncharged::begin();
        let work = self.work();
        self.chain.log.strand(ticks);
        self.chain.log.join(work);
    }

    /// Removes the youngest frame, whose second half ended at `end`, and goes on after the farther of the two halves.
    #[inline(always)]
    fn join(&mut self, end: Length) {
        let frame = self.youngest();
        let (outer, below, first_lane) = (frame.outer, frame.below as Lane, frame.first_lane as Lane);
        let (length, expected) = (frame.first.beside(end), frame.expected);
        self.chain.length = length;
        self.chain.expected = expected;
        if self.lanes.len() == first_lane && self.chain.site == outer {
            self.lanes.join_own(below);
        } else {
            self.join_lanes(end);
        }
        self.frames.pop();
        if self.frames.len() == self.chain.ambient_at {
            self.end_ambient();
        }
    }

    #[inline(always)]
    fn youngest(&self) -> &Frame {
        self.frames.last().expect("a join has a frame")
    }

    /// Joins the lanes of the youngest frame, if sites other than the one before and after have a part of it.
    #[inline(never)]
    fn join_lanes(&mut self, end: Length) {
        let _uncharged = Uncharged::begin();
        let frame = *self.youngest();
        self.lanes.join(&Halves {
            below: frame.below as Lane,
            first: frame.first_lane as Lane,
            second: self.lanes.top(),
            site: self.chain.site,
            outer: frame.outer,
            second_wins: end.span > frame.first.span,
            span: self.chain.length.span - frame.at.span,
        });
        self.enter(frame.outer);
    }

    /// The second half has ended on another carrier, or all closures of the scope have.
    #[cold]
    pub(crate) fn join_elsewhere(&mut self, second: Second) {
        let end = self.absorb_second(second);
        let work = self.work();
        self.chain.log.join(work);
        self.begin_anew();
        self.join(end);
    }

    /// Adds what happened elsewhere in the second half of the youngest frame. Returns where it ended.
    fn absorb_second(&mut self, second: Second) -> Length {
        let (at, own) = (self.youngest().at, self.chain.site);
        match second {
            Second::Taken(report) => {
                let report = *report;
                let burden = self.chain.costs.burden;
                let depth = self.chain.frames_to(self.depth() - 1);
                self.chain.absorb(report.work, report.blocked, depth + report.peak);
                for &(site, ticks) in &report.path.split {
                    if site != SiteId::TAKEN && site != own {
                        self.lanes.add(site, ticks);
                    }
                }
                self.tally(own).add(report.taken);
                if let Some(origin) = report.origin {
                    let mut path = self.path_to_fork();
                    path.length = path.length.burdened_by(burden.steal);
                    origin.link(self.chain.origin(), path, depth, own);
                }
                self.chain.log.append(report.log);
                at.then(report.path.length).burdened_by(burden.steal + burden.hand_over)
            }
            Second::Spawned { path, work, blocked, peak, unrecorded } => {
                self.chain.absorb(work, blocked, peak);
                self.chain.log.other_strand(unrecorded.0, unrecorded.1);
                self.chain.scopes -= 1;
                let Some(path) = path else { return at };
                let end = path.length;
                for (site, ticks) in path.since(&self.path_to_fork()).split {
                    if site != own {
                        self.lanes.add(site, ticks);
                    }
                }
                end
            }
        }
    }

    // ---- Loops ----------------------------------------------------------------------------------------

    /// Whether the present half is expected to be long enough to be worth splitting.
    #[inline(always)]
    pub(crate) fn is_long(&self, profiler: &Profiler) -> bool {
        self.chain.expected >= profiler.short
    }

    /// Where the chain is, and its work, without the present strand.
    pub(crate) fn position(&self) -> (Length, i64) {
        (self.chain.length, self.work())
    }

    /// `count` iterations of a loop have run, one after another, since the strand began at this position. Each depends
    /// only on the loop's beginning, so the chain gets longer only by the longest of them. Returns how many ticks an
    /// iteration took on average.
    ///
    /// The longest iteration is not known. If all of them together took about as long as expected, this assumes that
    /// they are equally long. Otherwise it attributes the excess to the longest one. The error is at most
    /// `short`.
    pub(crate) fn iterations(&mut self, short: i64, count: usize, since: (Length, i64)) -> i64 {
        let now = self.present();
        let ticks = (now.wrapping_sub(self.chain.start) as i64).max(0);
        let count = i64::try_from(count).unwrap_or(i64::MAX).max(1);
        // If there were forks inside, the chain has already moved on, and its parts by site too.
        if count > 1 && self.chain.length == since.0 {
            let each = ticks / count;
            let longest = if ticks <= 2 * short { each } else { each.max(ticks - short) };
            self.chain.length = since.0.then(Length::strand(longest - ticks));
        }
        (self.work() - since.1 + ticks) / count
    }

    // ---- Ways from the foot ---------------------------------------------------------------------------

    /// The path from the chain's foot to where the youngest frame began.
    fn path_to_fork(&self) -> Path {
        let mut path = Path::default();
        for frame in &self.frames[self.chain.foot..] {
            let (parts, span) =
                (frame.below as Lane..frame.first_lane as Lane, frame.at.since(path.length).span);
            self.lanes.add_to(&mut path.split, &Branch { parts, site: frame.outer, span });
            path.length = frame.at;
        }
        path
    }

    /// The path to where the chain is now.
    fn path(&self) -> Path {
        let mut path = self.path_to_fork();
        let (parts, length) = (self.lanes.top()..self.lanes.len(), self.chain.length);
        let span = length.since(path.length).span;
        self.lanes.add_to(&mut path.split, &Branch { parts, site: self.chain.site, span });
        path.length = length;
        path
    }

    /// The strand ends with a spawn. Returns where the closure begins, and the number of its site.
    pub(crate) fn spawn(&mut self, profiler: &Arc<Profiler>, site: Site) -> (Arc<Origin>, SiteId) {
        let id = self.id(site, 0);
        if !self.chain.is_of(profiler) {
            // From outside: the closure hangs on nothing known.
            profiler.add_tallies([(id.index(), Tally { forks: 1, ..Tally::default() })].into_iter());
            return (Origin::unknown(), id);
        }
        self.tally(id).forks += 1;
        self.end_strand();
        let mut path = self.path();
        path.length = path.length.burdened_by(self.chain.costs.burden.steal);
        let depth = self.chain.frames_to(self.depth());
        let parent = self.chain.origin();
        // If this chain has no scope, nobody asks for paths from its foot, and long lines of spawns stay short.
        let origin = if self.chain.scopes == 0 {
            parent.extended(path, depth, id)
        } else {
            Origin::at(parent, path, depth, id)
        };
        (origin, id)
    }

    /// Notes the spawn of the closure `child` in the scope `scope`, and begins the strand after it.
    pub(crate) fn spawned(&mut self, profiler: &Profiler, id: SiteId, scope: u64, child: u64) {
        if self.chain.is_of(profiler) {
            self.chain.log.spawn(id, scope, child);
            self.begin(self.now(), 0);
        }
    }
}
