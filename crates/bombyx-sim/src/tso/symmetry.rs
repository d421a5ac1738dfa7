//! Symmetry: processors are interchangeable. Renaming them turns every run into a run, so for broken states one state
//! of each orbit is enough. [`canonical`] renames processors in the order of what they do, which picks one state of
//! most orbits. A choice that is not unique costs states and is never wrong.
//!
//! Fairness is about processors by name, so liveness is checked only on the full graph.

use super::ghost::Ghost;
use super::state::{After, Local, MAX_PROCESSORS, Pc, Processor, State, Store};
use std::hash::{Hash, Hasher};

/// A state with processors renamed by what they do.
pub(super) fn canonical(s: &State) -> State {
    let processors = usize::from(s.processors);
    let mut alone = [0; MAX_PROCESSORS];
    for (p, signature) in alone[..processors].iter_mut().enumerate() {
        *signature = signature_of(s, p);
    }
    let mut order: [(u64, u8); MAX_PROCESSORS] = [(u64::MAX, 0); MAX_PROCESSORS];
    for (p, slot) in order[..processors].iter_mut().enumerate() {
        *slot = (refined(s, p, &alone), p as u8);
    }
    let order = &mut order[..processors];
    order.sort_unstable();
    if order.iter().enumerate().all(|(to, &(_, from))| to == usize::from(from)) {
        return *s;
    }
    let mut names = [0u8; MAX_PROCESSORS];
    for (to, &(_, from)) in order.iter().enumerate() {
        names[usize::from(from)] = to as u8;
    }
    renamed(s, &names)
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What a processor does, without anybody's name.
fn signature_of(s: &State, p: usize) -> u64 {
    let local = &s.locals[p];
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    std::mem::discriminant(&local.pc).hash(&mut hash);
    local.pc.running().hash(&mut hash);
    local.pc.resolving().hash(&mut hash);
    attempt_of(&local.pc).map(|(_, round)| round).hash(&mut hash);
    let after = matches!(local.pc, Pc::Block { after } | Pc::BlockQuery { after } | Pc::BlockRound { after } if after == After::Choose);
    after.hash(&mut hash);
    local.watch.hash(&mut hash);
    local.deque.hash(&mut hash);
    local.watching.hash(&mut hash);
    let relation = |other: u32| u8::from(other as usize == p);
    for store in local.buffer.entries() {
        match store {
            Store::Round { of, round } => (0u8, relation(u32::from(*of)), *round).hash(&mut hash),
            Store::Query { to, query } => (1u8, relation(u32::from(*to)), query.round).hash(&mut hash),
            Store::Received { to, thread } => (2u8, relation(u32::from(*to)), *thread).hash(&mut hash),
            Store::Status { cell, value } => (3u8, *cell, *value).hash(&mut hash),
            Store::Application { thread } => (4u8, *thread).hash(&mut hash),
        }
    }
    s.memory.round[p].hash(&mut hash);
    let query = s.memory.in_query[p];
    (relation(query.id), query.round, s.memory.received[p]).hash(&mut hash);
    hash.finish()
}

/// What a processor does, with what those do whom it names and who name it.
fn refined(s: &State, p: usize, alone: &[u64; MAX_PROCESSORS]) -> u64 {
    let of = |other: u32| alone.get(other as usize).copied().unwrap_or_default();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    alone[p].hash(&mut hash);
    attempt_of(&s.locals[p].pc).map(|(victim, _)| of(victim)).hash(&mut hash);
    of(s.memory.in_query[p].id).hash(&mut hash);
    for store in s.locals[p].buffer.entries() {
        match store {
            Store::Round { of: to, .. } | Store::Received { to, .. } => of(u32::from(*to)).hash(&mut hash),
            Store::Query { to, query } => (of(u32::from(*to)), of(query.id)).hash(&mut hash),
            Store::Status { .. } | Store::Application { .. } => {}
        }
    }
    let names_me = |local: &Local| {
        let is_me = |other: u32| other as usize == p;
        let query = |store: &Store| matches!(store, Store::Query { to, .. } if is_me(u32::from(*to)));
        let thread = |store: &Store| matches!(store, Store::Received { to, .. } if is_me(u32::from(*to)));
        let buffer = local.buffer.entries();
        let named = [
            attempt_of(&local.pc).is_some_and(|(victim, _)| is_me(victim)),
            matches!(local.pc, Pc::HandOut { to, .. } if is_me(to)),
            buffer.iter().any(query),
            buffer.iter().any(thread),
        ];
        named.iter().fold(0, |bits, &bit| bits << 1 | u64::from(bit))
    };
    // In whatever order the others come.
    let mut named = 0u64;
    for (other, local) in s.locals().iter().enumerate() {
        let asks = u64::from(s.memory.in_query[other].id as usize == p);
        named = named.wrapping_add(
            (names_me(local) << 1 | asks).wrapping_mul(alone[other] | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
    }
    named.hash(&mut hash);
    hash.finish()
}

/// The victim and its round that a thief remembers.
fn attempt_of(pc: &Pc) -> Option<(u32, u8)> {
    match *pc {
        Pc::TestQuery { victim, round }
        | Pc::Send { victim, round }
        | Pc::Await { victim, round }
        | Pc::TestOverwritten { victim, round }
        | Pc::Resend { victim, round }
        | Pc::Receive { victim, round }
        | Pc::Block { after: After::Await { victim, round } }
        | Pc::BlockQuery { after: After::Await { victim, round } }
        | Pc::BlockRound { after: After::Await { victim, round } } => Some((victim, round)),
        _ => None,
    }
}

/// The state in which processor `p` is called `names[p]`.
pub(super) fn renamed(s: &State, names: &[u8; MAX_PROCESSORS]) -> State {
    let mut out = *s;
    let name = |p: Processor| names[usize::from(p)];
    let id = |p: &mut u32| {
        if (*p as usize) < usize::from(s.processors) {
            *p = u32::from(names[*p as usize]);
        }
    };
    out.memory.ghost = {
        let Ghost { nodes, edges, .. } = s.memory.ghost;
        Ghost { nodes, edges, ..Ghost::default() }
    };
    for (p, &to) in names.iter().enumerate().take(usize::from(s.processors)) {
        let to = usize::from(to);
        let mut local = s.locals[p];
        rename_local(&mut local, &name, &id);
        out.locals[to] = local;
        out.memory.round[to] = s.memory.round[p];
        out.memory.in_query[to] = s.memory.in_query[p];
        id(&mut out.memory.in_query[to].id);
        out.memory.received[to] = s.memory.received[p];
        out.memory.ghost.code[to] = s.memory.ghost.code[p];
        out.memory.ghost.leaves[to] = s.memory.ghost.leaves[p];
    }
    out
}

fn rename_local(local: &mut Local, name: &impl Fn(Processor) -> Processor, id: &impl Fn(&mut u32)) {
    match &mut local.pc {
        Pc::TestQuery { victim, .. }
        | Pc::Send { victim, .. }
        | Pc::Await { victim, .. }
        | Pc::TestOverwritten { victim, .. }
        | Pc::Resend { victim, .. }
        | Pc::Receive { victim, .. }
        | Pc::Block { after: After::Await { victim, .. } }
        | Pc::BlockQuery { after: After::Await { victim, .. } }
        | Pc::BlockRound { after: After::Await { victim, .. } } => id(victim),
        Pc::HandOut { to, .. } | Pc::NextRound { late: Some((to, _)), .. } => id(to),
        _ => {}
    }
    for store in local.buffer.entries_mut() {
        match store {
            Store::Round { of, .. } => *of = name(*of),
            Store::Query { to, query } => {
                *to = name(*to);
                id(&mut query.id);
            }
            Store::Received { to, .. } => *to = name(*to),
            Store::Status { .. } | Store::Application { .. } => {}
        }
    }
}
