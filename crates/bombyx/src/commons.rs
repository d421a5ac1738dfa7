//! What the processors of a pool share: the idle processors, the spare carriers, and the queue of entries from
//! outside.
//!
//! A processor that finds nothing is *retired*: it rests in the idle list and its carrier becomes a spare. So an
//! idle pool is a list of processors and a list of parked threads, and waking is pairing one of each. How no
//! wake-up is lost is told in [`crate::sleep`]. Entries from outside are queued, and sleepers found, under the same
//! lock, so they need no such care.

use crate::affinity;
use crate::carrier::{Carrier, Spot};
use crate::handlers::Handlers;
use crate::job::{Entry, Kind, Place};
use crate::ledger::Ledger;
use crate::mailbox::Mailbox;
use crate::new_carrier::NewCarrier;
use crate::pool::Config;
use crate::primitive::{AtomicUsize, Mutex, MutexGuard, lock};
use crate::processor::{Processor, current};
use crate::profile::{self, State};
use crate::scheduler::heterogeneous::Heterogeneous;
use crate::scheduler::{self, Ready, Scheduler};
use crate::sleep::Sleepers;
use crate::stats::Stats;
use std::collections::VecDeque;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Weak};
use std::thread::JoinHandle;

/// See the module text.
pub(crate) struct Commons {
    this: Weak<Commons>,
    pub(crate) config: Config,
    processors: Box<[Processor]>,
    pub(crate) sleepers: Sleepers,
    /// With that scheduler.
    pub(crate) heterogeneous: Option<Heterogeneous>,
    /// Where entries wait that are in no deque.
    pub(crate) ready: Ready,
    pub(crate) ledger: Ledger,
    /// `shared.queue.len()`, for a look without the lock.
    queued: AtomicUsize,
    shared: Mutex<Shared>,
    /// Spawned closures that belong to no scope and have not ended; dropping the pool waits for them.
    detached: std::sync::Mutex<Detached>,
    detached_ended: Condvar,
}

const CLOSED: &str = "the pool has been closed and everything in it has ended";

/// Spawned closures that belong to no scope, and guests, which have not ended.
#[derive(Default)]
struct Detached {
    count: usize,
    /// The carriers end with the last of them.
    closed: bool,
}

struct Shared {
    idle: Vec<NonNull<Processor>>,
    spares: Vec<NonNull<Carrier>>,
    queue: VecDeque<Entry>,
    handles: Vec<JoinHandle<()>>,
    carriers: usize,
    peak_carriers: usize,
    /// How many carriers there have been, which numbers them.
    numbered: usize,
    /// A processor stayed idle for want of a carrier.
    starved: bool,
    stopping: bool,
}

impl Shared {
    fn count_carrier(&mut self) {
        self.carriers += 1;
        self.peak_carriers = self.peak_carriers.max(self.carriers);
    }
}

// SAFETY: the pointers in `Shared` name processors, which the commons own, and carriers, which are alive while
// they are listed; all are used under the lock or after being taken out under it.
unsafe impl Send for Commons {}
// SAFETY: as above.
unsafe impl Sync for Commons {}

impl Commons {
    /// The commons of a new pool, all processors idle, as many carriers started.
    pub(crate) fn new(config: Config) -> io::Result<Arc<Commons>> {
        let commons = Commons::without_carriers(config);
        commons.start_carriers().map(|()| Arc::clone(&commons)).inspect_err(|_| commons.shut_down())
    }

    /// The same, with fewer carriers, or none, if the system starts no more.
    pub(crate) fn with_what_can_be_had(config: Config) -> Arc<Commons> {
        let commons = Commons::without_carriers(config);
        // What is missing is started when it is needed, or the callers lend their own threads.
        let _ = commons.start_carriers();
        commons
    }

