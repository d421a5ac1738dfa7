//! `join`: what users call, and the fast path that everything else keeps clear of.
//!
//! A fork writes the closure, how to run it and where it is pushed on the stack, the entry into the deque, and the
//! bottom; then one comparison with the limit. The join reads again where the job is, lowers the bottom, and compares
//! with the top. That is all, and all of it plain loads and stores on two cache lines of the processor's own. Whatever a
//! scheduler or a tool wants to do differently hangs on the two branches: the limit can be poisoned before the
//! push ([`crate::protocol::deque`]), and the job can be exposed or taken before the pop ([`crate::protocol::job`]).

use crate::api::pool::Pool;
use crate::machine::current;
use crate::machine::handlers::{Payload, drop_payload, drop_unwanted};
use crate::machine::patience::Waited;
use crate::machine::processor::Processor;
use crate::machine::strategy::Child;
use crate::machine::wait::{end, wait_for};
use crate::profile::{self, Joining, Kind, Site};
use crate::protocol::carrier::Enabled;
use crate::protocol::deque::Pushed;
use crate::protocol::job::{Entry, Job};
use crate::system::guard::guarded;
use crate::system::process;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;
use std::thread;

/// Tells a closure of [`join_context`] how it came to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    migrated: bool,
}

impl Context {
    /// Whether the closure runs on another processor than the one that forked it. True for both halves of a join
    /// from outside of a pool, and never inside of a [deterministic](crate::Builder::deterministic) one, so that
    /// programs that split further where they see this do so in the same way in every run. In a profiled pool it is also
    /// true for halves that are expected to take long, so that such programs split, and show their parallelism, on one
    /// processor as on many.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// let (a, _) = pool.run(|| bombyx::join_context(|context| context.migrated(), |_| ()));
    /// assert!(!a);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs `a` and `b`, perhaps in parallel, and returns both results.
///
/// The calling carrier runs `a` itself. If no other processor has taken `b` by then, it runs `b` as an ordinary
/// call; if one has, it waits, and its processor does something useful meanwhile. Outside of a pool the closures
/// run in the [global pool](Pool::global).
///
/// # Panics
/// Both closures always come to their end before `join` returns. If `a` panics, its panic is resumed after `b` has ended, and
/// what `b` returned, or panicked with, is dropped; should its destructor panic, nobody learns that but the panic hook. If `b`
/// alone panics, its panic is resumed, and what `a` returned is dropped as by every unwinding: a destructor that panics then
/// aborts the process.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = bombyx::join(|| sum(left), || sum(right));
///     left + right
/// }
/// let numbers: Vec<u64> = (0..100_000).collect();
/// assert_eq!(sum(&numbers), 4_999_950_000);
/// ```
#[inline(always)]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at(Site::here(Kind::Join), |_| a(), |_| b())
}

/// Like [`join`], for closures that want to know whether they run on another processor: a sign that others are
/// idle, and that splitting further is worth while.
///
/// ```
/// let (a, b) = bombyx::join_context(|_| 1, |context| if context.migrated() { 2 } else { 2 });
/// assert_eq!(a + b, 3);
/// ```
#[inline(always)]
#[track_caller]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(Context) -> RA + Send,
    B: FnOnce(Context) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at(Site::here(Kind::Join), a, b)
}

/// [`join_context`] as a fork at `site`, which only the slow paths look at.
#[inline(always)]
pub(crate) fn join_at<A, B, RA, RB>(site: Site, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(Context) -> RA + Send,
    B: FnOnce(Context) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(processor) = current::processor() else {
        // What `outside` reads and writes is memory of its own, by the pair and the box. Else every fork would write its
        // closures to memory before this branch, and copy its results.
        return *outside(site, (a, b));
    };
    let pushed = processor.deque.next();
    let fork = Fork::new(b, pushed);
    processor.deque.push(pushed, Entry::stack(NonNull::from(&fork).cast()));
    let split_further = processor.deque.wants_attention(pushed)
        && attend_fork(processor, site, Fork::<B, RB>::exec as *const () as usize);
    // The second half must end before the frame goes, and shall not run inside of an unwinding. The call is inlined, and what it
    // returns is nothing, so that a half that does not panic pays nothing for this.
    let mut ra = MaybeUninit::uninit();
    let first = || {
        ra.write(a(Context { migrated: split_further }));
    };
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(first)) {
        fork.abandon(payload);
    }
    // SAFETY: the call came to its end, where it wrote the result.
    let ra = unsafe { ra.assume_init() };
    let rb = if fork.pop() { fork.call(false) } else { fork.finish() };
    (ra, rb)
}

