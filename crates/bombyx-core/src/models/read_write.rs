//! Models of the read-write schedulers: query cells and join resolution. Loops that wait in the runtime also wait here,
//! giving way. RW's proof asserts progress; here it shows in that loom finds no run that waits for ever.

use super::Processor;
use super::{Task, execute, explore, explore_weak, fork, relying};
use crate::protocol::carrier::{Carrier, WakeOn};
use crate::protocol::deque::Deque;
use crate::protocol::job::Place;
use crate::protocol::query::{Poll, Queries, Round};
use crate::protocol::resolution::{GoesOn, Reply, Resolution, WatchList};
use crate::protocol::sleep::Sleepers;
use crate::system::barrier::{self, Side};
use crate::system::fault::Fault;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread::{self, JoinHandle};
use std::ptr::NonNull;
use std::sync::Arc;

/// The cells of three processors, of which the first is the victim, and what it has to give.
struct Cells {
    queries: [Queries; 3],
    deque: Deque,
    task: Task,
}

impl Cells {
    /// The victim runs, and has one entry.
    fn new() -> Arc<Cells> {
        let cells = Arc::new(Cells {
            queries: [Queries::new(), Queries::new(), Queries::new()],
            deque: relying(),
            task: Task::new(),
        });
        cells.queries[0].set_open(true);
        fork(&cells.deque, &cells.task);
        cells
    }

    /// A thief asks, looks for the answer `looks` times, and then withdraws or goes on waiting.
    fn steal(&self, thief: usize, looks: usize, withdraws: bool) -> Attempt {
        let victim = &self.queries[0];
        let Some(round) = self.queries[thief].ask(thief, victim, 0) else { return Attempt::Ended(false) };
        for _ in 0..looks {
            if victim.is_over(round) {
                return Attempt::Ended(self.receive(thief));
            }
            victim.ask_again(thief, round);
        }
        if !withdraws {
            return Attempt::Waits(round);
        }
        victim.withdraw(thief, round, &self.deque.side);
        Attempt::Ended(self.receive(thief))
    }

    /// Runs the answer, if there is one. Returns whether there was.
    fn receive(&self, thief: usize) -> bool {
        let entry = self.queries[thief].receive();
        entry.is_some_and(|entry| {
            assert!(execute(entry).is_none());
            true
        })
    }

    /// Whether the attempt ends well, when from now on the thief only waits and the victim only polls.
    fn ends_well(&self, thief: usize, attempt: Attempt) -> bool {
        match attempt {
            Attempt::Ended(got) => got,
            Attempt::Waits(round) => {
                let victim = &self.queries[0];
                if !victim.is_over(round) {
                    victim.ask_again(thief, round);
                    self.poll();
                }
                assert!(victim.is_over(round), "a thief waits for ever");
                self.receive(thief)
            }
        }
    }

    /// The victim polls, and answers.
    fn poll(&self) {
        let victim = &self.queries[0];
        match victim.poll(|| {}) {
            Poll::Nothing => {}
            Poll::Gone => victim.answer(None),
            Poll::Thief(thief) => {
                let entry = self.deque.private().take_oldest();
                victim.answer(entry.map(|entry| {
                    entry.taken(Place::Nowhere);
                    (&self.queries[thief], entry)
                }));
            }
        }
    }

    /// The victim has nothing left to do, and runs what nobody took.
    fn end(&self) {
        self.queries[0].set_open(false);
        if let Some(entry) = self.deque.private().take_youngest(|_| true) {
            assert!(execute(entry).is_none());
        }
    }

    fn check(&self) {
        assert_eq!(self.task.runs.load(Relaxed), 1, "the job was lost or run twice");
        for queries in &self.queries {
            assert_eq!(queries.receive(), None, "an answer came to one who had left");
        }
    }
}

/// How far a thief has come.
enum Attempt {
    /// The attempt has ended. True if the thief got something.
    Ended(bool),
    /// The query is still there.
    Waits(Round),
}

fn spawn_thief(cells: &Arc<Cells>, thief: usize, looks: usize, withdraws: bool) -> JoinHandle<Attempt> {
    let cells = Arc::clone(cells);
    thread::spawn(move || cells.steal(thief, looks, withdraws))
}

