//! What the processors of a pool share: the idle processors, the spare carriers, and the queue of entries from
//! outside.
//!
//! A processor that finds nothing is *retired*: it rests in the idle list and its carrier becomes a spare. So an
//! idle pool is a list of processors and a list of parked threads, and waking is pairing one of each. How no
//! wake-up is lost is told in [`crate::protocol::sleep`]. Entries from outside are queued, and sleepers found, under the same
//! lock, so they need no such care.
//!
//! **Everyone gets a turn.** The queue is first in, first out, for calls from outside and for carriers that are ready alike. A
//! processor looks into it at least once in [`crate::machine::wait::TURNS`] entries that it runs, however many it finds in its deque.
//! So what is at place k of the queue begins after at most k · `TURNS` entries of each processor. Once in
//! [`crate::machine::wait::OWN_TURNS`] such turns, if the queue is empty, it takes the oldest entry of its deque, so that this is no place
//! to wait for ever, either. (With fixed threads only where no carrier waits: a wait runs nothing but descendants.) An entry
//! that never ends is outside of any bound: it keeps its processor.

use crate::api::pool::Config;
use crate::machine::current;
use crate::machine::fixed::Threads;
use crate::machine::hand_over::{Heir, Next, go_on, hand_over, release};
use crate::machine::handlers::Handlers;
use crate::machine::ledger::Ledger;
use crate::machine::new_carrier::NewCarrier;
use crate::machine::processor::Processor;
use crate::machine::stats::Stats;
use crate::profile::{self, State};
use crate::protocol::carrier::Carrier;
use crate::protocol::job::{Entry, Kind, Place};
use crate::protocol::mailbox::Mailbox;
use crate::protocol::sleep::Sleepers;
use crate::system::affinity;
use crate::system::barrier;
use crate::system::guard::{guarded, tripwire};
use crate::system::primitive::{AtomicUsize, Mutex, MutexGuard, lock};
use crate::system::process::Generation;
use std::collections::VecDeque;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// See the module text.
pub(crate) struct PoolCore {
    this: Weak<PoolCore>,
    /// That of the process which built the pool.
    generation: Generation,
    pub(crate) config: Config,
    processors: Box<[Processor]>,
    pub(crate) sleepers: Sleepers,
    pub(crate) ledger: Ledger,
    /// `shared.queue.len()`, for a look without the lock.
    queued: AtomicUsize,
    pub(crate) shared: Mutex<Shared>,
    /// The carriers, if they hold one processor each for life ([`crate::machine::fixed`]).
    pub(crate) seats: Box<[Arc<Carrier>]>,
    /// Spawned closures that belong to no scope and have not ended; dropping the pool waits for them.
    detached: std::sync::Mutex<Detached>,
    detached_ended: Condvar,
}

/// How long a spare beyond one for each processor waits to be needed before it ends.
const SURPLUS: Duration = Duration::from_secs(5);
/// How long the system is not asked for a thread after it has refused one.
const AFTER_REFUSAL: Duration = Duration::from_millis(10);

const CLOSED: &str = "the pool has been closed and everything in it has ended";

/// Spawned closures that belong to no scope, and guests, which have not ended.
#[derive(Default)]
struct Detached {
    count: usize,
    /// The carriers end with the last of them.
    closed: bool,
}

/// What the lock of the pool protects.
pub(crate) struct Shared {
    /// Processors that nobody holds.
    pub(crate) idle: Vec<NonNull<Processor>>,
    /// With fixed threads: the processors of carriers that sleep in the middle of a wait.
    pub(crate) waiting: Vec<NonNull<Processor>>,
    spares: Vec<NonNull<Carrier>>,
    queue: VecDeque<Entry>,
    handles: Vec<JoinHandle<()>>,
    carriers: usize,
    peak_carriers: usize,
    /// When the system last refused to start a thread.
    refused_at: Option<Instant>,
    /// How many carriers there have been, which numbers them.
    numbered: usize,
    /// A processor stayed idle for want of a carrier.
    starved: bool,
    stopping: bool,
}

impl Shared {
    /// A processor that rests, out of the list, and whether its carrier waits for something.
    fn rested(&mut self) -> Option<(NonNull<Processor>, bool)> {
        let idle = self.idle.pop().map(|processor| (processor, false));
        idle.or_else(|| self.waiting.pop().map(|processor| (processor, true)))
    }

