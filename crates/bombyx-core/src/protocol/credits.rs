//! How a scope knows that all its closures have ended, without a counter that every spawn and every end writes to.
//!
//! [`Credits`] counts what a scope has out: one credit for its body and one for every closure that has not ended. A
//! processor keeps a [`Stock`] of credits of one scope. A spawn takes its credit from there, and a closure that ends
//! puts its credit back. Credits move between the stock and the count only when the stock is empty or full, [`BATCH`]
//! at a time. So the cache line that all processors of a busy scope would fight for is rarely touched.
//!
//! | step | by | stock | scope |
//! |---|---|---|---|
//! | take, stocked | the spawner | −1 | |
//! | take, else | the spawner | + batch − 1 | + batch |
//! | put, room left | the processor that has run a closure | + 1 | |
//! | put, full | the same | down to a batch | − what is too much |
//! | put, stock of another scope | the same | | − 1 |
//! | empty | see below | to 0 | − stock |
//!
//! **Zero means that everything has ended.** The count is at any time the number of credits out: those of the body and
//! of the unfinished closures, plus all stocks. The body adds a batch, or code inside an unfinished closure does,
//! so the count is not zero then. And the count never leaves zero, because nobody is left to spawn. Exactly one
//! subtraction brings the count to zero. Its result says so to the caller, which tells the waiting frame. That
//! subtraction is its last access to the scope, which may be gone right after it.
//!
//! **The count becomes zero.** A stock is emptied in each of these cases: when its processor has run all closures of
//! that scope that it holds itself ([`crate::machine::wait`]), when a carrier lets go of the processor, when it waits,
//! when the body of the scope ends there, and when the stock is needed for another scope. So after the last closure has
//! ended, no stock stays behind.
//!
//! **Orderings.** Subtractions release and acquire. A closure that put its credit into a stock was run by a carrier
//! that held the processor. The subtraction that gives the credit back is made later by the same carrier, or by one to
//! which the processor was handed over, with synchronisation. So the processor that brings the count to zero has seen
//! the ends of all closures. Additions need no order: they are made before the credits that they stand for are used.

use crate::protocol::carrier::Enabled;
use crate::system::fault::{Fault, planted};
use crate::system::primitive::AtomicUsize;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// How many credits a stock gets at a time.
const BATCH: usize = 64;
/// How many credits a stock holds at most.
const MOST: usize = 2 * BATCH;

/// See the module text. On its own cache line, apart from the parts of a scope that all closures read.
#[repr(align(128))]
pub(crate) struct Credits {
    out: AtomicUsize,
    tell: Tell,
}

/// Signals to the frame of the scope with these credits that everything has ended. Returns the carrier that must then
/// be given a processor.
pub(crate) type Tell = unsafe fn(NonNull<Credits>) -> Enabled;

/// The scope whose count this call brought to zero, if it did. The caller must signal it, by [`tell`].
pub(crate) type Ended = Option<NonNull<Credits>>;

/// Tells the frame of a scope, if it has `ended`. The caller must give a processor to the carrier that is returned.
#[inline]
pub(crate) fn tell(ended: Ended) -> Enabled {
    let credits = ended?;
    // SAFETY: the frame waits for the signal, and only the caller sets it. So the credits are alive until then.
    unsafe { (credits.as_ref().tell)(credits) }
}

impl Credits {
    /// With one credit out, for the body.
    pub(crate) fn new(tell: Tell) -> Credits {
        Credits { out: AtomicUsize::new(1), tell }
    }

    /// A credit for a closure that is spawned by a thread without a stock.
    pub(crate) fn add_one(&self) {
        self.out.fetch_add(1, Relaxed);
    }

    /// The body has ended, on a thread with this stock, if it has one. Returns whether everything has ended.
    pub(crate) fn end_body(&self, stock: Option<&Stock>) -> bool {
        let stocked =
            stock.filter(|stock| ptr::eq(stock.of.get(), self)).map_or(0, |stock| stock.credits.take());
        // SAFETY: the body's credit is out and belongs to the caller, as do those in the caller's stock.
        unsafe { Credits::subtract(self, stocked + 1) }.is_some()
    }

    /// # Safety
    /// `credits` of this scope are out, so the scope is alive, and these credits belong to the caller.
    unsafe fn subtract(scope: *const Credits, credits: usize) -> Ended {
        let order = if planted(Fault::SettleWithoutOrder) { Relaxed } else { AcqRel };
        // SAFETY: the scope is alive until the subtraction, and is not touched after it.
        let before = unsafe { (*scope).out.fetch_sub(credits, order) };
        if before == credits { NonNull::new(scope.cast_mut()) } else { None }
    }
}

/// The credits of one scope that a processor has. For the processor's holder.
pub(crate) struct Stock {
    /// The scope is alive if there are credits.
    of: Cell<*const Credits>,
    credits: Cell<usize>,
}

// SAFETY: any thread may tell the scope that the pointer names.
unsafe impl Send for Stock {}

impl Stock {
    pub(crate) fn new() -> Stock {
        Stock { of: Cell::new(ptr::null()), credits: Cell::new(0) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.credits.get() == 0
    }

    /// A credit for a closure that is spawned. If the stock held credits of another scope, giving them back may bring
    /// that scope to its end.
    ///
    /// # Safety
    /// The scope is alive, and the pointer's provenance covers everything that the code that ends the scope must reach.
    #[inline]
    #[must_use]
    pub(crate) unsafe fn take(&self, scope: NonNull<Credits>) -> Ended {
        let credits = self.credits.get();
        if credits > 0 && ptr::eq(self.of.get(), scope.as_ptr()) {
            self.credits.set(credits - 1);
            return None;
        }
        // SAFETY: as the caller promises.
        unsafe { self.take_more(scope) }
    }

    /// # Safety
    /// As for [`Stock::take`].
    #[cold]
    #[inline(never)]
    unsafe fn take_more(&self, scope: NonNull<Credits>) -> Ended {
        let ended = self.empty();
        // SAFETY: as the caller promises.
        unsafe { scope.as_ref() }.out.fetch_add(BATCH, Relaxed);
        self.of.set(scope.as_ptr());
        self.credits.set(BATCH - 1);
        ended
    }

    /// Puts back the credit of a closure that has ended.
    ///
    /// # Safety
    /// The credit is out and belongs to the caller.
    #[inline]
    #[must_use]
    pub(crate) unsafe fn put(&self, scope: NonNull<Credits>) -> Ended {
        let scope: *const Credits = scope.as_ptr();
        let credits = self.credits.get();
        if credits == 0 {
            self.of.set(scope);
        } else if self.of.get() != scope {
            // SAFETY: as the caller promises.
            return unsafe { Credits::subtract(scope, 1) };
        } else if credits == MOST {
            self.credits.set(BATCH);
            // SAFETY: the credits were in stock. Some remain there, so the count does not become zero.
            return unsafe { Credits::subtract(scope, MOST + 1 - BATCH) };
        }
        self.credits.set(credits + 1);
        None
    }

    /// Gives all credits back.
    #[inline]
    #[must_use]
    pub(crate) fn empty(&self) -> Ended {
        match self.credits.take() {
            0 => None,
            // SAFETY: the credits were in stock.
            credits => unsafe { Credits::subtract(self.of.get(), credits) },
        }
    }
}