/// Two thieves ask while the victim does what `victim` says. Then everyone comes to an end.
fn two_thieves(looks: usize, victim: impl FnOnce(&Cells)) {
    let cells = Cells::new();
    let thieves = [1, 2].map(|thief| (thief, spawn_thief(&cells, thief, looks, false)));
    victim(&cells);
    let attempts = thieves.map(|(thief, handle)| (thief, handle.join().unwrap()));
    let got = attempts.map(|(thief, attempt)| cells.ends_well(thief, attempt));
    assert_ne!(got, [true, true]);
    cells.end();
    cells.check();
}

/// One query cell: one thief overwrites the other's query. Both learn how it ended, and at most one gets the entry.
#[test]
fn overwritten_query() {
    explore_weak(3, &[Fault::RoundBeforeAnswer], || two_thieves(1, Cells::poll));
}

/// A query of a round that has ended arrives late, perhaps over a newer one. The victim ignores it, and the newer thief
/// repeats its own.
#[test]
fn stale_round() {
    explore_weak(2, &[Fault::ServeStaleQuery, Fault::NoResend], || {
        two_thieves(1, |cells| {
            cells.queries[0].set_open(false);
            cells.queries[0].set_open(true);
            cells.poll();
        });
    });
}

/// A victim declines two thieves, one after the other or both at once. Nobody waits for ever, and nothing is lost.
#[test]
fn simultaneous_declines() {
    explore_weak(3, &[Fault::RoundBeforeAnswer, Fault::ServeStaleQuery], || {
        two_thieves(1, |cells| {
            match cells.queries[0].poll(|| {}) {
                Poll::Nothing => {}
                Poll::Gone | Poll::Thief(_) => cells.queries[0].answer(None),
            }
            cells.poll();
        });
    });
}

/// A thief that withdraws against a victim that answers.
#[test]
fn withdraw_against_answer() {
    explore(4, &[Fault::LeaveQuery, Fault::ServeWithoutSecondLook], || {
        let cells = Cells::new();
        let thief = spawn_thief(&cells, 1, 0, true);
        cells.poll();
        let Attempt::Ended(got) = thief.join().unwrap() else { unreachable!("it withdraws") };
        cells.poll();
        assert_eq!(got, cells.task.runs.load(Relaxed) == 1);
        cells.end();
        cells.check();
    });
}

/// Like [`withdraw_against_answer`], if the system refuses the barrier. The thief leaves when the round has ended, and
/// not before.
#[test]
fn refused_withdraw_against_answer() {
    explore_weak(4, &[Fault::TrustRefusal], || {
        let cells = Cells::new();
        let thief = spawn_thief(&cells, 1, 0, true);
        cells.poll();
        cells.end();
        assert!(matches!(thief.join().unwrap(), Attempt::Ended(_)));
        cells.check();
    });
}

/// A victim stops relying on the barrier right after it answered. A thief that sees this sees the claim, too.
#[test]
fn withdraw_against_cease() {
    explore_weak(4, &[Fault::CeaseWithoutOrder], || {
        let cells = Cells::new();
        let thief = spawn_thief(&cells, 1, 0, true);
        cells.poll();
        cells.deque.side.cease();
        cells.end();
        assert!(matches!(thief.join().unwrap(), Attempt::Ended(_)));
        cells.check();
    });
}

/// A join: the cells, the result of the right branch, and a processor to give.
struct Join {
    resolution: Resolution,
    result: UnsafeCell<u32>,
    processor: Processor,
    /// The barrier side of the right branch.
    side: Side,
    /// A join further up that the left side watches.
    outer: Resolution,
    continued: AtomicUsize,
}

// SAFETY: the models check that accesses to the cell are ordered.
unsafe impl Sync for Join {}
// SAFETY: as above.
unsafe impl Send for Join {}

impl Join {
    fn new() -> Arc<Join> {
        let side = Side::new();
        side.rely();
        Arc::new(Join {
            side,
            resolution: Resolution::new(),
            result: UnsafeCell::new(0),
            processor: Processor([0; 4]),
            outer: Resolution::new(),
            continued: AtomicUsize::new(0),
        })
    }

