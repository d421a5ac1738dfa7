//! Tasks, reducers, task-locals and cancellation at the same time, in pools that are nested and dropped: nothing is leaked,
//! nothing is dropped twice, nothing hangs. Children of fork(2) are in `fork.rs`.

mod common;

use bombyx::reducers::Append;
use bombyx::{
    CancelToken, Pool, Reducer, Scheduler, Task, TaskLocal, Threads, block_on, blocking, join, scope,
};
use common::{Census, Counted, Rng, schedulers, seed, watchdog};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Bound to the number of the mixture.
static WHO: TaskLocal<Counted<u64>> = TaskLocal::new();

type List = Reducer<Append<Vec<Counted<usize>>>>;

/// A task that has begun somewhere, and what it carries and returns.
type Begun = Task<Counted<u64>>;

/// The number that [`WHO`] is bound to.
fn who() -> Option<u64> {
    WHO.with(|who| who.map(|who| who.0))
}

/// Pools with every scheduler, and with fixed threads. Payloads that nobody receives are dropped.
fn pools(processors: usize) -> impl Iterator<Item = (String, Box<dyn Fn() -> Pool>)> {
    let kinds = schedulers().map(|scheduler| (scheduler, Threads::Moving));
    let kinds = kinds.chain([(Scheduler::default(), Threads::Fixed)]);
    kinds.map(move |(scheduler, threads)| {
        let builder = move || Pool::builder().processors(processors).scheduler(scheduler).threads(threads);
        let build = move || builder().on_panic(drop).build().unwrap();
        (format!("{scheduler}, {threads}, {processors} processors"), Box::new(build) as _)
    })
}

/// A random mixture in this pool, and `depth` further ones in pools inside. Returns tasks that may not have ended.
fn mix(
    pool: &Pool,
    census: &Census,
    seed: u64,
    depth: usize,
    build: &(dyn Fn() -> Pool + Sync),
) -> Vec<Begun> {
    let mut rng = Rng::new(seed);
    let (closures, cancelled_at) = (rng.below(40), rng.below(80));
    let (panics_at, token) = (rng.below(160), CancelToken::new());
    let begun = Mutex::new(Vec::new());
    // Like `panic!`, but without the hook's message.
    let panic = || panic::resume_unwind(Box::new(census.count(())));
    let closure = |number: usize, list: &List| {
        assert_eq!(who(), Some(seed));
        let (carried, counted) = (census.count(number as u64), census.clone());
        let task = bombyx::spawn(move || {
            let number = carried.0;
            let (left, ()) = join(|| counted.count(number), || drop(carried));
            assert_eq!(who(), Some(seed), "tasks inherit what is bound");
            if left.0 % 7 == 6 {
                panic::resume_unwind(Box::new(left));
            }
            left
        });
        begun.lock().unwrap().push(task);
        join(
            || list.with(|list| list.push(census.count(2 * number))),
            || list.with(|list| list.push(census.count(2 * number + 1))),
        );
        if number == cancelled_at {
            token.cancel();
        }
        if number == panics_at {
            panic();
        }
    };
    let inside = || {
        let list = List::new(Append::new());
        let all = |number: usize| closure(number, &list);
        let _ = token.scope(|s| {
            for number in 0..closures {
                let carried = census.count(number);
                s.spawn(move |_| all(carried.0));
            }
        });
        if depth > 0 {
            let inner = build();
            // The inner pool goes on with this chain, so its views have a place in the order.
            inner.run(|| {
                scope(|s| {
                    for number in closures..closures + 10 {
                        s.spawn(move |_| all(number));
                    }
                });
            });
            let below = mix(&inner, census, seed + 1, depth - 1, build);
            begun.lock().unwrap().extend(below);
        }
        let numbers: Vec<usize> = list.into_inner().iter().map(|counted| counted.0).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "in serial order, each once: {numbers:?}");
    };
    let ended = WHO.scope(census.count(seed), || panic::catch_unwind(AssertUnwindSafe(|| pool.run(inside))));
    if let Err(payload) = ended {
        // Only what a closure threw.
        payload.downcast::<Counted<()>>().unwrap_or_else(|other| panic::resume_unwind(other));
    }
    begun.into_inner().unwrap()
}

/// Half of the tasks are joined, awaited, aborted or dropped now. Returns the others.
fn some_end(tasks: Vec<Begun>, rng: &mut Rng) -> Vec<Begun> {
    let mut kept = Vec::new();
    for task in tasks {
        match rng.below(8) {
            0 => drop(task.join()),
            1 => drop(block_on(task)),
            2 => drop(task.abort()),
            3 => drop(task),
            _ => kept.push(task),
        }
    }
    kept
}

/// A pool is dropped while its tasks run. Whoever keeps them can still ask for their results.
#[test]
fn a_pool_is_dropped_with_everything_in_it() {
    let seed = seed();
    for (what, build) in pools(2) {
        watchdog(&format!("{what}, seed {seed}"), || {
            let census = Census::default();
            for round in 0..8 {
                let mut rng = Rng::new(seed ^ round);
                let pool = build();
                let tasks = mix(&pool, &census, rng.next() >> 1, 0, &|| unreachable!("no pool inside"));
                let kept = some_end(tasks, &mut rng);
                drop(pool);
                for task in kept {
                    assert!(task.is_finished(), "the drop of a pool waits for its tasks");
                    drop(task.join());
                }
                assert_eq!(census.alive(), 0, "{what}, round {round}");
            }
        });
    }
}

/// Pools inside of pools, with one reducer across two of them.
#[test]
fn nested_pools_with_everything_in_them() {
    let seed = seed();
    for processors in [1, 3] {
        for (what, _) in pools(processors) {
            watchdog(&format!("{what}, seed {seed}"), || {
                let census = Census::default();
                for round in 0..4 {
                    let mut rng = Rng::new(seed ^ round);
                    let kind = what.clone();
                    let build = move || {
                        let found = pools(processors).find(|(name, _)| *name == kind);
                        found.expect("it was there before").1()
                    };
                    let pool = build();
                    let tasks = mix(&pool, &census, rng.next() >> 1, 2, &build);
                    drop(some_end(tasks, &mut rng));
                    drop(pool);
                    assert_eq!(census.alive(), 0, "{what}, round {round}");
                }
            });
        }
    }
}

/// A closure that blocks is cancelled with its scope, its task and its pool: it ends by itself, and everything else is
/// dropped.
#[test]
fn a_pool_ends_while_a_cancelled_scope_blocks() {
    for (what, build) in pools(2) {
        watchdog(&what, || {
            let (census, started) = (Census::default(), AtomicUsize::new(0));
            let (token, pool) = (CancelToken::new(), build());
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    common::wait_until(|| started.load(SeqCst) > 0);
                    token.cancel();
                });
                let list = List::new(Append::new());
                let result = pool.run(|| {
                    token.scope(|s| {
                        for number in 0..100 {
                            let (carried, list, token, started) =
                                (census.count(number), &list, &token, &started);
                            s.spawn(move |_| {
                                started.fetch_add(1, SeqCst);
                                blocking(|| common::wait_until(|| token.is_cancelled()));
                                list.with(|list| list.push(carried));
                            });
                        }
                    })
                });
                let ran = list.into_inner();
                assert_eq!(result.is_ok(), ran.len() == 100);
                assert!(ran.is_sorted_by(|a, b| a.0 < b.0));
            });
            drop(pool);
            assert_eq!(census.alive(), 0);
        });
    }
}
