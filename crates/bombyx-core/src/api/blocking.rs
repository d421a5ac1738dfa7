//! `blocking`: the carrier blocks while its processor goes on. `checkpoint`: for code that does not fork.

use crate::machine::current;
use crate::machine::hand_over::{Heir, Next, go_on, hand_over};
use crate::machine::pool::PoolCore;
use crate::machine::telling::Meanwhile;
use crate::machine::tracer::Event;
use crate::profile;
use crate::system::guard::guarded;

/// Runs `f`, which may block (on a lock, a channel, a file), without blocking a processor.
///
/// While `f` runs, the processor goes back to its pool, so that other work goes on. Before `blocking` returns, the
/// thread gets a processor again: at once if one is idle, else when everything that was queued earlier has been served.
/// Outside a pool this is just `f()`. In a pool with [fixed threads](crate::Threads::Fixed), the processor waits with
/// its thread; meanwhile other processors can take the entries of its deque.
///
/// ```
/// use std::sync::mpsc;
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// let (sender, receiver) = mpsc::channel();
/// // On one processor, the first half could wait forever for the second one.
/// let (received, ()) = pool.run(|| bombyx::join(
///     move || bombyx::blocking(|| receiver.recv().unwrap()),
///     move || sender.send(42).unwrap(),
/// ));
/// assert_eq!(received, 42);
/// # Ok::<(), bombyx::Error>(())
/// ```
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    let Some(processor) = current::processor() else { return f() };
    let pool = processor.pool();
    if pool.has_fixed_threads() {
        let _traced = Meanwhile::begin(pool, Event::Blocks, Event::Unblocks);
        let _blocked = guarded(|| {
            // No other thread may continue on this processor, but others can take what is in its deque.
            processor.deque.expose_all();
            profile::Blocked::begin()
        });
        return f();
    }
    let home = current::Home::inside(pool);
    let _traced = Meanwhile::begin(pool, Event::Blocks, Event::Unblocks);
    let (_blocked, _back) = guarded(|| {
        // The joins on this stack may resume on another processor, so they must not pop blindly.
        processor.deque.expose_all();
        let blocked = profile::Blocked::begin();
        current::set_home(&home);
        // Nobody takes the carrier's place: whether it leaves its core, and when, depends on `f`.
        // SAFETY: no carrier is named.
        unsafe { hand_over(Heir::Nobody, Next::Leaves) }.stay_without();
        (blocked, Back { pool, home: &home })
    });
    f()
}

/// Gets a processor again, even when the closure panics.
struct Back<'a> {
    pool: &'a PoolCore,
    home: &'a current::Home,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        if !self.pool.generation().is_current() {
            return;
        }
        guarded(|| {
            current::set_home(self.home.outer());
            let processor = self.pool.acquire(current::carrier());
            go_on(processor);
        });
    }
}

/// A place in long serial code where the runtime may act. If a thief waits for this processor, it is served here.
///
/// `join`, `scope` and the loops do this themselves. It costs a load and a branch.
///
/// ```
/// let mut sum = 0u64;
/// for i in 0..1_000_000 {
///     if i % 4096 == 0 {
///         bombyx::checkpoint();
///     }
///     sum += i;
/// }
/// assert_eq!(sum, 499_999_500_000);
/// ```
#[inline]
pub fn checkpoint() {
    if let Some(processor) = current::processor() {
        processor.poll();
    }
}
