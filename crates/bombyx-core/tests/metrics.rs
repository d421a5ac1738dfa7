//! What a pool tells about itself: figures of the present, and events on slow paths.

mod common;

use bombyx::dropin::{HandleExt as _, ScopeExt as _};
use bombyx::{Pool, PoolEvent, join, scope};
use common::{pool, schedulers, wait_until, watchdog, with_every_scheduler};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};

#[test]
fn metrics_tell_who_waits() {
    watchdog("metrics", || {
        with_every_scheduler(1, |pool| {
            let (sender, receiver) = mpsc::channel::<()>();
            let busy = pool.spawn(move || receiver.recv().unwrap());
            wait_until(|| pool.metrics().queued == 0 && pool.metrics().busy == 1);
            let waiting: Vec<_> = (0..3).map(|n| pool.spawn(move || n)).collect();
            let metrics = pool.metrics();
            assert_eq!((metrics.processors, metrics.queued, metrics.detached), (1, 3, 4));
            assert_eq!(metrics.resting, 0);
            let before = metrics.oldest_wait.expect("somebody waits");
            wait_until(|| pool.metrics().oldest_wait.expect("still waiting") > before);
            sender.send(()).unwrap();
            busy.join().unwrap();
            assert_eq!(waiting.into_iter().map(|task| task.join().unwrap()).sum::<i32>(), 3);
            wait_until(|| pool.metrics().resting == 1);
            let metrics = pool.metrics();
            assert_eq!(
                (metrics.queued, metrics.oldest_wait, metrics.detached, metrics.ready),
                (0, None, 0, 0)
            );
            assert_eq!((metrics.busy, metrics.spares), (0, metrics.carriers));
            assert!(metrics.stats.sleeps > 0);
        });
    });
}

#[test]
fn metrics_count_what_is_ready() {
    let pool = pool(1);
    pool.run(|| {
        scope(|s| {
            (0..5).for_each(|_| s.spawn(|_| ()));
            let metrics = bombyx::Handle::current().unwrap().metrics();
            assert_eq!((metrics.ready, metrics.busy), (5, 1));
        });
    });
}

/// Every event that begins something is followed by the one that ends it, and a steal that must happen is told.
#[test]
fn events_come_in_pairs() {
    watchdog("events", || {
        for scheduler in schedulers() {
            let seen = Arc::new(Mutex::new(HashMap::<&str, usize>::new()));
            let count = Arc::clone(&seen);
            let pool = Pool::builder().processors(2).scheduler(scheduler).on_event(move |event| {
                let name = match event {
                    PoolEvent::CarrierBegins(_) => "carrier begins",
                    PoolEvent::CarrierEnds(_) => "carrier ends",
                    PoolEvent::StolenBegins(_) => "stolen begins",
                    PoolEvent::StolenEnds(_) => "stolen ends",
                    PoolEvent::CallBegins(_) => "call begins",
                    PoolEvent::CallEnds(_) => "call ends",
                    PoolEvent::HandOver(_) => "hand-over",
                    PoolEvent::Sleeps(_) => "sleeps",
                    PoolEvent::Wakes(_) => "wakes",
                    _ => "another",
                };
                *count.lock().unwrap().entry(name).or_insert(0) += 1;
            });
            let pool = pool.build().unwrap();
            let met = AtomicBool::new(false);
            pool.run(|| {
                let left = || {
                    // The other half can run only elsewhere.
                    while !met.load(SeqCst) {
                        bombyx::checkpoint();
                        std::hint::spin_loop();
                    }
                };
                join(left, || met.store(true, SeqCst))
            });
            let stolen = || seen.lock().unwrap().get("stolen begins").copied().unwrap_or(0);
            // Spawned closures that can run only elsewhere.
            for way in 0..4 {
                let (before, begun) = (stolen(), Arc::new(AtomicBool::new(false)));
                let begin = Arc::clone(&begun);
                let handle = pool.handle();
                pool.run(|| {
                    scope(|s| {
                        let begin = move || begin.store(true, SeqCst);
                        match way {
                            0 => s.spawn(move |_| begin()),
                            1 => s.spawn_fifo(move |_| begin()),
                            2 => handle.spawn_detached(begin),
                            _ => drop(handle.spawn(begin)),
                        }
                        wait_until(|| begun.load(SeqCst));
                    });
                });
                assert!(stolen() > before, "{scheduler}: spawned in way {way}");
            }
            drop(pool);
            let seen = seen.lock().unwrap();
            let count = |name| seen.get(name).copied().unwrap_or(0);
            assert!(count("stolen begins") >= 1, "{scheduler}: {seen:?}");
            assert_eq!(count("stolen begins"), count("stolen ends"), "{scheduler}: {seen:?}");
            assert_eq!(count("call begins"), count("call ends"), "{scheduler}: {seen:?}");
            assert_eq!(count("carrier begins"), count("carrier ends"), "{scheduler}: {seen:?}");
            assert!(count("sleeps") >= 1 && count("another") == 0, "{scheduler}: {seen:?}");
        }
    });
}
