//! Children of fork(2): processes with the memory of their parent and one of its threads.
//!
//! A child has the pools of its parent and none of their carriers, and a lock that another thread held stays locked for
//! ever. So nothing of an inherited pool is used. Every pool knows the [`Generation`] of the process that built it. The
//! ways into the pool compare it with the present one, and panic if they differ. In the child, the thread that called
//! fork holds no processor. So whatever it does from then on is done in the child's own global pool, which is built
//! when it is first needed ([`crate::Pool::global`]).
//!
//! **Frames of an inherited pool** may lie below the call of fork on the stack, if that call was made in a pool. Before
//! the process is copied, the deque of the thread's processor is exposed, so that no join there pops blindly
//! ([`crate::protocol::job`]). In the child each of these joins finds that its thread holds no processor, and panics.
//! Unwinding these frames is safe although they have not ended, because the others that used them are in the parent. At
//! the foot of a carrier's stack there is nobody to return to, so the process ends.
//!
//! All of this relies on `pthread_atfork`, by which the C library calls us. Processes that are made without it (by
//! calling `clone` directly, or by `vfork` and `posix_spawn`, which go on to `exec`) know nothing of it.

use crate::system::guard::abort;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// How many calls of fork(2) lie between a process and its first ancestor that built a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(usize);

impl Generation {
    /// The generation of this process.
    pub(crate) fn current() -> Generation {
        Generation(GENERATION.load(Relaxed))
    }

    /// The generation of this process. From now on children know that they are another generation, and call these
    /// hooks.
    pub(crate) fn begin(hooks: &'static Hooks) -> Generation {
        hooks.register();
        #[cfg(target_os = "linux")]
        linux::watch();
        Generation::current()
    }

    /// Whether no ancestor of the process has built a pool.
    pub(crate) fn is_first(self) -> bool {
        self == Generation(0)
    }

    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self == Generation::current()
    }
}

/// What the floors above do when the process is copied.
pub(crate) struct Hooks {
    /// Called in the parent, before the copy.
    pub(crate) before: fn(),
    /// Called in the child, by its only thread. May neither allocate nor wait.
    pub(crate) in_child: fn(),
    /// Whether the calling thread of a child has lost what its parent held.
    pub(crate) is_lost: fn() -> bool,
}

/// One for the machine, one for signals.
static HOOKS: [OnceLock<&'static Hooks>; 2] = [const { OnceLock::new() }; 2];

impl Hooks {
    /// From now on the hooks are called. They stay; registering them again does nothing.
    pub(crate) fn register(&'static self) {
        let registered = HOOKS.iter().any(|slot| std::ptr::eq(*slot.get_or_init(|| self), self));
        debug_assert!(registered, "there is a slot for each floor");
    }

    fn all() -> impl Iterator<Item = &'static Hooks> {
        HOOKS.iter().filter_map(|slot| slot.get().copied())
    }
}

/// # Panics
/// If `of`, that of a pool, is not the current generation.
#[inline]
#[track_caller]
pub(crate) fn assert_current(of: Generation) {
    if !of.is_current() {
        inherited();
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn inherited() -> ! {
    panic!(
        "this pool was built before fork(2), and its threads are in the parent process: build another pool in the child, \
         or use the global pool, of which the child has its own"
    );
}

const LOST: &str = "a child process, made by fork(2) inside a pool, returned to work that its parent had begun there: \
                    leave the child by exec or exit, or call fork outside pools";

/// A frame that cannot end without others finds itself in a child process. Panics.
#[cold]
#[inline(never)]
pub(crate) fn lost() -> ! {
    panic!("{LOST}");
}

/// Like [`lost`], where nothing may unwind: aborts if the calling thread lost its processor that way.
#[cold]
pub(crate) fn abort_if_lost() {
    if !Generation::current().is_first() && Hooks::all().any(|hooks| (hooks.is_lost)()) {
        abort(LOST);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{GENERATION, Hooks};
    use crate::system::primitive::lock;
    use std::cell::UnsafeCell;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::{Mutex, MutexGuard};

    /// Held while the first pool of the process asks the system what a process asks only once, and while the process is
    /// copied. Otherwise a child could wait for ever for an answer that another thread of its parent was about to get.
    static ASKING: Mutex<()> = Mutex::new(());
    static ASKED: AtomicBool = AtomicBool::new(false);

    /// The guard of the lock while the process is copied. Only the holder of the lock uses it.
    struct Held(UnsafeCell<Option<MutexGuard<'static, ()>>>);
    // SAFETY: as above.
    unsafe impl Sync for Held {}
    static HELD: Held = Held(UnsafeCell::new(None));

    /// Makes the C library call us, from the first call on.
    pub(super) fn watch() {
        static WATCHED: AtomicUsize = AtomicUsize::new(0);
        if ASKED.load(Acquire) {
            return;
        }
        if WATCHED.fetch_add(1, Relaxed) == 0 {
            // SAFETY: the functions exist as long as the process, and do nothing that fork(2) forbids in a child: they
            // allocate nothing there and wait for nobody. If there is no memory, the call fails, and children know
            // nothing.
            unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        }
        let _asking = lock(&ASKING);
        crate::system::affinity::cpus();
        ASKED.store(true, Release);
    }

    unsafe extern "C" fn before() {
        Hooks::all().for_each(|hooks| (hooks.before)());
        let held = lock(&ASKING);
        // SAFETY: the lock is held.
        unsafe { *HELD.0.get() = Some(held) };
    }

    unsafe extern "C" fn in_parent() {
        // SAFETY: the lock is held, since `before`.
        drop(unsafe { (*HELD.0.get()).take() });
    }

    unsafe extern "C" fn in_child() {
        GENERATION.fetch_add(1, Relaxed);
        // SAFETY: as in the parent. This is the thread that locked it.
        drop(unsafe { (*HELD.0.get()).take() });
        crate::system::barrier::leave_parent();
        Hooks::all().for_each(|hooks| (hooks.in_child)());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    /// An ignored test of this program, in a process of its own, behind the emulator that this one runs in, if any
    /// (`scripts/aarch64`).
    pub(crate) fn this_program(test: &str) -> Command {
        let program = std::env::current_exe().unwrap();
        let runner = std::env::var("BOMBYX_TEST_RUNNER").unwrap_or_default();
        let mut words = runner.split_whitespace();
        let mut command = match words.next() {
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.args(words).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.args(["--ignored", "--exact", "--nocapture", test]);
        command
    }
}
