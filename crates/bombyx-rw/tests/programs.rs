//! Computations give what plain recursion gives, on every discipline and on 1 to 16 processors.

mod common;

use bombyx_rw::{
    ChaseLev, Count, Discipline, Ended, PdCas, PdCasJr, Pool, PoolError, Shaken, Task, Ws, WsJr,
};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn fib<'w, K: Discipline>(task: Task<'w, '_, u64, K>, n: u64) -> Ended<'w> {
    if n < 2 {
        return task.end(n);
    }
    task.fork(move |task| fib(task, n - 1), move |task| fib(task, n - 2), |task, a, b| task.end(a + b))
}

fn on_every_number<K: Discipline>() {
    for processors in 1..=16 {
        let mut pool = Pool::<K>::new(processors).unwrap();
        assert_eq!(pool.run(|task| fib(task, 18)), 2584, "{}, {processors} processors", K::NAME);
        assert_eq!(pool.run(|task| fib(task, 1)), 1);
        common::check(&mut pool, 0..20, 60);
        let threads = pool.counted(Count::Threads);
        assert!(threads > 3 * 2584, "{threads} threads");
        assert_eq!(
            pool.counted(Count::Steals),
            pool.counted(Count::Served).max(if K::NAME == "Chase Lev" {
                pool.counted(Count::Steals)
            } else {
                0
            })
        );
    }
}

#[test]
fn all_disciplines_on_1_to_16_processors() {
    on_every_number::<WsJr>();
    on_every_number::<Ws>();
    on_every_number::<PdCas>();
    on_every_number::<PdCasJr>();
    on_every_number::<ChaseLev>();
}

#[test]
fn delays_at_every_access_change_nothing() {
    for processors in [2, 3, 4, 7] {
        common::check(&mut Pool::<Shaken<WsJr>>::new(processors).unwrap(), 0..300, 40);
        common::check(&mut Pool::<Shaken<Ws>>::new(processors).unwrap(), 0..100, 40);
        common::check(&mut Pool::<Shaken<PdCas>>::new(processors).unwrap(), 0..100, 40);
        common::check(&mut Pool::<Shaken<PdCasJr>>::new(processors).unwrap(), 0..100, 40);
        common::check(&mut Pool::<Shaken<ChaseLev>>::new(processors).unwrap(), 0..100, 40);
    }
}

#[test]
fn bodies_may_borrow() {
    let hits: Vec<AtomicU32> = (0..1000).map(|_| AtomicU32::new(0)).collect();
    fn visit<'w, 'e, K: Discipline>(task: Task<'w, 'e, usize, K>, hits: &'e [AtomicU32]) -> Ended<'w> {
        if let [hit] = hits {
            hit.fetch_add(1, Relaxed);
            return task.end(1);
        }
        let (left, right) = hits.split_at(hits.len() / 2);
        task.fork(move |task| visit(task, left), move |task| visit(task, right), |task, a, b| task.end(a + b))
    }
    let mut pool = Pool::<WsJr>::new(3).unwrap();
    for round in 1..=10 {
        assert_eq!(pool.run(|task| visit(task, &hits)), 1000);
        assert!(hits.iter().all(|hit| hit.load(Relaxed) == round));
    }
}

#[test]
fn values_are_dropped_once() {
    struct Counted<'a>(&'a AtomicU32);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    fn make<'w, 'e, K: Discipline>(
        task: Task<'w, 'e, Counted<'e>, K>,
        drops: &'e AtomicU32,
        n: u32,
    ) -> Ended<'w> {
        let held = Counted(drops);
        if n == 0 {
            return task.end(held);
        }
        task.fork(
            move |task| make(task, drops, n - 1),
            move |task| make(task, drops, n - 1),
            move |task, a, b| {
                drop((a, b));
                task.end(held)
            },
        )
    }
    let drops = AtomicU32::new(0);
    let mut pool = Pool::<WsJr>::new(4).unwrap();
    drop(pool.run(|task| make(task, &drops, 10)));
    assert_eq!(drops.load(Relaxed), (1 << 11) - 1);
}

#[test]
fn a_panic_reaches_the_caller_and_ends_the_pool() {
    fn fall<'w, K: Discipline>(task: Task<'w, '_, u32, K>, n: u32) -> Ended<'w> {
        if n == 0 {
            panic!("the bottom");
        }
        task.fork(move |task| fall(task, n - 1), move |task| fall(task, n / 2), |task, a, b| task.end(a + b))
    }
    for processors in [1, 2, 5] {
        let mut pool = Pool::<WsJr>::new(processors).unwrap();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.run(|task| fall(task, 9))));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"the bottom"));
        let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.run(|task| task.end(1))));
        assert!(again.is_err());
    }
}

#[test]
fn impossible_pools_are_refused() {
    assert!(matches!(Pool::<WsJr>::new(0), Err(PoolError::Processors(0))));
    let error = Pool::<WsJr>::new(1 << 30).unwrap_err().to_string();
    assert_eq!(error, "1073741824 processors asked for; choose 1 to 16777216");
}

#[test]
fn a_million_forks_take_little_memory() {
    let mut pool = Pool::<WsJr>::new(2).unwrap();
    assert_eq!(pool.run(|task| fib(task, 27)), 196_418);
}
