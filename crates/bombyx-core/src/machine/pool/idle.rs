//! The idle processors: how a processor comes to rest, and how it is given to a carrier again.
//!
//! [`crate::protocol::sleep`] explains why no wake-up is lost.

use super::{PoolCore, Shared};
use crate::machine::observer::State;
use crate::machine::processor::Processor;
use crate::protocol::carrier::Carrier;
use crate::protocol::job::Entry;
use crate::protocol::mailbox::Mailbox;
use crate::system::affinity;
use crate::system::guard::tripwire;
use crate::system::primitive::{MutexGuard, lock};
use std::ptr::NonNull;

impl PoolCore {
    /// Puts a processor that has nothing to do into the idle list, and its carrier among the spares. The carrier must
    /// have been a searcher. `leaving` is the caller's carrier, if it sleeps next: a carrier that must be woken takes
    /// its place.
    ///
    /// The caller must not touch the processor afterwards.
    pub(crate) fn retire(
        &self,
        processor: NonNull<Processor>,
        carrier: Option<NonNull<Carrier>>,
        leaving: Option<&Carrier>,
    ) {
        tripwire("retire");
        {
            // SAFETY: the pool owns the processor, and it belongs to the caller until it is in the list.
            let processor = unsafe { processor.as_ref() };
            processor.stats.sleeps.add(1);
            processor.leave(leaving.filter(|_| !self.config.crowded).and_then(|_| affinity::here()));
            self.config.strategy.retiring(processor);
            processor.enter(State::Idle);
        }
        let (all_idle, starved) = {
            let mut shared = lock(&self.shared);
            let stopping = shared.stopping;
            // A fixed carrier that is told to stop keeps its processor.
            if !(self.has_fixed_threads() && stopping) {
                shared.idle.push(processor);
            }
            self.count_resting(&shared);
            if let Some(carrier) = carrier {
                self.list_spare(&mut shared, carrier);
            }
            // Under the lock, so that whoever queues an entry sees either no searcher, or a searcher that will see the
            // entry.
            if carrier.is_some() {
                self.config.strategy.give_up_search(self);
            }
            if stopping {
                // There is nothing more to be seen.
                return;
            }
            let starved = carrier.is_some() && std::mem::take(&mut shared.starved);
            (shared.idle.len() + shared.waiting.len() == self.processors.len(), starved)
        };
        // SAFETY: the pool owns the processor, and this field is for everyone.
        if starved || !unsafe { &(*processor.as_ptr()).private }.looks_empty() {
            self.wake_private();
        }
        if self.config.strategy.look_before_rest(self, all_idle) || starved {
            self.wake_for(leaving, |_| None);
        }
    }

    /// Says how many processors rest. The caller holds the lock.
    pub(crate) fn count_resting(&self, shared: &Shared) {
        self.sleepers.set_resting(shared.idle.len() + shared.waiting.len());
    }

    /// Gives an idle processor to a spare carrier, if there is one, along with an entry: `gift` receives the mailbox
    /// where that entry will lie. Carriers that wait for a processor come first. They need no spare to bring it to
    /// them, and there may be none.
    ///
    /// Returns false if a processor rests and the pool can start no carrier for it.
    #[cold]
    pub(crate) fn wake(&self, gift: impl FnOnce(&Mailbox) -> Option<Entry>) -> bool {
        self.wake_for(None, gift)
    }

