//! First in, first out, on deques that are last in, first out.
//!
//! A closure that should run in the order of its spawn is queued in a [`Tickets`], and a *ticket* goes into the deque
//! in its place. All tickets of a queue are the same: the address of the queue. A processor that takes one, the owner
//! from the bottom or a thief from the top, runs the oldest closure of the queue. So the closures of one queue start in
//! the order in which they were spawned, while relative to other entries each ticket keeps the place where it was
//! pushed. There is one queue per processor, because closures of different processors have no order. The pool has such
//! queues for detached closures, and each scope that asks for them has its own.
//!
//! There are as many tickets as queued closures at any time, so a ticket always finds one.

use crate::protocol::carrier::Enabled;
use crate::protocol::job::{Entry, HeapJob, Job, Kind};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{Mutex, lock};
use std::collections::VecDeque;
use std::ptr::NonNull;

/// See the module text.
#[repr(C)]
pub(crate) struct Tickets {
    /// The first field: a ticket is a heap entry with this address.
    head: HeapJob,
    queue: Mutex<VecDeque<Entry>>,
}

// SAFETY: the queue has a lock. Of the head only `exec` is used, because tickets are not jobs of a join.
unsafe impl Sync for Tickets {}
// SAFETY: as above. Each entry belongs to the taker of a ticket.
unsafe impl Send for Tickets {}

impl Tickets {
    /// A queue for closures of the scope with this root, or 0 for detached closures.
    pub(crate) fn new(root: usize) -> Tickets {
        Tickets { head: HeapJob::new(Tickets::exec, root), queue: Mutex::new(VecDeque::new()) }
    }

    /// Queues a heap entry and returns the ticket that must be pushed in its place.
    ///
    /// The queue must outlive the ticket.
    #[must_use]
    pub(crate) fn push(&self, entry: Entry) -> Entry {
        lock(&self.queue).push_back(entry);
        Entry::heap(NonNull::from(self).cast())
    }

    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of a `Tickets`, and the caller has taken a ticket of it.
    unsafe fn exec(job: *const Job) -> Enabled {
        let oldest = {
            // SAFETY: the queue outlives its tickets. The closure below may be what keeps the queue alive, so the queue
            // is not touched after this block.
            let this = unsafe { &*job.cast::<Tickets>() };
            let mut queue = lock(&this.queue);
            if planted(Fault::YoungestTicketFirst) { queue.pop_back() } else { queue.pop_front() }
        };
        match oldest.map(Entry::kind) {
            // SAFETY: the entry left the queue just now, so only this ticket has it.
            Some(Kind::Heap(job)) => unsafe { Job::run(job) },
            _ => unreachable!("a ticket stands for a queued closure"),
        }
    }
}
