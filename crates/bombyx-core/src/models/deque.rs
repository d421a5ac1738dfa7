//! Models of the deque: pushes and pops of its owner against thieves.

use super::*;

/// Pop against steal: every entry goes to exactly one side, and a taken job has been filled in.
#[test]
fn pop_against_steal() {
    explore(6, &[Fault::PopWithoutBarrier, Fault::StealWithoutSecondLook], || {
        let deque = Arc::new(relying());
        let tasks = Arc::new([Task::new(), Task::new()]);
        fork(&deque, &tasks[0]);
        fork(&deque, &tasks[1]);
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
        for task in [&tasks[1], &tasks[0]] {
            if !join(&deque, task) {
                // The job was taken, so it is filled in and the latch can be looked at.
                // SAFETY: the job is not untouched.
                let _ = unsafe { task.job.latch() }.is_done();
            }
        }
        thief.join().unwrap();
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1));
    });
}

/// The owner of a profiled pool keeps its entries, pops them as kept ones, and perhaps exposes them in between, while a
/// thief steals. Every entry goes to exactly one side, and nobody reads a job while it is filled in.
#[test]
fn keep_against_steal() {
    explore(4, &[Fault::KeepWithoutPop, Fault::PopWithoutBarrier], || keep(false));
}

/// Like [`keep_against_steal`], with the entries exposed before they are joined.
#[test]
fn keep_and_expose_against_steal() {
    explore(4, &[Fault::KeepWithoutPop], || keep(true));
}

fn keep(expose: bool) {
    let deque = Arc::new(relying());
    let tasks = Arc::new([Task::new(), Task::new()]);
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
    for task in tasks.iter() {
        fork(&deque, &task);
        deque.keep_youngest();
    }
    if expose {
        deque.expose_all();
    }
    for task in tasks.iter().rev() {
        assert!(task.job.untouched().is_none(), "kept or taken");
        // SAFETY: the job is not untouched.
        let ours = match unsafe { task.job.place() } {
            Place::Kept(_) => deque.pop_kept(),
            Place::Deque(_) => deque.take_back(task.entry(), true),
            Place::Nowhere => false,
            _ => unreachable!("nobody else moves an entry"),
        };
        if ours {
            task.run();
        }
    }
    thief.join().unwrap();
    assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
}

/// A spawned closure is pushed over a join's entry while a thief takes that entry. Neither is lost.
#[test]
fn push_over_against_steal() {
    explore(6, &[Fault::PushOverBlindly], || push_over(false));
}

/// Like [`push_over_against_steal`], after the thief has raised the top and before it has told the job. Loom does not
/// get there by itself.
#[test]
fn push_over_in_the_middle_of_a_steal() {
    explore(6, &[Fault::TrustRaisedTop], || push_over(true));
}

fn push_over(meet: bool) {
    let deque = Arc::new(relying());
    let tasks = Arc::new([Task::new(), Task::new()]);
    let raised = Arc::new(AtomicUsize::new(0));
    fork(&deque, &tasks[0]);
    let thief = {
        let (deque, tasks, raised) = (Arc::clone(&deque), Arc::clone(&tasks), Arc::clone(&raised));
        thread::spawn(move || {
            let _ = &tasks;
            let taken = |entry: Entry| {
                raised.store(1, Relaxed);
                entry.taken(Place::Nowhere);
            };
            if let Steal::Success(entry) = deque.steal(0, taken) {
                run_either(entry);
            }
        })
    };
    while meet && raised.load(Relaxed) == 0 {
        thread::yield_now();
    }
    // Stands for a closure on the heap. Nobody joins it; its finder runs it.
    let _ = deque.push_over(Entry::heap(NonNull::from(&tasks[1].job)));
    if tasks[0].job.untouched().is_some() {
        join(&deque, &tasks[0]);
    } else if deque.take_back(tasks[0].entry(), true) {
        tasks[0].run();
    }
    thief.join().unwrap();
    while let Some(entry) = deque.take_youngest(|_| true) {
        run_either(entry);
    }
    assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
}

