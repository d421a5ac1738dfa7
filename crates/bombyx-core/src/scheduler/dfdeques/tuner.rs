//! `dfdeques:auto`: finds K while the program runs. Narlikar leaves open how to choose it (§7).
//!
//! K begins small. A give-up costs one or two hand-overs of 5 to 20 µs. It is worth that if processors have worked much
//! longer since the last one. So the tuner averages the time that processors work per give-up, over a *window* of
//! [`SAMPLE`] give-ups. [`DUMMIES`] dummy threads cost about as much as one give-up. Below [`TARGET`], K is doubled,
//! unless the pool's heap has passed half of the memory that was free when the pool began.
//!
//! K also falls. A window ends when processors have worked [`COARSE`] times as long as its give-ups should take,
//! however few there were. K is then larger than necessary, and is halved. It is also halved while the heap is above
//! its budget. So what one phase of a program needed does not stay in force for the rest of the pool's life.
//!
//! If K = k is too small and K = 2·k much too large (blocks come in sizes), K would swing between the two. So after a
//! fall that had to be taken back, twice as many windows must pass before the next fall, at most [`MOST_PATIENCE`]. A
//! fall that lasts halves that number again.

use crate::machine::gauge::Gauge;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Instant;

/// The first and smallest K, in bytes.
const FIRST_QUOTA: i64 = 1 << 10;
/// The largest K.
const LAST_QUOTA: i64 = 1 << 40;
/// Give-ups in a window, at most.
const SAMPLE: u64 = 64;
/// The target: nanoseconds of work per give-up. Some twenty times what a hand-over takes.
const TARGET: u64 = 200_000;
/// At this many times the target per give-up, K is halved. If blocks come in sizes that differ by a factor of four or
/// eight, give-ups become that many times rarer as soon as K passes one of the sizes. This factor leaves room for a K
/// that is neither raised nor lowered.
const COARSE: u64 = 16;
/// How many dummy threads cost as much as one give-up. Each dummy takes the list's lock once.
const DUMMIES: u64 = 64;
/// The most windows between two falls.
const MOST_PATIENCE: u32 = 64;

/// See the module text.
pub(super) struct Tuner {
    quota: AtomicI64,
    /// Bytes of heap beyond which K is not raised.
    budget: i64,
    start: Instant,
    /// Since when each processor has worked, in nanoseconds, or 0 if it does not work.
    since: Box<[AtomicU64]>,
    /// The number of cores. With more processors than cores, each processor works only part of the time that passes.
    cores: u64,
    window: Mutex<Window>,
}

#[derive(Default)]
struct Window {
    /// Nanoseconds of work.
    worked: u64,
    /// In units of 1/[`DUMMIES`].
    give_ups: u64,
    /// How many windows in a row ended with too few give-ups.
    coarse: u32,
    /// How many such windows a fall needs.
    patience: u32,
    /// Whether the last change of K was a fall.
    fell: bool,
}

impl Tuner {
    pub(super) fn new(processors: usize) -> Tuner {
        Tuner::within(free_memory() / 2, processors)
    }

    fn within(budget: i64, processors: usize) -> Tuner {
        Tuner {
            quota: AtomicI64::new(FIRST_QUOTA),
            budget,
            start: Instant::now(),
            since: (0..processors).map(|_| AtomicU64::new(0)).collect(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
            window: Mutex::new(Window { patience: 1, ..Window::default() }),
        }
    }

    pub(super) fn quota(&self) -> i64 {
        self.quota.load(Relaxed)
    }

    fn now(&self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).max(1)
    }

    /// The processor begins to work.
    pub(super) fn works(&self, index: usize) {
        self.since[index].store(self.now(), Relaxed);
    }

    /// The processor has nothing left to do. The time that it worked counts when it gives up, or here if it never does.
    pub(super) fn rests(&self, index: usize, heap: &Gauge) {
        let worked = self.worked(index, 0);
        if worked > 0 {
            self.observe(worked, 0, heap.now());
        }
    }

    /// How long the processor has worked. From `now` on it works again, or not if `now` is 0.
    fn worked(&self, index: usize, now: u64) -> u64 {
        match self.since[index].swap(now, Relaxed) {
            0 => 0,
            since => {
                let passed = self.now().saturating_sub(since);
                passed * self.cores.min(self.since.len() as u64) / self.since.len() as u64
            }
        }
    }

    /// The processor gives up its deque, with this many dummy threads, and goes on with something else.
    pub(super) fn give_up(&self, index: usize, dummies: u64, heap: &Gauge) {
        let worked = self.worked(index, self.now());
        self.observe(worked, DUMMIES + dummies, heap.now());
    }

