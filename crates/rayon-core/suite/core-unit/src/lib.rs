//! The core under test, arranged so that the original's unit tests find what they name.

pub use rayon_core::*;

#[cfg(test)]
mod broadcast;
#[cfg(test)]
mod join;
#[cfg(test)]
mod scope;
#[cfg(test)]
mod spawn;
#[cfg(test)]
#[path = "../../upstream-core/src/test.rs"]
mod test;
#[cfg(test)]
mod thread_pool;

/// The original's wrapper of `catch_unwind`.
#[cfg(test)]
mod unwind {
    pub(crate) fn halt_unwinding<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
    }
}

/// The original's way onto a thread of the pool, by means of the public interface.
#[cfg(test)]
mod registry {
    pub(crate) fn in_worker<R: Send>(op: impl FnOnce((), bool) -> R + Send) -> R {
        rayon_core::scope(|_| op((), false))
    }
}
