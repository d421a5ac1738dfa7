//! How a scope knows that all its closures have ended, without a counter that every spawn and every end writes to.
//!
//! [`Credits`] counts what a scope has out: one credit for its body and one for every closure that has not ended. A
//! processor keeps a [`Stock`] of credits of one scope: a spawn takes its credit from there, a closure that ends puts its
//! own back. Only when the stock is empty or full do credits move between it and the count, [`BATCH`] at a time, and so
//! the line that all processors of a busy scope would fight for is rarely touched.
//!
//! | step | by | stock | scope |
//! |---|---|---|---|
//! | take, stocked | who spawns | −1 | |
//! | take, else | who spawns | + batch − 1 | + batch |
//! | put, room left | who has run a closure | + 1 | |
//! | put, full | who has run a closure | down to a batch | − what is too much |
//! | put, stock of another scope | who has run a closure | | − 1 |
//! | empty | see below | to 0 | − stock |
//!
//! **Zero means that all has ended.** The count is at any time the number of credits out: those of the body and the
//! unfinished closures, plus all stocks. Who adds a batch is the body, or runs inside of an unfinished closure, so it adds
//! to what is not zero; and from zero nothing leads away, because nobody is left who could spawn. Whoever brings it to zero
//! learns that by its own subtraction, alone, and tells the waiting frame. That subtraction is its last access to the
//! scope, which may be gone right after it.
//!
//! **It becomes zero.** A stock is emptied when its processor has run the closures of that scope that it has itself
//! ([`crate::machine::wait`]), when a carrier lets go of the processor, when it waits, when the body of the scope ends there, and when
//! it is needed for another scope. So after the last closure has ended, no stock stays behind.
//!
//! **Orderings.** Subtractions release and acquire. A closure that put its credit into a stock was run by a carrier that
//! held the processor; the subtraction that gives the credit back is made by the same carrier, later, or by one to which
//! the processor was handed over, with synchronisation. So the one who brings the count to zero has seen the ends of all
//! closures. Additions need no order: they are made before the credits that they stand for are used.

use crate::protocol::carrier::Enabled;
use crate::system::fault::{Fault, planted};
use crate::system::primitive::AtomicUsize;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// How many credits a stock gets at a time.
const BATCH: usize = 64;
/// How many a stock holds at most.
const MOST: usize = 2 * BATCH;

/// See the module text. Apart from what else a scope has, which all closures read.
#[repr(align(128))]
pub(crate) struct Credits {
    out: AtomicUsize,
    tell: Tell,
}

/// Signals to the frame of the scope with these credits that everything has ended. Returns the carrier that must be given a
/// processor for that.
pub(crate) type Tell = unsafe fn(NonNull<Credits>) -> Enabled;

/// The scope whose count this call brought to zero, if it did; the caller must signal it, by [`tell`].
pub(crate) type Ended = Option<NonNull<Credits>>;

/// Tells the frame of a scope, if it has `ended`. Whoever is returned is the caller's to give a processor to.
#[inline]
pub(crate) fn tell(ended: Ended) -> Enabled {
    let credits = ended?;
    // SAFETY: the frame waits for the signal, which the caller alone sets; so the credits are alive until then.
    unsafe { (credits.as_ref().tell)(credits) }
}

impl Credits {
    /// One credit is out, for the body.
    pub(crate) fn new(tell: Tell) -> Credits {
        Credits { out: AtomicUsize::new(1), tell }
    }

    /// A credit for a closure that is spawned by a thread that has no stock.
    pub(crate) fn add_one(&self) {
        self.out.fetch_add(1, Relaxed);
    }

    /// The body has ended, on a thread with this stock, if it has one. True if everything has.
    pub(crate) fn end_body(&self, stock: Option<&Stock>) -> bool {
        let stocked =
            stock.filter(|stock| ptr::eq(stock.of.get(), self)).map_or(0, |stock| stock.credits.take());
        // SAFETY: the body's credit is out, and the caller's, as are those in its stock.
        unsafe { Credits::subtract(self, stocked + 1) }.is_some()
    }

    /// # Safety
    /// `credits` of this scope are out, so that it is alive, and the caller has them.
    unsafe fn subtract(scope: *const Credits, credits: usize) -> Ended {
        let order = if planted(Fault::SettleWithoutOrder) { Relaxed } else { AcqRel };
        // SAFETY: alive until the subtraction; not touched after it.
        let before = unsafe { (*scope).out.fetch_sub(credits, order) };
        if before == credits { NonNull::new(scope.cast_mut()) } else { None }
    }
}

/// The credits of one scope that a processor has. Holder.
pub(crate) struct Stock {
    /// Alive if there are credits.
    of: Cell<*const Credits>,
    credits: Cell<usize>,
}

// SAFETY: the scope that the pointer names may be told from any thread.
unsafe impl Send for Stock {}

impl Stock {
    pub(crate) fn new() -> Stock {
        Stock { of: Cell::new(ptr::null()), credits: Cell::new(0) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.credits.get() == 0
    }

    /// A credit for a closure that is spawned. What was in stock of another scope may have been that one's last.
    ///
    /// # Safety
    /// The scope is alive, and the pointer good for all that whoever ends it needs to find.
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

    /// Puts the credit of a closure back that has ended.
    ///
    /// # Safety
    /// The credit is out, and the caller's.
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
            // SAFETY: the credits were in stock. Some still are, so this is not the end.
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