    /// The first carrier in the queue, and where it is.
    fn ready_carrier(&self) -> Option<(usize, NonNull<Carrier>)> {
        self.queue.iter().enumerate().find_map(|(at, entry)| match entry.kind() {
            Kind::Carrier(ready) => Some((at, ready)),
            _ => None,
        })
    }

    /// Whether it is too early to ask the system for a thread again: every fork that wants to wake somebody would.
    fn was_refused_lately(&self) -> bool {
        self.refused_at.is_some_and(|at| at.elapsed() < AFTER_REFUSAL)
    }

    fn count_carrier(&mut self) {
        self.carriers += 1;
        self.peak_carriers = self.peak_carriers.max(self.carriers);
    }
}

// SAFETY: the pointers name processors, which the pool owns, and carriers, which are alive while they are listed; all are
// used under the lock or after being taken out under it.
unsafe impl Send for Shared {}

/// The pool that something is part of, which outlive it.
pub(crate) struct PoolRef(*const PoolCore);

impl PoolRef {
    /// # Safety
    /// The pool outlives the value, and are not touched by it before they are built.
    pub(crate) unsafe fn new(pool: *const PoolCore) -> PoolRef {
        PoolRef(pool)
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> &PoolCore {
        // SAFETY: as promised to `new`.
        unsafe { &*self.0 }
    }

    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *const PoolCore {
        self.0
    }
}

// SAFETY: as good as a reference to the pool, which can be sent and shared.
unsafe impl Send for PoolRef {}
// SAFETY: as above.
unsafe impl Sync for PoolRef {}

impl PoolCore {
    /// The pool of a new pool, all processors idle, as many carriers started.
    pub(crate) fn new(config: Config) -> io::Result<Arc<PoolCore>> {
        let pool = PoolCore::without_carriers(config);
        pool.start_carriers().map(|()| Arc::clone(&pool)).inspect_err(|_| pool.shut_down())
    }

    /// The same, with fewer carriers, or none, if the system starts no more.
    pub(crate) fn with_what_can_be_had(config: Config) -> Arc<PoolCore> {
        let pool = PoolCore::without_carriers(config);
        // What is missing is started when it is needed, or the callers lend their own threads.
        let _ = pool.start_carriers();
        pool
    }

    pub(crate) fn without_carriers(config: Config) -> Arc<PoolCore> {
        Arc::new_cyclic(|this| {
            let processors: Box<[Processor]> = (0..config.processors)
                // SAFETY: the pool owns the processors.
                .map(|index| Processor::new(index, &config, unsafe { PoolRef::new(this.as_ptr()) }))
                .collect();
            let seats: Box<[_]> = match config.threads {
                Threads::Fixed => processors.iter().map(|_| Arc::new(Carrier::to_be_started())).collect(),
                Threads::Moving => Box::default(),
            };
            // A fixed carrier lists its own processor when it has started and found nothing.
            let idle: Vec<_> = match config.threads {
                Threads::Fixed => Vec::new(),
                Threads::Moving => processors.iter().rev().map(NonNull::from).collect(),
            };
            let resting = idle.len();
            let shared = Shared {
                idle,
                waiting: Vec::new(),
                spares: Vec::new(),
                queue: VecDeque::new(),
                handles: Vec::new(),
                carriers: 0,
                peak_carriers: 0,
                refused_at: None,
                numbered: 0,
                starved: false,
                stopping: false,
            };
            if config.metered {
                crate::api::alloc::set_metering(true);
            }
            for processor in &processors {
                // The first fork looks which way this pool goes.
                processor.deque.poison();
                processor.meter.reset(config.strategy.quota());
            }
            PoolCore {
                this: this.clone(),
                generation: Generation::begin(),
                ledger: Ledger::default(),
                sleepers: Sleepers::new(resting),
                seats,
                processors,
                config,
                queued: AtomicUsize::new(0),
                shared: Mutex::new(shared),
                detached: std::sync::Mutex::default(),
                detached_ended: Condvar::new(),
            }
        })
        .profiled()
    }

    /// Tells the profiler, if there is one, that the pool is there.
    fn profiled(self: Arc<PoolCore>) -> Arc<PoolCore> {
        if let Some(profiler) = &self.config.profiler {
            profiler.add_pool(&self);
        }
        self
    }

