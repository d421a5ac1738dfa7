//! `scope` and `spawn`: any number of closures that end before the scope does, in bounded memory.
//!
//! A spawned closure is a heap job in the deque of the processor that spawned it (help-first: the spawner goes on).
//! When [`PENDING`] entries wait there already, thieves have enough to take, so the spawner runs the closure in place.
//! So a loop that spawns a million closures holds only a few hundred of them.
//!
//! A scope counts its unfinished closures, plus one for its body ([`crate::protocol::credits`]). Whoever brings the
//! count to zero, unless it is the body, sets the signal. After that, only the scope's own frame accesses the scope's
//! memory.

use crate::api::pool::Pool;
use crate::api::signal::Signal;
use crate::api::token::CancelToken;
use crate::machine::current;
use crate::machine::handlers::{Payload, drop_payload, drop_unwanted};
use crate::machine::live::note_site;
use crate::machine::luggage::Luggage;
use crate::machine::pool::{PoolCore, PoolRef};
use crate::machine::processor::Processor;
use crate::machine::telling::{Meanwhile, name_code};
use crate::machine::views::Views;
use crate::profile::{self, Closures, Kind as SiteKind, Site};
use crate::protocol::carrier::Enabled;
use crate::protocol::credits::{Credits, tell};
use crate::protocol::job::{Entry, HeapJob, Job};
use crate::protocol::lineage::Ancestor;
use crate::protocol::tickets::Tickets;
use crate::system::guard::guarded;
use crate::system::primitive::lock;
use crate::system::process;
use bombyx_base::trace::Region;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Mutex, OnceLock};

/// How many entries may wait in a deque before spawned closures run in place.
const PENDING: usize = 256;

/// Nobody has cancelled the scope, and it has no token.
const WANTED: u8 = 0;
/// Nobody has cancelled the scope yet, but its token may be cancelled.
const ASK_TOKEN: u8 = 1;
/// The scope is cancelled.
const CANCELLED: u8 = 2;

/// A scope. Closures spawned in it may borrow data from outside it. See [`scope`].
pub struct Scope<'scope> {
    pool: PoolRef,
    ancestor: Ancestor,
    end: End,
    closures: Closures,
    /// One per processor, for [`ScopeExt::spawn_fifo`](crate::dropin::ScopeExt::spawn_fifo). Made at the first use.
    pub(super) tickets: OnceLock<Box<[Tickets]>>,
    /// The first panic of a spawned closure.
    panic: Mutex<Option<Payload>>,
    /// Whether closures that have not started may have to be dropped: [`WANTED`] and so on.
    doubt: AtomicU8,
    /// Cancels the scope, too.
    token: Option<CancelToken>,
    /// Whether a closure was dropped because the scope was cancelled.
    skipped: AtomicBool,
    #[allow(clippy::type_complexity)]
    marker: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

/// How the frame of a scope learns that everything has ended.
#[repr(C)]
struct End {
    /// The first field, because whoever brings the count to zero finds the signal by the address of the credits.
    credits: Credits,
    signal: Signal,
}

impl End {
    /// The credits, as a pointer with the provenance of the whole `End`. Whoever brings the count to zero has only this
    /// pointer, and finds the signal through it.
    fn whole(&self) -> NonNull<Credits> {
        NonNull::from(self).cast()
    }

    /// See [`Tell`](crate::protocol::credits::Tell).
    ///
    /// # Safety
    /// The credits belong to an `End` and come from [`End::whole`]. The frame waits for the signal, and only the caller
    /// sets it.
    unsafe fn tell(credits: NonNull<Credits>) -> Enabled {
        // SAFETY: as the caller promises; the credits are the first field.
        unsafe { Signal::set(&raw const (*credits.cast::<End>().as_ptr()).signal) }
    }
}

/// Calls `f` with a scope, and returns when `f` and everything spawned in the scope have ended.
///
/// # Panics
/// If `f` or a spawned closure panics, `scope` resumes the panic after all of them have ended. If several panic, it
/// resumes the panic of `f` if there is one, otherwise the first. The other panics, and the result of `f`, are dropped.
/// If a destructor panics then, only the panic hook sees it.
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
#[track_caller]
pub fn scope<'scope, F, R>(f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    scope_until(Site::here(SiteKind::Scope), None, f).0
}

/// [`scope()`], until `token` is cancelled. Also returns whether everything has run.
pub(crate) fn scope_until<'scope, F, R>(site: Site, token: Option<&CancelToken>, f: F) -> (R, bool)
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    match current::processor() {
        Some(processor) => open(processor.pool(), site, token, f),
        None => Pool::run_at_home(site, || open(current::held().pool(), site, token, f)),
    }
}

/// Calls `f` on the calling thread, with a scope whose closures run in `pool`.
pub(crate) fn in_place<'scope, F, R>(pool: &PoolCore, site: Site, f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    open(pool, site, None, f).0
}

