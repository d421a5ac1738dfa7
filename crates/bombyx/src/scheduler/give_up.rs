//! Giving way at a fork: the frame that runs becomes a ready carrier, and its processor does something else.
//!
//! The papers preempt a thread when its quota is used up. Memory is counted inside of the allocator, where any lock
//! may be held, so the allocator only poisons the processor's own limit, and this happens at the next fork, spawn or
//! checkpoint. What was allocated between the two exceeds the quota: at most what one strand allocates.

use crate::job::{Entry, Kind};
use crate::primitive::{spin_loop, yield_now};
use crate::processor::{Processor, current};
use crate::profile::Aside;
use crate::wait::resume;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

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
    let commons = processor.commons();
    let Some(spare) = commons.spare() else { return false };
    let _aside = Aside::begin(commons);
    let carrier = current::carrier();
    let frame = Entry::carrier(NonNull::from(carrier));
    leave(frame);
    // From here on anyone may give this carrier another processor. It takes that when it has given away its own.
    let next = next();
    if next == Some(frame) {
        commons.add_spare(spare);
        return true;
    }
    let receiver = match next.map(|entry| (entry, entry.kind())) {
        Some((_, Kind::Carrier(ready))) => {
            commons.add_spare(spare);
            ready
        }
        job => {
            if let Some((entry, _)) = job {
                processor.post.mailbox.deliver(Some(entry));
            }
            commons.sleepers.start_search();
            spare
        }
    };
    processor.stats.hand_overs.add(1);
    current::release();
    // SAFETY: the carrier came out of the list of spares, or its entry named it to us.
    unsafe { commons.pass_on(carrier, receiver, NonNull::from(processor)) };
    resume(carrier);
    true
}

/// The longest that a dummy thread takes, and about how long a processor runs dummies before it looks again for something
/// better.
const DUMMY: Duration = Duration::from_micros(20);

/// What a dummy thread takes. It stands for the allocation of K bytes: a third of a nanosecond per byte, less than touching
/// the memory would, is time for threads of higher priority to appear, which is what dummies are for. In the
/// paper's cost model allocated memory is as much work as it has bytes (§4.2).
fn dummy(processor: &Processor) -> Duration {
    let quota = super::quota(processor.commons()).unwrap_or(0);
    Duration::from_nanos(quota as u64 / 3).min(DUMMY)
}

/// How many dummy threads a processor takes at a time, so that with a small K not all of its time goes into the lock that
/// they are kept under.
pub(super) fn batch(processor: &Processor) -> u64 {
    (DUMMY.as_nanos() / dummy(processor).as_nanos().max(1)) as u64
}

/// Runs so many dummy threads. Where there are more processors than cores, the others may need this one's: they have it
/// after the time has passed, not instead. (With the time in which others run counted, `dense-mm` on 8 processors and 2 cores
/// used a tenth less CPU time, and `depth-first:50000` held 32 MB instead of 27.)
pub(super) fn run_dummies(processor: &Processor, dummies: u64) {
    let time = dummy(processor) * dummies as u32;
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
    if processor.commons().config.crowded {
        yield_now();
    }
}
