//! The ledger of `local` and `processes`: which calls wait, where the others run, and which results are kept.
//!
//! **Not here:** how a call travels to a node. The engines know that.
//!
//! **Who does what.** Engines tell the ledger about calls, and about nodes that join, finish a call, pause, resume and
//! die. The ledger tells nodes to start a call, and callers how it ended. While its lock is held, the ledger only gathers
//! what it has to tell. It tells afterwards, so nobody waits for anybody else under the lock.
//!
//! **Exactly one answer.** A call's entry holds its reply. Whoever removes the entry answers it, and an entry is
//! removed once. A result counts only if its entry says that this node runs the call, so a node that was given up
//! cannot answer.
//!
//! **At least one run.** An entry that is not blocked is in the queue or at a living node. A node that dies gives its
//! calls back to the queue, each with one more failure. A call with more failures than allowed is answered as lost.
//!
//! **Nobody works for the dead.** When a node dies, the calls that its own calls asked for are dropped. Its calls run
//! again and ask again.

use crate::engine::Call;
use crate::error::Error;
use crate::key::Key;
use crate::outcome::{Outcome, Reply, Tagged};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// A place where calls run.
pub(crate) trait Node: Send + Sync {
    /// Runs the call and tells the ledger when it is done. Must not block.
    fn start(&self, call: Arc<Call>);

    /// All calls here are cancelled. Returns whether the node will end them by its own death. If so, it gets no more
    /// calls, and [`abandon`](Self::abandon) follows.
    fn is_expendable(&self) -> bool;

    /// Dies, and makes sure that the ledger learns of it. Must not block.
    fn abandon(&self);
}

/// Names a node. No two nodes of a ledger have the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u64);

/// Calls, nodes and kept results.
pub(crate) struct Ledger {
    state: Mutex<State>,
    allowed_failures: u32,
}

#[derive(Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// The deepest calls first, then in the order of arrival.
    queue: BTreeMap<(Reverse<u32>, u64), Key>,
    kept: HashMap<Key, Kept>,
    nodes: BTreeMap<NodeId, Desk>,
    next: u64,
    /// Why no call will ever run again.
    gone: Option<Error>,
}

/// A call that has not ended.
struct Entry {
    call: Arc<Call>,
    /// `None` if the result is kept.
    reply: Option<Reply>,
    /// The node whose call asked for it.
    origin: Option<NodeId>,
    failures: u32,
    at: At,
}

enum At {
    /// This many needs are not there yet.
    Blocked(usize),
    Queued(u64),
    Running(NodeId),
    /// Runs, but nobody wants the result any more.
    Cancelled(NodeId),
}

/// A result that is kept, or will be.
struct Kept {
    outcome: Option<Outcome>,
    waiting: Vec<Reply>,
    dependents: Vec<Key>,
    /// The owner, plus the calls that need it and have not ended.
    users: usize,
    origin: Option<NodeId>,
}

struct Desk {
    node: Arc<dyn Node>,
    slots: usize,
    running: usize,
    paused: usize,
    /// Whether it gets no more calls.
    leaving: bool,
}

impl Desk {
    fn free(&self) -> usize {
        if self.leaving { 0 } else { (self.slots + self.paused).saturating_sub(self.running) }
    }
}

/// What must be told once the lock is free again.
type Told = Vec<Box<dyn FnOnce()>>;

impl Ledger {
    pub(crate) fn new(allowed_failures: u32) -> Ledger {
        Ledger { state: Mutex::default(), allowed_failures }
    }

