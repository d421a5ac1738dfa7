//! How often a pool begins a *round*, which makes every later fork notice that a processor rests
//! ([`crate::protocol::sleep`]).
//!
//! A round interrupts every core that runs a thread of the process. A pool begins at most one round in [`PER_CORE`] times
//! the number of cores. So all rounds of a pool together make at most one interrupt in [`PER_CORE`], on any number of
//! cores. A round also stores to each processor. If there are no more processors than cores, the same limit holds for these
//! stores.
//!
//! The other costs of sleeping and waking fall on the thread that causes them:
//!
//! | what | how often |
//! |---|---|
//! | a request: one store to the victim's limit, two to mailboxes | once per attempt to steal |
//! | a wake-up by a fork | only if nobody searches; a woken carrier that finds nothing searches for 20 µs or more |
//! | a wake-up by the last searcher that finds work | once per steal |
//! | a barrier of a thief whose victim does not answer | once in 64 forks of a victim, which exposes them; barriers that threads want at the same time are one ([`crate::system::together`]) |
//! | a look of the sentry: one cache line, or those of all processors if one of them works | once in half a millisecond |

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The least time between two rounds, per core. An interrupt takes about 2 µs, so all cores together lose at most the time
/// of a quarter of one core.
const PER_CORE: Duration = Duration::from_micros(8);

/// See the module text.
pub(crate) struct Rounds {
    born: Instant,
    /// When the last round began, in nanoseconds after `born`, plus 1. 0 if there was none.
    last: AtomicU64,
    /// The least time between two rounds, in nanoseconds.
    apart: u64,
    count: AtomicU64,
}

impl Rounds {
    pub(super) fn new(processors: usize, cores: usize) -> Rounds {
        let apart = PER_CORE.as_nanos() as u64 * processors.min(cores) as u64;
        Rounds { born: Instant::now(), last: AtomicU64::new(0), apart, count: AtomicU64::new(0) }
    }

    /// Begins a round, unless the last one began a moment ago.
    pub(super) fn begin(&self) -> bool {
        self.begin_at(self.now())
    }

    /// Whether it is too early for another round.
    pub(super) fn is_early(&self) -> bool {
        Rounds::early(self.last.load(Relaxed), self.now(), self.apart)
    }

    /// How many rounds there were.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The least time between two rounds.
    pub(super) fn apart(&self) -> Duration {
        Duration::from_nanos(self.apart)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_nanos()).unwrap_or(u64::MAX - 1) + 1
    }

    fn early(last: u64, now: u64, apart: u64) -> bool {
        last != 0 && now.saturating_sub(last) < apart
    }

    fn begin_at(&self, now: u64) -> bool {
        let last = self.last.load(Relaxed);
        // The loser of the race comes too early.
        let begins = !Rounds::early(last, now, self.apart)
            && self.last.compare_exchange(last, now, Relaxed, Relaxed).is_ok();
        if begins {
            self.count.fetch_add(1, Relaxed);
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::Rounds;

    /// In a second there are at most as many interrupts as in any other second, on any number of cores.
    #[test]
    fn interrupts_do_not_grow_with_cores() {
        for cores in [1, 4, 16, 64, 1024] {
            let rounds = Rounds::new(cores, cores);
            // Somebody wants a round each microsecond.
            let begun = (1..=1_000_000).filter(|us| rounds.begin_at(us * 1000)).count();
            assert_eq!(begun as u64, rounds.count());
            let interrupts = begun * cores;
            assert!((100_000..=126_100).contains(&interrupts), "{interrupts} interrupts on {cores} cores");
        }
    }

    #[test]
    fn more_processors_than_cores_do_not_make_rounds_rarer() {
        assert_eq!(Rounds::new(64, 2).apart, Rounds::new(2, 2).apart);
    }
}
