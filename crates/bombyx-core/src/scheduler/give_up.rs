//! Giving way at a fork: the running frame becomes a ready carrier, and its processor does something else.
//!
//! The papers preempt a thread when its quota is used up. Here memory is counted inside the allocator, where any lock
//! may be held. So the allocator only poisons the processor's own limit, and the frame gives way at the next fork,
//! spawn or checkpoint. What is allocated in between exceeds the quota: at most what one strand allocates.

use crate::machine::current;
use crate::machine::hand_over::{Heir, Next, hand_over};
use crate::machine::observer::Aside;
use crate::machine::processor::Processor;
use crate::protocol::job::{Entry, Kind};
use crate::system::primitive::yield_now;
use std::ptr::NonNull;

/// Lets the calling carrier's frame wait for its turn. `leave` puts the frame where others find it. The processor
/// continues with what `next` gives, or searches. The carrier may hold another processor afterwards.
///
/// This needs another thread, unless it is the turn of a ready carrier. If no thread can be started, this returns false
/// and the frame goes on.
#[must_use]
pub(super) fn give_up(
    processor: &Processor,
    leave: impl FnOnce(Entry),
    next: impl FnOnce() -> Option<Entry>,
) -> bool {
    let pool = processor.pool();
    let Some(spare) = pool.spare() else { return false };
    let _aside = Aside::begin(pool);
    let frame = Entry::carrier(NonNull::from(current::carrier()));
    leave(frame);
    // From here on, anyone may give this carrier another processor. The carrier takes that one when it has given its
    // own away.
    let next = next();
    if next == Some(frame) {
        pool.add_spare(spare);
        return true;
    }
    let heir = match next.map(|entry| (entry, entry.kind())) {
        Some((_, Kind::Carrier(ready))) => {
            pool.add_spare(spare);
            Heir::Ready(ready)
        }
        job => {
            if let Some((entry, _)) = job {
                processor.post.mailbox.deliver(Some(entry));
            }
            Heir::Spare(spare)
        }
    };
    // SAFETY: the carrier came out of the list of spares, or its entry named it once, to this caller.
    unsafe { hand_over(heir, Next::Waits) }.resume();
    true
}

/// Runs a dummy thread, which does nothing (Narlikar §3.3). Its processor has lost its deque and steals again. With
/// more processors than cores, the threads that come first may need this processor's core in order to appear. So it
/// lets others run once in every [`DUMMIES_PER_YIELD`] dummies.
pub(super) fn run_dummy(processor: &Processor) {
    if processor.pool().config.crowded && processor.rng.below(DUMMIES_PER_YIELD) == 0 {
        yield_now();
    }
}

/// Letting others run takes microseconds; a dummy thread takes a tenth of one.
const DUMMIES_PER_YIELD: usize = 8;
