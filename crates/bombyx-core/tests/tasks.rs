//! Tasks and futures: a result arrives once, wherever somebody waits for it; nothing is leaked, lost or run twice; no
//! executor is blocked.

mod common;

use bombyx::{Pool, Task, TaskLocal, Threads, block_on};
use common::{Census, Rng, pool, seed, wait_until, watchdog, with_every_scheduler};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::{panic, thread};

/// Pools with fixed threads, of one and of several processors.
fn fixed(processors: usize) -> Pool {
    Pool::builder().processors(processors).threads(Threads::Fixed).build().unwrap()
}

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_task_is_joined_inside_and_outside_its_pool() {
    for processors in [1, 2, 4] {
        let check = |pool: &Pool| {
            let handle = pool.handle();
            let inner = handle.clone();
            let outer = pool.spawn(move || {
                let tasks: Vec<_> = (0..20u64).map(|n| inner.spawn(move || n)).collect();
                tasks.into_iter().map(|task| task.join().unwrap()).sum::<u64>()
            });
            assert_eq!(outer.join().unwrap(), 190);
            assert_eq!(pool.run(|| handle.spawn(|| 7).join().unwrap()), 7);
        };
        watchdog("join", || {
            with_every_scheduler(processors, check);
            check(&fixed(processors));
        });
    }
}

/// The two pools wait for each other's tasks, on one processor each.
#[test]
fn tasks_of_two_pools_wait_for_each_other() {
    watchdog("two pools", || {
        for (a, b) in [(pool(1), pool(1)), (fixed(1), pool(1)), (pool(1), fixed(1)), (fixed(1), fixed(1))] {
            let (first, second) = (a.handle(), b.handle());
            let task = a.spawn(move || {
                let back = first;
                second.spawn(move || back.spawn(|| 1).join().unwrap() + 1).join().unwrap() + 1
            });
            assert_eq!(task.join().unwrap(), 3);
        }
    });
}

#[test]
fn a_panic_arrives_as_an_error() {
    let pool = pool(2);
    let error = pool.spawn(|| panic!("{} sheep", 3)).join().unwrap_err();
    assert!(error.is_panic() && !error.is_aborted());
    assert_eq!(error.to_string(), "the task panicked: 3 sheep");
    let mut task = pool.spawn(|| panic::panic_any(5u8));
    watchdog("a panic", || wait_until(|| task.is_finished()));
    let payload = task.try_join().unwrap().unwrap_err().into_panic().unwrap();
    assert_eq!(payload.downcast_ref(), Some(&5u8));
}

/// Whether the task is dropped before the panic or after it makes no difference.
#[test]
fn a_panic_that_nobody_can_receive_goes_to_the_handler() {
    for dropped_first in [true, false] {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let pool = Pool::builder()
            .processors(1)
            .on_panic(move |payload| log.lock().unwrap().push(*payload.downcast::<u32>().unwrap()))
            .build()
            .unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let task: Task<()> = pool.spawn(move || {
            bombyx::blocking(|| wait.recv()).unwrap();
            panic::panic_any(9u32);
        });
        watchdog("a panic that nobody receives", || {
            if dropped_first {
                drop(task);
                go.send(()).unwrap();
            } else {
                go.send(()).unwrap();
                wait_until(|| task.is_finished());
                drop(task);
            }
            drop(pool);
        });
        assert_eq!(*heard.lock().unwrap(), [9]);
    }
}

#[test]
fn abort_drops_what_has_not_started() {
    let census = Census::default();
    watchdog("abort", || {
        let pool = pool(1);
        pool.run(|| {
            let counted = census.count(());
            let task = bombyx::spawn(move || drop(counted));
            assert_eq!(census.alive(), 1);
            assert!(task.abort());
            assert_eq!(census.alive(), 0);
            assert!(task.is_finished() && !task.abort());
            assert!(task.join().unwrap_err().is_aborted());
        });
        // One that runs goes on.
        let (go, wait) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let task = pool.spawn(move || {
            begun.send(()).unwrap();
            bombyx::blocking(|| wait.recv()).unwrap();
            11
        });
        begins.recv().unwrap();
        assert!(!task.abort());
        go.send(()).unwrap();
        assert_eq!(task.join().unwrap(), 11);
    });
}

/// A poll returns at once, and the task wakes whoever polled last.
#[test]
fn an_executor_is_never_blocked() {
    watchdog("await", || {
        let pool = pool(1);
        let (go, wait) = mpsc::channel::<()>();
        let mut task = pin!(pool.spawn(move || {
            bombyx::blocking(|| wait.recv()).unwrap();
            13
        }));
        let (first, last) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
        for bell in [&first, &first, &last] {
            let waker = Waker::from(Arc::clone(bell));
            assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        go.send(()).unwrap();
        wait_until(|| last.0.load(SeqCst) == 1);
        assert_eq!(first.0.load(SeqCst), 0);
        match task.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => assert_eq!(result.unwrap(), 13),
            Poll::Pending => panic!("the task has woken its waker"),
        }
    });
}

