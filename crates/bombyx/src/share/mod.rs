//! Sharing the machine: following the CPUs of a container, taking part in `make -j`, letting other threads go first.
//!
//! | to | use |
//! |---|---|
//! | use as many processors as the process has CPUs, while that number changes | [`follow_cpus`] |
//! | use as many processors as GNU make grants | [`Jobserver`] (Linux) |
//! | let other threads go first | [`background`] (Linux) |
//!
//! The first two start a thread that changes [the number of processors](bombyx_core::Pool::set_processors) of a pool, until you
//! drop what they return. Build the pool with [`max_processors`](bombyx_core::Builder::max_processors), so that it can grow.
//! Use only one of the two for a pool.
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

/// Makes the threads of a pool background threads: the kernel schedules them as `SCHED_IDLE`. While another thread wants a CPU,
/// a background thread gets next to nothing of that CPU.
///
/// [`Pool::run`](bombyx_core::Pool::run) on such a pool always runs its closure on a thread of the pool, never on the caller's.
/// If urgent work waits for a lock, do not take this lock in the background. This function replaces the start handler of the
/// builder.
///
/// ```
/// let background = bombyx::share::background(bombyx::Pool::builder().processors(2)).build()?;
/// assert_eq!(background.run(|| bombyx::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), bombyx::Error>(())
/// ```
#[cfg(target_os = "linux")]
pub fn background(builder: Builder) -> Builder {
    builder.lend(false).on_start(|_| {
        // SAFETY: the structure is plain data. With some C libraries it has more fields than the priority, which is 0.
        let priority: libc::sched_param = unsafe { std::mem::zeroed() };
        // If the system refuses, the thread runs like any other.
        // SAFETY: the call concerns the calling thread alone, and reads a structure of the right type.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const priority) };
    })
}
