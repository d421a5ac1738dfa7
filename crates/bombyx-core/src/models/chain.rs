//! Models of what a taken job carries: the context of its fork, and what it leaves for its join.

use super::*;
use std::ptr;

/// Contexts are only compared.
fn context(number: usize) -> *mut () {
    ptr::without_provenance_mut(number)
}

/// An owner forks, changes its context, forks again and changes back, while a thief steals. Whoever runs a taken job
/// finds the context of its fork.
#[test]
fn context_against_steal() {
    explore(5, &[Fault::ChangeContextBlindly], || {
        let deque = Arc::new(relying());
        let tasks = Arc::new([Task::new(), Task::new()]);
        deque.set_context(context(8));
        fork(&deque, &tasks[0]);
        let thief = {
            let (deque, tasks) = (Arc::clone(&deque), Arc::clone(&tasks));
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Steal::Success(entry) = deque.steal(0, |entry| entry.taken(Place::Nowhere)) {
                        let forked_in = if entry == tasks[0].entry() { 8 } else { 16 };
                        // SAFETY: the thief has taken the job, which has not ended.
                        assert_eq!(unsafe { (*job_of(entry)).carried() }, context(forked_in));
                        assert!(execute(entry).is_none());
                    }
                }
            })
        };
        deque.set_context(context(16));
        fork(&deque, &tasks[1]);
        pop_or_take_back(&deque, &tasks[1]);
        deque.set_context(context(8));
        pop_or_take_back(&deque, &tasks[0]);
        thief.join().unwrap();
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
    });
}

/// A thief runs a job and leaves something, and the join reads that when it knows that the job has ended.
#[test]
fn what_a_job_leaves() {
    explore(4, &[Fault::LeaveAfterEnd], || {
        let deque = Arc::new(relying());
        let task = Arc::new(Task::new());
        fork(&deque, &task);
        let thief = {
            let (deque, task) = (Arc::clone(&deque), Arc::clone(&task));
            thread::spawn(move || {
                if let Steal::Success(entry) = deque.steal(0, |entry| entry.taken(Place::Nowhere)) {
                    let job = job_of(entry);
                    task.run();
                    // SAFETY: the thief has taken the job and run it. The models keep their jobs.
                    let enabled = unsafe { Job::leave(job, context(24), || Latch::set((*job).latch())) };
                    assert!(enabled.is_none(), "the join does not park");
                }
            })
        };
        if !join(&deque, &task) {
            // SAFETY: the pop failed, so the job is not untouched.
            while !unsafe { task.job.latch() }.is_done() {
                thread::yield_now();
            }
            // SAFETY: the job has ended, and this is its join.
            assert_eq!(unsafe { task.job.carried() }, context(24));
        }
        thief.join().unwrap();
        assert_eq!(task.runs.load(Relaxed), 1);
    });
}
