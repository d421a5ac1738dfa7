//! The one switch between the standard library's primitives and loom's.
//!
//! Every module that takes part in a protocol gets its atomics, mutexes and parking from here. So the models explore
//! the same code that ships (`scripts/loom`).

pub(crate) use side::*;

/// The standard library's.
#[cfg(not(loom))]
mod side {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, compiler_fence, fence,
    };
    pub(crate) use std::sync::{Mutex, MutexGuard, TryLockError};
    pub(crate) use std::thread::{Thread, current as current_thread, yield_now};
    use std::time::{Duration, Instant};

    /// Whether this is the build for the models.
    pub(crate) const MODELLED: bool = false;

    /// A function that makes a static, so it is `const` here.
    macro_rules! const_fn {
        ($visibility:vis fn $($rest:tt)*) => { $visibility const fn $($rest)* };
    }
    pub(crate) use const_fn;

    /// Only models need a place where threads may change turns.
    #[inline(always)]
    pub(crate) fn change_turns() {}

    /// Parks the calling thread, whose handle is `thread`, until it is unparked (or for no reason).
    pub(crate) fn park(thread: &Thread) {
        debug_assert_eq!(thread.id(), current_thread().id());
        std::thread::park();
    }

    /// Like [`park`], for at most this long.
    pub(crate) fn park_timeout(thread: &Thread, time: Duration) {
        debug_assert_eq!(thread.id(), current_thread().id());
        std::thread::park_timeout(time);
    }

    /// A moment in the future.
    pub(crate) struct Deadline {
        start: Instant,
        time: Duration,
    }

    impl Deadline {
        pub(crate) fn after(time: Duration) -> Deadline {
            Deadline { start: Instant::now(), time }
        }

        /// How long it is until then. `None` if the moment has passed.
        pub(crate) fn left(&self) -> Option<Duration> {
            self.time.checked_sub(self.start.elapsed())
        }
    }

    /// Lets others run for a while. For a caller that may wait long and cannot be woken.
    pub(crate) fn nap() {
        std::thread::sleep(Duration::from_micros(100));
    }

    /// An `UnsafeCell` whose accesses loom checks for races.
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

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
}

/// Loom's. Parking uses loom's `Notify`: loom's own park and unpark forget a token if its thread waits for a mutex at
/// that time. The models have no time, so a thread that parks for a time parks until it is unparked.
#[cfg(loom)]
mod side {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::hint::spin_loop;
    use loom::sync::Notify;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, fence};
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use loom::thread::{yield_now, yield_now as nap};
    use std::cell::Cell;
    pub(crate) use std::sync::TryLockError;
    use std::sync::{Arc, atomic::Ordering};
    use std::time::Duration;

    pub(crate) const MODELLED: bool = true;

    /// Loom's atomics cannot be made in constants.
    macro_rules! const_fn {
        ($($function:tt)*) => { $($function)* };
    }
    pub(crate) use const_fn;

    /// A place where threads may change turns. Of two accesses to a word loom reorders only neighbours. So it overlooks the
    /// race of a load with another thread's store if that thread has loaded the word in between.
    pub(crate) fn change_turns() {
        loom::lazy_static! {
            static ref TURN: AtomicUsize = AtomicUsize::new(0);
        }
        TURN.fetch_add(1, Ordering::Relaxed);
    }

    thread_local! {
        /// Set for the test that the calling thread runs. Loom runs all threads of a model on one thread.
        static WEAK: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether the light barrier is nothing from now on, and the heavy one reaches no processor that relies on it.
    pub(crate) fn set_weak(weak: bool) {
        WEAK.set(weak);
    }

    pub(crate) fn is_weak() -> bool {
        WEAK.get()
    }

    /// Stands for the light barrier, which pairs with a heavy one: see [`crate::system::barrier`].
    pub(crate) fn compiler_fence(order: Ordering) {
        if !is_weak() {
            fence(order);
        }
    }

    /// Always in the past.
    pub(crate) struct Deadline;

    impl Deadline {
        pub(crate) fn after(_: Duration) -> Deadline {
            Deadline
        }

        pub(crate) fn left(&self) -> Option<Duration> {
            None
        }
    }

    #[derive(Clone)]
    pub(crate) struct Thread(Arc<Notify>);

    pub(crate) fn current_thread() -> Thread {
        Thread(Arc::new(Notify::new()))
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            self.0.notify();
        }
    }

    pub(crate) fn park(thread: &Thread) {
        thread.0.wait();
    }

    pub(crate) fn park_timeout(thread: &Thread, _: Duration) {
        park(thread);
    }
}

