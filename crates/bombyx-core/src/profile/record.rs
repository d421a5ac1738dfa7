//! What a chain leaves behind when the run is recorded: its forks, joins and spawns in serial order, with the lengths
//! of the strands between them. The dag file is made from this when the program ends ([`super::dag`]).
//!
//! An event is one number in LEB128, `ticks of the strand before it << 3 | kind`, followed by what its kind needs.
//! Nothing in it says where in the computation it is, so the log of a stolen half is simply appended at its join.
//! Spawned closures end in any order. The log of each is kept by its number, which the spawn names. If a strand
//! allocates, that is a separate event before the one that ends the strand.
//!
//! # Bounded memory
//!
//! When the logs of a process have grown to half of their limit, and again at every further sixteenth, the *grain*
//! doubles. A fork or scope with less work than the grain is replaced, when it ends, by that much more of the strand
//! around it. At the full limit, everything that ends is replaced like this, and closures spawned from then on become
//! part of the strand after their scope. What remains is what has not ended: as many events as there are live frames.

use super::heap;
use super::heap::Heap;
use super::sites::{Kind, SiteId};
use crate::system::primitive::lock;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex};

/// What happens at the end of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Event {
    /// A fork at the site that follows. Its first half begins.
    Fork,
    /// A scope at the site that follows, then its number. Its body begins.
    Scope,
    /// The first half, or the body, ends.
    Middle,
    /// The second half, or the scope, ends.
    Join,
    /// A spawn at the site that follows, then the numbers of the scope and of the closure.
    Spawn,
    /// Nothing: the strand goes on. The bytes that it allocates and frees follow.
    Heap,
}

impl Event {
    /// The event with these three bits.
    pub(crate) fn from_bits(bits: u64) -> Event {
        match bits {
            0 => Event::Fork,
            1 => Event::Scope,
            2 => Event::Middle,
            3 => Event::Join,
            4 => Event::Spawn,
            5 => Event::Heap,
            _ => unreachable!("the log holds what was written"),
        }
    }
}

/// The events of a chain. See the module text.
#[derive(Debug, Default)]
pub(crate) struct Log {
    recorder: Option<Arc<Recorder>>,
    pub(crate) bytes: Vec<u8>,
    /// Ticks of the strand that has not ended yet. If negative, the earlier strands were reported that much too long.
    pub(crate) pending: i64,
    /// What the same strand has done to the heap.
    pub(crate) pending_heap: Heap,
    /// What has happened to the heap since the youngest open fork or scope began, or since the log began. Without
    /// spawned closures.
    since: Heap,
    /// The closures spawned in it, and where the log says so.
    children: Vec<(usize, u64)>,
    /// The number of the scope that began last.
    scope: u64,
    /// The forks and scopes that have not ended.
    open: Vec<Mark>,
    /// How many of the bytes have been reported to the recorder.
    counted: usize,
}

/// Where a fork or scope begins in a log.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: usize,
    pending: i64,
    pending_heap: Heap,
    /// The work of the chain up to here.
    work: i64,
    /// [`Log::since`] up to here.
    since: Heap,
}

/// About what a kept log takes besides its bytes.
const LOG_SIZE: usize = 2 * size_of::<Log>();
/// About what a closure that is a single strand takes, with the event of its spawn.
const STRAND_SIZE: i64 = 64;
/// How much a log may grow before this is reported to the recorder.
const UNCOUNTED: usize = 4096;

impl Log {
    pub(crate) const OFF: Log = Log {
        recorder: None,
        bytes: Vec::new(),
        pending: 0,
        pending_heap: Heap::NONE,
        since: Heap::NONE,
        children: Vec::new(),
        scope: 0,
        open: Vec::new(),
        counted: 0,
    };

    pub(crate) fn new(recorder: &Arc<Recorder>) -> Log {
        Log { recorder: Some(Arc::clone(recorder)), ..Log::OFF }
    }

