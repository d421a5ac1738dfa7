//! One processor of the machine as [`bombyx_rw::protocol`] sees it: loads look into the store buffer first, and stores
//! go to its end. The code that is explored here is the code that runs on threads.

use super::ghost::Ghost;
use super::machine::Machine;
use super::proof::{self, Rule, require};
use super::state::{Pc, Processor as Number, Query, Round, State, Status, Store, Watch};
use super::trace::Log;
use super::tree::{Cont, ContSet, Fork, Thread};
use super::{Mutation, Violation};
use bombyx_rw::Joins;
use bombyx_rw::protocol::{Id, Next, Processor, Side, finish, fork};

pub(super) struct View<'a, 'l> {
    machine: &'a Machine,
    s: &'a mut State,
    p: Number,
    log: &'a mut Log<'l>,
    /// The thread that just ended, for the log.
    ended: Option<Thread>,
    fault: Option<Violation>,
}

impl<'a, 'l> View<'a, 'l> {
    pub(super) fn new(
        machine: &'a Machine,
        s: &'a mut State,
        p: Number,
        log: &'a mut Log<'l>,
    ) -> View<'a, 'l> {
        View { machine, s, p, log, ended: None, fault: None }
    }

    /// The end of a body: `fork` (lines 45 to 53) if it ends in one, then `handle_cont` and the main loop.
    pub(super) fn finish(&mut self, t: Thread) -> Result<(), Violation> {
        self.ended = Some(t);
        let threads = &self.machine.threads;
        if self.machine.application {
            let store = Store::Application { thread: t };
            self.s.local(self.p).buffer.push(store);
            self.log.store(self.machine, self.p, 43, store);
        }
        let right = threads.right_of(t).filter(|_| self.machine.is(Mutation::SameBody));
        let body = threads.body(right.unwrap_or(t));
        let own = require(self.machine, Rule::Rt1, body == threads.body(t), || {
            format!("{} has the body of {}", threads.name(t), right.map_or("", |t| threads.name(t)))
        });
        self.abstractly(|_, _| own);
        let times = if self.machine.is(Mutation::ForksTwice) { 2 } else { 1 };
        if let Some(f) = body {
            self.log.step(self.p, 45, || format!("{} forks", threads.name(t)));
            let current = self.local().current;
            let inherits = !self.is(Mutation::ForkDropsEdge);
            for _ in 0..times {
                self.set_current(current);
                fork(self, threads.left(f), threads.right(f), f);
                self.abstractly(|ghost, p| ghost.fork(threads, p, f, inherits));
            }
        } else {
            self.ends(t);
            if self.machine.is(Mutation::EndsTwice) {
                let current = self.local().current;
                finish(self)?;
                self.set_current(current);
                self.ends(t);
            }
        }
        finish(self)
    }

    /// STEP to the end of the body, and END if no join is to be resolved.
    fn ends(&mut self, t: Thread) {
        let threads = &self.machine.threads;
        self.abstractly(|ghost, p| ghost.stop(p, t));
        if !matches!(self.local().current, Some(Next::Branch(_))) {
            self.abstractly(|ghost, p| ghost.end(threads, p, t));
        }
    }

    /// Lets the abstract state take its step, if the proof is checked.
    fn abstractly(&mut self, step: impl FnOnce(&mut Ghost, Number) -> Result<(), Violation>) {
        if self.machine.proof {
            let taken = step(&mut self.s.memory.ghost, self.p);
            let fault = taken.err().filter(|fault| match fault {
                Violation::Proof { rule, .. } if self.machine.notes(*rule) => false,
                fault => self.machine.asks(fault),
            });
            self.fault = self.fault.take().or(fault);
        }
    }

    /// What the proof found to be wrong with the step.
    pub(super) fn checked(self, step: Result<(), Violation>) -> Result<(), Violation> {
        match self.fault {
            Some(fault) => Err(fault),
            None => step,
        }
    }

