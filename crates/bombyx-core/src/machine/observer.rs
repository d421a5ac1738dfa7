//! What the machine tells an observer: the profiler, if the pool has one. The observer knows the machine, not the other
//! way round.
//!
//! Nothing here is on the fork path. In a pool without an observer, each call is one comparison.

use crate::machine::pool::PoolCore;
use crate::machine::stats::Counter;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64};

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// Nothing: the processor has no carrier.
    Idle,
    /// Runs closures.
    Busy,
    /// Looks for closures to run, while idle or while a join waits.
    Search,
    /// Runs a part of what its carrier waits for.
    Help,
    /// Changes from one carrier to another.
    HandOver,
}

/// How many states there are.
pub(crate) const STATES: usize = 5;

/// What an observer notes for each processor: its [`State`], since when, and how long it has been in each state.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) state: AtomicU8,
    pub(crate) since: AtomicU64,
    pub(crate) spent: [Counter; STATES],
}

/// See the module text. What concerns a carrier is reported by that carrier itself.
pub(crate) trait Observer: Any + Send + Sync {
    /// For code that knows what the observer is.
    fn as_any(&self) -> &dyn Any;

    /// The pool begins.
    fn add_pool(&self, pool: &Arc<PoolCore>);

    /// The pool ends.
    fn remove_pool(&self, pool: &PoolCore);

    /// The processor with this account does something else from now on.
    fn enter(&self, account: &Account, state: State);

    /// The processor with this account runs something from now on, or nothing.
    fn set_busy(&self, account: &Account, busy: bool);

    /// The calling carrier's frame waits from now on.
    fn wait(&self);

    /// The calling carrier's frame goes on: its join got its job back, or it has finished what it did for the
    /// scheduler.
    fn go_on(&self);

    /// The calling carrier does something for the scheduler. Returns whether the observer wants to know when that ends.
    fn step_aside(&self) -> bool;

    /// On the calling carrier's stack, one more closure, or one less, runs on top of a waiting frame.
    fn help(&self, more: isize);
}

impl PoolCore {
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.config.observer.as_deref()
    }
}

/// Until this is dropped, the calling strand does something for the scheduler, or waits for its turn. That is neither
/// work nor a part of the span. Only if the pool has an observer.
pub(crate) struct Aside<'a>(Option<&'a dyn Observer>);

impl Aside<'_> {
    #[inline]
    pub(crate) fn begin(pool: &PoolCore) -> Aside<'_> {
        Aside(pool.observer().filter(|observer| observer.step_aside()))
    }
}

impl Drop for Aside<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(observer) = self.0 {
            observer.go_on();
        }
    }
}

/// Until this is dropped, the calling carrier runs on top of a waiting frame.
pub(crate) struct Helping<'a>(Option<&'a dyn Observer>);

impl Helping<'_> {
    #[inline]
    pub(crate) fn begin(pool: &PoolCore) -> Helping<'_> {
        Helping(pool.observer().inspect(|observer| observer.help(1)))
    }
}

impl Drop for Helping<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(observer) = self.0 {
            observer.help(-1);
        }
    }
}
