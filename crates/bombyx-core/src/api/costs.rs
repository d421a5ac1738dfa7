//! Measures what profiling costs and what a migration costs. This runs when the first profiler of a process starts, and
//! takes a few milliseconds.
//!
//! **The hooks.** A pool of one processor runs a tree of empty forks, with and without the profiler (or the recorder).
//! The difference is the profiler's own cost. It is subtracted from every strand, depending on the hook that the strand
//! begins with (after a fork, after a first half, after a join). The three shares are in proportion to what the three
//! intervals take in a loop of empty forks. The cost of a fork without a profiler stays in the work.
//!
//! **Steal and hand-over**, as medians ([`typical`]). In a pool of two processors, a first half waits until its second half
//! has been stolen and reports how long that took. For the hand-over, a processor goes back and forth between two
//! carriers. A round in which another program had the CPU says nothing about migrations: a time slice is a thousand times
//! as long. Such rounds do not count. If there are no others, the cost is zero, which means that it is not known.

use crate::api::builder::Builder;
use crate::api::join::{join, join_context};
use crate::api::pool::Pool;
use crate::machine::pool::PoolCore;
use crate::profile::{Burden, CostsInTicks as Costs, Profiler, Recorder, Totals};
use crate::protocol::carrier::{Baton, Carrier};
use crate::system::clock::Clock;
use crate::system::primitive::current_thread;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const BATCHES: usize = 60;
/// The forks of a batch: a loop of `FORKS`, and a tree of depth `DEPTH`.
const FORKS: u32 = 255;
const DEPTH: u32 = 8;
/// Longer than anything that is measured.
const FAR: i64 = 1 << 40;
const ROUNDS: usize = 31;
/// How long steals, and then hand-overs, are measured, if a few rounds counted by then.
const LIMIT: Duration = Duration::from_millis(5);
const FEW: usize = 5;
/// How long they are measured at most, which happens on busy machines.
const LATEST: Duration = Duration::from_millis(100);
/// A round that takes longer was disturbed. It is shorter than the time slices of systems, and longer than a migration.
const DISTURBED: Duration = Duration::from_micros(500);

/// See the module text.
pub(crate) fn measure(clock: Clock, recording: bool) -> Costs {
    let (mut plain, mut hooked) = (f64::MAX, f64::MAX);
    let mut own = Intervals { fork: f64::MAX, middle: 0.0, join: 0.0 };
    let bare = pool_of_one(None);
    // The least time is that of an undisturbed run, with warm caches and at full speed.
    for _ in 0..BATCHES {
        plain = plain.min(forks(&bare, clock, tree));
        let totals = warm_totals(clock, Burden::default(), recording, tree);
        hooked = hooked.min(totals.work as f64 / f64::from(FORKS));
        let intervals = Intervals::measure(clock, recording);
        if intervals.sum() < own.sum() {
            own = intervals;
        }
    }
    // Scales the intervals of the loop so that they add up to what the hooks cost in the tree.
    let scale = ((hooked - plain) / own.sum()).max(0.0);
    let hand_over = hand_over(clock).unwrap_or(0);
    Costs {
        fork: (own.fork * scale).round() as i64,
        middle: (own.middle * scale).round() as i64,
        join: (own.join * scale).round() as i64,
        hook: (hooked - plain).max(0.0),
        plain,
        // If nobody steals, a migration is a change of threads.
        burden: Burden { steal: steal(clock).unwrap_or(hand_over), hand_over },
    }
}

/// What a profiler that subtracts nothing finds when `f`, which makes [`FORKS`] forks, runs for the second time.
fn warm_totals(clock: Clock, burden: Burden, recording: bool, f: impl Fn(u32) + Sync) -> Totals {
    let recorder = recording.then(|| Recorder::new(usize::MAX, 1));
    let profiler = Arc::new(Profiler::bare(clock, burden, recorder));
    let pool = pool_of_one(Some(Arc::clone(&profiler)));
    forks(&pool, clock, &f);
    let first = profiler.totals();
    forks(&pool, clock, &f);
    let both = profiler.totals();
    Totals {
        work: both.work - first.work,
        burdened: both.burdened - first.burdened,
        roots: both.roots - first.roots,
    }
}

/// What an empty fork measures, for each hook that an interval can begin with.
struct Intervals {
    fork: f64,
    middle: f64,
    join: f64,
}

impl Intervals {
    fn measure(clock: Clock, recording: bool) -> Intervals {
        // With this burden, the burdened span is that of joins and second halves.
        let totals = warm_totals(clock, Burden { steal: FAR, hand_over: 0 }, recording, |_| {
            for _ in 0..FORKS {
                join(|| (), || ());
            }
        });
        let seconds = totals.burdened - totals.roots - FAR * i64::from(FORKS);
        let mean = |ticks: i64| ticks as f64 / f64::from(FORKS);
        Intervals {
            fork: mean(totals.work - totals.roots - seconds),
            middle: mean(seconds),
            join: mean(totals.roots),
        }
    }

    fn sum(&self) -> f64 {
        self.fork + self.middle + self.join
    }
}

/// Ticks per fork of `f`, which makes [`FORKS`] forks.
fn forks(pool: &Pool, clock: Clock, f: impl FnOnce(u32) + Send) -> f64 {
    pool.run(|| {
        let start = clock.now();
        f(DEPTH);
        (clock.now() - start) as f64 / f64::from(FORKS)
    })
}

