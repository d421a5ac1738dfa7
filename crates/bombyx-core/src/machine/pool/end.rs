//! What the end of a pool waits for, the end itself, and the figures of the pool.

use super::PoolCore;
use crate::machine::stats::Stats;
use crate::protocol::carrier::Carrier;
use crate::system::primitive::lock;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

const CLOSED: &str = "the pool has been closed and everything in it has ended";

impl PoolCore {
    /// A thread, in the papers' sense, was forked or spawned.
    #[inline]
    pub(crate) fn thread_created(&self) {
        if self.config.counts.is_some() {
            self.gauges.threads.add(1);
        }
    }

    /// A spawned closure has ended.
    #[inline]
    pub(crate) fn thread_ended(&self) {
        if self.config.counts.is_some() {
            self.gauges.threads.add(-1);
        }
    }

    /// Counts a guest or a closure that the end of the pool waits for.
    ///
    /// # Panics
    /// If the pool has ended.
    pub(crate) fn detached_started(&self) {
        let open = {
            let mut detached = lock(&self.detached);
            let open = detached.count > 0 || !detached.closed;
            detached.count += usize::from(open);
            open
        };
        assert!(open, "{CLOSED}");
    }

    /// How many guests and closures there are that the end of the pool waits for.
    pub(crate) fn detached_count(&self) -> usize {
        lock(&self.detached).count
    }

    pub(crate) fn detached_ended(&self) {
        let mut detached = lock(&self.detached);
        detached.count -= 1;
        if detached.count == 0 {
            self.detached_ended.notify_all();
            if detached.closed {
                drop(detached);
                self.stop();
            }
        }
    }

    /// Stops the carriers when the last detached closure has ended, now or later. Does not wait.
    pub(crate) fn close(&self) {
        let mut detached = lock(&self.detached);
        detached.closed = true;
        if detached.count == 0 {
            drop(detached);
            self.stop();
        }
    }

    /// Waits for detached work, then stops and joins all carriers. No carrier of the pool may call this.
    pub(crate) fn shut_down(&self) {
        let mut detached = lock(&self.detached);
        while detached.count > 0 {
            detached = self.detached_ended.wait(detached).unwrap_or_else(|e| e.into_inner());
        }
        detached.closed = true;
        drop(detached);
        self.stop();
        let handles = std::mem::take(&mut lock(&self.shared).handles);
        for handle in handles {
            // A carrier catches the panics of what it runs, so it ends normally.
            handle.join().unwrap_or_else(|_| unreachable!("carriers do not panic"));
        }
    }

    /// Whether the carriers end now, because everything that was started in the pool has ended. A carrier that searches can
    /// stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }

    /// Stops the spares, and every carrier that would become one.
    pub(super) fn stop(&self) {
        self.config.strategy.cpus().stop();
        let mut shared = lock(&self.shared);
        shared.stopping = true;
        self.stopping.store(true, Relaxed);
        while let Some(spare) = shared.commons.take_spare() {
            // SAFETY: the carrier came out of the list of spares.
            unsafe { Carrier::stop(spare) };
        }
        if self.has_fixed_threads() {
            while let Some(processor) = shared.commons.take_idle(&self.sleepers) {
                // SAFETY: the pool owns the processor.
                if let Some(carrier) = self.carrier_of(unsafe { processor.as_ref() }) {
                    // SAFETY: the processor was idle, so its carrier sleeps at the foot of its stack.
                    unsafe { Carrier::stop(NonNull::from(carrier)) };
                }
            }
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for processor in &self.processors {
            stats.add(&processor.stats);
        }
        stats.rounds = self.rounds.count();
        let shared = lock(&self.shared);
        stats.carriers = shared.carriers as u64;
        stats.peak_carriers = shared.peak_carriers as u64;
        drop(shared);
        stats.threads.peak_threads = self.gauges.threads.peak();
        stats.heap = self.gauges.heap.now().max(0) as u64;
        stats.peak_heap = self.gauges.heap.peak();
        self.config.strategy.tell(&mut stats);
        let quota = self.config.strategy.quota();
        stats.quotas.quota = if quota == i64::MAX { 0 } else { quota as u64 };
        stats
    }

    /// From now on peaks count anew.
    pub(crate) fn forget_peaks(&self) {
        self.gauges.heap.forget_peak();
        self.gauges.threads.forget_peak();
        self.config.strategy.forget_peaks();
    }
}