    /// Whether anything is recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.recorder.is_some()
    }

    /// A strand of the calling thread, or a part of one.
    pub(crate) fn strand(&mut self, ticks: i64) {
        if self.is_on() {
            self.other_strand(ticks, heap::take_strand());
        }
    }

    /// Like [`Log::strand`], if it is known otherwise what the strand allocated.
    pub(crate) fn other_strand(&mut self, ticks: i64, heap: Heap) {
        self.pending += ticks;
        self.pending_heap = self.pending_heap.then(heap);
        self.since = self.since.then(heap);
    }

    /// What the whole log has done to the heap.
    pub(crate) fn heap(&self) -> Heap {
        self.since
    }

    /// A fork or a scope, in a chain whose work is `work` so far.
    pub(crate) fn fork(&mut self, site: SiteId, kind: Kind, work: i64) {
        if !self.is_on() {
            return;
        }
        self.open.push(Mark {
            at: self.bytes.len(),
            pending: self.pending,
            pending_heap: self.pending_heap,
            work,
            since: std::mem::take(&mut self.since),
        });
        let scope =
            self.recorder.as_ref().filter(|_| kind == Kind::Scope).map(|recorder| recorder.next_number());
        self.event(if scope.is_some() { Event::Scope } else { Event::Fork });
        self.number(site.index() as u64);
        if let Some(scope) = scope {
            self.scope = scope;
            self.number(scope);
        }
    }

    /// The first half, or the body, of the fork or scope that began last has ended.
    pub(crate) fn middle(&mut self) {
        if self.is_on() {
            self.event(Event::Middle);
        }
    }

    /// Ends the fork or scope that began last, in a chain whose work is `work` so far.
    pub(crate) fn join(&mut self, work: i64) {
        if !self.is_on() {
            return;
        }
        let mark = self.open.pop().expect("what ends has begun");
        let grain = self.recorder.as_ref().map_or(i64::MIN, |recorder| recorder.grain.load(Relaxed));
        let work = work - mark.work;
        let inside = std::mem::replace(&mut self.since, mark.since);
        self.since = self.since.then(inside);
        match if work < grain { self.forget(mark) } else { None } {
            Some(spawned) => {
                self.since = self.since.then(spawned);
                self.pending = mark.pending + work;
                self.pending_heap = mark.pending_heap.then(inside).then(spawned);
            }
            None => self.event(Event::Join),
        }
        if self.bytes.len().abs_diff(self.counted) > UNCOUNTED {
            self.count();
        }
    }

    /// The number of the scope that began last.
    pub(crate) fn last_scope(&self) -> u64 {
        self.scope
    }

    pub(crate) fn spawn(&mut self, site: SiteId, scope: u64, child: u64) {
        if self.is_on() && child != 0 {
            self.children.push((self.bytes.len(), child));
            self.event(Event::Spawn);
            self.number(site.index() as u64);
            self.number(scope);
            self.number(child);
        }
    }

    /// Appends the log of what happened next, on another carrier.
    pub(crate) fn append(&mut self, other: Log) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.children.extend(other.children.iter().map(|&(at, child)| (base + at, child)));
        self.pending += other.pending;
        self.pending_heap = self.pending_heap.then(other.pending_heap);
        self.since = self.since.then(other.since);
        self.counted += other.counted;
    }

    fn event(&mut self, event: Event) {
        if self.pending_heap != Heap::NONE {
            let heap = std::mem::take(&mut self.pending_heap);
            self.number(Event::Heap as u64);
            self.number(heap.high as u64);
            self.number(heap.freed() as u64);
        }
        let ticks = u64::try_from(self.pending).unwrap_or(0);
        self.pending -= ticks as i64;
        self.number(ticks << 3 | event as u64);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Removes everything since `mark`, if all closures spawned there have ended. Returns what those did to the heap.
    fn forget(&mut self, mark: Mark) -> Option<Heap> {
        let first = self.children.partition_point(|&(at, _)| at < mark.at);
        let recorder = self.recorder.as_ref().expect("seen by the caller");
        let mut spawned = Heap::NONE;
        if first < self.children.len() {
            spawned = recorder.forget(&self.children[first..])?;
        }
        self.children.truncate(first);
        self.bytes.truncate(mark.at);
        Some(spawned)
    }

    /// Reports to the recorder how large the log is.
    #[cold]
    fn count(&mut self) {
        let grown = self.bytes.len() as i64 - self.counted as i64;
        self.counted = self.bytes.len();
        self.recorder.as_ref().expect("seen by the caller").grow(grown);
    }
}

/// What the logs of a process share.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Forks with less work than this, in ticks, are not kept.
    grain: AtomicI64,
    /// The first grain.
    smallest: i64,
    /// About how many bytes all logs take.
    size: AtomicI64,
    /// The size at which the grain doubles next.
    next: AtomicI64,
    /// The most that the logs may take.
    limit: i64,
    /// How many closures and scopes have been numbered.
    numbered: AtomicU64,
    ended: Mutex<Ended>,
}

#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// All runs so far, one after another.
    pub(crate) runs: Log,
    /// The logs of spawned closures, by their numbers.
    pub(crate) children: HashMap<u64, Log>,
    /// The closures that are a single strand: its ticks, and what it did to the heap.
    pub(crate) strands: HashMap<u64, (i64, Heap)>,
}

