//! Building pools: translates what the caller chose into the words of the runtime. Also the global pool.

use crate::{ThreadPool, ThreadPoolBuildError};
use bombyx_core::dropin::BuilderExt as _;
use bombyx_core::lab::BuilderExt as _;
use bombyx_core::{Scheduler, Threads};
use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;

/// How many threads a pool with moving threads may have beyond its processors, for threads that wait and gave their
/// processor away. This is large: with fewer, tasks that wait for another pool pile up on stacks again (rayon's issue
/// 751).
const SPARES: usize = 1024;

type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
type CarrierHandler = Box<dyn Fn(usize) + Send + Sync>;

/// The settings of a new pool.
///
/// ```
/// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(2).thread_name(|i| format!("worker-{i}")).build()?;
/// pool.install(|| assert!(std::thread::current().name().unwrap().starts_with("worker-")));
/// # Ok::<(), bombyx_threads::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    panic_handler: Option<PanicHandler>,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    start_handler: Option<CarrierHandler>,
    exit_handler: Option<CarrierHandler>,
    spawn_handler: S,
    breadth_first: bool,
    deterministic: bool,
    threads: Option<Threads>,
}

impl Default for ThreadPoolBuilder {
    fn default() -> ThreadPoolBuilder {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            panic_handler: None,
            thread_name: None,
            stack_size: None,
            start_handler: None,
            exit_handler: None,
            spawn_handler: DefaultSpawn,
            breadth_first: false,
            deterministic: false,
            threads: None,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder with the defaults.
    pub fn new() -> ThreadPoolBuilder {
        ThreadPoolBuilder::default()
    }

    /// Builds a pool for the duration of `with_pool`. Each thread calls `wrapper`, which must call
    /// [`ThreadBuilder::run`]. This is for threads that borrow from the caller. They have all ended when this returns.
    ///
    /// # Errors
    /// If a thread cannot be started.
    ///
    /// ```
    /// let greeting = String::from("hello");
    /// let length = bombyx_threads::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| { assert_eq!(greeting, "hello"); thread.run() },
    ///     |pool| pool.install(|| greeting.len()),
    /// )?;
    /// assert_eq!(length, 5);
    /// # Ok::<(), bombyx_threads::ThreadPoolBuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| thread.std()?.spawn_scoped(scope, move || wrapper(thread)).map(drop))
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the pool.
    ///
    /// # Errors
    /// If a thread cannot be started, or `use_current_thread` is asked for on a thread that is in a pool.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        ThreadPool::build_with(self)
    }

