//! Which engine a thread's calls go to: that of the call that the thread runs, or else the default of the process.

use crate::engine::Engine;
use crate::key::Key;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The call that a thread runs.
pub(crate) struct Running {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) key: Key,
    pub(crate) depth: u32,
    /// How long it has waited for other calls.
    pub(crate) waited: Duration,
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Looks at the call that this thread runs, if it runs one. Threads that the function forks do not know it.
pub(crate) fn with_running<R>(look: impl FnOnce(Option<&mut Running>) -> R) -> R {
    RUNNING.with_borrow_mut(|running| look(running.as_mut()))
}

/// From now on this thread runs that call, or none. Returns what it ran before.
pub(crate) fn replace(running: Option<Running>) -> Option<Running> {
    RUNNING.replace(running)
}

static DEFAULT: Mutex<Option<Weak<dyn Engine>>> = Mutex::new(None);

/// Makes this engine the default, unless an older one still lives.
pub(crate) fn set_default(engine: &Arc<dyn Engine>) {
    let mut default = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
    if default.as_ref().is_none_or(|engine| engine.strong_count() == 0) {
        *default = Some(Arc::downgrade(engine));
    }
}

/// Where calls of this thread go.
pub(crate) fn engine() -> Option<Arc<dyn Engine>> {
    with_running(|running| running.map(|running| running.engine.clone())).or_else(|| {
        let default = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
        default.as_ref().and_then(Weak::upgrade)
    })
}
