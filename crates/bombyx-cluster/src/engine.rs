//! [`Engine`]: what a cluster needs from whatever runs its calls.

use crate::error::Error;
use crate::key::Key;
use crate::outcome::{Reply, Tagged};

/// A call of a remote function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its name on the cluster, and that of its result.
    pub(crate) key: Key,
    /// The function's name.
    pub(crate) function: String,
    /// The argument's bytes.
    pub(crate) argument: Vec<u8>,
    /// Results that the argument refers to. The call runs after they have arrived.
    pub(crate) needs: Vec<Key>,
    /// How many calls it is nested in. Deeper calls go first, so that few callers wait at a time.
    pub(crate) depth: u32,
    /// Which call it is, for errors: `item 17 of the map at src/main.rs:41`.
    pub(crate) place: String,
}

/// Runs calls somewhere.
///
/// A call runs at least once and is answered exactly once, unless it is cancelled before. No method waits for a call to run.
pub(crate) trait Engine: Send + Sync {
    /// Runs a call and reports its outcome.
    fn submit(&self, call: Call, reply: Reply);

    /// Runs a call and keeps its outcome where it is made, until [`release`](Self::release).
    fn keep(&self, call: Call);

    /// Keeps a value.
    fn put(&self, key: &Key, value: Tagged);

    /// Reports a kept outcome as soon as it is there.
    fn fetch(&self, key: &Key, reply: Reply);

    /// Forgets a kept outcome.
    fn release(&self, key: &Key);

    /// Ends a submitted call if possible. It is then not answered, or answered with [`Error::Cancelled`].
    fn cancel(&self, key: &Key);

    /// A remote function is about to wait for other calls, so another call may have its slot. Returns whether there was
    /// a slot to give. If so, [`resume`](Self::resume) must follow.
    fn pause(&self) -> bool;

    /// The remote function goes on.
    fn resume(&self);

    /// How many calls run at a time, as far as known.
    fn slots(&self) -> usize;

    /// Starts or ends workers until there are this many.
    ///
    /// # Errors
    /// If the engine's workers belong to somebody else.
    fn resize(&self, workers: usize) -> Result<(), Error>;

    /// Which processes work for this engine on this machine, as far as known. For tests that kill them.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Ends all workers that belong to this engine, and waits for their end.
    fn close(&self);
}
