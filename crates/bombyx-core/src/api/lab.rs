//! Switches for tests, measurements, and programs that compare schedulers. Other programs need none of them.
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
    /// Does without `membarrier(2)`, as on systems that have none. Forks are slower. This is for tests, and for
    /// sandboxes that kill the process at that call. If a system only refuses the call, now or later, this choice is
    /// not needed: the pool goes on without it and says so once on standard error. `BOMBYX_BARRIER=fence` does the same
    /// for all pools.
    fn fence(self, fence: bool) -> Builder;

    /// Counts living threads, and the threads that processors take from their own deques, for [`Stats`]: `peak_threads`
    /// and [`Stats::granularity`]. This keeps every fork and join on its slow path.
    ///
    /// A thread, in the papers' sense, is a spawned closure, or the half of a join that runs before the rest of its
    /// parent. That is the first half, except with `fifo`: there the second half is queued and the parent goes on, so
    /// it is the second. A thread lives until its closure has ended.
    ///
    /// Schedulers with one pool of threads (`fifo`, `busy-leaves`, `depth-first:K`) always count. Schedulers with
    /// private deques (`read-write`, `read-write-steals`, `private-cas`) never count.
    ///
    /// ```
    /// # use bombyx::lab::BuilderExt as _;
    /// let pool = bombyx::Pool::builder().processors(1).count_threads(true).build()?;
    /// pool.run(|| bombyx::join(|| bombyx::join(|| (), || ()), || ()));
    /// assert_eq!(pool.stats().threads.peak_threads, 2);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    fn count_threads(self, count: bool) -> Builder;

    /// Whether a waiting scope respects the order of spawns. If so, closures that were spawned later on the same
    /// processor in other scopes go first, as on a single stack of closures. Default: no. The scope runs its own
    /// closures, whatever lies between them.
    fn ordered(self, ordered: bool) -> Builder;

    /// Whether [`Pool::run`] may run on the caller's stack when a processor is idle. Default: yes, unless a stack size
    /// is chosen. If not, everything in the pool runs on the pool's carriers. If all of these block at their limit, a
    /// thread that waits for the pool starts a thread for the work ([`Builder::max_carriers`]).
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
