//! The one switch between the standard library's primitives and loom's.
//!
//! Every module that takes part in a protocol gets its atomics, mutexes and parking from here, so that the
//! very code that ships is the code that the models explore (`scripts/loom`).

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard, TryLockError,
        atomic::{AtomicPtr, AtomicUsize, fence},
    },
    thread::{Thread, current as current_thread, park, yield_now},
};

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicPtr, AtomicUsize, fence},
    },
    thread::{Thread, current as current_thread, park, yield_now},
};
#[cfg(loom)]
pub(crate) use std::sync::TryLockError;

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
