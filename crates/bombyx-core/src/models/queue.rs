//! Models of what the lock of the pool protects: the queue, the idle processors and the spare carriers.

use super::*;
use crate::protocol::queue::{Queue, Queued};

/// What a pool keeps under its lock, as far as a model needs it.
#[derive(Default)]
struct Lists {
    queue: Queue,
    /// Processors that rest, and carriers that wait for one.
    idle: usize,
    spares: usize,
    /// Whether a processor rests because it has no carrier.
    starved: bool,
}

struct Pool {
    queued: Queued,
    sleepers: Sleepers,
    lists: Mutex<Lists>,
}

impl Pool {
    fn new(lists: Lists) -> Arc<Pool> {
        let sleepers = Sleepers::new(lists.idle);
        Arc::new(Pool { queued: Queued::none(), sleepers, lists: Mutex::new(lists) })
    }

    /// Queues an entry. Returns whether somebody searches that will see it.
    fn enqueue(&self, task: &Task) -> bool {
        let mut lists = lock(&self.lists);
        lists.queue.push(task.entry(), &self.queued);
        self.sleepers.is_searched()
    }

    fn take(&self) -> Option<Entry> {
        self.queued.any().then(|| lock(&self.lists).queue.take(&self.queued)).flatten()
    }

    /// Pairs a processor that rests with a spare. Returns whether that was possible.
    fn wake(&self) -> bool {
        let mut lists = lock(&self.lists);
        match (lists.idle, lists.spares) {
            (0, _) => false,
            (_, 0) => {
                lists.starved = true;
                false
            }
            _ => {
                lists.idle -= 1;
                lists.spares -= 1;
                self.sleepers.set_resting(lists.idle);
                true
            }
        }
    }
}

/// A searcher finds work elsewhere while an entry is queued and another processor rests. Whoever queues the entry wakes
/// that processor, or counts on the searcher, which then sees the entry.
#[test]
fn enqueue_against_the_last_searcher() {
    explore_weak(4, &[Fault::QueueWithoutFence], || {
        let pool = Pool::new(Lists { idle: 1, spares: 1, ..Lists::default() });
        let task = Arc::new(Task::new());
        pool.sleepers.start_search();
        let searcher = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.sleepers.found_work() && pool.queued.any())
        };
        let searched = pool.enqueue(&task);
        let woke = !searched && pool.wake();
        let passed_on = searcher.join().unwrap();
        assert!(woke || passed_on, "an entry waits, one rests, and nobody looks");
        run_either(pool.take().expect("queued"));
        assert_eq!(task.runs.load(Relaxed), 1);
    });
}

/// A join's job in the queue: its join takes it back, or somebody else takes it and runs it. The join knows which.
#[test]
fn take_back_against_take() {
    explore_weak(4, &[Fault::WithdrawWhatIsGone], || {
        let pool = Pool::new(Lists::default());
        let tasks = Arc::new([Task::new(), Task::new()]);
        let deque = Deque::new(false);
        for task in &*tasks {
            fork(&deque, task);
            let entry = deque.take_top(|entry| entry.taken(Place::Queue((&raw const *pool).cast())));
            lock(&pool.lists).queue.push(entry.expect("pushed"), &pool.queued);
        }
        let other = {
            let (pool, tasks) = (Arc::clone(&pool), Arc::clone(&tasks));
            thread::spawn(move || {
                let _ = &tasks;
                if let Some(entry) = pool.take() {
                    assert!(execute(entry).is_none());
                }
            })
        };
        for task in tasks.iter().rev() {
            if lock(&pool.lists).queue.take_back(task.entry(), &pool.queued) {
                task.run();
            } else {
                // SAFETY: the job is not untouched.
                assert!(matches!(unsafe { task.job.place() }, Place::Nowhere));
            }
        }
        other.join().unwrap();
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "a job was lost or run twice");
        assert!(!pool.queued.any());
    });
}

/// Two carriers block and become ready again and again, and so are queued again as soon as they have had their turn. A
/// call from outside that comes in between is served after what was there before it.
#[test]
fn everyone_gets_a_turn() {
    explore_weak(3, &[Fault::QueueLastFirst], || {
        let pool = Pool::new(Lists::default());
        let again = [Task::new(), Task::new()];
        let call = Arc::new(Task::new());
        for task in &again {
            pool.enqueue(task);
        }
        let caller = {
            let (pool, call) = (Arc::clone(&pool), Arc::clone(&call));
            thread::spawn(move || pool.enqueue(&call))
        };
        let mut served = 0;
        let mut turn = || {
            let entry = pool.take().expect("the carriers are always there, or the call");
            if entry != call.entry() {
                lock(&pool.lists).queue.push(entry, &pool.queued);
                served += 1;
            }
            entry == call.entry()
        };
        let early = turn();
        caller.join().unwrap();
        // There were two before it.
        assert!(early || (0..3).any(|_| turn()), "others went first {served} times");
    });
}

/// A carrier becomes a spare while another thread finds that a processor rests and has no carrier. One of them pairs
/// the two.
#[test]
fn spare_against_starvation() {
    explore_weak(4, &[Fault::SpareWithoutLook], || {
        let pool = Pool::new(Lists { idle: 1, ..Lists::default() });
        let task = Arc::new(Task::new());
        let caller = {
            let (pool, task) = (Arc::clone(&pool), Arc::clone(&task));
            thread::spawn(move || !pool.enqueue(&task) && pool.wake())
        };
        let starved = {
            let mut lists = lock(&pool.lists);
            lists.spares += 1;
            std::mem::take(&mut lists.starved) && !planted(Fault::SpareWithoutLook)
        };
        let found = starved && pool.wake();
        let woke = caller.join().unwrap();
        assert!(!(found && woke), "one processor is given twice");
        assert!(found || woke, "work, a processor and a carrier wait for each other");
    });
}
