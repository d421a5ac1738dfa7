//! `blocking`: the processor goes on while the carrier blocks; and `checkpoint`, for code that does not fork.

use crate::commons::Commons;
use crate::processor::current;
use crate::profile;
use std::ptr::NonNull;

/// Runs `f`, which may block (on a lock, a channel, a file), without blocking a processor.
///
/// The processor is returned to its pool while `f` runs, so that other work goes on, and the carrier gets one
/// again before `blocking` returns: at once if one is idle, else as soon as one has nothing more urgent. Outside
/// of a pool this is just `f()`.
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
    // The joins on this stack may come back on another processor, so they must not pop blindly.
    processor.deque.expose_all();
    let commons = processor.commons();
    let _blocked = profile::Blocked::begin();
    current::release();
    let home = current::Home::inside(commons);
    current::set_home(&home);
    commons.retire(NonNull::from(processor), None, Some(current::carrier()));
    let _back = Back { commons, home: &home };
    f()
}

/// Gets a processor again, also when the closure panics.
struct Back<'a> {
    commons: &'a Commons,
    home: &'a current::Home,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        current::set_home(self.home.outer());
        let processor = self.commons.acquire(current::carrier());
        current::adopt(processor);
        crate::scheduler::arrived(current::held());
    }
}

/// A place in long serial code where the runtime may act: a thief that waits for this processor is served.
///
/// `join`, `scope` and the loops do this by themselves. Costs a load and a branch.
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