/// The slow path of a fork at `site`, whose second half runs the function at the address `code`. Whether its first half should
/// split further ([`profile::fork`]).
#[cold]
#[inline(never)]
fn attend_fork(processor: &Processor, site: Site, code: usize) -> bool {
    guarded(|| {
        let pool = processor.pool();
        // Where threads are counted every fork attends, before its first half begins.
        pool.thread_created();
        if pool.observer().is_some() {
            // The whole fork must be one that keeps its job, or one that does not.
            processor.choose_barrier();
        }
        let long = profile::fork(processor, site, code);
        processor.attend();
        long
    })
}

/// One closure of a join from outside.
type Half<'a, R> = Box<dyn FnOnce(Context) -> R + Send + 'a>;

/// A join on a thread that holds no processor.
#[cold]
#[inline(never)]
fn outside<A, B, RA, RB>(site: Site, (a, b): (A, B)) -> Box<(RA, RB)>
where
    A: FnOnce(Context) -> RA + Send,
    B: FnOnce(Context) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // Neither half stays where it was called. The boxes keep the types finite: `join_at` comes back here.
    let a: Half<'_, RA> = Box::new(move |_| a(Context { migrated: true }));
    let b: Half<'_, RB> = Box::new(move |_| b(Context { migrated: true }));
    let caller =
        profile::caller(site, outside::<A, B, RA, RB> as *const () as usize, crate::api::costs::measure);
    Box::new(Pool::run_at_home(site, move || {
        profile::called_from(caller);
        join_at(site, a, b)
    }))
}

/// The second half of a join, on the stack of the carrier that forked it.
#[repr(C)]
struct Fork<B, R> {
    job: Job,
    closure: UnsafeCell<ManuallyDrop<B>>,
    /// Written by whoever took the job, before it ends it.
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
}

