//! How a carrier waits in a pool with fixed threads, where it keeps its processor ([`crate::machine::fixed`]).
//!
//! **What a waiting carrier does**, in this order:
//!
//! 1. It *helps*: it takes descendants of what it waits for ([`crate::protocol::lineage`]). They are in the deque of
//!    the processor that runs what the carrier waits for, in the deques of processors that stole from that one, and so
//!    on. Descendants need no more stack than the serial program, and meet only locks that the serial program meets.
//! 2. If there is only other work, the carrier leaves it to the others, and wakes a processor that sleeps.
//! 3. If for [`LEFT_ALONE`] no processor has rested or searched, nobody will take that work. Then the carrier runs an
//!    entry of a deque on top of its stack, if fewer than [`DEEPEST`] frames are buried there.
//! 4. It runs an entry of the queue, which comes from outside, only at a [`Standstill`], when the others may be waiting
//!    for the very work that nobody takes. The pool is at a standstill if
//!    - no processor has run, rested or searched for [`NOTHING_RUNS`], and fewer than [`DEEPEST`] frames are buried; or
//!    - no processor has begun another entry for [`STUCK`].
//! 5. If there is no work at all, it sleeps. Its processor is in the idle list, so that a fork can wake it.
//!
//! Two kinds of work need no patience. The carrier runs its own part of a broadcast at once, because nobody else may
//! run it. The limit [`DEEPEST`] holds for that part, too. A carrier that waits for *another* pool has nothing to help
//! with. So it runs other work at once, and its limit is [`DEEPEST_ELSEWHERE`].
//!
//! **What holds.** On each buried frame lie one entry and that entry's descendants, which need at most the serial
//! stack. So while some processor begins an entry every [`STUCK`], a stack holds at most 1 + [`DEEPEST`] times what the
//! serial program needs, or 1 + [`DEEPEST_ELSEWHERE`] times if it waits for other pools. In a wait for its own pool,
//! and without a standstill, a frame is buried only under broadcasts and under work that the pool has already begun.
//! Buried frames are counted (`in_place` in [`crate::Stats`]). The time bound does not hold: a carrier that waits for
//! one long strand leaves calls from outside alone, for at most [`STUCK`] at a time.

use super::steal::{steal_anything, take_of_scope, take_own, try_steal};
use crate::machine::current;
use crate::machine::observer::State;
use crate::machine::patience::{BEFORE_YIELDING, Waited};
use crate::machine::processor::Processor;
use crate::machine::wait::{observe_go_on, run_helping, take_back};
use crate::protocol::job::{Entry, Job, belongs_to};
use crate::protocol::latch::Latch;
use crate::protocol::lineage;
use crate::system::primitive::{pause, yield_now};
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

/// How long a waiting carrier looks for work before it sleeps.
const BEFORE_SLEEPING: Duration = Duration::from_micros(100);
/// For how long nothing must run in the pool before a waiting carrier runs other work. Long enough for a processor
/// between two jobs to find its next one.
const NOTHING_RUNS: Duration = Duration::from_micros(20);
/// How long a waiting carrier leaves the entries of deques to others while nobody comes. About what a thief needs.
const LEFT_ALONE: Duration = Duration::from_micros(20);
/// How many frames may be buried on one stack. At this limit, other work waits for [`STUCK`].
const DEEPEST: usize = 16;
/// The same limit while the carrier waits for another pool.
const DEEPEST_ELSEWHERE: usize = 64;
/// How long other work waits, while no processor begins another entry, before a waiting carrier takes it.
const STUCK: Duration = Duration::from_millis(100);
/// How many roots a carrier follows when it looks for descendants of what it waits for.
const ROOTS: usize = 32;
/// The first and the longest nap of a carrier that leaves other work to others.
const NAPS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(1600));

/// What one look around has shown.
enum Seen {
    /// This entry descends from what the carrier waits for.
    Descendant(Entry),
    /// Only the caller may run this entry: its part of a broadcast.
    Private(Entry),
    /// There is other work.
    Other,
    /// There is nothing.
    Nothing,
}

/// Waits until `latch` is set. A `root` of 0 means that the carrier waits for something outside its pool.
pub(super) fn wait(latch: &Latch, root: usize, job: Option<&Job>) -> Waited {
    let processor = current::held();
    let outer = processor.wait_for(root);
    let mut waiting = Waiting::new(processor, latch, root);
    let waited = loop {
        if latch.is_done() {
            break Waited::Done;
        }
        if job.is_some_and(take_back) {
            break Waited::TakenBack;
        }
        match waiting.look() {
            Seen::Descendant(entry) => waiting.run(entry),
            Seen::Private(entry) => waiting.bury(entry),
            Seen::Other => waiting.leave_to_others(),
            Seen::Nothing => waiting.rest(),
        }
    };
    waiting.stop_search();
    processor.wait_for(outer);
    processor.set_busy(true);
    match waited {
        Waited::Done => processor.be_generous(),
        Waited::TakenBack => observe_go_on(),
    }
    waited
}

