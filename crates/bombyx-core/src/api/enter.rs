//! The ways into a pool, for `Pool::run`, for joins from outside, and for tasks.
//!
//! If a processor is idle, the pool lends it to the calling thread, which then runs the closure itself ([`lent`]).
//! Otherwise the closure waits in the pool's queue until a processor takes it, and the caller waits for the closure
//! ([`injected`]). Closures that nobody waits for are [`detached`].

use crate::api::blocking::blocking;
use crate::api::handle::Guest;
use crate::api::signal::Signal;
use crate::machine::chain::Lent;
use crate::machine::current;
use crate::machine::handlers::PoolEvent;
use crate::machine::live;
use crate::machine::luggage::Luggage;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::telling::{Meanwhile, tell};
use crate::machine::tracer::Event;
use crate::machine::visit::{STARVED, Visit};
use crate::profile::{self, Site};
use crate::protocol::carrier::Enabled;
use crate::protocol::job::{Entry, HeapJob, Job};
use crate::system::guard::{Guard, guarded};
use crate::system::process;
use bombyx_base::trace::Region;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::thread;

/// Runs `f` in `pool`.
pub(crate) fn run_in<F, R>(pool: &PoolCore, site: Site, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    process::assert_current(pool.generation());
    match current::processor() {
        Some(processor) if ptr::eq(processor.pool(), pool) => f(),
        Some(processor) if pool.config.lends && !processor.pool().has_fixed_threads() => {
            blocking(|| enter(pool, site, f))
        }
        Some(_) => injected(pool, site, f),
        None => enter(pool, site, f),
    }
}

/// Runs `f` in `pool`, for a thread that holds no processor.
pub(super) fn enter<F, R>(pool: &PoolCore, site: Site, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    if current::home().is_some_and(|home| ptr::eq(home, pool)) {
        // A carrier that blocks in a job of this pool has a stack for `f`, and it may be the last such carrier.
        return lent(pool, pool.acquire(current::carrier()), site, f);
    }
    match pool.config.lends.then(|| pool.borrow_processor()).flatten() {
        Some(processor) => lent(pool, processor, site, f),
        None => injected(pool, site, f),
    }
}

/// Runs `f` on the calling thread, which is lent a processor.
fn lent<F, R>(pool: &PoolCore, processor: NonNull<Processor>, site: Site, f: F) -> R
where
    F: FnOnce() -> R,
{
    let (_visit, _run) = guarded(|| (Visit::begin(pool, processor), profile::Run::begin(pool, site)));
    let _traced = Meanwhile::region(pool, Region::Run, site.location);
    let code = lent::<F, R> as *const () as usize;
    let _seen = live::Region::begin(std::any::type_name::<F>(), code, site.location);
    f()
}

