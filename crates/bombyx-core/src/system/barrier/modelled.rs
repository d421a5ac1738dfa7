//! What the barriers are in the models: see [`super`].

use crate::system::primitive::is_weak;
pub(crate) use crate::system::primitive::set_weak;
use std::cell::Cell;

thread_local! {
    /// Loom runs all threads of a model on one thread.
    static CALLED: Cell<bool> = const { Cell::new(false) };
}

/// Whether anybody has called the heavy barrier, for a processor that relies on it, since this was last asked.
pub(crate) fn was_called() -> bool {
    CALLED.take()
}

pub(super) fn interrupt() -> bool {
    CALLED.set(true);
    !is_weak()
}
