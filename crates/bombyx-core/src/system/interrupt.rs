//! What a signal that ends the process leaves behind: the files that the environment asks for. These are the profile (with
//! what carriers have reported of unfinished runs), the recording of the runs that have ended, and the trace.
//!
//! A signal handler may do next to nothing. So ours writes the signal's number into a pipe, and a thread waits at the
//! other end. That thread writes the files as at the end of the process, and then lets the signal act. So the process
//! ends by the signal, as it would if nothing were measured. A second signal acts at once. Signals that the program handles
//! or ignores when its first pool is built are left alone, and a handler that it installs later replaces ours.
//!
//! A child of fork(2) has the handler, but no thread to tell. There, signals act at once, as they always did.
//!
//! An unfinished run is on the stacks of the threads that run it, where no other thread may look. But carriers report to the
//! profiler now and then what they have done so far (`Shadow::look`), and the profile has the last of these reports.

use crate::system::primitive::lock;
use crate::system::process::Hooks;
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::{fs, mem, ptr, thread};

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The end of the pipe that the handler writes to. Set before there is a handler.
static TO_THREAD: AtomicI32 = AtomicI32::new(-1);

/// Who writes when a signal comes.
static WRITERS: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

/// Calls `write` when such a signal comes. If the system gives no pipe or no thread, signals act as they always did.
pub(crate) fn before_the_end(write: fn()) {
    let mut writers = lock(&WRITERS);
    writers.push(write);
    if writers.len() == 1 {
        watch();
    }
}

/// Begins to wait for signals.
fn watch() {
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
            let writers = lock(&WRITERS).clone();
            writers.iter().for_each(|write| write());
            // SAFETY: the call has no memory effects. The handler was removed when it was called.
            unsafe { libc::kill(libc::getpid(), libc::c_int::from(signal[0])) };
        }
    };
    if thread::Builder::new().name("bombyx-signals".to_owned()).spawn(waits).is_ok() {
        for signal in ours {
            handle(signal);
        }
    }
}

/// The calling thread is in a child process, where nobody reads what the handler would write, and the parent's thread
/// must not read it. From now on, whoever the handler is called for must end as if there were no handler.
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
    // SAFETY: all zeros are a valid sigaction, and it outlives the call that fills it in.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        (libc::sigaction(signal, ptr::null(), &mut action) == 0).then_some(action.sa_sigaction)
    }
}

fn set_handler(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) {
    // SAFETY: all zeros are a valid sigaction. Handler and flags are set before it is used. The handler is ours, which
    // is async-signal-safe, or the default.
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
        // This is a child, in the moment before it forgets the handler. The system has forgotten the handler for this
        // signal, so the signal acts now.
        // SAFETY: `raise` may be called in signal handlers (signal-safety(7)).
        unsafe { libc::raise(signal) };
        return;
    }
    // SAFETY: `write` may be called in signal handlers (signal-safety(7)), and reads one byte that exists. The error
    // number that it may set is restored for the code that the signal interrupted.
    unsafe {
        let error = *libc::__errno_location();
        libc::write(to_thread, (&raw const byte).cast(), 1);
        *libc::__errno_location() = error;
    }
}
