//! The idle processors: how a processor comes to rest, and how it is given to a carrier again.
//!
//! [`crate::protocol::sleep`] explains why no wake-up is lost.

use super::{PoolCore, Shared};
use crate::machine::handlers::PoolEvent;
use crate::machine::observer::State;
use crate::machine::processor::Processor;
use crate::machine::tracer::Event;
use crate::protocol::carrier::Carrier;
use crate::protocol::commons::{Paired, Rested};
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
            self.handlers().tell(PoolEvent::Sleeps(processor.index));
            processor.leave(leaving.filter(|_| !self.crowded()).and_then(|_| affinity::here()));
            self.config.strategy.retiring(processor);
            processor.enter(State::Idle);
        }
        let (look_is_enough, starved) = {
            let mut shared = lock(&self.shared);
            let stopping = shared.stopping;
            // A fixed carrier that is told to stop keeps its processor.
            if !(self.has_fixed_threads() && stopping) {
                if self.is_listed_as_surplus(processor) {
                    shared.commons.shut(processor);
                } else {
                    shared.commons.rest([processor], &self.sleepers);
                }
            }
            if let Some(carrier) = carrier {
                self.list_spare(&mut shared, carrier);
            }
            let searcher = leaving.filter(|_| carrier.is_some());
            let sentry = searcher.is_some_and(|searcher| self.post_sentry(&mut shared, searcher));
            // Under the lock, so that a thread that queues an entry sees either no searcher, or a searcher that will
            // see the entry.
            if carrier.is_some() {
                self.config.strategy.give_up_search(self);
            }
            if stopping {
                // There is nothing more to be seen.
                return;
            }
            let starved = carrier.is_some() && shared.commons.was_starved();
            let all_idle = shared.commons.listed().count() == self.processors.len();
            // A sentry takes care of what this look does not see.
            (all_idle || sentry, starved)
        };
        // SAFETY: the pool owns the processor, and this field is for everyone.
        if starved || !unsafe { &(*processor.as_ptr()).private }.looks_empty() {
            self.wake_private();
        }
        if self.config.strategy.look_before_rest(self, look_is_enough) || starved {
            self.wake_for(leaving, |_| None);
        }
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
            let Some(rested) = shared.commons.take_rested(&self.sleepers) else { return true };
            let spare = if shared.commons.ready_is_next() {
                None
            } else {
                self.carrier_for(&mut shared, rested.processor).ok()
            };
            let paired = shared.commons.pair(rested, spare, &self.queued, &self.sleepers);
            // Not under the lock: a receiver that takes the caller's place runs before the caller does.
            drop(shared);
            let (carrier, rested) = match paired {
                Paired::Ready(ready, processor) => {
                    give(ready, processor);
                    continue;
                }
                Paired::Searcher(carrier, rested) => (carrier, rested),
                Paired::Nobody => return false,
            };
            let woken = self.call(&rested);
            // A carrier that waits looks first for a part of what it waits for.
            if !rested.waits() {
                if let Some(entry) = gift(&woken.post.mailbox) {
                    woken.post.mailbox.deliver(Some(entry));
                }
            }
            give(carrier, rested.processor);
            return true;
        }
    }

    /// Prepares a processor that has rested for a carrier that searches.
    fn call(&self, rested: &Rested<Processor>) -> &Processor {
        // SAFETY: the pool owns the processor. It is out of the lists, so it is the caller's to give.
        let woken = unsafe { &*rested.processor.as_ptr() };
        self.start_search(woken);
        woken.stats.wakes.add(1);
        woken.trace(Event::Wakes);
        self.handlers().tell(PoolEvent::Wakes(woken.index));
        woken.deque.poison();
        woken.called.set(rested.waits());
        woken.beat.woken();
        woken
    }

    /// Gives every processor that rests and has private entries to a carrier ([`crate::api::dropin::broadcast`]).
    pub(crate) fn wake_private(&self) {
        tripwire("wake_private");
        loop {
            let mut shared = lock(&self.shared);
            let Some(rested) = shared.commons.take_wanted(has_private, &self.sleepers) else { break };
            let Ok(carrier) = self.carrier_for(&mut shared, rested.processor) else {
                shared.commons.starve(rested, &self.sleepers);
                return;
            };
            drop(shared);
            let woken = self.call(&rested);
            // SAFETY: the processor is out of the lists, so it is ours to give. Its carrier, or a spare, waits for it.
            unsafe { Carrier::give(carrier, rested.processor.cast(), self.wake_on(carrier, woken)) };
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
        let processor = lock(&self.shared).commons.idle_or_queue(carrier, &self.queued, &self.sleepers);
        processor.map(attentive)
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
        (shared.commons.bring_forward(has_private) || self.work_visible())
            .then(|| self.idle_processor(&mut shared))
            .flatten()
    }

    /// Like [`PoolCore::starved_processor`], for a carrier of this pool. Only if there is no other carrier and nobody
    /// searches.
    pub(crate) fn starved_without_reserve(&self) -> Option<NonNull<Processor>> {
        if !self.any_without_holder()
            || self.config.strategy.searchers(self) > 0
            || !(self.work_visible() || self.any_private())
        {
            return None;
        }
        let mut shared = lock(&self.shared);
        if self.has_reserve_among(&shared) {
            return None;
        }
        shared.commons.bring_forward(has_private);
        self.idle_processor(&mut shared)
    }

    /// Whether any processor has entries that only its holder may take.
    fn any_private(&self) -> bool {
        self.processors.iter().any(|processor| !processor.private.looks_empty())
    }

    /// A processor that rests although it has entries that nobody else may take.
    pub(crate) fn starved_of_its_own(&self) -> Option<NonNull<Processor>> {
        if !self.any_without_holder() {
            return None;
        }
        let mut shared = lock(&self.shared);
        shared.commons.bring_forward(has_private).then(|| self.idle_processor(&mut shared)).flatten()
    }

    /// Takes a processor out of the idle list, for a carrier that will not search first.
    pub(super) fn idle_processor(&self, shared: &mut MutexGuard<'_, Shared>) -> Option<NonNull<Processor>> {
        shared.commons.take_idle(&self.sleepers).map(attentive)
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

/// An idle processor, for a carrier that will not search. The first fork looks for sleepers.
fn attentive(processor: NonNull<Processor>) -> NonNull<Processor> {
    // SAFETY: the pool owns the processor. It is out of the list, so it is the caller's to give.
    let lent = unsafe { &*processor.as_ptr() };
    lent.deque.poison();
    lent.beat.lent();
    processor
}

/// Whether a processor in a list has entries that only its holder may take.
fn has_private(processor: NonNull<Processor>) -> bool {
    // SAFETY: the pool owns the processor. This field is for everyone.
    unsafe { !(*processor.as_ptr()).private.looks_empty() }
}
