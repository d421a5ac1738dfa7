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
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

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

/// What a dummy thread does beside nothing (Narlikar §3.3). Its processor has lost its deque, and steals again. Where there are more
/// processors than cores, those whose threads come first may need this one's core in order to show them. So it lets others go
/// first, but not for long: the kernel may give the core to another program, for milliseconds. Then the processor owes nobody
/// anything until [`SHARE`] times as much time has passed.
pub(super) struct Courtesy {
    start: Instant,
    /// When each processor may let others go first again, in nanoseconds since the start.
    until: Box<[AtomicU64]>,
}

impl Courtesy {
    pub(super) fn new(processors: usize) -> Courtesy {
        Courtesy { start: Instant::now(), until: (0..processors).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(super) fn run_dummy(&self, processor: &Processor) {
        if processor.pool().config.crowded && processor.rng.below(DUMMIES_PER_LOOK) == 0 {
            self.give_way(processor.index, yield_now);
        }
    }

    fn give_way(&self, index: usize, yields: impl FnOnce()) {
        let until = &self.until[index];
        let before = self.now();
        if before < until.load(Relaxed) {
            return;
        }
        yields();
        let after = self.now();
        until.store(after + SHARE * (after - before), Relaxed);
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// A look at the clock and a yield take longer than a dummy thread.
const DUMMIES_PER_LOOK: usize = 8;
/// Dummy threads let others go first for at most one part in `SHARE + 1` of a processor's time.
const SHARE: u64 = 4;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn whoever_gave_way_for_long_goes_on_for_longer() {
        let courtesy = Courtesy::new(2);
        courtesy.give_way(0, || sleep(Duration::from_millis(2)));
        let owes_until = courtesy.until[0].load(Relaxed);
        assert!(owes_until >= 2_000_000 * (1 + SHARE));
        courtesy.until[0].store(u64::MAX, Relaxed);
        courtesy.give_way(0, || unreachable!("it is too early"));
        let mut gave_way = false;
        courtesy.give_way(1, || gave_way = true);
        assert!(gave_way, "processors do not count for each other");
    }
}
