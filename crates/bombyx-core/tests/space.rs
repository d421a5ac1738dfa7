//! What the schedulers of the space papers promise beyond running everything once: the Busy-Leaves property, quotas
//! that are heeded, bounded heap and bounded numbers of living threads.

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, Stats, charge, join, release, reserve};
use common::{Rng, seed, watchdog};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

fn pool(scheduler: &str, processors: usize) -> Pool {
    let scheduler: Scheduler = scheduler.parse().unwrap();
    Pool::builder().processors(processors).scheduler(scheduler).count_threads(true).build().unwrap()
}

// ---- Busy leaves --------------------------------------------------------------------------------------------

/// What the halves of joins do, in the order in which it happened.
#[derive(Default)]
struct Log(Mutex<Vec<Event>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    what: What,
    /// The path of the join from the root.
    join: usize,
    /// The processor.
    by: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    FirstEnds,
    SecondBegins,
    SecondEnds,
    Goes,
}

impl Log {
    fn say(&self, what: What, join: usize) {
        let by = bombyx::current_processor().unwrap();
        self.0.lock().unwrap().push(Event { what, join, by });
    }
}

fn logged(log: &Log, number: usize, depth: usize, rng: &Rng) {
    let mut rng = Rng::new(rng.clone().next() ^ number as u64);
    if rng.one_in(3) {
        thread::yield_now();
    }
    if depth == 0 || rng.one_in(8) {
        return;
    }
    join(
        || {
            logged(log, 2 * number, depth - 1, &rng);
            log.say(What::FirstEnds, number);
        },
        || {
            log.say(What::SecondBegins, number);
            logged(log, 2 * number + 1, depth - 1, &rng);
            log.say(What::SecondEnds, number);
        },
    );
    log.say(What::Goes, number);
}

/// A join whose frame was a ready leaf that nobody worked on. Its first half had ended and its second lay in the pool,
/// but the processor that had ended the first did something else before it began the second. (Rule 3 of Blumofe and
/// Leiserson's §3: the processor of a thread that dies takes the parent.) If another processor began the second half,
/// it may have taken it in time and been slow to say so. That does not count.
fn abandoned_leaf(events: &[Event]) -> Option<usize> {
    let begins = |event: &Event, join| event.what == What::SecondBegins && event.join == join;
    events.iter().enumerate().filter(|(_, event)| event.what == What::FirstEnds).find_map(|(at, first)| {
        let mut later = events[at + 1..].iter().filter(|event| event.by == first.by);
        let next = later.next()?;
        (!begins(next, first.join) && later.any(|event| begins(event, first.join))).then_some(first.join)
    })
}

#[test]
fn every_leaf_is_worked_on() {
    let seed = seed();
    for processors in [1, 2, 4, 8] {
        let pool = pool("busy-leaves", processors);
        for round in 0..20 {
            let log = Log::default();
            watchdog("busy leaves", || {
                pool.run(|| logged(&log, 1, 8, &Rng::new(seed + round)));
            });
            let events = log.0.into_inner().unwrap();
            assert_eq!(abandoned_leaf(&events), None, "P = {processors}, seed {}", seed + round);
        }
        // Theorem 3: at most S1 threads per processor, here a path of 8.
        let stats = pool.stats();
        assert!(stats.threads.peak_threads <= 8 * processors as u64, "{stats}");
    }
}

/// The checker above can fail: a queue leaves its leaves alone.
#[test]
fn a_queue_abandons_leaves() {
    let pool = pool("fifo", 2);
    let log = Log::default();
    watchdog("a queue", || pool.run(|| logged(&log, 1, 8, &Rng::new(1))));
    assert!(abandoned_leaf(&log.0.into_inner().unwrap()).is_some());
    assert!(pool.stats().threads.peak_threads > 16, "{}", pool.stats());
}