    fn start_carriers(&self) -> io::Result<()> {
        for _ in 0..self.processors.len() {
            let mut shared = lock(&self.shared);
            let carrier = self.start_carrier(&mut shared)?;
            if !self.has_fixed_threads() {
                shared.spares.push(carrier);
            }
        }
        self.start_watcher()
    }

    /// Starts the thread that decides on muggings, in pools that have one.
    pub(crate) fn start_watcher(&self) -> io::Result<()> {
        self.config.strategy.cpus().start(self.arc())
    }

    /// Makes the calling thread hold processor 0 of this pool, a new one. Nobody may free the pool before it is unseated.
    pub(crate) fn seat_current_thread(&self) {
        lock(&self.shared).numbered = 1;
        let first = match self.seats.first() {
            Some(carrier) => {
                carrier.begin(&std::thread::current());
                current::set_carrier(Some(NonNull::from(&**carrier)));
                NonNull::from(&self.processors[0])
            }
            None => self.borrow_processor().expect("the processors of a new pool rest"),
        };
        go_on(first);
    }

    /// Takes the processor back that the calling thread was seated on.
    pub(crate) fn unseat_current_thread(&self) {
        if self.has_fixed_threads() {
            release();
            current::set_carrier(None);
        } else {
            // SAFETY: no carrier is named.
            unsafe { hand_over(Heir::Nobody, Next::Leaves) }.stay_without();
        }
    }

    /// The pool as a shared pointer. For callers that know them to be in use.
    pub(crate) fn arc(&self) -> Arc<PoolCore> {
        self.this.upgrade().expect("pool in use are shared")
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.config.handlers
    }

    pub(crate) fn processors(&self) -> &[Processor] {
        &self.processors
    }

    // ---- Searchers ------------------------------------------------------------------------------------

    /// Counts `processor`, whose holder is about to search, as a searcher.
    pub(crate) fn start_search(&self, processor: &Processor) {
        self.config.strategy.start_search(processor);
    }

    /// Whether so many search already that one more would only disturb.
    pub(crate) fn enough_searchers(&self) -> bool {
        self.config.strategy.searchers(self) > self.config.max_searchers
    }

    /// A searcher found work. If it was the last one and others rest, the duty to look out is passed on.
    pub(crate) fn found_work(&self) {
        if !self.sleepers.stop_search() {
            return;
        }
        // Pairs with the fence in `enqueue`.
        barrier::full();
        if self.sleepers.any_resting() && (self.work_visible() || self.look_once_more()) {
            self.wake(|_| None);
        }
    }

    /// Whether there seems to be something to take anywhere.
    pub(crate) fn work_visible(&self) -> bool {
        self.has_queued()
            || self.config.strategy.looks_full()
            || self.processors.iter().any(Processor::has_something)
    }

    pub(crate) fn look_once_more(&self) -> bool {
        self.sleepers.look_once_more(
            self.processors.iter().map(|processor| &processor.deque),
            || self.settle_barrier(),
            || self.work_visible(),
        )
    }

    /// The system refuses the heavy barrier: waits until what others have stored can be seen. Processors that rest cease to rely
    /// on it; the others do when they attend.
    #[cold]
    pub(crate) fn settle_barrier(&self) {
        let shared = lock(&self.shared);
        for processor in shared.idle.iter().chain(&shared.waiting) {
            // SAFETY: the pool owns the processor. It is in the list, so it is the caller's while the lock is held; and it
            // has no entry that a pop could take, as these are those of the carrier that holds it.
            unsafe { processor.as_ref() }.deque.side.cease();
        }
        drop(shared);
        barrier::settle();
    }

    // ---- Idle processors and spare carriers -----------------------------------------------------------

