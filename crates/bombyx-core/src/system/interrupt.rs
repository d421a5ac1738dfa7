//! What a signal that ends the process leaves behind: the files that the environment asks for. These are the profile (with
//! what carriers have reported of unfinished runs), the recording of the runs that have ended, and the trace.
//!
//! A signal handler may do next to nothing. So ours notes the signal and posts a semaphore, for which a thread waits. (Not
//! a pipe: a program may close all its files, and then open others with the same numbers.) That thread
//! writes the files as at the end of the process, and then lets the signal act. So the process ends by the signal, as it
//! would if nothing were measured. Signals that the program handles or ignores when its first pool is built are left alone,
//! and a handler that it installs later replaces ours.
//!
//! A signal that comes [`AGAIN`] after the first one acts at once, in case the files take too long. One that comes sooner
//! changes nothing. It is no second wish: whoever signals a group of processes also signals the parent, which may pass
//! the signal on.
//!
//! A signal on demand ([`on_demand`]) goes the same way, but the process goes on.
//!
//! A child of fork(2) has the handler, but no thread to tell. There, signals act at once, as they always did.
//!
//! An unfinished run is on the stacks of the threads that run it, where no other thread may look. But carriers report to the
//! profiler now and then what they have done so far (`Shadow::look`), and the profile has the last of these reports.

use crate::system::primitive::lock;
use crate::system::process::Hooks;
use std::cell::UnsafeCell;
use std::mem::{self, MaybeUninit};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use std::{ptr, thread};

/// Their numbers, and those of the signals on demand, are below 32.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// How long after the first signal another one acts at once.
const AGAIN: Duration = Duration::from_secs(1);

/// When the first of these signals came, on the monotonic clock, in nanoseconds; 0 if none has come.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// The process that has a thread to tell, or 0. Set before there is a handler. A child has the handler before it knows that
/// it is a child.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// The signals that have come, as bits. The thread takes them. Signals of one kind that come meanwhile count once, like
/// those that the system keeps.
static CAME: AtomicU32 = AtomicU32::new(0);

/// Posted after each change of [`CAME`].
static POSTED: Semaphore = Semaphore(UnsafeCell::new(MaybeUninit::uninit()));

struct Semaphore(UnsafeCell<MaybeUninit<libc::sem_t>>);

// SAFETY: any thread may use a semaphore of the system, once it is initialized.
unsafe impl Sync for Semaphore {}

/// Who writes when a signal comes.
static WRITERS: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

/// The signal on demand, or 0, and who writes then.
static ON_DEMAND: AtomicI32 = AtomicI32::new(0);
static DEMANDED: Mutex<Option<fn()>> = Mutex::new(None);

/// Calls `write` when such a signal comes. If the system gives no semaphore or no thread, signals act as they always did.
pub(crate) fn before_the_end(write: fn()) {
    let first = {
        let mut writers = lock(&WRITERS);
        writers.push(write);
        writers.len() == 1
    };
    let ours: Vec<_> = SIGNALS.into_iter().filter(|&signal| is_default(signal)).collect();
    if first && !ours.is_empty() && is_watched() {
        ours.into_iter().for_each(handle);
    }
}

/// Calls `write` whenever this signal comes, and the process goes on. Returns false if the program handles or ignores the
/// signal, or if the system gives no semaphore or no thread. Called once.
pub(crate) fn on_demand(signal: libc::c_int, write: fn()) -> bool {
    if !is_default(signal) || !is_watched() {
        return false;
    }
    *lock(&DEMANDED) = Some(write);
    ON_DEMAND.store(signal, Relaxed);
    handle(signal);
    true
}

/// Whether a thread waits for signals. The first call starts it.
fn is_watched() -> bool {
    static WATCHED: OnceLock<bool> = OnceLock::new();
    *WATCHED.get_or_init(watch)
}

/// Begins to wait for signals. Called once.
fn watch() -> bool {
    // SAFETY: nobody uses the semaphore before, and nobody moves it.
    if unsafe { libc::sem_init(POSTED.0.get().cast(), 0, 0) } != 0 {
        return false;
    }
    static HOOKS: Hooks = Hooks { before: || (), in_child: leave_parent, is_lost: || false };
    HOOKS.register();
    // SAFETY: the call has no preconditions.
    OWNER.store(unsafe { libc::getpid() }, Release);
    thread::Builder::new().name("bombyx-signals".to_owned()).spawn(|| serve()).is_ok()
}

