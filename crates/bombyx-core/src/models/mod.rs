//! Loom explores the protocols: the code that ships, under every interleaving up to a bound on preemptions. Loads may
//! read stale values, as in C11, but never values that are stored later (load buffering). Each model asserts what its
//! protocol promises, and comes with faults under which it must fail. Run the models with `scripts/loom`.
//!
//! **Not here:** the protocols, and the arguments why they are right. Both are in [`crate::protocol`].
//!
//! [`explore_weak`] explores models in which nobody calls the heavy barrier. There the light barrier is nothing at all,
//! as on the machine. It also explores the models of [`barrier`], in which the heavy barrier is refused.

mod barrier;
mod carrier;
mod chain;
mod commons;
mod deque;
mod made;
mod mailbox;
mod notice;
mod placement;
mod read_write;
mod ready;
mod ring;
mod scope;
mod sleep;
mod stranded;
mod tickets;

use crate::protocol::carrier::{Baton, Carrier, Enabled};
use crate::protocol::credits::{Credits, Ended, Stock};
use crate::protocol::deque::{Deque, Pushed, Steal};
use crate::protocol::job::{Entry, Job, Kind, Place};
use crate::protocol::latch::{First, Latch};
use crate::protocol::mailbox::{Mail, Offer, Post, Requests};
use crate::protocol::outside::Outside;
use crate::protocol::placement::Placement;
use crate::protocol::private::Private;
use crate::protocol::ready::ranks::{Drawn, Ranks};
use crate::protocol::sleep::Sleepers;
use crate::system::affinity;
use crate::system::barrier::{set_weak, was_called};
use crate::system::fault::{Fault, plant, planted};
use crate::system::primitive::{Mutex, lock};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};
use loom::thread;
use std::process::Command;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Like [`explore`], with a light barrier that is nothing, and a heavy one that is refused
/// ([`crate::system::barrier`]).
fn explore_weak(preemptions: usize, faults: &[Fault], model: fn()) {
    set_weak(true);
    check(preemptions, faults, model);
    set_weak(false);
}

/// Explores a model of threads that call the heavy barrier.
fn explore(preemptions: usize, faults: &[Fault], model: fn()) {
    was_called();
    check(preemptions, faults, model);
    assert!(
        std::env::var_os(FAULT).is_some() || was_called(),
        "nobody calls the heavy barrier, so the light one must be nothing"
    );
}

/// Runs the model as it is. Then runs it again with each fault planted, in a separate process, where it must fail.
/// (Loom may abort when a model fails.)
fn check(preemptions: usize, faults: &[Fault], model: fn()) {
    assert!(!faults.is_empty(), "a model that has never failed proves nothing");
    let planted = std::env::var(FAULT).ok();
    plant(faults.iter().copied().find(|fault| planted.as_deref() == Some(&format!("{fault:?}"))));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    let executions = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&executions);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    if planted.is_some() {
        return;
    }
    let executions = executions.load(Relaxed);
    println!("{}: {executions} executions", std::thread::current().name().expect("tests have names"));
    assert!(
        executions > 1,
        "loom has not explored anything: does a thread read a word before it stores to it?"
    );
    for fault in faults {
        let test = std::thread::current().name().expect("tests have names").to_owned();
        let outcome = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test])
            .env(FAULT, format!("{fault:?}"))
            .output()
            .unwrap();
        assert!(!outcome.status.success(), "the model does not notice {fault:?}");
        println!("{test} notices {fault:?}");
    }
}

/// Stands in for a processor. The protocols know only its address.
struct Processor(#[allow(dead_code)] [u64; 4]);

impl Processor {
    fn baton(&self) -> NonNull<Baton> {
        NonNull::from(self).cast()
    }
}

/// Names the fault to a process that should plant it.
const FAULT: &str = "BOMBYX_MODEL_FAULT";

/// A job whose closure is a cell. Running it twice, or before what the forker wrote, is a race that loom reports.
#[repr(C)]
struct Task {
    job: Job,
    closure: UnsafeCell<u32>,
    runs: AtomicUsize,
}

// SAFETY: the models check that accesses to the cell are ordered.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

impl Task {
    fn new() -> Task {
        Task { job: Job::unpushed(Task::exec), closure: UnsafeCell::new(7), runs: AtomicUsize::new(0) }
    }

    fn run(&self) {
        // SAFETY: checked by loom.
        self.closure.with_mut(|closure| unsafe {
            assert_eq!(*closure, 7);
            *closure = 8;
        });
        self.runs.fetch_add(1, Relaxed);
    }

    /// What a taker does: runs the closure and sets the latch.
    unsafe fn exec(job: *const Job) -> Enabled {
        // SAFETY: in the models all jobs are tasks, and are kept.
        let task = unsafe { &*job.cast::<Task>() };
        task.run();
        // SAFETY: the job was taken.
        unsafe { Latch::set(task.job.latch()) }
    }

    fn entry(&self) -> Entry {
        Entry::stack(NonNull::from(self).cast())
    }
}

fn job_of(entry: Entry) -> *const Job {
    match entry.kind() {
        Kind::Stack(job) | Kind::Heap(job) => job,
        Kind::Carrier(_) => panic!("the models push jobs only"),
    }
}

/// What a thief does with what it got. Returns the carrier that this enabled.
fn execute(entry: Entry) -> Enabled {
    // SAFETY: the entry was taken.
    unsafe { Job::run(job_of(entry)) }
}

/// A deque whose owner relies on the heavy barrier.
fn relying() -> Deque {
    let deque = Deque::new(false);
    deque.side.rely();
    deque
}

/// The owner forks the task.
fn fork(deque: &Deque, task: &Task) -> Pushed {
    let next = deque.next();
    task.job.fork_at(next);
    deque.push(next, task.entry());
    next
}

/// The owner joins: pops the task and runs it, or finds it taken.
fn join(deque: &Deque, task: &Task) -> bool {
    let ours = task.job.untouched().is_some_and(|pushed| deque.pop(pushed));
    if ours {
        task.run();
    }
    ours
}

/// Like [`join`], where the task may have been exposed.
fn pop_or_take_back(deque: &Deque, task: &Task) {
    if task.job.untouched().is_some() {
        join(deque, task);
    // SAFETY: the job is not untouched.
    } else if let Place::Deque(_) = unsafe { task.job.place() }
        && deque.take_back(task.entry(), true)
    {
        task.run();
    }
}

/// Runs what was taken: a join's job has a latch to set, one on the heap has none.
fn run_either(entry: Entry) {
    if entry.is_stack() {
        assert!(execute(entry).is_none());
    } else {
        // SAFETY: in the models all jobs are tasks, and are kept.
        unsafe { (*job_of(entry).cast::<Task>()).run() };
    }
}
