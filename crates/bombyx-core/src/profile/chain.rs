//! Chains: what happens on one carrier from the foot of a closure to its end, and what is known of it then.
//!
//! A closure that was taken from elsewhere, or that enters a pool, begins a new chain on its carrier. The strand of the
//! chain that ran there before stops meanwhile. The frames are in the carrier's [`Shadow`].

use super::Profiler;
use super::algebra::{Length, Path};
use super::costs::Costs;
use super::heap::Heap;
use super::heap::Uncharged;
use super::origin::Origin;
use super::record::Log;
use super::shadow::Shadow;
use super::sites::{self, Kind, Site, SiteId};
use crate::system::clock::Clock;
use std::sync::Arc;

/// What is counted for one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) strands: u64,
    pub(crate) forks: u64,
    pub(crate) work: i64,
    /// The longest strand.
    pub(crate) longest: i64,
    /// Time in [`crate::blocking`].
    pub(crate) blocked: i64,
    /// Time asleep outside of it, which is part of the work.
    pub(crate) asleep: i64,
    /// How often they slept or waited outside of it.
    pub(crate) waits: u64,
    /// Time without a CPU, which is not.
    pub(crate) delayed: i64,
}

impl Tally {
    pub(super) const NONE: Tally =
        Tally { strands: 0, forks: 0, work: 0, longest: 0, blocked: 0, asleep: 0, waits: 0, delayed: 0 };

    pub(crate) fn add(&mut self, other: Tally) {
        self.forks += other.forks;
        self.strands += other.strands;
        self.work += other.work;
        self.longest = self.longest.max(other.longest);
        self.blocked += other.blocked;
        self.asleep += other.asleep;
        self.waits += other.waits;
        self.delayed += other.delayed;
    }
}

/// What is known of a chain that has ended.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) work: i64,
    pub(crate) blocked: i64,
    pub(crate) path: Path,
    /// The tally of the strands of the closure at the chain's foot, if that closure was stolen.
    pub(crate) taken: Tally,
    /// The most frames from the chain's foot, the foot counted.
    pub(crate) peak: usize,
    /// The chain's foot, if other chains hang on it.
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) log: Log,
}

/// What happens on one carrier from the foot of a closure to its end.
pub(super) struct Chain {
    /// `None` if nothing that runs here is profiled.
    pub(super) profiler: Option<Arc<Profiler>>,
    pub(super) clock: Clock,
    pub(super) costs: Costs,
    /// Strands of at least so many ticks are told to the tracer.
    pub(super) long: i64,
    /// When the present strand began, and how much of the following time is the profiler's own.
    pub(super) start: u64,
    /// When it was last asked whether the thread had a CPU, and when to ask again.
    pub(super) looked: u64,
    pub(super) look_at: u64,
    /// A strand that seems to take so many ticks may have been without a CPU: it takes twice as long as all before it.
    pub(super) suspicious: i64,
    /// Whether a strand runs; if not, it waits.
    pub(super) running: bool,
    /// The site of the present strand.
    pub(super) site: SiteId,
    /// Where the run was entered, if the chain is a run.
    pub(super) run: SiteId,
    pub(super) length: Length,
    /// How long the present half is expected to take, in ticks. The second half of a fork is expected to take as long
    /// as the first half did, and the first half of a fork half as long as the piece that forked. [`i64::MAX`] if
    /// nothing is known.
    pub(super) expected: i64,
    /// The work, without what the shadow has not counted yet.
    pub(super) work: i64,
    blocked: i64,
    /// What was counted for [`SiteId::TAKEN`], kept here while another chain runs on top.
    taken: Tally,
    /// How many frames lie below the chain's foot.
    pub(super) foot: usize,
    /// The most frames on the stack so far, these counted.
    pub(super) deepest: usize,
    origin: Option<Arc<Origin>>,
    /// How many of its frames are scopes.
    pub(super) scopes: usize,
    pub(super) log: Log,
    /// Set if the chain ends with its first frame: a thread that holds a processor without being in a run began it with
    /// a fork.
    ambient: Option<Path>,
    /// How many frames there are when such a chain ends, or `usize::MAX` for other chains.
    pub(super) ambient_at: usize,
}

impl Chain {
    pub(super) const NONE: Chain = Chain {
        profiler: None,
        clock: Clock::Monotonic,
        costs: Costs::NONE,
        long: i64::MAX,
        start: 0,
        looked: 0,
        look_at: u64::MAX,
        suspicious: i64::MAX,
        running: false,
        site: SiteId::TAKEN,
        run: SiteId::TAKEN,
        length: Length::ZERO,
        expected: i64::MAX,
        work: 0,
        blocked: 0,
        taken: Tally::NONE,
        foot: 0,
        deepest: 0,
        origin: None,
        scopes: 0,
        log: Log::OFF,
        ambient: None,
        ambient_at: usize::MAX,
    };

    #[inline(always)]
    pub(super) fn is_of(&self, profiler: &Profiler) -> bool {
        self.profiler.as_ref().is_some_and(|own| std::ptr::eq(&raw const **own, profiler))
    }

    /// Whether it should be asked at the time `now`, when a strand ends, if the thread had a CPU.
    #[inline(always)]
    pub(super) fn should_look(&self, now: u64) -> bool {
        now >= self.look_at || now.wrapping_sub(self.start) as i64 >= self.suspicious
    }

