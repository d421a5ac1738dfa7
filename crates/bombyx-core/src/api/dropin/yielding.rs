//! `yield_now` and `yield_local`: run one other entry here and now, on top of the calling frame.
//!
//! Ordinary waits avoid this. The entry may be anything, and the frame below is buried until the entry has ended. Yields are
//! for callers that poll for a condition and know that their frame can wait. The entry may yield in turn. To bound the
//! stack, at most [`NESTED`] yields lie on one stack. The next one hands its processor to a spare carrier and waits for its
//! turn. In a pool with fixed threads there are no spares, and so no bound.

use crate::machine::current;
use crate::machine::hand_over::{Heir, Next, hand_over};
use crate::machine::processor::Processor;
use crate::machine::wait::run_on_top;
use crate::protocol::job::{Entry, Kind};
use crate::system::guard::{guarded, tripwire};
use std::cell::Cell;

/// The outcome of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// Something else has run.
    Executed,
    /// There was nothing to run.
    Idle,
}

/// Runs one entry from anywhere in the pool, if there is one. `None` outside a pool.
///
/// ```
/// assert_eq!(bombyx::dropin::yield_now(), None);
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// pool.run(|| assert_eq!(bombyx::dropin::yield_now(), Some(bombyx::dropin::Yield::Idle)));
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn yield_now() -> Option<Yield> {
    current::processor().map(|processor| {
        let anywhere = || processor.pool().work_visible();
        guarded(|| yield_to(processor, anywhere, || processor.strategy().take_anything(processor)))
    })
}

/// Runs the youngest entry of the calling thread's own processor, if there is one. `None` outside a pool.
///
/// ```
/// # let pool = bombyx::Pool::builder().processors(1).build()?;
/// pool.run(|| {
///     bombyx::scope(|s| {
///         s.spawn(|_| ());
///         assert_eq!(bombyx::dropin::yield_local(), Some(bombyx::dropin::Yield::Executed));
///         assert_eq!(bombyx::dropin::yield_local(), Some(bombyx::dropin::Yield::Idle));
///     });
/// });
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn yield_local() -> Option<Yield> {
    current::processor().map(|processor| {
        let local = || processor.has_something() || !processor.private.looks_empty();
        guarded(|| yield_to(processor, local, || processor.strategy().take_own(processor)))
    })
}

/// Whether the processor of the calling thread has entries that wait. `None` outside a pool.
///
/// ```
/// assert_eq!(bombyx::dropin::has_pending(), None);
/// ```
pub fn has_pending() -> Option<bool> {
    current::processor().map(|processor| !processor.deque.looks_empty())
}

/// How many yields may lie on one stack. Beyond that, a yield hands the processor over, if the pool has a spare carrier.
const NESTED: usize = 8;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

fn yield_to(
    processor: &'static Processor,
    anything: impl FnOnce() -> bool,
    take: impl FnOnce() -> Option<Entry>,
) -> Yield {
    tripwire("yield");
    if DEPTH.get() >= NESTED {
        if !anything() {
            return Yield::Idle;
        }
        if let Some(spare) = processor.pool().spare() {
            make_way(processor, Heir::Spare(spare));
            return Yield::Executed;
        }
    }
    let Some(entry) = take() else { return Yield::Idle };
    match entry.kind() {
        Kind::Stack(_) | Kind::Heap(_) => {
            DEPTH.set(DEPTH.get() + 1);
            run_on_top(entry);
            DEPTH.set(DEPTH.get() - 1);
        }
        Kind::Carrier(ready) => make_way(processor, Heir::Ready(ready)),
    }
    Yield::Executed
}

/// Gives the processor to `heir`, a spare or a ready carrier that the caller has removed from where it waited. Then
/// queues up for another processor.
fn make_way(processor: &'static Processor, heir: Heir) {
    // The joins on this stack may resume on another processor, so they must not pop blindly.
    processor.deque.expose_all();
    // SAFETY: the spare came out of the pool's list, or an entry named the carrier once, to this caller.
    unsafe { hand_over(heir, Next::Queues) }.resume();
}
