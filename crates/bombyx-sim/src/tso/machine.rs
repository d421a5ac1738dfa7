//! The protocol of RW §4 as a step machine: which moves a state allows, and what each of them does.
//!
//! A move is a flush of one processor's oldest store, or a step of one processor's program. A step makes one access
//! to shared memory, together with the private work next to it; stores that follow it directly are taken along
//! while the buffer has room, unless [`Machine::merge_stores`] is off. Line numbers are those of RW's figures 3 to 7.

use super::Violation;
use super::mutation::Mutation;
use super::state::{After, Pc, Processor, Query, State, Status, Store, Watch};
use super::trace::Log;
use super::tree::{Cont, ContSet, Fork, Side, Thread, Threads};

/// What a processor does next where its program leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    /// The program leaves no choice.
    Next,
    /// Line 72: the random victim.
    Victim(Processor),
    /// The body calls `communicate`.
    Communicate,
    /// The body or a waiting loop calls `watch`, which looks at this continuation.
    Watch(Cont),
    /// The body ends.
    Finish,
}

/// One transition of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Move {
    Flush(Processor),
    Step(Processor, Choice),
}

/// The protocol, its computation and the shape of the machine that it runs on.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) threads: Threads,
    pub(super) processors: usize,
    pub(super) capacity: usize,
    pub(super) mutation: Option<Mutation>,
    pub(super) merge_stores: bool,
}

impl Machine {
    pub(super) fn initial(&self) -> State {
        self.normalised(State::initial(self.processors))
    }

