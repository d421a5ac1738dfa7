//! Models of what the lock of the pool protects: the queue, the idle processors and the spare carriers.

use super::*;
use crate::protocol::commons::{Commons, Paired};
use crate::protocol::queue::Queued;

/// A pool, as far as a model needs it: what is under its lock, and what can be read without.
struct Pool {
    queued: Queued,
    sleepers: Sleepers,
    commons: Mutex<Commons<Held>>,
    processors: [Held; 2],
    carriers: [Carrier; 2],
}

/// A processor, with what its holders write and what only they may take.
struct Held {
    used: UnsafeCell<u32>,
    private: Private,
}

// SAFETY: the models check that accesses to the cells are ordered. The pointers in the lists name parts of the pool.
unsafe impl Sync for Pool {}
// SAFETY: as above.
unsafe impl Send for Pool {}

impl Pool {
    /// The first processors rest.
    fn new(resting: usize) -> Arc<Pool> {
        let pool = Arc::new(Pool {
            queued: Queued::none(),
            sleepers: Sleepers::new(0),
            commons: Mutex::new(Commons::new()),
            processors: [(), ()].map(|()| Held { used: UnsafeCell::new(0), private: Private::new() }),
            carriers: [(), ()].map(|()| Carrier::here()),
        });
        lock(&pool.commons).rest(pool.processors[..resting].iter().map(NonNull::from), &pool.sleepers);
        pool
    }

    fn carrier(&self, index: usize) -> NonNull<Carrier> {
        NonNull::from(&self.carriers[index])
    }

    /// What a holder does with its processor.
    fn use_held(&self, processor: NonNull<Held>) {
        // SAFETY: the pool owns the processor. Loom checks that nobody else holds it.
        unsafe { processor.as_ref() }.used.with_mut(|used| unsafe { *used += 1 });
    }

    fn give(&self, carrier: NonNull<Carrier>, processor: NonNull<Held>) {
        self.use_held(processor);
        // SAFETY: the carrier came out of a list, or out of the queue.
        unsafe { Carrier::give_raw(carrier, processor.cast().as_ptr(), None) };
    }

    /// Queues an entry. Returns whether somebody searches that will see it.
    fn enqueue(&self, task: &Task) -> bool {
        let mut commons = lock(&self.commons);
        commons.queue.push(task.entry(), &self.queued);
        self.sleepers.is_searched()
    }

    fn take(&self) -> Option<Entry> {
        self.queued.any().then(|| lock(&self.commons).queue.take(&self.queued)).flatten()
    }

    /// Takes a processor out of the list that rests although it has entries for its holder.
    fn take_private(&self) -> Option<NonNull<Held>> {
        // SAFETY: the pool owns the processors.
        let private = |processor: NonNull<Held>| unsafe { !processor.as_ref().private.looks_empty() };
        lock(&self.commons).take_wanted(private, &self.sleepers).map(|rested| rested.processor)
    }

    /// What [`crate::machine::pool`] does to wake somebody, where no carrier can be started. Returns whether a spare was
    /// woken.
    fn wake(&self) -> bool {
        loop {
            let mut commons = lock(&self.commons);
            let Some(rested) = commons.take_rested(&self.sleepers) else { return false };
            let spare = if commons.ready_is_next() { None } else { commons.take_spare() };
            let paired = commons.pair(rested, spare, &self.queued, &self.sleepers);
            drop(commons);
            match paired {
                Paired::Ready(ready, processor) => self.give(ready, processor),
                Paired::Searcher(spare, rested) => {
                    self.give(spare, rested.processor);
                    return true;
                }
                Paired::Nobody => return false,
            }
        }
    }
}