    fn observe(&self, worked: u64, give_ups: u64, heap: i64) {
        let mut window = self.window.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        window.worked += worked;
        window.give_ups += give_ups;
        let full = window.give_ups >= SAMPLE * DUMMIES;
        if !full && window.worked < COARSE * SAMPLE * TARGET {
            return;
        }
        let per_give_up = window.worked / (window.give_ups / DUMMIES).max(1);
        (window.worked, window.give_ups) = (0, 0);
        let quota = self.quota();
        if heap > self.budget {
            window.fell = true;
            self.quota.store((quota / 2).max(FIRST_QUOTA), Relaxed);
        } else if per_give_up < TARGET {
            if window.fell {
                window.patience = (2 * window.patience).min(MOST_PATIENCE);
            }
            (window.coarse, window.fell) = (0, false);
            if heap < self.budget && quota < LAST_QUOTA {
                self.quota.store(quota * 2, Relaxed);
            }
        } else if per_give_up >= COARSE * TARGET {
            window.coarse += 1;
            if window.coarse >= window.patience && quota > FIRST_QUOTA {
                if window.fell {
                    window.patience = (window.patience / 2).max(1);
                }
                (window.coarse, window.fell) = (0, true);
                self.quota.store(quota / 2, Relaxed);
            }
        } else {
            window.coarse = 0;
        }
    }
}

/// Bytes of memory that nobody uses. Unlimited if the system does not say.
fn free_memory() -> i64 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `sysconf` only reads a number.
        let (pages, size) =
            unsafe { (libc::sysconf(libc::_SC_AVPHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        if pages > 0 && size > 0 {
            return i64::saturating_mul(pages as _, size as _);
        }
    }
    i64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of give-ups without dummies, or of work without give-ups.
    fn feed(tuner: &Tuner, worked: u64, heap: i64) -> i64 {
        for _ in 0..SAMPLE {
            tuner.observe(worked, DUMMIES, heap);
        }
        tuner.quota()
    }

    fn idle_window(tuner: &Tuner) -> i64 {
        tuner.observe(COARSE * SAMPLE * TARGET, 0, 0);
        tuner.quota()
    }

    #[test]
    fn doubles_while_the_grain_is_too_fine() {
        let tuner = Tuner::within(1 << 30, 1);
        assert_eq!(tuner.quota(), FIRST_QUOTA);
        assert_eq!(feed(&tuner, TARGET / 2, 0), 2 * FIRST_QUOTA);
        assert_eq!(feed(&tuner, TARGET - 1, 0), 4 * FIRST_QUOTA);
        assert_eq!(feed(&tuner, TARGET, 0), 4 * FIRST_QUOTA);
        assert_eq!(feed(&tuner, COARSE * TARGET - 1, 0), 4 * FIRST_QUOTA);
    }

    #[test]
    fn falls_where_give_ups_are_few() {
        let tuner = Tuner::within(1 << 30, 1);
        for _ in 0..10 {
            feed(&tuner, 1, 0);
        }
        assert_eq!(tuner.quota(), FIRST_QUOTA << 10);
        for fall in 1..=10 {
            assert_eq!(idle_window(&tuner), FIRST_QUOTA << (10 - fall));
        }
        assert_eq!(idle_window(&tuner), FIRST_QUOTA, "K has a least value");
    }

    #[test]
    fn a_fall_that_is_taken_back_makes_it_wait() {
        let tuner = Tuner::within(1 << 30, 1);
        feed(&tuner, 1, 0);
        feed(&tuner, 1, 0);
        let high = tuner.quota();
        let mut windows_at_high = 0;
        for _ in 0..200 {
            // Too fine below `high`, too coarse at `high`.
            windows_at_high += u32::from(tuner.quota() == high);
            if tuner.quota() < high {
                feed(&tuner, 1, 0)
            } else {
                idle_window(&tuner)
            };
        }
        assert!(windows_at_high > 180, "{windows_at_high} of 200 windows");
        for _ in 0..=MOST_PATIENCE {
            idle_window(&tuner);
        }
        assert!(idle_window(&tuner) < high, "in the end it falls all the same");
    }

    #[test]
    fn obeys_the_budget_of_memory() {
        let tuner = Tuner::within(1 << 30, 1);
        assert_eq!(feed(&tuner, 1, 1 << 30), FIRST_QUOTA);
        assert_eq!(feed(&tuner, 1, (1 << 30) - 1), 2 * FIRST_QUOTA);
        assert_eq!(feed(&tuner, TARGET, (1 << 30) + 1), FIRST_QUOTA);
        for _ in 0..100 {
            feed(&tuner, 1, 0);
        }
        assert_eq!(tuner.quota(), LAST_QUOTA);
    }

    #[test]
    fn many_dummies_cost_as_much_as_a_give_up() {
        let tuner = Tuner::within(1 << 30, 1);
        tuner.observe(SAMPLE * TARGET - 1, SAMPLE * DUMMIES, 0);
        assert_eq!(tuner.quota(), 2 * FIRST_QUOTA);
    }

    #[test]
    fn only_work_counts() {
        let tuner = Tuner::within(1 << 30, 1);
        assert_eq!(tuner.worked(0, 0), 0, "it has not begun");
        tuner.since[0].store(1, Relaxed);
        while tuner.now() == 1 {}
        assert!(tuner.worked(0, 0) > 0);
        assert_eq!(tuner.worked(0, 0), 0, "what was counted is not counted again");
    }
}