/// On one processor nothing is taken out of turn: the order is that of the serial execution.
#[test]
fn one_processor_runs_in_serial_order() {
    fn order(out: &Mutex<Vec<usize>>, number: usize, depth: usize) {
        out.lock().unwrap().push(number);
        if depth > 0 {
            join(|| order(out, 2 * number, depth - 1), || order(out, 2 * number + 1, depth - 1));
        }
    }
    fn serial(out: &mut Vec<usize>, number: usize, depth: usize) {
        out.push(number);
        if depth > 0 {
            serial(out, 2 * number, depth - 1);
            serial(out, 2 * number + 1, depth - 1);
        }
    }
    let mut expected = Vec::new();
    serial(&mut expected, 1, 7);
    for scheduler in ["work-stealing", "busy-leaves", "depth-first:inf", "depth-first:1", "dfdeques:1000000"]
    {
        let pool = pool(scheduler, 1);
        let out = Mutex::new(Vec::new());
        watchdog(scheduler, || pool.run(|| order(&out, 1, 7)));
        assert_eq!(out.into_inner().unwrap(), expected, "{scheduler}");
        let stats = pool.stats();
        assert_eq!(stats.threads.peak_threads, 7, "{scheduler}: {stats}");
    }
}

/// A thread is the half that goes before the rest of its parent. It lives no longer than that half, even if it panics.
/// If the first halves end at once, there is one thread at a time, however deep the second halves are nested.
#[test]
fn threads_are_the_children_of_forks() {
    fn second(depth: usize) {
        if depth > 0 {
            join(|| (), || second(depth - 1));
        }
    }
    fn first(depth: usize) {
        if depth > 0 {
            join(|| first(depth - 1), || ());
        }
    }
    let alive = |scheduler: &str, program: &(dyn Fn() + Sync)| {
        let pool = pool(scheduler, 1);
        for _ in 0..20 {
            watchdog(scheduler, || drop(catch_unwind(AssertUnwindSafe(|| pool.run(program)))));
        }
        pool.stats().threads.peak_threads
    };
    let boom = || -> () { panic!("as planned") };
    // Quotas that the panics of all rounds do not use up, because a frame that gives way lets another thread begin.
    for scheduler in ["work-stealing", "busy-leaves", "depth-first:100000", "dfdeques:100000"] {
        assert_eq!(alive(scheduler, &|| second(7)), 1, "{scheduler}");
        assert_eq!(alive(scheduler, &|| first(7)), 7, "{scheduler}");
        assert_eq!(alive(scheduler, &|| _ = join(boom, || first(3))), 3, "{scheduler}");
        assert_eq!(alive(scheduler, &|| _ = join(|| first(3), boom)), 4, "{scheduler}");
    }
    assert_eq!(alive("fifo", &|| second(7)), 7);
    assert_eq!(alive("fifo", &|| _ = join(boom, || second(3))), 4);
}

// ---- Quotas -------------------------------------------------------------------------------------------------

/// Each node allocates half of what its parent did, and holds it while its children run.
fn halving(bytes: usize, leaves: &AtomicUsize) {
    reserve(bytes);
    charge(bytes);
    if bytes < 1_000 {
        thread::yield_now();
        leaves.fetch_add(1, SeqCst);
    } else {
        join(|| halving(bytes / 2, leaves), || halving(bytes / 2, leaves));
    }
    release(bytes);
}

fn halved(scheduler: &str, processors: usize) -> Stats {
    let pool = pool(scheduler, processors);
    let leaves = AtomicUsize::new(0);
    watchdog(scheduler, || pool.run(|| halving(64_000, &leaves)));
    assert_eq!(leaves.into_inner(), 128, "{scheduler}");
    let stats = pool.stats();
    // What is not reported yet, and the buffers of the pool itself.
    let rest = 4096 * processors as u64 + 32_000;
    assert!(stats.heap <= rest, "{scheduler}, P = {processors}: everything was released, {stats}");
    stats
}

