//! Sharing the machine with others: with containers that are resized, with `make`, with more important work.
//!
//! | to | use |
//! |---|---|
//! | follow the CPUs and the CPU quota of the process while they change | [`follow_cpus`] |
//! | run as many processors as GNU make grants | [`Jobserver`] (Linux) |
//! | let other threads go first | [`background`] (Linux) |
//!
//! The first two change [the number of processors](bombyx_core::Pool::set_processors) of a pool from a separate thread,
//! until they are dropped. Build the pool with
//! [`max_processors`](bombyx_core::Builder::max_processors), so that it can grow. Use one of them for a pool, not both.
//!
//! **Not here:** how a pool is resized. That is in the runtime, `bombyx-core`.

mod cpus;
#[cfg(target_os = "linux")]
mod jobserver;
mod ticker;

pub use cpus::{Follower, follow_cpus};
#[cfg(target_os = "linux")]
pub use jobserver::{Jobserver, Sharing};

#[cfg(target_os = "linux")]
use bombyx_core::{Builder, dropin::BuilderExt as _, lab::BuilderExt as _};

/// Lets all other threads go before those of the pool: the kernel schedules them as `SCHED_IDLE`. While a thread of another
/// pool wants a CPU, the kernel gives a background thread there next to nothing.
///
/// [`Pool::run`](bombyx_core::Pool::run) on such a pool runs on a thread of the pool, never on the caller's. Do not hold a
/// lock in the background that urgent work waits for. This sets the start handler of the builder.
///
/// ```
/// let background = bombyx::share::background(bombyx::Pool::builder().processors(2)).build()?;
/// assert_eq!(background.run(|| bombyx::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), bombyx::Error>(())
/// ```
#[cfg(target_os = "linux")]
pub fn background(builder: Builder) -> Builder {
    builder.lend(false).on_start(|_| {
        let priority = libc::sched_param { sched_priority: 0 };
        // If the system refuses, the thread runs like any other.
        // SAFETY: the call concerns the calling thread alone, and reads a structure of the right type.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const priority) };
    })
}
