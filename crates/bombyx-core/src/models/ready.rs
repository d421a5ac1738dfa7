//! Models of the places where ready entries wait outside deques: the shared pool and the list of deques.

use super::*;
use crate::protocol::ready::shared::{Order, SharedPool, Taken, Turn};

/// The join of a task that was moved into a list and is no longer untouched. Takes the task back, if `take_back` allows
/// it.
fn join(task: &Task, take_back: impl FnOnce(Entry, crate::protocol::ready::list::Node) -> bool) {
    assert!(task.job.untouched().is_none(), "a listed job was not told so");
    // SAFETY: the job is not untouched.
    match unsafe { task.job.place() } {
        Place::Listed(node) => {
            if take_back(task.entry(), node) {
                task.run();
            }
        }
        Place::Nowhere => {}
        _ => panic!("a listed job is elsewhere"),
    }
}

/// A fork's entry in the shared pool: its join or a searcher gets it, and nobody gets another entry in its place.
fn take_back_against_take(order: Order) {
    let pool = Arc::new(SharedPool::new(order, 2));
    let tasks = Arc::new([Task::new(), Task::new()]);
    let deque = Deque::new(false);
    fork(&deque, &tasks[0]);
    pool.absorb(0, &deque);
    let other = {
        let (pool, tasks) = (Arc::clone(&pool), Arc::clone(&tasks));
        thread::spawn(move || {
            let _ = &tasks;
            if let Taken::Entry(entry) = pool.take(1) {
                assert!(execute(entry).is_none());
            }
            // The number of the first node may be used again.
            let deque = Deque::new(false);
            fork(&deque, &tasks[1]);
            pool.absorb(1, &deque);
        })
    };
    join(&tasks[0], |entry, node| pool.take_back(entry, node, false));
    other.join().unwrap();
    join(&tasks[1], |entry, node| pool.take_back(entry, node, false));
    assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
    assert_eq!((pool.take(0), pool.len()), (Taken::Nothing, 0));
}

#[test]
fn take_back_against_take_in_order_of_arrival() {
    explore_weak(5, &[Fault::TakeBackFromNode, Fault::ListWithoutPlace], || {
        take_back_against_take(Order::Arrival)
    });
}

#[test]
fn take_back_against_take_in_serial_order() {
    explore_weak(5, &[Fault::TakeBackFromNode, Fault::ListWithoutPlace], || {
        take_back_against_take(Order::Serial)
    });
}

/// A frame on processor 1 wants to take memory, while the frame left of it goes back into the pool. The first frame
/// takes the memory when its dummy thread has run and the other frame has gone on. Nothing is lost.
#[test]
fn turn_against_put_frame() {
    explore_weak(5, &[Fault::OutOfTurn], || {
        let pool = Arc::new(SharedPool::new(Order::Serial, 2));
        let carriers = Arc::new([Carrier::to_be_started(), Carrier::to_be_started()]);
        let entry = |carriers: &[Carrier; 2], index: usize| Entry::carrier(NonNull::from(&carriers[index]));
        let left_is_ready = Arc::new(AtomicUsize::new(0));
        pool.delay(0, 0);
        pool.delay(1, 1);
        let left = {
            let (pool, carriers, left_is_ready) =
                (Arc::clone(&pool), Arc::clone(&carriers), Arc::clone(&left_is_ready));
            thread::spawn(move || {
                pool.put_frame(0, entry(&carriers, 0));
                left_is_ready.store(1, Relaxed);
            })
        };
        let mut dummies = 0;
        let mut was_set_aside = false;
        loop {
            let left_was_ready = left_is_ready.load(Relaxed) == 1;
            match pool.turn(1) {
                Turn::Dummy => dummies += 1,
                Turn::Now => {
                    assert!(was_set_aside || !left_was_ready, "memory was taken out of turn");
                    break;
                }
                Turn::Later => {
                    pool.put_frame(1, entry(&carriers, 1));
                    assert_eq!(pool.take(1), Taken::Entry(entry(&carriers, 0)));
                    was_set_aside = true;
                    // The left frame goes on and ends. Then the right one is next.
                    let next = loop {
                        match pool.take(1) {
                            Taken::Dummy => dummies += 1,
                            other => break other,
                        }
                    };
                    assert_eq!(next, Taken::Entry(entry(&carriers, 1)));
                }
            }
        }
        assert_eq!(dummies, 1, "the dummy thread runs once, before the frame");
        left.join().unwrap();
        assert_eq!(pool.len(), usize::from(!was_set_aside));
    });
}

