//! Tasks pile up on the stack of a thread that waits, until it overflows. On the original, these abort the process.

use crate::{Flag, must_end, pool};
use rayon_core::{Yield, join, yield_local};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `f` with `SIZE` bytes of stack in use.
#[inline(never)]
fn deep<const SIZE: usize, R>(f: impl FnOnce() -> R) -> R {
    let mut frame = [0u8; SIZE];
    black_box(&mut frame);
    let result = f();
    black_box(&mut frame);
    result
}

const KIB: usize = 1 << 10;

/// Every task begins, and none ends before all have begun.
#[derive(Default)]
struct Crowd(AtomicUsize);

impl Crowd {
    const TASKS: usize = 200;

    fn arrive(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    fn complete(&self) -> bool {
        self.0.load(Ordering::Acquire) == Crowd::TASKS
    }
}

/// Spawned tasks that fork: one waits for its stolen half, and the next one begins on top of it. Either fits the
/// stack of 2 MiB, both together do not.
#[test]
fn issue_854_spawns_that_fork() {
    must_end(|| {
        let (stolen, second) = (Flag::default(), Flag::default());
        pool(2).scope(|s| {
            s.spawn(|s| {
                deep::<{ 1200 * KIB }, _>(|| {
                    let spawn_second = || {
                        stolen.wait();
                        s.spawn(|_| deep::<{ 1200 * KIB }, _>(|| second.raise()));
                    };
                    join(spawn_second, || {
                        stolen.raise();
                        second.wait();
                    });
                })
            });
        });
    });
}

/// Tasks of one pool that open a scope in another one, and wait there.
#[test]
fn issue_751_scopes_in_another_pool() {
    must_end(|| {
        let (outer, inner) = (pool(1), pool(1));
        let crowd = Crowd::default();
        outer.scope(|s| {
            for _ in 0..Crowd::TASKS {
                s.spawn(|_| {
                    deep::<{ 64 * KIB }, _>(|| {
                        crowd.arrive();
                        inner.scope(|_| {
                            while !crowd.complete() {
                                thread::yield_now();
                            }
                        });
                    })
                });
            }
        });
        assert!(crowd.complete());
    });
}

/// Tasks that yield while they wait for each other.
#[test]
fn issue_1064_yields() {
    must_end(|| {
        let crowd = Crowd::default();
        pool(1).scope(|s| {
            for _ in 0..Crowd::TASKS {
                s.spawn(|_| {
                    deep::<{ 64 * KIB }, _>(|| {
                        crowd.arrive();
                        while !crowd.complete() {
                            assert_eq!(
                                yield_local(),
                                Some(Yield::Executed),
                                "tasks wait, so there is something to run"
                            );
                        }
                    })
                });
            }
        });
        assert!(crowd.complete());
    });
}
