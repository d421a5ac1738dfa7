//! `scope` and `spawn`: any number of closures that end before the scope does, in bounded memory.
//!
//! A spawned closure is a heap job in the deque of the processor that spawned it (help-first: the spawner goes
//! on). When [`PENDING`] entries wait there already, nobody is short of work and the closure is run in place:
//! the loop that spawns a million closures holds a few hundred of them.
//!
//! A scope counts its unfinished closures, plus one for its body. Whoever brings the count to zero sets the
//! latch; that is the last access to the scope's memory by anyone but its own frame.

use crate::commons::Commons;
use crate::job::{Enabled, Entry, Job, Kind};
use crate::latch::Latch;
use crate::pool::Pool;
use crate::processor::current;
use crate::wait::{Waited, wait};
use std::any::Any;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// How many entries may wait in a deque before spawned closures are run in place.
const PENDING: usize = 256;

/// A scope in which closures can be spawned that borrow from outside of it. See [`scope`].
pub struct Scope<'scope> {
    commons: *const Commons,
    /// The root under which the scope was opened.
    root: usize,
    /// Closures that have not ended, and one for the body.
    unfinished: AtomicUsize,
    latch: Latch,
    /// The first panic of a spawned closure.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    #[allow(clippy::type_complexity)]
    marker: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

// SAFETY: the fields are atomics and locks; the commons are shared by nature and outlive the scope.
unsafe impl Sync for Scope<'_> {}
// SAFETY: as above.
unsafe impl Send for Scope<'_> {}

/// Calls `f` with a scope, and returns when `f` and everything spawned in the scope have ended.
///
/// # Panics
/// If `f` or a spawned closure panics, the panic is resumed after all of them have ended; that of `f` if there
/// are several.
///
/// ```
/// let mut words = ["fork", "join", "steal"];
/// bombyx::scope(|s| {
///     for word in &mut words {
///         s.spawn(move |_| *word = &word[1..]);
///     }
/// });
/// assert_eq!(words, ["ork", "oin", "teal"]);
/// ```
pub fn scope<'scope, F, R>(f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    let Some(processor) = current::processor() else { return Pool::run_at_home(|| scope(f)) };
    let scope = Scope {
        commons: processor.commons(),
        root: current::carrier().root(),
        unfinished: AtomicUsize::new(1),
        latch: Latch::new(),
        panic: Mutex::new(None),
        marker: PhantomData,
    };
    let result = panic::catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if scope.unfinished.fetch_sub(1, AcqRel) != 1 {
        let Waited::Done = wait(&scope.latch, scope.key(), None) else {
            unreachable!("only a join's own job is reclaimed")
        };
    }
    let spawned = scope.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    match (result, spawned) {
        (Ok(result), None) => result,
        (Err(payload), _) | (Ok(_), Some(payload)) => panic::resume_unwind(payload),
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns `f`, which ends before the scope does.
    ///
    /// It may run at any time from now on: on another processor, later on this one, or, when many closures wait
    /// already, right now, before `spawn` returns.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// let count = AtomicU32::new(0);
    /// bombyx::scope(|s| {
    ///     s.spawn(|s| {
    ///         s.spawn(|_| { count.fetch_add(1, Ordering::Relaxed); });
    ///         count.fetch_add(1, Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let processor = current::processor().filter(|processor| ptr::eq(processor.commons(), self.commons));
        if let Some(processor) = processor
            && processor.deque.len() >= PENDING
        {
            processor.poll();
            self.run(f);
            return;
        }
        self.unfinished.fetch_add(1, Relaxed);
        let job = Spawned {
            head: Head { job: Job::new(Spawned::<F>::exec), key: self.key() },
            scope: ptr::from_ref(self).cast(),
            closure: f,
        };
        let entry = Entry::heap(NonNull::from(Box::leak(Box::new(job))).cast());
        match processor {
            Some(processor) => {
                // Inside of something that was taken out of the scope, what is spawned in the scope is no part of
                // that: whoever waits for it must not help.
                if ![self.root, self.key()].contains(&processor.deque.root()) {
                    processor.deque.set_root(0);
                }
                processor.submit(entry);
            }
            // SAFETY: a scope ends before its pool.
            None => unsafe { (*self.commons).inject(entry) },
        }
    }

    /// Runs a spawned closure and keeps its panic for the end of the scope.
    fn run(&self, f: impl FnOnce(&Scope<'scope>)) {
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| f(self))) {
            self.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(payload);
        }
    }

    fn key(&self) -> usize {
        ptr::from_ref(self) as usize
    }
}

/// What all heap jobs begin with.
#[repr(C)]
pub(crate) struct Head {
    job: Job,
    /// What the closure's forks descend from: the address of its scope, or 0.
    key: usize,
}

impl Head {
    pub(crate) fn new(exec: crate::job::Exec, key: usize) -> Head {
        Head { job: Job::new(exec), key }
    }
}

/// The key of a heap job.
///
/// # Safety
/// The job is a heap job, and alive.
pub(crate) unsafe fn key_of(job: *const Job) -> usize {
    // SAFETY: every heap job begins with a `Head`.
    unsafe { (*job.cast::<Head>()).key }
}

/// Whether the entry was spawned in the scope with this key. For an entry in a deque, under its lock.
pub(crate) fn belongs_to(entry: Entry, key: usize) -> bool {
    match entry.kind() {
        // SAFETY: a heap job in a deque is alive while the deque's lock is held.
        Kind::Heap(job) => unsafe { key_of(job) == key },
        _ => false,
    }
}

/// A closure spawned in a scope.
#[repr(C)]
struct Spawned<F> {
    head: Head,
    scope: *const (),
    closure: F,
}

impl<'scope, F> Spawned<F>
where
    F: FnOnce(&Scope<'scope>) + Send + 'scope,
{
    /// # Safety
    /// As for [`crate::job::Exec`]: `job` is the first field of a boxed `Spawned<F>`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        // SAFETY: made from a box in `spawn`, and run once.
        let Spawned { scope, closure, .. } = *unsafe { Box::from_raw(job.cast_mut().cast::<Spawned<F>>()) };
        let scope = scope.cast::<Scope<'scope>>();
        // SAFETY: the scope waits until this closure has been counted down below.
        unsafe {
            (*scope).run(closure);
            if (*scope).unfinished.fetch_sub(1, AcqRel) == 1 {
                Latch::set(&raw const (*scope).latch)
            } else {
                None
            }
        }
    }
}
