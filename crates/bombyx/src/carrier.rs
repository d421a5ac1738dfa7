//! Carriers: the OS threads on whose stacks everything runs.
//!
//! A stack never leaves its carrier; processors do. At any time a carrier
//!
//! - **holds a processor** and runs jobs, searches, or waits for a join;
//! - **waits without one**: parked at a latch (its join missed), in [`crate::blocking`], or as a ready carrier
//!   in a deque or the pool's queue;
//! - or is a **spare** in the pool's list.
//!
//! A processor changes hands by [`Carrier::give`]: the giver stores it into the receiver's `given` word
//! (release), the receiver swaps it out (acquire), so everything the giver did with the processor happens
//! before what the receiver does. Nobody gives to a carrier that has not been found in exactly one place (a
//! latch, an entry, the spare list), and leaving that place is atomic, so `given` never holds two.

use crate::commons::Commons;
use crate::job::{Entry, Job, Kind};
use crate::latch::Latch;
use crate::primitive::{AtomicPtr, Thread, current_thread, park};
use crate::processor::{Processor, current};
use crate::scheduler::work_stealing;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Release};

/// See the module text.
pub(crate) struct Carrier {
    /// Set before anybody can find the carrier waiting.
    thread: OnceLock<Thread>,
    given: AtomicPtr<Processor>,
    /// What the code on top of this carrier's stack descends from ([`crate::deque::Deque::set_root`]).
    root: Cell<usize>,
}

/// Given in place of a processor: there is nothing more to do.
const STOP: *mut Processor = ptr::dangling_mut();

impl Carrier {
    /// The calling thread as a carrier.
    pub(crate) fn here() -> Carrier {
        let carrier = Carrier::to_be_started();
        carrier.started(current_thread());
        carrier
    }

    /// A carrier whose thread is still to be started.
    pub(crate) fn to_be_started() -> Carrier {
        Carrier { thread: OnceLock::new(), given: AtomicPtr::new(ptr::null_mut()), root: Cell::new(0) }
    }

    /// Tells the carrier its thread.
    pub(crate) fn started(&self, thread: Thread) {
        assert!(self.thread.set(thread).is_ok(), "a carrier has one thread");
    }

    /// Hands `processor` to `carrier`, which continues at once.
    ///
    /// # Safety
    /// The carrier was found waiting, and was taken out of where it was found; the caller gives up its hold on
    /// the processor. The carrier may be gone after the call.
    pub(crate) unsafe fn give(carrier: NonNull<Carrier>, processor: NonNull<Processor>) {
        // SAFETY: as the caller promises.
        unsafe { Carrier::give_raw(carrier, processor.as_ptr()) }
    }

    /// Tells a spare to end.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(crate) unsafe fn stop(carrier: NonNull<Carrier>) {
        // SAFETY: as the caller promises.
        unsafe { Carrier::give_raw(carrier, STOP) }
    }

    unsafe fn give_raw(carrier: NonNull<Carrier>, processor: *mut Processor) {
        // The handle is cloned first: the carrier's thread may see the word, run on and end before unpark.
        // SAFETY: a waiting carrier is alive until it is given something.
        let thread = unsafe { carrier.as_ref() }.thread.get().cloned();
        // SAFETY: as above; this is the last access.
        unsafe { carrier.as_ref() }.given.store(processor, Release);
        thread.expect("a waiting carrier has a thread").unpark();
    }

    /// Waits to be given a processor. None: to stop.
    pub(crate) fn receive(&self) -> Option<NonNull<Processor>> {
        loop {
            let given = self.given.swap(ptr::null_mut(), Acquire);
            if given == STOP {
                return None;
            }
            if let Some(processor) = NonNull::new(given) {
                return Some(processor);
            }
            park();
        }
    }

    pub(crate) fn root(&self) -> usize {
        self.root.get()
    }

    /// Changes the root; returns the one before.
    pub(crate) fn set_root(&self, root: usize) -> usize {
        self.root.replace(root)
    }

    /// Runs a job with `root` as what its forks descend from.
    ///
    /// # Safety
    /// As for [`Job::run`]; the calling thread is this carrier and holds a processor.
    unsafe fn run_job(&self, job: *const Job, root: usize) -> crate::job::Enabled {
        let outer = self.root.replace(root);
        if let Some(processor) = current::processor() {
            processor.deque.set_root(root);
        }
        // SAFETY: as the caller promises.
        let enabled = unsafe { Job::run(job) };
        self.root.set(outer);
        // The processor may be another one now; its deque holds nothing that descends from `root` any more.
        if let Some(processor) = current::processor() {
            processor.deque.set_root(outer);
        }
        enabled
    }
}

/// The life of a carrier that the pool started: spare, working, spare, …, stopped.
pub(crate) fn main(commons: &Commons, carrier: &Carrier) {
    current::set_carrier(Some(NonNull::from(carrier)));
    while let Some(processor) = carrier.receive() {
        current::adopt(processor);
        work(commons, carrier);
    }
    current::set_carrier(None);
}

/// Runs entries until the processor is given away; the carrier is a spare then.
fn work(commons: &Commons, carrier: &Carrier) {
    let this = NonNull::from(carrier);
    // Whoever gave the processor counted this carrier as a searcher.
    while let Some(entry) = work_stealing::search(current::held()) {
        let enabled = match entry.kind() {
            Kind::Stack(job) | Kind::Heap(job) => {
                // SAFETY: the search took the entry out of where it was, so it is this carrier's alone.
                unsafe { carrier.run_job(job, root_of(entry)) }
            }
            Kind::Carrier(ready) => Some(ready),
        };
        if let Some(enabled) = enabled {
            // The one who finishes last gives its processor to the one who waited (design: "at once").
            let processor = NonNull::from(current::held());
            current::release();
            commons.add_spare(this);
            // SAFETY: the latch or the entry named the carrier, once, to us.
            unsafe { Carrier::give(enabled, processor) };
            return;
        }
        commons.start_search();
    }
    let processor = NonNull::from(current::held());
    current::release();
    commons.retire(processor, Some(this));
}

