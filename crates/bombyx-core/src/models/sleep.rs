//! Models of falling asleep and waking up.

use super::*;
use crate::system::barrier;

/// Falling asleep against an owner that forks, joins and forks again: a fork wakes the sleeper, or the sleeper sees the
/// last fork.
#[test]
fn no_lost_wake_up() {
    explore(6, &[Fault::SleepWithoutSecondLook, Fault::ForkWithoutCheck], || {
        let deque = Arc::new(relying());
        let sleepers = Arc::new(Sleepers::new(0));
        let tasks = [Task::new(), Task::new()];
        sleepers.start_search();
        let sleeper = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || {
                sleepers.set_resting(1);
                sleepers.stop_search();
                look(&deque, &sleepers)
            })
        };
        let mut woke = false;
        let mut fork_and_look = |task| {
            let pushed = fork(&deque, task);
            if deque.wants_attention(pushed) {
                deque.attend();
                woke |= sleepers.wants_wake();
            }
        };
        fork_and_look(&tasks[0]);
        pop_or_take_back(&deque, &tasks[0]);
        fork_and_look(&tasks[1]);
        let saw = sleeper.join().unwrap();
        assert!(woke || saw, "a job waits and a processor sleeps");
    });
}

/// The barrier of these models is never refused.
fn unrefused() {
    unreachable!("the barrier reaches everyone")
}

/// The look that follows when a processor has been entered among the resting.
fn look(deque: &Deque, sleepers: &Sleepers) -> bool {
    sleepers.look_once_more(std::iter::once(deque), unrefused, || !deque.looks_empty())
}

/// A searcher has found something elsewhere.
fn found_work(deque: &Deque, sleepers: &Sleepers) -> bool {
    sleepers.found_work(|| !deque.looks_empty(), || look(deque, sleepers))
}

/// A carrier that has found nothing puts its processor among the resting, which `idle` counts, and looks once more.
fn fall_asleep(deque: &Deque, sleepers: &Sleepers, idle: &Mutex<usize>) -> bool {
    {
        let mut idle = lock(idle);
        *idle += 1;
        sleepers.set_resting(*idle);
    }
    sleepers.stop_search();
    look(deque, sleepers)
}

/// Two processors fall asleep at once while another one forks. The fork wakes one of them, or one of them sees the
/// fork. A fork wakes nobody while somebody still searches.
#[test]
fn several_sleepers_at_once() {
    explore(3, &[Fault::SleepWithoutSecondLook, Fault::ForkWithoutCheck], || {
        let deque = Arc::new(relying());
        let sleepers = Arc::new(Sleepers::new(0));
        let idle = Arc::new(Mutex::new(0));
        let task = Arc::new(Task::new());
        sleepers.start_search();
        sleepers.start_search();
        let asleep = [(), ()].map(|()| {
            let (deque, sleepers, idle) = (Arc::clone(&deque), Arc::clone(&sleepers), Arc::clone(&idle));
            thread::spawn(move || fall_asleep(&deque, &sleepers, &idle))
        });
        let pushed = fork(&deque, &task);
        let mut woke = false;
        if deque.wants_attention(pushed) {
            deque.attend();
            woke = sleepers.wants_wake();
        }
        let saw = asleep.map(|sleeper| sleeper.join().unwrap());
        assert!(woke || saw != [false, false], "a job waits and all others sleep");
    });
}

/// One processor rests, and the last searcher finds work while another processor forks. The fork wakes the resting one,
/// or the searcher makes sure that somebody does.
#[test]
fn the_last_searcher_finds_work() {
    explore(4, &[Fault::FindWithoutPassingOn, Fault::ForkWithoutCheck], || {
        let deque = Arc::new(relying());
        let sleepers = Arc::new(Sleepers::new(1));
        let task = Arc::new(Task::new());
        sleepers.start_search();
        let searcher = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || found_work(&deque, &sleepers))
        };
        let pushed = fork(&deque, &task);
        let mut woke = false;
        if deque.wants_attention(pushed) {
            deque.attend();
            woke = sleepers.wants_wake();
        }
        let passed_on = searcher.join().unwrap();
        assert!(woke || passed_on, "a job waits, one rests, and nobody looks out");
    });
}

/// A processor comes to rest while the last searcher finds work and another processor forks. The fork wakes the processor
/// that rests, or one of the other two sees the fork.
#[test]
fn rest_against_the_last_searcher() {
    explore(3, &[Fault::QueueWithoutFence, Fault::ForkWithoutCheck], || {
        let deque = Arc::new(relying());
        let sleepers = Arc::new(Sleepers::new(0));
        let task = Arc::new(Task::new());
        sleepers.start_search();
        let searcher = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || found_work(&deque, &sleepers))
        };
        let rests = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || {
                sleepers.set_resting(1);
                sleepers.rest(|| look(&deque, &sleepers))
            })
        };
        let pushed = fork(&deque, &task);
        let mut woke = false;
        if deque.wants_attention(pushed) {
            deque.attend();
            woke = sleepers.wants_wake();
        }
        let passed_on = searcher.join().unwrap();
        let saw = rests.join().unwrap();
        assert!(woke || passed_on || saw, "a job waits, one rests, and nobody looks out");
    });
}

/// The fork of a pool with a sentry. Returns whether it wakes somebody.
fn fork_before_sentry(deque: &Deque, sleepers: &Sleepers, task: &Task) -> bool {
    let pushed = fork(deque, task);
    deque.wants_attention(pushed) && {
        deque.attend();
        barrier::light();
        sleepers.wants_wake() && !sleepers.has_sentry()
    }
}

/// The sentry ends by itself.
fn end_watch(deque: &Deque, sleepers: &Sleepers) -> bool {
    sleepers.end_watch(|| look(deque, sleepers))
}

/// A sentry ends while a processor comes to rest, and another one forks. The fork wakes somebody, or one of the other two
/// sees the fork.
#[test]
fn rest_against_the_end_of_a_sentry() {
    explore(3, &[Fault::SentryLooksFirst, Fault::ForkWithoutCheck], || {
        let deque = Arc::new(relying());
        let sleepers = Arc::new(Sleepers::new(0));
        let task = Arc::new(Task::new());
        deque.poison();
        sleepers.post_sentry();
        let sentry = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || end_watch(&deque, &sleepers))
        };
        let rests = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || {
                sleepers.set_resting(1);
                sleepers.rest(|| look(&deque, &sleepers))
            })
        };
        let woke = fork_before_sentry(&deque, &sleepers, &task);
        let ended = sentry.join().unwrap();
        let saw = rests.join().unwrap();
        assert!(woke || ended || saw, "a job waits, one rests, and nobody looks out");
    });
}

/// A sentry ends while the last searcher finds work and relies on it, and another processor forks.
#[test]
fn the_last_searcher_against_the_end_of_a_sentry() {
    explore(3, &[Fault::SentryLooksFirst, Fault::ForkWithoutCheck], || {
        let deque = Arc::new(relying());
        let sleepers = Arc::new(Sleepers::new(1));
        let task = Arc::new(Task::new());
        deque.poison();
        sleepers.post_sentry();
        sleepers.start_search();
        let sentry = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || end_watch(&deque, &sleepers))
        };
        let searcher = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || found_work(&deque, &sleepers))
        };
        let woke = fork_before_sentry(&deque, &sleepers, &task);
        let ended = sentry.join().unwrap();
        let passed_on = searcher.join().unwrap();
        assert!(woke || ended || passed_on, "a job waits, one rests, and nobody looks out");
    });
}
