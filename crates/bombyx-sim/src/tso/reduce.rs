//! Partial order reduction. If nobody can change the outcome of a move any more, and nobody can observe when the move is
//! made, the exploration makes this move at once and tries no other move of the state.
//!
//! Such a move is an ample set of one (Clarke, Grumberg & Peled, *Model Checking*, ch. 10):
//!
//! - It commutes with every move that can come before it, because no such move stores what it loads, or loads what it
//!   stores. Each case below says why.
//! - It is the only step of its processor, and stays possible until it is made.
//! - The exploration cannot miss what it is asked about threads. A lost thread stays lost. The step that enters a body sees
//!   whether the body is entered twice or too early, and making that step earlier hides nothing.
//! - No cycle consists of such moves alone. Each is a flush, or a line of a loop that has other lines as well.
//!
//! The cases rest on facts that are visible in the state, and on two facts of the program text: only the processor itself
//! stores its round, and only a greater one; and `communicate` serves only a query of its processor's newest round. A
//! mutation may break these, so only the unmutated protocol is reduced.

use super::machine::{Choice, Move};
use super::state::{Pc, Processor, State, Store, Watch};

/// The one move of `p` that may be made at once, if there is one.
pub(super) fn eager(s: &State, p: Processor) -> Option<Move> {
    let local = &s.locals[usize::from(p)];
    // Line 70: nobody else loads this cell, and nobody can store to it as long as no query of this processor can be served.
    // Later queries of this processor are behind this store in its buffer.
    if let Some(Store::Received { to, thread: None }) = local.buffer.entries().first()
        && *to == p
        && is_quiet(s, p, false)
    {
        return Some(Move::Flush(p));
    }
    let next = Some(Move::Step(p, Choice::Next));
    match (local.watch, local.pc) {
        // Line 78: rounds increase, so the answer "the attempt is over" is final.
        (Watch::Idle, Pc::Await { victim, round }) if s.memory.round[victim as usize] != round => next,
        // Line 84: the content of the cell is final if nobody can store to it.
        (Watch::Idle, Pc::Receive { .. }) if is_quiet(s, p, true) => next,
        _ => None,
    }
}

/// Whether no other processor will store to the reception cell of `p`: no such store is buffered or about to be made, and none
/// can result from a query that is in memory or, if `buffered`, on its way there.
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
