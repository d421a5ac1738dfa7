//! RW Figure 6 as steps: `acquire`, `block` and `communicate`. Each step is one access to the rounds, query cells or
//! reception cells, with the private work next to it.

use super::Violation;
use super::machine::{Choice, Machine};
use super::mutation::Mutation;
use super::state::{After, Pc, Processor, Query, State, Store};
use super::trace::Log;
use super::tree::{Cont, Side, Thread};

impl Machine {
    /// Lines 68 to 90 and, for `block`, 105 to 111.
    pub(super) fn acquire(
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
                log.step(p, 73, || format!("chooses victim {victim}, reads round[{victim}]: {round}"));
                Pc::TestQuery { victim, round }
            }
            Pc::TestQuery { victim, round } => {
                let query = s.query(p, victim);
                let accepts = query.round < round;
                log.step(p, 75, || {
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
                log.step(p, 78, || {
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
                log.step(p, 80, || {
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
                log.step(p, 109, || {
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
                    log.step(p, 84, || format!("reads received[{p}]: NULL"));
                    block(After::Choose)
                }
                Some(t) => {
                    let name = self.threads.name(t);
                    log.step(p, 84, || format!("reads received[{p}]: takes {name}, watches its join"));
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
    pub(super) fn communicate(
        &self,
        s: &mut State,
        p: Processor,
        running: Option<Thread>,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let query = s.query(p, p);
        if query.round != s.round(p, p) && !self.is(Mutation::NoRoundCheck) {
            log.step(p, 94, || format!("polls, reads in_query[{p}]: {query}, not of this round"));
            return self.resume(s, p, running, log);
        }
        let top = s.locals[usize::from(p)].deque.threads().first().copied();
        let open = |t: &Thread| match self.threads.cont(*t) {
            Some(Cont { fork, side: Side::Right }) => !s.is_single(fork),
            _ => false,
        };
        let Some(thread) = top.filter(|t| open(t) || self.is(Mutation::AnyTop)) else {
            log.step(p, 94, || format!("polls, reads in_query[{p}]: {query}, has nothing to give"));
            s.local(p).pc = Pc::NextRound { running, late: None };
            return Ok(());
        };
        let name = self.threads.name(thread);
        log.step(p, 94, || format!("polls, reads in_query[{p}]: {query}, gives {name}"));
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
    pub(super) fn answer(&self, s: &mut State, p: Processor, log: &mut Log<'_>) -> Result<(), Violation> {
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
}

/// The line that `block` returns to.
fn unblocked(after: After) -> Pc {
    match after {
        After::Await { victim, round } => Pc::Await { victim, round },
        After::Choose => Pc::Choose,
    }
}
