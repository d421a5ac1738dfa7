//! What a carrier does with its stack: the loop at its foot, and the wait in the middle of it.
//!
//! The loop ([`main`]) runs entries until the processor is gone. The wait ([`wait`]) is where "processors move,
//! stacks stay" happens: a frame whose other half was taken keeps its stack where it is, and its processor finds
//! better use ([`crate::scheduler`] says which).

use crate::carrier::Carrier;
use crate::commons::Commons;
use crate::job::{Enabled, Entry, Job, Kind, Place};
use crate::latch::Latch;
use crate::processor::current;
use crate::scheduler::{self, Patience, Wait};
use std::ptr::{self, NonNull};
use std::time::Duration;

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
    let mut next = scheduler::search(current::held());
    while let Some(entry) = next {
        let enabled = match entry.kind() {
            Kind::Stack(job) | Kind::Heap(job) => {
                // SAFETY: the search took the entry out of where it was, so it is this carrier's alone.
                unsafe { run_job(carrier, job, root_of(entry)) }
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
        // Who has entries of its own does not search, and leaves the count of searchers, which all share, alone.
        next = scheduler::take_own(current::held()).or_else(|| {
            commons.sleepers.start_search();
            scheduler::search(current::held())
        });
    }
    let processor = NonNull::from(current::held());
    current::release();
    commons.retire(processor, Some(this));
}

/// Runs a job with `root` as what its forks descend from.
///
/// # Safety
/// As for [`Job::run`]; the calling thread is `carrier` and holds a processor.
unsafe fn run_job(carrier: &Carrier, job: *const Job, root: usize) -> Enabled {
    let outer = carrier.set_root(root);
    if let Some(processor) = current::processor() {
        processor.deque.set_root(root);
    }
    // SAFETY: as the caller promises.
    let enabled = unsafe { Job::run(job) };
    carrier.set_root(outer);
    // The processor may be another one now; its deque holds nothing that descends from `root` any more.
    if let Some(processor) = current::processor() {
        processor.deque.set_root(outer);
    }
    enabled
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

/// How long a waiting carrier of a pool without spares sleeps at a time, when there is nothing to do.
const NAP: Duration = Duration::from_micros(200);

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
    let mut patience = Patience::new();
    loop {
        if latch.is_done() {
            current::held().set_busy(true);
            current::held().be_generous();
            return Waited::Done;
        }
        if job.is_some_and(reclaim) {
            current::held().set_busy(true);
            return Waited::Reclaimed;
        }
        let processor = current::held();
        let commons = processor.commons();
        match scheduler::wait(&mut patience, processor, key, || latch.is_done()) {
            Wait::Again => {}
            Wait::Help(entry) => nested(carrier, entry, latch),
            Wait::OtherWork => match commons.spare() {
                Some(spare) => {
                    if !latch.park(this) {
                        commons.add_spare(spare);
                        continue;
                    }
                    processor.stats.hand_overs.add(1);
                    commons.sleepers.start_search();
                    current::release();
                    // SAFETY: the spare came out of the pool's list.
                    unsafe { Carrier::give(spare, NonNull::from(processor)) };
                    resume(carrier);
                    return Waited::Done;
                }
                // No thread to be had: run what there is on this stack rather than wait for nothing.
                None => {
                    if let Some(entry) = scheduler::take_anything(processor) {
                        processor.stats.in_place.add(1);
                        nested(carrier, entry, latch);
                    }
                }
            },
            // Whoever has work for the processor later would find no thread for it.
            Wait::Nothing if !commons.has_reserve() => std::thread::sleep(NAP),
            Wait::Nothing => {
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
            unsafe { run_job(carrier, job, root_of(entry)) }
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

/// Runs an entry, which is not a carrier, on top of a frame that holds a processor and does not wait.
pub(crate) fn run_on_top(entry: Entry) {
    let (Kind::Stack(job) | Kind::Heap(job)) = entry.kind() else {
        unreachable!("a carrier has its own stack")
    };
    // SAFETY: the caller took the entry out of where it was.
    if let Some(enabled) = unsafe { run_job(current::carrier(), job, root_of(entry)) } {
        current::held().submit(Entry::carrier(enabled));
    }
}

/// Tries to get back a job that is not untouched: from the deque it is exposed in, or out of a mailbox.
pub(crate) fn reclaim(job: &Job) -> bool {
    let entry = Entry::stack(job);
    loop {
        // SAFETY: callers have seen that the job is not untouched.
        match unsafe { job.place() } {
            Place::Nowhere => return false,
            // SAFETY: mailboxes live as long as the processors of the pool, which outlive its jobs.
            Place::Mailbox(mailbox) => return unsafe { (*mailbox).take_back(entry) },
            Place::Deque(deque) => {
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