/// A searcher finds work elsewhere while an entry is queued and another processor rests. Whoever queues the entry wakes
/// that processor, or counts on the searcher, which then sees the entry.
#[test]
fn enqueue_against_the_last_searcher() {
    explore_weak(4, &[Fault::QueueWithoutFence], || {
        let pool = Pool::new(1);
        lock(&pool.commons).list_spare(pool.carrier(0));
        let task = Arc::new(Task::new());
        pool.sleepers.start_search();
        let searcher = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.sleepers.found_work(|| pool.queued.any(), || pool.queued.any()))
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
        let pool = Pool::new(0);
        let tasks = Arc::new([Task::new(), Task::new()]);
        let deque = Deque::new(false);
        for task in &*tasks {
            fork(&deque, task);
            let entry = deque.take_top(|entry| entry.taken(Place::Queue((&raw const *pool).cast())));
            lock(&pool.commons).queue.push(entry.expect("pushed"), &pool.queued);
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
            if lock(&pool.commons).queue.take_back(task.entry(), &pool.queued) {
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
        let pool = Pool::new(0);
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
                lock(&pool.commons).queue.push(entry, &pool.queued);
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

/// A carrier becomes a spare while two callers find that a processor rests and has no carrier. One of the three threads
/// pairs the two.
#[test]
fn spare_against_starvation() {
    explore_weak(4, &[Fault::SpareWithoutLook], || {
        let pool = Pool::new(1);
        let tasks = Arc::new([Task::new(), Task::new()]);
        let callers = [0, 1].map(|index| {
            let (pool, tasks) = (Arc::clone(&pool), Arc::clone(&tasks));
            thread::spawn(move || !pool.enqueue(&tasks[index]) && pool.wake())
        });
        let starved = {
            let mut commons = lock(&pool.commons);
            commons.list_spare(pool.carrier(0));
            commons.was_starved()
        };
        let found = starved && pool.wake();
        let woke = callers.map(|caller| caller.join().unwrap());
        let given = [found, woke[0], woke[1]].iter().filter(|&&given| given).count();
        assert!(given <= 1, "one processor is given twice");
        assert!(given == 1, "work, a processor and a carrier wait for each other");
        assert_eq!(pool.carriers[0].receive(), Some(NonNull::from(&pool.processors[0]).cast()));
    });
}

/// A carrier comes back from blocking while another one finds nothing to do and lets its processor rest. The first one
/// gets that processor, once.
#[test]
fn come_back_against_rest() {
    explore_weak(3, &[Fault::SleepWithoutSecondLook], || {
        let pool = Pool::new(0);
        pool.sleepers.start_search();
        let rests = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let processor = NonNull::from(&pool.processors[0]);
                pool.use_held(processor);
                {
                    let mut commons = lock(&pool.commons);
                    commons.rest([processor], &pool.sleepers);
                    commons.list_spare(pool.carrier(1));
                    pool.sleepers.stop_search();
                }
                let visible = || pool.queued.any();
                if pool.sleepers.look_once_more(std::iter::empty(), || (), visible) {
                    pool.wake();
                }
            })
        };
        let ready = pool.carrier(0);
        let idle = lock(&pool.commons).idle_or_queue(ready, &pool.queued, &pool.sleepers);
        let processor = idle.unwrap_or_else(|| {
            if pool.sleepers.any_resting() {
                pool.wake();
            }
            pool.carriers[0].receive().expect("nobody stops the carrier").cast()
        });
        pool.use_held(processor);
        rests.join().unwrap();
        assert!(lock(&pool.commons).take_spare().is_some(), "a spare was woken for nothing");
        assert!(!pool.sleepers.any_resting() && !pool.queued.any());
    });
}

/// An entry is posted to a processor that goes to rest. It is found before the processor rests, or it wakes the
/// processor.
#[test]
fn post_against_rest() {
    explore_weak(4, &[Fault::PostWithoutCount, Fault::LookBeforePosting], || {
        let pool = Pool::new(0);
        let task = Arc::new(Task::new());
        let poster = {
            let (pool, task) = (Arc::clone(&pool), Arc::clone(&task));
            thread::spawn(move || {
                let wake = || pool.take_private().is_some();
                let early = planted(Fault::LookBeforePosting).then(wake);
                pool.processors[0].private.post(Entry::heap(NonNull::from(&task.job)));
                early.unwrap_or_else(wake)
            })
        };
        let processor = &pool.processors[0];
        lock(&pool.commons).rest([NonNull::from(processor)], &pool.sleepers);
        // The holder has left. Whoever wakes the processor now runs what is posted.
        let saw = !processor.private.looks_empty() && pool.take_private().is_some();
        let woke = poster.join().unwrap();
        assert!(!(saw && woke), "the processor is woken twice");
        assert!(saw || woke, "an entry waits for a processor that rests");
        let entry = processor.private.take(|_| true).expect("nobody else may take it");
        run_either(entry);
        assert_eq!((processor.private.take(|_| true), task.runs.load(Relaxed)), (None, 1));
    });
}

/// An entry is posted to a processor that is put out of service. It is found, as if the processor rested.
#[test]
fn post_against_shut() {
    explore_weak(4, &[Fault::ForgetTheShut], || {
        let pool = Pool::new(0);
        let task = Arc::new(Task::new());
        let poster = {
            let (pool, task) = (Arc::clone(&pool), Arc::clone(&task));
            thread::spawn(move || {
                pool.processors[0].private.post(Entry::heap(NonNull::from(&task.job)));
                pool.take_private().is_some()
            })
        };
        let processor = &pool.processors[0];
        lock(&pool.commons).shut(NonNull::from(processor));
        // The holder has left. Whoever wakes the processor now runs what is posted.
        let saw = !processor.private.looks_empty() && pool.take_private().is_some();
        let woke = poster.join().unwrap();
        assert!(!(saw && woke), "the processor is woken twice");
        assert!(saw || woke, "an entry waits for a processor that is out of service");
        let entry = processor.private.take(|_| true).expect("nobody else may take it");
        run_either(entry);
        assert_eq!(task.runs.load(Relaxed), 1);
    });
}

/// A processor comes to rest while the number of processors in service changes. It ends in the list where it belongs, and
/// in no other.
#[test]
fn resize_against_rest() {
    explore_weak(4, &[Fault::ReadTheNumberEarly], || {
        for (before, after) in [(1, 2), (2, 1)] {
            let pool = Pool::new(1);
            let in_service = Arc::new(AtomicUsize::new(before));
            let second =
                |pool: &Pool, processor: NonNull<Held>| processor == NonNull::from(&pool.processors[1]);
            let resizer = {
                let (pool, in_service) = (Arc::clone(&pool), Arc::clone(&in_service));
                thread::spawn(move || {
                    let mut commons = lock(&pool.commons);
                    in_service.store(after, Relaxed);
                    let surplus = |processor| second(&pool, processor) && in_service.load(Relaxed) < 2;
                    commons.sort_out(surplus, &pool.sleepers)
                })
            };
            // What the pool does to retire a processor.
            let early = in_service.load(Relaxed);
            let mut commons = lock(&pool.commons);
            let number = if planted(Fault::ReadTheNumberEarly) { early } else { in_service.load(Relaxed) };
            let processor = NonNull::from(&pool.processors[1]);
            if number < 2 {
                commons.shut(processor);
            } else {
                commons.rest([processor], &pool.sleepers);
            }
            drop(commons);
            let _back = resizer.join().unwrap();
            let commons = lock(&pool.commons);
            assert_eq!(commons.count_shut(), 2 - after, "a processor is in the wrong list");
            assert_eq!(pool.sleepers.resting(), after);
        }
    });
}

/// An entry is queued while the only processor that nobody holds is put back into service. Whoever queues it wakes that
/// processor, or whoever raises the number does.
#[test]
fn raise_against_queue() {
    explore_weak(4, &[Fault::RaiseWithoutWake], || {
        let pool = Pool::new(0);
        let task = Arc::new(Task::new());
        {
            let mut commons = lock(&pool.commons);
            commons.shut(NonNull::from(&pool.processors[0]));
            commons.list_spare(pool.carrier(0));
        }
        let raiser = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let back = lock(&pool.commons).sort_out(|_| false, &pool.sleepers);
                assert_eq!(back, 1);
                !planted(Fault::RaiseWithoutWake) && pool.wake()
            })
        };
        let woke = !pool.enqueue(&task) && pool.wake();
        let raised = raiser.join().unwrap();
        assert!(woke || raised, "an entry waits, a processor rests, and nobody looks");
        assert!(!(woke && raised), "the processor was given away twice");
        run_either(pool.take().expect("queued"));
        assert_eq!(task.runs.load(Relaxed), 1);
    });
}

