//! RW Figure 7: `resolve_join` and `watch`. Each step is one access to a status cell of a join, with the private work next
//! to it.

use super::main_loop::{main_loop, push_join};
use super::{Cont, Mutation, Pc, Processor, Side, Status, Watch};

/// Lines 113 to 132, one step of resolving `c`.
///
/// # Errors
/// If a `match` has no case for what it finds, or if [`Processor::enter`] refuses the next thread.
#[inline(always)]
pub fn resolve_join<P: Processor>(p: &mut P, c: Cont<P::Join>) -> Result<(), P::Fault> {
    let other = c.other();
    let next = match p.pc() {
        Pc::TestAck { cont } => {
            let value = p.load_status(c);
            p.say(117, |p| {
                format!("reads its own status of {}: {}", p.name(p.join_thread(c.join)), p.show(value))
            });
            if matches!(value, Status::Ack) {
                p.take_over(c.join);
                return push_join(p, c.join);
            }
            if p.is(Mutation::AckBeforeResponsibility) {
                Pc::LateTest { cont }
            } else {
                Pc::WriteReady { cont }
            }
        }
        Pc::LateTest { cont } => {
            let value = look(p, 139, other, "");
            if matches!(value, Status::Ready) { Pc::LateAck { cont } } else { Pc::WriteReady { cont } }
        }
        Pc::LateAck { cont } => {
            p.store_status(c, Status::Ack);
            Pc::WriteReady { cont }
        }
        Pc::WriteReady { cont } => {
            let cell = if p.is(Mutation::WrongCell) { other } else { c };
            p.store_status(cell, Status::Ready);
            if p.is(Mutation::ReadyTwice) {
                p.store_status(cell, Status::Ready);
            }
            if p.is(Mutation::ResetsOther) {
                p.store_status(other, Status::Work);
            }
            let kept = p.is(Mutation::NoRemoval) || p.is(Mutation::TransfersItself) && c.side == Side::Left;
            if !kept {
                p.watch_remove(c);
            }
            Pc::AwaitReply { cont }
        }
        Pc::AwaitReply { cont } => {
            let value = look(p, 122, other, "");
            if matches!(value, Status::Work) { Pc::AwaitReply { cont } } else { Pc::MatchReply { cont } }
        }
        Pc::MatchReply { cont } => {
            let value = p.load_status(other);
            let left = c.side == Side::Left;
            let takes = match value {
                Status::Ack => Some(p.is(Mutation::TakesAcknowledged)),
                Status::Ready if p.is(Mutation::TieToBoth) => Some(true),
                Status::Ready
                    if p.is(Mutation::RightTakesTie) && left || p.is(Mutation::LeftLeavesTie) && !left =>
                {
                    p.go(Pc::AwaitReply { cont });
                    return Ok(());
                }
                Status::Ready if p.is(Mutation::RightTakesTie) => Some(true),
                Status::Ready if p.is(Mutation::LeftLeavesTie) => Some(false),
                Status::Ready => Some(left && !p.is(Mutation::TieToNone)),
                Status::Work | Status::Transfer(_) => None,
            };
            p.say(124, |p| {
                let verdict = match takes {
                    Some(true) => "takes the join",
                    Some(false) => "leaves the join to the other side",
                    None => "has no case for it",
                };
                let join = p.name(p.join_thread(c.join));
                format!("reads the other status of {join}: {}, {verdict}", p.show(value))
            });
            let Some(takes) = takes else { return Err(p.no_case(124)) };
            if takes {
                p.take_over(c.join);
                return push_join(p, c.join);
            }
            if matches!(value, Status::Ready) || !left {
                p.leave(c);
                if p.is(Mutation::WaitsAgain) {
                    p.go(Pc::AwaitReply { cont });
                    return Ok(());
                }
                return main_loop(p);
            }
            if p.is(Mutation::SilentTransfer) {
                p.watch_take();
                p.leave(c);
                return main_loop(p);
            }
            Pc::Transfer { cont }
        }
        Pc::Transfer { .. } => {
            if p.is(Mutation::TransfersMore) {
                p.watch_push(c);
            }
            let all = p.watch_take();
            let sent = if p.is(Mutation::NoTransfer) { p.empty_list() } else { all };
            if p.is(Mutation::KeepsTransferred) {
                p.watch_add(all);
            }
            p.store_status(c, Status::Transfer(sent));
            p.leave(c);
            return main_loop(p);
        }
        _ => unreachable!("not a line of resolve_join"),
    };
    p.go(next);
    Ok(())
}

/// Loads a status cell and reports it.
#[inline(always)]
fn look<P: Processor>(p: &mut P, line: u16, of: Cont<P::Join>, whose: &str) -> Status<P::List> {
    let value = p.load_status(of);
    p.say(line, |p| {
        let whose = if whose.is_empty() { "other" } else { whose };
        format!("reads the {whose} status of {}: {}", p.name(p.join_thread(of.join)), p.show(value))
    });
    value
}

/// Lines 134 to 139 for one edge of the watch list: called from a body, from line 123 or from line 147.
///
/// # Errors
/// Never. The type is that of the other steps.
#[inline(always)]
pub fn watch_test<P: Processor>(p: &mut P, c: Cont<P::Join>) -> Result<(), P::Fault> {
    let value = p.load_status(c.other());
    p.say(139, |p| {
        format!("watches {}, reads the other status: {}", p.name(p.join_thread(c.join)), p.show(value))
    });
    let early = matches!(value, Status::Work) && p.is(Mutation::EarlyAck);
    if !matches!(value, Status::Ready) && !early {
        return Ok(());
    }
    let to = match p.watch_state() {
        Watch::AwaitTransfer(outer) => Watch::InnerAck { outer, inner: c },
        _ => Watch::Ack(c),
    };
    p.watch_go(to);
    Ok(())
}

/// Lines 141 to 150, one step.
///
/// # Errors
/// If the `match` on line 148 has no case for what it finds.
#[inline(always)]
pub fn watch<P: Processor>(p: &mut P) -> Result<(), P::Fault> {
    let next = match p.watch_state() {
        Watch::Ack(c) => {
            acknowledge(p, c);
            if c.side == Side::Left { Watch::Idle } else { Watch::AwaitTransfer(c) }
        }
        Watch::InnerAck { outer, inner } => {
            debug_assert!(inner.side == Side::Left, "a state with two right sides was not refused");
            acknowledge(p, inner);
            Watch::AwaitTransfer(outer)
        }
        Watch::AwaitTransfer(c) => {
            let value = look(p, 146, c.other(), "left");
            if matches!(value, Status::Ready) { Watch::AwaitTransfer(c) } else { Watch::MatchTransfer(c) }
        }
        Watch::MatchTransfer(c) => {
            let value = look(p, 148, c.other(), "left");
            let Status::Transfer(list) = value else { return Err(p.no_case(148)) };
            if !p.is(Mutation::DropsTransferred) {
                p.watch_add(list);
            }
            Watch::Idle
        }
        Watch::Idle => unreachable!("watch is not running"),
    };
    p.watch_go(next);
    Ok(())
}

/// Lines 141 and 142.
#[inline(always)]
fn acknowledge<P: Processor>(p: &mut P, c: Cont<P::Join>) {
    let cell = if p.is(Mutation::AckInPlace) { c.other() } else { c };
    p.store_status(cell, Status::Ack);
    if !p.is(Mutation::NoRemovalAfterAck) {
        p.watch_remove(c);
    }
}