impl Recorder {
    /// A recorder that keeps to `limit` bytes. If it needs a grain, the grain is at least `smallest` ticks.
    pub(crate) fn new(limit: usize, smallest: i64) -> Recorder {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Recorder {
            grain: AtomicI64::new(i64::MIN),
            smallest,
            size: AtomicI64::new(0),
            next: AtomicI64::new(limit / 2),
            limit,
            numbered: AtomicU64::new(0),
            ended: Mutex::default(),
        }
    }

    /// The work that forks needed in the end to be kept, in ticks. `None` if all were kept.
    pub(crate) fn grain(&self) -> Option<i64> {
        Some(self.grain.load(Relaxed)).filter(|&grain| grain != i64::MIN)
    }

    /// A number for a closure that is spawned, or 0 if it should not be recorded.
    pub(crate) fn child(&self) -> u64 {
        if self.grain.load(Relaxed) == i64::MAX { 0 } else { self.next_number() }
    }

    /// A number for a closure or a scope.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbered.fetch_add(1, Relaxed) + 1
    }

    /// The closure with this number, whose work is `work`, has ended.
    pub(crate) fn child_ended(&self, child: u64, mut log: Log, work: i64) {
        const START: Mark = Mark { at: 0, pending: 0, pending_heap: Heap::NONE, work: 0, since: Heap::NONE };
        let counted = log.counted;
        let short = work < self.grain.load(Relaxed);
        if let Some(spawned) = short.then(|| log.forget(START)).flatten() {
            log.pending = work;
            log.since = log.since.then(spawned);
            log.pending_heap = log.since;
        }
        if log.bytes.is_empty() {
            self.grow(STRAND_SIZE - counted as i64);
            lock(&self.ended).strands.insert(child, (log.pending, log.pending_heap));
        } else {
            log.bytes.shrink_to_fit();
            log.counted = log.bytes.len() + LOG_SIZE;
            self.grow(log.counted as i64 - counted as i64);
            lock(&self.ended).children.insert(child, log);
        }
    }

    /// A run has ended.
    pub(crate) fn run_ended(&self, log: Log) {
        let mut ended = lock(&self.ended);
        if ended.runs.bytes.is_empty() && ended.runs.children.is_empty() {
            let (pending, heap) = (ended.runs.pending, ended.runs.pending_heap);
            ended.runs = log;
            ended.runs.pending += pending;
            ended.runs.pending_heap = heap.then(ended.runs.pending_heap);
        } else {
            ended.runs.append(log);
        }
    }

    /// Calls `f` with what has ended.
    pub(crate) fn with_ended<R>(&self, f: impl FnOnce(&Ended) -> R) -> R {
        f(&lock(&self.ended))
    }

    /// Forgets these closures and everything that they spawned, if all have ended. Returns what they did to the heap,
    /// as if one after another.
    fn forget(&self, children: &[(usize, u64)]) -> Option<Heap> {
        let mut ended = lock(&self.ended);
        let mut all: Vec<u64> = children.iter().map(|&(_, child)| child).collect();
        let mut at = 0;
        while let Some(child) = all.get(at) {
            match ended.children.get(child) {
                Some(log) => all.extend(log.children.iter().map(|&(_, child)| child)),
                None if ended.strands.contains_key(child) => {}
                None => return None,
            }
            at += 1;
        }
        let (mut freed, mut allocated) = (0, Heap::NONE);
        for child in &all {
            let (bytes, heap) = match ended.children.remove(child) {
                Some(log) => (log.counted as i64, log.since),
                None => ended.strands.remove(child).map_or((0, Heap::NONE), |(_, heap)| (STRAND_SIZE, heap)),
            };
            freed += bytes;
            allocated = allocated.then(heap);
        }
        drop(ended);
        self.grow(-freed);
        Some(allocated)
    }

    /// The logs have grown by this many bytes.
    fn grow(&self, bytes: i64) {
        let size = self.size.fetch_add(bytes, Relaxed) + bytes;
        let next = self.next.load(Relaxed);
        if size < next {
            return;
        }
        if self.next.compare_exchange(next, next + self.limit / 16, Relaxed, Relaxed).is_err() {
            return;
        }
        let grain = self.grain.load(Relaxed);
        let coarser = match grain {
            _ if size >= self.limit => i64::MAX,
            i64::MIN => self.smallest,
            _ => grain.saturating_mul(2),
        };
        self.grain.store(coarser, Relaxed);
    }
}