/// A processor out of service has entries that nobody else may run, and there is no carrier for it. It stays out of service,
/// and whoever lists a spare finds it.
#[test]
fn shut_and_starved() {
    explore_weak(4, &[Fault::SpareWithoutLook], || {
        let pool = Pool::new(0);
        let task = Arc::new(Task::new());
        let processor = &pool.processors[0];
        processor.private.post(Entry::heap(NonNull::from(&task.job)));
        lock(&pool.commons).shut(NonNull::from(processor));
        let private = |processor: NonNull<Held>| {
            // SAFETY: the pool owns the processors.
            unsafe { !processor.as_ref().private.looks_empty() }
        };
        let spare = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let mut commons = lock(&pool.commons);
                commons.list_spare(pool.carrier(0));
                commons.was_starved()
            })
        };
        // What the pool does to wake a processor for what only it may run.
        let found = {
            let mut commons = lock(&pool.commons);
            let rested = commons.take_wanted(private, &pool.sleepers).expect("it is listed");
            let carrier = commons.take_spare();
            if carrier.is_none() {
                commons.starve(rested, &pool.sleepers);
                assert!(!pool.sleepers.any_resting(), "a processor out of service rests among the others");
            }
            carrier.is_some()
        };
        let starved = spare.join().unwrap();
        assert!(found || starved, "a processor has entries, a carrier is there, and nobody pairs them");
        assert_eq!(lock(&pool.commons).count_shut(), usize::from(!found));
    });
}

