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
    let mut order: [(u64, u8); MAX_PROCESSORS] = [(u64::MAX, 0); MAX_PROCESSORS];
    for (p, slot) in order[..processors].iter_mut().enumerate() {
        *slot = (signature(s, p), p as u8);
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
fn signature(s: &State, p: usize) -> u64 {
    let local = &s.locals[p];
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    std::mem::discriminant(&local.pc).hash(&mut hash);
    local.pc.running().hash(&mut hash);
    local.pc.resolving().hash(&mut hash);
    round_of(&local.pc).hash(&mut hash);
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

fn round_of(pc: &Pc) -> Option<u8> {
    match *pc {
        Pc::TestQuery { round, .. }
        | Pc::Send { round, .. }
        | Pc::Await { round, .. }
        | Pc::TestOverwritten { round, .. }
        | Pc::Resend { round, .. }
        | Pc::Receive { round, .. }
        | Pc::Block { after: After::Await { round, .. } }
        | Pc::BlockQuery { after: After::Await { round, .. } }
        | Pc::BlockRound { after: After::Await { round, .. } } => Some(round),
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
    out.memory.ghost = Ghost { nodes: s.memory.ghost.nodes, ..Ghost::default() };
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
