//! `join`: the function that users call, and its fast path. Everything else stays out of that path.
//!
//! `join(a, b)` *forks* `b` and runs `a`. The fork leaves a [`Job`] on the stack: the closure `b`, how to run it, and
//! where the job was pushed. The fork pushes an [`Entry`] that names the job at the *bottom*, the young end, of its
//! processor's deque. Then it compares its place once with the deque's *limit*. When `a` has returned, the join checks
//! whether the job is *untouched*. If so, it lowers the bottom, compares it with the *top*, the end from which thieves
//! take entries, and calls `b`. That is all: plain loads and stores on the stack and on two cache lines of the
//! processor.
//!
//! Everything else happens on two slow paths. Whoever wants the processor's attention *poisons* the limit, and the next
//! fork calls [`attend_fork`] ([`crate::protocol::deque`]). Whoever takes, offers or exposes the job marks it. The
//! join of a marked job calls [`Fork::finish`] ([`crate::protocol::job`] has all states).

use crate::api::pool::Pool;
use crate::machine::chain;
use crate::machine::current;
use crate::machine::handlers::{Payload, PoolEvent, drop_payload, drop_unwanted};
use crate::machine::live::note_site;
use crate::machine::patience::Waited;
use crate::machine::processor::Processor;
use crate::machine::strategy::Child;
use crate::machine::telling::{name_code, tell};
use crate::machine::views::Views;
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
    /// Whether the closure was stolen. It then usually runs on a different processor from the one that forked it.
    ///
    /// - For a join from outside a pool, this is true for both halves.
    /// - In a profiled pool it is also true for long halves, so that adaptive programs split and show their parallelism
    ///   even on one processor.
    /// - In a [deterministic](crate::Builder::deterministic) pool it is false in all other cases. So programs that split
    ///   further when they migrate split in the same way in every run.
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
/// The calling thread runs `a` itself. If no other processor has taken `b` when `a` returns, the thread runs `b` as an
/// ordinary call. Otherwise the thread waits until `b` has ended, and meanwhile runs only parts of `b`. For other work,
/// its *processor* (one of the P workers of the pool) moves to another thread. A pool with [fixed
/// threads](crate::Threads::Fixed), or at its [limit of threads](crate::Builder::max_carriers), may also run other work
/// on the waiting thread. Outside a pool, both closures run in the [global pool](Pool::global).
///
/// # Panics
/// Both closures always end before `join` returns.
///
/// If `a` panics, `join` resumes its panic after `b` has ended. The result of `b`, or its panic, is dropped. A panic
/// while dropping it is caught; only the panic hook reports it.
///
/// If only `b` panics, `join` resumes its panic. The result of `a` is dropped during the unwinding, so a destructor
/// that panics there aborts the process.
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

/// Like [`join`], for closures that want to know whether they were stolen. If they were, other processors are probably
/// idle, and it pays to split further.
///
/// ```
/// /// Splits a few times, and again wherever a half was stolen: as finely as the idle processors need it.
/// fn sum(numbers: &[u64], splits: u32) -> u64 {
///     if splits == 0 || numbers.len() == 1 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = bombyx::join_context(
///         |_| sum(left, splits - 1),
///         |context| sum(right, if context.migrated() { 4 } else { splits - 1 }),
///     );
///     left + right
/// }
/// let numbers: Vec<u64> = (0..100_000).collect();
/// assert_eq!(sum(&numbers, 4), 4_999_950_000);
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

/// [`join_context`], with the fork attributed to `site`. Only the slow paths look at `site`.
#[inline(always)]
pub(crate) fn join_at<A, B, RA, RB>(site: Site, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(Context) -> RA + Send,
    B: FnOnce(Context) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(processor) = current::processor() else {
        // Passing a pair and returning a box gives `outside` separate memory. So on the fast path, closures and results may
        // stay in registers. Otherwise every fork would have to write its closures to memory before this branch, and copy
        // its results.
        return *outside(site, (a, b));
    };
    join_on::<_, _, _, _, false>(processor, site, a, b)
}

