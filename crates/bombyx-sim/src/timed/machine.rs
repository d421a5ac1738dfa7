//! Processors that take their steps in the order of their clocks.

use super::cells::{Edge, Memory};
use super::program::{Program, Thread};
use super::view::View;
use super::{Outcome, Timed};
use bombyx_base::Random;
use bombyx_rw::protocol::{
    Id, Mutation, Next, Pc, Processor, Watch, acquire, answer, communicate, finish, finish_concurrent, fork,
    next_thread, resolve_join, watch, watch_test,
};
use bombyx_rw::{Joins, Steals};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What only the processor itself sees.
pub(super) struct Local {
    pub(super) pc: Pc<Thread, Thread, u64>,
    pub(super) watch: Watch<Thread>,
    pub(super) current: Option<Next<Thread>>,
    /// The threads, the top one first, and when they were pushed.
    pub(super) deque: VecDeque<(Thread, u64)>,
    pub(super) watching: Vec<Edge>,
    /// What the present pass of `watch` has yet to look at.
    pass: Vec<Edge>,
    /// What is left of the body, and how many times τ passed in it.
    left: u64,
    ticks: u64,
    polls: bool,
    /// When the open query was sent, to whom, and how long that processor had waited for joins until then.
    pub(super) asked: (u64, Id, u64),
    /// How long the processor has waited for joins.
    waited: u64,
    /// Private deques with compare-and-swap: a request is open.
    pub(super) asking: bool,
    pub(super) random: Random,
    /// Under one error: the round of each processor when this one last asked it.
    pub(super) last_asked: BTreeMap<Id, u64>,
}

impl Local {
    /// A body begins, with a poll.
    pub(super) fn begin(&mut self, weight: u64) {
        (self.left, self.ticks, self.polls) = (weight, 0, true);
    }
}

/// What the time of a step counts as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Work,
    Idle,
    Waiting,
    Overhead,
}

pub(super) struct Machine<'c> {
    pub(super) config: &'c Timed<'c>,
    pub(super) program: &'c Program<'c>,
    pub(super) memory: Memory,
    pub(super) locals: Vec<Local>,
    /// What follows each thread.
    pub(super) conti: Vec<Next<Thread>>,
    /// Watch lists that are or were on their way.
    pub(super) lists: Vec<Vec<Edge>>,
    pub(super) outcome: Outcome,
    pub(super) exited: bool,
}

