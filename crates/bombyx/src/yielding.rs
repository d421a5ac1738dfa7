//! `yield_now` and `yield_local`: one other entry, here and now, on top of the calling frame.
//!
//! This is what waits avoid: the entry may be anything, and the frame below is buried until it has ended. It is
//! for callers who poll for something of their own and know that their frame can wait.

use crate::carrier::Carrier;
use crate::job::{Entry, Kind};
use crate::processor::{Processor, current};
use crate::scheduler::work_stealing;
use crate::wait::{resume, run_on_top};
use std::ptr::NonNull;

/// What came of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// Something else has run.
    Executed,
    /// There was nothing to run.
    Idle,
}

/// Runs one entry from anywhere in the pool, if there is one. None outside of a pool.
///
/// ```
/// assert_eq!(bombyx::yield_now(), None);
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// pool.run(|| assert_eq!(bombyx::yield_now(), Some(bombyx::Yield::Idle)));
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn yield_now() -> Option<Yield> {
    current::processor().map(|processor| to(processor, work_stealing::take_anything(processor)))
}

/// Runs the youngest entry of the calling carrier's own processor, if there is one. None outside of a pool.
///
/// ```
/// # let pool = bombyx::Pool::builder().processors(1).build()?;
/// pool.run(|| {
///     bombyx::scope(|s| {
///         s.spawn(|_| ());
///         assert_eq!(bombyx::yield_local(), Some(bombyx::Yield::Executed));
///         assert_eq!(bombyx::yield_local(), Some(bombyx::Yield::Idle));
///     });
/// });
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn yield_local() -> Option<Yield> {
    current::processor().map(|processor| to(processor, work_stealing::take_local(processor)))
}

/// Whether the processor of the calling carrier has entries that wait. None outside of a pool.
///
/// ```
/// assert_eq!(bombyx::has_pending(), None);
/// ```
pub fn has_pending() -> Option<bool> {
    current::processor().map(|processor| !processor.deque.looks_empty())
}

fn to(processor: &'static Processor, entry: Option<Entry>) -> Yield {
    match entry.map(Entry::kind) {
        None => Yield::Idle,
        Some(Kind::Stack(_) | Kind::Heap(_)) => {
            entry.into_iter().for_each(run_on_top);
            Yield::Executed
        }
        Some(Kind::Carrier(ready)) => {
            // It goes on with our processor; we queue up for the next one.
            let carrier = current::carrier();
            processor.deque.expose_all();
            current::release();
            processor.commons().readmit(NonNull::from(carrier));
            // SAFETY: the entry named the carrier, once, to us.
            unsafe { Carrier::give(ready, NonNull::from(processor)) };
            resume(carrier);
            Yield::Executed
        }
    }
}
