//! A few small programs of the conformance suite on every scheduler, and with fixed threads. Miri runs them (`scripts/miri`):
//! it checks every access to memory, and is too slow for the larger tests.

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::reducers::Append;
use bombyx::{CancelToken, Pool, Reducer, Scheduler, TaskLocal, Threads, join, scope};
use common::program::{self, Program};
use common::{Census, Counted, Rng, builder, bump, schedulers, seed, wait_until, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

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

/// Tasks that are joined, dropped and aborted. They keep what is bound where they were spawned, and merge views of their own.
#[test]
fn tasks_with_context_and_views() {
    static NAME: TaskLocal<Counted<String>> = TaskLocal::new();
    for scheduler in schedulers() {
        let pool = Pool::builder().processors(2).scheduler(scheduler).fence(true).build().unwrap();
        let census = Census::default();
        let ended = Arc::new(AtomicUsize::new(0));
        let closure = |number: usize| {
            let (carried, ended) = (census.count(number), Arc::clone(&ended));
            move || {
                let list = Reducer::new(Append::<Vec<usize>>::new());
                let add = |number| list.with(|list: &mut Vec<usize>| list.push(number));
                scope(|s| {
                    for number in 0..carried.0 {
                        add(2 * number);
                        let add = &add;
                        s.spawn(move |_| add(2 * number + 1));
                    }
                });
                assert!(list.into_inner().into_iter().eq(0..2 * carried.0));
                let name = NAME.with(|name| name.map(|name| name.0.clone()));
                bump(&ended);
                name
            }
        };
        watchdog(&format!("{scheduler}: tasks"), || {
            NAME.scope(census.count("bound".to_owned()), || {
                let task = pool.spawn(closure(3));
                drop(pool.spawn(closure(1)));
                if pool.spawn(closure(2)).abort() {
                    bump(&ended);
                }
                assert_eq!(task.join().unwrap().as_deref(), Some("bound"), "{scheduler}");
            });
            assert_eq!(pool.run(|| bombyx::spawn(closure(40)).join()).unwrap(), None, "{scheduler}");
            wait_until(|| ended.load(SeqCst) == 4 && census.alive() == 0);
        });
    }
}

/// What is cancelled is dropped, and what ran is in the list in serial order.
#[test]
fn what_is_cancelled() {
    for scheduler in schedulers() {
        let pool = Pool::builder().processors(2).scheduler(scheduler).fence(true).build().unwrap();
        let census = Census::default();
        let list = Reducer::new(Append::<Vec<usize>>::new());
        let add = |number: &Counted<usize>| list.with(|list| list.push(number.0));
        watchdog(&format!("{scheduler}: cancelled"), || {
            pool.run(|| {
                scope(|s| {
                    let add = &add;
                    for number in 0..6 {
                        let carried = census.count(number);
                        s.spawn(move |s| {
                            add(&carried);
                            if number == 3 {
                                s.cancel();
                            }
                        });
                    }
                });
                let token = CancelToken::new();
                let (left, right) = (census.count(6), census.count(7));
                let both = token.join(|| add(&left), || add(&right));
                assert_eq!(both, Ok(((), ())), "{scheduler}");
                let late = token.child_with_deadline(std::time::Instant::now());
                let carried = census.count(8);
                assert!(late.scope(|s| s.spawn(|_| add(&carried))).is_err(), "{scheduler}");
                let fails = |number| if number < 3 { Ok(()) } else { Err(census.count(number)) };
                let failed = bombyx::try_for_each(0..8, fails).unwrap_err();
                assert_eq!(failed.0, 3, "{scheduler}");
            });
        });
        let list = list.into_inner();
        assert!(list.is_sorted() && list.contains(&3) && list.ends_with(&[6, 7]), "{scheduler}: {list:?}");
        assert_eq!(census.alive(), 0, "{scheduler}");
    }
}
