//! How carriers come to be: started by the pool, by a function of the user's, or the thread that builds the pool.

use crate::api::error::Error;
use crate::api::pool::{Builder, Pool};
use crate::machine::current;
use crate::machine::fixed;
use crate::machine::pool::PoolCore;
use crate::machine::wait;
use crate::protocol::carrier::Carrier;
use crate::system::affinity::Thread;
use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// A carrier that needs a thread: whoever gets one calls [`NewCarrier::run`] on the thread that it is to be.
///
/// See [`Builder::build_with`].
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

    /// A number below that of the processors; the first carriers of a pool have different ones.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What the thread should be called, if the builder says.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack that the thread should have, in bytes, if the builder says.
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
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(size) = self.stack_size() {
            builder = builder.stack_size(size);
        }
        builder
    }

    /// The carrier, for its starter.
    pub(crate) fn carrier(&self) -> &Arc<Carrier> {
        &self.carrier
    }

    /// Makes the calling thread this carrier, which its starter lists among the spares, or gives a processor.
    pub(crate) fn run_listed(self) {
        // The starter may be a caller that is confined to fewer CPUs, which a new thread inherits.
        if let Some(cpus) = &self.pool.config.cpus {
            Thread::HERE.allow(cpus);
        }
        self.carrier.begin(&std::thread::current());
        self.live(|_| ());
    }

    /// From the start handler to the exit handler. A carrier that moves is listed as a spare by `list`, unless its starter
    /// has done that.
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

impl Builder {
    /// Makes the calling thread the first carrier of the pool that it builds, for the rest of its life: it holds
    /// processor 0 from then on, and its joins and scopes use this pool. The pool's memory is never freed.
    ///
    /// The thread does not run the pool's work unless it waits for something in it, or [yields](crate::yield_now).
    pub fn use_current_thread(mut self) -> Builder {
        self.use_current_thread = true;
        self
    }

    /// Builds the pool with carriers whose threads `start` starts: it is called once for each processor, and must
    /// see to it that [`NewCarrier::run`] is called on a thread of its own.
    ///
    /// Unless [`Builder::max_carriers`] says otherwise, the pool makes do with these: where a waiting carrier
    /// would need another one to hand its processor to, it runs what there is on its own stack.
    ///
    /// ```
    /// std::thread::scope(|threads| {
    ///     let pool = bombyx::Pool::builder().processors(2).build_with(|carrier| {
    ///         threads.spawn(|| carrier.run());
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(pool.run(|| bombyx::join(|| 1, || 2)), (1, 2));
    ///     Ok::<(), bombyx::Error>(())
    /// })?;
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::build`], and if `start` fails; the carriers that it started before end then.
    pub fn build_with(mut self, start: impl FnMut(NewCarrier) -> io::Result<()>) -> Result<Pool, Error> {
        self.limited = true;
        self.assemble(start)
    }

    /// Builds the pool with carriers that `start` starts.
    pub(crate) fn assemble(
        mut self,
        mut start: impl FnMut(NewCarrier) -> io::Result<()>,
    ) -> Result<Pool, Error> {
        /// Ends the carriers that were started if not all could be, also when `start` panics.
        struct Unfinished<'a> {
            pool: &'a PoolCore,
            /// The calling thread holds a processor.
            here: bool,
        }
        impl Drop for Unfinished<'_> {
            fn drop(&mut self) {
                if self.here {
                    self.pool.unseat_current_thread();
                }
                self.pool.close();
            }
        }
        let here = std::mem::take(&mut self.use_current_thread);
        if here && current::processor().is_some() {
            return Err(Error::CurrentThreadInPool);
        }
        let (config, scheduler) = self.config()?;
        let pool = PoolCore::without_carriers(config);
        let unfinished = Unfinished { pool: &pool, here };
        if here {
            pool.seat_current_thread();
        }
        for _ in usize::from(here)..pool.processors().len() {
            start(pool.new_carrier().map_err(Error::Thread)?).map_err(Error::Thread)?;
        }
        pool.start_watcher().map_err(Error::Thread)?;
        std::mem::forget(unfinished);
        if here {
            // The thread holds its processor for as long as it lives, and nobody knows how long that is.
            std::mem::forget(Arc::clone(&pool));
        }
        Ok(Pool::new(pool, scheduler))
    }
}
