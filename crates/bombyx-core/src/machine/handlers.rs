//! The handlers by which a pool tells its user about its carriers, about events on its slow paths, and about panics that
//! nobody waits for.

use crate::system::guard::abort;
use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

/// What a closure panicked with.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Something that happens on a slow path of a pool. For [`Builder::on_event`](crate::Builder::on_event).
///
/// The numbers are those of processors, except in the first two events. New versions may add events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolEvent {
    /// A carrier (an OS thread) begins. The number is that of its name.
    CarrierBegins(usize),
    /// A carrier ends.
    CarrierEnds(usize),
    /// The processor begins the second half of a join, or a spawned closure, which it has stolen.
    StolenBegins(usize),
    /// The stolen closure has ended. The frame may have another processor by now: this one.
    StolenEnds(usize),
    /// The processor begins a call from outside that had to wait in the queue.
    CallBegins(usize),
    /// The call has ended. The frame may have another processor by now: this one.
    CallEnds(usize),
    /// A waiting carrier gives the processor to another carrier.
    HandOver(usize),
    /// The processor has nothing to do and comes to rest.
    Sleeps(usize),
    /// The processor is given to a carrier that looks for work.
    Wakes(usize),
}

type OnEvent = Box<dyn Fn(PoolEvent) + Send + Sync>;
type OnCarrier = Box<dyn Fn(usize) + Send + Sync>;
type OnPanic = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// The handlers of one pool.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) start: Option<OnCarrier>,
    pub(crate) exit: Option<OnCarrier>,
    pub(crate) panic: Option<OnPanic>,
    pub(crate) event: Option<OnEvent>,
}

impl Handlers {
    /// Whether each thread of the pool calls a handler when it starts or ends.
    pub(crate) fn are_per_thread(&self) -> bool {
        self.start.is_some() || self.exit.is_some()
    }

    /// Something has happened on a slow path.
    #[inline]
    pub(crate) fn tell(&self, event: PoolEvent) {
        if self.event.is_some() {
            self.call_handler(event);
        }
    }

    #[cold]
    #[inline(never)]
    fn call_handler(&self, event: PoolEvent) {
        if let Some(handler) = &self.event {
            self.guard(|| handler(event));
        }
    }

    /// Called by a carrier that starts, before it runs anything else.
    pub(crate) fn started(&self, index: usize) {
        self.tell(PoolEvent::CarrierBegins(index));
        if let Some(start) = &self.start {
            self.guard(|| start(index));
        }
    }

    /// Called by a carrier that ends, after it has run everything else.
    pub(crate) fn exited(&self, index: usize) {
        if let Some(exit) = &self.exit {
            self.guard(|| exit(index));
        }
        self.tell(PoolEvent::CarrierEnds(index));
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

/// Drops what `f` returns or panics with. Nobody receives it. If the destructor of the result panics, nobody receives that
/// panic either.
pub(crate) fn drop_unwanted<R>(f: impl FnOnce() -> R) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(f()))) {
        drop_payload(payload);
    }
}