impl<'c> Machine<'c> {
    pub(super) fn new(config: &'c Timed<'c>, program: &'c Program<'c>) -> Machine<'c> {
        let local = |p: usize| Local {
            pc: Pc::Clear,
            watch: Watch::Idle,
            current: None,
            deque: VecDeque::new(),
            watching: Vec::new(),
            pass: Vec::new(),
            left: 0,
            ticks: 0,
            polls: false,
            asked: (0, 0, 0),
            waited: 0,
            asking: false,
            random: Random::stream(config.seed, p as u64),
            last_asked: BTreeMap::new(),
        };
        let delta = match config.mutation {
            Some(Mutation::LongDelta) => 10 * config.delta,
            _ => config.delta,
        };
        Machine {
            config,
            program,
            memory: Memory::new(config.processors, program.threads(), delta, config.seed),
            locals: (0..config.processors).map(local).collect(),
            conti: vec![Next::End; program.threads()],
            lists: Vec::new(),
            outcome: Outcome { bounds: config.bounds(), ..Outcome::default() },
            exited: false,
        }
    }

    /// Another processor, at random.
    pub(super) fn victim(&mut self, p: Id) -> Id {
        let drawn = self.locals[p as usize].random.below(self.config.processors as u64 - 1) as Id;
        if drawn >= p { drawn + 1 } else { drawn }
    }

    /// Processor `p` asks, at `now`.
    pub(super) fn asks(&mut self, p: Id, victim: Id, now: u64) {
        self.locals[p as usize].asked = (now, victim, self.locals[victim as usize].waited);
    }

    /// A thread has changed processors.
    pub(super) fn stolen(&mut self, p: Id, now: u64) {
        self.outcome.steals += 1;
        let (at, victim, waited) = self.locals[p as usize].asked;
        let took = (now - at).saturating_sub(self.locals[victim as usize].waited - waited);
        self.outcome.slowest_steal = self.outcome.slowest_steal.max(took);
    }

    pub(super) fn run(mut self) -> Outcome {
        let mut agenda = BinaryHeap::new();
        let begun = self.begin();
        agenda
            .extend((0..self.config.processors as Id).map(|p| Reverse((if p == 0 { begun } else { 0 }, p))));
        while let Some(Reverse((now, p))) = agenda.pop() {
            self.memory.advance(now);
            let kind = self.kind(p);
            let after = self.step(p, now).max(now + 1);
            let took = after - now;
            match kind {
                Kind::Work => self.outcome.work += took,
                Kind::Idle => self.outcome.idle += took,
                Kind::Waiting => {
                    self.outcome.waiting += took;
                    self.locals[p as usize].waited += took;
                }
                Kind::Overhead => {}
            }
            if self.exited {
                self.outcome.time = after;
                break;
            }
            agenda.push(Reverse((after, p)));
        }
        (self.outcome.stale, self.outcome.latest_stale) = self.memory.stale;
        self.outcome
    }

    /// Gives processor 0 the first thread.
    fn begin(&mut self) -> u64 {
        let read_write = self.config.steals == Steals::ReadWrite;
        let mut view = View { machine: self, p: 0, now: 0 };
        view.push_bottom(0);
        let Ok(()) = if read_write {
            view.go(Pc::Accept);
            acquire(&mut view, |_| unreachable!("nobody is chosen"))
        } else {
            next_thread(&mut view)
        };
        view.now
    }

    fn kind(&self, p: Id) -> Kind {
        let local = &self.locals[p as usize];
        match local.pc {
            _ if local.watch != Watch::Idle => Kind::Waiting,
            Pc::Body { .. } if local.polls || !local.pass.is_empty() => Kind::Overhead,
            Pc::Body { .. } if local.left > 0 => Kind::Work,
            Pc::Body { .. } | Pc::HandOut { .. } | Pc::NextRound { .. } => Kind::Overhead,
            pc if pc.resolving().is_some() => Kind::Waiting,
            _ => Kind::Idle,
        }
    }

    /// One step of processor `p` at `now`. Returns when it is over.
    fn step(&mut self, p: Id, now: u64) -> u64 {
        let at = p as usize;
        let (pc, state) = (self.locals[at].pc, self.locals[at].watch);
        let mut view = View { machine: self, p, now };
        if state != Watch::Idle {
            let Ok(()) = watch(&mut view);
            if matches!(state, Watch::AwaitTransfer(_)) && view.watch_state() == state {
                view.watch_inner();
            }
            return view.now;
        }
        match pc {
            Pc::Body { thread } => view.body(thread),
            Pc::HandOut { .. } | Pc::NextRound { .. } => {
                let Ok(()) = answer(&mut view);
            }
            Pc::Decrement { .. } => {
                let Ok(()) = acquire(&mut view, |_| unreachable!("nobody is chosen"));
            }
            _ => match (pc.resolving(), view.machine.config.steals) {
                (Some(_), _) if view.look() => {}
                (Some(c), _) => {
                    let Ok(()) = resolve_join(&mut view, c);
                    if matches!(pc, Pc::AwaitReply { .. }) && view.pc() == pc {
                        view.machine.locals[at].pass = view.machine.locals[at].watching.clone();
                    }
                }
                (None, Steals::ReadWrite) => {
                    let Ok(()) = acquire(&mut view, |view| view.machine.victim(p));
                }
                (None, Steals::PrivateCas) => view.request(),
                (None, Steals::ChaseLev) => view.steal_concurrent(),
            },
        }
        view.now
    }
}

impl View<'_, '_> {
    fn local(&mut self) -> &mut Local {
        &mut self.machine.locals[self.p as usize]
    }

    /// A part of a body: a poll, a stretch of work, or the end.
    fn body(&mut self, thread: Thread) {
        if self.local().polls {
            self.local().polls = false;
            match self.machine.config.steals {
                Steals::ReadWrite => {
                    let Ok(()) = communicate(self, Some(thread));
                }
                Steals::PrivateCas => self.answer_request(),
                Steals::ChaseLev => {}
            }
            if self.machine.config.joins == Joins::ReadWrite {
                self.local().pass = self.local().watching.clone();
            }
            return;
        }
        if self.look() {
            return;
        }
        let tau = self.machine.config.tau;
        let local = self.local();
        if local.left > 0 {
            let stretch = local.left.min(tau);
            local.left -= stretch;
            local.ticks += 1;
            let due = local.ticks;
            local.polls = local.left > 0;
            if self.errs(Mutation::SkipsPolls) && !due.is_multiple_of(4) {
                self.local().polls = false;
            }
            self.now += stretch;
            return;
        }
        if let Some([left, right, join]) = self.machine.program.fork(thread) {
            fork(self, left, right, join);
        }
        let Ok(()) = match self.machine.config.steals {
            Steals::ChaseLev => finish_concurrent(self),
            _ => finish(self),
        };
    }

    /// Looks at one edge of the present pass of `watch`. Returns whether there was one.
    fn look(&mut self) -> bool {
        let Some(c) = self.local().pass.pop() else { return false };
        if self.local().watching.contains(&c) {
            let Ok(()) = watch_test(self, c);
        }
        true
    }

    /// `watch` called from its own waiting loop.
    fn watch_inner(&mut self) {
        for c in self.local().watching.clone() {
            let Ok(()) = watch_test(self, c);
            if matches!(self.watch_state(), Watch::InnerAck { .. }) {
                let Ok(()) = watch(self);
            }
        }
    }
}
