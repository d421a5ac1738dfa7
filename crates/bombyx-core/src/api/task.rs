//! Tasks: spawned closures whose results any thread can get later, by waiting or by `await`.
//!
//! A [`Task`] and its spawned closure share a cell with one lock. The cell's stage says who owns what:
//!
//! | stage | holds | next |
//! |---|---|---|
//! | queued | the closure | running, when a processor or the joining frame takes the closure; ended, by [`Task::abort`] |
//! | running | nothing: the closure is on somebody's stack | ended; taken, if the [`Task`] was dropped |
//! | ended | the result, the panic, or the news that the task was aborted | taken |
//! | taken | nothing | |
//!
//! Whoever moves the cell out of *queued* owns the closure. So the closure runs once or is dropped, even if its entry
//! still waits in a deque: that entry then finds nothing to do. No user code runs under the lock: closures, results,
//! panics and wakers are moved out of the cell first, and a waker is cloned before.
//!
//! A panic that nobody can receive any more goes where the panics of all detached closures go: to
//! [`Builder::on_panic`](crate::Builder::on_panic), or it aborts the process. That holds whether the [`Task`] was
//! dropped before the panic or after it.

use crate::api::block_on::{block_on_work_in, tell_pool};
use crate::api::enter::{detached_with, enter};
use crate::api::handle::Handle;
use crate::api::pool::Pool;
use crate::api::signal::ends_soon;
use crate::machine::current;
use crate::machine::handlers::Payload;
use crate::machine::luggage::Luggage;
use crate::machine::pool::PoolCore;
use crate::profile::{Kind, Site};
use crate::system::primitive::lock;
use crate::system::{self, process};
use std::error::Error;
use std::fmt;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Starts `f` in the pool of the caller, or in the [global pool](Pool::global), and returns at once.
///
/// ```
/// let task = bombyx::spawn(|| (1..=10).product::<u64>());
/// assert_eq!(task.join().unwrap(), 3_628_800);
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> Task<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let site = Site::here(Kind::Run);
    match Handle::current() {
        Some(handle) => Task::start(&handle.pool, site, f),
        None => Task::start(&Pool::global().handle().pool, site, f),
    }
}

// These methods are here because pools and handles need not know about tasks.
impl Pool {
    /// Starts `f` on this pool and returns at once. Dropping the pool waits until `f` has ended.
    ///
    /// [`Task::join`] waits for the result, and receives the panic if `f` panics. If the task was dropped,
    /// [`Builder::on_panic`](crate::Builder::on_panic) receives the panic; without such a handler the process aborts.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// pool.spawn(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F: FnOnce() -> T + Send + 'static, T: Send + 'static>(&self, f: F) -> Task<T> {
        Task::start(&self.pool, Site::here(Kind::Run), f)
    }

    /// Starts `f` on this pool for an asynchronous caller, who awaits its result. Meanwhile the caller's executor is
    /// not blocked. Dropping the future drops `f` if it has not started.
    ///
    /// # Panics
    /// The future panics if `f` does.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(2).build()?;
    /// let answer = async { pool.run_async(|| bombyx::join(|| 6, || 7)).await };
    /// assert_eq!(bombyx::block_on(answer), (6, 7));
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    pub fn run_async<F: FnOnce() -> T + Send + 'static, T: Send + 'static>(&self, f: F) -> RunAsync<T> {
        RunAsync::start(&self.pool, Site::here(Kind::Run), f)
    }
}

impl Handle {
    /// Like [`Pool::spawn`].
    #[track_caller]
    pub fn spawn<F: FnOnce() -> T + Send + 'static, T: Send + 'static>(&self, f: F) -> Task<T> {
        Task::start(&self.pool, Site::here(Kind::Run), f)
    }

    /// Like [`Pool::run_async`].
    #[track_caller]
    pub fn run_async<F: FnOnce() -> T + Send + 'static, T: Send + 'static>(&self, f: F) -> RunAsync<T> {
        RunAsync::start(&self.pool, Site::here(Kind::Run), f)
    }
}

