//! Handlers may use the pool that calls them: start, exit and panic handlers, and the functions that start carriers from
//! outside, in pools whose threads move and in pools whose threads are fixed.

mod common;

use bombyx::dropin::{BuilderExt as _, HandleExt as _, yield_now};
use bombyx::{Builder, Handle, Pool, Threads, blocking, for_each, join, scope};
use common::{builder, bump, wait_until, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, OnceLock, mpsc};
use std::thread;

/// Everything that waits for the pool, from inside of it.
fn use_pool() {
    assert_eq!(join(|| join(|| 1, || 2), || 3), ((1, 2), 3));
    let ended = AtomicUsize::new(0);
    scope(|s| (0..3).for_each(|_| s.spawn(|_| bump(&ended))));
    for_each(0..10, |_| bump(&ended));
    blocking(|| bump(&ended));
    yield_now();
    assert_eq!(ended.into_inner(), 14);
}

/// Runs `f` for every kind of pool, under a watchdog.
fn for_each_kind(what: &str, f: impl Fn(Builder, Threads, usize)) {
    for kind in [Threads::Moving, Threads::Fixed] {
        for processors in [1, 2] {
            watchdog(&format!("{what}, {kind} threads, P = {processors}"), || {
                f(builder(processors).threads(kind), kind, processors);
            });
        }
    }
}

/// Also if the pool has work for the carrier before the handler has ended: the broadcast.
#[test]
fn a_start_handler_uses_the_pool() {
    for_each_kind("start", |builder, _, processors| {
        let started = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&started);
        let pool = builder
            .on_start(move |_| {
                use_pool();
                bump(&count);
            })
            .build()
            .unwrap();
        pool.run(use_pool);
        pool.handle().broadcast(|_| ());
        drop(pool);
        assert!(started.load(SeqCst) >= processors);
    });
}

#[test]
fn an_exit_handler_uses_the_pool() {
    for_each_kind("exit", |builder, _, processors| {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ended);
        let pool = builder
            .on_exit(move |_| {
                use_pool();
                bump(&count);
            })
            .build()
            .unwrap();
        pool.run(use_pool);
        drop(pool);
        assert!(ended.load(SeqCst) >= processors);
    });
}

#[test]
fn a_panic_handler_uses_the_pool() {
    for_each_kind("panic", |builder, _, processors| {
        let (sender, receiver) = mpsc::channel();
        let pool = builder
            .on_panic(move |_| {
                use_pool();
                let handle = Handle::current().expect("the handler runs in the pool");
                let sender = sender.clone();
                handle.spawn(move || sender.send(()).unwrap());
            })
            .build()
            .unwrap();
        for _ in 0..4 * processors {
            // Not a task: if it ended before it is dropped, the handler would run where it is dropped.
            pool.handle().spawn_detached(|| std::panic::resume_unwind(Box::new("nobody waits for this")));
        }
        for _ in 0..4 * processors {
            receiver.recv().unwrap();
        }
    });
}

/// The thread that a carrier is given uses the pool before it becomes a carrier, and another one after. With fixed threads it
/// would wait for itself before.
#[test]
fn who_starts_a_carrier_uses_the_pool() {
    for_each_kind("spawn", |builder, kind, processors| {
        let handle: Arc<OnceLock<Handle>> = Arc::default();
        let ended = AtomicUsize::new(0);
        let begun = Barrier::new(processors + 1);
        thread::scope(|threads| {
            let pool: Pool = builder
                .build_with(|carrier| {
                    let (handle, ended, begun) = (Arc::clone(&handle), &ended, &begun);
                    threads.spawn(move || {
                        wait_until(|| handle.get().is_some());
                        let pool = handle.get().expect("just set");
                        if kind == Threads::Moving {
                            pool.run(use_pool);
                        }
                        begun.wait();
                        carrier.run();
                        use_pool();
                        bump(ended);
                    });
                    Ok(())
                })
                .unwrap();
            handle.set(pool.handle()).expect("once");
            begun.wait();
            pool.run(use_pool);
            drop(pool);
        });
        assert_eq!(ended.load(SeqCst), processors);
    });
}