    /// Like [`PoolCore::wake`], called for a carrier that is leaving, if any.
    pub(super) fn wake_for(
        &self,
        leaving: Option<&Carrier>,
        gift: impl FnOnce(&Mailbox) -> Option<Entry>,
    ) -> bool {
        let mut gift = Some(gift);
        let mut gift = move |mailbox: &Mailbox| gift.take().and_then(|gift| gift(mailbox));
        let give = |carrier, processor| {
            // SAFETY: the pool owns the processor, which is out of the list. The carrier came out of the queue or the
            // list of spares.
            unsafe {
                match leaving {
                    Some(leaving) => self.pass_on(leaving, carrier, processor),
                    None => {
                        Carrier::give(carrier, processor.cast(), self.wake_on(carrier, processor.as_ref()))
                    }
                }
            }
        };
        loop {
            let mut shared = lock(&self.shared);
            let Some((processor, waits)) = shared.rested() else { return true };
            self.count_resting(&shared);
            // The queue is served in the order of arrival. But if the pool can start no carrier for its front, a ready
            // carrier further back goes first, because it needs no other carrier.
            let mut ready = shared.queue.first_carrier().filter(|&(at, _)| at == 0);
            let carrier = match ready {
                Some(_) => None,
                None => self.carrier_for(&mut shared, processor).ok(),
            };
            if carrier.is_none() {
                ready = shared.queue.first_carrier();
            }
            if let Some((at, ready)) = ready {
                shared.queue.remove(at, &self.queued);
                // Not under the lock: a receiver that takes the caller's place runs before the caller does.
                drop(shared);
                give(ready, processor);
                continue;
            }
            let Some(carrier) = carrier else {
                shared.idle.push(processor);
                self.count_resting(&shared);
                shared.starved = true;
                return false;
            };
            drop(shared);
            // SAFETY: the pool owns the processor. It is out of the list, so it is ours to give.
            let woken = unsafe { processor.as_ref() };
            self.start_search(woken);
            woken.stats.wakes.add(1);
            woken.deque.poison();
            woken.called.set(waits);
            // A carrier that waits looks first for a part of what it waits for.
            if !waits && let Some(entry) = gift(&woken.post.mailbox) {
                woken.post.mailbox.deliver(Some(entry));
            }
            give(carrier, processor);
            return true;
        }
    }

    /// Gives every processor that rests and has private entries to a carrier ([`crate::api::dropin::broadcast`]).
    pub(crate) fn wake_private(&self) {
        tripwire("wake_private");
        loop {
            let mut shared = lock(&self.shared);
            // SAFETY: the pool owns the processors in the lists.
            let private =
                |processor: &NonNull<Processor>| unsafe { !(*processor.as_ptr()).private.looks_empty() };
            let idle = shared.idle.iter().position(private);
            let waiting = shared.waiting.iter().position(private);
            let (processor, waits) = match (idle, waiting) {
                (Some(at), _) => (shared.idle[at], false),
                (None, Some(at)) => (shared.waiting[at], true),
                (None, None) => break,
            };
            let Ok(carrier) = self.carrier_for(&mut shared, processor) else {
                shared.starved = true;
                return;
            };
            shared.idle.retain(|&idle| idle != processor);
            shared.waiting.retain(|&waiting| waiting != processor);
            self.count_resting(&shared);
            drop(shared);
            // SAFETY: the pool owns the processor. It is out of the lists, so it is ours to give. Its carrier, or a
            // spare, waits for it.
            unsafe {
                self.start_search(processor.as_ref());
                processor.as_ref().stats.wakes.add(1);
                processor.as_ref().deque.poison();
                processor.as_ref().called.set(waits);
                Carrier::give(carrier, processor.cast(), self.wake_on(carrier, processor.as_ref()));
            }
        }
        // A fixed carrier may nap instead.
        for (carrier, processor) in self.fixed_carriers.iter().zip(&self.processors) {
            if !processor.private.looks_empty() {
                carrier.nudge();
            }
        }
    }

    /// Makes sure that a carrier of this pool that has become ready gets a processor: an idle one, or the next to come
    /// free.
    pub(crate) fn readmit(&self, carrier: NonNull<Carrier>) {
        if self.has_fixed_threads() {
            return self.rouse(carrier);
        }
        match self.idle_or_queue(carrier) {
            // SAFETY: the caller found the carrier waiting, and the processor came out of the list.
            Some(processor) => unsafe {
                Carrier::give(carrier, processor.cast(), self.wake_on(carrier, processor.as_ref()));
            },
            None => self.wake_if_resting(),
        }
    }