    /// Puts a processor that has nothing to do into the idle list, and its carrier among the spares. The
    /// carrier must have been a searcher. `leaving` is the caller's carrier if it sleeps next: whoever must be woken takes
    /// its place.
    ///
    /// The caller must not touch the processor any more.
    pub(crate) fn retire(
        &self,
        processor: NonNull<Processor>,
        carrier: Option<NonNull<Carrier>>,
        leaving: Option<&Carrier>,
    ) {
        tripwire("retire");
        {
            // SAFETY: the pool owns the processor, and it is the caller's until it is in the list.
            let processor = unsafe { processor.as_ref() };
            processor.stats.sleeps.add(1);
            processor.leave(leaving.filter(|_| !self.config.crowded).and_then(|_| affinity::here()));
            self.config.strategy.retiring(processor);
            profile::enter(processor, State::Idle);
        }
        let (all_idle, starved) = {
            let mut shared = lock(&self.shared);
            // A fixed carrier that is told to stop keeps its processor.
            if !(self.has_fixed_threads() && shared.stopping) {
                shared.idle.push(processor);
            }
            self.count_resting(&shared);
            if let Some(carrier) = carrier {
                self.list_spare(&mut shared, carrier);
            }
            // Under the lock, so that whoever queues an entry sees a searcher that will see the entry, or none.
            if carrier.is_some() {
                self.config.strategy.give_up_search(self);
            }
            let starved = carrier.is_some() && std::mem::take(&mut shared.starved);
            (shared.idle.len() + shared.waiting.len() == self.processors.len(), starved)
        };
        // SAFETY: the pool owns the processor, and this field is for everyone.
        if starved || !unsafe { &(*processor.as_ptr()).private }.looks_empty() {
            self.wake_private();
        }
        if self.config.strategy.look_before_rest(self, all_idle) || starved {
            self.wake_for(leaving, |_| None);
        }
    }

    /// Says how many processors rest. Under the lock.
    pub(crate) fn count_resting(&self, shared: &Shared) {
        self.sleepers.set_resting(shared.idle.len() + shared.waiting.len());
    }

    /// Gives an idle processor to a spare carrier, if there is one, with an entry for the way: `gift` is told
    /// the mailbox where it will lie. Carriers that wait for a processor come first: they need no spare to bring
    /// it to them, and there may be none.
    ///
    /// False if a processor rests and no carrier can be had for it.
    #[cold]
    pub(crate) fn wake(&self, gift: impl FnOnce(&Mailbox) -> Option<Entry>) -> bool {
        self.wake_for(None, gift)
    }

    /// The same by a carrier that is leaving, if any.
    fn wake_for(&self, leaving: Option<&Carrier>, gift: impl FnOnce(&Mailbox) -> Option<Entry>) -> bool {
        let mut gift = Some(gift);
        let mut gift = move |mailbox: &Mailbox| gift.take().and_then(|gift| gift(mailbox));
        let give = |carrier, processor| {
            // SAFETY: the pool owns the processor, which is out of their list, and the carrier came out of the queue or the
            // list of spares.
            unsafe {
                match leaving {
                    Some(leaving) => self.pass_on(leaving, carrier, processor),
                    None => Carrier::give(carrier, processor, self.spot_for(processor.as_ref())),
                }
            }
        };
        loop {
            let mut shared = lock(&self.shared);
            let Some((processor, waits)) = shared.rested() else { return true };
            self.count_resting(&shared);
            // The queue is served in the order of arrival. Where no carrier can be had for its front, a ready carrier behind
            // that, which needs no other, goes first.
            let mut ready = shared.ready_carrier().filter(|&(at, _)| at == 0);
            let carrier = match ready {
                Some(_) => None,
                None => self.carrier_for(&mut shared, processor).ok(),
            };
            if carrier.is_none() {
                ready = shared.ready_carrier();
            }
            if let Some((at, ready)) = ready {
                shared.queue.remove(at);
                self.queued.store(shared.queue.len(), Relaxed);
                // Not under the lock: a receiver that takes the caller's place runs before it.
                drop(shared);
                give(ready, processor);
                continue;
            }
            let Some(carrier) = carrier else {
                shared.idle.push(processor);
                self.count_resting(&shared);
                shared.starved = true;
                return false;
            };
            drop(shared);
            // SAFETY: the pool owns the processor; it is out of the list, so it is ours to give.
            let woken = unsafe { processor.as_ref() };
            self.start_search(woken);
            woken.stats.wakes.add(1);
            woken.deque.poison();
            woken.called.set(waits);
            // A carrier that waits looks first for a part of what it waits for.
            if !waits && let Some(entry) = gift(&woken.post.mailbox) {
                woken.post.mailbox.deliver(Some(entry));
            }
            give(carrier, processor);
            return true;
        }
    }