fn tree(depth: u32) {
    if depth > 0 {
        join(|| tree(depth - 1), || tree(depth - 1));
    }
}

/// A pool that runs on the calling threads.
fn pool_of_one(profiler: Option<Arc<Profiler>>) -> Pool {
    let builder = Builder::measuring(1, profiler);
    let (config, scheduler) = builder.config().unwrap_or_else(|error| unreachable!("usable: {error}"));
    Pool::new(PoolCore::without_carriers(config), scheduler)
}

/// The median of what `round` finds, over the rounds that nothing disturbed. `now` is the time since some beginning.
/// `None` if there are no such rounds.
fn typical(now: impl Fn() -> Duration, mut round: impl FnMut() -> Option<f64>) -> Option<i64> {
    let begin = now();
    let mut taken = Vec::new();
    loop {
        let start = now();
        let found = round();
        let end = now();
        if end - start < DISTURBED {
            taken.extend(found);
        }
        let limit = if taken.len() < FEW { LATEST } else { LIMIT };
        if taken.len() >= ROUNDS || end - begin >= limit {
            break;
        }
    }
    taken.sort_by(f64::total_cmp);
    taken.get(taken.len() / 2).map(|&ticks| ticks as i64)
}

/// The time since some beginning.
fn stopwatch() -> impl Fn() -> Duration {
    let begin = Instant::now();
    move || begin.elapsed()
}

/// The time from a fork to the beginning of its stolen half. `None` if nobody steals here, or it cannot be measured.
fn steal(clock: Clock) -> Option<i64> {
    let pool = Builder::measuring(2, None).build().ok()?;
    typical(stopwatch(), || {
        let began = AtomicU64::new(0);
        let start = pool.run(|| {
            let start = clock.now();
            let wait = |_| {
                let patience = Instant::now() + LIMIT / 8;
                while began.load(Ordering::Relaxed) == 0 && Instant::now() < patience {
                    thread::yield_now();
                }
            };
            join_context(wait, |context| {
                if context.migrated() {
                    began.store(clock.now(), Ordering::Relaxed);
                }
            });
            start
        });
        Some(began.into_inner()).filter(|&began| began > 0).map(|began| began.saturating_sub(start) as f64)
    })
}

/// The time from giving a processor to a parked carrier until that carrier runs. `None` if no thread can be started, or it
/// cannot be measured.
fn hand_over(clock: Clock) -> Option<i64> {
    let pool = pool_of_one(None);
    // The processor is only named: nobody uses it meanwhile.
    let address = &raw const pool.pool().processors()[0] as usize;
    let processor = move || NonNull::new(address as *mut Baton).expect("the address of a processor");
    let here = Arc::new(Carrier::here());
    let there = Arc::new(Carrier::to_be_started());
    let (carrier, back) = (Arc::clone(&there), Arc::clone(&here));
    let partner = thread::Builder::new().spawn(move || {
        carrier.begin(&current_thread());
        while carrier.receive().is_some() {
            // SAFETY: the partner waits for exactly this, and holds its carrier until this arrives.
            unsafe { carrier.succeed(NonNull::from(&*back), processor()) };
        }
    });
    let partner = partner.ok()?;
    there.started(partner.thread());
    let found = typical(stopwatch(), || {
        let start = clock.now();
        // SAFETY: the partner waits, or is about to wait, and nobody else gives it anything.
        unsafe { here.succeed(NonNull::from(&*there), processor()) };
        here.receive();
        Some((clock.now() - start) as f64 / 2.0)
    });
    // SAFETY: as above.
    unsafe { Carrier::stop(NonNull::from(&*there)) };
    partner.join().ok()?;
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// What [`typical`] says of rounds that take so many microseconds, over and over, and how long it looks at them.
    fn said_of(rounds: &[u64]) -> (Option<i64>, Duration) {
        let time = Cell::new(Duration::ZERO);
        let mut next = rounds.iter().cycle();
        let said = typical(
            || time.get(),
            || {
                let &micros = next.next()?;
                time.set(time.get() + Duration::from_micros(micros));
                Some(micros as f64)
            },
        );
        (said, time.get())
    }

    #[test]
    fn rounds_during_which_the_machine_was_busy_do_not_count() {
        assert_eq!(said_of(&[3, 5, 4]), (Some(4), Duration::from_micros(3 + 10 * 12)));
        // One round in four is disturbed by a time slice. Without the limit, the median of the first five would be 7 or more.
        let (said, took) = said_of(&[4_000, 3_000, 7, 4_000]);
        assert!(said == Some(7) && took < LATEST, "{said:?} after {took:?}");
        let (said, took) = said_of(&[4_000, 700]);
        assert!(said.is_none() && took >= LATEST && took < 2 * LATEST, "{said:?} after {took:?}");
        // Nobody steals.
        let time = Cell::new(Duration::ZERO);
        let patient = || {
            time.set(time.get() + LIMIT / 8);
            None
        };
        assert_eq!(typical(|| time.get(), patient), None);
    }

    #[test]
    fn migrations_cost_something() {
        for recording in [false, true] {
            // Other programs may keep the CPUs busy for a while.
            let mut tries = (0..100).map(|_| measure(Clock::best(), recording));
            let costs = tries
                .find(|costs| costs.burden.hand_over > 0)
                .expect("one of many measurements is undisturbed");
            assert!(costs.burden.steal > 0, "{costs:?}");
            assert!(costs.plain > 0.0 && costs.hook.is_finite(), "{costs:?}");
        }
    }
}