    /// Changes the state, starts what can start, and tells everybody.
    fn change<R>(&self, change: impl FnOnce(&mut State, &mut Told) -> R) -> R {
        let mut told = Told::new();
        let result = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let result = change(&mut state, &mut told);
            state.dispatch(&mut told);
            result
        };
        told.into_iter().for_each(|tell| tell());
        result
    }

    /// Runs a call. Without a reply, its result is kept.
    pub(crate) fn submit(&self, call: Call, reply: Option<Reply>, origin: Option<NodeId>) {
        self.change(|state, told| {
            if reply.is_none() {
                let kept = Kept { outcome: None, waiting: vec![], dependents: vec![], users: 1, origin };
                state.kept.insert(call.key.clone(), kept);
            }
            let missing = state.missing(&call);
            let key = call.key.clone();
            let entry =
                Entry { call: Arc::new(call), reply, origin, failures: 0, at: At::Blocked(missing.pending) };
            state.entries.insert(key.clone(), entry);
            match state.gone.clone().or(missing.failure) {
                Some(error) => state.end(&key, Err(error), told),
                None if missing.pending == 0 => state.enqueue(&key),
                None => {}
            }
        });
    }

    pub(crate) fn put(&self, key: &Key, value: Tagged, origin: Option<NodeId>) {
        self.change(|state, _| {
            let kept =
                Kept { outcome: Some(Ok(value)), waiting: vec![], dependents: vec![], users: 1, origin };
            state.kept.insert(key.clone(), kept);
        });
    }

    pub(crate) fn fetch(&self, key: &Key, reply: Reply) {
        self.change(|state, told| match state.kept.get_mut(key) {
            Some(Kept { outcome: Some(outcome), .. }) => {
                let outcome = outcome.clone();
                told.push(Box::new(move || reply(outcome)));
            }
            Some(kept) => kept.waiting.push(reply),
            None => {
                let error = Error::Protocol(format!("a request for `{key}`, which nobody keeps"));
                told.push(Box::new(move || reply(Err(error))));
            }
        });
    }

    pub(crate) fn release(&self, key: &Key) {
        self.change(|state, told| state.unuse(key, told));
    }

    pub(crate) fn cancel(&self, key: &Key) {
        self.change(|state, told| state.cancel(key, told));
    }

    /// A call ended at a node.
    pub(crate) fn done(&self, node: NodeId, key: &Key, result: Tagged) {
        self.change(|state, told| match state.entries.get(key).map(|entry| &entry.at) {
            Some(At::Running(at)) if *at == node => state.end(key, Ok(result), told),
            Some(At::Cancelled(at)) if *at == node => state.end(key, Err(Error::Cancelled), told),
            // The node was given up meanwhile.
            _ => {}
        });
    }

    /// A node joins.
    pub(crate) fn join(&self, id: NodeId, node: Arc<dyn Node>, slots: usize) {
        let desk = Desk { node, slots, running: 0, paused: 0, leaving: false };
        self.change(|state, _| state.nodes.insert(id, desk));
    }

    /// A node gets no more calls. Returns whether it has none, so that it can go.
    pub(crate) fn leave(&self, node: NodeId) -> bool {
        self.change(|state, _| {
            let Some(desk) = state.nodes.get_mut(&node) else { return true };
            desk.leaving = true;
            desk.running == 0
        })
    }

    /// A node died, or went. Its calls run again elsewhere.
    pub(crate) fn died(&self, node: NodeId, reason: &str) {
        self.change(|state, told| {
            if state.nodes.remove(&node).is_none() {
                return;
            }
            let asked: Vec<Key> = state
                .entries
                .iter()
                .filter(|(_, e)| e.origin == Some(node))
                .map(|(key, _)| key.clone())
                .collect();
            asked.iter().for_each(|key| state.cancel(key, told));
            let kept: Vec<Key> = state
                .kept
                .iter()
                .filter(|(_, k)| k.origin == Some(node))
                .map(|(key, _)| key.clone())
                .collect();
            kept.iter().for_each(|key| state.unuse(key, told));
            let ran: Vec<Key> =
                state.entries.iter().filter(|(_, e)| e.at.is_at(node)).map(|(key, _)| key.clone()).collect();
            for key in ran {
                let entry = state.entries.get_mut(&key).expect("found just now");
                if matches!(entry.at, At::Cancelled(_)) {
                    state.end(&key, Err(Error::Cancelled), told);
                    continue;
                }
                entry.failures += 1;
                if entry.failures > self.allowed_failures {
                    let error = Error::Lost {
                        function: entry.call.function.clone(),
                        place: entry.call.place.clone(),
                        reason: format!("{} workers failed under it; the last one {reason}", entry.failures),
                    };
                    state.end(&key, Err(error), told);
                } else {
                    state.enqueue(&key);
                }
            }
        });
    }

    /// A call at the node waits for other calls.
    pub(crate) fn pause(&self, node: NodeId) {
        self.change(|state, _| {
            if let Some(desk) = state.nodes.get_mut(&node) {
                desk.paused += 1;
            }
        });
    }

    /// The call goes on.
    pub(crate) fn resume(&self, node: NodeId) {
        self.change(|state, _| {
            if let Some(desk) = state.nodes.get_mut(&node) {
                desk.paused = desk.paused.saturating_sub(1);
            }
        });
    }

    /// No call will run any more.
    pub(crate) fn give_up(&self, error: &Error) {
        self.change(|state, told| {
            state.gone = Some(error.clone());
            let all: Vec<Key> = state.entries.keys().cloned().collect();
            all.iter().for_each(|key| state.end(key, Err(error.clone()), told));
        });
    }

    /// The slots of all nodes.
    pub(crate) fn slots(&self) -> usize {
        self.change(|state, _| state.nodes.values().filter(|desk| !desk.leaving).map(|desk| desk.slots).sum())
    }

    /// Whether nothing waits, runs or is kept.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.change(|state, _| state.entries.is_empty() && state.queue.is_empty() && state.kept.is_empty())
    }
}

impl At {
    fn is_at(&self, node: NodeId) -> bool {
        matches!(self, At::Running(at) | At::Cancelled(at) if *at == node)
    }
}

