//! How long the blocks of a loop take: the clock, the pace of a run, what the last run of a loop has shown, and where to cut
//! loops that are not split on demand.

use crate::machine::current;
use crate::profile;
use crate::system::clock::Clock;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long a block should take: a few hundred times as long as the test between blocks.
const BLOCK: Duration = Duration::from_micros(2);
/// By which factor the next block may be longer, or shorter, than the last one.
const GROWTH: u64 = 8;
/// How many leaves the tree of a loop with a fixed grain has, at most.
const LEAVES: usize = 1 << 10;

/// The cheapest clock that is steady here, and how many of its ticks a block of a loop should take.
#[derive(Clone, Copy, Debug)]
pub struct BlockClock {
    clock: Clock,
    /// How many ticks a block should take.
    pub block: u64,
}

impl BlockClock {
    /// The clock. The first call takes some microseconds, because it compares this clock with the system's.
    #[inline]
    pub fn get() -> BlockClock {
        static FOUND: OnceLock<BlockClock> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let clock = Clock::best();
            let (start, ticks) = (Instant::now(), clock.now());
            while start.elapsed() < 8 * BLOCK {
                std::hint::spin_loop();
            }
            let (elapsed, ticks) = (start.elapsed(), clock.now().wrapping_sub(ticks));
            let block = u128::from(ticks) * BLOCK.as_nanos() / elapsed.as_nanos().max(1);
            BlockClock { clock, block: u64::try_from(block).unwrap_or(u64::MAX).max(1) }
        })
    }

    /// The reading, in ticks.
    #[inline(always)]
    pub fn now(self) -> u64 {
        self.clock.now()
    }
}

/// How the blocks of a run have gone so far. What a block holds has a weight: iterations, items, or bytes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The weight of the next block.
    pub block: usize,
    /// The weight of the last block.
    pub weight: usize,
    /// The ticks of the last block; 0 if there was none.
    pub ticks: u64,
}

impl Pace {
    /// Before the first block.
    pub const UNKNOWN: Pace = Pace { block: 1, weight: 1, ticks: 0 };

    /// After a block of this weight, which took so many ticks.
    #[inline]
    pub fn after(weight: usize, ticks: u64, clock: BlockClock) -> Pace {
        let ticks = ticks.max(1);
        let weight = weight.max(1);
        let next = (weight as u64).saturating_mul(clock.block) / ticks;
        let block = next.clamp((weight as u64).div_ceil(GROWTH), (weight as u64).saturating_mul(GROWTH));
        Pace { block: usize::try_from(block).unwrap_or(usize::MAX), weight, ticks }
    }

    /// Whether this much is worth a thief's effort. True if nothing is known.
    #[inline]
    pub fn is_worth_sharing(self, weight: usize, clock: BlockClock) -> bool {
        self.ticks == 0 || self.estimate(weight) > clock.block + clock.block / 2
    }

    /// How many ticks this much will take.
    fn estimate(self, weight: usize) -> u64 {
        let estimate = weight as u128 * u128::from(self.ticks) / self.weight as u128;
        u64::try_from(estimate).unwrap_or(u64::MAX)
    }
}

/// How long an iteration of each loop took when the loop last ran. The key of a loop is its place in the program. Two loops
/// may share an entry. Then a guess may be wrong, which only costs time.
pub struct Costs;

const ENTRIES: usize = 1 << 9;
/// The place is in the upper bits, and the ticks per iteration (limited to their size) in the lower ones.
const TICKS: u32 = 16;
static COSTS: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];

impl Costs {
    /// Whether an iteration of the loop with this key is known to take less than a quarter of a block.
    #[inline]
    pub fn are_short(key: usize, clock: BlockClock) -> bool {
        let found = entry(key).load(Relaxed) ^ tag(key);
        found >> TICKS == 0 && found < clock.block / 4
    }

