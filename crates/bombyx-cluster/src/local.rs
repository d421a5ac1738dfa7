//! The engine `local`: everything runs in this process, on Bombyx's global pool. Arguments and results are turned into
//! bytes and back, as on a real cluster. So a program that runs here also runs there.
//!
//! A call cannot crash without the process. A cancelled call that already runs goes on to its end, because threads
//! cannot be ended.

use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::execute::execute;
use crate::hosted::{Host, Hosted};
use crate::ledger::{Ledger, Node, NodeId};
use std::sync::{Arc, Weak};

/// This process is the only node.
const HERE: NodeId = NodeId(0);

/// Lends this process.
pub(crate) struct Local;

struct Here {
    engine: Weak<Hosted<Local>>,
}

impl Local {
    pub(crate) fn start(slots: Option<usize>) -> Arc<dyn Engine> {
        let slots = slots.unwrap_or_else(|| bombyx::Pool::global().processors());
        Arc::new_cyclic(|engine| {
            let ledger = Arc::new(Ledger::new(0));
            ledger.join(HERE, Arc::new(Here { engine: engine.clone() }), slots);
            Hosted { ledger, host: Local }
        })
    }
}

impl Node for Here {
    fn start(&self, call: Arc<Call>) {
        let engine = self.engine.clone();
        std::thread::spawn(move || {
            let Some(local) = engine.upgrade() else { return };
            let result = execute(local, call.key.clone(), call.depth, &call.function, &call.argument);
            if let Some(local) = engine.upgrade() {
                local.ledger.done(HERE, &call.key, result);
            }
        });
    }

    fn is_expendable(&self) -> bool {
        false
    }

    fn abandon(&self) {}
}

impl Host for Local {
    /// Calls run in the pool, so a closure that waits there holds a slot.
    fn pause(&self, ledger: &Ledger) -> bool {
        let inside = bombyx::in_pool();
        if inside {
            ledger.pause(HERE);
        }
        inside
    }

    fn resume(&self, ledger: &Ledger) {
        ledger.resume(HERE);
    }

    fn resize(&self, _: usize) -> Result<(), Error> {
        Err(Error::Unsupported(
            "`local` has no workers to start or end: the calls run in this process".to_owned(),
        ))
    }

    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    fn close(&self) {}
}
