//! [`Engine`]: what a cluster needs of whatever runs its calls.

use crate::error::Error;
use crate::key::Key;
use crate::outcome::{Reply, Tagged};

/// A call of a remote function.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name on the cluster, and that of its result.
    pub key: Key,
    /// The function's name.
    pub function: String,
    /// The argument's bytes.
    pub argument: Vec<u8>,
    /// Results that the argument refers to. The call runs after they are there.
    pub needs: Vec<Key>,
    /// How many calls it is nested in. Deeper calls go first, so that few callers wait at a time.
    pub depth: u32,
    /// Which call it is, for errors: `item 17 of the map at src/main.rs:41`.
    pub place: String,
}

/// Runs calls somewhere.
///
/// A call runs at least once and is answered exactly once, unless it is cancelled before. No method waits for a call to run.
pub trait Engine: Send + Sync {
    /// Runs a call and tells its outcome.
    fn submit(&self, call: Call, reply: Reply);

    /// Runs a call and keeps its outcome where it is, until [`release`](Self::release).
    fn keep(&self, call: Call);

    /// Keeps a value.
    fn put(&self, key: &Key, value: Tagged);

    /// Tells an outcome that is kept, as soon as it is there.
    fn fetch(&self, key: &Key, reply: Reply);

    /// Forgets an outcome that is kept.
    fn release(&self, key: &Key);

    /// Ends a submitted call if that can be done. It is not answered any more, or with [`Error::Cancelled`].
    fn cancel(&self, key: &Key);

    /// A remote function is about to wait for other calls: another call may have its place. Says whether there was a place to
    /// give; then [`resume`](Self::resume) must follow.
    fn pause(&self) -> bool;

    /// It goes on.
    fn resume(&self);

    /// How many calls run at a time, as far as known.
    fn slots(&self) -> usize;

    /// Starts or ends workers until there are so many.
    ///
    /// # Errors
    /// If the engine's workers are somebody else's.
    fn resize(&self, workers: usize) -> Result<(), Error>;

    /// Which processes work for this engine on this machine, as far as known. For tests that kill them.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Ends all workers that belong to this engine, and waits for their end.
    fn close(&self);
}
