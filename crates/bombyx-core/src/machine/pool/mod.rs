//! What the processors of a pool share: the idle processors, the spare carriers, and the queue of entries from outside.
//!
//! **Not here:** the protocols that these files use. They are in [`crate::protocol`], where loom explores them.
//!
//! A processor that finds nothing is *retired*: it rests in the idle list, and its carrier becomes a spare. So an idle
//! pool is a list of processors and a list of parked threads, and waking pairs one of each. One lock protects both lists
//! and the queue.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the pool itself, and how it is built |
//! | `config.rs` | what the pool was built with |
//! | `rounds.rs` | how often the pool tells all processors that one of them rests |
//! | `search.rs` | who searches, and the last look before a rest |
//! | `idle.rs` | how processors come to rest and are woken |
//! | `sentry.rs` | the spare that looks for work on behalf of all that sleep |
//! | `spares.rs` | carriers without a processor |
//! | `queue.rs` | entries from outside |
//! | `resize.rs` | how many processors are in service |
//! | `end.rs` | what the end waits for, and figures |

pub(crate) mod config;
mod end;
mod idle;
mod queue;
mod resize;
mod rounds;
mod search;
mod sentry;
mod spares;

use crate::machine::board::Notice;
use crate::machine::gauge::Gauges;
use crate::machine::handlers::Handlers;
use crate::machine::meter::set_metering;
use crate::machine::processor::Processor;
use crate::machine::rhythm::Rhythm;
use crate::protocol::carrier::Carrier;
use crate::protocol::commons::Commons;
use crate::protocol::queue::Queued;
use crate::protocol::sleep::Sleepers;
use crate::system::affinity;
use crate::system::primitive::{AtomicBool, Mutex, lock};
use crate::system::process::Generation;
use config::{Config, Threads};
use rounds::Rounds;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// See the module text.
pub(crate) struct PoolCore {
    this: Weak<PoolCore>,
    pub(crate) config: Config,
    processors: Box<[Processor]>,
    /// How many processors are in service: the first ones.
    in_service: AtomicUsize,
    pub(crate) sleepers: Sleepers,
    pub(crate) rhythm: Rhythm,
    rounds: Rounds,
    pub(crate) gauges: Gauges,
    /// 1 more than the index of the processor that a thread outside the pool held last; 0 if none did. A hint.
    pub(in crate::machine) visited: AtomicUsize,
    /// How many entries are in the queue of `shared`, for a look without the lock.
    queued: Queued,
    pub(crate) shared: Mutex<Shared>,
    /// What `shared.stopping` says, for a look without the lock.
    stopping: AtomicBool,
    /// The carriers, if each of them holds one processor for the life of the pool ([`crate::machine::fixed`]).
    pub(crate) fixed_carriers: Box<[Arc<Carrier>]>,
    /// Spawned closures that belong to no scope and have not ended. Dropping the pool waits for them.
    detached: std::sync::Mutex<Detached>,
    detached_ended: Condvar,
    /// What others see of the pool. The last field: it has the counters of the processors.
    pub(in crate::machine) notice: Notice,
}

/// How long the pool asks the system for no thread after the system has refused one.
const AFTER_REFUSAL: Duration = Duration::from_millis(10);

/// Spawned closures that belong to no scope, and guests, as long as they have not ended.
#[derive(Default)]
struct Detached {
    count: usize,
    /// Whether the carriers end with the last of these.
    closed: bool,
}

/// What the lock of the pool protects.
pub(crate) struct Shared {
    pub(in crate::machine) commons: Commons<Processor>,
    pub(in crate::machine) handles: Vec<JoinHandle<()>>,
    pub(in crate::machine) carriers: usize,
    peak_carriers: usize,
    /// When the system last refused to start a thread.
    pub(in crate::machine) refused_at: Option<Instant>,
    /// How many carriers there have been, which numbers them.
    pub(in crate::machine) numbered: usize,
    /// Carriers that will list themselves as spares, after their start handlers.
    pub(in crate::machine) starting: usize,
    pub(in crate::machine) stopping: bool,
}

impl Shared {
    /// Whether it is too early to ask the system for a thread again. Otherwise every fork that wants to wake somebody
    /// would ask.
    fn was_refused_lately(&self) -> bool {
        self.refused_at.is_some_and(|at| at.elapsed() < AFTER_REFUSAL)
    }

    pub(in crate::machine) fn count_carrier(&mut self) {
        self.carriers += 1;
        self.peak_carriers = self.peak_carriers.max(self.carriers);
    }
}

// SAFETY: the pointers name processors, which the pool owns, and carriers, which are alive while they are listed. All
// are used under the lock, or after they were taken out under it.
unsafe impl Send for Shared {}

/// The pool that something is part of. The pool outlives that part.
pub(crate) struct PoolRef(*const PoolCore);

impl PoolRef {
    /// # Safety
    /// The pool outlives the value, which does not touch the pool before the pool is built.
    pub(crate) unsafe fn new(pool: *const PoolCore) -> PoolRef {
        PoolRef(pool)
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> &PoolCore {
        // SAFETY: as promised to `new`.
        unsafe { &*self.0 }
    }

    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *const PoolCore {
        self.0
    }
}

// SAFETY: this is as good as a reference to the pool, and such a reference can be sent and shared.
unsafe impl Send for PoolRef {}
// SAFETY: as above.
unsafe impl Sync for PoolRef {}

impl PoolCore {
    /// A new pool. All processors are idle.
    pub(crate) fn new(config: Config) -> io::Result<Arc<PoolCore>> {
        let pool = PoolCore::without_carriers(config);
        pool.start_carriers().map(|()| Arc::clone(&pool)).inspect_err(|_| pool.shut_down())
    }