/// Loose entries and forks: the owner pops, and a thief steals without a barrier. Every entry goes to one side.
#[test]
fn loose_against_pop() {
    explore_weak(5, &[Fault::StealForksAsLoose], || {
        let deque = Arc::new(Deque::new(false));
        let tasks = Arc::new([Task::new(), Task::new(), Task::new()]);
        let loose = |task: &Task| Entry::heap(NonNull::from(&task.job));
        let _ = deque.push_over(loose(&tasks[0]));
        let thief = {
            let (deque, tasks) = (Arc::clone(&deque), Arc::clone(&tasks));
            thread::spawn(move || {
                let _ = &tasks;
                for _ in 0..2 {
                    if let Some(entry) = deque.steal_free(0, true) {
                        run_either(entry);
                    }
                }
            })
        };
        // A fork and its join above the loose entry, and another loose entry in the slot of the fork.
        fork(&deque, &tasks[1]);
        assert!(join(&deque, &tasks[1]), "nobody may take a fork without the barrier");
        if let Some(entry) = deque.take_youngest(|_| true) {
            run_either(entry);
        }
        let _ = deque.push_over(loose(&tasks[2]));
        thief.join().unwrap();
        while let Some(entry) = deque.take_youngest(|_| true) {
            run_either(entry);
        }
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
    });
}

/// Exposed entries and forks: a thief without a barrier gets only exposed entries, and every entry goes to one side.
#[test]
fn exposed_against_pop() {
    explore_weak(5, &[Fault::KeepExposedMark], || {
        let deque = Arc::new(Deque::new(false));
        let tasks = Arc::new([Task::new(), Task::new(), Task::new()]);
        fork(&deque, &tasks[0]);
        fork(&deque, &tasks[1]);
        deque.expose_all();
        let thief = {
            let (deque, tasks) = (Arc::clone(&deque), Arc::clone(&tasks));
            thread::spawn(move || {
                let _ = &tasks;
                for _ in 0..2 {
                    if let Some(entry) = deque.steal_free(0, false) {
                        assert!(execute(entry).is_none());
                    }
                }
            })
        };
        if deque.take_back(tasks[1].entry(), true) {
            tasks[1].run();
        }
        // A fork in the slot of the exposed entry, or above it.
        fork(&deque, &tasks[2]);
        assert!(join(&deque, &tasks[2]), "nobody may take a fork without the barrier");
        if deque.take_back(tasks[0].entry(), true) {
            tasks[0].run();
        }
        thief.join().unwrap();
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
    });
}

/// Two thieves and a root: thieves take only descendants of what they want.
#[test]
fn steal_only_what_is_wanted() {
    explore(5, &[Fault::StealWhatever], || {
        let deque = Arc::new(relying());
        let task = Arc::new(Task::new());
        deque.set_root(32);
        fork(&deque, &task);
        let thieves: Vec<_> = [64, 32]
            .into_iter()
            .map(|want| {
                let (deque, task) = (Arc::clone(&deque), Arc::clone(&task));
                thread::spawn(move || {
                    let _ = &task;
                    if let Steal::Success(entry) = deque.steal(want, |entry| entry.taken(Place::Nowhere)) {
                        assert_eq!(want, 32);
                        assert!(execute(entry).is_none());
                    }
                })
            })
            .collect();
        join(&deque, &task);
        for thief in thieves {
            thief.join().unwrap();
        }
        assert_eq!(task.runs.load(Relaxed), 1);
    });
}

/// Two thieves take exposed jobs while another thread takes these jobs back. Each job goes to one of them.
#[test]
fn take_back_against_steal() {
    explore_weak(6, &[Fault::WithdrawWithoutLock], || {
        let deque = Arc::new(Deque::new(false));
        let tasks = Arc::new([Task::new(), Task::new()]);
        for task in &*tasks {
            fork(&deque, &task);
        }
        deque.expose_all();
        let thieves = [(), ()].map(|()| {
            let (deque, tasks) = (Arc::clone(&deque), Arc::clone(&tasks));
            thread::spawn(move || {
                let _ = &tasks;
                if let Steal::Success(entry) = deque.steal(0, |entry| entry.taken(Place::Nowhere)) {
                    assert!(execute(entry).is_none());
                }
            })
        });
        for task in tasks.iter() {
            if deque.take_back(task.entry(), false) {
                task.run();
            }
        }
        for thief in thieves {
            thief.join().unwrap();
        }
        while let Some(entry) = deque.take_youngest(|_| true) {
            assert!(execute(entry).is_none());
        }
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1));
    });
}

/// The buffer moves to a larger one while thieves steal. Every entry goes to one side, even those that have moved.
#[test]
fn growth_against_steal() {
    explore(2, &[Fault::MoveUntouched], || {
        let deque = Arc::new(relying());
        // One more than the buffer has room for, so that the last but one finds it full.
        let tasks = Arc::new([(); 5].map(|()| Task::new()));
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
        for task in tasks.iter() {
            let pushed = fork(&deque, task);
            if deque.wants_attention(pushed) {
                deque.attend();
            }
        }
        for task in tasks.iter().rev() {
            pop_or_take_back(&deque, task);
        }
        thief.join().unwrap();
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
    });
}
