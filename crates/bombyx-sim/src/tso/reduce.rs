//! Partial order: where a processor has a move whose outcome nobody can change any more, and which nobody can tell from its
//! doing, this move is made at once and no other move of the state is tried.
//!
//! Such a move is an ample set of one (Clarke, Grumberg & Peled, *Model Checking*, ch. 10):
//!
//! - it commutes with every move that can come before it, because nothing that can come before it stores what it loads, or
//!   loads what it stores; each case below says why;
//! - it is the only step of its processor, and stays possible until it is made;
//! - what is asked about threads cannot be missed: a thread that is lost stays lost, and whether a body is entered twice or too
//!   early is seen by the step that enters it, which sees it all the better the earlier it comes;
//! - no cycle consists of such moves alone: each is a line of a loop whose other lines are not, or a flush.
//!
//! The cases rest on facts that are read off the state, and on two of the program text: a processor alone stores its round and
//! only ever a greater one, and `communicate` serves a query of its own newest round alone. So only the protocol proper is
//! reduced, no mutation.

use super::machine::{Choice, Move};
use super::state::{Pc, Processor, State, Store, Watch};

/// The one move of `p` that may be made at once, if there is one.
pub(super) fn eager(s: &State, p: Processor) -> Option<Move> {
    let local = &s.locals[usize::from(p)];
    // Line 70: nobody else loads this cell, and nobody can store it as long as no query of this processor can be served.
    // Queries that it sent since lie behind this store.
    if let Some(Store::Received { to, thread: None }) = local.buffer.entries().first()
        && *to == p
        && is_quiet(s, p, false)
    {
        return Some(Move::Flush(p));
    }
    let next = Some(Move::Step(p, Choice::Next));
    match (local.watch, local.pc) {
        // Line 78: rounds increase, so that the answer "the attempt is over" is final.
        (Watch::Idle, Pc::Await { victim, round }) if s.memory.round[victim as usize] != round => next,
        // Line 84: what the cell holds is final if nobody can store it.
        (Watch::Idle, Pc::Receive { .. }) if is_quiet(s, p, true) => next,
        _ => None,
    }
}

/// Whether no store to the reception cell of `p` by another processor is buffered, about to be made, or can come of a query
/// that is in memory or, if `buffered`, on its way there.
fn is_quiet(s: &State, p: Processor, buffered: bool) -> bool {
    let to_p = |store: &Store| matches!(store, Store::Received { to, .. } if *to == p);
    let others = (0..s.processors).filter(|&k| k != p);
    let mut fresh = others.map(|k| {
        let newest = s.round(k, k);
        let local = &s.locals[usize::from(k)];
        let query = s.memory.in_query[usize::from(k)];
        let asked =
            |store: &Store| matches!(store, Store::Query { to, query } if *to == k && query.round >= newest);
        let sending = matches!(local.pc, Pc::HandOut { to, .. } if to == u32::from(p));
        sending
            || local.buffer.entries().iter().any(to_p)
            || query.id == u32::from(p) && query.round >= newest
            || buffered && s.locals[usize::from(p)].buffer.entries().iter().any(asked)
    });
    !fresh.any(|fresh| fresh)
}