/// Waits for signals, and writes when they come.
fn serve() -> ! {
    loop {
        // If a signal interrupts the wait, the look finds nothing.
        // SAFETY: the semaphore was initialized before this thread began.
        unsafe { libc::sem_wait(POSTED.0.get().cast()) };
        let came = CAME.swap(0, Acquire);
        let has_come = |signal: libc::c_int| signal != 0 && came & 1 << signal != 0;
        if has_come(ON_DEMAND.load(Relaxed)) {
            let demanded = *lock(&DEMANDED);
            demanded.into_iter().for_each(|write| write());
        }
        for signal in SIGNALS.into_iter().filter(|&signal| has_come(signal)) {
            let writers = lock(&WRITERS).clone();
            writers.iter().for_each(|write| write());
            act(signal);
        }
    }
}

/// Lets a signal act as if there were no handler. May be called in signal handlers.
fn act(signal: libc::c_int) {
    set_handler(signal, libc::SIG_DFL);
    // SAFETY: `kill` may be called in signal handlers (signal-safety(7)), and has no effect on memory.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// The calling thread is in a child process, where nobody waits for what the handler would tell. From now on, whoever the
/// handler is called for must end as if there were no handler.
fn leave_parent() {
    if OWNER.swap(0, Relaxed) == 0 {
        return;
    }
    for signal in SIGNALS.into_iter().chain([ON_DEMAND.load(Relaxed)]) {
        if signal != 0 && handler_of(signal) == Some(ours()) {
            set_handler(signal, libc::SIG_DFL);
        }
    }
}

fn is_default(signal: libc::c_int) -> bool {
    handler_of(signal) == Some(libc::SIG_DFL)
}

fn handle(signal: libc::c_int) {
    set_handler(signal, ours());
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

/// May be called in signal handlers.
fn set_handler(signal: libc::c_int, handler: libc::sighandler_t) {
    // SAFETY: all zeros are a valid sigaction. Handler and flags are set before it is used. The handler is ours, which
    // is async-signal-safe, or the default. `sigaction` may be called in signal handlers (signal-safety(7)).
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// The monotonic clock, in nanoseconds. May be called in signal handlers.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `clock_gettime` may be called in signal handlers (signal-safety(7)), and writes to `now` only.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    // A machine that has just started may be at 0, which means that there was no signal.
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).max(1)
}

extern "C" fn tell_thread(signal: libc::c_int) {
    // SAFETY: `getpid` may be called in signal handlers (signal-safety(7)).
    let has_thread = OWNER.load(Acquire) == unsafe { libc::getpid() };
    if !has_thread && signal == ON_DEMAND.load(Relaxed) {
        // This is a child, and the signal was meant for its parent.
        return;
    }
    if !has_thread {
        // This is a child, in the moment before it forgets the handler.
        return act(signal);
    }
    if SIGNALS.contains(&signal) {
        let now = now();
        if let Err(first) = FIRST.compare_exchange(0, now, Relaxed, Relaxed) {
            if u128::from(now.saturating_sub(first)) >= AGAIN.as_nanos() {
                act(signal);
            }
            return;
        }
    }
    CAME.fetch_or(1 << signal, Release);
    // SAFETY: `sem_post` may be called in signal handlers (signal-safety(7)), and the semaphore was initialized before
    // there was a handler. The error number that it may set is restored for the code that the signal interrupted.
    unsafe {
        let error = *libc::__errno_location();
        libc::sem_post(POSTED.0.get().cast());
        *libc::__errno_location() = error;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::process::tests::this_program;
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    /// Not a test: a program whose files take for ever.
    #[test]
    #[ignore = "part of another test"]
    fn program() {
        // The process that started the tests may ignore the signal, as a shell does for background jobs.
        set_handler(libc::SIGINT, libc::SIG_DFL);
        before_the_end(|| {
            loop {
                thread::park();
            }
        });
        println!("\nready");
        loop {
            thread::park();
        }
    }

    /// The first signal has no effect, because the files are never written. One that comes a second later ends the program.
    #[test]
    fn a_later_signal_acts_at_once() {
        let mut program = this_program("system::interrupt::tests::program");
        let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        let start = std::time::Instant::now();
        let status = loop {
            // SAFETY: the call has no memory effects, and nobody has waited for the child.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
            thread::sleep(Duration::from_millis(20));
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
        };
        assert_eq!(status.signal(), Some(libc::SIGINT));
        assert!(start.elapsed() >= AGAIN);
    }
}