    /// Builds the pool and makes it the global one. Without this, the global pool is built when first used, with the
    /// defaults.
    ///
    /// # Errors
    /// As [`build`](Self::build), and if there is a global pool already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        if bombyx_core::Pool::has_global() {
            return Err(ThreadPoolBuildError::global_pool_exists());
        }
        // If another thread was faster, this pool is dropped again.
        self.assemble()?.into_global()?;
        Ok(())
    }

    pub(crate) fn assemble(mut self) -> Result<bombyx_core::Pool, ThreadPoolBuildError> {
        let threads = self.threads().min(crate::max_num_threads());
        // The first threads are named while they are started. Later threads reuse these names.
        let names = Arc::new(Mutex::new(Vec::new()));
        let kind = self.kind()?;
        let mut builder =
            bombyx_core::Pool::builder().processors(threads).threads(kind).lend(false).ordered(true);
        if self.deterministic {
            builder = builder.deterministic(true);
        }
        if S::CAN_START_MORE && kind == Threads::Moving {
            builder = builder.max_carriers(threads + SPARES);
        }
        if self.thread_name.is_some() {
            builder = builder.thread_names(Arc::clone(&names));
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size.max(bombyx_core::Pool::MIN_STACK_SIZE));
        }
        if let Some(handler) = self.start_handler.take() {
            builder = builder.on_start(handler);
        }
        if let Some(handler) = self.exit_handler.take() {
            builder = builder.on_exit(handler);
        }
        if let Some(handler) = self.panic_handler.take() {
            builder = builder.on_panic(handler);
        }
        let mut name = |index| {
            let name = self.thread_name.as_mut().map(|name| name(index));
            lock(&names).extend(name.clone());
            name
        };
        if self.use_current_thread {
            builder = builder.use_current_thread();
            name(0);
        }
        let spawn_handler = &mut self.spawn_handler;
        let pool = builder.build_with(|carrier| {
            let name = name(carrier.index());
            spawn_handler.spawn(ThreadBuilder { name, carrier })
        })?;
        Ok(pool)
    }

    /// The kind that the builder or the environment chose. Otherwise fixed threads, unless the environment names a
    /// scheduler that has to move them.
    fn kind(&self) -> Result<Threads, bombyx_core::Error> {
        if let Some(kind) = self.threads {
            return Ok(kind);
        }
        if let Ok(given) = env::var("BOMBYX_THREADS") {
            return given.parse();
        }
        let moves =
            |given: String| given.parse::<Scheduler>().is_ok_and(|named| !named.allows_fixed_threads());
        let moving = env::var("BOMBYX_SCHEDULER").is_ok_and(moves);
        Ok(if moving { Threads::Moving } else { Threads::Fixed })
    }

    /// The number that the builder or the environment chose. Otherwise one for each CPU.
    fn threads(&self) -> usize {
        let from = |variable| env::var(variable).ok().and_then(|given| given.trim().parse::<usize>().ok());
        let cores = || thread::available_parallelism().map_or(1, |cores| cores.get());
        if self.num_threads > 0 {
            return self.num_threads;
        }
        match from("RAYON_NUM_THREADS") {
            Some(0) => cores(),
            Some(threads) => threads,
            None => ["RAYON_RS_NUM_CPUS", "BOMBYX_PROCESSORS"]
                .into_iter()
                .filter_map(from)
                .find(|&threads| threads > 0)
                .unwrap_or_else(cores),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<S> ThreadPoolBuilder<S> {
    /// Starts the threads with `spawn`, which must make sure that [`ThreadBuilder::run`] is called on a separate
    /// thread. It is called once per thread of the pool.
    ///
    /// Such a pool has no other threads. A waiting thread that would need another one to hand its processor to runs
    /// whatever work there is on its own stack, as the original does.
    ///
    /// ```
    /// let pool = bombyx_threads::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 22), 22);
    /// # Ok::<(), bombyx_threads::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            panic_handler: self.panic_handler,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            spawn_handler: CustomSpawn(spawn),
            breadth_first: self.breadth_first,
            deterministic: self.deterministic,
            threads: self.threads,
        }
    }

    /// Names the threads.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// How many threads the pool has. 0, the default, means `RAYON_NUM_THREADS`, else one for each CPU.
    ///
    /// With [moving threads](ThreadPoolBuilder::moving_threads), this many threads can run at a time. The pool may have
    /// more, which wait for a `join`, a `scope` or an `install`.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the calling thread part of the pool that it builds, with index 0, for ever. It runs the pool's work only
    /// while it waits for something in the pool, or yields. The pool's memory is never freed.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// The handler that receives a panic that nobody waits for, in `spawn` or another handler. Without it, such a panic
    /// aborts the process. A panic of this handler aborts the process too.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// The stack size of the threads, in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Used to run spawned tasks in the order of their spawns. It no longer has an effect.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Called by every thread when it starts, with an index below `num_threads`.
    ///
    /// With [moving threads](ThreadPoolBuilder::moving_threads), the pool may start more threads later, because others
    /// wait. These also call the handler, with an index that was used before.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Called by every thread when it ends, with the index that it started with.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }

    /// Hides from [`FnContext::migrated`](crate::FnContext::migrated) which tasks other threads have taken. So parallel
    /// iterators split in the same way in every run, and sums of floats are repeatable. Not in the original.
    /// `BOMBYX_DETERMINISTIC=1` does the same for all pools.
    ///
    /// ```
    /// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(4).deterministic(true).build()?;
    /// fn migrations(depth: u32) -> u32 {
    ///     if depth == 0 {
    ///         return 0;
    ///     }
    ///     let (a, b) = bombyx_threads::join_context(|_| migrations(depth - 1), |context| {
    ///         u32::from(context.migrated()) + migrations(depth - 1)
    ///     });
    ///     a + b
    /// }
    /// assert_eq!(pool.install(|| migrations(12)), 0);
    /// # Ok::<(), bombyx_threads::ThreadPoolBuildError>(())
    /// ```
    pub fn deterministic(mut self, deterministic: bool) -> Self {
        self.deterministic = deterministic;
        self
    }

    /// Lets a thread that waits give its processor to another thread. So a lock held across a `join` cannot deadlock
    /// with other tasks of the pool, and no thread is idle while there is work. The pool then has more threads than
    /// `num_threads`, and the index of a thread can change wherever it waits. Not in the original.
    /// `BOMBYX_THREADS=moving` does the same for all pools that do not choose.
    ///
    /// ```
    /// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(2).moving_threads(true).build()?;
    /// assert_eq!(pool.install(|| bombyx_threads::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), bombyx_threads::ThreadPoolBuildError>(())
    /// ```
    pub fn moving_threads(mut self, moving: bool) -> Self {
        self.threads = Some(if moving { Threads::Moving } else { Threads::Fixed });
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn set<T>(handler: &Option<T>) -> Option<&'static str> {
            handler.as_ref().map(|_| "<closure>")
        }
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("thread_name", &set(&self.thread_name))
            .field("panic_handler", &set(&self.panic_handler))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &set(&self.start_handler))
            .field("exit_handler", &set(&self.exit_handler))
            .field("breadth_first", &self.breadth_first)
            .field("deterministic", &self.deterministic)
            .finish()
    }
}

