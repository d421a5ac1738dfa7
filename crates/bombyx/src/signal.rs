//! How a frame learns that what it started in a pool has ended, wherever the frame itself lives.
//!
//! A [`Latch`] names a carrier that must be given a processor. If the frame waits in the very pool where the work
//! ends, whoever ends it gives its own processor, as after a join. If the frame waits in *another* pool, its
//! carrier belongs there and is readmitted there ([`Commons::readmit`]); if it is on a thread that holds no
//! processor at all, that thread is merely woken. A [`Signal`] knows which of the three it is.

use crate::commons::Commons;
use crate::job::Enabled;
use crate::latch::Latch;
use crate::processor::current;
use crate::wait::{Waited, wait};
use std::ptr;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::Duration;

/// See the module text.
pub(crate) struct Signal {
    latch: Latch,
    waiter: Waiter,
}

/// Who will wait.
enum Waiter {
    /// A carrier of the pool where the work is done.
    Here,
    /// A carrier of this other pool.
    Elsewhere(Arc<Commons>),
    /// A thread that holds no processor.
    Outside(Thread),
}

impl Signal {
    /// A signal that the calling thread will wait for, set by work in the pool of `commons`.
    pub(crate) fn from(commons: &Commons) -> Signal {
        let waiter = match current::processor().map(|processor| processor.commons()) {
            Some(home) if ptr::eq(home, commons) => Waiter::Here,
            Some(home) => Waiter::Elsewhere(home.arc()),
            None => Waiter::Outside(thread::current()),
        };
        Signal { latch: Latch::new(), waiter }
    }

    /// Whether the one who waits is a carrier of the pool where the work is done.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.waiter, Waiter::Here)
    }

    /// Sets the signal. Whoever is returned is the caller's to give a processor to.
    ///
    /// # Safety
    /// The signal is alive; it may be gone after the call. To be called once, by a carrier of the pool that the
    /// signal was made for.
    pub(crate) unsafe fn set(signal: *const Signal) -> Enabled {
        // SAFETY: alive until the latch is set. What is needed after that is cloned before.
        unsafe {
            match &(*signal).waiter {
                Waiter::Here => Latch::set(&raw const (*signal).latch),
                Waiter::Elsewhere(home) => {
                    let home = Arc::clone(home);
                    if let Some(carrier) = Latch::set(&raw const (*signal).latch) {
                        home.readmit(carrier);
                    }
                    None
                }
                Waiter::Outside(thread) => {
                    let thread = thread.clone();
                    let nobody = Latch::set(&raw const (*signal).latch);
                    debug_assert!(nobody.is_none(), "a thread without a processor does not park at a latch");
                    thread.unpark();
                    None
                }
            }
        }
    }

    /// Waits for so long, if the thread that made the signal holds no processor. True if there is nothing more to be had from
    /// waiting like that: the signal is set, or the thread is a carrier.
    pub(crate) fn wait_outside(&self, time: Duration) -> bool {
        let Waiter::Outside(_) = self.waiter else { return true };
        if !self.latch.is_done() {
            thread::park_timeout(time);
        }
        self.latch.is_done()
    }

    /// Waits until the signal is set, on the thread that made it. A carrier helps meanwhile with what descends
    /// from `key`, as in every wait, and may hold another processor afterwards.
    pub(crate) fn wait(&self, key: usize) {
        match self.waiter {
            Waiter::Here | Waiter::Elsewhere(_) => {
                // The joins below on this stack may come back on another processor, and nothing tells that their
                // halves were taken first.
                current::held().deque.expose_all();
                let Waited::Done = wait(&self.latch, key, None) else {
                    unreachable!("only a join's own job is reclaimed")
                };
            }
            Waiter::Outside(_) => {
                while !self.latch.is_done() {
                    thread::park();
                }
            }
        }
    }
}
