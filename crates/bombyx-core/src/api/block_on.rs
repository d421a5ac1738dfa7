//! `block_on`: runs a future on the calling thread, and lets the thread's processor go while the future is pending.
//!
//! Each poll gets a fresh waker, which sets a [`Signal`]. A signal contains a latch, which is set only once, so a
//! signal serves one wait. A waker may outlive its wait: it shares the signal with the waiting frame, and setting the
//! signal late does nothing.

use crate::api::signal::Signal;
use crate::machine::pool::PoolCore;
use crate::profile;
use crate::protocol::latch::First;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Runs a future to its end on the calling thread, and returns its result.
///
/// While the future is pending, the thread waits. Inside a pool, its processor does other work meanwhile, as in every
/// wait. In a pool with [fixed threads](crate::Threads::Fixed), that work runs on top of the caller's stack.
///
/// The future must not depend on an executor or a reactor that runs only on the calling thread.
///
/// The future does not say in which pool it is brought about. If all threads of that pool wait or block, and the pool can start
/// no other ([`Builder::max_carriers`](crate::Builder::max_carriers)), the future may never end. [`Task::join`](crate::Task::join)
/// knows the pool: the caller then works there itself.
///
/// ```
/// let task = bombyx::spawn(|| 6 * 7);
/// assert_eq!(bombyx::block_on(async { task.await.unwrap() + 1 }), 43);
/// ```
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    block_on_work_in(None, future)
}

/// The same for a future that ends by work in `pool`. If no carrier can be started there, the calling thread does that
/// work itself.
pub(crate) fn block_on_work_in<F: IntoFuture>(pool: Option<&PoolCore>, future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    loop {
        let notice = Arc::new(Notice { signal: Signal::for_anyone(pool), first: First::new() });
        let waker = Waker::from(Arc::clone(&notice));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => notice.wait(pool),
        }
    }
}

/// What a waker shares with the frame that waits for it.
struct Notice {
    signal: Signal,
    /// Who comes first sets the signal.
    first: First,
}

impl Notice {
    fn wait(&self, pool: Option<&PoolCore>) {
        let _blocked = profile::Blocked::begin();
        self.signal.wait_for_anyone(pool);
    }
}

impl Wake for Notice {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // (A future synchronises what it shares with its wakers by itself.)
        if self.first.comes() {
            // SAFETY: the waker owns a share of the signal, so the signal is alive. Only the first caller gets here.
            let enabled = unsafe { Signal::set(&raw const self.signal) };
            debug_assert!(enabled.is_none(), "such a signal sees to its carrier itself");
        }
    }
}