/// The time of a surplus spare is up, while somebody takes it out of the list and gives it a processor. It ends, and
/// nobody finds it any more; or it goes on with the processor.
#[test]
fn surplus_spare_against_give() {
    explore_weak(4, &[Fault::EndWithoutLook], || {
        let pool = Pool::new(1);
        let spare = pool.carrier(0);
        lock(&pool.commons).list_spare(spare);
        let giver = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.wake())
        };
        let ends = lock(&pool.commons).end_spare(spare, 0);
        if !ends {
            pool.use_held(pool.carriers[0].receive().expect("nobody stops the carrier").cast());
        }
        let given = giver.join().unwrap();
        assert!(
            given != ends,
            "a processor was given to a carrier that has ended, or a spare waits for ever"
        );
    });
}

/// With fixed threads, a carrier sleeps in the middle of a wait, with its processor in the list, while its latch is
/// set. It goes on with its processor, which nobody else has.
#[test]
fn doze_against_rouse() {
    explore_weak(4, &[Fault::DozeWithoutLook, Fault::SetWithoutSwap], || {
        let pool = Pool::new(0);
        let latch = Arc::new(Latch::new());
        let finisher = {
            let (pool, latch) = (Arc::clone(&pool), Arc::clone(&latch));
            thread::spawn(move || {
                // SAFETY: the latch is alive, and set once.
                let Some(sleeper) = (unsafe { Latch::set(&raw const *latch) }) else { return };
                let listed = lock(&pool.commons).rouse(|_| true, &pool.sleepers);
                if let Some(processor) = listed {
                    pool.give(sleeper, processor);
                }
            })
        };
        let (this, processor) = (pool.carrier(0), NonNull::from(&pool.processors[0]));
        pool.use_held(processor);
        if latch.park(this) {
            if lock(&pool.commons).doze(processor, &latch, &pool.sleepers) {
                assert_eq!(pool.carriers[0].receive(), Some(processor.cast()));
            }
            assert!(latch.is_done(), "woken, and nothing has ended");
        }
        pool.use_held(processor);
        finisher.join().unwrap();
        assert!(!pool.sleepers.any_resting(), "a processor is in the list although its carrier runs");
    });
}
