//! Everyone gets a turn: ready carriers, spawned closures and calls from outside, whatever else there is to do. And
//! with few carriers, nothing that has work waits for ever.

mod common;

use bombyx::dropin::HandleExt as _;
use bombyx::lab::BuilderExt as _;
use bombyx::{Handle, Pool, blocking, scope};
use common::watchdog;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Closures that block and go on in turn, on one processor. Each has gone on as often as the others, up to one round.
#[test]
fn carriers_that_block_in_turn_all_go_on() {
    const CLOSURES: usize = 6;
    let pool = Pool::builder().processors(1).build().unwrap();
    let counts: Arc<[AtomicUsize; CLOSURES]> = Arc::default();
    let stop = Arc::new(AtomicBool::new(false));
    for at in 0..CLOSURES {
        let (counts, stop) = (Arc::clone(&counts), Arc::clone(&stop));
        pool.spawn(move || {
            while !stop.load(SeqCst) {
                // Comes back while another closure holds the processor.
                blocking(thread::yield_now);
                counts[at].fetch_add(1, SeqCst);
                thread::sleep(Duration::from_micros(100));
            }
        });
    }
    // A call from outside is also served.
    while counts.iter().any(|count| count.load(SeqCst) < 20) {
        pool.run(|| ());
    }
    stop.store(true, SeqCst);
}

/// Spawns itself again when it runs, until it is stopped.
fn again(handle: Handle, stop: Arc<AtomicBool>) {
    if !stop.load(SeqCst) {
        handle.clone().spawn(move || again(handle, stop));
    }
}

/// Schedulers of all kinds.
const OF_ALL_KINDS: [&str; 6] =
    ["work-stealing", "fifo", "busy-leaves", "depth-first:inf", "dfdeques:1000", "private-cas"];

#[test]
fn a_closure_that_spawns_itself_for_ever_keeps_nobody_waiting() {
    for name in OF_ALL_KINDS {
        let pool = Pool::builder().processors(2).scheduler(name.parse().unwrap()).build().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let older = Arc::new(AtomicBool::new(false));
        pool.run(|| {
            // Lies below those that come later, at the oldest end of the deque.
            let older = Arc::clone(&older);
            pool.spawn(move || older.store(true, SeqCst));
            for _ in 0..2 {
                again(pool.handle(), Arc::clone(&stop));
            }
        });
        for round in 0..20 {
            assert_eq!(pool.run(|| round), round, "{name}");
        }
        while !older.load(SeqCst) {
            thread::yield_now();
        }
        stop.store(true, SeqCst);
    }
}

/// The stated bound: the entry at place k of the queue begins after at most 2 · k · 64 entries of the processor. Here a closure
/// spawns itself for ever, and counts.
#[test]
fn the_entry_at_place_k_of_the_queue_begins_after_so_many_others() {
    const QUEUED: usize = 100;
    const TURNS: usize = 64;
    fn count(handle: Handle, rounds: Arc<AtomicUsize>, stop: Arc<AtomicBool>) {
        rounds.fetch_add(1, SeqCst);
        if !stop.load(SeqCst) {
            handle.clone().spawn(move || count(handle, rounds, stop));
        }
    }
    for name in OF_ALL_KINDS {
        let builder = Pool::builder().processors(1).scheduler(name.parse().unwrap());
        let pool = builder.lend(false).build().unwrap();
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (begins, begun) = mpsc::channel();
        pool.run(|| {
            count(pool.handle(), Arc::clone(&rounds), Arc::clone(&stop));
            // This closure keeps the processor until all are queued.
            let (handle, rounds) = (pool.handle(), Arc::clone(&rounds));
            let outside = thread::spawn(move || {
                for _ in 0..QUEUED {
                    let (rounds, begins) = (Arc::clone(&rounds), begins.clone());
                    handle.spawn(move || begins.send(rounds.load(SeqCst)).unwrap());
                }
            });
            outside.join().unwrap();
        });
        for (before, rounds) in begun.iter().take(QUEUED).enumerate() {
            let bound = 2 * (before + 1) * TURNS;
            assert!(rounds <= bound, "{name}: {rounds} entries went before place {before}, not {bound}");
        }
        stop.store(true, SeqCst);
    }
}

/// One processor, so that nobody steals. A closure lies in its deque, a younger one spawns itself for ever, and the queue is long: it
/// need not be empty before the older closure gets its turn.
#[test]
fn a_long_queue_keeps_no_older_closure_waiting() {
    const QUEUED: usize = 1_000;
    const NOT_YET: usize = usize::MAX;
    for name in ["work-stealing", "private-cas", "read-write"] {
        let builder = Pool::builder().processors(1).scheduler(name.parse().unwrap());
        let pool = builder.lend(false).build().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (served, before) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(NOT_YET)));
        pool.run(|| {
            let (begins, count) = (Arc::clone(&before), Arc::clone(&served));
            pool.spawn(move || begins.store(count.load(SeqCst), SeqCst));
            again(pool.handle(), Arc::clone(&stop));
            let (handle, served) = (pool.handle(), Arc::clone(&served));
            let outside = thread::spawn(move || {
                for _ in 0..QUEUED {
                    let served = Arc::clone(&served);
                    handle.spawn(move || _ = served.fetch_add(1, SeqCst));
                }
            });
            outside.join().unwrap();
        });
        while before.load(SeqCst) == NOT_YET {
            thread::yield_now();
        }
        stop.store(true, SeqCst);
        assert!(before.load(SeqCst) <= 128, "{name}: {} went first", before.load(SeqCst));
    }
}

