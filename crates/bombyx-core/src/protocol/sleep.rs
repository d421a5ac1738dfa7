//! How processors fall asleep and are woken without a fence on any fork.
//!
//! The danger is the lost wake-up: a fork that sees no sleeper, and a sleeper that does not see the fork's entry. The
//! forker must not pay for this. Every fork compares with the *limit* of its deque anyway. At the limit it takes a slow
//! path, in which it *attends* to others ([`crate::protocol::deque`]). To *poison* a limit means to set it so that the
//! next fork attends. So:
//!
//! - A processor falls asleep in four steps. (1) It is entered among the resting, and its carrier leaves the count of
//!   searchers. (2) It poisons the limit of every deque. (3) It issues the heavy barrier. (4) It looks once more at
//!   every deque and the queue. If there is anything, somebody must be woken, perhaps the processor itself.
//! - A fork pushes its entry and then compares with its limit (`light` between). If the limit is poisoned, the fork
//!   attends, lifts the poison, and wakes a sleeper if nobody searches.
//!
//! By the asymmetric barrier, either the fork sees the poison of (2), or the look of (4) sees the fork's entry. The
//! poison is lifted by a swap that synchronises with (2), so the attending fork sees (1) as well. If another poison
//! made it attend, the poison of (2) is still to come, and (4) after it.
//!
//! *One searcher is enough.* A fork wakes only if nobody searches. A searcher that finds work and was the last
//! one passes the duty on: if others rest, it does (2) to (4) in their place. So while processors rest, somebody
//! searches, or every fork will notice.
//!
//! A processor that falls asleep while somebody else searches leaves (2) to (4) to that searcher
//! ([`Sleepers::rest`]). It enters itself among the resting, issues a full fence, and then reads the count of searchers. The
//! last searcher leaves the count, issues a full fence, and then reads how many rest. So one of the two sees the other, and
//! looks. This matters most for a thread outside of the pool that calls in again and again: a barrier interrupts every
//! running thread, and would cost such a caller more than a short region does.
//!
//! # Private deques
//!
//! With [private deques](crate::protocol::deque::Deque::private), searchers keep no count: that would cost a
//! read-modify-write per steal. Instead each processor has a flag that says whether it searches. A fork that attends
//! while processors rest wakes one of them if no flag is set. It leaves its limit poisoned as long as any processor
//! rests, so that its next fork looks again. Nobody passes a duty on.
//!
//! Nobody can take an entry from a private deque without its owner. So a sleeper need not look for entries, but every
//! owner must look for sleepers at one of its next forks. An owner lifts its limit by a plain store and then (`light`
//! between) looks whether any processor rests. So the sleeper does (1), (3) and (2), in this order: an owner that did
//! not see (1) has lifted its limit before the barrier of (3), and thus before the poison of (2), which stays.
//!
//! # Without the barrier
//!
//! A processor that does not rely on the heavy barrier ([`crate::system::barrier`]) attends at every fork, and issues a
//! full fence before it looks for sleepers. So the sleeper's fence is enough. If processors rely on a barrier that the
//! system refuses, the sleeper waits a moment before it looks. The limits are poisoned by then, so it can miss only
//! forks of that moment.

use crate::protocol::deque::Deque;
use crate::system::barrier;
use crate::system::fault::{Fault, planted};
use crate::system::primitive::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// The two counts of the protocol. See the module text. They have their own cache lines, because what lies beside them
/// in the pool is read all the time.
#[repr(align(128))]
pub(crate) struct Sleepers {
    /// Carriers that search, or were given a processor in order to search.
    searching: AtomicUsize,
    /// Processors in the idle list.
    resting: AtomicUsize,
}

impl Sleepers {
    /// With `resting` processors at rest.
    pub(crate) fn new(resting: usize) -> Sleepers {
        Sleepers { searching: AtomicUsize::new(0), resting: AtomicUsize::new(resting) }
    }