#[test]
fn run_async_returns_results_and_panics_and_aborts_when_dropped() {
    watchdog("run_async", || {
        let pool = pool(2);
        assert_eq!(block_on(pool.run_async(|| bombyx::join(|| 1, || 2))), (1, 2));
        let panics = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            block_on(pool.run_async(|| panic::panic_any("late")))
        }));
        assert_eq!(panics.unwrap_err().downcast_ref(), Some(&"late"));
        let census = Census::default();
        let lone = common::pool(1);
        lone.run(|| {
            let counted = census.count(());
            drop(lone.handle().run_async(move || drop(counted)));
            assert_eq!(census.alive(), 0);
        });
    });
}

/// The future is ready only when the pool's one processor has run something else.
#[test]
fn block_on_lets_the_processor_go() {
    let check = |pool: &Pool| {
        let handle = pool.handle();
        let result = pool.run(|| {
            let ready = Arc::new(AtomicBool::new(false));
            let sleeper: Arc<Mutex<Option<Waker>>> = Arc::default();
            let (set, wake) = (Arc::clone(&ready), Arc::clone(&sleeper));
            let task = handle.spawn(move || {
                set.store(true, SeqCst);
                wake.lock().unwrap().take().into_iter().for_each(Waker::wake);
            });
            block_on(poll_fn(|context| {
                *sleeper.lock().unwrap() = Some(context.waker().clone());
                if ready.load(SeqCst) { Poll::Ready(17) } else { Poll::Pending }
            }));
            block_on(async { task.await.map(|()| 17) })
        });
        assert_eq!(result.unwrap(), 17);
    };
    watchdog("block_on", || {
        with_every_scheduler(1, check);
        check(&fixed(1));
    });
}

/// Threads outside of all pools wake frames that wait in one.
#[test]
fn anyone_may_wake_a_frame() {
    for pool in [pool(2), fixed(2)] {
        watchdog("wake-ups", || {
            let total: usize = pool.run(|| {
                let (left, right) = bombyx::join(rounds, rounds);
                left + right
            });
            assert_eq!(total, 200);
        });
    }

    /// Waits a hundred times for a wake-up by another thread. Each poll leaves a waker behind, and all are woken.
    fn rounds() -> usize {
        let (send, receive) = mpsc::channel::<(Waker, Arc<AtomicBool>)>();
        thread::scope(|threads| {
            threads.spawn(move || {
                for (waker, flag) in receive {
                    flag.store(true, SeqCst);
                    waker.wake_by_ref();
                    waker.wake();
                }
            });
            let rounds = (0..100).filter(|_| {
                let flag = Arc::new(AtomicBool::new(false));
                block_on(poll_fn(|context| {
                    if flag.load(SeqCst) {
                        return Poll::Ready(true);
                    }
                    send.send((context.waker().clone(), Arc::clone(&flag))).unwrap();
                    Poll::Pending
                }))
            });
            let rounds = rounds.count();
            drop(send);
            rounds
        })
    }
}

/// Random trees of tasks. Each task joins, awaits, aborts or drops the tasks below it. Every closure runs once or is
/// dropped, every result arrives, and nothing is leaked.
#[test]
fn random_trees_of_tasks() {
    let seed = seed();
    let census = Census::default();
    let check = |pool: &Pool| {
        for number in 0..10 {
            let task = tree(pool.handle(), census.clone(), Rng::new(seed ^ number), 4);
            assert_eq!(task.join().unwrap(), 1);
        }
    };
    for processors in [1, 3] {
        watchdog(&format!("trees of tasks, seed {seed}"), || {
            with_every_scheduler(processors, check);
            check(&fixed(processors));
        });
    }
    assert_eq!(census.alive(), 0);

    fn tree(pool: bombyx::Handle, census: Census, mut rng: Rng, depth: u32) -> Task<usize> {
        let counted = census.count(());
        let spawner = pool.clone();
        spawner.spawn(move || {
            let _counted = counted;
            if depth == 0 {
                return 1;
            }
            let below: Vec<_> = (0..rng.below(4))
                .map(|_| tree(pool.clone(), census.clone(), Rng::new(rng.next()), depth - 1))
                .collect();
            for task in below {
                match rng.below(5) {
                    0 => assert_eq!(task.join().unwrap(), 1),
                    1 => assert_eq!(block_on(task).unwrap(), 1),
                    2 => assert_eq!(bombyx::blocking(|| task.join()).unwrap(), 1),
                    3 => {
                        let aborted = task.abort();
                        assert_eq!(
                            task.join().map_err(|error| error.is_aborted()),
                            if aborted { Err(true) } else { Ok(1) }
                        );
                    }
                    _ => drop(task),
                }
            }
            1
        })
    }
}

/// A task begins one chain with its context, so whoever follows contexts is told once.
#[test]
fn a_task_takes_its_context_along_once() {
    static FOLLOWED: TaskLocal<()> = TaskLocal::new();
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    bombyx::follow_contexts(
        || _ = FOLLOWED.get().map(|()| BEGUN.fetch_add(1, SeqCst)),
        || _ = FOLLOWED.get().map(|()| ENDED.fetch_add(1, SeqCst)),
    );
    let pool = pool(1);
    watchdog("context", || {
        for tasks in 1..10 {
            FOLLOWED.scope((), || pool.spawn(|| assert!(FOLLOWED.get().is_some()))).join().unwrap();
            wait_until(|| ENDED.load(SeqCst) == BEGUN.load(SeqCst));
            assert_eq!(BEGUN.load(SeqCst), tasks);
        }
    });
}