    /// The foot, for other chains to hang on.
    pub(super) fn origin(&mut self) -> Arc<Origin> {
        Arc::clone(self.origin.get_or_insert_with(Origin::unknown))
    }

    /// How many frames there are from the foot, itself counted, when there are `depth` on the stack.
    pub(super) fn frames_to(&self, depth: usize) -> usize {
        depth - self.foot + 1
    }

    /// Adds what other chains have done. They had up to `peak` frames from this chain's foot, itself counted.
    pub(super) fn absorb(&mut self, work: i64, blocked: i64, peak: usize) {
        self.work += work;
        self.blocked += blocked;
        self.deepest = self.deepest.max((self.foot + peak).saturating_sub(1));
    }
}

impl Shadow {
    /// A closure that was taken from elsewhere, or that enters the pool, begins. What ran here waits.
    pub(crate) fn begin_chain(
        &mut self,
        profiler: &Arc<Profiler>,
        site: Option<Site>,
        origin: Option<Arc<Origin>>,
    ) {
        if self.chain.running {
            self.pause();
        }
        self.count();
        if let Some(other) = self.chain.profiler.clone().filter(|other| !Arc::ptr_eq(other, profiler)) {
            self.flush(&other);
        }
        self.chain.taken = std::mem::take(self.tally(SiteId::TAKEN));
        let site = site.map_or(SiteId::TAKEN, |site| {
            let id = self.id(site, 0);
            sites::note_run(id);
            id
        });
        let below = self.lanes.open();
        let chain = Chain {
            profiler: Some(Arc::clone(profiler)),
            clock: profiler.clock,
            costs: profiler.costs,
            long: profiler.long,
            suspicious: profiler.suspicious,
            site,
            run: site,
            foot: self.depth(),
            deepest: self.depth(),
            origin,
            log: profiler.new_log(),
            ..Chain::NONE
        };
        self.outer.push((std::mem::replace(&mut self.chain, chain), below));
        self.begin_anew();
    }

    /// The closure has ended. What waited below goes on.
    pub(crate) fn end_chain(&mut self) -> Report {
        self.end_strand();
        self.count();
        debug_assert_eq!(self.depth(), self.chain.foot, "all forks of the chain are joined");
        let (outer, below) = self.outer.pop().expect("a chain that ends has begun");
        let split = self.lanes.close(below, self.chain.site, self.chain.length.span);
        let chain = std::mem::replace(&mut self.chain, outer);
        let outer = self.chain.taken;
        let taken = std::mem::replace(self.tally(SiteId::TAKEN), outer);
        self.flush(chain.profiler.as_deref().expect("the chain is profiled"));
        if self.chain.running {
            self.begin_anew();
        }
        Report {
            work: chain.work,
            blocked: chain.blocked,
            path: Path { length: chain.length, split },
            taken,
            peak: chain.frames_to(chain.deepest),
            origin: chain.origin,
            log: chain.log,
        }
    }

    /// Reports to the profiler what was counted here.
    pub(super) fn flush(&mut self, profiler: &Profiler) {
        if let Some(tallies) = self.tallies.get_mut(1..) {
            profiler
                .add_tallies(tallies.iter_mut().enumerate().map(|(n, tally)| (n + 1, std::mem::take(tally))));
        }
    }

    /// A thread that holds a processor without being in a run forks, or begins a scope, at the time `now`.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_ambient(&mut self, profiler: &Arc<Profiler>, site: Site, now: u64) {
        let _uncharged = Uncharged::begin();
        let site = Site { kind: Kind::Run, ..site };
        let before = profiler.begin_run(self.id(site, 0));
        self.begin_chain(profiler, Some(site), None);
        self.chain.ambient = Some(before);
        self.chain.ambient_at = self.chain.foot;
        self.chain.start = now;
    }

    /// That fork, or scope, has ended.
    #[cold]
    #[inline(never)]
    pub(super) fn end_ambient(&mut self) {
        let _uncharged = Uncharged::begin();
        let profiler = self.chain.profiler.clone().expect("the chain is profiled");
        let before = self.chain.ambient.take().expect("seen by the caller");
        let report = self.end_chain();
        profiler.end_run(before, report);
    }

    // ---- Blocking -------------------------------------------------------------------------------------

    /// The strand blocks from now on. `None` if nothing that runs here is profiled.
    pub(crate) fn block(&mut self) -> Option<u64> {
        if !self.chain.running {
            return None;
        }
        self.end_strand();
        self.chain.running = false;
        Some(self.now())
    }

    /// The strand, which has blocked since then, goes on.
    pub(crate) fn unblock(&mut self, since: u64) {
        let now = self.now();
        let ticks = now.wrapping_sub(since) as i64;
        self.chain.blocked += ticks;
        self.uncounted.blocked += ticks;
        self.chain.length = self.chain.length.then(Length::strand(ticks));
        self.chain.log.other_strand(ticks, Heap::NONE);
        self.begin_anew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_late_strands_are_suspicious() {
        let chain = Chain { start: 1_000, look_at: 9_000, suspicious: 500, ..Chain::NONE };
        let asked = [1_499, 1_500, 900].map(|now| chain.should_look(now));
        assert_eq!(asked, [false, true, false], "the profiler's own time may lie after the strand");
        let late = Chain { start: 8_990, ..chain };
        assert_eq!([8_999, 9_000].map(|now| late.should_look(now)), [false, true]);
        assert!(!Chain::NONE.should_look(u64::MAX - 1), "in virtual time nobody is asked");
    }
}
