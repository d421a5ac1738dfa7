//! Giving way at a fork: the frame that runs becomes a ready carrier, and its processor does something else.
//!
//! The papers preempt a thread when its quota is used up. Memory is counted inside of the allocator, where any lock
//! may be held, so the allocator only poisons the processor's own limit, and this happens at the next fork, spawn or
//! checkpoint. What was allocated between the two exceeds the quota: at most what one strand allocates.

use crate::machine::current;
use crate::machine::hand_over::{Heir, Next, hand_over};
use crate::machine::observer::Aside;
use crate::machine::processor::Processor;
use crate::protocol::job::{Entry, Kind};
use crate::system::primitive::yield_now;
use std::ptr::NonNull;

/// Lets the calling carrier's frame wait for its turn: `leave` puts it where others find it, and the processor goes on with
/// what `next` gives, or searches. The carrier may hold another processor afterwards.
///
/// Another thread must be had for that, unless it is the turn of a carrier. False if there is none: the frame goes on as
/// it is.
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
    // From here on anyone may give this carrier another processor. It takes that when it has given away its own.
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
    // SAFETY: the carrier came out of the list of spares, or its entry named it to us.
    unsafe { hand_over(heir, Next::Waits) }.resume();
    true
}

/// Runs a dummy thread, which does nothing (Narlikar §3.3): its processor has lost its deque, and steals again. Where there are
/// more processors than cores, those whose threads come first may need this one's core in order to show them, so it lets
/// others go first once in [`DUMMIES_PER_YIELD`] times.
pub(super) fn run_dummy(processor: &Processor) {
    if processor.pool().config.crowded && processor.rng.below(DUMMIES_PER_YIELD) == 0 {
        yield_now();
    }
}

/// Letting others go first takes microseconds, a dummy thread a tenth of one.
const DUMMIES_PER_YIELD: usize = 8;
