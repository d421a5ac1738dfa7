//! The engine `local`: everything runs in this process, on Bombyx's global pool. Arguments and results are turned into
//! bytes and back, as on a real cluster. So a program that runs here also runs there.
//!
//! A call cannot crash without the process. A cancelled call that already runs goes on to its end, because threads
//! cannot be ended.

use crate::board::{Board, Node, NodeId};
use crate::cluster::Cluster;
use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::execute::execute;
use crate::key::Key;
use crate::outcome::{Reply, Tagged};
use std::sync::{Arc, OnceLock, Weak};

/// This process is the only node.
const HERE: NodeId = NodeId(0);

pub(crate) struct Local {
    board: Arc<Board>,
    here: Arc<Here>,
}

struct Here {
    board: Weak<Board>,
    cluster: OnceLock<Weak<dyn Engine>>,
}

impl Local {
    pub(crate) fn start(slots: Option<usize>) -> Arc<Local> {
        let board = Arc::new(Board::new(0));
        let here = Arc::new(Here { board: Arc::downgrade(&board), cluster: OnceLock::new() });
        let local = Arc::new(Local { board, here });
        let engine: Arc<dyn Engine> = local.clone();
        local.here.cluster.set(Arc::downgrade(&engine)).ok();
        let slots = slots.unwrap_or_else(|| bombyx::Pool::global().processors());
        local.board.join(HERE, local.here.clone(), slots);
        local
    }
}

impl Node for Here {
    fn start(&self, call: Arc<Call>) {
        let (board, engine) = (self.board.clone(), self.cluster.get().cloned());
        std::thread::spawn(move || {
            let Some(engine) = engine.and_then(|engine| engine.upgrade()) else { return };
            let cluster = Cluster::of(engine);
            let result = execute(&cluster, call.key.clone(), call.depth, &call.function, &call.argument);
            if let Some(board) = board.upgrade() {
                board.done(HERE, &call.key, result);
            }
        });
    }

    fn is_expendable(&self) -> bool {
        false
    }

    fn abandon(&self) {}
}

impl Engine for Local {
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

    /// Calls run in the pool, so a closure that waits there holds a slot.
    fn pause(&self) -> bool {
        let inside = bombyx::in_pool();
        if inside {
            self.board.pause(HERE);
        }
        inside
    }

    fn resume(&self) {
        self.board.resume(HERE);
    }

    fn slots(&self) -> usize {
        self.board.slots()
    }

    fn resize(&self, _: usize) -> Result<(), Error> {
        Err(Error::Unsupported(
            "`local` has no workers to start or end: the calls run in this process".to_owned(),
        ))
    }

    fn close(&self) {
        self.board.give_up(&Error::Gone("it was closed".to_owned()));
    }
}
