//! How carriers come to be: the pool starts them, a function of the user starts them, or the thread that builds the
//! pool is one.

use crate::machine::current;
use crate::machine::fixed;
use crate::machine::pool::{PoolCore, Shared};
use crate::machine::wait;
use crate::protocol::carrier::Carrier;
use crate::system::affinity::Thread;
use crate::system::guard::tripwire;
use crate::system::primitive::{MutexGuard, lock};
use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

/// A carrier that needs a thread. Call [`NewCarrier::run`] on the thread that should become this carrier.
///
/// See [`BuilderExt::build_with`](crate::dropin::BuilderExt::build_with).
pub struct NewCarrier {
    pool: Arc<PoolCore>,
    carrier: Arc<Carrier>,
    index: usize,
    name: Option<String>,
}

impl NewCarrier {
    pub(crate) fn new(
        pool: Arc<PoolCore>,
        carrier: Arc<Carrier>,
        index: usize,
        name: Option<String>,
    ) -> NewCarrier {
        NewCarrier { pool, carrier, index, name }
    }

    /// A number below the number of processors. The first carriers of a pool have different numbers.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that the thread should have, if the builder chose one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack that the thread should have, in bytes, if the builder chose a size.
    pub fn stack_size(&self) -> Option<usize> {
        self.pool.config.stack_size
    }

    /// Makes the calling thread this carrier until the pool ends.
    ///
    /// # Panics
    /// If the calling thread runs in a pool already.
    pub fn run(self) {
        assert!(
            current::processor().is_none(),
            "a thread that runs in a pool cannot be a carrier of another one"
        );
        self.carrier.begin(&std::thread::current());
        self.live(|this| this.pool.add_spare(NonNull::from(&*this.carrier)));
    }

    /// A thread builder with the wanted name and stack.
    pub(crate) fn thread(&self) -> std::thread::Builder {
        self.pool.config.thread(self.name())
    }

    /// The carrier, for its starter.
    pub(crate) fn carrier(&self) -> &Arc<Carrier> {
        &self.carrier
    }

    /// Makes the calling thread this carrier. The starter lists it among the spares, or gives it a processor, unless the
    /// carrier has a start handler to run before.
    pub(crate) fn run_started(self) {
        // The starter may be confined to fewer CPUs, and a new thread inherits that.
        if let Some(cpus) = &self.pool.config.cpus {
            Thread::HERE.allow(cpus);
        }
        self.carrier.begin(&std::thread::current());
        self.live(|this| {
            if this.pool.carriers_list_themselves() {
                this.pool.add_started(NonNull::from(&*this.carrier));
            }
        });
    }

    /// Runs the carrier from the start handler to the exit handler. `list` lists a moving carrier as a spare, unless
    /// its starter has done that.
    fn live(self, list: impl FnOnce(&NewCarrier)) {
        let pool = &self.pool;
        if pool.has_fixed_threads() {
            fixed::live(pool, &self.carrier, self.index);
        } else {
            current::at_home(pool, || pool.handlers().started(self.index));
            list(&self);
            wait::main(pool, &self.carrier);
            current::at_home(pool, || pool.handlers().exited(self.index));
        }
        pool.carrier_ended();
    }
}

impl fmt::Debug for NewCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewCarrier")
            .field("index", &self.index)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl PoolCore {
    /// Whether a new carrier lists itself as a spare, after its start handler. The handler may wait for a processor. A
    /// carrier that was listed before could be given that very processor, and the handler would wait for ever.
    pub(super) fn carriers_list_themselves(&self) -> bool {
        self.config.handlers.start.is_some() && !self.has_fixed_threads()
    }

    /// Starts a carrier, which waits to be given a processor. None if it lists itself later.
    pub(super) fn start_carrier(
        &self,
        shared: &mut MutexGuard<'_, Shared>,
    ) -> io::Result<Option<NonNull<Carrier>>> {
        tripwire("start_carrier");
        let new = self.number_carrier(shared)?;
        let carrier = Arc::clone(new.carrier());
        // The thread keeps its `Arc`, so the pointer is valid until the carrier has been stopped.
        let pointer = NonNull::from(&*carrier);
        let spawned = new.thread().spawn(move || new.run_started());
        let handle = spawned.inspect_err(|_| shared.refused_at = Some(Instant::now()))?;
        carrier.started(handle.thread());
        shared.handles.push(handle);
        shared.count_carrier();
        self.notice.set_carriers(shared.carriers);
        if self.carriers_list_themselves() {
            shared.starting += 1;
            return Ok(None);
        }
        Ok(Some(pointer))
    }

    /// A carrier for somebody else to start. When it runs, it lists itself as a spare.
    pub(crate) fn new_carrier(&self) -> io::Result<NewCarrier> {
        let mut shared = lock(&self.shared);
        let numbered = self.number_carrier(&mut shared).inspect(|_| shared.count_carrier());
        self.notice.set_carriers(shared.carriers);
        numbered
    }

    fn number_carrier(&self, shared: &mut MutexGuard<'_, Shared>) -> io::Result<NewCarrier> {
        if shared.stopping {
            return Err(io::Error::other("the pool is being dropped"));
        }
        if shared.carriers >= self.config.max_carriers {
            return Err(io::Error::other(format!(
                "the limit of {} carriers is reached",
                self.config.max_carriers
            )));
        }
        let index = shared.numbered % self.processors().len();
        let name = self.config.names.as_ref().and_then(|names| {
            // Whoever gives the names shares this lock, and a panic there may have poisoned it.
            let names = names.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            names.get(index).filter(|name| !name.contains('\0')).cloned()
        });
        shared.numbered += 1;
        let carrier = match self.fixed_carriers.get(index) {
            Some(fixed) => Arc::clone(fixed),
            None => Arc::new(Carrier::to_be_started()),
        };
        Ok(NewCarrier::new(self.arc(), carrier, index, name))
    }
}