/// How often a thread that waits has looked. The count begins again when it is full: a wait may last for ever.
#[derive(Default)]
pub(crate) struct Looks(u32);

impl Looks {
    /// Counts another look. Returns whether it is one of every `n`, which is a power of two.
    pub(crate) fn every(&mut self, n: u32) -> bool {
        debug_assert!(n.is_power_of_two());
        self.0 = self.0.wrapping_add(1);
        self.0 % n == 0
    }
}

/// Waits for something that another thread does within a few instructions. The system may have descheduled that thread
/// in the middle of them, on this very CPU, so this thread gives way now and then.
#[derive(Default)]
pub(crate) struct Spin {
    looks: Looks,
}

impl Spin {
    /// Lets a moment pass before the next look.
    pub(crate) fn pause(&mut self) {
        if self.looks.every(64) {
            #[cfg(all(test, not(loom)))]
            tests::note_yield();
            yield_now();
        } else {
            spin_loop();
        }
    }
}

/// The same until `done`.
pub(crate) fn spin_until(done: impl Fn() -> bool) {
    let mut spin = Spin::default();
    while !done() {
        spin.pause();
    }
}

/// Lets a moment pass. With more processors than cores, lets another thread use it.
pub(crate) fn pause(crowded: bool) {
    if crowded { yield_now() } else { spin_loop() }
}

/// Locks. Only this crate's code runs under its locks, and it does not panic. If it did, what the lock protects would
/// be half changed, and the next thread ends the process.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|_| poisoned())
}

#[cold]
#[inline(never)]
fn poisoned() -> ! {
    crate::system::guard::abort(
        "the runtime itself panicked under one of its locks; this is a defect of bombyx, please report it",
    )
}

/// Locks, if that needs no waiting.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(_)) => poisoned(),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::{Acquire, Release};
    use std::time::{Duration, Instant};

    thread_local! {
        /// Whom the calling thread tells that it gives way in a [`Spin`].
        static GIVES_WAY: Cell<Option<Arc<AtomicBool>>> = const { Cell::new(None) };
    }

    pub(super) fn note_yield() {
        if let Some(told) = GIVES_WAY.take() {
            told.store(true, Release);
        }
    }

    /// Lets `waits` wait in another thread for what `acts` does. Here `acts` begins only after that thread has given way,
    /// as if both had the same CPU. Fails if that thread spins without giving way.
    pub(crate) fn gives_way<R: Send>(waits: impl FnOnce() -> R + Send, acts: impl FnOnce()) -> R {
        let gave_way = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&gave_way);
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| {
                GIVES_WAY.set(Some(told));
                waits()
            });
            let start = Instant::now();
            while !gave_way.load(Acquire) && start.elapsed() < Duration::from_secs(60) {
                yield_now();
            }
            let ever = gave_way.load(Acquire);
            acts();
            let result = waiter.join().unwrap();
            assert!(ever, "the thread kept its CPU");
            result
        })
    }

    #[test]
    fn who_spins_gives_way() {
        let done = AtomicBool::new(false);
        gives_way(|| spin_until(|| done.load(Acquire)), || done.store(true, Release));
    }

    /// Also in builds that check for overflow.
    #[test]
    fn looks_are_counted_for_ever() {
        let mut looks = Looks(u32::MAX - 1);
        assert_eq!([(); 4].map(|()| looks.every(4)), [false, true, false, false]);
    }
}
