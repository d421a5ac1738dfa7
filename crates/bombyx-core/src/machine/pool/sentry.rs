//! The sentry: a spare that sleeps only for short naps, and looks for work on behalf of all that sleep.
//!
//! While regions are short ([`crate::machine::rhythm`]), forks wake nobody. A carrier that has searched in vain and comes to
//! rest then becomes the sentry, if there is none. It also does so if it is too early for a [round](super::rounds), which
//! would make every fork notice that a processor rests. The sentry sleeps for [`NAP`] at a time. If it then sees work and
//! nobody searches, it wakes somebody. So a region that turns out to be long loses at most one nap. The sentry ends after
//! [`QUIET`] naps in which no fork relied on it, or when regions are no longer short. [`crate::protocol::sleep`] explains
//! why no wake-up is lost.

use super::{PoolCore, Shared};
use crate::machine::processor::Processor;
use crate::protocol::carrier::Carrier;
use std::ptr::NonNull;
use std::time::Duration;

/// How long the sentry sleeps at a time. A look takes some microseconds, so all looks take about one percent of a core.
const NAP: Duration = Duration::from_micros(500);
/// After how many quiet naps the sentry sleeps like the other spares. A nap is quiet if no fork relied on the sentry.
const QUIET: u32 = 8;

impl PoolCore {
    /// Makes `carrier`, which searched in vain and rests now, the sentry if the pool needs one. The carrier is the
    /// caller's. The caller has just listed it and its processor, holds the lock, and is still counted as a searcher.
    pub(super) fn post_sentry(&self, shared: &mut Shared, carrier: &Carrier) -> bool {
        let needed = self.config.strategy.posts_sentries()
            && (self.rhythm.is_short() || self.rounds.is_early())
            && !self.sleepers.has_sentry()
            && !self.is_stopping();
        if needed {
            self.sleepers.post_sentry();
            carrier.is_sentry.set(true);
            shared.commons.put_last();
        }
        needed
    }

    /// Waits to be given a processor, as long as the calling carrier is the sentry. Returns `None` if the carrier is not the
    /// sentry, or is so no longer. Otherwise returns what it was given: a processor, or `None` if the carrier must end.
    pub(crate) fn stand_sentry(&self, carrier: &Carrier) -> Option<Option<NonNull<Processor>>> {
        if !carrier.is_sentry.take() {
            return None;
        }
        let mut seen = self.sleepers.postponed();
        let mut quiet = 0;
        while quiet < QUIET && self.rhythm.is_short() || self.rounds.is_early() {
            let nap = if self.rhythm.is_short() { NAP } else { self.rounds.apart() };
            if let Some(received) = carrier.receive_within(nap) {
                // The giver has counted this carrier as a searcher, which has the same duty.
                self.sleepers.relieve_sentry();
                return Some(received.map(NonNull::cast));
            }
            // A look at the deques takes their cache lines from those who use them, so it comes last. If some
            // processors are shut, the others never reach the number of all. Then the sentry always looks: a surplus
            // processor may still have work.
            let someone_works = self.sleepers.resting() < self.processors.len();
            if someone_works && self.sleepers.searching() == 0 && self.work_visible() {
                self.wake(|_| None);
            }
            let now = self.sleepers.postponed();
            quiet = if now == seen { quiet + 1 } else { 0 };
            seen = now;
        }
        if self.sleepers.end_watch(|| self.look_once_more()) {
            self.wake(|_| None);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::current;
    use crate::{Pool, Threads, join};
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::{Acquire, Release};
    use std::time::Duration;

    /// Enters short regions until a fork leaves its wake-up to the sentry.
    fn get_used_to_short_regions(pool: &Pool) {
        let before = pool.stats().postponed;
        let make_short = || pool.run(|| current::held().pool().rhythm.make_short());
        while pool.stats().postponed == before {
            make_short();
            pool.run(|| join(|| (), || ()));
            for _ in 0..5 {
                // Meanwhile the others fall asleep.
                std::thread::sleep(Duration::from_micros(100));
                make_short();
            }
        }
    }

    /// A region with halves that must run at the same time: each waits for the other.
    fn region_of_two() {
        let begun = [AtomicBool::new(false), AtomicBool::new(false)];
        let meet = |own: usize| {
            begun[own].store(true, Release);
            while !begun[1 - own].load(Acquire) {
                std::thread::yield_now();
            }
        };
        join(|| meet(0), || meet(1));
    }

    /// After short regions, for which nobody is woken, a long one still gets help.
    #[test]
    fn a_long_region_after_short_ones_is_helped() {
        for threads in [Threads::Moving, Threads::Fixed] {
            let pool = Pool::builder().processors(2).threads(threads).build().unwrap();
            for _ in 0..5 {
                get_used_to_short_regions(&pool);
                pool.run(region_of_two);
            }
        }
    }

    /// A closure that is spawned inside runs, although its spawner keeps its processor and blocks.
    #[test]
    fn spawned_closures_run_although_regions_are_short() {
        let pool = &Pool::builder().processors(2).build().unwrap();
        for _ in 0..5 {
            get_used_to_short_regions(pool);
            let (send, receive) = std::sync::mpsc::channel();
            pool.run(move || {
                pool.spawn(move || send.send(()).unwrap());
                receive.recv().unwrap();
            });
        }
    }
}
