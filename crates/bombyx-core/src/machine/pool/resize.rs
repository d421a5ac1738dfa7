//! How many processors a pool uses. The number can change while the pool works.
//!
//! The pool has a fixed array of processors. The first of them are in *service*. The others are *surplus*. A surplus
//! processor finishes what it has begun: when its own entries are done, it takes nothing from others. Then it does not
//! rest but is *shut*: it goes to a separate list ([`crate::protocol::commons`]). When the number rises, processors that
//! were shut come to rest like any other, and are woken.
//!
//! # No processor is in the wrong list
//!
//! The number changes under the lock of the pool, and whoever changes it sorts both lists before it releases the lock.
//! Whoever lists a processor reads the number under the same lock. So whenever the lock is free, the idle list holds only
//! processors in service, and the other list only surplus ones. A processor that is neither is held by a carrier, or on
//! its way to one.
//!
//! # No wake-up is lost
//!
//! The protocol of sleep ([`crate::protocol::sleep`]) promises: while a processor rests and there is work, somebody
//! searches, or is woken, or will notice at the next fork. Here *rests* means: is in the idle list. The promise could fail
//! in four places:
//!
//! - **A searcher turns out to be surplus.** Others may have relied on it. It goes to rest without a look around, but in the
//!   same way as a searcher that has found nothing ([`PoolCore::retire`]): it leaves the count of searchers under the lock,
//!   and after that it does what a searcher does before it sleeps. It makes sure that every fork notices those who rest,
//!   looks for work, and wakes somebody if there is any. That its own processor is not among those who rest changes
//!   nothing.
//! - **A processor that was just woken turns out to be surplus.** Whoever woke it has counted it as a searcher, so this is
//!   the same case. If the waker gave it an entry, it runs that entry first.
//! - **A processor that rests is shut.** It had no duty. If nobody else rests, the promise is void: all processors in
//!   service have a carrier, and each looks around before it rests.
//! - **A processor that was shut rests from now on.** Forks before that saw nobody rest, and have woken nobody. So whoever
//!   raises the number wakes each of these processors, and they search. If the pool can start no carrier for them, it is
//!   *starved*, as always, and whoever lists a spare wakes somebody.
//!
//! # What a surplus processor has
//!
//! When it is shut, its deque is empty, and nothing is on its way to it. Private entries may come later. Whoever posts them
//! looks for the processor in that list, too, and gives it to a carrier. It is shut again when they are done. An offer may
//! still stand; it is visible to every thief, and its join can take it back.
//!
//! A frame that waits on the stack of a surplus processor's carrier needs no processor. When it can go on, it gets the
//! processor of whoever made it ready, or waits in the queue. At least one processor is in service, so the queue is served.
//!
//! Without the lock, a processor may read an old number. Then it runs one more entry, or goes to rest and is in the right
//! list there.

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

    /// Whether the processor is out of service, or should soon be.
    pub(crate) fn is_surplus(&self, processor: &Processor) -> bool {
        processor.index >= self.in_service()
    }

    /// Like [`PoolCore::is_surplus`], for a processor that may be in a list.
    pub(super) fn is_listed_as_surplus(&self, processor: NonNull<Processor>) -> bool {
        // SAFETY: the pool owns the processor, and nobody writes the number.
        (unsafe { (*processor.as_ptr()).index }) >= self.in_service()
    }

    /// Whether there may be a processor that nobody holds: one that rests, or one that is shut.
    pub(super) fn any_without_holder(&self) -> bool {
        self.sleepers.any_resting() || self.in_service() < self.processors.len()
    }

    /// From now on, so many processors are in service: at least one, and no more than there are.
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
