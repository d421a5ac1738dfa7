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
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

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

/// Runs dummy threads, which do nothing (DFD §3.3). A processor that runs one has lost its deque and steals. With
/// more processors than cores, the threads that come first may need this processor's core in order to appear. So the
/// processor yields its core now and then. The kernel may give the core to another program for milliseconds. So after a
/// yield, the processor waits [`SHARE`] times as long as the yield took before it yields again.
pub(super) struct Courtesy {
    start: Instant,
    /// When each processor may yield again, in nanoseconds since the start.
    until: Box<[AtomicU64]>,
}

impl Courtesy {
    pub(super) fn new(processors: usize) -> Courtesy {
        Courtesy { start: Instant::now(), until: (0..processors).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(super) fn run_dummy(&self, processor: &Processor) {
        if processor.pool().crowded() && processor.rng.below(DUMMIES_PER_LOOK) == 0 {
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

/// A yield takes microseconds, a look at the clock tens of nanoseconds; a dummy thread takes a tenth of a microsecond.
const DUMMIES_PER_LOOK: usize = 8;
/// Yields take at most one part in `SHARE + 1` of a processor's time.
const SHARE: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn after_a_long_yield_comes_a_longer_time_without() {
        let courtesy = Courtesy::new(2);
        courtesy.give_way(0, || sleep(Duration::from_millis(2)));
        let until = courtesy.until[0].load(Relaxed);
        assert!(until >= 2_000_000 * (1 + SHARE));
        courtesy.until[0].store(u64::MAX, Relaxed);
        courtesy.give_way(0, || unreachable!("it is too early"));
        let mut gave_way = false;
        courtesy.give_way(1, || gave_way = true);
        assert!(gave_way, "each processor counts for itself");
    }
}