    fn store(&mut self, store: Store) {
        let local = self.s.local(self.p);
        let line = match (local.watch, local.pc) {
            (Watch::Ack(_) | Watch::InnerAck { .. }, _) => 141,
            (_, Pc::Clear) => 70,
            (_, Pc::Send { .. }) => 77,
            (_, Pc::Resend { .. }) => 81,
            (_, Pc::Accept) => 88,
            (_, Pc::HandOut { .. }) => 103,
            (_, Pc::NextRound { .. }) => 104,
            (_, Pc::BlockQuery { .. }) => 110,
            (_, Pc::BlockRound { .. }) => 111,
            (_, Pc::WriteReady { .. }) => 120,
            (_, Pc::Transfer { .. }) => 128,
            _ => 141,
        };
        local.buffer.push(store);
        self.log.store(self.machine, self.p, line, store);
    }

    fn local(&self) -> &super::state::Local {
        &self.s.locals[usize::from(self.p)]
    }
}

impl Processor for View<'_, '_> {
    type Thread = Thread;
    type Join = Fork;
    type Round = Round;
    type List = ContSet;
    type Fault = Violation;

    const FIRST: Round = 0;

    fn id(&self) -> Id {
        u32::from(self.p)
    }

    fn pc(&self) -> Pc {
        self.local().pc
    }

    fn go(&mut self, to: Pc) {
        // Only the proof asks whose answer was awaited.
        let to = match to {
            Pc::Receive { .. }
                if !self.machine.proof
                    && !self.is(Mutation::WrongReception)
                    && !self.is(Mutation::SnoopsReception) =>
            {
                Pc::Receive { victim: u32::MAX, round: 0 }
            }
            to => to,
        };
        self.s.local(self.p).pc = to;
    }

    fn is(&self, mutation: Mutation) -> bool {
        self.machine.is(mutation)
    }

    fn load_round(&mut self, of: Id) -> Round {
        self.s.round(self.p, of as Number)
    }

    fn store_round(&mut self, of: Id, round: Round) {
        self.store(Store::Round { of: of as Number, round });
    }

    fn next(round: Round) -> Round {
        // A walk through a wrong protocol may never end, and comes around. A right one ends long before.
        round.wrapping_add(1)
    }

    fn load_query(&mut self, of: Id) -> Query {
        self.s.query(self.p, of as Number)
    }

    fn store_query(&mut self, to: Id, query: Query) {
        self.store(Store::Query { to: to as Number, query });
    }

    fn load_received(&mut self, of: Id) -> Option<Thread> {
        let thread = self.s.received(self.p, of as Number);
        if self.machine.proof
            && let Some(t) = thread
        {
            let received = proof::received(self.machine, self.s, self.p, t);
            self.fault = self.fault.take().or(received.err());
        }
        thread
    }

    fn store_received(&mut self, to: Id, thread: Option<Thread>) {
        if let Some(t) = thread {
            self.abstractly(|ghost, p| ghost.migrate(p, to as Number, t));
        }
        self.store(Store::Received { to: to as Number, thread });
    }

    fn load_status(&mut self, of: Cont) -> Status {
        self.s.status(self.p, of)
    }

    fn store_status(&mut self, of: Cont, value: Status) {
        self.store(Store::Status { cell: of, value });
    }

    fn push_bottom(&mut self, t: Thread) {
        self.s.local(self.p).deque.push_bottom(t);
    }

    fn pop_bottom(&mut self) -> Option<Thread> {
        self.s.local(self.p).deque.pop_bottom()
    }

    fn pop_top(&mut self) -> Option<Thread> {
        self.s.local(self.p).deque.pop_top()
    }

    fn peek_top(&self) -> Option<Thread> {
        self.local().deque.threads().first().copied()
    }

    fn peek_bottom(&self) -> Option<Thread> {
        self.local().deque.threads().last().copied()
    }

    fn current(&self) -> Option<Next<Fork>> {
        self.local().current
    }

    fn set_current(&mut self, next: Option<Next<Fork>>) {
        self.s.local(self.p).current = next;
    }

    /// The store goes to memory at once: a thread is written before anybody else can see it.
    fn set_conti(&mut self, t: Thread, next: Next<Fork>) {
        let edge = match next {
            Next::End => None,
            Next::Single(join) => Some(Cont { join, side: Side::Right }),
            Next::Branch(c) => Some(c),
        };
        self.s.memory.conti.set(t, edge);
    }

    fn init_status(&mut self, _: Fork) {}

    fn conti(&self, t: Thread) -> Next<Fork> {
        match self.s.memory.conti.get(t) {
            None => Next::End,
            Some(c) if self.s.is_single(c.join) => Next::Single(c.join),
            Some(c) => Next::Branch(c),
        }
    }

