//! A waiting thread takes an unrelated task on top of its stack, and the frame below cannot go on: because the task
//! wants what the frame holds, or just because it takes long.

use crate::{Flag, must_end, pool};
use rayon_core::join;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

/// On two threads, runs `holder`, which must call its argument once. That call misses: its other half is stolen, and
/// ends only when `other` has begun. `other` is spawned meanwhile, so only the waiting thread can take it.
fn with_unrelated_task(
    holder: impl FnOnce(&(dyn Fn() + Sync)) + Send + 'static,
    other: impl FnOnce() + Send + 'static,
) {
    must_end(move || {
        let pool = pool(2);
        let (stolen, begun, ended) = (Flag::default(), Arc::new(Flag::default()), Arc::new(Flag::default()));
        thread_scope(
            || {
                stolen.wait();
                let (begun, ended) = (Arc::clone(&begun), Arc::clone(&ended));
                pool.spawn(move || {
                    begun.raise();
                    other();
                    ended.raise();
                });
            },
            || {
                pool.install(|| {
                    holder(&|| {
                        let miss = || {
                            stolen.raise();
                            begun.wait();
                        };
                        join(|| stolen.wait(), miss);
                    });
                });
            },
        );
        ended.wait();
    });
}

/// Runs both on separate threads.
fn thread_scope(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(a);
        scope.spawn(b);
    });
}

/// A lock is held across a join, and the task that the waiting thread takes wants it.
#[test]
fn issue_592_lock_across_join() {
    let lock = Arc::new(Mutex::new(0));
    let same = Arc::clone(&lock);
    with_unrelated_task(
        move |miss| {
            let mut held = lock.lock().unwrap();
            miss();
            *held += 1;
        },
        move || *same.lock().unwrap() += 1,
    );
}

/// A thread-local is borrowed across a join, and the task that the waiting thread takes borrows it, too.
#[test]
fn issue_941_thread_local_borrowed_across_join() {
    thread_local!(static SCRATCH: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) });
    with_unrelated_task(
        |miss| {
            SCRATCH.with_borrow_mut(|scratch| {
                miss();
                scratch.push(1);
            })
        },
        || SCRATCH.with_borrow_mut(|scratch| scratch.push(2)),
    );
}

/// The task that the waiting thread takes goes on until the join has returned.
#[test]
fn issue_957_join_returns_late() {
    let returned = Arc::new(Flag::default());
    let seen = Arc::clone(&returned);
    with_unrelated_task(
        move |miss| {
            miss();
            returned.raise();
        },
        move || seen.wait(),
    );
}

/// The same across pools: `install` waits in its own pool and takes a task there that ends only after `install` has
/// returned. The second thread of that pool is busy only until then.
#[test]
fn issue_1174_install_returns_late() {
    must_end(|| {
        let (outer, inner) = (pool(2), pool(1));
        let busy = Arc::new(Flag::default());
        let (begun, returned) = (Arc::new(Flag::default()), Arc::new(Flag::default()));
        outer.install(|| {
            let second = (Arc::clone(&busy), Arc::clone(&begun));
            outer.spawn(move || {
                second.0.raise();
                second.1.wait();
            });
            busy.wait();
            let task = (Arc::clone(&begun), Arc::clone(&returned));
            outer.spawn(move || {
                task.0.raise();
                task.1.wait();
            });
            inner.install(|| begun.wait());
            returned.raise();
        });
    });
}
