//! The engine of `local` and `processes`: a board, and whoever lends it nodes.

use crate::board::Board;
use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::key::Key;
use crate::outcome::{Reply, Tagged};
use std::sync::Arc;

/// Lends nodes to a board: this process, or its children.
pub(crate) trait Host: Send + Sync {
    /// [`Engine::pause`].
    fn pause(&self, board: &Board) -> bool;

    /// [`Engine::resume`].
    fn resume(&self, board: &Board);

    /// [`Engine::resize`].
    fn resize(&self, workers: usize) -> Result<(), Error>;

    /// [`Engine::processes`].
    fn processes(&self) -> Vec<u32>;

    /// [`Engine::close`]. The board has given up its calls before.
    fn close(&self);
}

/// An engine whose calls wait on a board in this process.
pub(crate) struct Hosted<H> {
    pub(crate) board: Arc<Board>,
    pub(crate) host: H,
}

impl<H: Host> Engine for Hosted<H> {
    fn submit(&self, call: Call, reply: Reply) {
        self.board.submit(call, Some(reply), None);
    }

    fn keep(&self, call: Call) {
        self.board.submit(call, None, None);
    }

    fn put(&self, key: &Key, value: Tagged) {
        self.board.put(key, value, None);
    }

    fn fetch(&self, key: &Key, reply: Reply) {
        self.board.fetch(key, reply);
    }

    fn release(&self, key: &Key) {
        self.board.release(key);
    }

    fn cancel(&self, key: &Key) {
        self.board.cancel(key);
    }

    fn pause(&self) -> bool {
        self.host.pause(&self.board)
    }

    fn resume(&self) {
        self.host.resume(&self.board);
    }

    fn slots(&self) -> usize {
        self.board.slots()
    }

    fn resize(&self, workers: usize) -> Result<(), Error> {
        self.host.resize(workers)
    }

    fn processes(&self) -> Vec<u32> {
        self.host.processes()
    }

    fn close(&self) {
        self.board.give_up(&Error::Gone("it was closed".to_owned()));
        self.host.close();
    }
}
