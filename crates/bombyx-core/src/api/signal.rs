//! How a frame learns that the work it started in a pool has ended, wherever the frame lives.
//!
//! A [`Latch`] names a carrier that must be given a processor. There are three cases, and a [`Signal`] knows which one
//! it is:
//!
//! - The frame waits in the pool where the work ends. The carrier that ends the work gives its own processor, as after
//!   a join.
//! - The frame waits in *another* pool. Its carrier belongs there and is readmitted there ([`PoolCore::readmit`]).
//! - The frame is on a thread that holds no processor. That thread is only woken.

use crate::api::blocking::blocking;
use crate::machine::current;
use crate::machine::patience::Waited;
use crate::machine::pool::PoolCore;
use crate::machine::visit::{STARVED, lend_a_hand};
use crate::machine::wait::wait;
use crate::protocol::carrier::Enabled;
use crate::protocol::latch::Latch;
use crate::protocol::outside::Outside;
use crate::system::guard::guarded;
use crate::system::primitive::yield_now;
use std::hint::spin_loop;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a thread outside the pool looks before it sleeps: about as long as falling asleep and being woken takes.
const BEFORE_SLEEPING: Duration = Duration::from_micros(10);
/// How long it keeps its core meanwhile.
const BEFORE_YIELDING: Duration = Duration::from_micros(2);

/// Whether work in `pool` is done while the caller, a thread outside the pool, looks for a moment. A short call then wakes
/// nobody at its end. Does not look if a carrier of the pool may need this core.
pub(crate) fn ends_soon(pool: &PoolCore, done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        let looked = start.elapsed();
        if looked > BEFORE_SLEEPING || pool.crowded() {
            return false;
        }
        // The carrier that does the work may have no other core to run on.
        if looked > BEFORE_YIELDING { yield_now() } else { spin_loop() }
    }
    true
}

/// See the module text.
pub(crate) struct Signal {
    latch: Latch,
    waiter: Waiter,
}

/// Who waits.
enum Waiter {
    /// A carrier of the pool where the work is done.
    Here,
    /// A carrier of this pool. The work may be done in another pool.
    Elsewhere(Arc<PoolCore>),
    /// A thread that holds no processor, or that lets its processor go before it waits.
    Outside(Outside),
}

impl Signal {
    /// A signal that the calling thread will wait for. Work in `pool` sets it.
    pub(crate) fn from(pool: &PoolCore) -> Signal {
        let waiter = match current::processor().map(|processor| processor.pool()) {
            Some(home) if ptr::eq(home, pool) => Waiter::Here,
            // Such a carrier may have to work in the other pool itself ([`crate::machine::visit`]).
            Some(home) if !pool.has_fixed_threads() && !home.has_fixed_threads() => {
                Waiter::Outside(Outside::here())
            }
            Some(home) => Waiter::Elsewhere(home.arc()),
            None => Waiter::Outside(Outside::here()),
        };
        Signal { latch: Latch::new(), waiter }
    }

    /// A signal that the calling thread will wait for, and that any thread may set. If it is about work in `pools`, the
    /// thread works there itself while no carrier can be started.
    pub(crate) fn for_anyone(pools: &[Arc<PoolCore>]) -> Signal {
        let elsewhere =
            |home: &PoolCore| pools.iter().any(|pool| !pool.has_fixed_threads() && !ptr::eq(home, &**pool));
        let waiter = match current::processor().map(|processor| processor.pool()) {
            Some(home) if elsewhere(home) && !home.has_fixed_threads() => Waiter::Outside(Outside::here()),
            Some(home) => Waiter::Elsewhere(home.arc()),
            None => Waiter::Outside(Outside::here()),
        };
        Signal { latch: Latch::new(), waiter }
    }

