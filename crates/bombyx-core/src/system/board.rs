//! Memory that another process of the same user can look at. It needs no file on a disk, no socket, no thread and no signal.
//!
//! It is a memory file (memfd_create(2)) that stays open and is mapped once. Another process opens it through `/proc/PID/fd`.
//! The system allows this only to the same user and to root. The file disappears with the process.
//!
//! **The file's number is never used again.** A program may close all its files, as daemons do, and then open others
//! that get the same number. So [`memory`] makes the file, sets its size, maps it and seals the size. After that, the runtime
//! uses only the memory. Because the size is sealed, nobody can take that memory away.
//!
//! **Not here:** what is in the memory.

use crate::system::primitive::AtomicU64;
use std::ffi::CStr;

/// Memory for this many words, all zeros, that is never given back. `None` if the system has none.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn memory(name: &CStr, words: usize) -> Option<&'static [AtomicU64]> {
    let bytes = words * size_of::<AtomicU64>();
    if !may_have_file(bytes) {
        return None;
    }
    let file = new_file(name)?;
    // SAFETY: the file was made above, and nobody else has used its number.
    let sized = unsafe { libc::ftruncate(file, bytes as libc::off_t) } == 0;
    // SAFETY: a new mapping, at an address that the system chooses.
    let mapped = sized.then(|| unsafe {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), bytes, rights, libc::MAP_SHARED, file, 0)
    });
    // From now on nobody can change the size, and nobody else can write. Before Linux 5.1 there is no seal against writing.
    const FUTURE_WRITE: libc::c_int = 16;
    let size = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    // SAFETY: as above.
    let sealed = |seals: libc::c_int| unsafe { libc::fcntl(file, libc::F_ADD_SEALS, seals) } == 0;
    match mapped.filter(|&mapped| mapped != libc::MAP_FAILED && (sealed(size | FUTURE_WRITE) || sealed(size)))
    {
        // SAFETY: the mapping has this size, begins at a page, and is never unmapped. Zeros are valid atomics.
        Some(mapped) => Some(unsafe { std::slice::from_raw_parts(mapped.cast(), words) }),
        None => {
            // SAFETY: as above.
            unsafe { libc::close(file) };
            None
        }
    }
}

/// Other systems have no such memory.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn memory(_name: &CStr, _words: usize) -> Option<&'static [AtomicU64]> {
    None
}

/// Whether files may have this size. If not, the system would end the process for making one (setrlimit(2), RLIMIT_FSIZE).
#[cfg(all(target_os = "linux", not(miri)))]
fn may_have_file(bytes: usize) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives the call that fills it in.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    known && limit.rlim_cur >= bytes as libc::rlim_t
}

/// A new memory file. Programs that this process starts do not inherit it.
#[cfg(all(target_os = "linux", not(miri)))]
fn new_file(name: &CStr) -> Option<libc::c_int> {
    // Since Linux 6.3. Some systems refuse files that could be executed.
    const NOEXEC_SEAL: libc::c_uint = 8;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name outlives the call.
    let made = |flags: libc::c_uint| unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) };
    [flags | NOEXEC_SEAL, flags].into_iter().map(made).find(|&file| file >= 0).map(|file| file as libc::c_int)
}

/// Called in a child of fork(2): puts zeros in the place of the memory, so that the child's writes do not reach its parent.
///
/// Neither allocates nor waits.
pub(crate) fn leave_parent(memory: &'static [AtomicU64]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: this replaces the mapping that `memory` made, exactly and whole, by another one of the same size. The process has
    // one thread now, and the words become zeros, which are valid atomics.
    unsafe {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let address = memory.as_ptr().cast_mut().cast();
        libc::mmap(address, size_of_val(memory), rights, flags, -1, 0);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = memory;
}
