//! What a processor spends its time on.
//!
//! At any time a processor is in one state. Whoever changes the state (the holder, or whoever has the processor between
//! two holders) adds the time since the last change to the state that ends. Only time within a run counts. So what
//! remains of the time of the runs is the time that the processor was idle.

use super::Profiler;
use crate::machine::observer::{Account, STATES, State};
use crate::machine::stats::Counter;
use std::sync::atomic::Ordering::Relaxed;

/// Ticks by [`State`]. Those of the idle state are not counted.
pub(crate) type Spent = [u64; STATES];

/// The processor with this account changes its state.
pub(super) fn enter(account: &Account, profiler: &Profiler, state: State) {
    let now = profiler.clock.now();
    let ended = usize::from(account.state.swap(state as u8, Relaxed));
    let since = account.since.swap(now, Relaxed);
    account.spent[ended].add(profiler.in_run(since, now));
}

/// The ticks up to now.
pub(super) fn spent(account: &Account, profiler: &Profiler) -> Spent {
    let mut spent = account.spent.each_ref().map(Counter::get);
    let since = account.since.load(Relaxed);
    spent[usize::from(account.state.load(Relaxed))] += profiler.in_run(since, profiler.clock.now());
    spent
}