/// [`in_place`], until `token` is cancelled. Also returns whether everything has run.
fn open<'scope, F, R>(pool: &PoolCore, site: Site, token: Option<&CancelToken>, f: F) -> (R, bool)
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    process::assert_current(pool.generation());
    let _traced = Meanwhile::region(pool, Region::Scope, site.location);
    let signal = Signal::from(pool);
    let scope = Scope {
        // SAFETY: the caller borrows the pool for the whole call, and the scope ends before the call does.
        pool: unsafe { PoolRef::new(pool) },
        ancestor: Ancestor { opened_under: if signal.is_here() { current::carrier().root() } else { 0 } },
        end: End { credits: Credits::new(End::tell), signal },
        closures: Closures::begin(pool, site),
        tickets: OnceLock::new(),
        panic: Mutex::new(None),
        doubt: AtomicU8::new(if token.is_some() { ASK_TOKEN } else { WANTED }),
        token: token.cloned(),
        skipped: AtomicBool::new(false),
        marker: PhantomData,
    };
    let result = panic::catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if !pool.generation().is_current() {
        // This is a child process. The scope's closures belong to the parent process.
        mem::forget(scope);
        result.map_or_else(|payload| panic::resume_unwind(payload), |_| process::lost());
    }
    guarded(|| {
        let ending = scope.closures.body_ended();
        if !scope.end.credits.end_body(current::processor().map(|processor| &*processor.stock)) {
            scope.end.signal.wait(pool, scope.root());
        }
        drop(ending);
    });
    if let Err(payload) = panic::catch_unwind(Views::settle) {
        scope.keep_panic(payload);
    }
    let spawned = lock(&scope.panic).take();
    match (result, spawned) {
        (Ok(result), None) => (result, !scope.skipped.load(Relaxed)),
        (Err(payload), spawned) => {
            spawned.into_iter().for_each(drop_payload);
            panic::resume_unwind(payload)
        }
        (Ok(result), Some(payload)) => {
            drop_unwanted(|| result);
            panic::resume_unwind(payload)
        }
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns `f`, which ends before the scope does.
    ///
    /// The closure may start at any time: on another processor, or later on this one. If many closures already wait, it
    /// runs here and now, before `spawn` returns.
    ///
    /// # Panics
    /// A loop of spawns beside a [`Reducer`](crate::Reducer) merges views now and then. If
    /// [`Monoid::combine`](crate::Monoid::combine) panics there, so does `spawn`, and `f` is dropped.
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
    #[track_caller]
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let site = Site::here(SiteKind::Spawn);
        if self.is_cancelled() {
            return self.start(f);
        }
        match self.spawner() {
            Some(processor) if processor.strategy().pending(processor) >= PENDING => {
                processor.poll();
                self.run(self.closures.spawn(site), |scope| scope.start(f));
            }
            Some(processor) => {
                self.submit(processor, site, f);
                processor.heed_quota();
            }
            None => self.inject(site, f),
        }
    }

    /// Like [`Scope::spawn`], but never runs `f` itself, however many closures already wait. Use it if the caller holds
    /// a lock that `f` takes.
    ///
    /// ```
    /// let lock = std::sync::Mutex::new(0);
    /// bombyx::scope(|s| {
    ///     let _guard = lock.lock().unwrap();
    ///     for _ in 0..1000 {
    ///         s.defer(|_| *lock.lock().unwrap() += 1);
    ///     }
    /// });
    /// assert_eq!(lock.into_inner().unwrap(), 1000);
    /// ```
    #[track_caller]
    pub fn defer<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let site = Site::here(SiteKind::Spawn);
        match self.spawner() {
            Some(processor) => self.submit(processor, site, f),
            None => self.inject(site, f),
        }
    }

    /// Drops the closures of this scope that have not started, and those that are spawned from now on. Running closures
    /// go on. The result of [`scope()`] does not say whether closures were dropped. The result of a scope of a
    /// [token](CancelToken::scope) does.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// let words = ["leaf", "silk", "moth", "silk"];
    /// let found = Mutex::new(None);
    /// bombyx::scope(|s| {
    ///     for (i, word) in words.iter().enumerate() {
    ///         let found = &found;
    ///         s.spawn(move |s| if *word == "silk" {
    ///             *found.lock().unwrap() = Some(i);
    ///             s.cancel();
    ///         });
    ///     }
    /// });
    /// assert!(matches!(found.into_inner().unwrap(), Some(1 | 3)));
    /// ```
    pub fn cancel(&self) {
        // Relaxed, because the flag publishes nothing: a closure that misses it by a moment runs.
        self.doubt.store(CANCELLED, Relaxed);
    }

    /// Whether the scope was cancelled, by [`Scope::cancel`] or by its [token](CancelToken::scope).
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        let doubt = self.doubt.load(Relaxed);
        doubt != WANTED && self.is_cancelled_after_all(doubt)
    }

    #[cold]
    #[inline(never)]
    fn is_cancelled_after_all(&self, doubt: u8) -> bool {
        doubt == CANCELLED || self.token.as_ref().is_some_and(CancelToken::is_cancelled)
    }

    /// Calls `f`, or drops it if the scope is cancelled.
    #[inline]
    fn start(&self, f: impl FnOnce(&Scope<'scope>)) {
        if self.is_cancelled() {
            // Relaxed: the scope's frame reads this when all closures have given back their credits.
            self.skipped.store(true, Relaxed);
            drop(f);
        } else {
            f(self);
        }
    }

    /// Spawns `f` on the processor of the calling thread. If the processor attends, it also shows the site, so that this costs
    /// other spawns nothing.
    #[inline]
    fn submit<F>(&self, processor: &Processor, site: Site, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let entry = self.entry(Some(processor), site, f);
        if processor.submit_under(entry, &self.roots()) {
            note_site(Spawned::<F>::code(), site.location);
        }
    }

    /// Spawns `f` from a thread that holds no processor of the pool.
    fn inject<F>(&self, site: Site, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        note_site(Spawned::<F>::code(), site.location);
        self.pool().inject(self.entry(None, site, f));
    }

    /// Makes the entry of a closure of this scope, and counts the closure as unfinished. `here` is the
    /// [spawner](Scope::spawner). The caller must push or queue the entry.
    #[inline]
    pub(super) fn entry<F>(&self, here: Option<&Processor>, site: Site, f: F) -> Entry
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        process::assert_current(self.pool().generation());
        let entry = guarded(|| {
            match here {
                Some(processor) => {
                    // SAFETY: the scope is alive, and the provenance of `whole` covers all of its `End`.
                    let ended = unsafe { processor.stock.take(self.end.whole()) };
                    if let Some(enabled) = tell(ended) {
                        processor.admit(enabled);
                    }
                }
                None => self.end.credits.add_one(),
            }
            self.pool().thread_created();
            let job = Spawned {
                head: HeapJob::new(Spawned::<F>::exec, self.root()),
                scope: ptr::from_ref(self).cast(),
                profile: self.closures.spawn(site),
                luggage: Luggage::spawned(),
                closure: f,
            };
            Entry::heap(NonNull::from(Box::leak(Box::new(job))).cast())
        });
        debug_assert!(here.is_none_or(|here| ptr::eq(here, current::held())), "only the holder pushes");
        entry
    }

    /// The first step of a spawn. Returns the processor of the calling thread, if that processor belongs to the scope's
    /// pool.
    ///
    /// First, this settles the caller's views if there are many. Settling calls the user's code, so it comes before the
    /// closure is counted, and before the processor is looked up.
    #[inline]
    pub(super) fn spawner(&self) -> Option<&'static Processor> {
        Views::settle_if_long();
        current::processor().filter(|processor| ptr::eq(processor.pool(), self.pool.as_ptr()))
    }

    /// The roots that a spawned closure descends from: the one that the scope was opened under, and the scope's own.
    pub(super) fn roots(&self) -> [usize; 2] {
        [self.ancestor.opened_under, self.root()]
    }

    pub(super) fn pool(&self) -> &PoolCore {
        self.pool.get()
    }

    /// Runs a spawned closure and keeps its panic for the end of the scope.
    #[inline]
    fn run(&self, profile: profile::Spawned, f: impl FnOnce(&Scope<'scope>)) {
        self.closures.begin_closure(&profile);
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| f(self))) {
            self.keep_panic(payload);
        }
        self.closures.end_closure(profile);
    }

    /// Keeps a panic for the end of the scope, if it is the first one.
    fn keep_panic(&self, payload: Payload) {
        let mut first = lock(&self.panic);
        match &*first {
            None => *first = Some(payload),
            Some(_) => {
                drop(first);
                drop_payload(payload);
            }
        }
    }

    pub(super) fn root(&self) -> usize {
        self.ancestor.root()
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// A closure spawned in a scope.
#[repr(C)]
struct Spawned<F> {
    head: HeapJob,
    scope: *const (),
    profile: profile::Spawned,
    luggage: Luggage,
    closure: F,
}

impl<'scope, F> Spawned<F>
where
    F: FnOnce(&Scope<'scope>) + Send + 'scope,
{
    /// The address of the function that runs the closure.
    fn code() -> usize {
        Spawned::<F>::exec as *const () as usize
    }

    /// # Safety
    /// As for [`crate::protocol::job::Exec`]: `job` is the first field of a boxed `Spawned<F>`, taken by the caller.
    unsafe fn exec(job: *const Job) -> Enabled {
        // SAFETY: `entry` made the job from a box of this type, and the job runs only once.
        let memory = unsafe { Box::from_raw(job.cast_mut().cast::<MaybeUninit<Spawned<F>>>()) };
        // SAFETY: `entry` initialised the memory, and only this call reads it out.
        let Spawned { scope, profile, luggage, closure, .. } = unsafe { memory.assume_init_read() };
        let scope = scope.cast::<Scope<'scope>>();
        name_code(Self::code(), Self::code(), std::any::type_name::<F>);
        // SAFETY: the scope is alive: it waits for the credit of this closure, which the last line gives back.
        unsafe {
            luggage.run(|| {
                (*scope).run(profile, move |scope| {
                    // Freed here, so that for the recorder the spawned closure frees what the spawn allocated.
                    drop(memory);
                    scope.start(closure);
                });
            });
            drop(luggage);
            (*scope).pool().thread_ended();
            tell(current::held().stock.put((*scope).end.whole()))
        }
    }
}
