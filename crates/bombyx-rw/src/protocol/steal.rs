//! RW Figure 6: `acquire`, `block` and `communicate`. Each step is one access to the rounds, query cells or reception
//! cells, with the private work next to it.

use super::main_loop::{next_thread, push_join};
use super::{After, Cont, Id, Mutation, Next, Pc, PcOf, Processor, Query, Side, Status};

/// Lines 68 to 90 and, for `block`, 105 to 111, one step. `victim` is the random choice of line 72.
///
/// # Errors
/// If [`Processor::enter`] refuses a thread that was received.
#[inline(always)]
pub fn acquire<P: Processor>(p: &mut P, victim: impl FnOnce(&mut P) -> Id) -> Result<(), P::Fault> {
    let me = p.id();
    let next = match p.pc() {
        Pc::Clear => {
            p.store_received(me, None);
            Pc::Choose
        }
        Pc::Choose => {
            let victim = victim(p);
            let round = p.load_round(victim);
            p.say(73, |_| format!("chooses victim {victim}, reads round[{victim}]: {round}"));
            Pc::TestQuery { victim, round }
        }
        Pc::TestQuery { victim, round } => {
            let query = p.load_query(victim);
            let accepts = query.round < round;
            p.say(75, |_| {
                let verdict = if accepts { "accepts queries" } else { "accepts no query" };
                format!("reads in_query[{victim}]: {query}, {victim} {verdict}")
            });
            if accepts || p.is(Mutation::NoAcceptTest) {
                Pc::Send { victim, round }
            } else {
                block(p, After::Choose)
            }
        }
        Pc::Send { victim, round } => {
            send(p, victim, round);
            if p.is(Mutation::ForgedRound) {
                p.store_round(victim, P::next(round));
            }
            if p.is(Mutation::NoWaiting) { block(p, After::Choose) } else { Pc::Await { victim, round } }
        }
        Pc::Await { victim, round } => {
            let now = p.load_round(victim);
            let same = now == round;
            p.say(78, |_| {
                let verdict = if same { "no answer yet" } else { "the attempt is over" };
                format!("reads round[{victim}]: {now}, {verdict}")
            });
            match same {
                _ if p.is(Mutation::EarlyReceive) => Pc::Receive { victim, round },
                false => Pc::Receive { victim, round },
                true if p.is(Mutation::NoResend) => block(p, After::Await { victim, round }),
                true => Pc::TestOverwritten { victim, round },
            }
        }
        Pc::TestOverwritten { victim, round } => {
            let query = p.load_query(victim);
            let lost = query.round < round;
            p.say(80, |_| {
                let verdict = if lost { "older than its own" } else { "as recent as its own" };
                format!("reads in_query[{victim}]: {query}, {verdict}")
            });
            match lost {
                true => Pc::Resend { victim, round },
                false if query.round > round && p.is(Mutation::EndsOverwritten) => {
                    Pc::Receive { victim, round }
                }
                false => block(p, After::Await { victim, round }),
            }
        }
        Pc::Resend { victim, round } => {
            send(p, victim, round);
            block(p, After::Await { victim, round })
        }
        Pc::Block { after } => {
            let own = Query { id: me, round: p.load_round(me) };
            let query = p.load_query(me);
            let blocked = query == own;
            p.say(109, |_| {
                let verdict = if blocked { "blocked by itself" } else { "not blocked" };
                format!("reads in_query[{me}]: {query}, {verdict}")
            });
            match blocked {
                true => unblocked::<P>(after),
                false if p.is(Mutation::BlockRoundFirst) => Pc::BlockRound { after },
                false => Pc::BlockQuery { after },
            }
        }
        Pc::BlockQuery { after } => {
            let first = p.is(Mutation::BlockRoundFirst);
            let own = p.load_round(me);
            p.store_query(me, Query { id: me, round: if first { own } else { P::next(own) } });
            if first { unblocked::<P>(after) } else { Pc::BlockRound { after } }
        }
        Pc::BlockRound { after } => {
            let own = p.load_round(me);
            p.store_round(me, P::next(own));
            let first = p.is(Mutation::BlockRoundFirst);
            if first { Pc::BlockQuery { after } } else { unblocked::<P>(after) }
        }
        Pc::Receive { victim, .. } => match receive(p, victim) {
            None => {
                p.say(84, |_| format!("reads received[{me}]: NULL"));
                block(p, After::Choose)
            }
            Some(thread) => {
                p.say(84, |p| format!("reads received[{me}]: takes {}, watches its join", p.name(thread)));
                if let Next::Branch(cont) = p.conti(thread)
                    && !p.joins_by_counter()
                    && !p.is(Mutation::NoWatchByThief)
                {
                    if p.is(Mutation::EarlyReady) {
                        p.store_status(cont, Status::Ready);
                    } else {
                        p.watch_push(cont);
                    }
                }
                p.push_bottom(thread);
                if p.is(Mutation::NoAccept) {
                    return super::main_loop::main_loop(p);
                }
                Pc::Accept
            }
        },
        Pc::Accept => {
            next_round(p);
            if p.is(Mutation::ClearsAgain) {
                p.store_received(me, None);
            }
            if p.is(Mutation::ResolvesOther)
                && let Some(thread) = p.peek_bottom()
                && let Next::Branch(cont) = p.conti(thread)
            {
                p.go(Pc::TestAck { cont: cont.other() });
                return Ok(());
            }
            return super::main_loop::main_loop(p);
        }
        Pc::Decrement { cont } => {
            let last = p.decrement(cont.join);
            p.say(67, |p| {
                let verdict = if last { "is last and takes it" } else { "is first and leaves it" };
                format!("counts {} down, {verdict}", p.name(p.join_thread(cont.join)))
            });
            return if last { push_join(p, cont.join) } else { super::main_loop::main_loop(p) };
        }
        _ => unreachable!("not a line of acquire"),
    };
    p.go(next);
    Ok(())
}

