//! Barriers that several threads share.
//!
//! The heavy barrier interrupts every core that runs a thread of the process. If sixty thieves want one at the same time,
//! sixty barriers would interrupt every core sixty times. But one barrier serves all threads that wanted one before it
//! began. So while a barrier runs, all other threads wait for its end. Then one of them issues the next one for all.
//!
//! A caller has stored something and issued a full fence. It reads how many barriers have *begun*, and waits for the end
//! of the next one, or issues it. The thread that issues the next one first counts it, issues a full fence, and calls the
//! kernel. The caller did not see this count. So its fence comes before the other thread's fence, and the barrier comes
//! after the caller's store. The caller reads the *end* of that barrier with acquire, so it sees what the barrier has made
//! visible.
//!
//! A caller waits for at most two barriers: the one that runs when it comes, and the next. At any time at most one runs.
//! So during one barrier, each core is interrupted once, however many threads want one.
//!
//! A child of fork(2) has only the thread that forked, and that thread was not issuing a barrier ([`Together::reset`]).

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicBool, AtomicUsize, Spin, const_fn, fence};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// See the module text.
pub(crate) struct Together {
    /// How many barriers have begun. Written by the thread that has set `running`.
    begun: AtomicUsize,
    /// The number of the last barrier that has ended. Written by the thread that has set `running`.
    ended: AtomicUsize,
    /// Whether the last barrier reached everybody. Written by the thread that has set `running`.
    reached: AtomicBool,
    /// Whether somebody makes a barrier.
    running: AtomicBool,
}

impl Together {
    const_fn! {
        pub(crate) fn new() -> Together {
            Together {
                begun: AtomicUsize::new(0),
                ended: AtomicUsize::new(0),
                reached: AtomicBool::new(false),
                running: AtomicBool::new(false),
            }
        }
    }

    /// Returns after the end of a `barrier` that began after this call, no matter which thread made it. Returns whether
    /// a barrier that began after this call reached everybody. The caller has issued a full fence.
    #[must_use]
    pub(crate) fn call(&self, barrier: impl Fn() -> bool) -> bool {
        let begun = self.begun.load(Relaxed);
        let next = begun.wrapping_add(usize::from(!planted(Fault::ShareRunningBarrier)));
        let mut spin = Spin::default();
        while !self.has_ended(next) {
            if self.running.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                spin.pause();
                continue;
            }
            // Somebody else may have made it in between.
            if !self.has_ended(next) {
                let number = self.begun.load(Relaxed).wrapping_add(1);
                self.begun.store(number, Relaxed);
                // Pairs with the callers' fences.
                fence(SeqCst);
                self.reached.store(barrier(), Relaxed);
                self.ended.store(number, Release);
            }
            self.running.store(false, Release);
        }
        // If a later barrier has ended meanwhile, this tells of that one. It began after this call, too.
        self.reached.load(Relaxed)
    }

    fn has_ended(&self, number: usize) -> bool {
        self.ended.load(Acquire).wrapping_sub(number) as isize >= 0
    }

    /// The calling thread is the only one of a child process.
    pub(crate) fn reset(&self) {
        self.running.store(false, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::system::primitive::tests::gives_way;

    /// Two threads come while a barrier runs. One of them makes the next one, for both.
    #[test]
    fn those_who_wait_share_the_next_barrier() {
        let together = Together {
            begun: AtomicUsize::new(1),
            ended: AtomicUsize::new(0),
            reached: AtomicBool::new(true),
            running: AtomicBool::new(true),
        };
        let made = AtomicUsize::new(0);
        let wait = || {
            together.call(|| {
                made.fetch_add(1, Relaxed);
                true
            })
        };
        let first_ends = || {
            assert_eq!(made.load(Relaxed), 0, "the first one still runs");
            together.ended.store(1, Release);
            together.running.store(false, Release);
        };
        assert!(gives_way(wait, || assert!(gives_way(wait, first_ends))));
        assert_eq!((made.into_inner(), together.ended.into_inner()), (1, 2));
    }

    #[test]
    fn whoever_comes_later_makes_another_one() {
        let together = Together {
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            reached: AtomicBool::new(false),
            running: AtomicBool::new(false),
        };
        assert!(together.call(|| true));
        assert!(!together.call(|| false), "the first one was before this call");
        assert_eq!(together.ended.into_inner(), 2);
    }
}
