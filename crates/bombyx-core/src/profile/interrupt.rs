//! What a signal that ends the process leaves behind: the files that the environment asks for, of the runs that have ended.
//!
//! A signal handler may do next to nothing, so ours writes the signal's number into a pipe, at whose other end a thread waits:
//! it writes the files as at the end of the process and then lets the signal have its way, so that the process ends by it, as
//! it would without a profiler. A second signal does so at once. Signals that the program handles or ignores when its first pool
//! is built are left alone, and a handler that it installs later takes the place of ours.
//!
//! A child of fork(2) has the handler, and no thread to tell: there signals do what they always did, at once.
//!
//! A run that has not ended is on the stacks of threads that run it, and is not looked at.

use crate::system::process::Hooks;
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, RawFd};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::{fs, mem, ptr, thread};

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The end of the pipe that the handler writes to. Set before there is a handler.
static TO_THREAD: AtomicI32 = AtomicI32::new(-1);

/// Calls `write` when such a signal comes. To be called once. Where the system gives no pipe or no thread, signals do what
/// they always did.
pub(super) fn before_the_end(write: fn()) {
    let ours: Vec<_> = SIGNALS.into_iter().filter(|&signal| is_default(signal)).collect();
    if ours.is_empty() {
        return;
    }
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the array has room for the two numbers that are written into it.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return;
    }
    static HOOKS: Hooks = Hooks { before: || (), in_child: leave_parent, is_lost: || false };
    HOOKS.register();
    TO_THREAD.store(ends[1], Relaxed);
    // SAFETY: the pipe was made above, and nobody else has this end of it.
    let mut signals = unsafe { fs::File::from_raw_fd(ends[0]) };
    let waits = move || {
        let mut signal = [0];
        if signals.read_exact(&mut signal).is_ok() {
            write();
            // SAFETY: has no memory effects. The handler was removed when it was called.
            unsafe { libc::kill(libc::getpid(), libc::c_int::from(signal[0])) };
        }
    };
    if thread::Builder::new().name("bombyx-signals".to_owned()).spawn(waits).is_ok() {
        for signal in ours {
            handle(signal);
        }
    }
}

/// The calling thread is the one of a child process, where nobody reads what the handler would write; the parent's thread
/// must not. Whoever the handler is called for from now on shall end as if there were none.
fn leave_parent() {
    if TO_THREAD.swap(-1, Relaxed) == -1 {
        return;
    }
    for signal in SIGNALS {
        if handler_of(signal) == Some(ours()) {
            set_handler(signal, libc::SIG_DFL, 0);
        }
    }
}

fn is_default(signal: libc::c_int) -> bool {
    handler_of(signal) == Some(libc::SIG_DFL)
}

fn handle(signal: libc::c_int) {
    set_handler(signal, ours(), libc::SA_RESTART | libc::SA_RESETHAND);
}

/// Our handler, as the system calls it.
fn ours() -> libc::sighandler_t {
    tell_thread as extern "C" fn(libc::c_int) as libc::sighandler_t
}

fn handler_of(signal: libc::c_int) -> Option<libc::sighandler_t> {
    // SAFETY: all zeros are a valid sigaction, which outlives the call that fills it in.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        (libc::sigaction(signal, ptr::null(), &mut action) == 0).then_some(action.sa_sigaction)
    }
}

fn set_handler(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) {
    // SAFETY: all zeros are a valid sigaction; handler and flags are set before it is used. Handlers are ours, which is
    // async-signal-safe, or the default.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

extern "C" fn tell_thread(signal: libc::c_int) {
    let byte = signal as u8;
    let to_thread = TO_THREAD.load(Relaxed);
    if to_thread == -1 {
        // In a child, in the moment before it forgets the handler. The system has forgotten it for this signal, so that it has
        // its way now.
        // SAFETY: `raise` may be called in signal handlers (signal-safety(7)).
        unsafe { libc::raise(signal) };
        return;
    }
    // SAFETY: `write` may be called in signal handlers (signal-safety(7)), and reads one byte that is there. What it says of
    // errors is kept from whom the signal interrupted.
    unsafe {
        let error = *libc::__errno_location();
        libc::write(to_thread, (&raw const byte).cast(), 1);
        *libc::__errno_location() = error;
    }
}