impl<B, R> Fork<B, R>
where
    B: FnOnce(Context) -> R,
{
    #[inline(always)]
    fn new(closure: B, pushed: Pushed) -> Fork<B, R> {
        Fork {
            job: Job::forked(Fork::<B, R>::exec, pushed),
            closure: UnsafeCell::new(ManuallyDrop::new(closure)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Takes the job back, if it is untouched, on the carrier that forked it.
    #[inline(always)]
    fn pop(&self) -> bool {
        // SAFETY: an untouched job means that the carrier still holds the processor it forked on (see `job`).
        self.job.untouched().is_some_and(|pushed| unsafe { current::held_unchecked() }.deque.pop(pushed))
    }

    /// Runs the closure in place. The job is ours: nobody took it, or we got it back.
    #[inline(always)]
    fn call(&self, migrated: bool) -> R {
        // SAFETY: whoever owns the job takes the closure, once.
        let closure = unsafe { ManuallyDrop::take(&mut *self.closure.get()) };
        closure(Context { migrated })
    }

    /// Gets the result of a job that was not simply popped.
    #[cold]
    #[inline(never)]
    fn finish(&self) -> R {
        let finishing = Finishing::new(&self.job, Finishing::begin(&self.job));
        match finishing.waited {
            Waited::TakenBack => self.call(profile::second_is_long()),
            Waited::Done => {
                // SAFETY: the latch is set, so the taker has written the result and will not touch the job.
                let result = unsafe { (*self.result.get()).assume_init_read() };
                result.unwrap_or_else(|payload| panic::resume_unwind(payload))
            }
        }
    }

    /// Ends the job after the first half's panic, which goes on then. This half's result, or panic, is dropped.
    #[cold]
    #[inline(never)]
    fn abandon(&self, payload: Payload) -> ! {
        if current::processor().is_none() {
            // Lost in a child process. Whatever else the frame was for is the parent's.
            panic::resume_unwind(payload);
        }
        guarded(|| {
            let joining = Joining::begin();
            if self.pop() {
                drop_unwanted(|| self.call(false));
                return joining.end(&self.job);
            }
            thread_ended(Child::First);
            let finishing = Finishing::new(&self.job, Finishing::go_on(joining, &self.job));
            match finishing.waited {
                Waited::TakenBack => drop_unwanted(|| self.call(false)),
                // SAFETY: as in `finish`.
                Waited::Done => match unsafe { (*self.result.get()).assume_init_read() } {
                    Ok(result) => drop_unwanted(|| result),
                    Err(payload) => drop_payload(payload),
                },
            }
        });
        panic::resume_unwind(payload)
    }

    /// What a taker calls.
    ///
    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of a `Fork`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        let this = job.cast::<Fork<B, R>>();
        // SAFETY: the caller took the job, so the closure and the result are its own until the job has ended.
        unsafe {
            let closure = ManuallyDrop::take(&mut *(*this).closure.get());
            let context = Context { migrated: !current::held().pool().config.deterministic };
            profile::begin_taken();
            let result = panic::catch_unwind(AssertUnwindSafe(|| closure(context)));
            profile::end_taken(job);
            (*(*this).result.get()).write(result);
            thread_ended(Child::Second);
            end(job)
        }
    }
}

/// The join of a job that was not simply popped, until its half has ended, also by a panic. All that the type of the
/// closure does not matter for.
struct Finishing<'a> {
    job: &'a Job,
    joining: Joining,
    waited: Waited,
}

impl<'a> Finishing<'a> {
    #[inline(always)]
    fn new(job: &'a Job, (joining, waited): (Joining, Waited)) -> Finishing<'a> {
        Finishing { job, joining, waited }
    }

    /// The first half has ended: gets the job back, or waits until it has ended.
    #[inline(never)]
    fn begin(job: &Job) -> (Joining, Waited) {
        if current::processor().is_none() {
            process::lost();
        }
        guarded(|| {
            thread_ended(Child::First);
            // SAFETY: the job was not popped, so it is not untouched.
            let Some(deque) = (unsafe { job.kept_in() }) else {
                return Finishing::go_on(Joining::begin(), job);
            };
            let joining = Joining::begin_kept();
            // SAFETY: the job is kept, so the calling carrier, which forked it, owns the deque and it is its youngest entry.
            if !unsafe { (*deque).pop_kept() } {
                return Finishing::go_on(joining, job);
            }
            let processor = current::held();
            processor.stats.joins_local.add(1);
            processor.count_own();
            (joining, Waited::TakenBack)
        })
    }

    /// The same, if the profiler knows already.
    #[inline(never)]
    fn go_on(mut joining: Joining, job: &Job) -> (Joining, Waited) {
        let waited = wait_for(job);
        match waited {
            Waited::TakenBack => current::held().count_own(),
            Waited::Done => joining.second_elsewhere(),
        }
        (joining, waited)
    }

    #[inline(never)]
    fn end(job: &Job, joining: Joining, waited: Waited) {
        guarded(|| {
            if waited == Waited::TakenBack {
                thread_ended(Child::Second);
            }
            joining.end(job);
        });
    }
}

impl Drop for Finishing<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        Finishing::end(self.job, self.joining, self.waited);
    }
}

/// A half of a join has ended whose second half is not *untouched*, on a thread that holds a processor of its pool. If that
/// half is the child, its thread is alive no longer, whether or not the join can go on.
#[inline(always)]
fn thread_ended(half: Child) {
    if let Some(pool) = current::processor().map(|processor| processor.pool())
        && pool.config.counts == Some(half)
    {
        pool.thread_ended();
    }
}