    fn make_single(&mut self, t: Thread) {
        if let Some(c) = self.s.memory.conti.get(t) {
            self.s.memory.single |= 1 << c.join.0;
        }
        if let Some(left) = self.ended {
            let threads = &self.machine.threads;
            self.abstractly(|ghost, p| ghost.end(threads, p, left));
        }
    }

    fn join_thread(&self, join: Fork) -> Thread {
        self.machine.threads.join(join)
    }

    fn watch_push(&mut self, c: Cont) {
        self.s.local(self.p).watching.insert(c);
    }

    fn watch_remove(&mut self, c: Cont) {
        self.s.local(self.p).watching.remove(c);
    }

    fn watch_take(&mut self) -> ContSet {
        std::mem::take(&mut self.s.local(self.p).watching)
    }

    fn empty_list(&self) -> ContSet {
        ContSet::default()
    }

    fn watch_add(&mut self, list: ContSet) {
        self.s.local(self.p).watching.add_multiple(list);
    }

    fn watch_state(&self) -> Watch {
        self.local().watch
    }

    fn watch_go(&mut self, to: Watch) {
        self.s.local(self.p).watch = to;
    }

    fn joins_by_counter(&self) -> bool {
        self.machine.joins == Joins::FetchAdd
    }

    fn decrement(&mut self, join: Fork) -> bool {
        let bits = 2 * join.0;
        self.s.memory.counted += 1 << bits;
        self.s.memory.counted >> bits & 0b11 == 2
    }

    fn leave(&mut self, c: Cont) {
        let threads = &self.machine.threads;
        self.abstractly(|ghost, p| ghost.leave(threads, p, c));
    }

    fn take_over(&mut self, join: Fork) {
        let threads = &self.machine.threads;
        self.abstractly(|ghost, p| ghost.take_over(threads, p, join));
    }

    /// Checks that this is the first time, that the predecessors have ended, and that what they stored is visible.
    fn enter(&mut self, t: Thread) -> Result<(), Violation> {
        let Machine { threads, .. } = self.machine;
        self.abstractly(|ghost, p| ghost.start(threads, p, t));
        if self.s.has_started(t) {
            return Err(self.machine.blame(t, Violation::RunsTwice));
        }
        self.s.memory.started |= 1 << t.0;
        let Some(f) = threads.creator(t) else { return Ok(()) };
        let mut predecessors = vec![threads.forker(f)];
        if threads.is_join(t) {
            predecessors.extend([threads.left(f), threads.right(f)].map(|branch| threads.last(branch)));
        }
        for before in predecessors {
            if !self.s.has_ended(before) {
                return Err(self.machine.blame(t, Violation::RunsTooEarly));
            }
            if self.machine.application && !self.s.sees_application(self.p, before) {
                let names = [t, before].map(|t| threads.name(t).to_owned());
                return Err(Violation::Unseen { reader: names[0].clone(), writer: names[1].clone() });
            }
        }
        Ok(())
    }

    /// The end of everything: no thread is left (RW Theorem 5.1).
    fn exit(&mut self) {
        self.s.memory.exited = true;
        let threads = &self.machine.threads;
        self.abstractly(|ghost, _| ghost.exit(threads));
        if let Some(t) = self.machine.threads.all().find(|&t| !self.s.has_ended(t)) {
            let early = self.machine.blame(t, Violation::ExitsEarly);
            self.fault = self.fault.take().or(Some(early).filter(|fault| self.machine.asks(fault)));
        }
    }

    fn no_case(&self, line: u16) -> Violation {
        Violation::NoMatch { line }
    }

    fn say(&mut self, line: u16, text: impl FnOnce(&Self) -> String) {
        if !self.log.is_on() {
            return;
        }
        let mut text = text(self);
        if let Some(t) = self.ended.filter(|_| text.starts_with("ends")) {
            text = format!("{} {text}", self.machine.threads.name(t));
        }
        self.log.step(self.p, line, || text);
    }

    fn name(&self, t: Thread) -> String {
        self.machine.threads.name(t).to_owned()
    }

    fn show(&self, status: Status) -> String {
        self.machine.show(status)
    }
}