    pub(crate) fn without_carriers(config: Config) -> Arc<Commons> {
        Arc::new_cyclic(|this| {
            let processors: Box<[Processor]> = (0..config.processors)
                .map(|index| Processor::new(index, config.seed, this.as_ptr()))
                .collect();
            let shared = Shared {
                idle: processors.iter().rev().map(NonNull::from).collect(),
                spares: Vec::new(),
                queue: VecDeque::new(),
                handles: Vec::new(),
                carriers: 0,
                peak_carriers: 0,
                numbered: 0,
                starved: false,
                stopping: false,
            };
            let heterogeneous = match config.scheduler {
                Scheduler::Heterogeneous(beta) => Some(Heterogeneous::new(beta, processors.len())),
                _ => None,
            };
            if config.metered {
                crate::alloc::set_metering(true);
            }
            for processor in &processors {
                // The first fork looks which way this pool goes.
                processor.deque.poison();
                processor.meter.reset(scheduler::first_quota(config.scheduler));
            }
            Commons {
                this: this.clone(),
                heterogeneous,
                ready: Ready::of(config.scheduler, processors.len()),
                ledger: Ledger::default(),
                sleepers: Sleepers::new(processors.len()),
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
    fn profiled(self: Arc<Commons>) -> Arc<Commons> {
        if let Some(profiler) = &self.config.profiler {
            profiler.add_pool(&self);
        }
        self
    }

    fn start_carriers(&self) -> io::Result<()> {
        for _ in 0..self.processors.len() {
            let mut shared = lock(&self.shared);
            let carrier = self.start_carrier(&mut shared)?;
            shared.spares.push(carrier);
        }
        self.start_watcher()
    }

    /// Starts the thread that decides on muggings, in pools that have one.
    pub(crate) fn start_watcher(&self) -> io::Result<()> {
        match (&self.heterogeneous, self.this.upgrade()) {
            (Some(heterogeneous), Some(this)) => heterogeneous.start(this),
            _ => Ok(()),
        }
    }

    /// Makes the calling thread hold processor 0 of this pool, a new one. Nobody may free the pool before it is unseated.
    pub(crate) fn seat_current_thread(&self) {
        lock(&self.shared).numbered = 1;
        let first = self.borrow_processor().expect("the processors of a new pool rest");
        current::adopt(first);
        scheduler::arrived(current::held());
    }

    /// Takes the processor back that the calling thread was seated on.
    pub(crate) fn unseat_current_thread(&self) {
        let processor = NonNull::from(current::held());
        current::release();
        self.retire(processor, None, None);
    }

    /// The commons as a shared pointer. For callers that know them to be in use.
    pub(crate) fn arc(&self) -> Arc<Commons> {
        self.this.upgrade().expect("commons in use are shared")
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.config.handlers
    }

    pub(crate) fn processors(&self) -> &[Processor] {
        &self.processors
    }

    /// Whether every fork attends, although it could stay on the fast path: the pool is profiled.
    pub(crate) fn always_attends(&self) -> bool {
        self.config.profiler.is_some() && self.config.asymmetric
    }

    /// Whether a job that its fork leaves alone would be popped by its join on the fast path, so that a profiled pool must
    /// keep it ([`crate::profile`]).
    #[inline]
    pub(crate) fn keeps_jobs(&self) -> bool {
        self.config.asymmetric || self.config.scheduler.has_private_deques()
    }

    /// Whether forks may stay on the fast path ([`crate::barrier`]).
    pub(crate) fn asymmetric(&self) -> bool {
        self.config.asymmetric
    }

    // ---- Searchers ------------------------------------------------------------------------------------

    /// Counts `processor`, whose holder is about to search, as a searcher.
    pub(crate) fn start_search(&self, processor: &Processor) {
        if self.config.scheduler.has_private_deques() {
            processor.set_searching(true);
        } else {
            self.sleepers.start_search();
        }
    }

    /// Whether so many search already that one more would only disturb.
    pub(crate) fn enough_searchers(&self) -> bool {
        let searching = if self.config.scheduler.has_private_deques() {
            self.processors.iter().filter(|processor| processor.is_searching()).count()
        } else {
            self.sleepers.searching()
        };
        searching > self.config.max_searchers
    }

    /// A searcher found work. If it was the last one and others rest, the duty to look out is passed on.
    pub(crate) fn found_work(&self) {
        if self.sleepers.stop_search()
            && self.sleepers.any_resting()
            && (self.work_visible() || self.look_once_more())
        {
            self.wake(|_| None);
        }
    }

    /// Whether there seems to be something to take anywhere.
    pub(crate) fn work_visible(&self) -> bool {
        self.has_queued() || self.ready.looks_full() || self.processors.iter().any(Processor::has_something)
    }

    /// What has to be seen to before a processor rests in a pool with private deques, and whether there is something to
    /// take. What is in a deque does not count: its owner alone can give it, and does so when it attends.
    fn rest_among_private_deques(&self, all_idle: bool) -> bool {
        if !all_idle {
            self.sleepers.call(self.processors.iter().map(|processor| &processor.deque));
        }
        self.has_queued()
    }

    fn look_once_more(&self) -> bool {
        self.sleepers
            .look_once_more(self.processors.iter().map(|processor| &processor.deque), || self.work_visible())
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
        let private_deques = self.config.scheduler.has_private_deques();
        {
            // SAFETY: the commons own the processor, and it is the caller's until it is in the list.
            let processor = unsafe { processor.as_ref() };
            processor.stats.sleeps.add(1);
            processor.leave(leaving.filter(|_| !self.config.crowded).and_then(|_| affinity::here()));
            processor.set_searching(false);
            scheduler::retiring(processor);
            profile::enter(processor, State::Idle);
        }
        let all_idle = {
            let mut shared = lock(&self.shared);
            shared.idle.push(processor);
            self.sleepers.set_resting(shared.idle.len());
            if let Some(carrier) = carrier {
                self.list_spare(&mut shared, carrier);
            }
            shared.idle.len() == self.processors.len()
        };
        if carrier.is_some() && !private_deques {
            self.sleepers.stop_search();
        }
        // SAFETY: the commons own the processor, and this field is for everyone.
        if !unsafe { &(*processor.as_ptr()).private }.looks_empty() {
            self.wake_private();
        }
        // If all rest, there is nobody who could fork meanwhile.
        let visible = match (private_deques, all_idle) {
            (false, true) => self.work_visible(),
            (false, false) => self.look_once_more(),
            (true, _) => self.rest_among_private_deques(all_idle),
        };
        if visible {
            self.wake_for(leaving, |_| None);
        }
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
        let give = |carrier, processor| {
            // SAFETY: the commons own the processor, which is out of their list, and the carrier came out of the queue or the
            // list of spares.
            unsafe {
                match leaving {
                    Some(leaving) => self.pass_on(leaving, carrier, processor),
                    None => Carrier::give(carrier, processor, self.spot_for(processor.as_ref())),
                }
            }
        };
        let mut shared = lock(&self.shared);
        while let Some(Kind::Carrier(ready)) = shared.queue.front().map(|entry| entry.kind()) {
            let Some(processor) = self.idle_processor(&mut shared) else { return true };
            shared.queue.pop_front();
            self.queued.store(shared.queue.len(), Relaxed);
            // Not under the lock: a receiver that takes the caller's place runs before it.
            drop(shared);
            give(ready, processor);
            shared = lock(&self.shared);
        }
        let Some(processor) = shared.idle.pop() else { return true };
        let Ok(carrier) = self.any_spare(&mut shared) else {
            shared.idle.push(processor);
            shared.starved = true;
            return false;
        };
        self.sleepers.set_resting(shared.idle.len());
        drop(shared);
        // SAFETY: the commons own the processor; it is out of the list, so it is ours to give.
        let woken = unsafe { processor.as_ref() };
        self.start_search(woken);
        woken.stats.wakes.add(1);
        woken.deque.poison();
        if let Some(entry) = gift(&woken.post.mailbox) {
            woken.post.mailbox.deliver(Some(entry));
        }
        give(carrier, processor);
        true
    }

    /// Gives a processor to a carrier on behalf of another one, the caller's, which sleeps next. The receiver takes that one's
    /// place, unless there is room elsewhere: a processor rests, or another one is on the same CPU, and would stay there with
    /// this one although a core is idle. With more processors than cores all of them are busy anyway. Of a pinned processor
    /// the place is its CPU.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(crate) unsafe fn pass_on(
        &self,
        leaving: &Carrier,
        receiver: NonNull<Carrier>,
        processor: NonNull<Processor>,
    ) {
        // SAFETY: the commons own the processor, and it is the caller's.
        let passed = unsafe { processor.as_ref() };
        let crosses = |other: &Processor| other.index != passed.index && other.shares_cpu(passed);
        let room_elsewhere = || {
            self.config.crowded || self.sleepers.any_resting() || {
                passed.note_cpu();
                self.processors.iter().any(crosses)
            }
        };
        // SAFETY: as the caller promises.
        unsafe {
            match self.seat(passed) {
                Some(cpu) => Carrier::give(receiver, processor, Spot::PinnedTo(cpu)),
                None if room_elsewhere() => Carrier::give(receiver, processor, Spot::Anywhere),
                None => leaving.succeed(receiver, processor),
            }
        }
    }

    /// The CPU that a processor is pinned to, if it is and its next holder should wake up there.
    fn seat(&self, processor: &Processor) -> Option<usize> {
        match &self.heterogeneous {
            Some(heterogeneous) => heterogeneous.seat(processor.index),
            None if self.config.pin => affinity::seat(processor.index),
            None => None,
        }
    }

    /// Where a carrier is to begin with a processor that has rested, and is the caller's to give.
    fn spot_for(&self, processor: &Processor) -> Spot {
        match self.seat(processor) {
            Some(cpu) => Spot::PinnedTo(cpu),
            None => processor.left_lately().map_or(Spot::Anywhere, Spot::FirstOn),
        }
    }

    /// Gives every idle processor that has private entries to a spare carrier ([`crate::broadcast`]).
    pub(crate) fn wake_private(&self) {
        loop {
            let mut shared = lock(&self.shared);
            // SAFETY: the commons own the processors in the list.
            let private = |processor: &NonNull<Processor>| unsafe { &(*processor.as_ptr()).private };
            let Some(at) = shared.idle.iter().position(|processor| !private(processor).looks_empty()) else {
                return;
            };
            let Ok(carrier) = self.any_spare(&mut shared) else {
                shared.starved = true;
                return;
            };
            let processor = shared.idle.remove(at);
            self.sleepers.set_resting(shared.idle.len());
            drop(shared);
            // SAFETY: the commons own the processor; it is out of the list, so it is ours to give. The carrier came
            // out of the list of spares.
            unsafe {
                self.start_search(processor.as_ref());
                processor.as_ref().stats.wakes.add(1);
                processor.as_ref().deque.poison();
                Carrier::give(carrier, processor, self.spot_for(processor.as_ref()));
            }
        }
    }

    /// Sees to it that a carrier of this pool that has become ready gets a processor: an idle one, or the next.
    pub(crate) fn readmit(&self, carrier: NonNull<Carrier>) {
        let mut shared = lock(&self.shared);
        let Some(processor) = self.idle_processor(&mut shared) else {
            shared.queue.push_front(Entry::carrier(carrier));
            self.queued.store(shared.queue.len(), Relaxed);
            return;
        };
        drop(shared);
        // SAFETY: the caller found the carrier waiting, and the processor came out of the list.
        unsafe { Carrier::give(carrier, processor, self.spot_for(processor.as_ref())) };
    }

    /// An idle processor for the calling thread itself.
    pub(crate) fn borrow_processor(&self) -> Option<NonNull<Processor>> {
        if !self.sleepers.any_resting() {
            return None;
        }
        self.idle_processor(&mut lock(&self.shared))
    }

    /// Takes a processor out of the idle list, to be given to a carrier that will not search first.
    fn idle_processor(&self, shared: &mut MutexGuard<'_, Shared>) -> Option<NonNull<Processor>> {
        let processor = shared.idle.pop()?;
        self.sleepers.set_resting(shared.idle.len());
        // SAFETY: the commons own the processor. Its first fork must look for sleepers.
        unsafe { processor.as_ref() }.deque.poison();
        Some(processor)
    }

    /// A processor for a carrier that comes back from blocking: an idle one, or, when it is given one.
    pub(crate) fn acquire(&self, carrier: &Carrier) -> NonNull<Processor> {
        if let Some(processor) = self.borrow_processor() {
            return processor;
        }
        {
            let mut shared = lock(&self.shared);
            if let Some(processor) = self.idle_processor(&mut shared) {
                return processor;
            }
            shared.queue.push_front(Entry::carrier(NonNull::from(carrier)));
            self.queued.store(shared.queue.len(), Relaxed);
        }
        carrier.receive().unwrap_or_else(|| unreachable!("only spares are stopped"))
    }

    /// Whether there would be a carrier for a processor that is given up now.
    pub(crate) fn has_reserve(&self) -> bool {
        let shared = lock(&self.shared);
        !shared.spares.is_empty() || (shared.carriers < self.config.max_carriers && !shared.stopping)
    }

    /// A spare carrier, started if need be. None if the limit is reached or the system refuses.
    pub(crate) fn spare(&self) -> Option<NonNull<Carrier>> {
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
        } else {
            shared.spares.push(carrier);
        }
    }

    fn any_spare(&self, shared: &mut MutexGuard<'_, Shared>) -> io::Result<NonNull<Carrier>> {
        match shared.spares.pop() {
            Some(carrier) => Ok(carrier),
            None => self.start_carrier(shared),
        }
    }

    /// Starts a carrier, which waits to be given a processor.
    fn start_carrier(&self, shared: &mut MutexGuard<'_, Shared>) -> io::Result<NonNull<Carrier>> {
        let new = self.number_carrier(shared)?;
        let carrier = Arc::clone(new.carrier());
        // The thread keeps its `Arc`, so the pointer is good until the carrier has been stopped.
        let pointer = NonNull::from(&*carrier);
        let handle = new.thread().spawn(move || new.run_listed())?;
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
            let names = names.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            names.get(index).cloned()
        });
        shared.numbered += 1;
        Ok(NewCarrier::new(self.arc(), index, name))
    }

