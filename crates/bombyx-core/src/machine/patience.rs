//! How long a waiting carrier keeps its processor.

use crate::protocol::carrier::Carrier;
use crate::protocol::job::Entry;
use crate::system::primitive::{pause, yield_now};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// How long a waiting processor sees other work before it is handed over. About as long as a hand-over takes.
pub(crate) const BEFORE_HAND_OVER: Duration = Duration::from_micros(5);
/// How long a waiting processor keeps its core before it yields.
pub(crate) const BEFORE_YIELDING: Duration = Duration::from_micros(5);
/// How long a waiting carrier with nothing to do keeps its processor.
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
    /// Return the processor: it has had nothing to do for long.
    Nothing,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Waited {
    /// What was waited for has ended.
    Done,
    /// The job came back unstarted, and the caller must run it.
    TakenBack,
}

/// What a waiting carrier has seen so far, and for how long.
pub(crate) struct Patience {
    start: Instant,
    other_work_since: Option<Instant>,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience { start: Instant::now(), other_work_since: None }
    }

    /// What a carrier does next if it has seen no part of what it waits for: it hands over, rests, or waits a little
    /// longer. `other_work` says whether it has seen other work. `crowded` is the pool's setting.
    pub(crate) fn consider(&mut self, crowded: bool, other_work: bool) -> Wait {
        let now = Instant::now();
        match self.verdict(now, other_work) {
            // What this carrier waits for may have no other core to run on, for example if a thief was just woken.
            Wait::Again if now.duration_since(self.start) > BEFORE_YIELDING => yield_now(),
            Wait::Again => pause(crowded),
            verdict => return verdict,
        }
        Wait::Again
    }

    /// Like [`Patience::consider`], without letting time pass.
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
