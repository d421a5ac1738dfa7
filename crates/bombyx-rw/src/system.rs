//! What the pool asks of the system: memory for chunks, and to rest. On Unix these are single calls of the kernel, which take
//! no locks of the process. Elsewhere they are the standard library's, whose allocator may lock. It is asked for whole
//! chunks only.

use std::ptr::NonNull;

#[cfg(unix)]
mod calls {
    use std::ptr::{self, NonNull};

    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: a new private mapping touches no memory that exists.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        NonNull::new(memory.cast()).filter(|_| memory != libc::MAP_FAILED)
    }

    /// # Safety
    /// As for [`super::unmap`].
    pub(super) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) {
        // SAFETY: by the caller's promise.
        unsafe { libc::munmap(memory.as_ptr().cast(), bytes) };
    }

    pub(super) fn give_way() {
        // SAFETY: a call of the kernel without arguments.
        unsafe { libc::sched_yield() };
    }

    pub(super) fn nap() {
        // SAFETY: a call of the kernel with a plain number.
        unsafe { libc::usleep(50) };
    }

    pub(super) fn abort() -> ! {
        // SAFETY: abort has no preconditions.
        unsafe { libc::abort() }
    }
}

#[cfg(not(unix))]
mod calls {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;
    use std::time::Duration;

    /// As mappings are.
    const PAGE: usize = 4096;

    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes.max(1), PAGE).ok()
    }

    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the layout is not empty.
        NonNull::new(unsafe { alloc_zeroed(layout(bytes)?) })
    }

    /// # Safety
    /// As for [`super::unmap`].
    pub(super) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) {
        let Some(layout) = layout(bytes) else { return };
        // SAFETY: by the caller's promise, `map` has allocated it with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }

    pub(super) fn give_way() {
        std::thread::yield_now();
    }

    pub(super) fn nap() {
        std::thread::sleep(Duration::from_micros(50));
    }

    pub(super) fn abort() -> ! {
        std::process::abort()
    }
}

/// Zeroed memory.
pub(crate) fn map(bytes: usize) -> NonNull<u8> {
    calls::map(bytes).unwrap_or_else(|| out_of_memory())
}

/// Gives back memory of [`map`].
///
/// # Safety
/// `memory` came from `map(bytes)`, and nobody uses it any more.
pub(crate) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: by the caller's promise.
    unsafe { calls::unmap(memory, bytes) };
}

#[cold]
fn out_of_memory() -> ! {
    calls::abort()
}

/// Lets other threads have the core.
#[inline]
pub(crate) fn give_way() {
    calls::give_way();
}

/// Sleeps a little.
pub(crate) fn nap() {
    calls::nap();
}