    /// A processor for a ready carrier: an idle one if nobody waits for it. Otherwise the carrier is queued behind
    /// those that wait already.
    pub(super) fn idle_or_queue(&self, carrier: NonNull<Carrier>) -> Option<NonNull<Processor>> {
        let mut shared = lock(&self.shared);
        if shared.queue.is_empty()
            && let Some(processor) = self.idle_processor(&mut shared)
        {
            return Some(processor);
        }
        shared.queue.push(Entry::carrier(carrier), &self.queued);
        None
    }

    /// Makes sure that a resting processor serves the queue.
    pub(super) fn wake_if_resting(&self) {
        if self.sleepers.any_resting() {
            self.wake(|_| None);
        }
    }

    /// An idle processor for the calling thread itself.
    pub(crate) fn borrow_processor(&self) -> Option<NonNull<Processor>> {
        if !self.sleepers.any_resting() {
            return None;
        }
        self.idle_processor(&mut lock(&self.shared))
    }

    /// A processor that rests although there is work, for a thread that has waited for a carrier in vain. A processor
    /// with entries that nobody else may take goes first.
    pub(crate) fn starved_processor(&self) -> Option<NonNull<Processor>> {
        let mut shared = lock(&self.shared);
        (bring_forward(&mut shared) || self.work_visible())
            .then(|| self.idle_processor(&mut shared))
            .flatten()
    }

    /// Like [`PoolCore::starved_processor`], for a carrier of this pool. Only if there is no other carrier and nobody
    /// searches.
    pub(crate) fn starved_without_reserve(&self) -> Option<NonNull<Processor>> {
        if !self.sleepers.any_resting()
            || self.config.strategy.searchers(self) > 0
            || !(self.work_visible() || self.any_private())
        {
            return None;
        }
        let mut shared = lock(&self.shared);
        if self.has_reserve_among(&shared) {
            return None;
        }
        bring_forward(&mut shared);
        self.idle_processor(&mut shared)
    }

    /// Whether any processor has entries that only its holder may take.
    fn any_private(&self) -> bool {
        self.processors.iter().any(|processor| !processor.private.looks_empty())
    }

    /// A processor that rests although it has entries that nobody else may take.
    pub(crate) fn starved_of_its_own(&self) -> Option<NonNull<Processor>> {
        if !self.sleepers.any_resting() {
            return None;
        }
        let mut shared = lock(&self.shared);
        bring_forward(&mut shared).then(|| self.idle_processor(&mut shared)).flatten()
    }

    /// Takes a processor out of the idle list, for a carrier that will not search first.
    pub(super) fn idle_processor(&self, shared: &mut MutexGuard<'_, Shared>) -> Option<NonNull<Processor>> {
        let processor = shared.idle.pop()?;
        self.count_resting(shared);
        // SAFETY: the pool owns the processor. Its first fork must look for sleepers.
        unsafe { processor.as_ref() }.deque.poison();
        Some(processor)
    }

    /// A processor for a carrier that comes back from blocking: an idle one, or else the one that it is given later.
    pub(crate) fn acquire(&self, carrier: &Carrier) -> NonNull<Processor> {
        tripwire("acquire");
        match self.idle_or_queue(NonNull::from(carrier)) {
            Some(processor) => return processor,
            None => self.wake_if_resting(),
        }
        carrier.receive().unwrap_or_else(|| unreachable!("only spares are stopped")).cast()
    }
}

/// Makes sure that the next processor out of the idle list is one with private entries, if there is one.
fn bring_forward(shared: &mut Shared) -> bool {
    // SAFETY: the pool owns the processors in the list.
    let private = |processor: &NonNull<Processor>| unsafe { !(*processor.as_ptr()).private.looks_empty() };
    let Some(at) = shared.idle.iter().position(private) else { return false };
    let last = shared.idle.len() - 1;
    shared.idle.swap(at, last);
    true
}