#[test]
fn a_quota_that_is_used_up_costs_the_deque() {
    for processors in [1, 2, 4] {
        for scheduler in ["dfdeques:4000", "depth-first:4000"] {
            let stats = halved(scheduler, processors);
            assert!(stats.quotas.give_ups > 0 && stats.quotas.quota == 4_000, "{scheduler}: {stats}");
            assert!(stats.quotas.dummies > 0, "blocks of more than 4,000 bytes: {scheduler}: {stats}");
        }
        for scheduler in ["work-stealing", "dfdeques:inf", "busy-leaves", "depth-first:inf", "fifo"] {
            let stats = halved(scheduler, processors);
            assert_eq!(
                (stats.quotas.give_ups, stats.quotas.dummies, stats.quotas.quota),
                (0, 0, 0),
                "{scheduler}: {stats}"
            );
        }
    }
}

/// A quota above all that is allocated is never used up.
#[test]
fn a_generous_quota_changes_nothing() {
    for processors in [1, 4] {
        let stats = halved("dfdeques:1000000", processors);
        assert_eq!((stats.quotas.give_ups, stats.quotas.dummies), (0, 0), "{stats}");
        assert!(stats.quotas.peak_deques >= 1 && stats.quotas.peak_deques <= processors as u64, "{stats}");
    }
}

/// On one processor the serial execution's path is all that is ever held.
#[test]
fn one_processor_holds_the_serial_space() {
    let serial: u64 = (0..8).map(|level| 64_000 >> level).sum();
    for scheduler in ["work-stealing", "depth-first:4000", "busy-leaves"] {
        let peak = halved(scheduler, 1).peak_heap;
        assert!(peak.abs_diff(serial) <= 4096, "{scheduler}: {peak}, serial {serial}");
    }
}

#[test]
fn auto_chooses_a_quota() {
    let stats = halved("dfdeques:auto", 2);
    assert!(stats.quotas.give_ups > 0 && stats.quotas.quota >= 1_024, "{stats}");
    // Blocks far above the first quota, so it does not stay there.
    let pool = pool("dfdeques:auto", 2);
    for _ in 0..20 {
        let leaves = AtomicUsize::new(0);
        watchdog("auto", || pool.run(|| halving(256_000, &leaves)));
    }
    assert!(pool.stats().quotas.quota > 1_024, "{}", pool.stats());
}

/// What the allocator sees is charged to the processor, and comes back when it is freed.
#[test]
fn the_allocator_is_metered() {
    let pool = Pool::builder().processors(1).scheduler(Scheduler::default()).metered(true).build().unwrap();
    let (before, block) = (pool.stats().heap, 1 << 20);
    let kept = pool.run(|| vec![1u8; block]);
    let after = pool.stats();
    assert!(after.heap.abs_diff(before + block as u64) <= 8192, "{after}");
    pool.run(move || drop(kept));
    assert!(pool.stats().heap.abs_diff(before) <= 8192, "{}", pool.stats());
    assert!(pool.stats().peak_heap >= block as u64);
    pool.forget_peaks();
    assert!(pool.stats().peak_heap < block as u64);
}

/// Without spare carriers a processor goes on where it is.
#[test]
fn without_spare_carriers_nothing_is_given_up() {
    for scheduler in ["dfdeques:1000", "depth-first:1000", "fifo", "busy-leaves"] {
        for processors in [1, 2, 4] {
            let scheduler: Scheduler = scheduler.parse().unwrap();
            let pool = Pool::builder()
                .processors(processors)
                .scheduler(scheduler)
                .max_carriers(processors)
                .lend(false)
                .build()
                .unwrap();
            for _ in 0..10 {
                let leaves = AtomicUsize::new(0);
                watchdog("no spare carriers", || pool.run(|| halving(64_000, &leaves)));
                assert_eq!(leaves.into_inner(), 128);
            }
            assert!(pool.stats().peak_carriers <= processors as u64, "{}", pool.stats());
        }
    }
}
