//! The handlers by which a pool tells its user about its carriers, and about panics that nobody waits for.

use crate::system::guard::abort;
use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

/// What a closure panicked with.
pub(crate) type Payload = Box<dyn Any + Send>;

type OnCarrier = Box<dyn Fn(usize) + Send + Sync>;
type OnPanic = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// The handlers of one pool.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) start: Option<OnCarrier>,
    pub(crate) exit: Option<OnCarrier>,
    pub(crate) panic: Option<OnPanic>,
}

impl Handlers {
    /// Called by a carrier that starts, before it runs anything else.
    pub(crate) fn started(&self, index: usize) {
        if let Some(start) = &self.start {
            self.guard(|| start(index));
        }
    }

    /// Called by a carrier that ends, after it has run everything else.
    pub(crate) fn exited(&self, index: usize) {
        if let Some(exit) = &self.exit {
            self.guard(|| exit(index));
        }
    }

    /// Runs `f`. Nobody waits for its panic.
    pub(crate) fn guard(&self, f: impl FnOnce()) {
        let Err(payload) = panic::catch_unwind(AssertUnwindSafe(f)) else { return };
        let Some(handler) = &self.panic else {
            abort("a handler or a closure given to Pool::spawn panicked, and the pool has no panic handler");
        };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| handler(payload))) {
            mem::forget(payload);
            abort("the panic handler panicked");
        }
    }
}

/// Drops the payload of a panic that nobody receives. If its destructor panics, the
/// payload of that second panic is leaked.
pub(crate) fn drop_payload(payload: Payload) {
    if let Err(another) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(another);
    }
}

/// Drops what `f` returns or panics with. Nobody receives it, because another panic is under way. If the destructor of
/// the result panics, nobody receives that panic either.
pub(crate) fn drop_unwanted<R>(f: impl FnOnce() -> R) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(f()))) {
        drop_payload(payload);
    }
}