    /// Gives every processor that rests and has private entries to a carrier ([`crate::api::dropin::broadcast`]).
    pub(crate) fn wake_private(&self) {
        tripwire("wake_private");
        loop {
            let mut shared = lock(&self.shared);
            // SAFETY: the pool owns the processors in the lists.
            let private =
                |processor: &NonNull<Processor>| unsafe { !(*processor.as_ptr()).private.looks_empty() };
            let idle = shared.idle.iter().position(private);
            let waiting = shared.waiting.iter().position(private);
            let (processor, waits) = match (idle, waiting) {
                (Some(at), _) => (shared.idle[at], false),
                (None, Some(at)) => (shared.waiting[at], true),
                (None, None) => break,
            };
            let Ok(carrier) = self.carrier_for(&mut shared, processor) else {
                shared.starved = true;
                return;
            };
            shared.idle.retain(|&idle| idle != processor);
            shared.waiting.retain(|&waiting| waiting != processor);
            self.count_resting(&shared);
            drop(shared);
            // SAFETY: the pool owns the processor; it is out of the lists, so it is ours to give. Its carrier, or a
            // spare, waits for it.
            unsafe {
                self.start_search(processor.as_ref());
                processor.as_ref().stats.wakes.add(1);
                processor.as_ref().deque.poison();
                processor.as_ref().called.set(waits);
                Carrier::give(carrier, processor, self.spot_for(processor.as_ref()));
            }
        }
        // A fixed carrier may nap instead.
        for (carrier, processor) in self.seats.iter().zip(&self.processors) {
            if !processor.private.looks_empty() {
                carrier.nudge();
            }
        }
    }

    /// Sees to it that a carrier of this pool that has become ready gets a processor: an idle one, or the next.
    pub(crate) fn readmit(&self, carrier: NonNull<Carrier>) {
        if self.has_fixed_threads() {
            return self.rouse(carrier);
        }
        match self.idle_or_queue(carrier) {
            // SAFETY: the caller found the carrier waiting, and the processor came out of the list.
            Some(processor) => unsafe {
                Carrier::give(carrier, processor, self.spot_for(processor.as_ref()));
            },
            None => self.wake_if_resting(),
        }
    }

    /// A processor for a carrier that is ready: an idle one if nobody waits for it, else the carrier is queued behind those
    /// that wait already.
    fn idle_or_queue(&self, carrier: NonNull<Carrier>) -> Option<NonNull<Processor>> {
        let mut shared = lock(&self.shared);
        if shared.queue.is_empty()
            && let Some(processor) = self.idle_processor(&mut shared)
        {
            return Some(processor);
        }
        shared.queue.push_back(Entry::carrier(carrier));
        self.queued.store(shared.queue.len(), Relaxed);
        None
    }

    /// Sees to it that a processor that rests serves the queue.
    fn wake_if_resting(&self) {
        if self.sleepers.any_resting() {
            self.wake(|_| None);
        }
    }

    /// An idle processor for the calling thread itself.
    pub(crate) fn borrow_processor(&self) -> Option<NonNull<Processor>> {
        if !self.sleepers.any_resting() {
            return None;
        }
        self.idle_processor(&mut lock(&self.shared))
    }

    /// A processor that rests although there is work, for a thread that has waited for a carrier in vain. One that has entries
    /// which nobody else may take goes first.
    pub(crate) fn starved_processor(&self) -> Option<NonNull<Processor>> {
        let mut shared = lock(&self.shared);
        (bring_forward(&mut shared) || self.work_visible())
            .then(|| self.idle_processor(&mut shared))
            .flatten()
    }

    /// A processor that rests although it has entries which nobody else may take.
    pub(crate) fn starved_of_its_own(&self) -> Option<NonNull<Processor>> {
        if !self.sleepers.any_resting() {
            return None;
        }
        let mut shared = lock(&self.shared);
        bring_forward(&mut shared).then(|| self.idle_processor(&mut shared)).flatten()
    }

    /// Takes a processor out of the idle list, to be given to a carrier that will not search first.
    fn idle_processor(&self, shared: &mut MutexGuard<'_, Shared>) -> Option<NonNull<Processor>> {
        let processor = shared.idle.pop()?;
        self.count_resting(shared);
        // SAFETY: the pool owns the processor. Its first fork must look for sleepers.
        unsafe { processor.as_ref() }.deque.poison();
        Some(processor)
    }

