//! How long a waiting carrier keeps its processor.

use crate::protocol::carrier::Carrier;
use crate::protocol::job::Entry;
use crate::system::primitive::{pause, yield_now};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// How long a waiting processor sees other work before it is handed over: about what that costs.
pub(crate) const BEFORE_HAND_OVER: Duration = Duration::from_micros(5);
/// How long a waiting processor keeps its core to itself.
pub(crate) const BEFORE_YIELDING: Duration = Duration::from_micros(5);
/// How long a waiting processor with nothing to do is kept.
pub(crate) const BEFORE_PARKING: Duration = Duration::from_micros(100);

/// What a waiting carrier should do next.
pub(crate) enum Wait {
    /// Look at the latch again.
    Again,
    /// Run this entry, which descends from what is waited for.
    Help(Entry),
    /// Give the processor to this carrier, whose turn it is.
    Carrier(NonNull<Carrier>),
    /// Hand the processor over: there is other work for it.
    OtherWork,
    /// Return the processor: there has been nothing for it for long.
    Nothing,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Waited {
    /// What was waited for has ended.
    Done,
    /// The job came back unstarted and is the caller's to run.
    TakenBack,
}

/// How long a waiting carrier has seen what.
pub(crate) struct Patience {
    start: Instant,
    other_work_since: Option<Instant>,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience { start: Instant::now(), other_work_since: None }
    }

    /// What a carrier does next that has seen other work, or none, and nothing of its own: hands over, rests, or waits a
    /// little longer. `crowded` is the pool's.
    pub(crate) fn consider(&mut self, crowded: bool, other_work: bool) -> Wait {
        let now = Instant::now();
        match self.verdict(now, other_work) {
            // Whoever runs what this carrier waits for may have no core but this one: a thief that was just woken, for one.
            Wait::Again if now.duration_since(self.start) > BEFORE_YIELDING => yield_now(),
            Wait::Again => pause(crowded),
            verdict => return verdict,
        }
        Wait::Again
    }

    /// The same, without letting time pass.
    pub(crate) fn verdict(&mut self, now: Instant, other_work: bool) -> Wait {
        if !other_work {
            self.other_work_since = None;
            if now.duration_since(self.start) > BEFORE_PARKING {
                return Wait::Nothing;
            }
        } else if now.duration_since(*self.other_work_since.get_or_insert(now)) > BEFORE_HAND_OVER {
            return Wait::OtherWork;
        }
        Wait::Again
    }
}
