//! Models of processors that start and stop relying on the heavy barrier, and of what happens when the system refuses
//! it. The light barrier is nothing here, so a model holds only if it does without `membarrier`.

use super::*;
use crate::system::barrier;
use crate::system::together::Together;

/// A processor that falls asleep beside the owner of `deque`. Returns whether it has seen something, or cannot know.
fn sleeper(deque: &Arc<Deque>, sleepers: &Arc<Sleepers>) -> thread::JoinHandle<bool> {
    let (deque, sleepers) = (Arc::clone(deque), Arc::clone(sleepers));
    sleepers.start_search();
    thread::spawn(move || {
        sleepers.set_resting(1);
        sleepers.stop_search();
        // In the runtime the sleeper waits in this case, and then looks.
        let mut unsure = false;
        let saw =
            sleepers.look_once_more(std::iter::once(&*deque), || unsure = true, || !deque.looks_empty());
        saw || unsure
    })
}

/// The owner forks, and attends if it has to, relying on the barrier or not. Returns whether it woke somebody.
fn fork_and_attend(deque: &Deque, sleepers: &Sleepers, task: &Task, relies: bool) -> bool {
    let pushed = fork(deque, task);
    if !deque.wants_attention(pushed) {
        return false;
    }
    deque.attend();
    match (deque.side.relies(), relies) {
        (false, true) => deque.side.rely(),
        (true, false) => deque.side.cease(),
        _ => {}
    }
    if !relies {
        deque.expose_all();
        deque.poison();
    }
    deque.side.light_or_full();
    sleepers.wants_wake()
}

/// An owner forks three times, and starts or stops relying on the barrier meanwhile, while a processor falls asleep.
fn change_sides_against_sleep(before: bool) {
    let deque = Arc::new(if before { relying() } else { Deque::new(false) });
    let sleepers = Arc::new(Sleepers::new(0));
    let tasks = Arc::new([Task::new(), Task::new(), Task::new()]);
    let sleeper = sleeper(&deque, &sleepers);
    let mut woke = false;
    for (task, relies) in tasks.iter().zip([before, !before, !before]) {
        // Somebody wants the owner to attend.
        deque.poison();
        woke |= fork_and_attend(&deque, &sleepers, task, relies);
        // Only the last fork is left for the sleeper.
        if !std::ptr::eq(task, &tasks[2]) {
            pop_or_take_back(&deque, task);
        }
    }
    let saw = sleeper.join().unwrap();
    assert!(woke || saw, "a job waits and a processor sleeps");
}

/// An owner starts relying on the barrier while a processor falls asleep. The sleeper sees that, or the owner sees the
/// sleeper.
#[test]
fn rely_against_sleep() {
    let faults = [Fault::RelyWithoutFence, Fault::LookBeforeFence, Fault::TrustRefusal];
    explore_weak(3, &faults, || change_sides_against_sleep(false));
}

/// An owner stops relying on the barrier while a processor falls asleep.
#[test]
fn cease_against_sleep() {
    explore_weak(3, &[Fault::AttendWithoutFence], || change_sides_against_sleep(true));
}

/// An owner changes sides while a thief steals without its help. Every entry goes to one of them. The owner forks two
/// tasks, and joins the second. It also joins the first, unless the change should find it in flight. Then it changes
/// sides at the third.
fn change_sides_against_steal(before: bool, in_flight: bool) {
    let deque = Arc::new(if before { relying() } else { Deque::new(false) });
    let sleepers = Sleepers::new(0);
    let tasks = Arc::new([Task::new(), Task::new(), Task::new()]);
    for task in &tasks[..2] {
        deque.poison();
        fork_and_attend(&deque, &sleepers, task, before);
    }
    let thief = {
        let (deque, tasks) = (Arc::clone(&deque), Arc::clone(&tasks));
        thread::spawn(move || {
            let _ = &tasks;
            for _ in 0..2 {
                if let Steal::Success(entry) = deque.steal(0, |entry| entry.taken(Place::Nowhere)) {
                    assert!(execute(entry).is_none());
                }
            }
        })
    };
    pop_or_take_back(&deque, &tasks[1]);
    if !in_flight {
        pop_or_take_back(&deque, &tasks[0]);
    }
    deque.poison();
    fork_and_attend(&deque, &sleepers, &tasks[2], !before);
    pop_or_take_back(&deque, &tasks[2]);
    if in_flight {
        pop_or_take_back(&deque, &tasks[0]);
    }
    thief.join().unwrap();
    assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
}

/// An owner starts relying on the barrier, which is then refused.
#[test]
fn rely_against_steal() {
    let faults = [Fault::TrustRefusal, Fault::StealForksAsLoose];
    explore_weak(3, &faults, || change_sides_against_steal(false, true));
}

/// An owner stops relying on the barrier, with forks in flight.
#[test]
fn cease_against_steal() {
    explore_weak(3, &[Fault::TrustRefusal], || change_sides_against_steal(true, true));
}

/// An owner stops relying on the barrier. What it popped before is not stolen.
#[test]
fn cease_after_pops_against_steal() {
    explore_weak(3, &[Fault::TrustRefusal], || change_sides_against_steal(true, false));
}

/// Two threads want a barrier at the same time. Each gets one that covers what it has stored.
#[test]
fn barriers_are_shared() {
    // Nobody calls the real barrier. What stands for it sees what everybody has stored.
    explore_weak(4, &[Fault::ShareRunningBarrier], || {
        let together = Arc::new(Together::new());
        let stored: Arc<[AtomicUsize; 2]> = Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)));
        let covered: Arc<[AtomicUsize; 2]> = Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)));
        let caller = |who: usize| {
            let (together, stored, covered) =
                (Arc::clone(&together), Arc::clone(&stored), Arc::clone(&covered));
            move || {
                stored[who].store(1, Relaxed);
                barrier::full();
                let reached = together.call(|| {
                    for (stored, covered) in stored.iter().zip(&*covered) {
                        covered.store(stored.load(Relaxed), Relaxed);
                    }
                    true
                });
                assert!(reached && covered[who].load(Relaxed) == 1, "a barrier began before the call");
            }
        };
        let other = thread::spawn(caller(1));
        caller(0)();
        other.join().unwrap();
    });
}
