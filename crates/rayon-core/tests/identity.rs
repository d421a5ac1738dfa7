//! Programs that can tell threads apart: by indices, broadcasts, handlers, or because there is only one thread. For
//! them a thread has one index and an index has one thread, as in the original.
//!
//! Most tests force the order of events that would reveal a pool whose processors move: [`scene`].

use rayon_core::{ThreadPool, ThreadPoolBuilder, current_thread_index};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Something that has happened, or not yet. A thread that waits for it blocks, because a spinning thread would look
/// busy.
#[derive(Default)]
struct Event(Mutex<bool>, Condvar);

impl Event {
    fn happens(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |happened| !*happened).unwrap());
    }
}

/// Runs on a thread of a pool of two. It waits in a join for a half that the other thread has taken, and that half
/// waits for a spawned task. So somebody must run the task while both threads are in use. Calls `note` once before and
/// once after the join, in both of its halves, and in the task.
fn scene(note: &(impl Fn() + Clone + Send + Sync + 'static)) {
    let [taken, spawned, ended] = [(); 3].map(|()| Arc::new(Event::default()));
    note();
    rayon_core::join(
        || {
            taken.wait();
            note();
            let (note, spawned, ended) = (note.clone(), Arc::clone(&spawned), Arc::clone(&ended));
            rayon_core::spawn(move || {
                spawned.happens();
                note();
                ended.happens();
            });
        },
        || {
            taken.happens();
            note();
            spawned.wait();
        },
    );
    note();
    ended.wait();
}

/// How often a test plays the scene.
const ROUNDS: usize = 3;
/// How often [`scene`] calls `note`.
const NOTES: usize = 5;

/// Threads, each with the index that it had.
type Seen = Arc<Mutex<HashSet<(ThreadId, usize)>>>;

fn record(seen: &Seen) -> impl Fn() + Clone + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move || {
        seen.lock().unwrap().insert((thread::current().id(), current_thread_index().unwrap()));
    }
}

/// There were `threads` threads, each with a different index.
fn assert_one_to_one(seen: &Seen, threads: usize) {
    let seen = seen.lock().unwrap();
    let ids: HashSet<_> = seen.iter().map(|&(id, _)| id).collect();
    let indices: HashSet<_> = seen.iter().map(|&(_, index)| index).collect();
    assert_eq!((seen.len(), ids.len(), indices.len()), (threads, threads, threads), "{seen:?}");
}

#[test]
fn an_index_kept_across_a_join_is_still_ones_own() {
    let pool = pool(2);
    let seen = Seen::default();
    for _ in 0..ROUNDS {
        pool.install(|| {
            let before = current_thread_index();
            scene(&record(&seen));
            assert_eq!(current_thread_index(), before);
        });
    }
    assert_one_to_one(&seen, 2);
}

#[test]
fn threads_of_the_caller_keep_their_index() {
    thread::scope(|scope| {
        let seen = Seen::default();
        let started = Arc::clone(&seen);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(|builder| {
                let started = Arc::clone(&started);
                scope.spawn(move || {
                    started.lock().unwrap().insert((thread::current().id(), builder.index()));
                    builder.run();
                });
                Ok(())
            })
            .build()
            .unwrap();
        for _ in 0..ROUNDS {
            pool.install(|| scene(&record(&seen)));
        }
        assert_one_to_one(&seen, 2);
    });
}

#[test]
fn the_thread_that_builds_a_pool_keeps_its_index() {
    thread::spawn(|| {
        let _pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        let here = thread::current().id();
        let seen = Seen::default();
        for _ in 0..ROUNDS {
            scene(&record(&seen));
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(thread::current().id(), here);
        }
        assert_one_to_one(&seen, 2);
    })
    .join()
    .unwrap();
}

thread_local! {
    static TALLY: Cell<usize> = const { Cell::new(0) };
    static CONTEXT: Cell<bool> = const { Cell::new(false) };
}

/// Nobody has asked for a thread before the broadcast.
#[test]
fn the_first_broadcast_reaches_every_thread_that_has_run_tasks() {
    for _ in 0..ROUNDS {
        let pool = pool(2);
        pool.install(|| scene(&|| TALLY.set(TALLY.get() + 1)));
        assert_eq!(pool.broadcast(|_| TALLY.take()).into_iter().sum::<usize>(), NOTES);
    }
}

#[test]
fn what_a_broadcast_has_set_is_set_in_every_task() {
    let pool = pool(2);
    pool.broadcast(|_| CONTEXT.set(true));
    for _ in 0..ROUNDS {
        let unset = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&unset);
        pool.install(|| {
            scene(&move || {
                count.fetch_add(usize::from(!CONTEXT.get()), SeqCst);
            });
        });
        assert_eq!(unset.load(SeqCst), 0);
    }
}

#[test]
fn a_broadcast_from_a_task_reaches_every_thread_that_has_run_tasks() {
    for _ in 0..ROUNDS {
        let total: usize = pool(2).install(|| {
            scene(&|| TALLY.set(TALLY.get() + 1));
            rayon_core::broadcast(|_| TALLY.take()).into_iter().sum()
        });
        assert_eq!(total, NOTES);
    }
}

#[test]
fn handlers_run_once_for_each_index() {
    let calls: Arc<[AtomicUsize; 4]> = Arc::default();
    let (started, exited) = (Arc::clone(&calls), Arc::clone(&calls));
    let (ended, end) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(move |index| {
            started[index].fetch_add(1, SeqCst);
        })
        .exit_handler(move |index| {
            exited[2 + index].fetch_add(1, SeqCst);
            ended.send(()).unwrap();
        })
        .build()
        .unwrap();
    for _ in 0..ROUNDS {
        pool.install(|| scene(&|| ()));
    }
    drop(pool);
    // The iteration ends when the last handler is gone, with its thread.
    assert_eq!(end.iter().count(), 2);
    assert_eq!(calls.each_ref().map(|calls| calls.load(SeqCst)), [1; 4]);
}

#[test]
fn start_handlers_may_wait_for_each_other() {
    let barrier = Barrier::new(2);
    let builder = ThreadPoolBuilder::new().num_threads(2).start_handler(move |_| {
        barrier.wait();
    });
    let pool = builder.build().unwrap();
    for _ in 0..ROUNDS {
        pool.install(|| scene(&|| ()));
    }
}

#[test]
fn a_pool_of_one_thread_is_one_thread() {
    let (owner, other) = (pool(1), pool(2));
    let home = owner.install(|| thread::current().id());
    owner.scope(|s| {
        for _ in 0..100 {
            s.spawn(|_| {
                assert_eq!(thread::current().id(), home);
                other.install(thread::yield_now);
                assert_eq!(thread::current().id(), home);
            });
        }
    });
}

/// No thread gets the name of the thread that builds the pool. If some pool gives it to a thread, which the system
/// refuses, the join must not unwind while its second half runs.
#[test]
fn a_join_outlives_its_halves() {
    thread::spawn(|| {
        let _pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .thread_name(|index| if index == 0 { "a\0b".into() } else { "worker".into() })
            .build()
            .unwrap();
        // The other thread rests then, so the pool needs another one for what is spawned.
        thread::sleep(Duration::from_millis(50));
        let ended = AtomicBool::new(false);
        let begun = Event::default();
        rayon_core::join(
            || {
                begun.wait();
                rayon_core::spawn(|| ());
                rayon_core::spawn(|| ());
            },
            || {
                begun.happens();
                thread::sleep(Duration::from_millis(50));
                ended.store(true, SeqCst);
            },
        );
        assert!(ended.into_inner());
    })
    .join()
    .unwrap();
}
