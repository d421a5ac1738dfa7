//! Deterministic reservations (Blelloch, Fineman, Gibbons, Shun, PPoPP 2012): runs a greedy loop in parallel and
//! gives the result of the sequential one. Each round takes the earliest iterations that are left; all of them
//! first reserve what they need, by priority, and then those that hold all they reserved commit.

use crate::{Fork, Par};

/// The body of a greedy loop, in two phases.
pub(crate) trait Speculative: Sync {
    /// What an iteration learned in its first phase.
    type Plan: Copy + Default + Send + Sync;

    /// First phase: looks at the state and reserves. Runs in parallel with other reservations only.
    fn reserve(&self, iteration: u32) -> Self::Plan;

    /// Second phase: acts if the reservations held, and says whether the iteration is over (else it is tried
    /// again in the next round). Runs in parallel with other commits only.
    fn commit(&self, iteration: u32, plan: Self::Plan) -> bool;
}

/// Runs iterations `0..n`, at most `round` of them at a time, in pieces of `grain`.
pub(crate) fn speculative_for<F: Fork, S: Speculative>(
    fork: &mut F,
    step: &S,
    n: u32,
    round: usize,
    grain: usize,
) {
    let mut active: Vec<u32> = Vec::new();
    let mut plans = Vec::new();
    let mut next = 0;
    while next < n || !active.is_empty() {
        let fresh = (round.saturating_sub(active.len()) as u32).min(n - next);
        active.extend(next..next + fresh);
        next += fresh;

        plans.resize(active.len(), S::Plan::default());
        fork.for_chunks(&mut plans, grain, &|k, plans: &mut [S::Plan]| {
            for (plan, iteration) in plans.iter_mut().zip(&active[k * grain..]) {
                *plan = step.reserve(*iteration);
            }
        });
        active = fork.pack(active.len(), grain, &|range, left| {
            left.extend(range.filter(|&i| !step.commit(active[i], plans[i])).map(|i| active[i]));
        });
    }
}