    /// Whether the waiting frame is on a carrier of the pool where the work is done.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.waiter, Waiter::Here)
    }

    /// Sets the signal. The caller must give a processor to the carrier that is returned.
    ///
    /// # Safety
    /// The signal is alive; it may be gone after the call. It is set once. If the frame waits in the pool for which the
    /// signal was made ([`Signal::is_here`]), a carrier of that pool sets it.
    pub(crate) unsafe fn set(signal: *const Signal) -> Enabled {
        // SAFETY: the signal is alive until the latch is set. Whatever is needed after that is cloned before.
        unsafe {
            match &(*signal).waiter {
                Waiter::Here => Latch::set(&raw const (*signal).latch),
                Waiter::Elsewhere(home) => {
                    let home = Arc::clone(home);
                    if let Some(carrier) = Latch::set(&raw const (*signal).latch) {
                        home.readmit(carrier);
                    }
                    None
                }
                Waiter::Outside(thread) => {
                    Outside::set(thread, &raw const (*signal).latch);
                    None
                }
            }
        }
    }

    /// Waits for at most `time`, if the thread that made the signal holds no processor. Returns whether the caller is done
    /// with this kind of wait: the signal is set, or the thread is a carrier.
    pub(crate) fn wait_outside(&self, time: Option<Duration>) -> bool {
        match &self.waiter {
            Waiter::Outside(thread) => thread.wait_for(&self.latch, time),
            Waiter::Here | Waiter::Elsewhere(_) => true,
        }
    }

    /// Waits until the signal is set, on the thread that made it, for work in `pool`. Meanwhile a carrier helps with
    /// the descendants of `root`, as in every wait, and may hold another processor afterwards. A thread without a
    /// processor works in the pool itself if no carrier can be started there.
    pub(crate) fn wait(&self, pool: &PoolCore, root: usize) {
        guarded(|| self.wait_here(pool, root));
    }

    /// Waits until any thread sets the signal, on the thread that made it by [`Signal::for_anyone`] with the same `pools`.
    pub(crate) fn wait_for_anyone(&self, pools: &[Arc<PoolCore>]) {
        guarded(|| match &self.waiter {
            // Nothing descends from a signal, so the carrier has nobody to help.
            Waiter::Here | Waiter::Elsewhere(_) => self.wait_as_carrier(ptr::from_ref(self) as usize),
            // A carrier that blocks may be the last one of its pool.
            Waiter::Outside(_) => {
                self.wait_without_processor(pools.iter().map(|pool| &**pool).chain(current::home()));
            }
        });
    }

    fn wait_as_carrier(&self, root: usize) {
        // The joins below on this stack may resume on another processor, although nobody took their halves first. So
        // the halves must be exposed.
        current::held().deque.expose_all();
        // With fixed threads, a wait for somebody outside the pool takes other work sooner.
        let elsewhere = matches!(self.waiter, Waiter::Elsewhere(_));
        let fixed = current::held().pool().has_fixed_threads();
        let root = if elsewhere && fixed { 0 } else { root };
        let Waited::Done = wait(&self.latch, root, None) else {
            unreachable!("only a join's own job is taken back")
        };
    }

    fn wait_here(&self, pool: &PoolCore, root: usize) {
        match &self.waiter {
            Waiter::Here | Waiter::Elsewhere(_) => self.wait_as_carrier(root),
            Waiter::Outside(_)
                if current::processor().is_none() && ends_soon(pool, || self.latch.is_done()) => {}
            Waiter::Outside(_) => self.wait_without_processor([pool]),
        }
    }

    /// Waits on a thread that holds no processor, or that lets its processor go, so that it can be lent one of `pools`.
    fn wait_without_processor<'a>(&self, pools: impl IntoIterator<Item = &'a PoolCore>) {
        let pools: Vec<&PoolCore> = pools.into_iter().filter(|pool| !pool.has_fixed_threads()).collect();
        let wait = || {
            // If the thread need not look now and then, it needs no timer.
            while !self.wait_outside((!pools.is_empty()).then_some(STARVED)) {
                for pool in &pools {
                    lend_a_hand(pool, || self.latch.is_done());
                }
            }
        };
        if current::processor().is_some() { blocking(wait) } else { wait() }
    }
}