/// A spawned closure whose result can be fetched later. From [`spawn`], [`Pool::spawn`] or [`Handle::spawn`].
///
/// - [`Task::join`] waits for the result, on any thread.
/// - A task is a [`Future`], for any executor. Awaiting it never blocks the executor's thread.
/// - In a child of fork(2), a task that was started before belongs to the parent: it can be dropped, and everything else
///   panics.
/// - Dropping a task detaches it: the closure still runs. If it panics then, the panic goes to
///   [`Builder::on_panic`](crate::Builder::on_panic); without such a handler the process aborts.
///
/// ```
/// let words = bombyx::spawn(|| "a spawned closure".split(' ').count());
/// let letters = bombyx::spawn(|| "a spawned closure".len());
/// assert_eq!((words.join().unwrap(), letters.join().unwrap()), (3, 17));
/// ```
pub struct Task<T> {
    cell: Arc<dyn Shared<T>>,
    pool: Arc<PoolCore>,
    /// Whether the task was polled before.
    polled: bool,
}

impl<T: Send + 'static> Task<T> {
    pub(crate) fn start<F>(pool: &Arc<PoolCore>, site: Site, f: F) -> Task<T>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let cell = Arc::new(Cell { inner: Mutex::new(Inner::new(f)), luggage: Luggage::detached() });
        if !system::THREADS {
            // Nobody else would ever run it.
            enter(pool, site, || cell.run());
            return Task { cell, pool: Arc::clone(pool), polled: false };
        }
        let shared = Arc::clone(&cell);
        // The cell has the luggage, because the joining frame may run the closure, too.
        pool.submit(detached_with(pool, site, Luggage::default(), move || shared.run()), &[]);
        Task { cell, pool: Arc::clone(pool), polled: false }
    }
}

impl<T> Task<T> {
    /// Waits for the task and returns its result.
    ///
    /// If nobody has started the task, and the caller runs in the task's pool, the caller runs it here and now.
    /// Otherwise a caller that runs in a pool gives its processor to other work while it waits. If the task's pool can
    /// start no thread for the task ([`Builder::max_carriers`](crate::Builder::max_carriers)), the caller works there
    /// itself.
    ///
    /// # Errors
    /// If the closure panicked, or the task was [aborted](Task::abort).
    ///
    /// # Panics
    /// If [`Task::try_join`] has taken the result before.
    ///
    /// ```
    /// let task = bombyx::spawn(|| if true { panic!("out of cheese") });
    /// let error = task.join().unwrap_err();
    /// assert_eq!(error.to_string(), "the task panicked: out of cheese");
    /// ```
    pub fn join(self) -> Result<T, TaskError> {
        process::assert_current(self.pool.generation());
        if current::processor().is_some_and(|processor| ptr::eq(processor.pool(), &*self.pool)) {
            self.cell.run();
        }
        block_on_work_in(vec![Arc::clone(&self.pool)], self)
    }

    /// The result of the task if it has ended, without waiting.
    ///
    /// # Errors
    /// As for [`Task::join`].
    ///
    /// # Panics
    /// If the result was taken before.
    ///
    /// ```
    /// let mut task = bombyx::spawn(|| 7);
    /// let result = loop {
    ///     if let Some(result) = task.try_join() {
    ///         break result;
    ///     }
    ///     std::thread::yield_now();
    /// };
    /// assert_eq!(result.unwrap(), 7);
    /// ```
    pub fn try_join(&mut self) -> Option<Result<T, TaskError>> {
        process::assert_current(self.pool.generation());
        self.cell.take(None)
    }

    /// Whether the task has ended. If so, [`Task::join`] does not wait.
    pub fn is_finished(&self) -> bool {
        process::assert_current(self.pool.generation());
        self.cell.is_finished()
    }

