//! `par_bridge` shares a serial iterator under a lock. If the iterator uses the pool itself, the lock is held across
//! a join.

use crate::{Flag, must_end, pool};
use rayon::prelude::*;
use rayon_core::join;
use std::sync::{Arc, Mutex};

/// The hang of the original's own test `par_bridge_recursion`, which happens now and then, with the interleaving
/// forced. There are three threads. The first one holds the lock and waits for a half that the second one has stolen.
/// The second one waits in turn, and takes a task that wants the lock. The half below can never end.
#[test]
fn issue_1142_lock_wanted_on_top_of_the_half() {
    must_end(|| {
        let pool = pool(3);
        let lock = Arc::new(Mutex::new(()));
        let inner = Flag::default();
        let (wanting, ended) = (Arc::new(Flag::default()), Arc::new(Flag::default()));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                inner.wait();
                let (lock, wanting, ended) = (Arc::clone(&lock), Arc::clone(&wanting), Arc::clone(&ended));
                pool.spawn(move || {
                    wanting.raise();
                    drop(lock.lock());
                    ended.raise();
                });
            });
            pool.install(|| {
                let _held = lock.lock().unwrap();
                join(
                    // Computes as long as the others set the trap, so that only the second thread can step into it.
                    || wanting.wait(),
                    || {
                        join(
                            || inner.wait(),
                            || {
                                inner.raise();
                                wanting.wait();
                            },
                        )
                    },
                );
            });
        });
        ended.wait();
    });
}

/// The original test, smaller and repeated.
#[test]
fn issue_1142_par_bridge_recursion() {
    must_end(|| {
        let pool = pool(10);
        for _ in 0..20 {
            pool.broadcast(|_| {
                let sum: usize = (0..500usize)
                    .into_par_iter()
                    .flat_map(|i| std::iter::once_with(move || join(move || i, move || i)).par_bridge())
                    .map(|(a, b)| a + b)
                    .sum();
                assert_eq!(sum, 500 * 499);
            });
        }
    });
}
