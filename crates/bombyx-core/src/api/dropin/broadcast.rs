//! Broadcasts: one closure, once on every processor.
//!
//! Each processor has a [private queue](crate::protocol::private). Nobody else may take its entries: the processor's
//! holder runs them, oldest first, when the deque is empty. A carrier that waits for a broadcast helps with its own
//! processor's part. For any other private entry it hands the processor over, as for all foreign work. A resting
//! processor is woken individually ([`PoolCore::wake_private`]).

use crate::api::signal::Signal;
use crate::machine::current;
use crate::machine::handlers::{drop_payload, drop_unwanted};
use crate::machine::luggage::Luggage;
use crate::machine::pool::PoolCore;
use crate::machine::telling::Meanwhile;
use crate::profile::{Blocked, Run, Site};
use crate::protocol::carrier::Enabled;
use crate::protocol::job::{Entry, HeapJob, Job};
use crate::protocol::lineage;
use crate::system::guard::guarded;
use crate::system::primitive::AtomicUsize;
use bombyx_base::trace::Region;
use std::cell::UnsafeCell;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::AcqRel;
use std::thread;

/// Tells the closure of a broadcast where it runs. See [`HandleExt::broadcast`](super::HandleExt::broadcast).
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

    /// How many processors there are. There is one call for each.
    pub fn processors(&self) -> usize {
        self.processors
    }
}

/// Calls `f` once on every processor of the pool. Returns the results in the order of the processors.
pub(crate) fn broadcast<F, R>(pool: &PoolCore, site: Site, f: F) -> Vec<R>
where
    F: Fn(Broadcast) -> R + Sync,
    R: Send,
{
    let processors = pool.in_service();
    let call = Call {
        f,
        site,
        processors,
        unfinished: AtomicUsize::new(processors),
        luggage: Luggage::detached(),
        signal: Signal::from(pool),
    };
    let root = ptr::from_ref(&call) as usize | lineage::BROADCAST;
    let parts: Vec<_> = (0..processors)
        .map(|index| Part {
            head: HeapJob::new(Part::<F, R>::exec, root),
            call: &call,
            index,
            result: UnsafeCell::new(None),
        })
        .collect();
    guarded(|| {
        for (processor, part) in pool.processors().iter().zip(&parts) {
            processor.private.post(Entry::heap(NonNull::from(part).cast()));
        }
        pool.wake_private();
        let blocked = Blocked::begin();
        call.signal.wait(pool, root);
        drop(blocked);
    });
    let mut panics = None;
    let mut results = Vec::with_capacity(processors);
    for part in parts {
        match part.result.into_inner().expect("the signal is set when all parts have ended") {
            Ok(result) => results.push(result),
            Err(payload) if panics.is_none() => panics = Some(payload),
            Err(payload) => drop_payload(payload),
        }
    }
    let Some(payload) = panics else { return results };
    results.into_iter().for_each(|result| drop_unwanted(|| result));
    panic::resume_unwind(payload)
}

/// What the parts of a broadcast share, in the frame that waits for them.
struct Call<F> {
    f: F,
    site: Site,
    processors: usize,
    unfinished: AtomicUsize,
    luggage: Luggage,
    signal: Signal,
}

/// The call for one processor.
#[repr(C)]
struct Part<'a, F, R> {
    head: HeapJob,
    call: &'a Call<F>,
    index: usize,
    result: UnsafeCell<Option<thread::Result<R>>>,
}

impl<F, R> Part<'_, F, R>
where
    F: Fn(Broadcast) -> R,
{
    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of a `Part`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        let this = job.cast::<Part<'_, F, R>>();
        // SAFETY: the frame of the broadcast waits until all parts have been counted down. Only the taker of this part
        // writes its result.
        unsafe {
            let call: *const Call<F> = (*this).call;
            let place = Broadcast { index: (*this).index, processors: (*call).processors };
            let pool = current::held().pool();
            let run = Run::begin(pool, (*call).site);
            let traced = Meanwhile::region(pool, Region::Broadcast, (*call).site.location);
            // The call waits, so it keeps the context.
            *(*this).result.get() = Some(
                (*call).luggage.run_root(|| panic::catch_unwind(AssertUnwindSafe(|| ((*call).f)(place)))),
            );
            drop(traced);
            drop(run);
            if (*call).unfinished.fetch_sub(1, AcqRel) == 1 {
                Signal::set(&raw const (*call).signal)
            } else {
                None
            }
        }
    }
}