    /// Like [`PoolCore::new`], but with fewer carriers, or none, if the system starts no more.
    pub(crate) fn with_what_can_be_had(config: Config) -> Arc<PoolCore> {
        let pool = PoolCore::without_carriers(config);
        // Missing carriers are started when they are needed, or the callers lend their own threads.
        let _ = pool.start_carriers();
        pool
    }

    pub(crate) fn without_carriers(config: Config) -> Arc<PoolCore> {
        let pool = Arc::new_cyclic(|this| {
            let notice = Notice::new(config.processors);
            let processor = |index| {
                // SAFETY: the pool owns the processors.
                let pool = unsafe { PoolRef::new(this.as_ptr()) };
                Processor::new(index, &config, pool, notice.slot(index))
            };
            let processors: Box<[Processor]> = (0..config.processors).map(processor).collect();
            let fixed_carriers: Box<[_]> = match config.threads {
                Threads::Fixed => processors.iter().map(|_| Arc::new(Carrier::to_be_started())).collect(),
                Threads::Moving => Box::default(),
            };
            let shared = Shared {
                commons: Commons::new(),
                handles: Vec::new(),
                carriers: 0,
                peak_carriers: 0,
                refused_at: None,
                numbered: 0,
                starting: 0,
                stopping: false,
            };
            if config.metered {
                set_metering(true);
            }
            for processor in &processors {
                // The first fork finds out how this pool works.
                processor.deque.poison();
                processor.meter.reset(config.strategy.quota());
            }
            PoolCore {
                this: this.clone(),
                gauges: Gauges::default(),
                visited: AtomicUsize::new(0),
                sleepers: Sleepers::new(0),
                in_service: AtomicUsize::new(config.in_service),
                rhythm: Rhythm::new(),
                rounds: Rounds::new(config.processors, affinity::cpus().len()),
                fixed_carriers,
                processors,
                config,
                queued: Queued::none(notice.queued()),
                notice,
                shared: Mutex::new(shared),
                stopping: AtomicBool::new(false),
                detached: std::sync::Mutex::default(),
                detached_ended: Condvar::new(),
            }
        });
        pool.list_processors();
        pool.observed()
    }

    /// Puts the processors of a new pool into the idle list. The pool must be in its final place: a pointer to a processor
    /// may not be used after the box that owns the processors has moved.
    fn list_processors(&self) {
        // A fixed carrier lists its own processor when it has started and found nothing.
        if !self.has_fixed_threads() {
            let processors = self.processors.iter().rev().map(NonNull::from);
            let mut shared = lock(&self.shared);
            shared.commons.rest(processors, &self.sleepers);
            shared.commons.sort_out(|processor| self.is_listed_as_surplus(processor), &self.sleepers);
        }
    }

    /// Tells the observer and the tracer, if there are any, that the pool exists, and whoever looks at the board.
    fn observed(self: Arc<PoolCore>) -> Arc<PoolCore> {
        self.notice.set_in_service(self.in_service());
        self.notice.post(self.has_fixed_threads(), &self.config.scheduler);
        if let Some(observer) = self.observer() {
            observer.add_pool(&self);
        }
        if let Some(tracer) = self.tracer() {
            tracer.add_pool(self.processors.len(), self.has_fixed_threads(), &self.config.scheduler);
        }
        self
    }

    /// Starts the carriers that a new pool needs at once.
    ///
    /// A pool that lends its processors to callers starts one. The others start when there is work for them
    /// ([`PoolCore::wake`]). So a short program pays for the threads that it uses, and not for one per processor. A pool
    /// starts all at once if only they can run what callers bring, or if somebody counts their handlers.
    fn start_carriers(&self) -> io::Result<()> {
        let on_demand = self.config.lends && !self.handlers().are_per_thread();
        for _ in 0..if on_demand { 1 } else { self.in_service() } {
            let mut shared = lock(&self.shared);
            let carrier = self.start_carrier(&mut shared)?;
            if let Some(carrier) = carrier.filter(|_| !self.has_fixed_threads()) {
                shared.commons.list_spare(carrier);
            }
        }
        self.start_watcher()
    }

    /// Starts the threads that decide on muggings, in pools that have them.
    pub(crate) fn start_watcher(&self) -> io::Result<()> {
        self.config.strategy.cpus().start(self.arc())
    }

    /// The pool as a shared pointer. For callers that know that the pool is in use.
    pub(crate) fn arc(&self) -> Arc<PoolCore> {
        self.this.upgrade().expect("a pool in use is shared")
    }

    pub(crate) fn generation(&self) -> Generation {
        self.config.generation
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.config.handlers
    }

    pub(crate) fn processors(&self) -> &[Processor] {
        &self.processors
    }
}

// A job keeps marks beside the address of the pool in whose queue it is.
const _: () = assert!(align_of::<PoolCore>() > crate::protocol::job::PLACE);

impl Drop for PoolCore {
    fn drop(&mut self) {
        if let Some(observer) = self.observer() {
            observer.remove_pool(self);
        }
        if self.config.metered {
            set_metering(false);
        }
    }
}
