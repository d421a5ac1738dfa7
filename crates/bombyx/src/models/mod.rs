//! Loom explores the protocols: the code that ships, under every interleaving and every weak-memory outcome that
//! C11 allows (up to a bound on preemptions). Each model asserts what its protocol promises, and each comes with
//! faults under which it must fail. Run with `scripts/loom`.

mod read_write;
mod ready;

use crate::affinity::CpuSet;
use crate::carrier::Carrier;
use crate::credits::{Credits, Ended, Stock};
use crate::deque::{Deque, Pushed, Steal};
use crate::fault::{Fault, plant};
use crate::job::{Enabled, Entry, Job, Kind, Place};
use crate::latch::Latch;
use crate::mailbox::{Mail, Offer, Post, Requests};
use crate::placement::Placement;
use crate::processor::Processor;
use crate::sleep::Sleepers;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};
use loom::thread;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::Arc;

/// Runs the model as it is, and again, in a process of its own, with each fault planted, when it must fail. (Loom
/// may abort when a model fails.)
fn explore(preemptions: usize, faults: &[Fault], model: fn()) {
    let planted = std::env::var(FAULT).ok();
    plant(faults.iter().copied().find(|fault| planted.as_deref() == Some(&format!("{fault:?}"))));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
    if planted.is_some() {
        return;
    }
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

/// Names the fault to a process that is to plant it.
const FAULT: &str = "BOMBYX_MODEL_FAULT";

/// A job whose closure is a cell: running it twice, or before what the forker wrote, is a race that loom reports.
#[repr(C)]
struct Task {
    job: Job,
    closure: UnsafeCell<u32>,
    runs: AtomicUsize,
}

// SAFETY: that access to the cell is ordered is what the models check.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

impl Task {
    fn new() -> Task {
        Task { job: Job::spawned(Task::exec), closure: UnsafeCell::new(7), runs: AtomicUsize::new(0) }
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
        // SAFETY: the models make tasks of all jobs, and keep them.
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

/// What a thief does with what it got, and whom that enabled.
fn execute(entry: Entry) -> Enabled {
    // SAFETY: the entry was taken.
    unsafe { Job::run(job_of(entry)) }
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

/// Pop against steal: every entry goes to exactly one side, and a taken job has been filled in.
#[test]
fn pop_against_steal() {
    explore(6, &[Fault::PopWithoutBarrier, Fault::StealWithoutSecondLook], || {
        let deque = Arc::new(Deque::new());
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
                // Taken, so filled in: the latch can be looked at.
                // SAFETY: the job is not untouched.
                let _ = unsafe { task.job.latch() }.is_done();
            }
        }
        thief.join().unwrap();
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1));
    });
}

/// The owner of a profiled pool keeps its entries, pops them as kept ones, and perhaps exposes them in between, while a thief
/// steals: every entry goes to exactly one side, and nobody reads a job while it is filled in.
#[test]
fn keep_against_steal() {
    explore(4, &[Fault::KeepWithoutPop, Fault::PopWithoutBarrier], || keep(false));
}

/// The same, with the entries exposed before they are joined.
#[test]
fn keep_and_expose_against_steal() {
    explore(4, &[Fault::KeepWithoutPop], || keep(true));
}

