//! Carriers: the OS threads on whose stacks everything runs.
//!
//! A stack never leaves its carrier; processors do. At any time a carrier
//!
//! - **holds a processor** and runs jobs, searches, or waits for a join;
//! - **waits without one**: parked at a latch (its join missed), in [`crate::blocking`], or as a ready carrier
//!   in a deque or the pool's queue;
//! - or is a **spare** in the pool's list.
//!
//! A processor changes hands by [`Carrier::give`]: the giver stores it into the receiver's `given` word
//! (release), the receiver takes it out (acquire), so everything the giver did with the processor happens
//! before what the receiver does. Nobody gives to a carrier that has not been found in exactly one place (a
//! latch, an entry, the spare list), and leaving that place is atomic, so `given` never holds two.

use crate::primitive::{AtomicPtr, Thread, current_thread, park};
use crate::processor::Processor;
use crate::scheduler::resolution::WatchList;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// See the module text.
pub(crate) struct Carrier {
    /// Set before anybody can find the carrier waiting.
    thread: OnceLock<Thread>,
    given: AtomicPtr<Processor>,
    /// What the code on top of this carrier's stack descends from ([`crate::deque::Deque::set_root`]).
    root: Cell<usize>,
    /// What the carrier watches while it holds no processor: left by itself, or by whoever is about to give it one.
    pub(crate) watching: WatchList,
}

// SAFETY: others touch the thread's handle, set once, and `given`, an atomic; `root` is used by the carrier's own
// thread alone, `watching` by that and, while it waits, by the one who has found it waiting.
unsafe impl Sync for Carrier {}

/// Given in place of a processor: there is nothing more to do.
const STOP: *mut Processor = ptr::dangling_mut();

impl Carrier {
    /// The calling thread as a carrier.
    pub(crate) fn here() -> Carrier {
        let carrier = Carrier::to_be_started();
        carrier.started(&current_thread());
        carrier
    }

    /// A carrier whose thread is still to be started.
    pub(crate) fn to_be_started() -> Carrier {
        Carrier {
            thread: OnceLock::new(),
            given: AtomicPtr::new(ptr::null_mut()),
            root: Cell::new(0),
            watching: WatchList::default(),
        }
    }

    /// Tells the carrier its thread. Both the starter and the thread itself do that; whoever comes first.
    pub(crate) fn started(&self, thread: &Thread) {
        self.thread.get_or_init(|| thread.clone());
    }

    /// Hands `processor` to `carrier`, which continues at once.
    ///
    /// # Safety
    /// The carrier was found waiting, and was taken out of where it was found; the caller gives up its hold on
    /// the processor. The carrier may be gone after the call.
    pub(crate) unsafe fn give(carrier: NonNull<Carrier>, processor: NonNull<Processor>) {
        // SAFETY: as the caller promises.
        unsafe { Carrier::give_raw(carrier, processor.as_ptr()) }
    }

    /// Tells a spare to end.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(crate) unsafe fn stop(carrier: NonNull<Carrier>) {
        // SAFETY: as the caller promises.
        unsafe { Carrier::give_raw(carrier, STOP) }
    }

    unsafe fn give_raw(carrier: NonNull<Carrier>, processor: *mut Processor) {
        // The handle is cloned first: the carrier's thread may see the word, run on and end before unpark.
        // SAFETY: a waiting carrier is alive until it is given something.
        let thread = unsafe { carrier.as_ref() }.thread.get().cloned();
        // SAFETY: as above; this is the last access.
        unsafe { carrier.as_ref() }.given.store(processor, Release);
        thread.expect("a waiting carrier has a thread").unpark();
    }

    /// Waits to be given a processor. None: to stop.
    pub(crate) fn receive(&self) -> Option<NonNull<Processor>> {
        loop {
            let given = self.given.load(Acquire);
            if given.is_null() {
                park(self.thread.get().expect("a waiting carrier has a thread"));
                continue;
            }
            // Nobody gives again before this carrier is found waiting again, so a plain store will do.
            self.given.store(ptr::null_mut(), Relaxed);
            return if given == STOP { None } else { NonNull::new(given) };
        }
    }

    pub(crate) fn root(&self) -> usize {
        self.root.get()
    }

    /// Changes the root; returns the one before.
    pub(crate) fn set_root(&self, root: usize) -> usize {
        self.root.replace(root)
    }
}