    /// A processor for a carrier that comes back from blocking: an idle one, or, when it is given one.
    pub(crate) fn acquire(&self, carrier: &Carrier) -> NonNull<Processor> {
        tripwire("acquire");
        match self.idle_or_queue(NonNull::from(carrier)) {
            Some(processor) => return processor,
            None => self.wake_if_resting(),
        }
        carrier.receive().unwrap_or_else(|| unreachable!("only spares are stopped"))
    }

    /// Whether there would be a carrier for a processor that is given up now.
    pub(crate) fn has_reserve(&self) -> bool {
        let shared = lock(&self.shared);
        !self.has_fixed_threads() && !shared.spares.is_empty()
            || (shared.carriers < self.config.max_carriers
                && !shared.stopping
                && !shared.was_refused_lately())
    }

    /// A spare carrier, started if need be. None if the limit is reached or the system refuses.
    pub(crate) fn spare(&self) -> Option<NonNull<Carrier>> {
        if self.has_fixed_threads() {
            return None;
        }
        self.any_spare(&mut lock(&self.shared)).ok()
    }

    /// Puts the calling (or an unused) carrier among the spares.
    pub(crate) fn add_spare(&self, carrier: NonNull<Carrier>) {
        let mut shared = lock(&self.shared);
        self.list_spare(&mut shared, carrier);
        if std::mem::take(&mut shared.starved) {
            drop(shared);
            self.wake_private();
            self.wake(|_| None);
        }
    }

    fn list_spare(&self, shared: &mut MutexGuard<'_, Shared>, carrier: NonNull<Carrier>) {
        if shared.stopping {
            // SAFETY: a carrier that becomes a spare waits in no other place.
            unsafe { Carrier::stop(carrier) };
        } else if !self.has_fixed_threads() {
            shared.spares.push(carrier);
        }
    }

    /// A carrier for a processor that rests: the one that holds it for life, or a spare.
    fn carrier_for(
        &self,
        shared: &mut MutexGuard<'_, Shared>,
        processor: NonNull<Processor>,
    ) -> io::Result<NonNull<Carrier>> {
        // SAFETY: the pool owns the processor.
        match self.seated(unsafe { processor.as_ref() }) {
            Some(carrier) => Ok(NonNull::from(carrier)),
            None => self.any_spare(shared),
        }
    }

    fn any_spare(&self, shared: &mut MutexGuard<'_, Shared>) -> io::Result<NonNull<Carrier>> {
        match shared.spares.pop() {
            Some(carrier) => Ok(carrier),
            None if shared.was_refused_lately() => {
                Err(io::Error::other("the system has just refused a thread"))
            }
            None => self.start_carrier(shared),
        }
    }

    /// Starts a carrier, which waits to be given a processor.
    fn start_carrier(&self, shared: &mut MutexGuard<'_, Shared>) -> io::Result<NonNull<Carrier>> {
        tripwire("start_carrier");
        let new = self.number_carrier(shared)?;
        let carrier = Arc::clone(new.carrier());
        // The thread keeps its `Arc`, so the pointer is good until the carrier has been stopped.
        let pointer = NonNull::from(&*carrier);
        let spawned = new.thread().spawn(move || new.run_listed());
        let handle = spawned.inspect_err(|_| shared.refused_at = Some(Instant::now()))?;
        carrier.started(handle.thread());
        shared.handles.push(handle);
        shared.count_carrier();
        Ok(pointer)
    }

    /// A carrier for somebody else to start. It names itself a spare when it runs.
    pub(crate) fn new_carrier(&self) -> io::Result<NewCarrier> {
        let mut shared = lock(&self.shared);
        self.number_carrier(&mut shared).inspect(|_| shared.count_carrier())
    }

    fn number_carrier(&self, shared: &mut MutexGuard<'_, Shared>) -> io::Result<NewCarrier> {
        if shared.stopping {
            return Err(io::Error::other("the pool is being dropped"));
        }
        if shared.carriers >= self.config.max_carriers {
            return Err(io::Error::other(format!(
                "the limit of {} carriers is reached",
                self.config.max_carriers
            )));
        }
        let index = shared.numbered % self.processors.len();
        let name = self.config.names.as_ref().and_then(|names| {
            // The lock is shared with whoever gives the names, and may be poisoned by a panic there.
            let names = names.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            names.get(index).filter(|name| !name.contains('\0')).cloned()
        });
        shared.numbered += 1;
        let carrier = match self.seats.get(index) {
            Some(seat) => Arc::clone(seat),
            None => Arc::new(Carrier::to_be_started()),
        };
        Ok(NewCarrier::new(self.arc(), carrier, index, name))
    }