/// A carrier in the middle of a wait.
struct Waiting<'a> {
    processor: &'static Processor,
    latch: &'a Latch,
    root: usize,
    since: Instant,
    /// Whether a fork woke the carrier, so that it counts as a searcher.
    searching: bool,
    /// Whether the carrier was woken for work that is not its own. From then on it naps. If it went back to the idle
    /// list, it would be woken again and again.
    naps: bool,
    nap: Duration,
    standstill: Standstill,
}

impl<'a> Waiting<'a> {
    fn new(processor: &'static Processor, latch: &'a Latch, root: usize) -> Waiting<'a> {
        Waiting {
            processor,
            latch,
            root,
            since: Instant::now(),
            searching: false,
            naps: false,
            nap: NAPS.0,
            standstill: Standstill::default(),
        }
    }

    /// Looks for work, first for descendants of what the carrier waits for.
    fn look(&self) -> Seen {
        let processor = self.processor;
        processor.answer();
        let mut other = false;
        let descends = |entry| self.root != 0 && belongs_to(entry, self.root);
        if !processor.deque.looks_empty() {
            match (self.root != 0).then(|| take_of_scope(processor, self.root)).flatten() {
                Some(entry) => return Seen::Descendant(entry),
                None => other = true,
            }
        }
        if let Some(entry) = processor.private.take(|entry| descends(entry) || self.may_bury()) {
            return match descends(entry) {
                true => Seen::Descendant(entry),
                false => Seen::Private(entry),
            };
        }
        other |= !processor.private.looks_empty();
        // Not earlier: while the processor has entries of its own, it counts as busy and answers thieves between them.
        processor.set_busy(false);
        if self.root != 0 {
            if let Some(entry) = self.help() {
                return Seen::Descendant(entry);
            }
        }
        let pool = processor.pool();
        other |= pool.has_queued() || processor.offer.stands();
        other |= pool.processors().iter().any(|one| !ptr::eq(one, processor) && one.has_something());
        if other { Seen::Other } else { Seen::Nothing }
    }

    /// Takes a descendant of what the carrier waits for.
    ///
    /// [`Waiting::helper`] guesses where one is, from words that change at any time. So after the entry is taken, this
    /// checks whether it [descends](lineage::descends) from the root. If not, the entry goes to the queue.
    fn help(&self) -> Option<Entry> {
        let processor = self.processor;
        let victim = self.helper()?;
        let root = victim.deque.root();
        if root == 0 {
            return None;
        }
        processor.stats.attempts.add(1);
        let entry = try_steal(processor, victim, root, || self.latch.is_done())?;
        processor.stole(entry, Some(victim));
        if !lineage::descends(entry, self.root) {
            processor.pool().requeue(entry);
            return None;
        }
        processor.stats.helps.add(1);
        Some(entry)
    }

    /// A processor that seems to be inside what the carrier waits for. This prefers one with entries; otherwise it returns
    /// one that is running.
    ///
    /// A processor is inside a root if it runs what the root names, if it runs something taken from a processor inside
    /// the root, or if everything on its stack descends from the root. What such a processor runs, and what it waits
    /// for, are further roots.
    fn helper(&self) -> Option<&'static Processor> {
        let all = self.processor.pool().processors();
        let mut roots = [0; ROOTS];
        roots[0] = self.root;
        let mut known = 1;
        let mut runs = None;
        let mut at = 0;
        while at < known {
            let root = roots[at];
            at += 1;
            for victim in all.iter().filter(|victim| !ptr::eq(*victim, self.processor)) {
                let theirs = victim.deque.root();
                if theirs == 0 || ![theirs, victim.origin(), victim.foot()].contains(&root) {
                    continue;
                }
                if !victim.deque.looks_empty() {
                    return Some(victim);
                }
                if victim.is_busy() {
                    runs = runs.or(Some(victim));
                }
                for further in [theirs, victim.waits_for()] {
                    if further != 0 && known < ROOTS && !roots[..known].contains(&further) {
                        roots[known] = further;
                        known += 1;
                    }
                }
            }
        }
        runs
    }

    /// Runs a descendant of what the carrier waits for.
    fn run(&mut self, entry: Entry) {
        self.stop_search();
        self.standstill = Standstill::default();
        self.nap = NAPS.0;
        self.naps = false;
        self.processor.turns.set(0);
        self.processor.beat.found();
        let enabled = run_helping(entry, self.latch);
        self.processor.beat.searches(&self.processor.pool().rhythm);
        self.since = Instant::now();
        debug_assert!(enabled.is_none(), "with fixed threads nobody is given a processor");
    }

    /// Runs any other entry. Our own frame is buried below it until it has ended.
    fn bury(&mut self, entry: Entry) {
        let processor = self.processor;
        processor.stats.in_place.add(1);
        processor.buried.set(processor.buried.get() + 1);
        let foot = processor.set_foot(0);
        self.run(entry);
        processor.set_foot(foot);
        processor.buried.set(processor.buried.get() - 1);
    }

    /// There is work, but it is not for this carrier unless nobody else can do it.
    fn leave_to_others(&mut self) {
        let pool = self.processor.pool();
        // Expose work in our own deque, so that others can take it without our help.
        if !self.processor.deque.looks_empty() {
            self.processor.deque.expose_all();
        }
        if pool.any_idle() && !pool.others_search(self.searching) {
            pool.wake(|_| None);
        }
        if (self.root == 0 && self.may_bury()) || self.standstill.is_reached(self.processor, self.searching) {
            if let Some(entry) = take_anything(self.processor) {
                return self.bury(entry);
            }
        }
        if self.standstill.is_left_alone(self.processor, self.searching) {
            if let Some(entry) = take_forked(self.processor) {
                return self.bury(entry);
            }
        }
        self.naps |= self.searching;
        self.stop_search();
        if self.since.elapsed() > BEFORE_SLEEPING { self.nap() } else { self.spin() }
    }

    /// Whether one more frame may be buried on the carrier's stack. The limit is higher while it waits for another
    /// pool: there is nothing to help with, and the other pool may wait for this one.
    fn may_bury(&self) -> bool {
        self.processor.buried.get() < if self.root == 0 { DEEPEST_ELSEWHERE } else { DEEPEST }
    }

    /// There is no work at all.
    fn rest(&mut self) {
        self.standstill = Standstill::default();
        if self.since.elapsed() <= BEFORE_SLEEPING {
            return self.spin();
        }
        if self.naps {
            self.stop_search();
            return self.nap();
        }
        let carrier = current::carrier();
        if !self.latch.park(NonNull::from(carrier)) {
            return;
        }
        let searching = std::mem::take(&mut self.searching);
        if self.processor.pool().doze(carrier, self.latch, searching) {
            self.searching = self.processor.called.take();
            self.since = Instant::now();
        }
    }

    fn spin(&self) {
        // The thread that runs what this carrier waits for may have no other core to run on.
        if self.since.elapsed() > BEFORE_YIELDING {
            yield_now()
        } else {
            pause(self.processor.pool().crowded())
        }
    }

    /// Sleeps for a while, or until the latch is set.
    fn nap(&mut self) {
        if self.latch.park(NonNull::from(current::carrier())) {
            self.processor.enter(State::Idle);
            std::thread::park_timeout(self.nap);
            self.processor.enter(State::Search);
            self.nap = (self.nap * 2).min(NAPS.1);
        }
    }

    /// Leaves the count of searchers, if the carrier is in it.
    fn stop_search(&mut self) {
        if std::mem::take(&mut self.searching) {
            self.processor.pool().found_work();
        }
    }
}

