//! One thing of the whole process that is made at its first use, and that a child of fork(2) makes anew.
//!
//! `OnceLock` will not do: a child may be copied while a thread of its parent makes the thing. The child does not have that
//! thread, and would wait for it for ever.
//!
//! The word is null, *unfinished*, or the address of the thing, which is never freed.
//!
//! - **Only one thread makes the thing.** Only that thread's compare-and-swap finds null, because nothing in this process
//!   stores null. The others find *unfinished*, and wait.
//! - **Whoever gets the thing sees what its maker wrote**, because the maker stores the address with release, and everybody
//!   loads it with acquire.
//! - **A child waits for no thread of its parent.** The child begins with one thread, and forgets the word before that
//!   thread does anything else. In the parent the maker goes on, and the child's copy of what it had made so far is unused.

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicPtr, Spin, const_fn};
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// See the module text.
pub(crate) struct Made<T: 'static>(AtomicPtr<T>);

/// Stands for a thing that somebody makes. No thing has this address.
fn unfinished<T>() -> *mut T {
    ptr::without_provenance_mut(1)
}

impl<T: Sync> Made<T> {
    const_fn! {
        pub(crate) fn not_yet() -> Made<T> {
            Made(AtomicPtr::new(ptr::null_mut()))
        }
    }

    /// The thing, if it is finished.
    pub(crate) fn get(&self) -> Option<&'static T> {
        finished(self.0.load(Acquire))
    }

    /// The thing. Makes it with `make`, or waits for the thread that makes it.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> T) -> &'static T {
        if self.begin() {
            let made = Box::into_raw(Box::new(make()));
            self.0.store(made, if planted(Fault::MakeWithoutOrder) { Relaxed } else { Release });
        }
        let mut spin = Spin::default();
        loop {
            if let Some(thing) = self.get() {
                return thing;
            }
            spin.pause();
        }
    }

    /// Whether the caller must make the thing.
    fn begin(&self) -> bool {
        if planted(Fault::MakeTwice) {
            let first = self.0.load(Acquire).is_null();
            if first {
                self.0.store(unfinished(), Relaxed);
            }
            return first;
        }
        // Relaxed, because whoever makes the thing needs nothing from others, and the others load again.
        self.0.compare_exchange(ptr::null_mut(), unfinished(), Relaxed, Relaxed).is_ok()
    }

    /// Called in a child of fork(2), by its only thread. Returns what the parent had, if it was finished.
    pub(crate) fn forget(&self) -> Option<&'static T> {
        finished(self.0.swap(ptr::null_mut(), AcqRel))
    }
}

fn finished<T>(word: *mut T) -> Option<&'static T> {
    // SAFETY: neither null nor unfinished, so it is the address of a thing that is never freed.
    (word != unfinished() && !word.is_null()).then(|| unsafe { &*word })
}
