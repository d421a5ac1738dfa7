//! `membarrier(2)`, and what the process knows of it.
//!
//! **Not here:** who relies on it ([`super`]).

use super::unwanted;
use crate::system::together::Together;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{
    AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::thread;
use std::time::Duration;

const UNKNOWN: usize = 0;
const REGISTERING: usize = 1;
const OFFERED: usize = 2;
const REFUSED: usize = 3;

/// The barriers of this process.
static PROCESS: Together = Together::new();
static STATE: AtomicUsize = AtomicUsize::new(UNKNOWN);
/// The longest time until others see what a core has stored.
const STORES_TAKE: Duration = Duration::from_millis(1);

const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Whether processors may rely on the heavy barrier.
#[inline]
pub(crate) fn offered() -> bool {
    // Acquire: the registration has been done.
    STATE.load(Acquire) == OFFERED
}

/// Registers, if that takes no time.
pub(crate) fn prepare() {
    if STATE.load(Relaxed) == UNKNOWN && !unwanted() && is_only_thread() && begin() {
        register();
    }
}

/// Registers on a separate thread, which nobody waits for. Once per process.
#[cold]
pub(crate) fn prepare_beside() {
    if STATE.load(Relaxed) != UNKNOWN || unwanted() || !begin() {
        return;
    }
    let beside =
        thread::Builder::new().name("bombyx-barrier".to_owned()).stack_size(64 << 10).spawn(register);
    if beside.is_err() {
        // No thread can be started, so this takes ten milliseconds of the calling one.
        register();
    }
}

/// Whether it is known if processors may rely on the barrier.
#[cfg(test)]
pub(super) fn is_settled() -> bool {
    matches!(STATE.load(Relaxed), OFFERED | REFUSED)
}

/// The calling thread is in a child process. The child inherits a registration, but a thread that was about to
/// register is in the parent.
pub(crate) fn leave_parent() {
    let _ = STATE.compare_exchange(REGISTERING, UNKNOWN, Relaxed, Relaxed);
    PROCESS.reset();
}

fn begin() -> bool {
    STATE.compare_exchange(UNKNOWN, REGISTERING, Relaxed, Relaxed).is_ok()
}

fn register() {
    match membarrier(REGISTER_PRIVATE_EXPEDITED) {
        Ok(()) => STATE.store(OFFERED, Release),
        Err(error) => refused(&error),
    }
}

/// Makes every running thread of the process execute a full barrier, or waits for another caller's
/// ([`crate::system::together`]). False if the kernel refuses.
pub(super) fn interrupt() -> bool {
    let call = || membarrier(PRIVATE_EXPEDITED).map_err(|error| refused(&error)).is_ok();
    offered() && PROCESS.call(call)
}

/// Says so once, unless the kernel has no such call at all.
#[cold]
fn refused(error: &io::Error) {
    if STATE.swap(REFUSED, AcqRel) != REFUSED && error.raw_os_error() != Some(libc::ENOSYS) {
        let text = format!(
            "bombyx: the system refuses membarrier(2): {error}; going on without it, with slower forks \
             (BOMBYX_BARRIER=fence does without it from the start)\n"
        );
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Waits until what was stored before is visible everywhere.
#[cold]
pub(crate) fn wait_for_stores() {
    thread::sleep(STORES_TAKE);
}

/// Whether the process is known to have no other thread. The folder has a link for each thread, and two more.
fn is_only_thread() -> bool {
    std::fs::metadata("/proc/self/task").is_ok_and(|tasks| tasks.nlink() == 3)
}

fn membarrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: membarrier takes three integers and touches no memory of ours.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