// ---- Threads ------------------------------------------------------------------------------------------------

/// A thread that has yet to be started. See [`ThreadPoolBuilder::spawn_handler`].
pub struct ThreadBuilder {
    name: Option<String>,
    carrier: bombyx_core::dropin::NewCarrier,
}

impl ThreadBuilder {
    /// The index of the thread, below `num_threads`.
    pub fn index(&self) -> usize {
        self.carrier.index()
    }

    /// The name that [`ThreadPoolBuilder::thread_name`] chose.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size that [`ThreadPoolBuilder::stack_size`] chose.
    pub fn stack_size(&self) -> Option<usize> {
        self.carrier.stack_size()
    }

    /// Makes the calling thread a thread of the pool until the pool ends.
    pub fn run(self) {
        self.carrier.run();
    }

    /// Returns an error where the standard library would panic: if the name contains a null character.
    fn std(&self) -> io::Result<thread::Builder> {
        let mut builder = thread::Builder::new();
        if let Some(name) = self.name() {
            if name.contains('\0') {
                let why = "the name of a thread contains a null character";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            builder = builder.name(name.to_owned());
        }
        if let Some(size) = self.stack_size() {
            builder = builder.stack_size(size);
        }
        Ok(builder)
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size())
            .finish()
    }
}

/// How threads are started. Other crates cannot implement this.
pub trait ThreadSpawn: sealed::Sealed {
    /// Whether the pool may start further threads by itself.
    #[doc(hidden)]
    const CAN_START_MORE: bool;

    /// Starts a thread that calls [`ThreadBuilder::run`].
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads as the standard library does.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

/// Starts threads with a function that the caller gives.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

impl ThreadSpawn for DefaultSpawn {
    const CAN_START_MORE: bool = true;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.std()?.spawn(|| thread.run()).map(drop)
    }
}

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    const CAN_START_MORE: bool = false;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}

// ---- The global pool ----------------------------------------------------------------------------------------

/// The global pool of this process, built if necessary. If the program uses the runtime directly and has built its
/// global pool, that one is used.
pub(crate) fn global() -> &'static bombyx_core::Pool {
    bombyx_core::Pool::global_or(|| ThreadPoolBuilder::new().assemble())
}

/// The pool of the caller, or the global one.
pub(crate) fn here() -> bombyx_core::Handle {
    bombyx_core::Handle::current().unwrap_or_else(|| global().handle())
}

/// Makes sure that the runtime's global pool is this one, before the caller, which is in no pool, uses it.
#[inline(always)]
pub(crate) fn ensure_global() {
    if !bombyx_core::in_pool() {
        global();
    }
}