/// Which needs of a call are missing.
struct Missing {
    pending: usize,
    /// Why one of them will never be there.
    failure: Option<Error>,
}

impl State {
    /// Registers the call as a user of what it needs.
    fn missing(&mut self, call: &Call) -> Missing {
        let mut missing = Missing { pending: 0, failure: None };
        for need in &call.needs {
            match self.kept.get_mut(need) {
                Some(kept) => {
                    kept.users += 1;
                    match &kept.outcome {
                        None => {
                            kept.dependents.push(call.key.clone());
                            missing.pending += 1;
                        }
                        Some(Err(error)) => missing.failure = Some(error.clone()),
                        Some(Ok(_)) => {}
                    }
                }
                None => {
                    let error = format!("a call that needs `{need}`, which nobody keeps");
                    missing.failure = Some(Error::Protocol(error));
                }
            }
        }
        missing
    }

    fn enqueue(&mut self, key: &Key) {
        let entry = self.entries.get_mut(key).expect("only entries are queued");
        entry.at = At::Queued(self.next);
        self.queue.insert((Reverse(entry.call.depth), self.next), key.clone());
        self.next += 1;
    }

    /// Starts the first calls of the queue at the nodes with the most room.
    fn dispatch(&mut self, told: &mut Told) {
        while !self.queue.is_empty() {
            let roomiest = self.nodes.iter_mut().max_by_key(|(_, desk)| desk.free());
            let Some((&id, desk)) = roomiest.filter(|(_, desk)| desk.free() > 0) else { return };
            let (_, key) = self.queue.pop_first().expect("it is not empty");
            let entry = self.entries.get_mut(&key).expect("only entries are queued");
            entry.at = At::Running(id);
            desk.running += 1;
            let (node, call) = (desk.node.clone(), entry.call.clone());
            told.push(Box::new(move || node.start(call)));
        }
    }

    /// Removes an entry and reports how it ended.
    fn end(&mut self, key: &Key, outcome: Outcome, told: &mut Told) {
        let Some(entry) = self.entries.remove(key) else { return };
        match entry.at {
            At::Queued(order) => {
                self.queue.remove(&(Reverse(entry.call.depth), order));
            }
            At::Running(node) | At::Cancelled(node) => {
                if let Some(desk) = self.nodes.get_mut(&node) {
                    desk.running -= 1;
                }
            }
            At::Blocked(_) => {}
        }
        for need in &entry.call.needs {
            self.unuse(need, told);
        }
        match entry.reply {
            Some(reply) => told.push(Box::new(move || reply(outcome))),
            None => self.arrived(key, outcome, told),
        }
    }

    /// A kept result has arrived.
    fn arrived(&mut self, key: &Key, outcome: Outcome, told: &mut Told) {
        let Some(kept) = self.kept.get_mut(key) else { return };
        let (waiting, dependents) = (std::mem::take(&mut kept.waiting), std::mem::take(&mut kept.dependents));
        kept.outcome = Some(outcome.clone());
        for reply in waiting {
            let outcome = outcome.clone();
            told.push(Box::new(move || reply(outcome)));
        }
        for dependent in dependents {
            let Some(entry) = self.entries.get_mut(&dependent) else { continue };
            let At::Blocked(pending) = &mut entry.at else { continue };
            *pending -= 1;
            match &outcome {
                Err(error) => self.end(&dependent, Err(error.clone()), told),
                Ok(_) if *pending == 0 => self.enqueue(&dependent),
                Ok(_) => {}
            }
        }
    }

    /// A kept result has one user less. Without users it is forgotten, and the call that makes it is cancelled.
    fn unuse(&mut self, key: &Key, told: &mut Told) {
        let Some(kept) = self.kept.get_mut(key) else { return };
        kept.users -= 1;
        if kept.users == 0 {
            let kept = self.kept.remove(key).expect("found just now");
            for reply in kept.waiting {
                told.push(Box::new(move || reply(Err(Error::Cancelled))));
            }
            self.cancel(key, told);
        }
    }

    fn cancel(&mut self, key: &Key, told: &mut Told) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let At::Running(node) = entry.at else {
            if !matches!(entry.at, At::Cancelled(_)) {
                self.end(key, Err(Error::Cancelled), told);
            }
            return;
        };
        entry.at = At::Cancelled(node);
        if let Some(reply) = entry.reply.take() {
            told.push(Box::new(move || reply(Err(Error::Cancelled))));
        }
        let wanted = self.entries.values().any(|entry| matches!(entry.at, At::Running(at) if at == node));
        if let Some(desk) = self.nodes.get_mut(&node).filter(|desk| !wanted && desk.node.is_expendable()) {
            desk.leaving = true;
            let node = desk.node.clone();
            told.push(Box::new(move || node.abandon()));
        }
    }
}

#[cfg(test)]
mod tests;
