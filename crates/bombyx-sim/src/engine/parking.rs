//! Thieves that cannot succeed. They are parked, and what they would have done is accounted for when they go on.

use super::Engine;
use crate::ProcessorId;
use crate::agenda::Phase;
use crate::clock::Repeated;
use crate::machine::{Activity, Attempt};
use crate::trace::{AttemptResult, EventKind};

impl Engine<'_> {
    /// `p` steals without events until some attempt can succeed.
    pub(super) fn park(&mut self, p: ProcessorId) {
        let processor = &mut self.m.processors[p.index()];
        processor.activity = Activity::Parked;
        processor.since = self.m.now;
        self.parked.push(p);
    }

    /// Turns parked thieves into thieves with an attempt under way, as if they had made all attempts before it. If
    /// `serving`, attempts that end now have yet to be served; otherwise they have failed.
    pub(super) fn unpark(&mut self, serving: bool) {
        let now = self.m.now;
        for p in std::mem::take(&mut self.parked) {
            let (mut failed, each) = self.attempts_while_parked(p);
            if serving && failed.until == now && failed.count > 0 {
                // The last of them ends now and has yet to be served.
                let since = self.m.processors[p.index()].since;
                failed = self.m.clock.repeat(p, since, each, now - 1);
            }
            self.account_for(failed, each);
            self.m.processors[p.index()].random.skip(failed.count);
            self.initiate(p, failed.until);
            let until = self.m.clock.end(p, failed.until, each);
            let processor = &mut self.m.processors[p.index()];
            processor.since = failed.until;
            processor.quanta = each;
            if until == now {
                self.m.counters.events += 1;
                self.arrived.push(p);
            } else {
                processor.until = until;
                self.put_on_agenda(until, p, Phase::Attempt);
            }
        }
        self.arrived.sort_unstable();
    }

    /// The attempts that a parked thief would have completed by now, and the quanta of each.
    pub(super) fn attempts_while_parked(&self, p: ProcessorId) -> (Repeated, u64) {
        let since = self.m.processors[p.index()].since;
        let each = self.rules.steal_cost * self.m.clock.quanta();
        (self.m.clock.repeat(p, since, each, self.m.now), each)
    }

    /// Accounts for failed attempts of this many quanta each.
    pub(super) fn account_for(&mut self, failed: Repeated, each: u64) {
        self.m.counters.attempts += failed.count;
        self.m.counters.wait += failed.count * (self.rules.steal_cost - 1);
        self.m.counters.stealing += u128::from(failed.count) * u128::from(each);
        self.m.counters.rounded += failed.rounded;
    }

    /// Accounts for attempts that were under way when the last instruction ended.
    pub(super) fn close_books(&mut self) {
        let now = self.m.now;
        let step = self.m.clock.quanta();
        // The steps of these are over, and no other has begun.
        let between = std::mem::take(&mut self.thieves);
        for p in self.m.processors().filter(|p| !between.contains(p)) {
            let processor = self.m.processors[p.index()].clone();
            match processor.activity {
                Activity::Parked => {
                    let (failed, each) = self.attempts_while_parked(p);
                    self.account_for(failed, each);
                    let under_way = self.m.clock.between(p, failed.until, now);
                    self.m.counters.attempts += u64::from(failed.until < now);
                    self.m.counters.wait += (under_way as u64 / step).saturating_sub(1);
                    self.m.counters.stealing += under_way;
                }
                Activity::Stealing if !processor.ordered => {
                    let pace = processor.attempt.pace.unwrap_or(p);
                    let steps = self.m.clock.done(pace, processor.since, processor.quanta, now) / step;
                    let Attempt { initiated, slot, queue, failed, .. } = processor.attempt;
                    self.m.counters.stealing += self.m.clock.between(p, processor.since, now);
                    self.m.counters.wait += if queue.is_some() { steps } else { steps.saturating_sub(1) };
                    let victim = queue.and_then(|queue| self.policy.victim(queue));
                    let (victim, result) = failed.unwrap_or((victim, AttemptResult::Unserved));
                    self.m.record(p, initiated, EventKind::Attempt { slot, victim, result });
                }
                _ => {}
            }
        }
        self.m.space.sample(now, self.policy.deque_count());
    }
}
