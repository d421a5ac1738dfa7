//! Broadcasts: one closure, once on every processor.
//!
//! Each processor has a [`Private`] queue, whose entries nobody else may take: its holder runs them, oldest first,
//! when its deque is empty. A carrier that waits for a broadcast helps with its own processor's part; for any other
//! private entry it hands the processor over, as for all foreign work. A processor that rests is woken in person
//! ([`Commons::wake_private`]): whoever posts an entry then looks for the processor in the idle list, whoever
//! retires a processor enters it there and then looks for entries, both under one lock, so one sees the other.

use crate::commons::Commons;
use crate::job::{Enabled, Entry, Job};
use crate::primitive::{AtomicUsize, Mutex, lock};
use crate::processor::current;
use crate::profile::{Blocked, Run, Site};
use crate::scope::Head;
use crate::signal::Signal;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::thread;

/// Tells the closure of a broadcast where it runs. See [`crate::Handle::broadcast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcast {
    pub(crate) index: usize,
    pub(crate) processors: usize,
}

impl Broadcast {
    /// The processor that this call is for. The carrier holds it when the call begins.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many processors there are, and so calls.
    pub fn processors(&self) -> usize {
        self.processors
    }
}

/// Entries that only the holder of one processor may take. See the module text.
pub(crate) struct Private {
    /// `entries.len()`, for a look without the lock.
    count: AtomicUsize,
    entries: Mutex<VecDeque<Entry>>,
}

impl Private {
    pub(crate) fn new() -> Private {
        Private { count: AtomicUsize::new(0), entries: Mutex::new(VecDeque::new()) }
    }

    /// Adds an entry; the caller calls [`Commons::wake_private`] after the last one.
    pub(crate) fn post(&self, entry: Entry) {
        let mut entries = lock(&self.entries);
        entries.push_back(entry);
        self.count.store(entries.len(), Relaxed);
    }

    /// Whether there seems to be nothing.
    pub(crate) fn looks_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Takes the oldest entry, if `wanted` accepts it. Holder.
    pub(crate) fn take(&self, wanted: impl FnOnce(Entry) -> bool) -> Option<Entry> {
        if self.looks_empty() {
            return None;
        }
        let mut entries = lock(&self.entries);
        let oldest = entries.front().copied().filter(|&entry| wanted(entry))?;
        entries.pop_front();
        self.count.store(entries.len(), Relaxed);
        Some(oldest)
    }
}

/// Calls `f` once on every processor of the pool and returns the results by the index of the processor.
pub(crate) fn broadcast<F, R>(commons: &Commons, site: Site, f: F) -> Vec<R>
where
    F: Fn(Broadcast) -> R + Sync,
    R: Send,
{
    let processors = commons.processors().len();
    let whole = Whole {
        f,
        site,
        processors,
        unfinished: AtomicUsize::new(processors),
        signal: Signal::from(commons),
    };
    let key = ptr::from_ref(&whole) as usize;
    let parts: Vec<_> = (0..processors)
        .map(|index| Part {
            head: Head::new(Part::<F, R>::exec, key),
            whole: &whole,
            index,
            result: UnsafeCell::new(None),
        })
        .collect();
    for (processor, part) in commons.processors().iter().zip(&parts) {
        processor.private.post(Entry::heap(NonNull::from(part).cast()));
    }
    commons.wake_private();
    let blocked = Blocked::begin();
    whole.signal.wait(key);
    drop(blocked);
    let results: Vec<_> = parts.into_iter().map(|part| part.result.into_inner()).collect();
    results
        .into_iter()
        .map(|result| match result.expect("the signal is set when all parts have ended") {
            Ok(result) => result,
            Err(payload) => panic::resume_unwind(payload),
        })
        .collect()
}

/// What the parts of a broadcast share, in the frame that waits for them.
struct Whole<F> {
    f: F,
    site: Site,
    processors: usize,
    unfinished: AtomicUsize,
    signal: Signal,
}

/// The call for one processor.
#[repr(C)]
struct Part<'a, F, R> {
    head: Head,
    whole: &'a Whole<F>,
    index: usize,
    result: UnsafeCell<Option<thread::Result<R>>>,
}

impl<F, R> Part<'_, F, R>
where
    F: Fn(Broadcast) -> R,
{
    /// # Safety
    /// As for [`crate::job::Exec`]: `job` is the first field of a `Part`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        let this = job.cast::<Part<'_, F, R>>();
        // SAFETY: the frame of the broadcast waits until all parts have been counted down, and the result of
        // this one is written by its taker alone.
        unsafe {
            let whole: *const Whole<F> = (*this).whole;
            let place = Broadcast { index: (*this).index, processors: (*whole).processors };
            let run = Run::begin(current::held().commons(), (*whole).site);
            *(*this).result.get() = Some(panic::catch_unwind(AssertUnwindSafe(|| ((*whole).f)(place))));
            drop(run);
            if (*whole).unfinished.fetch_sub(1, AcqRel) == 1 {
                Signal::set(&raw const (*whole).signal)
            } else {
                None
            }
        }
    }
}
