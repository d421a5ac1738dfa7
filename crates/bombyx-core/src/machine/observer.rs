//! What the machine tells an observer: the profiler, if the pool has one. The observer knows the machine, and not the other
//! way round.
//!
//! Nothing here is on the fork path. In a pool without an observer each call is one comparison.

use crate::machine::pool::PoolCore;
use crate::machine::stats::Counter;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64};

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// Nothing: it has no carrier.
    Idle,
    /// Runs closures.
    Busy,
    /// Looks for some, with nothing to do or while a join waits.
    Search,
    /// Runs a part of what its carrier waits for.
    Help,
    /// Changes from one carrier to another.
    HandOver,
}

/// How many states there are.
pub(crate) const STATES: usize = 5;

/// What an observer notes at a processor: its [`State`], since when, and how long it has been in each.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) state: AtomicU8,
    pub(crate) since: AtomicU64,
    pub(crate) spent: [Counter; STATES],
}

/// See the module text. Of a carrier the observer is told by the carrier itself.
pub(crate) trait Observer: Any + Send + Sync {
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

    /// The calling carrier's frame goes on: its join got its job back, or it has done what it did for the scheduler.
    fn go_on(&self);

    /// The calling carrier does something for the scheduler. Whether the observer wants to know when that ends.
    fn step_aside(&self) -> bool;

    /// One more, or one less, of the closures on the calling carrier's stack runs on top of a waiting frame.
    fn help(&self, more: isize);
}

impl PoolCore {
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.config.observer.as_deref()
    }
}

/// The calling strand, if the pool has an observer, does something for the scheduler until this is dropped, or waits for its
/// turn: that is neither work nor a part of the span.
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

/// The calling carrier runs on top of a waiting frame until this is dropped.
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