/// Line 84.
#[inline(always)]
fn receive<P: Processor>(p: &mut P, victim: Id) -> Option<P::Thread> {
    let me = p.id();
    let own = p.load_received(if p.is(Mutation::WrongReception) { victim } else { me });
    if own.is_none() && p.is(Mutation::SnoopsReception) { p.load_received(victim) } else { own }
}

/// Lines 77 and 81.
#[inline(always)]
fn send<P: Processor>(p: &mut P, victim: Id, round: P::Round) {
    let me = p.id();
    let id = if p.is(Mutation::ForgedQuery) { victim } else { me };
    let round = if p.is(Mutation::FutureQuery) { P::next(round) } else { round };
    p.store_query(victim, Query { id, round });
}

/// Lines 88 and 104.
#[inline(always)]
fn next_round<P: Processor>(p: &mut P) {
    let me = p.id();
    let own = p.load_round(me);
    let round = if p.is(Mutation::RepeatsRound) { own } else { P::next(own) };
    p.store_round(me, round);
}

#[inline(always)]
fn block<P: Processor>(p: &mut P, after: After<P::Round>) -> PcOf<P> {
    if p.is(Mutation::NoSelfBlock) { unblocked::<P>(after) } else { Pc::Block { after } }
}

/// The line that `block` returns to.
#[inline(always)]
fn unblocked<P: Processor>(after: After<P::Round>) -> PcOf<P> {
    match after {
        After::Await { victim, round } => Pc::Await { victim, round },
        After::Choose => Pc::Choose,
    }
}

/// Lines 91 to 102: the load of the own query cell and what follows from it.
///
/// # Errors
/// If [`Processor::enter`] refuses a thread, under one mutation.
#[inline(always)]
pub fn communicate<P: Processor>(p: &mut P, running: Option<P::Thread>) -> Result<(), P::Fault> {
    let me = p.id();
    let query = p.load_query(me);
    let own = p.load_round(me);
    let stale = p.is(Mutation::ServesStale) && query.round > P::FIRST && query.id != me;
    if query.round != own && !p.is(Mutation::NoRoundCheck) && !stale {
        p.say(94, |_| format!("polls, reads in_query[{me}]: {query}, not of this round"));
        return resume(p, running);
    }
    let top = p.peek_top();
    let open = top.filter(|&t| {
        matches!(p.conti(t), Next::Branch(Cont { side: Side::Right, .. })) || p.is(Mutation::AnyTop)
    });
    let Some(thread) = open else {
        p.say(94, |_| format!("polls, reads in_query[{me}]: {query}, has nothing to give"));
        p.go(Pc::NextRound { running, late: None });
        return Ok(());
    };
    p.say(94, |p| format!("polls, reads in_query[{me}]: {query}, gives {}", p.name(thread)));
    if p.is(Mutation::NewestFirst) {
        p.pop_bottom();
    } else if !p.is(Mutation::KeepsGiven) {
        p.pop_top();
    }
    if let Next::Branch(cont) = p.conti(thread)
        && !p.joins_by_counter()
        && !p.is(Mutation::NoWatchByVictim)
    {
        let left = Cont { join: cont.join, side: Side::Left };
        let forked = running.is_some_and(|t| p.conti(t) != Next::Branch(left));
        if forked && p.is(Mutation::AcksGiven) {
            p.store_status(left, Status::Ack);
        } else {
            p.watch_push(left);
        }
    }
    p.go(match p.is(Mutation::RoundBeforeHandOut) {
        false => Pc::HandOut { running, to: query.id, thread },
        true => Pc::NextRound { running, late: Some((query.id, thread)) },
    });
    Ok(())
}

/// Lines 103 and 104.
///
/// # Errors
/// If [`Processor::enter`] refuses a thread, under one mutation.
#[inline(always)]
pub fn answer<P: Processor>(p: &mut P) -> Result<(), P::Fault> {
    match p.pc() {
        Pc::HandOut { running, to, thread } => {
            p.store_received(to, Some(thread));
            if p.is(Mutation::HandsOutTwice) {
                p.store_received(to, Some(thread));
            }
            if p.is(Mutation::RoundBeforeHandOut) {
                return resume(p, running);
            }
            p.go(Pc::NextRound { running, late: None });
            Ok(())
        }
        Pc::NextRound { running, late } => {
            next_round(p);
            let Some((to, thread)) = late else { return resume(p, running) };
            p.go(Pc::HandOut { running, to, thread });
            Ok(())
        }
        _ => unreachable!("not a line of communicate"),
    }
}

/// Returns from `communicate`.
#[inline(always)]
fn resume<P: Processor>(p: &mut P, running: Option<P::Thread>) -> Result<(), P::Fault> {
    let Some(thread) = running else { return next_thread(p) };
    p.go(Pc::Body { thread });
    Ok(())
}
