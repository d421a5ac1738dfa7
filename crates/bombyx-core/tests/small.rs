//! A few small programs of the conformance suite on every scheduler, and with fixed threads. Miri runs them (`scripts/miri`):
//! it checks every access to memory, and is too slow for the larger tests.

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::reducers::Append;
use bombyx::{Pool, Reducer, Scheduler, TaskLocal, Threads, join, scope};
use common::program::{self, Program};
use common::{Rng, builder, schedulers, seed, wait_until, watchdog};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

const PROGRAMS: u64 = if cfg!(miri) { 3 } else { 30 };

fn check(pool: bombyx::Builder, threads: program::Threads, what: &str) {
    // No program needs the other pool to be large. On their fence path, as Miri knows no membarrier.
    let pool = pool.fence(true).build().expect("a small pool can be built");
    let other = builder(1).fence(true).build().expect("a small pool can be built");
    for number in 0..PROGRAMS {
        let seed = seed() ^ number;
        let program = Program::draw(&mut Rng::new(seed), 12, threads);
        watchdog(&format!("{what}, seed {seed}"), || program.check(&pool, &other));
    }
}

#[test]
fn every_scheduler() {
    for scheduler in schedulers() {
        for processors in [1, 2] {
            let pool = Pool::builder().processors(processors).scheduler(scheduler);
            check(pool, program::Threads::Any, &format!("{scheduler}, P = {processors}"));
        }
    }
}

#[test]
fn fixed_threads() {
    let pool = Pool::builder().processors(2).scheduler(Scheduler::default()).threads(Threads::Fixed);
    check(pool, program::Threads::Fixed, "fixed threads");
}

/// The end of a scope is told through the pointer that its closures were given.
#[test]
fn closures_that_spawn_closures() {
    for scheduler in schedulers() {
        let pool = Pool::builder().processors(1).scheduler(scheduler).fence(true).build().unwrap();
        pool.run(|| {
            bombyx::scope(|s| {
                s.spawn(|s| {
                    for _ in 0..3 {
                        s.spawn(|_| ());
                    }
                });
            });
        });
    }
}

/// The second half is stolen, because the first one waits for it. It sees the value that is bound where it was forked, and
/// its views join the others in serial order, also those of a closure that it spawned. The value and the views are freed.
#[test]
fn what_a_stolen_half_carries() {
    static NAME: TaskLocal<String> = TaskLocal::new();
    for scheduler in schedulers() {
        let pool = Pool::builder().processors(2).scheduler(scheduler).fence(true).build().unwrap();
        let list = Reducer::new(Append::<Vec<String>>::new());
        let push = |place: &str| {
            let name = NAME.get().unwrap_or_default();
            list.with(|list| list.push(format!("{place} {name}")));
        };
        let started = AtomicBool::new(false);
        watchdog(&format!("{scheduler}: a stolen half"), || {
            pool.run(|| {
                push("before");
                NAME.scope("bound".to_owned(), || {
                    join(
                        || {
                            wait_until(|| started.load(SeqCst));
                            push("first");
                        },
                        || {
                            started.store(true, SeqCst);
                            push("second");
                            scope(|s| s.spawn(|_| push("spawned")));
                            push("third");
                        },
                    )
                });
                push("after");
            });
        });
        let expected = ["before ", "first bound", "second bound", "spawned bound", "third bound", "after "];
        assert_eq!(list.into_inner(), expected, "{scheduler}");
    }
}
