//! The one switch between the standard library's primitives and loom's.
//!
//! Every module that takes part in a protocol gets its atomics, mutexes and parking from here, so that the
//! very code that ships is the code that the models explore (`scripts/loom`).

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard, TryLockError,
        atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, fence},
    },
    thread::{Thread, current as current_thread, yield_now},
};

#[cfg(loom)]
pub(crate) use self::parking::{Thread, current_thread};
#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, fence},
    },
    thread::yield_now,
};
#[cfg(loom)]
pub(crate) use std::sync::TryLockError;

/// Parks the calling thread, whose handle `thread` is, until it is unparked (or for no reason).
pub(crate) fn park(thread: &Thread) {
    #[cfg(not(loom))]
    {
        debug_assert_eq!(thread.id(), std::thread::current().id());
        std::thread::park();
    }
    #[cfg(loom)]
    thread.park();
}

/// Parking for the models, on loom's `Notify`: its own park and unpark forget a token when the thread they are
/// meant for waits for a mutex.
#[cfg(loom)]
mod parking {
    #[derive(Clone)]
    pub(crate) struct Thread(std::sync::Arc<loom::sync::Notify>);

    pub(crate) fn current_thread() -> Thread {
        Thread(std::sync::Arc::new(loom::sync::Notify::new()))
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            self.0.notify();
        }

        pub(super) fn park(&self) {
            self.0.wait();
        }
    }
}

/// An `UnsafeCell` whose accesses loom checks for races.
#[cfg(not(loom))]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    #[inline(always)]
    pub(crate) fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// Locks, ignoring poison: no code that can panic runs under any lock of this crate.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Locks if that needs no waiting.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