    /// Drops the closure if it has not started. A closure that has started goes on. Returns whether the closure was
    /// dropped.
    ///
    /// ```
    /// let pool = bombyx::Pool::builder().processors(1).build()?;
    /// let aborted = pool.run(|| {
    ///     // The pool's only processor runs this closure, so nobody starts the task.
    ///     let task = bombyx::spawn(|| unreachable!());
    ///     assert!(task.abort());
    ///     task.join().unwrap_err()
    /// });
    /// assert!(aborted.is_aborted());
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn abort(&self) -> bool {
        process::assert_current(self.pool.generation());
        self.cell.abort()
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        process::assert_current(self.pool.generation());
        // A short closure ends before the executor could fall asleep, unless others wait before it.
        let first = !mem::replace(&mut self.polled, true);
        if first && current::processor().is_none() && !self.pool.has_several_queued() {
            ends_soon(&self.pool, || self.cell.is_finished());
        }
        match self.cell.take(Some(context.waker())) {
            Some(result) => Poll::Ready(result),
            None => {
                tell_pool(&self.pool);
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if !self.pool.generation().is_current() {
            // This is a child process. The closure belongs to the parent, which may have held the cell's lock.
            return;
        }
        if let Some(payload) = self.cell.detach() {
            self.pool.handlers().guard(|| panic::resume_unwind(payload));
        }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In a child of fork(2), nobody knows.
        let finished = self.pool.generation().is_current().then(|| self.is_finished());
        f.debug_struct("Task").field("finished", &finished).finish_non_exhaustive()
    }
}

/// A closure that runs in a pool for an asynchronous caller. From [`Pool::run_async`].
///
/// Dropping this drops the closure if it has not started. A closure that has started goes on, detached.
#[derive(Debug)]
#[must_use = "the result can be awaited; dropping this aborts a closure that has not started"]
pub struct RunAsync<T>(Task<T>);

impl<T: Send + 'static> RunAsync<T> {
    pub(crate) fn start<F>(pool: &Arc<PoolCore>, site: Site, f: F) -> RunAsync<T>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        RunAsync(Task::start(pool, site, f))
    }
}

impl<T> Future for RunAsync<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0).poll(context).map(|result| result.unwrap_or_else(|error| error.resume()))
    }
}

impl<T> Drop for RunAsync<T> {
    fn drop(&mut self) {
        if self.0.pool.generation().is_current() {
            self.0.abort();
        }
    }
}

/// Why a [`Task`] has no result.
pub struct TaskError(Cause);

enum Cause {
    /// The lock makes the error `Sync`, as error types of libraries should be. Only formatting takes the lock.
    Panicked(Mutex<Payload>),
    Aborted,
}

impl TaskError {
    /// Whether the task was [aborted](Task::abort) before it started.
    pub fn is_aborted(&self) -> bool {
        matches!(self.0, Cause::Aborted)
    }

    /// Whether the closure panicked.
    pub fn is_panic(&self) -> bool {
        !self.is_aborted()
    }

    /// What the closure panicked with.
    ///
    /// # Errors
    /// The error itself, if the closure did not panic.
    ///
    /// ```
    /// let error = bombyx::spawn(|| std::panic::panic_any(42)).join().unwrap_err();
    /// assert_eq!(error.into_panic().unwrap().downcast_ref(), Some(&42));
    /// ```
    pub fn into_panic(self) -> Result<Box<dyn std::any::Any + Send>, TaskError> {
        match self.0 {
            Cause::Panicked(payload) => {
                Ok(payload.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
            }
            Cause::Aborted => Err(self),
        }
    }

    /// Panics with what the closure panicked with, or with a message if the task was aborted.
    pub fn resume(self) -> ! {
        match self.into_panic() {
            Ok(payload) => panic::resume_unwind(payload),
            Err(aborted) => panic!("{aborted}"),
        }
    }

    /// The text of the panic, if it has one.
    fn message(&self) -> Option<String> {
        let Cause::Panicked(payload) = &self.0 else { return None };
        let payload = lock(payload);
        let text = payload.downcast_ref::<&str>().copied();
        text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).map(str::to_owned)
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0, self.message()) {
            (Cause::Aborted, _) => f.write_str("the task was aborted before it started"),
            (Cause::Panicked(_), Some(message)) => write!(f, "the task panicked: {message}"),
            (Cause::Panicked(_), None) => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskError({self})")
    }
}

