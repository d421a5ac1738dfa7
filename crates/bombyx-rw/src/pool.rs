//! [`Pool`]: processors on OS threads, and computations that run on them one after the other.

use crate::cells::{Count, MOST_PROCESSORS, Shared};
use crate::clock::ticks;
use crate::discipline::Discipline;
use crate::task::{Ended, Task, first};
use crate::worker::{Rest, Worker, counted};
use std::any::Any;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Processors that run computations under the discipline `K`. The thread that calls [`run`](Pool::run) is one of them.
///
/// ```
/// use bombyx_rw::{Discipline, Ended, Pool, Task, WsJr};
///
/// fn fib<'w, K: Discipline>(task: Task<'w, '_, u64, K>, n: u64) -> Ended<'w> {
///     if n < 2 {
///         return task.end(n);
///     }
///     task.fork(
///         move |task| fib(task, n - 1),
///         move |task| fib(task, n - 2),
///         |task, a, b| task.end(a + b),
///     )
/// }
///
/// let mut pool = Pool::<WsJr>::new(2)?;
/// assert_eq!(pool.run(|task| fib(task, 20)), 6765);
/// # Ok::<(), bombyx_rw::PoolError>(())
/// ```
///
/// A body that panics ends its computation and the pool: `run` passes the panic on, and later calls panic. Threads that
/// had not run yet then do not drop what they captured.
pub struct Pool<K: Discipline> {
    worker: Worker<K>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Worker<K>>>,
    panic: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
    /// Workers that have ended. Their memory may hold records of others, so all of it is freed together.
    ended: Vec<Worker<K>>,
}

/// Why a pool cannot be built.
#[derive(Debug)]
pub enum PoolError {
    /// No processors, or more than a query word can distinguish.
    Processors(usize),
    /// The system starts no further thread.
    Thread(std::io::Error),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::Processors(n) => write!(f, "{n} processors asked for; choose 1 to {MOST_PROCESSORS}"),
            PoolError::Thread(error) => write!(f, "a thread cannot be started: {error}"),
        }
    }
}

impl std::error::Error for PoolError {}

impl<K: Discipline> fmt::Debug for Pool<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool<{}>({} processors)", K::NAME, self.processors())
    }
}

impl<K: Discipline> Pool<K> {
    /// A pool of this many processors. If they are more than the cores, waiting processors offer their core to others.
    ///
    /// # Errors
    /// If there are no processors or too many, or if the system starts no further thread.
    pub fn new(processors: usize) -> Result<Pool<K>, PoolError> {
        Pool::with_seed(processors, 0x2545_f491_4f6c_dd1d)
    }

    /// A pool whose choice of victims follows from `seed`.
    ///
    /// # Errors
    /// As for [`Pool::new`].
    pub fn with_seed(processors: usize, seed: u64) -> Result<Pool<K>, PoolError> {
        if processors == 0 || processors > MOST_PROCESSORS {
            return Err(PoolError::Processors(processors));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared::new(processors, processors > cores));
        let panic = Arc::default();
        let worker = Worker::new(shared.clone(), 0, seed);
        let mut pool = Pool { worker, shared, threads: Vec::new(), panic, ended: Vec::new() };
        for id in 1..processors {
            let (worker, panic) =
                (Worker::<K>::new(pool.shared.clone(), id as u32, seed), pool.panic.clone());
            let thread =
                std::thread::Builder::new().name(format!("rw {id}")).spawn(move || serve(worker, &panic));
            pool.threads.push(thread.map_err(PoolError::Thread)?);
        }
        Ok(pool)
    }

    /// How many processors there are.
    pub fn processors(&self) -> usize {
        self.shared.cells.len()
    }

    /// Runs a computation and returns its value.
    ///
    /// # Panics
    /// If a body of this computation or of an earlier one panicked.
    pub fn run<'e, T, F>(&mut self, body: F) -> T
    where
        T: Send + 'e,
        F: for<'x> FnOnce(Task<'x, 'e, T, K>) -> Ended<'x> + Send + 'e,
    {
        assert!(!self.shared.is_broken(), "a computation of this pool panicked, which ended the pool");
        let mut value = MaybeUninit::uninit();
        let ended = self.shared.ended.load(Relaxed);
        let thread = first(&mut self.worker, body, &mut value);
        self.shared.resting.store(false, Release);
        let worker = &mut self.worker;
        let start = ticks();
        let rest = catch_unwind(AssertUnwindSafe(|| {
            worker.begin(thread);
            worker.work(ended)
        }));
        match rest {
            Ok(Rest::Over) => {
                self.shared.resting.store(true, Release);
                self.worker.own().count(Count::RunTicks, ticks().wrapping_sub(start));
                // SAFETY: the computation is over, so its last thread wrote the value before it ended.
                unsafe { value.assume_init() }
            }
            Ok(Rest::Broken) => self.broken(None),
            Err(panic) => self.broken(Some(panic)),
        }
    }

    /// Waits until no processor runs a body any more, because bodies may borrow from the caller. Then panics.
    #[cold]
    fn broken(&mut self, own: Option<Box<dyn Any + Send>>) -> ! {
        self.stop();
        let panic = own.or_else(|| self.panic.lock().unwrap_or_else(|e| e.into_inner()).take());
        match panic {
            Some(panic) => resume_unwind(panic),
            None => panic!("a computation of this pool panicked"),
        }
    }

    fn stop(&mut self) {
        self.shared.stop.store(true, Release);
        self.shared.broken.store(true, Release);
        for thread in self.threads.drain(..) {
            // A worker catches the panics of bodies. It cannot end otherwise.
            if let Ok(worker) = thread.join() {
                self.ended.push(worker);
            }
        }
    }

    /// What all processors counted so far, idle processors' ticks included.
    pub fn counted(&self, what: Count) -> u64 {
        self.shared.cells.iter().map(|cells| counted(cells, what)).sum()
    }
}

impl<K: Discipline> Drop for Pool<K> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The life of a worker on its own thread.
fn serve<K: Discipline>(mut worker: Worker<K>, panic: &Mutex<Option<Box<dyn Any + Send>>>) -> Worker<K> {
    let shared = worker.shared.clone();
    while !shared.stop.load(Acquire) && !shared.is_broken() {
        let ended = shared.ended.load(Acquire);
        let rest = catch_unwind(AssertUnwindSafe(|| worker.work(ended)));
        if let Err(payload) = rest {
            panic.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(payload);
            shared.broken.store(true, Release);
        }
    }
    worker
}
