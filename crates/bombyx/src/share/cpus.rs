//! Gives a pool as many processors as the process may use CPUs.

use super::ticker::Ticker;
use bombyx_core::Handle;
use std::time::Duration;
use std::{fmt, io, thread};

/// Resizes a pool when the number of CPUs changes, until this is dropped. [`follow_cpus`] returns it.
pub struct Follower {
    _ticker: Ticker,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

/// Gives the pool one processor for each CPU that the process may use, and looks again after each `interval`.
/// [`std::thread::available_parallelism`] says how many CPUs these are. On Linux it respects the CPU quota of the control group,
/// rounded down, and the set of allowed CPUs. Both change when a container is resized while it runs.
///
/// The set of allowed CPUs belongs to a thread. This function starts a thread that looks, and that thread inherits the set of
/// the caller. The pool gets at least one processor, and at most
/// [`max_processors`](bombyx_core::Builder::max_processors).
///
/// # Errors
/// If the pool cannot be resized, or the thread cannot be started.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(1).max_processors(64).build()?;
/// let follower = bombyx::share::follow_cpus(&pool.handle(), std::time::Duration::from_millis(100))?;
/// let cpus = std::thread::available_parallelism()?.get();
/// while pool.processors() != cpus.min(64) {
///     std::thread::yield_now();
/// }
/// drop(follower);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn follow_cpus(pool: &Handle, interval: Duration) -> io::Result<Follower> {
    pool.set_processors(pool.processors()).map_err(io::Error::other)?;
    let tick = move |pool: &mut Handle| {
        let cpus = thread::available_parallelism().map_or(1, usize::from).clamp(1, pool.max_processors());
        if pool.processors() != cpus {
            // The pool was resized before, so it can be resized, and the number is in range.
            let _ = pool.set_processors(cpus);
        }
        interval
    };
    Ok(Follower { _ticker: Ticker::start("bombyx-cpus", pool.clone(), tick, drop)? })
}