    /// Says how many processors rest. The caller holds the lock of the idle list.
    pub(crate) fn set_resting(&self, resting: usize) {
        self.resting.store(resting, Relaxed);
    }

    /// Whether any processor rests.
    pub(crate) fn any_resting(&self) -> bool {
        self.resting.load(Relaxed) > 0
    }

    /// Counts the caller, or the carrier that it is about to give a processor to, as a searcher.
    pub(crate) fn start_search(&self) {
        self.searching.fetch_add(1, AcqRel);
    }

    /// Removes a searcher from the count. Returns whether it was the last one.
    pub(crate) fn stop_search(&self) -> bool {
        self.searching.fetch_sub(1, AcqRel) == 1
    }

    /// How many search.
    pub(crate) fn searching(&self) -> usize {
        self.searching.load(Relaxed)
    }

    /// Whether there is a searcher that will see what the caller did before: queued an entry
    /// ([`crate::protocol::queue`]), or entered a processor among the resting.
    pub(crate) fn is_searched(&self) -> bool {
        if !planted(Fault::QueueWithoutFence) {
            // Pairs with the fence in `found_work`.
            barrier::full();
        }
        self.searching() > 0
    }

    /// Removes a searcher that has found work from the count. If it was the last one and others rest, it takes steps (2)
    /// to (4) in their place, unless it sees something at once. It also sees what was queued by those who saw it search.
    /// Returns whether there is something, so that somebody must be woken.
    #[must_use]
    pub(crate) fn found_work<'a>(
        &self,
        deques: impl Iterator<Item = &'a Deque> + Clone,
        wait_for_stores: impl FnOnce(),
        visible: impl Fn() -> bool,
    ) -> bool {
        if !self.stop_search() {
            return false;
        }
        // Pairs with the fence in `is_searched`.
        barrier::full();
        self.any_resting()
            && !planted(Fault::FindWithoutPassingOn)
            && (visible() || self.look_once_more(deques, wait_for_stores, visible))
    }

    /// Whether a fork that attends should wake a sleeper.
    pub(crate) fn wants_wake(&self) -> bool {
        self.any_resting() && self.searching() == 0
    }

    /// Steps (2) to (4) of a processor that has been entered among the resting. If somebody searches, that searcher takes
    /// these steps later. Returns whether there is something already.
    #[must_use]
    pub(crate) fn rest<'a>(
        &self,
        deques: impl Iterator<Item = &'a Deque> + Clone,
        wait_for_stores: impl FnOnce(),
        visible: impl Fn() -> bool,
    ) -> bool {
        !self.is_searched() && self.look_once_more(deques, wait_for_stores, visible)
    }

    /// Steps (2) to (4): makes sure that every later fork will attend. Returns whether there is something already, in a
    /// deque or elsewhere, as `visible` sees. If the barrier is refused, `wait_for_stores` waits instead.
    #[must_use]
    pub(crate) fn look_once_more<'a>(
        &self,
        deques: impl Iterator<Item = &'a Deque> + Clone,
        wait_for_stores: impl FnOnce(),
        visible: impl Fn() -> bool,
    ) -> bool {
        for deque in deques.clone() {
            deque.poison();
        }
        if !barrier::heavy(deques.map(|deque| &deque.side)) {
            wait_for_stores();
        }
        !planted(Fault::SleepWithoutSecondLook) && visible()
    }

    /// Steps (3) and (2) for private deques: makes sure that every owner that has not seen a processor rest will
    /// attend.
    pub(crate) fn call<'a>(
        &self,
        deques: impl Iterator<Item = &'a Deque> + Clone,
        wait_for_stores: impl FnOnce(),
    ) {
        // Pairs with `light` in `attend` of private deques.
        if !planted(Fault::PoisonBeforeBarrier) && !barrier::heavy(deques.clone().map(|deque| &deque.side)) {
            wait_for_stores();
        }
        for deque in deques {
            deque.poison();
        }
    }
}