/// A deque that was given up: a join that looks for its half there against a thief.
#[test]
fn take_back_against_draw() {
    explore_weak(5, &[Fault::TakeBackFromNode, Fault::ListWithoutPlace], || {
        let ranks = Arc::new(Ranks::new(2));
        let tasks = Arc::new([Task::new(), Task::new()]);
        let carrier = Carrier::to_be_started();
        let deque = Deque::new(false);
        for task in tasks.iter() {
            fork(&deque, &task);
        }
        let frame = Entry::carrier(NonNull::from(&carrier));
        ranks.give_up(0, &deque, frame, 0);
        let thief = {
            let (ranks, tasks) = (Arc::clone(&ranks), Arc::clone(&tasks));
            thread::spawn(move || {
                let _ = &tasks;
                (0..2).filter(|_| drawn(&ranks, 1)).count()
            })
        };
        for task in tasks.iter().rev() {
            join(task, |entry, node| ranks.take_back(entry, node));
        }
        let mut frames = thief.join().unwrap();
        frames += (0..3).filter(|_| drawn(&ranks, 1)).count();
        assert_eq!(frames, 1, "the frame is found once");
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
        assert!(!ranks.has_left());
    });
}

/// A dummy for each byte.
const SINGLE: u64 = 1;

/// Draws at the left end and runs what is found. Returns whether that was the frame.
fn drawn(ranks: &Ranks, thief: usize) -> bool {
    match ranks.draw(thief, 0, SINGLE) {
        Drawn::Entry(entry) if entry.is_stack() => {
            assert!(execute(entry).is_none());
            false
        }
        Drawn::Entry(_) => true,
        Drawn::Nothing | Drawn::Owned(_) | Drawn::Dummy => false,
    }
}

/// Two thieves rob a deque without its owner's help while the owner gives it up and joins. No entry is lost, and the
/// victim has no rank any more.
#[test]
fn give_up_against_rob() {
    explore(5, &[Fault::RobWithoutRanks], || {
        let ranks = Arc::new(Ranks::new(3));
        let tasks = Arc::new([Task::new(), Task::new()]);
        let deque = Arc::new(relying());
        ranks.arrive(0);
        for task in tasks.iter() {
            fork(&deque, &task);
        }
        let thieves = [1, 2].map(|thief| {
            let (ranks, tasks, deque) = (Arc::clone(&ranks), Arc::clone(&tasks), Arc::clone(&deque));
            thread::spawn(move || {
                let _ = &tasks;
                let stolen = ranks.rob(0, thief, || deque.steal(0, |entry| entry.taken(Place::Nowhere)));
                if let Steal::Success(entry) = stolen {
                    assert!(execute(entry).is_none());
                }
            })
        });
        let carrier = Carrier::to_be_started();
        ranks.give_up(0, &deque, Entry::carrier(NonNull::from(&carrier)), 0);
        for task in tasks.iter().rev() {
            join(task, |entry, node| ranks.take_back(entry, node));
        }
        for thief in thieves {
            thief.join().unwrap();
        }
        assert_eq!(ranks.find_owner(4, |owner| owner == 0), None, "who gave up its deque has no rank");
        let frames = (0..3).filter(|_| drawn(&ranks, 0)).count();
        assert_eq!(frames, 1, "the frame is found once");
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
    });
}

/// Dummy threads: all of them run before the frame goes on, no matter which processor runs them, and it goes on once.
#[test]
fn dummies_before_the_frame() {
    explore_weak(5, &[Fault::OutOfTurn], || {
        let ranks = Arc::new(Ranks::new(3));
        let carrier = Carrier::to_be_started();
        ranks.give_up(0, &Deque::new(false), Entry::carrier(NonNull::from(&carrier)), 2);
        let dummies = Arc::new(AtomicUsize::new(0));
        let draw = |ranks: &Ranks, dummies: &AtomicUsize, thief: usize| match ranks.draw(thief, 0, SINGLE) {
            Drawn::Dummy => {
                dummies.fetch_add(1, AcqRel);
                0
            }
            Drawn::Entry(_) => {
                assert_eq!(dummies.load(Relaxed), 2, "the frame went on before its dummies");
                1
            }
            Drawn::Nothing | Drawn::Owned(_) => 0,
        };
        let other = {
            let (ranks, dummies) = (Arc::clone(&ranks), Arc::clone(&dummies));
            thread::spawn(move || draw(&ranks, &dummies, 1))
        };
        let mut frames = draw(&ranks, &dummies, 2);
        frames += other.join().unwrap();
        frames += draw(&ranks, &dummies, 2);
        assert_eq!((frames, dummies.load(Relaxed)), (1, 2));
    });
}