    /// A carrier has ended.
    pub(crate) fn carrier_ended(&self) {
        let mut shared = lock(&self.shared);
        shared.carriers -= 1;
        if !shared.stopping {
            // A surplus spare that has gone. Nobody needs to wait for its thread, which is about to end.
            let here = std::thread::current().id();
            shared.handles.retain(|handle| handle.thread().id() != here);
        }
    }

    /// Waits, as a spare, to be given a processor. None: to end, because the pool does, or because there have been more spares
    /// than processors for [`SURPLUS`]: a burst of blocking calls needed them, and is over.
    pub(crate) fn receive(&self, carrier: &Carrier) -> Option<NonNull<Processor>> {
        loop {
            let processors = self.processors.len();
            if lock(&self.shared).carriers <= processors {
                return carrier.receive();
            }
            if let Some(received) = carrier.receive_within(SURPLUS) {
                return received;
            }
            let mut shared = lock(&self.shared);
            let this = NonNull::from(carrier);
            let listed = shared.spares.iter().position(|&spare| spare == this);
            if let Some(at) = listed.filter(|_| shared.spares.len() > processors) {
                shared.spares.remove(at);
                return None;
            }
        }
    }

    // ---- The queue ------------------------------------------------------------------------------------

    /// Pushes an entry on the deque of the calling thread's processor, if that is one of this pool, else queues it.
    ///
    /// Inside of something that descends from none of `roots`, the entry is no part of that: whoever waits for it
    /// must not help with what is in the deque from now on.
    #[inline]
    pub(crate) fn submit(&self, entry: Entry, roots: &[usize]) {
        let Some(processor) = current::processor().filter(|processor| std::ptr::eq(processor.pool(), self))
        else {
            return self.inject(entry);
        };
        processor.submit_under(entry, roots);
    }

    /// Queues an entry from outside and sees to it that somebody looks.
    pub(crate) fn inject(&self, entry: Entry) {
        guarded(|| {
            tripwire("inject");
            let searched = self.enqueue(|queue| queue.push_back(entry));
            if !searched {
                self.wake(|_| None);
            }
        });
    }

    /// Adds to the queue. True if somebody searches: a searcher looks into the queue before it rests, and when it finds
    /// something else it wakes another for what is left there.
    pub(crate) fn enqueue(&self, add: impl FnOnce(&mut VecDeque<Entry>)) -> bool {
        let mut shared = lock(&self.shared);
        add(&mut shared.queue);
        self.queued.store(shared.queue.len(), Relaxed);
        // Pairs with the fence in `found_work`: a searcher that leaves the count there sees the entry, or is not seen here.
        // A searcher that rests leaves the count under this lock, and looks afterwards.
        barrier::full();
        self.sleepers.searching() > 0
    }

    /// Whether the queue seems to hold anything.
    pub(crate) fn has_queued(&self) -> bool {
        self.queued.load(Relaxed) > 0
    }

    /// The oldest entry of the queue, if that is a ready carrier.
    pub(crate) fn take_queued_carrier(&self) -> Option<Entry> {
        if !self.has_queued() {
            return None;
        }
        let mut shared = lock(&self.shared);
        let Some(Kind::Carrier(_)) = shared.queue.front().map(|entry| entry.kind()) else { return None };
        let entry = shared.queue.pop_front();
        self.queued.store(shared.queue.len(), Relaxed);
        entry
    }

    /// The oldest entry of the queue.
    pub(crate) fn take_queued(&self) -> Option<Entry> {
        if !self.has_queued() {
            return None;
        }
        let mut shared = lock(&self.shared);
        let entry = shared.queue.pop_front();
        self.queued.store(shared.queue.len(), Relaxed);
        entry.inspect(|entry| entry.taken(Place::Nowhere))
    }

    /// Withdraws the entry of a join from the queue. False if it is gone.
    #[cold]
    #[inline(never)]
    pub(crate) fn withdraw(&self, entry: Entry) -> bool {
        let mut shared = lock(&self.shared);
        let Some(at) = shared.queue.iter().position(|&queued| queued == entry) else { return false };
        shared.queue.remove(at);
        self.queued.store(shared.queue.len(), Relaxed);
        true
    }

