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
//! ([`Sleepers::rest`]). It enters itself among the resting, issues a full fence, and then reads the count of searchers.
//! The last searcher leaves the count, issues a full fence, and then reads how many rest. So one of the two sees the
//! other, and looks. This matters most for a thread outside the pool that calls the pool again and again: a barrier
//! interrupts every running thread, and would cost such a caller more than a short region does.
//!
//! # The sentry
//!
//! A pool may decide that its forks wake nobody ([`crate::machine::rhythm`]). Then one of the sleeping carriers is the
//! *sentry*. It sleeps for a limited time, looks around, and wakes somebody if there is work. A mark says that there is a
//! sentry. All that rely on a searcher may rely on the sentry instead: a fork that attends, a processor that comes to
//! rest, and the last searcher that finds work. All three first store something (an entry, or a count), then order the
//! store (`light` in the fork, a full fence in the others), and then read the mark.
//!
//! The sentry can end in two ways. (a) It is given a processor. The giver has counted it as a searcher by then, and its
//! search ends like any other. (b) It ends by itself. Then it first takes the mark away, and after that does (2) to (4).
//!
//! In case (b), consider a fork that saw the mark. Either the look of (4) sees the fork's entry, or the fork read the mark
//! after the barrier of (3). The second is impossible, because the mark was gone by then. The fork also reads the counts of
//! sleepers and searchers. If it reads them after the barrier, it sees what others wrote there before they saw the mark,
//! because their fence came before the barrier.
//!
//! # Rounds
//!
//! Steps (2) and (3) are a *round*. A round stores to a cache line of every processor, and its barrier interrupts every
//! core that runs a thread of the process. So a pool leaves some time between two rounds, more on more cores
//! ([`crate::machine::pool`]). If it is too early for a round, the pool does one of two other things, and both are as
//! good as a round. A searcher that wants to rest becomes the sentry. Otherwise, a searcher that wants to rest or has
//! found work wakes somebody. Among private deques there are no sentries, so there a searcher that wants to rest too early
//! wakes somebody, perhaps itself.
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

/// The counts of the protocol. See the module text. They have their own cache lines, because what lies beside them
/// in the pool is read all the time.
#[repr(align(128))]
pub(crate) struct Sleepers {
    /// Carriers that search, or were given a processor in order to search.
    searching: AtomicUsize,
    /// Processors in the idle list.
    resting: AtomicUsize,
    /// 1 while there is a sentry.
    sentry: AtomicUsize,
    /// Counts forks that relied on the sentry. It may lose some.
    postponed: AtomicUsize,
}

impl Sleepers {
    /// With `resting` processors at rest.
    pub(crate) fn new(resting: usize) -> Sleepers {
        Sleepers {
            searching: AtomicUsize::new(0),
            resting: AtomicUsize::new(resting),
            sentry: AtomicUsize::new(0),
            postponed: AtomicUsize::new(0),
        }
    }

    /// Says how many processors rest. The caller holds the lock of the idle list.
    pub(crate) fn set_resting(&self, resting: usize) {
        self.resting.store(resting, Relaxed);
    }

    /// Whether any processor rests.
    pub(crate) fn any_resting(&self) -> bool {
        self.resting() > 0
    }

    /// How many processors rest.
    pub(crate) fn resting(&self) -> usize {
        self.resting.load(Relaxed)
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

    /// Removes a searcher that has found work from the count. Returns whether somebody must be woken.
    ///
    /// If it was the last searcher, others rest, and there is no sentry, it must look in their place. If something is
    /// `visible` at once, somebody must be woken. Otherwise `look` takes steps (2) to (4), or says that somebody must be
    /// woken. The caller also sees what others queued because they saw it search.
    #[must_use]
    pub(crate) fn found_work(&self, visible: impl FnOnce() -> bool, look: impl FnOnce() -> bool) -> bool {
        if !self.stop_search() {
            return false;
        }
        // Pairs with the fence in `is_searched`.
        barrier::full();
        self.any_resting()
            && !planted(Fault::FindWithoutPassingOn)
            && (visible() || !self.has_sentry() && look())
    }

    /// Whether a fork that attends should wake a sleeper, unless there is a sentry.
    pub(crate) fn wants_wake(&self) -> bool {
        self.any_resting() && self.searching() == 0
    }

    /// Whether there is a sentry, which will see what the caller did before a fence or barrier.
    pub(crate) fn has_sentry(&self) -> bool {
        self.sentry.load(Relaxed) == 1
    }

    /// The caller becomes the sentry. It is a searcher that is about to rest, and holds the lock of the idle list.
    pub(crate) fn post_sentry(&self) {
        self.sentry.store(1, Relaxed);
    }

    /// A fork relies on the sentry.
    pub(crate) fn postpone(&self) {
        self.postponed.store(self.postponed.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// How many forks have relied on the sentry.
    pub(crate) fn postponed(&self) -> usize {
        self.postponed.load(Relaxed)
    }

    /// The caller is no longer the sentry, and is counted as a searcher.
    pub(crate) fn relieve_sentry(&self) {
        self.sentry.store(0, Relaxed);
    }

    /// The caller is no longer the sentry, and sleeps. `look` takes steps (2) to (4), or says that somebody must be woken.
    #[must_use]
    pub(crate) fn end_watch(&self, look: impl FnOnce() -> bool) -> bool {
        if planted(Fault::SentryLooksFirst) {
            let seen = look();
            self.relieve_sentry();
            return seen;
        }
        self.relieve_sentry();
        look()
    }

    /// A processor has been entered among the resting. `look` takes steps (2) to (4), or says that somebody must be woken.
    /// If somebody searches, or if there is a sentry, that one takes these steps later.
    #[must_use]
    pub(crate) fn rest(&self, look: impl FnOnce() -> bool) -> bool {
        !self.is_searched() && !self.has_sentry() && look()
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
