//! What profiling costs, and what a migration costs. These costs are measured when the first profiler of a process
//! starts, by running pools. So whoever builds pools measures them ([`Measure`]).

use super::algebra::Burden;
use crate::system::clock::Clock;
use std::sync::OnceLock;
use std::thread;

/// Measures what a profiler with this clock costs, while recording or not.
pub(crate) type Measure = fn(Clock, bool) -> Costs;

/// Costs in ticks. See the module text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// The profiler's part of the strand after a fork.
    pub(crate) fork: i64,
    /// The profiler's part of the strand after a first half.
    pub(crate) middle: i64,
    /// The profiler's part of the strand after a join.
    pub(crate) join: i64,
    /// What the profiler adds to the cost of a fork.
    pub(crate) hook: f64,
    /// What a fork costs without the profiler.
    pub(crate) plain: f64,
    pub(crate) burden: Burden,
}

impl Costs {
    pub(crate) const NONE: Costs = Costs {
        fork: 0,
        middle: 0,
        join: 0,
        hook: 0.0,
        plain: 0.0,
        burden: Burden { steal: 0, hand_over: 0 },
    };

    /// The costs, measured once per process; `recording` or not.
    pub(crate) fn measured(clock: Clock, recording: bool, measure: Measure) -> Costs {
        static PLAIN: OnceLock<Costs> = OnceLock::new();
        static RECORDING: OnceLock<Costs> = OnceLock::new();
        let costs = if recording { &RECORDING } else { &PLAIN };
        *costs.get_or_init(|| {
            // On a separate thread, because the calling one may run in a pool.
            let measure = move || measure(clock, recording);
            let measuring = thread::Builder::new().name("bombyx-costs".to_owned()).spawn(measure);
            measuring.ok().and_then(|thread| thread.join().ok()).unwrap_or(Costs::NONE)
        })
    }
}
