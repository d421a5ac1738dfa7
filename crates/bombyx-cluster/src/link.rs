//! The caller's end of a link: sends calls to another process, which runs them somewhere, and reports their outcomes.
//!
//! Two processes are callers: a worker whose function makes nested calls, and the client of Dask, whose other end is the shim.

use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::key::Key;
use crate::outcome::{Outcome, Reply, Tagged};
use crate::wire::{Ending, Frame, Header};
use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) struct Link {
    to: Sender<Frame>,
    /// Whether everything in this process belongs to calls.
    in_worker: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pending: HashMap<u64, Pending>,
    /// The functions and places of calls whose results are kept for this process.
    kept: HashMap<Key, (String, String)>,
    next: u64,
    slots: usize,
    processes: Vec<u32>,
    gone: Option<Error>,
}

struct Pending {
    key: Key,
    function: String,
    place: String,
    reply: Reply,
}

impl Link {
    pub(crate) fn new(to: Sender<Frame>, in_worker: bool) -> Link {
        Link { to, in_worker, state: Mutex::new(State { slots: 1, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a frame. If the other end is gone, its reader has told everybody or will.
    pub(crate) fn send(&self, frame: impl Into<Frame>) {
        let _ = self.to.send(frame.into());
    }

    /// Remembers who waits, or reports at once that the other end is gone.
    fn expect(&self, key: &Key, function: &str, place: &str, reply: Reply) -> Option<u64> {
        let mut state = self.state();
        if let Some(error) = state.gone.clone() {
            drop(state);
            reply(Err(error));
            return None;
        }
        let id = state.next;
        state.next += 1;
        let pending =
            Pending { key: key.clone(), function: function.to_owned(), place: place.to_owned(), reply };
        state.pending.insert(id, pending);
        Some(id)
    }

    /// Takes a frame from the other end, if it is about calls made here. Otherwise gives it back.
    pub(crate) fn receive(&self, frame: Frame) -> Option<Frame> {
        match frame.header {
            Header::Reply { id, outcome, message } => {
                let pending = self.state().pending.remove(&id);
                if let Some(Pending { function, place, reply, .. }) = pending {
                    reply(outcome_of(outcome, message, function, place, frame.body));
                }
            }
            Header::Slots { slots, processes } => {
                let mut state = self.state();
                (state.slots, state.processes) = (slots, processes);
            }
            Header::Gone { message } => self.lose(&Error::Gone(message)),
            _ => return Some(frame),
        }
        None
    }

    /// The other end is gone. Everybody who waits, now and later, learns of it.
    pub(crate) fn lose(&self, error: &Error) {
        let pending = {
            let mut state = self.state();
            state.gone.get_or_insert_with(|| error.clone());
            std::mem::take(&mut state.pending)
        };
        pending.into_values().for_each(|pending| (pending.reply)(Err(error.clone())));
    }
}

fn outcome_of(ending: Ending, message: String, function: String, place: String, body: Vec<u8>) -> Outcome {
    Err(match ending {
        Ending::Done => return Tagged::from_bytes(body),
        Ending::Lost => Error::Lost { function, place, reason: message },
        Ending::Build => Error::Build(message),
        Ending::Gone => Error::Gone(message),
        Ending::Cancelled => Error::Cancelled,
    })
}

/// The frame that reports an outcome to the other process.
pub(crate) fn reply_frame(id: u64, outcome: Outcome) -> Frame {
    let (outcome, message, body) = match outcome {
        Ok(tagged) => (Ending::Done, String::new(), tagged.into_bytes()),
        Err(Error::Lost { reason, .. }) => (Ending::Lost, reason, Vec::new()),
        Err(Error::Cancelled) => (Ending::Cancelled, String::new(), Vec::new()),
        Err(Error::Build(reason)) => (Ending::Build, reason, Vec::new()),
        Err(Error::Gone(reason)) => (Ending::Gone, reason, Vec::new()),
        Err(error) => (Ending::Gone, error.to_string(), Vec::new()),
    };
    Frame { header: Header::Reply { id, outcome, message }, body }
}

fn texts(keys: &[Key]) -> Vec<String> {
    keys.iter().map(|key| key.as_str().to_owned()).collect()
}

impl Engine for Link {
    fn submit(&self, call: Call, reply: Reply) {
        let Some(id) = self.expect(&call.key, &call.function, &call.place, reply) else { return };
        let (key, needs) = (call.key.to_string(), texts(&call.needs));
        let header =
            Header::Submit { id, key, function: call.function, needs, depth: call.depth, place: call.place };
        self.send(Frame { header, body: call.argument });
    }

    fn keep(&self, call: Call) {
        self.state().kept.insert(call.key.clone(), (call.function.clone(), call.place.clone()));
        let (key, needs) = (call.key.to_string(), texts(&call.needs));
        let header =
            Header::Keep { key, function: call.function, needs, depth: call.depth, place: call.place };
        self.send(Frame { header, body: call.argument });
    }

    fn put(&self, key: &Key, value: Tagged) {
        self.send(Frame { header: Header::Put { key: key.to_string() }, body: value.into_bytes() });
    }

    fn fetch(&self, key: &Key, reply: Reply) {
        // What a remote function got as an argument belongs to the caller, who knows its place.
        let kept = self.state().kept.get(key).cloned();
        let (function, place) =
            kept.unwrap_or_else(|| (key.function().to_owned(), "a `Remote` in an argument".to_owned()));
        if let Some(id) = self.expect(key, &function, &place, reply) {
            self.send(Header::Fetch { id, key: key.to_string() });
        }
    }

    fn release(&self, key: &Key) {
        self.state().kept.remove(key);
        self.send(Header::Release { key: key.to_string() });
    }

    fn cancel(&self, key: &Key) {
        let pending = {
            let mut state = self.state();
            let id = state.pending.iter().find(|(_, pending)| pending.key == *key).map(|(&id, _)| id);
            id.and_then(|id| state.pending.remove(&id))
        };
        if let Some(pending) = pending {
            self.send(Header::Cancel { key: key.to_string() });
            (pending.reply)(Err(Error::Cancelled));
        }
    }

    fn pause(&self) -> bool {
        if self.in_worker {
            self.send(Header::Pause);
        }
        self.in_worker
    }

    fn resume(&self) {
        self.send(Header::Resume);
    }

    fn slots(&self) -> usize {
        self.state().slots
    }

    fn resize(&self, workers: usize) -> Result<(), Error> {
        if self.in_worker {
            return Err(Error::Unsupported("a remote function cannot start or end workers".to_owned()));
        }
        self.send(Header::Resize { workers });
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        self.state().processes.clone()
    }

    fn close(&self) {
        self.send(Header::Bye);
    }
}