/// A join on the processor that the calling thread holds. If `CAME`, the thread came from outside the pool for it.
#[inline(always)]
fn join_on<A, B, RA, RB, const CAME: bool>(processor: &Processor, site: Site, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(Context) -> RA + Send,
    B: FnOnce(Context) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let pushed = processor.deque.next();
    let fork = Fork::<B, RB, CAME>::new(b, pushed);
    processor.deque.push(pushed, Entry::stack(NonNull::from(&fork).cast()));
    let split_further =
        processor.deque.wants_attention(pushed) && attend_fork(processor, site, Fork::<B, RB, CAME>::code());
    // Catch a panic: the second half must end before this frame does, and must not run during unwinding. The call is
    // inlined and returns nothing, so a half that does not panic pays nothing for the `catch_unwind`.
    let mut ra = MaybeUninit::uninit();
    let first = || {
        ra.write(half::<_, _, CAME>(a, split_further));
    };
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(first)) {
        fork.abandon(payload);
    }
    // SAFETY: the first half returned without a panic, and its last step wrote the result.
    let ra = unsafe { ra.assume_init() };
    let rb = if fork.pop() { fork.call(false) } else { fork.finish(site) };
    (ra, rb)
}

/// The slow path of a fork at `site`. `code` is the address of the function that runs the second half. Returns whether
/// the first half should split further ([`profile::fork`]).
#[cold]
#[inline(never)]
fn attend_fork(processor: &Processor, site: Site, code: usize) -> bool {
    guarded(|| {
        let pool = processor.pool();
        // In a pool that counts threads, every fork comes here before its first half begins.
        pool.thread_created();
        if pool.observer().is_some() {
            // Fix the choice of barrier first: both calls below depend on it and must agree.
            processor.choose_barrier();
        }
        note_site(code, site.location);
        let long = profile::fork(processor, site, code);
        processor.attend();
        long
    })
}

/// Runs one closure of a join.
#[inline(always)]
fn half<F: FnOnce(Context) -> R, R, const CAME: bool>(f: F, migrated: bool) -> R {
    if CAME { migrated_half(f) } else { f(Context { migrated }) }
}

/// Runs one closure of a join from outside a pool. It is not inlined, so that the closure is compiled once more, and not
/// once for each way in which its half can run.
#[inline(never)]
fn migrated_half<F: FnOnce(Context) -> R, R>(f: F) -> R {
    f(Context { migrated: true })
}

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
    let caller =
        profile::caller(site, outside::<A, B, RA, RB> as *const () as usize, crate::api::costs::measure);
    Box::new(Pool::run_at_home(site, move || {
        profile::called_from(caller);
        // Both halves count as migrated, because the calling thread held no processor.
        join_on::<_, _, _, _, true>(current::held(), site, a, b)
    }))
}

/// The second half of a join, on the stack of the carrier that forked it. If `CAME`, the join was called outside a pool.
#[repr(C)]
struct Fork<B, R, const CAME: bool> {
    job: Job,
    closure: UnsafeCell<ManuallyDrop<B>>,
    /// Written by the taker of the job, before the job ends.
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
}

