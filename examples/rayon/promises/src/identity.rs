//! A thread has one index, an index one thread.

use crate::{Outcome, ensure, nested_loop, pool, spin};
use rayon::prelude::*;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, yield_now};

/// What belongs to one index: programs keep buffers here and use them without a lock.
#[derive(Default)]
struct Slot {
    in_use: AtomicBool,
}

/// Counts the times that a slot was entered while somebody else was in it.
static COLLISIONS: AtomicU64 = AtomicU64::new(0);

impl Slot {
    fn use_for(&self, microseconds: u64) {
        let collision = self.in_use.swap(true, SeqCst);
        COLLISIONS.fetch_add(u64::from(collision), SeqCst);
        spin(microseconds);
        self.in_use.store(false, SeqCst);
    }
}

fn slots(count: usize) -> Arc<[Slot]> {
    (0..count).map(|_| Slot::default()).collect()
}

fn index() -> usize {
    rayon::current_thread_index().expect("on a thread of a pool")
}

/// Each closure chooses a slot by its index, forks, and uses the slot then.
pub(crate) fn loops(threads: usize) -> Outcome {
    let pool = pool(threads)?;
    let slots = slots(threads);
    let changed = AtomicUsize::new(0);
    pool.install(|| {
        for _ in 0..1500 {
            (0..6u32).into_par_iter().with_max_len(1).for_each(|task| {
                let before = index();
                rayon::join(|| spin(5), || spin(100 + 20 * u64::from(task)));
                changed.fetch_add(usize::from(index() != before), SeqCst);
                slots[before].use_for(50);
            });
        }
    });
    let (changed, collisions) = (changed.into_inner(), COLLISIONS.load(SeqCst));
    ensure(changed == 0 && collisions == 0, || {
        format!(
            "the index changed across {changed} of 9000 joins; {collisions} times two threads were in one slot"
        )
    })
}

fn until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        yield_now();
    }
}

/// A thread waits in a join for a half that waits for a spawned task. Somebody must run the task, and must not have the
/// index of the waiting thread.
pub(crate) fn forced(threads: usize) -> Outcome {
    let pool = pool(threads)?;
    let slots = slots(threads);
    let [taken, spawned, used] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    pool.install(|| {
        let mine = index();
        rayon::join(
            || {
                until(&taken);
                let (slots, spawned, used) = (Arc::clone(&slots), Arc::clone(&spawned), Arc::clone(&used));
                rayon::spawn(move || {
                    spawned.store(true, SeqCst);
                    slots[index()].use_for(100_000);
                    used.store(true, SeqCst);
                });
            },
            || {
                taken.store(true, SeqCst);
                until(&spawned);
            },
        );
        slots[mine].use_for(100_000);
        until(&used);
    });
    let collisions = COLLISIONS.load(SeqCst);
    ensure(collisions == 0, || "two threads were in the slot of one index".to_string())
}

thread_local! {
    static INDEX: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The threads of a pool with a spawn handler remember their index.
pub(crate) fn own_threads(threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .spawn_handler(|thread| {
            thread::spawn(|| {
                INDEX.set(Some(thread.index()));
                thread.run();
            });
            Ok(())
        })
        .build()
        .map_err(|error| error.to_string())?;
    let others = AtomicUsize::new(0);
    pool.install(|| {
        nested_loop(2000, 100, |_, _| {
            others.fetch_add(usize::from(INDEX.get() != Some(index())), SeqCst);
        });
    });
    let others = others.into_inner();
    ensure(others == 0, || format!("{others} of 200000 tasks ran with another index than their thread's"))
}