    fn is(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn normalise(&self, s: &mut State) {
        let keep = matches!(self.mutation, Some(Mutation::NoRoundCheck | Mutation::NoClear));
        s.normalise(keep);
    }

    /// The representative of the state's class.
    pub(super) fn normalised(&self, mut s: State) -> State {
        self.normalise(&mut s);
        s
    }

    /// Whether the next step of `p` is a store.
    fn stores_next(&self, s: &State, p: Processor) -> bool {
        let local = &s.locals[usize::from(p)];
        match local.watch {
            Watch::Ack(_) | Watch::InnerAck { .. } => true,
            Watch::AwaitTransfer(_) | Watch::MatchTransfer(_) => false,
            Watch::Idle => matches!(
                local.pc,
                Pc::Clear
                    | Pc::Send { .. }
                    | Pc::Resend { .. }
                    | Pc::BlockQuery { .. }
                    | Pc::BlockRound { .. }
                    | Pc::Accept
                    | Pc::HandOut { .. }
                    | Pc::NextRound { .. }
                    | Pc::LateAck { .. }
                    | Pc::WriteReady { .. }
                    | Pc::Transfer { .. }
            ),
        }
    }

    fn has_room(&self, s: &State, p: Processor) -> bool {
        s.locals[usize::from(p)].buffer.len() < self.capacity
    }

    /// Every move that `s` allows. A state without moves has exited.
    pub(super) fn moves(&self, s: &State, out: &mut Vec<Move>) {
        out.clear();
        if s.memory.exited {
            return;
        }
        for p in 0..s.processors {
            let local = &s.locals[usize::from(p)];
            if local.buffer.len() > 0 {
                out.push(Move::Flush(p));
            }
            if self.stores_next(s, p) && !self.has_room(s, p) {
                continue;
            }
            let watching = if self.is(Mutation::NoWatch) { ContSet::default() } else { local.watching };
            let watches = || watching.iter().map(move |c| Move::Step(p, Choice::Watch(c)));
            let waiting_watches = || watches().filter(|_| !self.is(Mutation::NoWatchInWait));
            match (local.watch, local.pc) {
                (Watch::AwaitTransfer(_), _) | (Watch::Idle, Pc::AwaitReply { .. }) => {
                    out.push(Move::Step(p, Choice::Next));
                    out.extend(waiting_watches());
                }
                (Watch::Idle, Pc::Choose) => {
                    let victims = (0..s.processors).filter(|&j| j != p);
                    out.extend(victims.map(|j| Move::Step(p, Choice::Victim(j))));
                }
                (Watch::Idle, Pc::Between) => {
                    out.push(Move::Step(p, Choice::Communicate));
                    out.push(Move::Step(p, Choice::Next));
                }
                (Watch::Idle, Pc::Body { .. }) => {
                    out.push(Move::Step(p, Choice::Communicate));
                    out.extend(watches());
                    out.push(Move::Step(p, Choice::Finish));
                }
                _ => out.push(Move::Step(p, Choice::Next)),
            }
        }
    }

    /// Executes `m` and leaves `s` normalised.
    pub(super) fn apply(&self, s: &mut State, m: Move) -> Result<(), Violation> {
        self.replay(s, m, &mut Log::off())?;
        self.normalise(s);
        Ok(())
    }

    /// Executes `m` and tells `log` about it. The state keeps its round numbers as they are, so that a reader of the
    /// log can follow them; this is for short runs only.
    pub(super) fn replay(&self, s: &mut State, m: Move, log: &mut Log<'_>) -> Result<(), Violation> {
        match m {
            Move::Flush(p) => {
                let store = s.flush(p);
                log.flush(self, s, p, store);
            }
            Move::Step(p, choice) => {
                self.step(s, p, choice, log)?;
                while self.merge_stores && self.stores_next(s, p) && self.has_room(s, p) {
                    self.step(s, p, Choice::Next, log)?;
                }
            }
        }
        Ok(())
    }

    fn step(&self, s: &mut State, p: Processor, choice: Choice, log: &mut Log<'_>) -> Result<(), Violation> {
        let local = &s.locals[usize::from(p)];
        match (local.watch, choice) {
            (watch, Choice::Watch(c)) => self.watch_test(s, p, watch, c, log),
            (Watch::Idle, _) => match local.pc {
                Pc::Body { thread } if choice == Choice::Finish => self.finish(s, p, thread, log),
                Pc::Body { thread } => self.communicate(s, p, Some(thread), log),
                Pc::Between if choice == Choice::Communicate => self.communicate(s, p, None, log),
                Pc::Between => self.next_thread(s, p, log),
                Pc::HandOut { .. } | Pc::NextRound { .. } => self.answer(s, p, log),
                pc => match s.locals[usize::from(p)].resolving() {
                    Some(c) => self.resolve_join(s, p, pc, c, log),
                    None => self.acquire(s, p, pc, choice, log),
                },
            },
            (watch, _) => self.watch(s, p, watch, log),
        }
    }

    /// Lines 68 to 90 and, for `block`, 105 to 111.
    fn acquire(
        &self,
        s: &mut State,
        p: Processor,
        pc: Pc,
        choice: Choice,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let block = |after: After| {
            if !self.is(Mutation::NoSelfBlock) {
                return Pc::Block { after };
            }
            unblocked(after)
        };
        let next = match pc {
            Pc::Clear => {
                self.store(s, p, 70, Store::Received { to: p, thread: None }, log);
                Pc::Choose
            }
            Pc::Choose => {
                let Choice::Victim(victim) = choice else { unreachable!("line 72 needs a victim") };
                let round = s.round(p, victim);
                log.load(p, 73, || format!("chooses victim {victim}, reads round[{victim}]: {round}"));
                Pc::TestQuery { victim, round }
            }
            Pc::TestQuery { victim, round } => {
                let query = s.query(p, victim);
                let accepts = query.round < round;
                log.load(p, 75, || {
                    let verdict = if accepts { "accepts queries" } else { "accepts no query" };
                    format!("reads in_query[{victim}]: {query}, {victim} {verdict}")
                });
                if accepts || self.is(Mutation::NoAcceptTest) {
                    Pc::Send { victim, round }
                } else {
                    block(After::Choose)
                }
            }
            Pc::Send { victim, round } => {
                self.store(s, p, 77, Store::Query { to: victim, round }, log);
                Pc::Await { victim, round }
            }
            Pc::Await { victim, round } => {
                let now = s.round(p, victim);
                let same = now == round;
                log.load(p, 78, || {
                    let verdict = if same { "no answer yet" } else { "the attempt is over" };
                    format!("reads round[{victim}]: {now}, {verdict}")
                });
                match same {
                    false => Pc::Receive,
                    true if self.is(Mutation::NoResend) => block(After::Await { victim, round }),
                    true => Pc::TestOverwritten { victim, round },
                }
            }
            Pc::TestOverwritten { victim, round } => {
                let query = s.query(p, victim);
                let lost = query.round < round;
                log.load(p, 80, || {
                    let verdict = if lost { "older than its own" } else { "as recent as its own" };
                    format!("reads in_query[{victim}]: {query}, {verdict}")
                });
                if lost { Pc::Resend { victim, round } } else { block(After::Await { victim, round }) }
            }
            Pc::Resend { victim, round } => {
                self.store(s, p, 81, Store::Query { to: victim, round }, log);
                block(After::Await { victim, round })
            }
            Pc::Block { after } => {
                let own = Query { id: p, round: s.round(p, p) };
                let query = s.query(p, p);
                let blocked = query == own;
                log.load(p, 109, || {
                    let verdict = if blocked { "blocked by itself" } else { "not blocked" };
                    format!("reads in_query[{p}]: {query}, {verdict}")
                });
                match blocked {
                    true => unblocked(after),
                    false if self.is(Mutation::BlockRoundFirst) => Pc::BlockRound { after },
                    false => Pc::BlockQuery { after },
                }
            }
            Pc::BlockQuery { after } => {
                let first = self.is(Mutation::BlockRoundFirst);
                let round = s.round(p, p) + u8::from(!first);
                self.store(s, p, 110, Store::Query { to: p, round }, log);
                if first { unblocked(after) } else { Pc::BlockRound { after } }
            }
            Pc::BlockRound { after } => {
                self.next_round(s, p, 111, log);
                let first = self.is(Mutation::BlockRoundFirst);
                if first { Pc::BlockQuery { after } } else { unblocked(after) }
            }
            Pc::Receive => match s.received(p) {
                None => {
                    log.load(p, 84, || format!("reads received[{p}]: NULL"));
                    block(After::Choose)
                }
                Some(t) => {
                    let name = self.threads.name(t);
                    log.load(p, 84, || format!("reads received[{p}]: takes {name}, watches its join"));
                    let local = s.local(p);
                    if let Some(c) = self.threads.cont(t) {
                        local.watching.insert(c);
                    }
                    local.deque.push_bottom(t);
                    Pc::Accept
                }
            },
            Pc::Accept => {
                self.next_round(s, p, 88, log);
                return self.main_loop(s, p, log);
            }
            _ => unreachable!("not a line of acquire"),
        };
        s.local(p).pc = next;
        Ok(())
    }

    /// Lines 91 to 100: the load of the own query cell and what follows from it.
    fn communicate(
        &self,
        s: &mut State,
        p: Processor,
        running: Option<Thread>,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let query = s.query(p, p);
        if query.round != s.round(p, p) && !self.is(Mutation::NoRoundCheck) {
            log.load(p, 94, || format!("polls, reads in_query[{p}]: {query}, not of this round"));
            return self.resume(s, p, running, log);
        }
        let top = s.locals[usize::from(p)].deque.threads().first().copied();
        let open = |t: &Thread| match self.threads.cont(*t) {
            Some(Cont { fork, side: Side::Right }) => !s.is_single(fork),
            _ => false,
        };
        let Some(thread) = top.filter(|t| open(t) || self.is(Mutation::AnyTop)) else {
            log.load(p, 94, || {
                format!("polls, reads in_query[{p}]: {query}, has nothing to give")
            });
            s.local(p).pc = Pc::NextRound { running, late: None };
            return Ok(());
        };
        let name = self.threads.name(thread);
        log.load(p, 94, || format!("polls, reads in_query[{p}]: {query}, gives {name}"));
        let local = s.local(p);
        local.deque.pop_top();
        if let Some(Cont { fork, .. }) = self.threads.cont(thread) {
            local.watching.insert(Cont { fork, side: Side::Left });
        }
        local.pc = match self.is(Mutation::RoundBeforeHandOut) {
            false => Pc::HandOut { running, to: query.id, thread },
            true => Pc::NextRound { running, late: Some((query.id, thread)) },
        };
        Ok(())
    }

    /// Lines 103 and 104.
    fn answer(&self, s: &mut State, p: Processor, log: &mut Log<'_>) -> Result<(), Violation> {
        match s.locals[usize::from(p)].pc {
            Pc::HandOut { running, to, thread } => {
                self.store(s, p, 103, Store::Received { to, thread: Some(thread) }, log);
                if self.is(Mutation::RoundBeforeHandOut) {
                    return self.resume(s, p, running, log);
                }
                s.local(p).pc = Pc::NextRound { running, late: None };
            }
            Pc::NextRound { running, late } => {
                self.next_round(s, p, 104, log);
                let Some((to, thread)) = late else { return self.resume(s, p, running, log) };
                s.local(p).pc = Pc::HandOut { running, to, thread };
            }
            _ => unreachable!("not a line of communicate"),
        }
        Ok(())
    }

    /// Returns from `communicate`.
    fn resume(
        &self,
        s: &mut State,
        p: Processor,
        running: Option<Thread>,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let Some(thread) = running else { return self.next_thread(s, p, log) };
        s.local(p).pc = Pc::Body { thread };
        Ok(())
    }

    /// The end of a body: `fork` (lines 45 to 53) if it ends in one, then `handle_cont` (54 to 67) and the main
    /// loop. All of it is private.
    fn finish(&self, s: &mut State, p: Processor, t: Thread, log: &mut Log<'_>) -> Result<(), Violation> {
        let name = self.threads.name(t);
        if let Some(fork) = self.threads.body(t) {
            log.local(p, 45, || format!("{name} forks"));
            let local = s.local(p);
            local.deque.push_bottom(self.threads.right(fork));
            local.deque.push_bottom(self.threads.left(fork));
            return self.main_loop(s, p, log);
        }
        let Some(cont) = self.threads.cont(t) else {
            log.local(p, 56, || format!("{name} ends, exit"));
            s.local(p).pc = Pc::Clear;
            s.memory.exited = true;
            let missing = self.threads.all().find(|&t| !s.has_ended(t));
            return missing.map_or(Ok(()), |t| Err(self.blame(t, Violation::ExitTooEarly)));
        };
        if s.is_single(cont.fork) {
            log.local(p, 58, || format!("{name} ends, its join has no other branch"));
            s.local(p).deque.push_bottom(self.threads.join(cont.fork));
            return self.main_loop(s, p, log);
        }
        let local_join =
            cont.side == Side::Left && !s.locals[usize::from(p)].deque.threads().is_empty();
        if local_join && !self.is(Mutation::NoLocalJoin) {
            log.local(p, 65, || format!("{name} ends, the right branch is still here and becomes SINGLE"));
            s.memory.single |= 1 << cont.fork.0;
            return self.main_loop(s, p, log);
        }
        log.local(p, 67, || format!("{name} ends, resolves {}", self.threads.cont_name(cont)));
        s.local(p).pc = Pc::TestAck { cont };
        Ok(())
    }

    /// Lines 113 to 132.
    fn resolve_join(
        &self,
        s: &mut State,
        p: Processor,
        pc: Pc,
        c: Cont,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let join = || self.threads.name(self.threads.join(c.fork));
        let other = c.other();
        let next = match pc {
            Pc::TestAck { cont } => {
                let value = s.status(p, c);
                log.load(p, 117, || format!("reads its own status of {}: {}", join(), self.show(value)));
                if value == Status::Ack {
                    return self.push_join(s, p, c.fork, log);
                }
                match self.is(Mutation::AckBeforeResponsibility) {
                    false => Pc::WriteReady { cont },
                    true => Pc::LateTest { cont },
                }
            }
            Pc::LateTest { cont } => {
                let value = s.status(p, other);
                log.load(p, 139, || format!("reads the other status of {}: {}", join(), self.show(value)));
                if value == Status::Ready { Pc::LateAck { cont } } else { Pc::WriteReady { cont } }
            }
            Pc::LateAck { cont } => {
                self.store(s, p, 141, Store::Status { cell: c, value: Status::Ack }, log);
                Pc::WriteReady { cont }
            }
            Pc::WriteReady { cont } => {
                self.store(s, p, 120, Store::Status { cell: c, value: Status::Ready }, log);
                if !self.is(Mutation::NoRemoval) {
                    s.local(p).watching.remove(c);
                }
                Pc::AwaitReply { cont }
            }
            Pc::AwaitReply { cont } => {
                let value = s.status(p, other);
                log.load(p, 122, || format!("reads the other status of {}: {}", join(), self.show(value)));
                if value == Status::Work { pc } else { Pc::MatchReply { cont } }
            }
            Pc::MatchReply { cont } => {
                let value = s.status(p, other);
                let left = c.side == Side::Left;
                let took = match value {
                    Status::Ack => false,
                    Status::Ready if self.is(Mutation::TieToBoth) => true,
                    Status::Ready => left && !self.is(Mutation::TieToNone),
                    Status::Work | Status::Transfer(_) => return Err(Violation::NoMatch { line: 124 }),
                };
                log.load(p, 124, || {
                    let verdict = if took { "takes the join" } else { "leaves the join to the other side" };
                    format!("reads the other status of {}: {}, {verdict}", join(), self.show(value))
                });
                if took {
                    return self.push_join(s, p, c.fork, log);
                }
                if value == Status::Ready || !left {
                    return self.main_loop(s, p, log);
                }
                if self.is(Mutation::SilentTransfer) {
                    s.local(p).watching = ContSet::default();
                    return self.main_loop(s, p, log);
                }
                Pc::Transfer { cont }
            }
            Pc::Transfer { .. } => {
                let all = std::mem::take(&mut s.local(p).watching);
                let sent = if self.is(Mutation::NoTransfer) { ContSet::default() } else { all };
                self.store(s, p, 128, Store::Status { cell: c, value: Status::Transfer(sent) }, log);
                return self.main_loop(s, p, log);
            }
            _ => unreachable!("not a line of resolve_join"),
        };
        s.local(p).pc = next;
        Ok(())
    }

    /// Lines 134 to 139 for one continuation: called from a body, from line 123 or from line 147.
    fn watch_test(
        &self,
        s: &mut State,
        p: Processor,
        caller: Watch,
        c: Cont,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let value = s.status(p, c.other());
        let join = self.threads.name(self.threads.join(c.fork));
        log.load(p, 139, || format!("watches {join}, reads the other status: {}", self.show(value)));
        let early = value == Status::Work && self.is(Mutation::EarlyAck);
        if value != Status::Ready && !early {
            return Ok(());
        }
        s.local(p).watch = match caller {
            Watch::AwaitTransfer(outer) => Watch::InnerAck { outer, inner: c },
            _ => Watch::Ack(c),
        };
        Ok(())
    }

    /// Lines 141 to 150.
    fn watch(&self, s: &mut State, p: Processor, watch: Watch, log: &mut Log<'_>) -> Result<(), Violation> {
        let join = |c: Cont| self.threads.name(self.threads.join(c.fork));
        let next = match watch {
            Watch::Ack(c) => {
                self.acknowledge(s, p, c, log);
                if c.side == Side::Left { Watch::Idle } else { Watch::AwaitTransfer(c) }
            }
            Watch::InnerAck { outer, inner } => {
                self.acknowledge(s, p, inner, log);
                if inner.side == Side::Right {
                    return Err(Violation::TwoRightSides { processor: usize::from(p) });
                }
                Watch::AwaitTransfer(outer)
            }
            Watch::AwaitTransfer(c) => {
                let value = s.status(p, c.other());
                log.load(p, 146, || format!("reads the left status of {}: {}", join(c), self.show(value)));
                if value == Status::Ready { watch } else { Watch::MatchTransfer(c) }
            }
            Watch::MatchTransfer(c) => {
                let value = s.status(p, c.other());
                log.load(p, 148, || format!("reads the left status of {}: {}", join(c), self.show(value)));
                let Status::Transfer(list) = value else { return Err(Violation::NoMatch { line: 148 }) };
                s.local(p).watching.add_multiple(list);
                Watch::Idle
            }
            Watch::Idle => unreachable!("watch is not running"),
        };
        s.local(p).watch = next;
        Ok(())
    }

    /// Lines 141 and 142.
    fn acknowledge(&self, s: &mut State, p: Processor, c: Cont, log: &mut Log<'_>) {
        self.store(s, p, 141, Store::Status { cell: c, value: Status::Ack }, log);
        s.local(p).watching.remove(c);
    }

    fn push_join(&self, s: &mut State, p: Processor, fork: Fork, log: &mut Log<'_>) -> Result<(), Violation> {
        s.local(p).deque.push_bottom(self.threads.join(fork));
        self.main_loop(s, p, log)
    }

    /// Lines 38 to 43, entered with the previous thread done.
    fn main_loop(&self, s: &mut State, p: Processor, log: &mut Log<'_>) -> Result<(), Violation> {
        if self.is(Mutation::PollBetweenThreads) {
            s.local(p).pc = Pc::Between;
            return Ok(());
        }
        self.next_thread(s, p, log)
    }

    /// Lines 39 to 43: take the bottom thread and enter its body, or `acquire` one.
    fn next_thread(&self, s: &mut State, p: Processor, log: &mut Log<'_>) -> Result<(), Violation> {
        let Some(t) = s.local(p).deque.pop_bottom() else {
            s.local(p).pc = if self.is(Mutation::NoClear) { Pc::Choose } else { Pc::Clear };
            return Ok(());
        };
        log.local(p, 43, || format!("runs {}", self.threads.name(t)));
        s.local(p).pc = Pc::Body { thread: t };
        if s.has_started(t) {
            return Err(self.blame(t, Violation::RunsTwice));
        }
        s.memory.started |= 1 << t.0;
        let ready = self.threads.creator(t).is_none_or(|f| {
            let branches = [self.threads.left(f), self.threads.right(f)];
            let branches_ended = branches.iter().all(|&b| s.has_ended(self.threads.last(b)));
            s.has_ended(self.threads.forker(f)) && (!self.threads.is_join(t) || branches_ended)
        });
        if ready { Ok(()) } else { Err(self.blame(t, Violation::RunsTooEarly)) }
    }

    fn next_round(&self, s: &mut State, p: Processor, line: u16, log: &mut Log<'_>) {
        let round = s.round(p, p) + 1;
        self.store(s, p, line, Store::Round(round), log);
    }

    fn store(&self, s: &mut State, p: Processor, line: u16, store: Store, log: &mut Log<'_>) {
        s.local(p).buffer.push(store);
        log.store(self, p, line, store);
    }

    pub(super) fn blame(&self, t: Thread, violation: fn(String) -> Violation) -> Violation {
        violation(self.threads.name(t).to_owned())
    }

    pub(super) fn show(&self, status: Status) -> String {
        match status {
            Status::Work => "WORK".to_owned(),
            Status::Ack => "ACK".to_owned(),
            Status::Ready => "READY".to_owned(),
            Status::Transfer(list) => {
                let conts: Vec<_> = list.iter().map(|c| self.threads.cont_name(c)).collect();
                format!("TRANSFER [{}]", conts.join(", "))
            }
        }
    }
}

/// The line that `block` returns to.
fn unblocked(after: After) -> Pc {
    match after {
        After::Await { victim, round } => Pc::Await { victim, round },
        After::Choose => Pc::Choose,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tso::Config;
    use crate::tso::walk::SplitMix64;

    /// The normalised run and the plain one must allow the same moves and stay in the same class, whatever happens:
    /// this is what makes normalisation sound.
    fn run_side_by_side(config: &Config, seed: u64) {
        let machine = config.machine();
        let mut random = SplitMix64::new(seed);
        let mut plain = State::initial(config.processors);
        let mut normal = machine.initial();
        let (mut moves, mut plain_moves) = (Vec::new(), Vec::new());
        for step in 0..150 {
            machine.moves(&normal, &mut moves);
            machine.moves(&plain, &mut plain_moves);
            assert_eq!(moves, plain_moves, "{config:?}, seed {seed}, step {step}");
            if moves.is_empty() {
                return;
            }
            let m = moves[random.below(moves.len())];
            let outcome = machine.apply(&mut normal, m);
            assert_eq!(machine.replay(&mut plain, m, &mut Log::off()), outcome);
            if outcome.is_err() {
                return;
            }
            assert_eq!(machine.normalised(plain), normal, "{config:?}, seed {seed}, step {step}: {m:?}");
        }
    }

    #[test]
    fn normalisation_keeps_every_distinction_that_matters() {
        let config = Config::new(3, "((. .) (. .))".parse().unwrap()).with_capacity(4);
        let mutated = Mutation::ALL.iter().map(|&m| config.clone().with_mutation(m));
        for config in mutated.chain([config.clone()]) {
            (0..60).for_each(|seed| run_side_by_side(&config, seed));
        }
    }
}
