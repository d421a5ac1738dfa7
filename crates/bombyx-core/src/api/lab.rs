//! Switches for the laboratory: tests, measurements, and programs that compare schedulers. Other programs need none of them.
//!
//! ```
//! use bombyx::lab::BuilderExt;
//! let pool = bombyx::Pool::builder().processors(2).fence(true).build()?;
//! # drop(pool);
//! # Ok::<(), bombyx::Error>(())
//! ```

use crate::api::builder::Builder;
#[cfg(doc)]
use crate::{Pool, Stats};

/// Switches of a pool that is built for an experiment.
pub trait BuilderExt: Sized {
    /// Does without `membarrier(2)`, as on systems that have none: slower forks, for tests and for sandboxes that end the
    /// process at that call. A system that merely refuses it, then or later, needs no such choice: the pool goes on without,
    /// and that is said once on standard error. `BOMBYX_BARRIER=fence` does the same for all pools.
    fn fence(self, fence: bool) -> Builder;

    /// Counts living threads, and the threads that processors take from their own deques, for [`Stats`]: `peak_threads` and
    /// [`Stats::granularity`]. A thread, in the sense of the papers, is a spawned closure, or that half of a join which
    /// runs before the rest of its parent: the first, but with `fifo`, where the second is queued and the parent
    /// goes on, the second. It is alive until that closure has ended. Keeps every fork and join on its slow path.
    /// Schedulers with one pool of threads (`fifo`, `busy-leaves`, `depth-first:K`) always count; those whose processors
    /// keep their deques to themselves (`read-write`, `read-write-steals`, `private-cas`) never do.
    ///
    /// ```
    /// # use bombyx::lab::BuilderExt as _;
    /// let pool = bombyx::Pool::builder().processors(1).count_threads(true).build()?;
    /// pool.run(|| bombyx::join(|| bombyx::join(|| (), || ()), || ()));
    /// assert_eq!(pool.stats().peak_threads, 2);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    fn count_threads(self, count: bool) -> Builder;

    /// Whether a scope that waits leaves what was spawned later in other scopes, on the same processor, to go first, as
    /// on a single stack of closures. Default: no, it runs its own closures, whatever lies between them.
    fn ordered(self, ordered: bool) -> Builder;

    /// Whether [`Pool::run`] may run on the caller's stack when a processor is idle. Default: yes, unless a stack
    /// size is chosen. Without, everything in the pool runs on its own carriers.
    fn lend(self, lend: bool) -> Builder;
}

impl BuilderExt for Builder {
    fn fence(mut self, fence: bool) -> Builder {
        self.fence = fence;
        self
    }

    fn count_threads(mut self, count: bool) -> Builder {
        self.counts = count;
        self
    }

    fn ordered(mut self, ordered: bool) -> Builder {
        self.ordered = ordered;
        self
    }

    fn lend(mut self, lend: bool) -> Builder {
        self.lend = Some(lend);
        self
    }
}
