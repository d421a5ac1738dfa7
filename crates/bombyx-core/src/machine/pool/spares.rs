//! The spare carriers: how they are started, listed and ended.

use super::{PoolCore, Shared};
use crate::machine::processor::Processor;
use crate::protocol::carrier::Carrier;
use crate::system::primitive::{MutexGuard, lock};
use std::io;
use std::ptr::NonNull;
use std::time::Duration;

/// How long a spare waits to be needed before it ends, if there are more spares than processors.
const SURPLUS: Duration = if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(5) };

const STARTING: &str = "a carrier has been started, and is not ready yet";

impl PoolCore {
    /// Whether there would be a carrier for a processor that is given up now.
    pub(crate) fn has_reserve(&self) -> bool {
        self.has_reserve_among(&lock(&self.shared))
    }

    pub(super) fn has_reserve_among(&self, shared: &Shared) -> bool {
        !self.has_fixed_threads() && (shared.commons.any_spare() || shared.starting > 0)
            || (shared.carriers < self.config.max_carriers
                && !shared.stopping
                && !shared.was_refused_lately())
    }

    /// A spare carrier, started if necessary. `None` if the limit is reached or the system refuses.
    pub(crate) fn spare(&self) -> Option<NonNull<Carrier>> {
        if self.has_fixed_threads() {
            return None;
        }
        self.any_spare(&mut lock(&self.shared)).ok()
    }

    /// Puts a carrier among the spares: the calling carrier, or an unused one.
    pub(crate) fn add_spare(&self, carrier: NonNull<Carrier>) {
        let mut shared = lock(&self.shared);
        self.list_spare(&mut shared, carrier);
        if shared.commons.was_starved() {
            drop(shared);
            self.wake_private();
            self.wake(|_| None);
        }
    }

    pub(super) fn list_spare(&self, shared: &mut MutexGuard<'_, Shared>, carrier: NonNull<Carrier>) {
        if shared.stopping {
            // SAFETY: a carrier that becomes a spare waits in no other place.
            unsafe { Carrier::stop(carrier) };
        } else if !self.has_fixed_threads() {
            shared.commons.list_spare(carrier);
        }
    }

    /// A carrier for a resting processor: the one that always holds it, or a spare.
    pub(super) fn carrier_for(
        &self,
        shared: &mut MutexGuard<'_, Shared>,
        processor: NonNull<Processor>,
    ) -> io::Result<NonNull<Carrier>> {
        // SAFETY: the pool owns the processor.
        match self.carrier_of(unsafe { processor.as_ref() }) {
            Some(carrier) => Ok(NonNull::from(carrier)),
            None => self.any_spare(shared),
        }
    }

    pub(super) fn any_spare(&self, shared: &mut MutexGuard<'_, Shared>) -> io::Result<NonNull<Carrier>> {
        match shared.commons.take_spare() {
            Some(carrier) => Ok(carrier),
            None if shared.was_refused_lately() => {
                Err(io::Error::other("the system has just refused a thread"))
            }
            None if shared.starting > 0 => Err(io::Error::other(STARTING)),
            None => self.start_carrier(shared)?.ok_or_else(|| io::Error::other(STARTING)),
        }
    }

    /// Whether a carrier will soon list itself as a spare.
    pub(crate) fn is_starting(&self) -> bool {
        self.carriers_list_themselves() && lock(&self.shared).starting > 0
    }

    /// The calling carrier has run its start handler, and is a spare now.
    pub(crate) fn add_started(&self, carrier: NonNull<Carrier>) {
        lock(&self.shared).starting -= 1;
        self.add_spare(carrier);
    }

    /// A carrier has ended.
    pub(crate) fn carrier_ended(&self) {
        let mut shared = lock(&self.shared);
        shared.carriers -= 1;
        self.notice.set_carriers(shared.carriers);
        if !shared.stopping {
            // This was a surplus spare. Nobody needs to wait for its thread, which is about to end.
            let here = std::thread::current().id();
            shared.handles.retain(|handle| handle.thread().id() != here);
        }
    }

    /// Waits, as a spare, to be given a processor. `None` means that the spare must end: because the pool ends, or
    /// because there have been more spares than processors for [`SURPLUS`]. A burst of blocking calls needed them then,
    /// and is over.
    pub(crate) fn receive(&self, carrier: &Carrier) -> Option<NonNull<Processor>> {
        if let Some(received) = self.stand_sentry(carrier) {
            return received;
        }
        loop {
            let processors = self.processors.len();
            if lock(&self.shared).carriers <= processors {
                return carrier.receive().map(NonNull::cast);
            }
            if let Some(received) = carrier.receive_within(SURPLUS) {
                return received.map(NonNull::cast);
            }
            if lock(&self.shared).commons.end_spare(NonNull::from(carrier), processors) {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Pool, blocking, scope};
    use std::sync::Barrier;

    /// Runs so many closures that block until all of them do.
    fn burst(pool: &Pool, closures: usize) {
        let all = Barrier::new(closures);
        pool.run(|| {
            scope(|s| {
                for _ in 0..closures {
                    s.defer(|_| {
                        blocking(|| all.wait());
                    });
                }
            });
        });
    }

    /// Carriers that were needed for a burst of blocking calls end when it is over, and the pool can have others.
    #[test]
    fn spares_end_after_a_burst() {
        let pool = Pool::builder().processors(2).build().unwrap();
        for _ in 0..2 {
            burst(&pool, 20);
            // The caller, which is no carrier of the pool, may run one of the closures itself.
            assert!(pool.stats().peak_carriers >= 19);
            while pool.stats().carriers > 2 {
                std::thread::sleep(super::SURPLUS / 10);
            }
        }
    }
}
