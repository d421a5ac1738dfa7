//! Pools with fixed threads: carrier i holds processor i for as long as the pool lives.
//!
//! Here programs can rely on which thread they run on. They may keep tallies in thread-locals and collect them by a
//! broadcast, use [`crate::current_processor`] as an index into their buffers, or pin threads when they start. In a
//! pool with moving threads ([`Threads::Moving`](crate::Threads::Moving)), a carrier that waits may go on with another
//! processor, and there are more carriers than processors. With fixed threads neither happens: a thread keeps its
//! index, and a pool of P processors has P threads. Forks and joins are the same code. Only the wait differs, and the
//! scheduler decides on it ([`Strategy::wait_fixed`](crate::machine::strategy::Strategy::wait_fixed)).
//!
//! **Why no carrier sleeps for ever.** A waiting carrier names itself at the latch before it sleeps. The setter of the
//! latch then [rouses](PoolCore::rouse) it. Under the lock of the pool, the setter takes the carrier's processor out of
//! the list and gives it to the carrier. If the processor is not listed, the setter unparks the carrier's thread. The
//! carrier looks at the latch under the same lock before it lists its processor. If the setter gets the lock first, the
//! carrier sees that the latch is set. If the carrier gets it first, the setter finds the processor. A carrier that
//! naps does not list its processor and parks with a time limit. An unpark that comes before it parks makes the park
//! return at once.
//!
//! A fork, or a late setter of an earlier latch, may wake a carrier whose latch is not set. So every wait looks again. In
//! such pools the carriers belong to the pool, so a late setter never touches memory that is gone.

use crate::machine::current;
use crate::machine::hand_over::{release, take_hold};
use crate::machine::handlers::PoolEvent;
use crate::machine::observer::State;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::protocol::carrier::{Carrier, WakeOn};
use crate::protocol::job::Entry;
use crate::protocol::latch::Latch;
use crate::system::guard::guarded;
use crate::system::primitive::lock;
use crate::system::topology::Topology;
use std::ptr::{self, NonNull};

impl PoolCore {
    /// The carrier that holds a processor for the life of the pool.
    pub(crate) fn carrier_of(&self, processor: &Processor) -> Option<&Carrier> {
        self.fixed_carriers.get(processor.index).map(|carrier| &**carrier)
    }

    /// Whether some processor is idle while its carrier does not wait for anything.
    pub(crate) fn any_idle(&self) -> bool {
        self.sleepers.any_resting() && lock(&self.shared).commons.any_idle()
    }

    /// Whether anybody else searches. The caller is `counted` as a searcher or not.
    pub(crate) fn others_search(&self, counted: bool) -> bool {
        self.sleepers.searching() > usize::from(counted)
    }

    /// Puts an entry that was taken by mistake into the queue.
    #[cold]
    pub(crate) fn requeue(&self, entry: Entry) {
        self.put_back([entry]);
        self.wake(|_| None);
    }

    /// Lets the calling carrier sleep in the middle of a wait, with its processor in the list, until somebody has work
    /// or `latch` is set. The carrier has named itself at `latch`. Returns false if the latch is set already.
    pub(crate) fn doze(&self, carrier: &Carrier, latch: &Latch, searching: bool) -> bool {
        let processor = current::held();
        processor.stats.sleeps.add(1);
        self.handlers().tell(PoolEvent::Sleeps(processor.index));
        release();
        let listed = {
            let mut shared = lock(&self.shared);
            shared.commons.doze(NonNull::from(processor), latch, &self.sleepers)
        };
        if searching {
            self.sleepers.stop_search();
        }
        if !listed {
            take_hold(NonNull::from(processor));
            return false;
        }
        processor.enter(State::Idle);
        if !processor.private.looks_empty() {
            self.wake_private();
        }
        if self.look_unless_searched() {
            self.wake(|_| None);
        }
        match carrier.receive() {
            Some(processor) => take_hold(processor.cast()),
            None => unreachable!("a carrier in the middle of a wait is not stopped"),
        }
        true
    }

    /// Wakes a carrier whose latch is set, if the carrier sleeps. For pools with fixed threads.
    #[cold]
    #[inline(never)]
    pub(crate) fn rouse(&self, carrier: NonNull<Carrier>) {
        let mut shared = lock(&self.shared);
        // SAFETY: the carriers of such a pool live as long as the pool.
        let sleeper = unsafe { carrier.as_ref() };
        let own = |processor: NonNull<Processor>| {
            // SAFETY: the pool owns the processors.
            self.carrier_of(unsafe { processor.as_ref() }).is_some_and(|fixed| ptr::eq(fixed, sleeper))
        };
        match shared.commons.rouse(own, &self.sleepers) {
            Some(processor) => {
                drop(shared);
                // SAFETY: the processor came out of the list, and its carrier waits only for this processor.
                unsafe { Carrier::give(carrier, processor.cast(), WakeOn::Anywhere) };
            }
            None => {
                drop(shared);
                sleeper.nudge();
            }
        }
    }

    /// Whether every carrier holds one processor for the life of the pool.
    #[inline]
    pub(crate) fn has_fixed_threads(&self) -> bool {
        !self.fixed_carriers.is_empty()
    }
}

/// The life of a carrier that always holds the same processor, from its start handler to its exit handler.
pub(crate) fn live(pool: &PoolCore, carrier: &Carrier, index: usize) {
    guarded(|| {
        let processor = NonNull::from(&pool.processors()[index]);
        current::set_carrier(Some(NonNull::from(carrier)));
        take_hold(processor);
        pool.handlers().started(index);
        pool.start_search(current::held());
        crate::machine::wait::work(pool);
        Topology::learn();
        let receive = || pool.stand_sentry(carrier).unwrap_or_else(|| carrier.receive().map(NonNull::cast));
        while let Some(processor) = receive() {
            take_hold(processor);
            crate::machine::wait::work(pool);
        }
        // Nobody lists the processor any more, so it belongs to this thread.
        take_hold(processor);
        pool.handlers().exited(index);
        release();
        current::set_carrier(None);
    });
}
