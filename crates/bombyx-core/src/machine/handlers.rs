//! What a pool tells its user about its carriers, and about panics that nobody waits for.

use crate::api::pool::Builder;
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
    start: Option<OnCarrier>,
    exit: Option<OnCarrier>,
    panic: Option<OnPanic>,
}

impl Handlers {
    /// A carrier starts, and calls this before it runs anything else.
    pub(crate) fn started(&self, index: usize) {
        if let Some(start) = &self.start {
            self.guard(|| start(index));
        }
    }

    /// A carrier ends, and has run everything else.
    pub(crate) fn exited(&self, index: usize) {
        if let Some(exit) = &self.exit {
            self.guard(|| exit(index));
        }
    }

    /// Runs `f`, whose panic nobody waits for.
    pub(crate) fn guard(&self, f: impl FnOnce()) {
        let Err(payload) = panic::catch_unwind(AssertUnwindSafe(f)) else { return };
        let Some(handler) = &self.panic else {
            abort("a handler or a closure given to Pool::spawn panicked, and nobody can be told");
        };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| handler(payload))) {
            mem::forget(payload);
            abort("the panic handler panicked");
        }
    }
}

/// Drops what a closure panicked with, and nobody gets. A payload whose destructor panics is left as it is then.
pub(crate) fn drop_payload(payload: Payload) {
    if let Err(another) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(another);
    }
}

/// Drops what `f` returns, or panics with, because nobody gets it: another panic goes on. A panic of the result's destructor
/// is nobody's either.
pub(crate) fn drop_unwanted<R>(f: impl FnOnce() -> R) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(f()))) {
        drop_payload(payload);
    }
}

impl Builder {
    /// Called by every carrier before it runs anything, with a number below that of the processors.
    ///
    /// The carriers that the pool starts with get different numbers; those that it starts later, when waiting
    /// carriers hand their processors over, repeat them. A panic goes to [`Builder::on_panic`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// static STARTED: AtomicUsize = AtomicUsize::new(0);
    /// let pool = bombyx::Pool::builder()
    ///     .processors(2)
    ///     .on_start(|_| { STARTED.fetch_add(1, Ordering::Relaxed); })
    ///     .build()?;
    /// drop(pool);
    /// assert!(STARTED.load(Ordering::Relaxed) >= 2);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn on_start(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Builder {
        self.handlers.start = Some(Box::new(handler));
        self
    }

    /// Called by every carrier when it has run everything, with the number that it started with.
    pub fn on_exit(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Builder {
        self.handlers.exit = Some(Box::new(handler));
        self
    }

    /// Called with the panic of a [spawned](crate::Pool::spawn) closure, or of another handler. Without this, such
    /// a panic aborts the process; so does a panic of this handler itself.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = bombyx::Pool::builder().processors(1).on_panic(move |payload| sender.send(payload).unwrap()).build()?;
    /// pool.spawn(|| panic!("nobody waits for this"));
    /// assert_eq!(receiver.recv().unwrap().downcast_ref::<&str>(), Some(&"nobody waits for this"));
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn on_panic(mut self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Builder {
        self.handlers.panic = Some(Box::new(handler));
        self
    }
}