/// What the forks of the job of this entry descend from.
fn root_of(entry: Entry) -> usize {
    match entry.kind() {
        Kind::Stack(job) => job as usize,
        // SAFETY: a heap entry that was taken is alive until it is run.
        Kind::Heap(job) => unsafe { crate::scope::key_of(job) },
        Kind::Carrier(_) => 0,
    }
}

/// How a wait ended.
#[derive(PartialEq, Eq)]
#[must_use]
pub(crate) enum Waited {
    /// The latch is set.
    Done,
    /// The job came back unstarted and is the caller's to run.
    Reclaimed,
}

/// Waits until `latch` is set, on a carrier that holds a processor (before and after, perhaps another one).
///
/// Meanwhile the processor helps with descendants of `key`, is handed over to another carrier once other work
/// is visible, or is returned to the pool when there is nothing to do at all (design §2). With `job`, the
/// latch's own job, it is taken back if whoever was offered it has not picked it up.
pub(crate) fn wait(latch: &Latch, key: usize, job: Option<&Job>) -> Waited {
    let carrier = current::carrier();
    let this = NonNull::from(carrier);
    let mut patience = work_stealing::Patience::new();
    current::held().set_busy(false);
    loop {
        if latch.is_done() {
            current::held().set_busy(true);
            return Waited::Done;
        }
        if job.is_some_and(reclaim) {
            current::held().set_busy(true);
            return Waited::Reclaimed;
        }
        let processor = current::held();
        let commons = processor.commons();
        match patience.wait(processor, key, || latch.is_done()) {
            work_stealing::Wait::Again => {}
            work_stealing::Wait::Help(entry) => {
                processor.stats.helps.add(1);
                nested(carrier, entry, latch);
            }
            work_stealing::Wait::OtherWork => match commons.spare() {
                Some(spare) => {
                    if !latch.park(this) {
                        commons.add_spare(spare);
                        continue;
                    }
                    processor.stats.hand_overs.add(1);
                    commons.start_search();
                    current::release();
                    // SAFETY: the spare came out of the pool's list.
                    unsafe { Carrier::give(spare, NonNull::from(processor)) };
                    resume(carrier);
                    return Waited::Done;
                }
                // No thread to be had: run what there is on this stack rather than wait for nothing.
                None => {
                    if let Some(entry) = work_stealing::take_anything(processor) {
                        processor.stats.in_place.add(1);
                        nested(carrier, entry, latch);
                    }
                }
            },
            work_stealing::Wait::Nothing => {
                if !latch.park(this) {
                    continue;
                }
                current::release();
                commons.retire(NonNull::from(processor), None);
                resume(carrier);
                return Waited::Done;
            }
        }
    }
}

/// Continues on the processor that whoever set the latch gave.
pub(crate) fn resume(carrier: &Carrier) {
    match carrier.receive() {
        Some(processor) => current::adopt(processor),
        None => unreachable!("only spares are stopped"),
    }
}

/// Runs an entry on top of a frame that waits for `latch`.
fn nested(carrier: &Carrier, entry: Entry, latch: &Latch) {
    let enabled = match entry.kind() {
        Kind::Stack(job) | Kind::Heap(job) => {
            current::held().set_busy(true);
            // SAFETY: the entry was taken out of where it was, so it is this carrier's alone.
            let enabled = unsafe { carrier.run_job(job, root_of(entry)) };
            current::held().set_busy(false);
            enabled
        }
        Kind::Carrier(ready) => Some(ready),
    };
    let Some(enabled) = enabled else { return };
    let processor = current::held();
    if latch.park(NonNull::from(carrier)) {
        // We wait anyway: the enabled carrier, which descends from what we wait for, has better use for the
        // processor.
        processor.stats.hand_overs.add(1);
        current::release();
        // SAFETY: the latch or the entry named the carrier, once, to us.
        unsafe { Carrier::give(enabled, NonNull::from(processor)) };
        resume(carrier);
    } else {
        // Our own frame goes on; the enabled one waits at the bottom of our deque (Blumofe and Leiserson, §4,
        // rule 4).
        processor.submit(Entry::carrier(enabled));
    }
}

/// Tries to get back a job that is not untouched: from the deque it is exposed in, or out of a mailbox.
pub(crate) fn reclaim(job: &Job) -> bool {
    let entry = Entry::stack(job);
    loop {
        // SAFETY: callers have seen that the job is not untouched.
        match unsafe { job.place() } {
            crate::job::Place::Nowhere => return false,
            // SAFETY: mailboxes live as long as the processors of the pool, which outlive its jobs.
            crate::job::Place::Mailbox(mailbox) => return unsafe { (*mailbox).take_back(entry) },
            crate::job::Place::Deque(deque) => {
                let owner = current::processor().is_some_and(|processor| ptr::eq(&processor.deque, deque));
                // SAFETY: as for mailboxes.
                if unsafe { (*deque).withdraw(entry, owner) } {
                    return true;
                }
                // Taken meanwhile, and the place was changed before the deque's lock was released.
            }
        }
    }
}
