//! Thieves that execute in the step of their attempt (DFD §4.1).

use super::Engine;
use crate::agenda::Phase;
use crate::machine::{Activity, Attempt};
use crate::trace::{AttemptResult, EventKind};

impl Engine<'_> {
    /// The steps that failed attempts took are over, and those thieves try again. Others are still in a queue.
    pub(super) fn end_failed_steps(&mut self) {
        for i in 0..self.arrived.len() {
            let p = self.arrived[i];
            self.end_attempt(p);
            let attempt = &mut self.m.processors[p.index()].attempt;
            if let Some((victim, result)) = attempt.failed.take() {
                let Attempt { slot, initiated, .. } = *attempt;
                self.m.record(p, initiated, EventKind::Attempt { slot, victim, result });
            }
            self.thieves.push(p);
        }
    }

    /// All thieves of this instant make their attempts. Those that succeed get their orders for the step that begins
    /// now.
    pub(super) fn attempt_now(&mut self) {
        let now = self.m.now;
        let may_succeed = self.policy.may_succeed(&self.m);
        if self.m.steals_began != Some(now) {
            self.m.steals_began = Some(now);
            self.m.deques_before_steals = self.policy.deque_count();
        }
        if self.may_park && !may_succeed {
            for p in std::mem::take(&mut self.thieves) {
                self.park(p);
            }
            return;
        }
        if may_succeed {
            self.unpark_for_this_step();
        }
        self.thieves.sort_unstable();
        self.arrived.clear();
        for p in std::mem::take(&mut self.thieves) {
            let attempt = &self.m.processors[p.index()].attempt;
            if attempt.queue.is_some() {
                self.arrived.push(p);
                continue;
            }
            let again = self.tried[p.index()] == Some(now);
            self.tried[p.index()] = Some(now);
            self.initiate(p, now);
            if again {
                // A thief has one attempt in a step, even if it lost at once what it got.
                self.conclude(p, None, AttemptResult::Empty);
            } else {
                self.arrived.push(p);
            }
        }
        self.serve_arrived();
    }

    /// Parked thieves have failed in every step so far. A thief that begins a step now makes an attempt now.
    fn unpark_for_this_step(&mut self) {
        let now = self.m.now;
        for p in std::mem::take(&mut self.parked) {
            let (failed, each) = self.attempts_while_parked(p);
            let under_way = failed.until < now;
            self.account_for(failed, each);
            self.m.counters.attempts += u64::from(under_way);
            let processor = &mut self.m.processors[p.index()];
            processor.random.skip(failed.count + u64::from(under_way));
            processor.activity = Activity::Stealing;
            processor.attempt = Attempt::default();
            if under_way {
                let until = self.m.clock.end(p, failed.until, each);
                let processor = &mut self.m.processors[p.index()];
                processor.attempt.failed = Some((None, AttemptResult::Empty));
                processor.since = failed.until;
                processor.quanta = each;
                processor.until = until;
                self.put_on_agenda(until, p, Phase::Attempt);
            } else {
                self.thieves.push(p);
            }
        }
    }
}