impl<B, R, const CAME: bool> Fork<B, R, CAME>
where
    B: FnOnce(Context) -> R,
{
    #[inline(always)]
    fn new(closure: B, pushed: Pushed) -> Self {
        Fork {
            job: Job::forked(Self::exec, pushed),
            closure: UnsafeCell::new(ManuallyDrop::new(closure)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The address of the function that runs the closure. The profiler and `bombyx top` know the fork by it, so it is the same
    /// inside and outside a pool.
    #[inline(always)]
    fn code() -> usize {
        Fork::<B, R, false>::exec as *const () as usize
    }

    /// Takes the job back if it is untouched. Only the carrier that forked the job may call this.
    #[inline(always)]
    fn pop(&self) -> bool {
        // SAFETY: the job is untouched, so this carrier still holds the processor it forked on (`protocol/job.rs`).
        self.job.untouched().is_some_and(|pushed| unsafe { current::held_unchecked() }.deque.pop(pushed))
    }

    /// Runs the closure in place. The caller owns the job: nobody took it, or the join got it back.
    #[inline(always)]
    fn call(&self, migrated: bool) -> R {
        // SAFETY: only the owner of the job takes the closure, and only once.
        let closure = unsafe { ManuallyDrop::take(&mut *self.closure.get()) };
        half::<_, _, CAME>(closure, migrated)
    }

    /// Gets the result of the job, which was forked at `site`, after the plain pop has failed.
    #[cold]
    #[inline(never)]
    fn finish(&self, site: Site) -> R {
        note_site(Self::code(), site.location);
        let finishing = Finishing::new(&self.job, Finishing::begin(&self.job));
        match finishing.waited {
            Waited::TakenBack => self.call(profile::second_is_long()),
            Waited::Done => {
                // SAFETY: the latch is set, so the taker has written the result and no longer touches the job.
                let result = unsafe { (*self.result.get()).assume_init_read() };
                self.merge();
                result.unwrap_or_else(|payload| panic::resume_unwind(payload))
            }
        }
    }

    /// After the first half has panicked: runs the second half or waits for it, drops its result or panic, and resumes
    /// the panic of the first half.
    #[cold]
    #[inline(never)]
    fn abandon(&self, payload: Payload) -> ! {
        if current::processor().is_none() {
            // The first half called fork(2). This child process holds no processor; the second half is the parent's.
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
                Waited::Done => {
                    drop_unwanted(|| self.merge());
                    // SAFETY: as in `finish`.
                    match unsafe { (*self.result.get()).assume_init_read() } {
                        Ok(result) => drop_unwanted(|| result),
                        Err(payload) => drop_payload(payload),
                    }
                }
            }
        });
        panic::resume_unwind(payload)
    }

    /// Merges the views that the job has left. It was taken, and has ended.
    fn merge(&self) {
        // SAFETY: the taker has written what the job leaves, and only its join, here, takes it.
        if let Some(left) = unsafe { Views::from_raw(self.job.carried()) } {
            Views::merge(*left);
        }
    }

    /// Runs the closure for the taker of the job, writes the result, and ends the job. Returns the carrier that this
    /// enabled.
    ///
    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of a `Fork`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        let this = job.cast::<Self>();
        // SAFETY: the caller took the job, so the closure and the result belong to it until the job has ended.
        unsafe {
            let closure = ManuallyDrop::take(&mut *(*this).closure.get());
            let migrated = !current::held().pool().config.deterministic;
            // The forking chain's task-local values outlive the join, and therefore this job.
            let chain = chain::begin((*job).carried(), false);
            tell(PoolEvent::StolenBegins);
            profile::begin_taken();
            name_code(Job::code(job), Self::code(), std::any::type_name::<B>);
            let result = panic::catch_unwind(AssertUnwindSafe(|| half::<_, _, CAME>(closure, migrated)));
            profile::end_taken(job);
            (*(*this).result.get()).write(result);
            tell(PoolEvent::StolenEnds);
            thread_ended(Child::Second);
            Job::leave(job, chain.end(), || end(job))
        }
    }
}

/// The join of a job whose plain pop failed. Dropping this value, by a return or by a panic, ends the join. The code
/// here does not depend on the type of the closure, so it is compiled once.
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

    /// Called when the first half has ended. Gets the job back, or waits until the job has ended.
    #[inline(never)]
    fn begin(job: &Job) -> (Joining, Waited) {
        if current::processor().is_none() {
            process::lost();
        }
        guarded(|| {
            thread_ended(Child::First);
            // SAFETY: the pop failed, so the job is not untouched.
            let Some(deque) = (unsafe { job.kept_in() }) else {
                return Finishing::go_on(Joining::begin(), job);
            };
            let joining = Joining::begin_kept();
            // SAFETY: the job is kept, so this carrier, which forked it, still owns the deque, and the job is its
            // youngest entry.
            if !unsafe { (*deque).pop_kept() } {
                return Finishing::go_on(joining, job);
            }
            let processor = current::held();
            processor.stats.joins_local.add(1);
            processor.count_own();
            (joining, Waited::TakenBack)
        })
    }

    /// The rest of [`Finishing::begin`], after the profiler has learned that the first half has ended.
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

/// Counts one ended thread, in the papers' sense, if `half` is the one that this pool counts. Call it when that half has
/// ended and its job was no longer *untouched*.
#[inline(always)]
fn thread_ended(half: Child) {
    let Some(pool) = current::processor().map(|processor| processor.pool()) else { return };
    if pool.config.counts == Some(half) {
        pool.thread_ended();
    }
}