    /// Keeps the pace of the last block of the loop with this key.
    #[inline]
    pub fn note(key: usize, pace: Pace) {
        if pace.ticks == 0 {
            return;
        }
        let each = (pace.ticks / pace.weight as u64).min((1 << TICKS) - 1);
        let (entry, new) = (entry(key), tag(key) | each);
        // Written seldom, so that loops that run at the same time do not fight for the cache line.
        let old = entry.load(Relaxed);
        if old >> TICKS != new >> TICKS || each > 2 * (old ^ tag(key)) + 8 || 2 * each + 8 < old ^ tag(key) {
            entry.store(new, Relaxed);
        }
    }
}

fn entry(key: usize) -> &'static AtomicU64 {
    let mixed = (key as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &COSTS[(mixed >> (u64::BITS - ENTRIES.trailing_zeros())) as usize]
}

fn tag(key: usize) -> u64 {
    (key as u64) << TICKS
}

/// Where to cut a loop that is not split on demand: in the same way in every run, or down to its iterations.
pub struct Cuts(Rule);

enum Rule {
    /// In halves, until a piece weighs no more than this.
    Grain(usize),
    /// In halves, until a piece is so short that the profiler does not tell it from an iteration.
    Measured(profile::Loop),
}

impl Cuts {
    /// How a loop of this weight must be cut in the caller's pool. `None` if the pool has no rule, or outside of pools.
    /// Then the loop splits when somebody wants work. `carries`: every piece makes a value that owns something.
    #[inline]
    pub fn of_pool(weight: usize, carries: bool) -> Option<Cuts> {
        let config = &current::processor()?.pool().config;
        if config.deterministic {
            return Some(Cuts::fixed(weight));
        }
        config.observer.as_ref()?;
        profile::Loop::begin(carries).map(|measured| Cuts(Rule::Measured(measured)))
    }

    /// Cuts that depend on the weight of the loop alone.
    pub fn fixed(weight: usize) -> Cuts {
        Cuts(Rule::Grain(weight.div_ceil(LEAVES).max(1)))
    }

    /// Whether the cuts are the same in every run.
    pub fn are_fixed(&self) -> bool {
        matches!(self.0, Rule::Grain(_))
    }

    /// Whether a piece of this weight is cut.
    pub fn cut(&self, weight: usize) -> bool {
        match &self.0 {
            Rule::Grain(grain) => weight > *grain,
            Rule::Measured(measured) => measured.is_long(weight),
        }
    }

    /// Runs a piece of this weight.
    #[inline]
    pub fn piece<R>(&self, weight: usize, run: impl FnOnce() -> R) -> R {
        match &self.0 {
            Rule::Grain(_) => run(),
            Rule::Measured(measured) => measured.piece(weight, run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockClock, Costs, Pace};

    fn after(weight: usize, blocks: u64) -> Pace {
        let clock = BlockClock::get();
        Pace::after(weight, clock.block * blocks, clock)
    }

    #[test]
    fn blocks_grow_until_they_are_long_enough() {
        let clock = BlockClock::get();
        assert_eq!(Pace::after(8, 1, clock).block, 64, "at most eight times as long");
        assert_eq!(after(100, 1).block, 100);
        assert_eq!(after(100, 4).block, 25);
        assert_eq!(after(100, 1000).block, 13, "at most eight times as short");
    }

    #[test]
    fn what_is_left_must_be_worth_a_steal() {
        let clock = BlockClock::get();
        assert!(Pace::UNKNOWN.is_worth_sharing(2, clock));
        assert!(!after(100, 1).is_worth_sharing(100, clock));
        assert!(after(100, 1).is_worth_sharing(200, clock));
    }

    #[test]
    fn a_loop_is_short_if_its_last_run_was() {
        let (clock, key) = (BlockClock::get(), 0x1234_5678);
        assert!(!Costs::are_short(key, clock), "nothing is known");
        Costs::note(key, Pace::after(1000, 1000, clock));
        assert!(Costs::are_short(key, clock));
        assert!(!Costs::are_short(key + 8, clock), "another loop");
        Costs::note(key, after(1, 1));
        assert!(!Costs::are_short(key, clock));
    }
}
