//! `block_on`: runs a future on the calling thread, and lets the thread's processor go while the future is pending.
//!
//! Each poll gets a fresh waker, which sets a [`Signal`]. A signal contains a latch, which is set only once, so a
//! signal serves one wait. A waker may outlive its wait: it shares the signal with the waiting frame, and setting the
//! signal late does nothing.
//!
//! A future does not say which pool works for it. But a [`Task`](crate::Task) knows its pool, and tells the innermost
//! `block_on` of the thread that polls it ([`tell_pool`]). If that pool can start no carrier, the thread works there itself
//! while it waits.

use crate::api::signal::Signal;
use crate::machine::pool::PoolCore;
use crate::profile;
use crate::protocol::latch::First;
use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// The pools that work for a future, as far as they are known.
type Pools = Vec<Arc<PoolCore>>;

thread_local! {
    /// The pools of the tasks that the innermost `block_on` of this thread polls; `None` outside of `block_on`.
    static TOLD: RefCell<Option<Pools>> = const { RefCell::new(None) };
}

/// Runs a future to its end on the calling thread, and returns its result.
///
/// While the future is pending, the thread waits. Inside a pool, its processor does other work meanwhile, as in every
/// wait. In a pool with [fixed threads](crate::Threads::Fixed), that work runs on top of the caller's stack.
///
/// The future must not depend on an executor or a reactor that runs only on the calling thread.
///
/// Suppose that all threads of a pool wait or block, and the pool can start no other thread
/// ([`Builder::max_carriers`](crate::Builder::max_carriers)). Then a caller that awaits a [`Task`](crate::Task) of that
/// pool runs tasks of the pool itself, as in [`Task::join`](crate::Task::join). Other futures, such as the receiver of a
/// channel, do not say which pool they wait for. A caller that awaits one of these may wait forever.
///
/// ```
/// let task = bombyx::spawn(|| 6 * 7);
/// assert_eq!(bombyx::block_on(async { task.await.unwrap() + 1 }), 43);
/// ```
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    block_on_work_in(Pools::new(), future)
}

/// The same for a future that ends by work in these pools.
pub(crate) fn block_on_work_in<F: IntoFuture>(mut pools: Pools, future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    loop {
        let notice = Arc::new(Notice { signal: Signal::for_anyone(&pools), first: First::new() });
        let waker = Waker::from(Arc::clone(&notice));
        let mut context = Context::from_waker(&waker);
        let (polled, told) = Told::during(|| future.as_mut().poll(&mut context));
        if let Poll::Ready(result) = polled {
            return result;
        }
        let known = pools.len();
        for pool in told {
            if !pools.iter().any(|other| Arc::ptr_eq(other, &pool)) {
                pools.push(pool);
            }
        }
        // How a frame waits depends on the pools that it waits for. So a future that has told a new one is polled again,
        // with a signal that fits.
        if pools.len() == known {
            notice.wait(&pools);
        }
    }
}

/// While this exists, tasks tell the calling frame which pools they belong to. It has what they told an older frame.
struct Told(Option<Pools>);

impl Told {
    fn during<R>(poll: impl FnOnce() -> R) -> (R, Pools) {
        let _outer = Told(TOLD.replace(Some(Pools::new())));
        let result = poll();
        (result, TOLD.take().unwrap_or_default())
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        TOLD.set(self.0.take());
    }
}

/// The calling thread polls a task of this pool, which has not ended.
pub(crate) fn tell_pool(pool: &Arc<PoolCore>) {
    // No `block_on` polls on a thread whose thread-locals are gone.
    let _ = TOLD.try_with(|told| {
        if let Some(told) = &mut *told.borrow_mut() {
            if !pool.has_fixed_threads() && !told.iter().any(|other| Arc::ptr_eq(other, pool)) {
                told.push(Arc::clone(pool));
            }
        }
    });
}

/// What a waker shares with the frame that waits for it.
struct Notice {
    signal: Signal,
    /// The first waker that comes sets the signal.
    first: First,
}

impl Notice {
    fn wait(&self, pools: &[Arc<PoolCore>]) {
        let _blocked = profile::Blocked::begin();
        self.signal.wait_for_anyone(pools);
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
