//! Ordinary iterators that wait for their own items, made parallel by `par_bridge`.

use bombyx::Pool;
use bombyx::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

fn in_pools(f: impl Fn() + Sync) {
    for processors in [1, 2, 3, 8] {
        Pool::builder().processors(processors).build().expect("a pool").run(&f);
    }
}

/// Waits for what another item, or nobody, will bring about.
fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "the iterator waits for an item that nobody uses");
        std::thread::yield_now();
    }
}

/// The iterator supplies an item only when all items before it are used.
#[test]
fn an_iterator_may_wait_until_its_items_are_used() {
    in_pools(|| {
        let used = AtomicUsize::new(0);
        let mut supplied = 0;
        let iter = std::iter::from_fn(|| {
            wait_until(|| used.load(SeqCst) == supplied);
            supplied += 1;
            (supplied <= 3_000).then_some(supplied)
        });
        iter.par_bridge().for_each(|_| {
            used.fetch_add(1, SeqCst);
        });
        assert_eq!(used.load(SeqCst), 3_000);
    });
}

/// The nodes of a tree. Whoever uses a node puts its children into the queue, from which the iterator takes the next node.
#[test]
fn items_may_lead_to_further_items() {
    const NODES: usize = 5_000;
    in_pools(|| {
        let queue = Mutex::new(VecDeque::from([1]));
        // Nodes that are in the queue or in use.
        let open = AtomicUsize::new(1);
        let next = || queue.lock().unwrap().pop_front();
        let iter = std::iter::from_fn(|| {
            wait_until(|| open.load(SeqCst) == 0 || !queue.lock().unwrap().is_empty());
            next()
        });
        let sum = iter
            .par_bridge()
            .map(|node: usize| {
                for child in [2 * node, 2 * node + 1].into_iter().filter(|child| *child <= NODES) {
                    open.fetch_add(1, SeqCst);
                    queue.lock().unwrap().push_back(child);
                }
                open.fetch_sub(1, SeqCst);
                node
            })
            .sum::<usize>();
        assert_eq!(sum, NODES * (NODES + 1) / 2);
    });
}