impl Error for TaskError {}

/// What a task and its closure share, without the type of the closure.
trait Shared<T>: Send + Sync {
    /// Runs the closure if nobody has started it. If the closure panics and nobody can receive the panic, this panics.
    fn run(&self);
    /// Drops the closure if nobody has started it. Returns whether it was dropped.
    fn abort(&self) -> bool;
    fn is_finished(&self) -> bool;
    /// The result, if the task has ended. Otherwise stores the waker, if there is one, to be woken at the end.
    fn take(&self, waker: Option<&Waker>) -> Option<Result<T, TaskError>>;
    /// Says that nobody wants the result any more. Returns a panic that nobody has received.
    fn detach(&self) -> Option<Payload>;
}

/// See the module text.
struct Cell<F, T> {
    inner: Mutex<Inner<F, T>>,
    luggage: Luggage,
}

struct Inner<F, T> {
    stage: Stage<F, T>,
    waker: Option<Waker>,
    /// Whether the [`Task`] still exists.
    wanted: bool,
}

enum Stage<F, T> {
    Queued(F),
    Running,
    Ended(Result<T, TaskError>),
    Taken,
}

impl<F, T> Inner<F, T> {
    fn new(f: F) -> Inner<F, T> {
        Inner { stage: Stage::Queued(f), waker: None, wanted: true }
    }

    /// Takes the closure, if nobody has started it, and moves on to `next`.
    fn dequeue(&mut self, next: Stage<F, T>) -> Option<F> {
        match mem::replace(&mut self.stage, next) {
            Stage::Queued(f) => Some(f),
            other => {
                self.stage = other;
                None
            }
        }
    }
}

impl<F, T> Shared<T> for Cell<F, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    fn run(&self) {
        let Some(f) = lock(&self.inner).dequeue(Stage::Running) else { return };
        let result = self.luggage.run_root(|| panic::catch_unwind(AssertUnwindSafe(f)));
        let mut inner = lock(&self.inner);
        if inner.wanted {
            inner.stage =
                Stage::Ended(result.map_err(|payload| TaskError(Cause::Panicked(Mutex::new(payload)))));
            let waker = inner.waker.take();
            drop(inner);
            waker.into_iter().for_each(Waker::wake);
        } else {
            inner.stage = Stage::Taken;
            drop(inner);
            if let Err(payload) = result {
                panic::resume_unwind(payload);
            }
        }
    }

    fn abort(&self) -> bool {
        let mut inner = lock(&self.inner);
        let closure = inner.dequeue(Stage::Ended(Err(TaskError(Cause::Aborted))));
        let waker = if closure.is_some() { inner.waker.take() } else { None };
        drop(inner);
        waker.into_iter().for_each(Waker::wake);
        closure.is_some()
    }

    fn is_finished(&self) -> bool {
        matches!(lock(&self.inner).stage, Stage::Ended(_) | Stage::Taken)
    }

    fn take(&self, waker: Option<&Waker>) -> Option<Result<T, TaskError>> {
        let waker = waker.cloned();
        let mut inner = lock(&self.inner);
        match mem::replace(&mut inner.stage, Stage::Taken) {
            Stage::Ended(result) => Some(result),
            Stage::Taken => {
                drop(inner);
                panic!("the result of the task was taken before")
            }
            unfinished => {
                inner.stage = unfinished;
                let old = if waker.is_some() { mem::replace(&mut inner.waker, waker) } else { None };
                drop(inner);
                drop(old);
                None
            }
        }
    }

    fn detach(&self) -> Option<Payload> {
        let mut inner = lock(&self.inner);
        inner.wanted = false;
        let waker = inner.waker.take();
        let result = match mem::replace(&mut inner.stage, Stage::Taken) {
            Stage::Ended(result) => Some(result),
            other => {
                inner.stage = other;
                None
            }
        };
        drop(inner);
        drop(waker);
        result?.err()?.into_panic().ok()
    }
}