/// Queues `f` and waits for it.
fn injected<F, R>(pool: &PoolCore, site: Site, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    // The carriers stay until the closure has ended, even if somebody closes the pool meanwhile.
    let _guest = Guest::of(pool);
    let job = Injected {
        head: HeapJob::new(Injected::<F, R>::exec, 0),
        site,
        closure: UnsafeCell::new(ManuallyDrop::new(f)),
        result: UnsafeCell::new(MaybeUninit::uninit()),
        chain: Lent::new(),
        signal: Signal::from(pool),
    };
    let blocked = profile::Blocked::begin();
    let entry = Entry::heap(NonNull::from(&job).cast());
    let guard = Guard::new();
    pool.inject(entry);
    let address = ptr::from_ref(&job) as usize;
    let waiting = Meanwhile::begin(pool, Event::Waits(address), Event::GoesOn);
    while pool.config.lends && pool.has_queued() && !job.signal.wait_outside(Some(STARVED)) {
        // A processor may have become idle while the pool could start no carrier for it. This thread can take the
        // carrier's place.
        let Some(processor) = pool.borrow_processor() else { continue };
        if pool.take_back(entry) {
            guard.passed();
            drop(blocked);
            drop(waiting);
            // SAFETY: the entry was taken back, so nobody else has the closure.
            let closure = unsafe { ManuallyDrop::take(&mut *job.closure.get()) };
            return lent(pool, processor, site, closure);
        }
        pool.retire(processor, None, None);
        break;
    }
    job.signal.wait(pool, address);
    guard.passed();
    drop(blocked);
    drop(waiting);
    job.chain.take_back();
    // SAFETY: the signal is set, so the result is written and nobody touches the job any more.
    let result = unsafe { job.result.into_inner().assume_init() };
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// A closure that somebody waits for: a thread outside the pool, or a carrier of another pool.
#[repr(C)]
struct Injected<F, R> {
    head: HeapJob,
    site: Site,
    closure: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
    /// The caller's chain, which the closure is a part of.
    chain: Lent,
    signal: Signal,
}

impl<F, R> Injected<F, R>
where
    F: FnOnce() -> R,
{
    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of an `Injected`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        let this = job.cast::<Injected<F, R>>();
        // SAFETY: the calling thread waits until the signal is set.
        unsafe {
            let closure = ManuallyDrop::take(&mut *(*this).closure.get());
            let pool = current::held().pool();
            let run = profile::Run::begin(pool, (*this).site);
            let traced = Meanwhile::region(pool, Region::Run, (*this).site.location);
            live::run_from(std::any::type_name::<F>(), Job::code(job), (*this).site.location);
            tell(PoolEvent::CallBegins);
            (*this).chain.go_on(|| {
                (*(*this).result.get()).write(panic::catch_unwind(AssertUnwindSafe(closure)));
            });
            tell(PoolEvent::CallEnds);
            drop(traced);
            drop(run);
            Signal::set(&raw const (*this).signal)
        }
    }
}

/// The entry of a closure that nobody waits for. The caller must push it or queue it.
pub(crate) fn detached<F>(pool: &Arc<PoolCore>, site: Site, f: F) -> Entry
where
    F: FnOnce() + Send + 'static,
{
    detached_with(pool, site, Luggage::detached(), f)
}

/// Like [`detached`], with this luggage.
pub(super) fn detached_with<F>(pool: &Arc<PoolCore>, site: Site, luggage: Luggage, f: F) -> Entry
where
    F: FnOnce() + Send + 'static,
{
    process::assert_current(pool.generation());
    pool.detached_started();
    pool.thread_created();
    let head = HeapJob::new(Detached::<F>::exec, 0);
    let job = Detached { head, site, pool: Arc::clone(pool), luggage, closure: f };
    Entry::heap(NonNull::from(Box::leak(Box::new(job))).cast())
}

/// A closure that nobody waits for.
#[repr(C)]
struct Detached<F> {
    head: HeapJob,
    site: Site,
    pool: Arc<PoolCore>,
    luggage: Luggage,
    closure: F,
}

impl<F> Detached<F>
where
    F: FnOnce() + Send + 'static,
{
    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of a boxed `Detached<F>`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        // SAFETY: made from a box in `detached`, and run once.
        let memory = unsafe { Box::from_raw(job.cast_mut().cast::<MaybeUninit<Detached<F>>>()) };
        // SAFETY: `detached` wrote it, and this reads it once.
        let Detached { site, pool, luggage, closure, .. } = unsafe { memory.assume_init_read() };
        let run = profile::Run::begin(&pool, site);
        let traced = Meanwhile::region(&pool, Region::Run, site.location);
        let code = Detached::<F>::exec as *const () as usize;
        live::run_from(std::any::type_name::<F>(), code, site.location);
        // For the recorder, the spawned closure frees what the spawn allocated.
        drop(memory);
        luggage.run_root(|| pool.handlers().guard(closure));
        drop(luggage);
        drop(traced);
        drop(run);
        pool.thread_ended();
        pool.detached_ended();
        None
    }
}