    /// The right branch polls `polls` times, writes the result, and ends. If it goes on, it gives its processor away,
    /// and must have got the list of the left side.
    fn right(&self, polls: usize) {
        let list = WatchList::default();
        list.push(&self.resolution);
        for _ in 0..polls {
            list.watch();
        }
        // SAFETY: checked by loom.
        self.result.with_mut(|result| unsafe { *result = 7 });
        if let GoesOn::Right(carrier) = self.resolution.end(&list, || {}) {
            assert_eq!(list.len(), 1, "the watch list was lost");
            // SAFETY: the left side waits, and named its carrier to this caller.
            unsafe {
                carrier.as_ref().watching.append(list.take());
                Carrier::give(carrier, self.processor.baton(), WakeOn::Anywhere);
            }
        } else {
            assert!(list.is_empty());
        }
    }

    /// The left side goes on, with the result and with what it watches.
    fn go_on(&self, list: &WatchList) {
        // SAFETY: checked by loom.
        self.result.with(|result| assert_eq!(unsafe { *result }, 7));
        assert_eq!(list.len(), 1, "the watch list was lost");
        self.continued.fetch_add(1, Relaxed);
    }

    /// The left side waits as the runtime does. If `politely` is `None`, it keeps its processor. Otherwise it wants to
    /// leave, and looks that many times for an answer before it leaves without one.
    fn left(&self, politely: Option<usize>) {
        let carrier = Carrier::here();
        let this = NonNull::from(&carrier);
        let list = WatchList::default();
        list.push(&self.outer);
        let left = match politely {
            None => false,
            Some(looks) => {
                let mut reply = Reply::None;
                if looks > 0 {
                    self.resolution.want_to_leave(this);
                }
                for _ in 0..looks {
                    reply = self.resolution.reply();
                    if reply != Reply::None {
                        break;
                    }
                    thread::yield_now();
                }
                match reply {
                    Reply::Ended => false,
                    Reply::Acknowledged => {
                        self.resolution.transfer(&list);
                        true
                    }
                    Reply::None => self.resolution.leave_unanswered(this, &list, std::iter::once(&self.side)),
                }
            }
        };
        if left {
            assert_eq!(carrier.receive(), Some(self.processor.baton()));
            list.append(carrier.watching.take());
        } else {
            while !self.resolution.is_ended() {
                thread::yield_now();
            }
        }
        self.go_on(&list);
    }
}

fn resolve(polls: usize, politely: Option<usize>) {
    let join = Join::new();
    let right = {
        let join = Arc::clone(&join);
        thread::spawn(move || join.right(polls))
    };
    join.left(politely);
    right.join().unwrap();
    assert_eq!(join.continued.load(Relaxed), 1);
}

/// Both branches end at the same time. The left side goes on, with the right side's result.
#[test]
fn tie_at_a_join() {
    explore(4, &[Fault::SilentTie], || resolve(0, Some(1)));
}

/// The left side stays where it is. It waits only for the right side's end.
#[test]
fn left_stays() {
    explore_weak(4, &[Fault::EarlyAck], || resolve(1, None));
}

/// The left side leaves after the right side's ACK. The right side goes on watching, and ends.
#[test]
fn transfer_while_the_receiver_watches() {
    explore(3, &[Fault::TransferNothing, Fault::EndBeforeTransfer], || resolve(2, Some(3)));
}

/// The left side leaves without an answer, while the right side watches or ends.
#[test]
fn leave_unanswered_against_end() {
    explore(4, &[Fault::LeaveWithoutBarrier, Fault::EndWithoutSecondLook, Fault::TieToNone], || {
        resolve(1, Some(0));
    });
}

/// Like [`leave_unanswered_against_end`], if the system refuses the barrier. The left side waits for the answer.
#[test]
fn refused_leave_against_end() {
    explore_weak(4, &[Fault::TrustRefusal], || resolve(1, Some(0)));
}

/// A processor falls asleep while the owner of a private deque attends. The owner sees the sleeper, or will attend
/// again.
#[test]
fn rest_against_attend() {
    explore(6, &[Fault::PoisonBeforeBarrier], || {
        let deque = Arc::new(relying());
        let sleepers = Arc::new(Sleepers::new(0));
        let sleeper = {
            let (deque, sleepers) = (Arc::clone(&deque), Arc::clone(&sleepers));
            thread::spawn(move || {
                sleepers.set_resting(1);
                sleepers.call(std::iter::once(&*deque), || unreachable!("the barrier reaches everyone"));
            })
        };
        deque.private().attend();
        barrier::light();
        let seen = sleepers.any_resting();
        sleeper.join().unwrap();
        assert!(seen || deque.poisoned(), "no fork will notice the sleeper");
    });
}
