//! How many processors a pool uses. The number can change while the pool works.
//!
//! The pool has a fixed array of processors. The first of them are *in service*. The others are *surplus*. A surplus
//! processor finishes what it has begun, and takes nothing from others. When its own entries are done, it does not rest.
//! It is *shut* instead: it goes to a separate list ([`crate::protocol::commons`]). When the number rises, processors that
//! were shut move to the idle list, and the pool wakes them.
//!
//! # No processor is in the wrong list
//!
//! The number changes under the lock of the pool, and the same caller sorts both lists before it releases the lock. A
//! carrier that lists a processor reads the number under the same lock. So whenever the lock is free, the idle list
//! holds only processors in service, and the list of shut processors holds only surplus ones. If a processor is in
//! neither list, a carrier holds it, or it is on its way to a carrier.
//!
//! # No wake-up is lost
//!
//! The protocol of sleep ([`crate::protocol::sleep`]) promises: while a processor rests and there is work, somebody
//! searches, or is woken, or will notice at the next fork. A processor *rests* while it is in the idle list. Resizing could
//! break the promise in four places:
//!
//! - **A searcher turns out to be surplus.** Others may have relied on it. It stops searching at once. Then it does the same as
//!   a searcher that has found nothing ([`PoolCore::retire`]). Under the lock, it leaves the count of searchers. After that, it
//!   makes sure that every fork notices the processors that rest, looks for work, and wakes somebody if there is any. Its own
//!   processor is shut and does not rest, but none of these steps depends on that.
//! - **A processor that was just woken turns out to be surplus.** Its waker has counted it as a searcher, so this is
//!   the same case. If it was given an entry, it runs that entry first.
//! - **A processor that rests is shut.** It had no duty. If no other processor rests, nothing is promised: all processors in
//!   service have a carrier, and each of them looks around before it rests.
//! - **A processor that was shut rests from now on.** Earlier forks may have seen that no processor rests, and have
//!   woken nobody. So the caller that raises the number wakes each of these processors, and they search. If the pool
//!   can start no carrier for them, it notes that it is *starved*, as always, and the next thread that lists a spare
//!   wakes somebody.
//!
//! # What a surplus processor has
//!
//! When a processor is shut, its deque is empty, and nothing is on its way to it. Private entries may come later. Their
//! poster also looks among the processors that are shut, and gives this one to a carrier. When the entries are done, it
//! is shut again. Its offer may still stand: every thief sees the offer, and its join can take it back.
//!
//! A frame that waits on the stack of a surplus processor's carrier needs no processor. When the frame can go on, it gets the
//! processor of whoever made it ready, or waits in the queue. At least one processor is in service, so somebody serves the
//! queue.
//!
//! A processor reads the number without the lock, so it may read an old one. Then it runs one more entry, or it retires too
//! early. In the second case it reads the number again, under the lock, and so goes to the right list.

use super::PoolCore;
use crate::machine::processor::Processor;
use crate::system::primitive::lock;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

impl PoolCore {
    /// How many processors are in service.
    #[inline]
    pub(crate) fn in_service(&self) -> usize {
        self.in_service.load(Relaxed)
    }

    /// Whether there are more processors in service than cores, so that spinning takes time from others.
    #[inline]
    pub(crate) fn crowded(&self) -> bool {
        self.in_service() > self.config.cores
    }

    /// Whether the processor is surplus. Without the lock, the answer may be old.
    pub(crate) fn is_surplus(&self, processor: &Processor) -> bool {
        processor.index >= self.in_service()
    }

    /// Like [`PoolCore::is_surplus`], for a processor that the caller does not hold.
    pub(super) fn is_listed_as_surplus(&self, processor: NonNull<Processor>) -> bool {
        // SAFETY: the pool owns the processor, and nobody writes the number.
        (unsafe { (*processor.as_ptr()).index }) >= self.in_service()
    }

    /// Whether there may be a processor that nobody holds: one that rests, or one that is shut.
    pub(super) fn any_without_holder(&self) -> bool {
        self.sleepers.any_resting() || self.in_service() < self.processors.len()
    }

    /// Changes how many processors are in service: at least one, and no more than the pool has.
    pub(crate) fn serve_with(&self, processors: usize) {
        debug_assert!((1..=self.processors.len()).contains(&processors), "the caller has checked this");
        let back = {
            let mut shared = lock(&self.shared);
            self.in_service.store(processors, Relaxed);
            self.notice.set_in_service(processors);
            shared.commons.sort_out(|processor| self.is_listed_as_surplus(processor), &self.sleepers)
        };
        for _ in 0..back {
            if !self.wake(|_| None) {
                break;
            }
        }
    }
}
