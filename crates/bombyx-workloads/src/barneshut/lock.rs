//! The two kinds of locks that Narlikar's Figure 14 compares: those that block the thread and free its processor for other
//! work, and those that spin. Both are held for a few stores only.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Mutex, TryLockError};

/// Mutual exclusion.
pub(super) trait Lock: Default + Send + Sync {
    /// Runs `f` while nobody else holds the lock. `f` must not panic.
    fn hold<R>(&self, f: impl FnOnce() -> R) -> R;
}

/// A thread that finds it taken sleeps. On a Bombyx pool, the processor goes on with other work meanwhile.
#[derive(Default)]
pub(super) struct Blocking(Mutex<()>);

impl Lock for Blocking {
    fn hold<R>(&self, f: impl FnOnce() -> R) -> R {
        let _guard = loop {
            match self.0.try_lock() {
                Ok(guard) => break guard,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                // Waits until it was free once, and lets go again. Holding it until there is a processor would make
                // others wait for that too.
                Err(TryLockError::WouldBlock) => bombyx::blocking(|| drop(self.0.lock())),
            }
        };
        f()
    }
}

/// A thread that finds it taken looks again until it is free.
#[derive(Default)]
pub(super) struct Spinning(AtomicBool);

impl Lock for Spinning {
    fn hold<R>(&self, f: impl FnOnce() -> R) -> R {
        while self.0.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            while self.0.load(Relaxed) {
                spin_loop();
            }
        }
        let result = f();
        self.0.store(false, Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts with loads and stores that are atomic only one by one.
    fn excludes<L: Lock>() {
        const EACH: u32 = 20_000;
        let (lock, count) = (L::default(), std::sync::atomic::AtomicU32::new(0));
        let work = || (0..EACH).for_each(|_| lock.hold(|| count.store(count.load(Relaxed) + 1, Relaxed)));
        std::thread::scope(|s| (0..3).for_each(|_| drop(s.spawn(work))));
        assert_eq!(count.into_inner(), 3 * EACH);
    }

    #[test]
    fn one_at_a_time() {
        excludes::<Blocking>();
        excludes::<Spinning>();
    }
}