/// Any entry, first the processor's own part of a broadcast.
fn take_anything(processor: &Processor) -> Option<Entry> {
    processor.private.take(|_| true).or_else(|| processor.strategy().take_anything(processor))
}

/// An entry of a deque: the youngest of the processor's own, or the oldest of another's.
fn take_forked(processor: &Processor) -> Option<Entry> {
    take_own(processor).or_else(|| steal_anything(processor))
}

/// Tells a waiting carrier whether anybody else in the pool makes progress.
#[derive(Default)]
struct Standstill {
    /// Since when no processor has run anything.
    nothing_runs: Option<Instant>,
    /// Since when no processor has begun another entry, and how many entries had begun by then.
    nothing_begins: Option<(Instant, u64)>,
    /// Since when no processor rests or searches.
    nobody_comes: Option<Instant>,
}

impl Standstill {
    /// Whether nobody comes for the entries of deques, so that the carrier may take one. Call this in every round, like
    /// [`Standstill::is_reached`].
    fn is_left_alone(&mut self, processor: &Processor, searching: bool) -> bool {
        let pool = processor.pool();
        if processor.buried.get() >= DEEPEST || pool.any_idle() || pool.others_search(searching) {
            self.nobody_comes = None;
            return false;
        }
        let now = Instant::now();
        now.duration_since(*self.nobody_comes.get_or_insert(now)) >= LEFT_ALONE
    }

    /// Whether nobody else makes progress. Call this in every round while there is work that nobody takes.
    fn is_reached(&mut self, processor: &Processor, searching: bool) -> bool {
        let pool = processor.pool();
        let running = pool.processors().iter().any(|one| !ptr::eq(one, processor) && one.is_busy());
        let now = Instant::now();
        let nothing_runs = !running && !pool.any_idle() && !pool.others_search(searching);
        if nothing_runs && processor.buried.get() < DEEPEST {
            return now.duration_since(*self.nothing_runs.get_or_insert(now)) >= NOTHING_RUNS;
        }
        self.nothing_runs = None;
        let begun = pool.processors().iter().map(|one| one.begun.get()).sum();
        match self.nothing_begins {
            Some((since, before)) if before == begun => now.duration_since(since) >= STUCK,
            _ => {
                self.nothing_begins = Some((now, begun));
                false
            }
        }
    }
}
