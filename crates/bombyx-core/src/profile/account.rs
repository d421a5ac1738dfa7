//! What a processor spends its time on.
//!
//! At any time a processor is in one state; whoever changes it (the holder, or whoever has the processor between two
//! holders) adds the time since the last change to the state that ends. Only what falls into a run counts, so what remains
//! of the time of the runs is the time that the processor was idle.

use super::Profiler;
use crate::machine::stats::Counter;
use std::sync::atomic::Ordering::Relaxed;
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

const STATES: usize = 5;

/// Ticks by [`State`]; that of idleness is not counted.
pub(crate) type Spent = [u64; STATES];

/// See the module text.
#[derive(Default)]
pub(crate) struct Account {
    state: AtomicU8,
    since: AtomicU64,
    spent: [Counter; STATES],
}

impl Account {
    /// The processor changes its state.
    pub(crate) fn enter(&self, profiler: &Profiler, state: State) {
        let now = profiler.clock.now();
        let ended = usize::from(self.state.swap(state as u8, Relaxed));
        let since = self.since.swap(now, Relaxed);
        self.spent[ended].add(profiler.in_run(since, now));
    }

    /// Up to now.
    pub(crate) fn spent(&self, profiler: &Profiler) -> Spent {
        let mut spent = self.spent.each_ref().map(Counter::get);
        let since = self.since.load(Relaxed);
        spent[usize::from(self.state.load(Relaxed))] += profiler.in_run(since, profiler.clock.now());
        spent
    }
}
