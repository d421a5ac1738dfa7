//! The engine of `local` and `processes`: a ledger, and whoever lends it nodes.

use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::key::Key;
use crate::ledger::Ledger;
use crate::outcome::{Reply, Tagged};
use std::sync::Arc;

/// Lends nodes to a ledger: this process, or its children.
pub(crate) trait Host: Send + Sync {
    /// [`Engine::pause`].
    fn pause(&self, ledger: &Ledger) -> bool;

    /// [`Engine::resume`].
    fn resume(&self, ledger: &Ledger);

    /// [`Engine::resize`].
    fn resize(&self, workers: usize) -> Result<(), Error>;

    /// [`Engine::processes`].
    fn processes(&self) -> Vec<u32>;

    /// [`Engine::close`]. The ledger has given up its calls before.
    fn close(&self);
}

/// An engine whose calls wait on a ledger in this process.
pub(crate) struct Hosted<H> {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) host: H,
}

impl<H: Host> Engine for Hosted<H> {
    fn submit(&self, call: Call, reply: Reply) {
        self.ledger.submit(call, Some(reply), None);
    }

    fn keep(&self, call: Call) {
        self.ledger.submit(call, None, None);
    }

    fn put(&self, key: &Key, value: Tagged) {
        self.ledger.put(key, value, None);
    }

    fn fetch(&self, key: &Key, reply: Reply) {
        self.ledger.fetch(key, reply);
    }

    fn release(&self, key: &Key) {
        self.ledger.release(key);
    }

    fn cancel(&self, key: &Key) {
        self.ledger.cancel(key);
    }

    fn pause(&self) -> bool {
        self.host.pause(&self.ledger)
    }

    fn resume(&self) {
        self.host.resume(&self.ledger);
    }

    fn slots(&self) -> usize {
        self.ledger.slots()
    }

    fn resize(&self, workers: usize) -> Result<(), Error> {
        self.host.resize(workers)
    }

    fn processes(&self) -> Vec<u32> {
        self.host.processes()
    }

    fn close(&self) {
        self.ledger.give_up(&Error::Gone("it was closed".to_owned()));
        self.host.close();
    }
}