    /// A carrier has ended.
    pub(crate) fn carrier_ended(&self) {
        lock(&self.shared).carriers -= 1;
    }

    // ---- The queue ------------------------------------------------------------------------------------

    /// Pushes an entry on the deque of the calling thread's processor, if that is one of this pool, else queues it.
    ///
    /// Inside of something that descends from none of `roots`, the entry is no part of that: whoever waits for it
    /// must not help with what is in the deque from now on.
    #[inline]
    pub(crate) fn submit(&self, entry: Entry, roots: &[usize]) {
        let Some(processor) =
            current::processor().filter(|processor| std::ptr::eq(processor.commons(), self))
        else {
            return self.inject(entry);
        };
        processor.submit_under(entry, roots);
    }

    /// Queues an entry from outside and sees to it that somebody looks.
    pub(crate) fn inject(&self, entry: Entry) {
        {
            let mut shared = lock(&self.shared);
            shared.queue.push_back(entry);
            self.queued.store(shared.queue.len(), Relaxed);
        }
        self.wake(|_| None);
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

    /// Moves what is in the private deque of a processor that is about to change hands to the queue, where everyone can
    /// reach it: others to run it, joins to take their own halves back. The caller holds the processor.
    #[cold]
    #[inline(never)]
    pub(crate) fn flush(&self, processor: &Processor) {
        {
            let mut shared = lock(&self.shared);
            while let Some(entry) = processor.deque.private().take_oldest() {
                entry.taken(Place::Queue(std::ptr::from_ref(self).cast()));
                shared.queue.push_back(entry);
            }
            self.queued.store(shared.queue.len(), Relaxed);
        }
        self.wake(|_| None);
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

    /// # Panics
    /// If the pool has ended: what is queued would wait for ever.
    pub(crate) fn assert_open(&self) {
        let stopping = lock(&self.shared).stopping;
        assert!(!stopping, "{CLOSED}");
    }

    /// Counts somebody whom the end of the pool waits for.
    ///
    /// # Panics
    /// If the pool has ended.
    pub(crate) fn detached_started(&self) {
        let mut detached = self.detached.lock().unwrap_or_else(|e| e.into_inner());
        assert!(detached.count > 0 || !detached.closed, "{CLOSED}");
        detached.count += 1;
    }

    pub(crate) fn detached_ended(&self) {
        let mut detached = self.detached.lock().unwrap_or_else(|e| e.into_inner());
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
        let mut detached = self.detached.lock().unwrap_or_else(|e| e.into_inner());
        detached.closed = true;
        if detached.count == 0 {
            drop(detached);
            self.stop();
        }
    }

    /// Waits for detached work, then stops and joins all carriers. Not to be called by one of them.
    pub(crate) fn shut_down(&self) {
        let mut detached = self.detached.lock().unwrap_or_else(|e| e.into_inner());
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
        if let Some(heterogeneous) = &self.heterogeneous {
            heterogeneous.stop();
        }
        let mut shared = lock(&self.shared);
        shared.stopping = true;
        for spare in std::mem::take(&mut shared.spares) {
            // SAFETY: it came out of the list of spares.
            unsafe { Carrier::stop(spare) };
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
        self.ready.tell(&mut stats);
        stats.quota = scheduler::quota(self).unwrap_or(0) as u64;
        stats
    }

    /// Peaks count from now on.
    pub(crate) fn forget_peaks(&self) {
        self.ledger.heap.forget_peak();
        self.ledger.threads.forget_peak();
        self.ready.forget_peak();
    }
}

impl Drop for Commons {
    fn drop(&mut self) {
        if let Some(profiler) = &self.config.profiler {
            profiler.remove_pool(self);
        }
        if self.config.metered {
            crate::alloc::set_metering(false);
        }
    }
}