    // ---- Detached work and the end --------------------------------------------------------------------

    /// A thread of the papers was forked or spawned.
    #[inline]
    pub(crate) fn thread_created(&self) {
        if self.config.counts.is_some() {
            self.ledger.threads.add(1);
        }
    }

    /// A spawned closure has ended.
    #[inline]
    pub(crate) fn thread_ended(&self) {
        if self.config.counts.is_some() {
            self.ledger.threads.add(-1);
        }
    }

    /// Counts somebody whom the end of the pool waits for.
    ///
    /// # Panics
    /// If the pool has ended.
    pub(crate) fn detached_started(&self) {
        let open = {
            let mut detached = lock(&self.detached);
            let open = detached.count > 0 || !detached.closed;
            detached.count += usize::from(open);
            open
        };
        assert!(open, "{CLOSED}");
    }

    pub(crate) fn detached_ended(&self) {
        let mut detached = lock(&self.detached);
        detached.count -= 1;
        if detached.count == 0 {
            self.detached_ended.notify_all();
            if detached.closed {
                drop(detached);
                self.stop();
            }
        }
    }

    /// Stops the carriers when the last detached closure has ended, now or later. Does not wait.
    pub(crate) fn close(&self) {
        let mut detached = lock(&self.detached);
        detached.closed = true;
        if detached.count == 0 {
            drop(detached);
            self.stop();
        }
    }

    /// Waits for detached work, then stops and joins all carriers. Not to be called by one of them.
    pub(crate) fn shut_down(&self) {
        let mut detached = lock(&self.detached);
        while detached.count > 0 {
            detached = self.detached_ended.wait(detached).unwrap_or_else(|e| e.into_inner());
        }
        detached.closed = true;
        drop(detached);
        self.stop();
        let handles = std::mem::take(&mut lock(&self.shared).handles);
        for handle in handles {
            // A carrier catches the panics of what it runs, so it ends well.
            handle.join().unwrap_or_else(|_| unreachable!("carriers do not panic"));
        }
    }

    /// Stops the spares, and every carrier that would become one.
    fn stop(&self) {
        self.config.strategy.cpus().stop();
        let mut shared = lock(&self.shared);
        shared.stopping = true;
        for spare in std::mem::take(&mut shared.spares) {
            // SAFETY: it came out of the list of spares.
            unsafe { Carrier::stop(spare) };
        }
        if self.has_fixed_threads() {
            for processor in std::mem::take(&mut shared.idle) {
                // SAFETY: the pool owns the processor.
                if let Some(carrier) = self.seated(unsafe { processor.as_ref() }) {
                    // SAFETY: the processor was idle, so its carrier sleeps at the foot of its stack.
                    unsafe { Carrier::stop(NonNull::from(carrier)) };
                }
            }
            self.count_resting(&shared);
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for processor in &self.processors {
            stats.add(&processor.stats);
        }
        let shared = lock(&self.shared);
        stats.carriers = shared.carriers as u64;
        stats.peak_carriers = shared.peak_carriers as u64;
        drop(shared);
        stats.peak_threads = self.ledger.threads.peak();
        stats.heap = self.ledger.heap.now().max(0) as u64;
        stats.peak_heap = self.ledger.heap.peak();
        self.config.strategy.tell(&mut stats);
        let quota = self.config.strategy.quota();
        stats.quota = if quota == i64::MAX { 0 } else { quota as u64 };
        stats
    }

    /// Peaks count from now on.
    pub(crate) fn forget_peaks(&self) {
        self.ledger.heap.forget_peak();
        self.ledger.threads.forget_peak();
        self.config.strategy.forget_peaks();
    }
}

/// Sees to it that the next processor out of the idle list is one with private entries, if there is one.
fn bring_forward(shared: &mut Shared) -> bool {
    // SAFETY: the pool owns the processors in the list.
    let private = |processor: &NonNull<Processor>| unsafe { !(*processor.as_ptr()).private.looks_empty() };
    let Some(at) = shared.idle.iter().position(private) else { return false };
    let last = shared.idle.len() - 1;
    shared.idle.swap(at, last);
    true
}

impl Drop for PoolCore {
    fn drop(&mut self) {
        if let Some(profiler) = &self.config.profiler {
            profiler.remove_pool(self);
        }
        if self.config.metered {
            crate::api::alloc::set_metering(false);
        }
    }
}