/// A scope waits for closures that spawn others without end. A closure that lies below them in the deque gets its turn: on another
/// carrier, or on top of the scope if there is none.
#[test]
fn a_scope_without_end_keeps_no_older_closure_waiting() {
    fn more<'scope>(s: &bombyx::Scope<'scope>, stop: &'scope AtomicBool) {
        if !stop.load(SeqCst) {
            s.defer(|s| more(s, stop));
        }
    }
    for (name, carriers) in [("work-stealing", 8), ("work-stealing", 1), ("private-cas", 8)] {
        let builder = Pool::builder().processors(1).scheduler(name.parse().unwrap());
        let pool = builder.max_carriers(carriers).lend(false).build().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        pool.run(|| {
            let older = Arc::clone(&stop);
            pool.spawn(move || older.store(true, SeqCst));
            scope(|s| more(s, &stop));
        });
    }
}

#[test]
fn a_scope_without_end_keeps_no_call_waiting() {
    fn more<'scope>(s: &bombyx::Scope<'scope>, stop: &'scope AtomicBool) {
        if !stop.load(SeqCst) {
            s.spawn(|s| more(s, stop));
        }
    }
    for carriers in [8, 1] {
        let pool = Pool::builder().processors(1).max_carriers(carriers).lend(false).build().unwrap();
        let stop = AtomicBool::new(false);
        watchdog(&format!("a call of a pool with {carriers} carriers"), || {
            thread::scope(|threads| {
                threads.spawn(|| pool.run(|| scope(|s| more(s, &stop))));
                for round in 0..20 {
                    assert_eq!(pool.run(|| round), round);
                }
                stop.store(true, SeqCst);
            });
        });
    }
}

/// One carrier blocks, and there is one other for two processors. It runs both parts of the broadcast.
#[test]
fn a_broadcast_ends_with_one_free_carrier() {
    let pool = Pool::builder().processors(2).max_carriers(2).build().unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let (blocks, blocked) = mpsc::channel();
    pool.spawn(move || {
        blocking(|| {
            blocks.send(()).unwrap();
            let _ = wait.recv();
        })
    });
    blocked.recv().unwrap();
    for _ in 0..10 {
        assert_eq!(pool.handle().broadcast(|place| place.index()), [0, 1]);
    }
    go.send(()).unwrap();
}

/// The only carrier blocks until a closure has run that the calling thread has spawned. The calling thread runs it
/// itself.
#[test]
fn who_waits_outside_works_itself_if_there_is_no_carrier() {
    let pool = Pool::builder().processors(1).max_carriers(1).build().unwrap();
    let (sender, receiver) = mpsc::channel::<()>();
    let (blocks, blocked) = mpsc::channel();
    let block = |receiver: mpsc::Receiver<()>, blocks: mpsc::Sender<()>| {
        pool.spawn(move || {
            blocking(|| {
                blocks.send(()).unwrap();
                receiver.recv().unwrap();
            })
        });
        blocked.recv().unwrap();
    };
    block(receiver, blocks.clone());
    pool.handle().in_place_scope(|s| s.spawn(move |_| sender.send(()).unwrap()));
    let (sender, receiver) = mpsc::channel::<()>();
    block(receiver, blocks);
    pool.handle().broadcast(|_| sender.send(()).unwrap());
}

/// The only carrier of one pool waits inside another pool, whose carrier waits for the first one.
#[test]
fn pools_with_one_carrier_each_may_wait_for_each_other() {
    let pool = || Pool::builder().processors(1).max_carriers(1).build().unwrap();
    let (a, b) = (pool(), pool());
    let (here, there) = (a.handle(), b.handle());
    let (sender, receiver) = mpsc::channel();
    a.spawn(move || {
        there.in_place_scope(|s| {
            s.spawn(move |_| {
                let ran = here.broadcast(|place| place.index());
                here.in_place_scope(|s| s.spawn(move |_| sender.send(ran).unwrap()));
            })
        })
    });
    assert_eq!(receiver.recv(), Ok(vec![0]));
}

/// A call and the end of a pool at the same time. The call is served, or reports that the pool has ended.
#[test]
fn a_call_while_the_pool_is_closed_does_not_hang() {
    for _ in 0..200 {
        let pool = Pool::builder().processors(1).lend(false).build().unwrap();
        let handle = pool.handle();
        thread::scope(|threads| {
            threads.spawn(|| handle.close());
            let called = threads.spawn(|| pool.run(|| 7));
            assert!(called.join().is_ok_and(|result| result == 7) || handle_is_closed(&handle));
        });
    }
}

fn handle_is_closed(handle: &Handle) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handle.run(|| ()))).is_err()
}