fn keep(expose: bool) {
    let deque = Arc::new(Deque::new());
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
            Place::Deque(_) => deque.withdraw(task.entry(), true),
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

/// A spawned closure pushed over a join's entry while a thief takes that: neither is lost.
#[test]
fn push_over_against_steal() {
    explore(6, &[], || push_over(false));
}

/// The same where the thief has raised the top and not yet told the job, which loom does not reach by itself.
#[test]
fn push_over_in_the_middle_of_a_steal() {
    explore(6, &[Fault::TrustRaisedTop], || push_over(true));
}

fn push_over(meet: bool) {
    let deque = Arc::new(Deque::new());
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
    // Stands for a closure on the heap: nobody joins it, whoever finds it runs it.
    let _ = deque.push_over(Entry::heap(NonNull::from(&tasks[1].job)));
    if tasks[0].job.untouched().is_some() {
        join(&deque, &tasks[0]);
    } else if deque.withdraw(tasks[0].entry(), true) {
        tasks[0].run();
    }
    thief.join().unwrap();
    while let Some(entry) = deque.take_youngest(|_| true) {
        run_either(entry);
    }
    assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
}

/// Loose entries and forks, popped and stolen by who may do what without a barrier: every entry goes to one side.
#[test]
fn loose_against_pop() {
    explore(5, &[Fault::StealForksAsLoose], || {
        let deque = Arc::new(Deque::new());
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

/// Exposed entries and forks: a thief without barrier gets the exposed ones only, and every entry goes to one side.
#[test]
fn exposed_against_pop() {
    explore(5, &[Fault::KeepExposedMark], || {
        let deque = Arc::new(Deque::new());
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
        if deque.withdraw(tasks[1].entry(), true) {
            tasks[1].run();
        }
        // A fork in the slot of the exposed entry, or above it.
        fork(&deque, &tasks[2]);
        assert!(join(&deque, &tasks[2]), "nobody may take a fork without the barrier");
        if deque.withdraw(tasks[0].entry(), true) {
            tasks[0].run();
        }
        thief.join().unwrap();
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1), "an entry was lost or run twice");
    });
}

/// Runs what was taken: a join's job has a latch to set, one on the heap has none.
fn run_either(entry: Entry) {
    if entry.is_stack() {
        assert!(execute(entry).is_none());
    } else {
        // SAFETY: the models make tasks of all jobs, and keep them.
        unsafe { (*job_of(entry).cast::<Task>()).run() };
    }
}

/// Two thieves and a root: only descendants of what is wanted are taken.
#[test]
fn steal_only_what_is_wanted() {
    explore(5, &[], || {
        let deque = Arc::new(Deque::new());
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

/// A join that missed and the taker that finishes: the waiting carrier continues exactly once, with a processor.
#[test]
fn latch_and_hand_over() {
    explore(6, &[Fault::SetWithoutSwap, Fault::GiveWithoutOrder], || {
        let deque = Arc::new(Deque::new());
        let task = Arc::new(Task::new());
        fork(&deque, &task);
        let processor = Arc::new(Processor([0; 4]));
        let thief = {
            let (deque, task, processor) = (Arc::clone(&deque), Arc::clone(&task), Arc::clone(&processor));
            thread::spawn(move || {
                let _ = &task;
                if let Steal::Success(entry) = deque.steal(0, |entry| entry.taken(Place::Nowhere))
                    && let Some(carrier) = execute(entry)
                {
                    let processor = (&raw const *processor).cast_mut();
                    // SAFETY: the latch named the carrier to us.
                    unsafe { Carrier::give_raw(carrier, processor, Some(CpuSet)) };
                }
            })
        };
        if !join(&deque, &task) {
            let carrier = Carrier::here();
            // SAFETY: the job is not untouched.
            let latch = unsafe { task.job.latch() };
            if !latch.is_done() && latch.park(NonNull::from(&carrier)) {
                assert_eq!(carrier.receive(), Some(NonNull::from(&*processor)));
                assert!(latch.is_done());
            }
            // The taker's writes are visible now.
            // SAFETY: checked by loom.
            task.closure.with(|closure| assert_eq!(unsafe { *closure }, 8));
        }
        thief.join().unwrap();
        assert_eq!(task.runs.load(Relaxed), 1);
    });
}

struct Victim {
    deque: Deque,
    requests: Requests,
    thief: Post,
    task: Task,
}

/// Request, claim, answer, cancel, take back: a job that travels by mail is run exactly once.
#[test]
fn cooperative_steal() {
    explore(6, &[Fault::ServeWithoutClaim, Fault::LeaveWithoutCancel, Fault::TakeBackBlindly], || {
        let victim = Arc::new(Victim {
            deque: Deque::new(),
            requests: Requests::new(),
            thief: Post::new(),
            task: Task::new(),
        });
        let thief = {
            let victim = Arc::clone(&victim);
            thread::spawn(move || {
                assert!(victim.requests.post(&victim.thief, 0));
                victim.deque.poison();
                let mut mail = victim.thief.mailbox.pick_up();
                if mail == Mail::None && victim.requests.cancel(&victim.thief) {
                    return false;
                }
                while mail == Mail::None {
                    thread::yield_now();
                    mail = victim.thief.mailbox.pick_up();
                }
                if let Mail::Entry(entry) = mail {
                    assert!(execute(entry).is_none());
                }
                true
            })
        };
        // The victim forks, attends if asked to, and joins.
        let pushed = fork(&victim.deque, &victim.task);
        let mut given = false;
        if victim.deque.wants_attention(pushed) {
            victim.deque.attend();
            if let Some(post) = victim.requests.claim() {
                // SAFETY: the post is part of the victim here.
                let mailbox = unsafe { &(*post).mailbox };
                let entry = victim.deque.take_top(|entry| entry.taken(Place::Mailbox(mailbox)));
                assert!(entry.is_some());
                mailbox.deliver(entry);
                given = true;
            }
        }
        if given {
            if victim.thief.mailbox.take_back(victim.task.entry()) {
                victim.task.run();
            }
        } else {
            assert!(join(&victim.deque, &victim.task));
        }
        let answered = thief.join().unwrap();
        assert_eq!(victim.task.runs.load(Relaxed), 1, "the job was lost or run twice");
        assert_eq!(victim.requests.claim(), None);
        assert!(
            answered || victim.thief.mailbox.pick_up() == Mail::None,
            "an answer came to one who had left"
        );
    });
}

/// An offered job: two thieves reach for it and its join takes it back; one of them has it.
#[test]
fn offer_against_take_back() {
    explore(6, &[Fault::TakeBackBlindly], || {
        let offer = Arc::new(Offer::new());
        let deque = Deque::new();
        let task = Arc::new(Task::new());
        fork(&deque, &task);
        let entry = deque.take_top(|entry| entry.taken(Place::Mailbox(offer.mailbox()))).expect("pushed");
        offer.make(entry);
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let (offer, task) = (Arc::clone(&offer), Arc::clone(&task));
                thread::spawn(move || {
                    let _ = &task;
                    if let Some(entry) = offer.take() {
                        assert!(execute(entry).is_none());
                    }
                })
            })
            .collect();
        if offer.mailbox().take_back(task.entry()) {
            task.run();
        }
        for thief in thieves {
            thief.join().unwrap();
        }
        assert_eq!(task.runs.load(Relaxed), 1, "the job was lost or run twice");
        assert!(!offer.stands());
    });
}

/// Falling asleep against a fork: the fork wakes the sleeper, or the sleeper sees the fork.
#[test]
fn no_lost_wake_up() {
    explore(6, &[Fault::SleepWithoutSecondLook, Fault::ForkWithoutCheck], || {
        let deque = Arc::new(Deque::new());
        let sleepers = Arc::new(Sleepers::new(0));
        let task = Arc::new(Task::new());
        sleepers.start_search();
        let sleeper = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || {
                sleepers.set_resting(1);
                sleepers.stop_search();
                sleepers.look_once_more(std::iter::once(&*deque), || !deque.looks_empty())
            })
        };
        let pushed = fork(&deque, &task);
        let mut woke = false;
        if deque.wants_attention(pushed) {
            deque.attend();
            woke = sleepers.wants_wake();
        }
        let saw = sleeper.join().unwrap();
        assert!(woke || saw, "a job waits and a processor sleeps");
    });
}

/// A thief takes an exposed job while a stranger withdraws it: it goes to one of them.
#[test]
fn withdraw_against_steal() {
    explore(6, &[], || {
        let deque = Arc::new(Deque::new());
        let tasks = Arc::new([Task::new(), Task::new()]);
        for task in &*tasks {
            fork(&deque, &task);
        }
        deque.expose_all();
        let thief = {
            let (deque, tasks) = (Arc::clone(&deque), Arc::clone(&tasks));
            thread::spawn(move || {
                let _ = &tasks;
                if let Steal::Success(entry) = deque.steal(0, |entry| entry.taken(Place::Nowhere)) {
                    assert!(execute(entry).is_none());
                }
            })
        };
        let withdrawn = deque.withdraw(tasks[0].entry(), false);
        if withdrawn {
            tasks[0].run();
        }
        thief.join().unwrap();
        while let Some(entry) = deque.take_youngest(|_| true) {
            assert!(execute(entry).is_none());
        }
        assert!(tasks.iter().all(|task| task.runs.load(Relaxed) == 1));
    });
}

/// A carrier arrives at a processor whose CPU is exchanged meanwhile: it ends up on the one that the processor has.
#[test]
fn arrive_against_exchange() {
    explore(6, &[Fault::ArriveWithoutSecondLook], || move_during_exchange(1, |_| true));
}

/// A carrier leaves such a processor for one that has no part in the exchange: it ends up on the CPU of that one.
#[test]
fn leave_against_exchange() {
    explore(6, &[Fault::ExchangeWithoutSecondLook], || move_during_exchange(2, |_| true));
}

/// The same while one of the CPUs cannot be used: what is refused changes nothing.
#[test]
fn leave_against_refused_exchange() {
    explore(6, &[], || move_during_exchange(2, |cpu| cpu != CPUS[1]));
}

const CPUS: [usize; 3] = [10, 20, 30];

/// Has a carrier go from processor 0 to another one while 0 and 1 exchange CPUs. `online` tells which can be used. As
/// the system does, this pins by a step that is ordered among its like.
fn move_during_exchange(to: usize, online: fn(usize) -> bool) {
    const CARRIER: usize = 1;
    let placement = Arc::new(Placement::new(3, &CPUS));
    let runs_on = Arc::new(AtomicUsize::new(0));
    let pin = move |runs_on: &AtomicUsize, cpu| {
        if online(cpu) {
            runs_on.swap(cpu, AcqRel);
        }
        online(cpu)
    };
    let carrier = {
        let (placement, runs_on) = (Arc::clone(&placement), Arc::clone(&runs_on));
        thread::spawn(move || {
            let here = |cpu| {
                pin(&runs_on, cpu);
            };
            placement.arrive(0, CARRIER, here);
            placement.leave(0);
            // Who gives it the next processor has pinned it before it wakes.
            here(placement.cpu(to));
            placement.arrive(to, CARRIER, here);
        })
    };
    let exchanged = placement.exchange(0, 1, |_, cpu| pin(&runs_on, cpu));
    carrier.join().unwrap();
    let cpu = if exchanged { [CPUS[1], CPUS[0], CPUS[2]][to] } else { CPUS[to] };
    assert_eq!((placement.cpu(to), placement.holder(to)), (cpu, CARRIER));
    assert_eq!(runs_on.load(Relaxed), cpu, "the carrier runs on the CPU of another processor");
}

/// A scope whose closures run on two processors: exactly one of them, or the body, finds that all has ended, and has seen
/// what all closures did.
#[test]
fn credits_of_a_scope() {
    /// The credits, what two closures write, and how often the end was found.
    struct Scope {
        credits: Credits,
        results: [UnsafeCell<u32>; 2],
        ends: AtomicUsize,
    }
    // SAFETY: that access to the cells is ordered is what the model checks.
    unsafe impl Sync for Scope {}
    // SAFETY: as above.
    unsafe impl Send for Scope {}

    impl Scope {
        fn run(&self, index: usize, stock: &Stock) -> Ended {
            // SAFETY: checked by loom; the closure's credit is out.
            unsafe {
                self.results[index].with_mut(|result| *result = 1);
                stock.put(&raw const self.credits)
            }
        }

        fn ended(&self) {
            self.ends.fetch_add(1, Relaxed);
            for result in &self.results {
                // SAFETY: checked by loom.
                assert_eq!(result.with(|result| unsafe { *result }), 1);
            }
        }
    }

    explore(3, &[Fault::SettleWithoutOrder], || {
        let scope = Arc::new(Scope {
            credits: Credits::new(),
            results: [UnsafeCell::new(0), UnsafeCell::new(0)],
            ends: AtomicUsize::new(0),
        });
        let stock = Stock::new();
        assert!(stock.take(&scope.credits).is_none() && stock.take(&scope.credits).is_none());
        let other = {
            let scope = Arc::clone(&scope);
            thread::spawn(move || {
                let stock = Stock::new();
                // It spawns, too, and runs what it spawned: its stock comes from its own addition.
                assert!(stock.take(&scope.credits).is_none());
                assert!(scope.run(0, &stock).is_none());
                // SAFETY: the credit of the closure that was spawned above.
                assert!(unsafe { stock.put(&raw const scope.credits) }.is_none());
                if stock.empty().is_some() {
                    scope.ended();
                }
            })
        };
        let body_last = scope.credits.end_body(Some(&stock));
        let settled = if body_last { None } else { scope.run(1, &stock).or_else(|| stock.empty()) };
        assert!(!body_last, "a closure had not ended");
        if settled.is_some() {
            scope.ended();
        }
        other.join().unwrap();
        assert_eq!(scope.ends.load(Relaxed), 1);
    });
}
