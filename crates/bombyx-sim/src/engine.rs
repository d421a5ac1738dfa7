//! The engine: one loop over the instants at which something ends.
//!
//! Every processor has at most one event on the agenda: the end of its strand (or single instruction) or of its
//! steal attempt. An instant takes all events of one tick, in the order described in
//! [`scheduler`](crate::scheduler). The engine relies on [`Machine`] for state and on a [`Policy`] for rules, and
//! promises that a run depends on nothing but its inputs and its seed: ties are broken by processor number, queues
//! are first in first out, and no clock, hash order or floating point number takes part.
//!
//! Thieves that cannot succeed cost nothing: while [`Policy::may_succeed`] is false they are parked, and when it
//! becomes true their attempts are counted and their random streams advanced as if each had been made. That is
//! exact unless failing thieves delay each other ([`Contention::Queued`]); then their attempts are played out, if
//! possible by a [`Lull`]. If attempts are to be traced, each is an event.

use crate::agenda::{Agenda, Phase};
use crate::check::Checker;
use crate::contention::{Adversary, Contention, Request};
use crate::lull::Lull;
use crate::machine::{Activity, Attempt, Completed, Machine};
use crate::random::Random;
use crate::scheduler::Policy;
use crate::trace::{AttemptResult, EventKind};
use crate::{ProcessorId, SimulationError};
use bombyx_dag::ThreadId;

const NEVER: u64 = u64::MAX;

/// How the engine runs, besides what the machine and the policy know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) contention: Contention,
    /// Steps that a steal attempt takes.
    pub(crate) steal_cost: u64,
    /// Whether every instruction is an event of its own.
    pub(crate) single_steps: bool,
    pub(crate) seed: u64,
}

/// The slot of a choice that names no deque.
const NOWHERE: u32 = u32::MAX;

pub(crate) struct Engine<'c> {
    m: Machine<'c>,
    policy: Box<dyn Policy>,
    checker: Option<Checker<'c>>,
    rules: Rules,
    agenda: Agenda,
    adversary: Random,
    /// Choices to make before random ones, by processor.
    choices: Vec<std::vec::IntoIter<Option<u32>>>,
    parked: Vec<ProcessorId>,
    may_park: bool,
    /// How to pass over failing attempts where they must be played out.
    lull: Option<Lull>,
    // The rest lives for one instant; it is kept to reuse its memory.
    ended: Vec<ProcessorId>,
    completed: Vec<Completed>,
    enabled: Vec<(ProcessorId, ThreadId)>,
    arrived: Vec<ProcessorId>,
    requests: Vec<Request>,
    orders: Vec<ProcessorId>,
}

impl<'c> Engine<'c> {
    pub(crate) fn new(
        m: Machine<'c>,
        policy: Box<dyn Policy>,
        checker: Option<Checker<'c>>,
        mut rules: Rules,
        choices: Vec<Vec<Option<u32>>>,
    ) -> Self {
        rules.single_steps |= policy.settles_every_instruction();
        let queued = matches!(rules.contention, Contention::Queued(_));
        let skips = !rules.single_steps && m.trace.is_none() && choices.is_empty();
        let fifo = rules.contention == Contention::Queued(Adversary::Fifo);
        let plays = skips && fifo && rules.steal_cost == 1 && m.clock.steps_are_ticks();
        Self {
            may_park: skips && !queued,
            lull: plays.then(Lull::default),
            choices: choices.into_iter().map(Vec::into_iter).collect(),
            agenda: Agenda::default(),
            adversary: Random::new(rules.seed, u64::MAX),
            parked: Vec::new(),
            m,
            policy,
            checker,
            rules,
            ended: Vec::new(),
            completed: Vec::new(),
            enabled: Vec::new(),
            arrived: Vec::new(),
            requests: Vec::new(),
            orders: Vec::new(),
        }
    }

    pub(crate) fn run(mut self) -> Result<Machine<'c>, SimulationError> {
        self.policy.begin(&mut self.m);
        self.m.clock.changes().for_each(|tick| self.agenda.push(tick, ProcessorId(0), Phase::Pause));
        self.carry_out_orders()?;
        while self.m.unfinished() > 0 {
            self.pass_lull();
            let tick = self.agenda.next_tick().ok_or_else(|| self.stuck())?;
            self.m.now = tick;
            if !self.collect_events() {
                continue;
            }
            self.end_strands();
            self.serve_attempts();
            if self.m.unfinished() > 0 {
                self.carry_out_orders()?;
            }
        }
        self.close_books();
        Ok(self.m)
    }

    /// Passes over time in which nothing happens but attempts that must fail, if that is worth its set-up.
    fn pass_lull(&mut self) {
        let Some(lull) = &mut self.lull else { return };
        if self.policy.may_succeed(&self.m) {
            return;
        }
        let Some((thieves, until)) = self.agenda.lull() else { return };
        let attempts = thieves.len() as u64 * (until - self.m.now - 1);
        if attempts > 4 * self.m.processor_count() as u64
            && lull.pass(&mut self.m, &*self.policy, &thieves, until)
        {
            self.agenda.postpone(until);
        }
    }

    fn stuck(&self) -> SimulationError {
        SimulationError::Stuck { tick: self.m.now, unfinished: self.m.unfinished() }
    }

    /// Takes the events of this tick from the agenda: strands that end and attempts that arrive, each in the order
    /// of the processors. Returns whether there was any.
    fn collect_events(&mut self) -> bool {
        let mut any = false;
        self.ended.clear();
        self.arrived.clear();
        for i in 0..self.agenda.take(self.m.now) {
            let (p, phase) = self.agenda.taken(i);
            if phase == Phase::Pause {
                any = true;
                continue;
            }
            let processor = &mut self.m.processors[p.index()];
            let phase_now = match processor.activity {
                Activity::Working(_) => Phase::Work,
                _ => Phase::Attempt,
            };
            if processor.until != self.m.now || phase != phase_now {
                continue; // the processor was interrupted after this event was put on the agenda
            }
            processor.until = NEVER;
            any = true;
            self.m.counters.events += 1;
            match phase {
                Phase::Pause => {}
                Phase::Attempt => self.arrived.push(p),
                Phase::Work => {
                    let whole = self.m.clock.quanta();
                    let processor = &mut self.m.processors[p.index()];
                    let step = first_instruction(processor.quanta, whole);
                    if self.rules.single_steps && processor.quanta > step {
                        processor.quanta -= step;
                        self.schedule_work(p);
                    } else {
                        self.ended.push(p);
                    }
                }
            }
        }
        any
    }

    /// All strands that end now end together; then the rules are applied.
    fn end_strands(&mut self) {
        let Self { m, policy, completed, enabled, .. } = self;
        completed.clear();
        enabled.clear();
        for &p in &self.ended {
            let done = m.complete(p, enabled);
            let freed = m.computation().freed(done.strand);
            if freed > 0 {
                policy.freed(p, freed);
            }
            if let Some(checker) = &mut self.checker {
                checker.executed(done.strand);
            }
            completed.push(done);
        }
        let mut enabled = enabled.iter().peekable();
        for (&p, done) in self.ended.iter().zip(completed.iter()) {
            while let Some(&(_, thread)) = enabled.next_if(|&&(enabler, _)| enabler == p) {
                policy.enabled(m, p, thread);
            }
            match (m.goes_on(done.thread), done.child) {
                (Some(_), Some(child)) => policy.spawned(m, p, done.thread, child),
                (Some(true), None) => policy.continued(m, p, done.thread),
                (Some(false), None) => policy.stalled(m, p, done.thread),
                (None, _) => policy.died(m, p, done.thread),
            }
            debug_assert!(m.processors[p.index()].ordered, "{p} was left without an order");
        }
    }

    /// Serves the attempts that arrive now, as the contention model has it.
    fn serve_attempts(&mut self) {
        if !self.parked.is_empty() && self.policy.may_succeed(&self.m) {
            self.unpark(true);
        }
        self.requests.clear();
        for i in 0..self.arrived.len() {
            let p = self.arrived[i];
            let attempt = self.m.processors[p.index()].attempt;
            self.m.counters.wait += if attempt.queue.is_some() { 1 } else { self.rules.steal_cost - 1 };
            let chosen = || Some(attempt.slot).filter(|&slot| slot != NOWHERE);
            match attempt.queue.or_else(|| self.policy.queue(chosen()?)) {
                None => self.conclude(p, None, AttemptResult::Empty),
                Some(queue) => {
                    self.m.processors[p.index()].attempt.queue = Some(queue);
                    self.requests.push(Request { thief: p, initiated: attempt.initiated, queue });
                }
            }
        }
        let mut requests = std::mem::take(&mut self.requests);
        match self.rules.contention {
            Contention::Free => {
                requests.sort_by_key(|r| r.initiated);
                for request in &requests {
                    self.serve(request);
                }
            }
            Contention::Denied => {
                requests.sort_by_key(|r| r.queue);
                for rivals in requests.chunk_by(|a, b| a.queue == b.queue) {
                    let served = self.serve(&rivals[0]);
                    for rival in &rivals[1..] {
                        let result = if served { AttemptResult::Denied } else { AttemptResult::Empty };
                        self.conclude(rival.thief, Some(rival.queue), result);
                    }
                }
            }
            Contention::Queued(adversary) => {
                requests.sort_by_key(|r| r.queue);
                for waiting in requests.chunk_by(|a, b| a.queue == b.queue) {
                    let chosen = adversary.choose(waiting, &mut self.adversary);
                    self.serve(&waiting[chosen]);
                    for (i, request) in waiting.iter().enumerate() {
                        if i != chosen {
                            self.schedule_attempt(request.thief, 1);
                        }
                    }
                }
            }
        }
        self.requests = requests;
    }

    /// Serves one request. Returns whether the thief got a thread.
    fn serve(&mut self, request: &Request) -> bool {
        let victim = self.policy.victim(request.queue);
        let result = self.policy.attempt(&mut self.m, request.thief, request.queue);
        self.conclude_with(request.thief, victim, result);
        matches!(result, AttemptResult::Stolen(_) | AttemptResult::Mugged(_))
    }

    fn conclude(&mut self, thief: ProcessorId, queue: Option<u32>, result: AttemptResult) {
        let victim = queue.and_then(|queue| self.policy.victim(queue));
        self.conclude_with(thief, victim, result);
    }

    fn conclude_with(&mut self, thief: ProcessorId, victim: Option<ProcessorId>, result: AttemptResult) {
        let Attempt { slot, initiated, .. } = self.m.processors[thief.index()].attempt;
        self.m.record(thief, initiated, EventKind::Attempt { slot, victim, result });
        match result {
            AttemptResult::Stolen(_) => self.m.counters.steals += 1,
            AttemptResult::Mugged(_) => self.m.counters.muggings += 1,
            _ => self.m.steal(thief),
        }
    }

    /// Lets the policy settle, starts what was ordered, and checks the state in which the next step begins.
    fn carry_out_orders(&mut self) -> Result<(), SimulationError> {
        loop {
            self.policy.settle(&mut self.m);
            if self.m.orders.is_empty() {
                break;
            }
            std::mem::swap(&mut self.orders, &mut self.m.orders);
            self.orders.sort_unstable();
            for i in 0..self.orders.len() {
                self.carry_out(self.orders[i]);
            }
            self.orders.clear();
        }
        if !self.parked.is_empty() && self.policy.may_succeed(&self.m) {
            self.unpark(false);
        }
        self.m.space.sample(self.m.now, self.policy.deque_count());
        if let Some(checker) = &mut self.checker {
            checker.check(&self.m, &*self.policy)?;
        }
        if self.m.working() == 0 && !self.policy.may_succeed(&self.m) {
            return Err(self.stuck());
        }
        Ok(())
    }

    fn carry_out(&mut self, p: ProcessorId) {
        let now = self.m.now;
        let processor = &mut self.m.processors[p.index()];
        match processor.activity {
            Activity::Idle | Activity::Parked => processor.ordered = false,
            Activity::Working(thread) => {
                if let Some(strand) = self.m.fresh_strand(thread)
                    && !self.policy.admit(&mut self.m, p, thread, strand)
                {
                    self.m.orders.push(p);
                    return;
                }
                self.m.processors[p.index()].ordered = false;
                let quanta = self.m.begin_strand(thread);
                let processor = &mut self.m.processors[p.index()];
                processor.quanta = quanta;
                processor.began = now;
                self.schedule_work(p);
            }
            Activity::Stealing => {
                processor.ordered = false;
                if self.may_park && !self.policy.may_succeed(&self.m) {
                    let processor = &mut self.m.processors[p.index()];
                    processor.activity = Activity::Parked;
                    processor.since = now;
                    self.parked.push(p);
                } else {
                    self.initiate(p, now);
                    self.schedule_attempt(p, self.rules.steal_cost);
                }
            }
        }
    }

    /// Begins an attempt: counts it and chooses its slot.
    fn initiate(&mut self, p: ProcessorId, initiated: u64) {
        self.m.counters.attempts += 1;
        let count = self.m.processor_count() as u32;
        let processor = &mut self.m.processors[p.index()];
        let slot = match self.choices.get_mut(p.index()).and_then(Iterator::next) {
            Some(choice) => choice.unwrap_or(NOWHERE),
            None => processor.random.below(count),
        };
        processor.activity = Activity::Stealing;
        processor.attempt = Attempt { initiated, slot, queue: None };
    }

    /// The thief's next event comes after `steps` of its own steps from now.
    fn schedule_attempt(&mut self, p: ProcessorId, steps: u64) {
        let now = self.m.now;
        let quanta = steps * self.m.clock.quanta();
        let until = self.m.clock.end(p, now, quanta);
        let processor = &mut self.m.processors[p.index()];
        processor.since = now;
        processor.quanta = quanta;
        processor.until = until;
        self.agenda.push(until, p, Phase::Attempt);
    }

    /// The end of the strand, or of its next instruction, goes on the agenda.
    fn schedule_work(&mut self, p: ProcessorId) {
        let now = self.m.now;
        let mut quanta = self.m.processors[p.index()].quanta;
        if self.rules.single_steps {
            quanta = first_instruction(quanta, self.m.clock.quanta());
        }
        let until = self.m.clock.end(p, now, quanta);
        let processor = &mut self.m.processors[p.index()];
        processor.since = now;
        processor.until = until;
        self.agenda.push(until, p, Phase::Work);
    }

    /// Turns parked thieves into thieves with an attempt under way, as if they had made all attempts before it. If
    /// `serving`, attempts that end now are still to be served; else they have failed.
    fn unpark(&mut self, serving: bool) {
        let now = self.m.now;
        for p in std::mem::take(&mut self.parked) {
            let (mut failed, since, each) = self.attempts_while_parked(p);
            let whole = self.m.clock.end(p, since, failed * each) == now;
            failed -= u64::from(serving && whole && failed > 0);
            self.m.counters.attempts += failed;
            self.m.counters.wait += failed * (self.rules.steal_cost - 1);
            self.m.processors[p.index()].random.skip(failed);
            let initiated = self.m.clock.end(p, since, failed * each);
            self.initiate(p, initiated);
            let until = self.m.clock.end(p, since, (failed + 1) * each);
            let processor = &mut self.m.processors[p.index()];
            processor.since = initiated;
            processor.quanta = each;
            if until == now {
                self.m.counters.events += 1;
                self.arrived.push(p);
            } else {
                processor.until = until;
                self.agenda.push(until, p, Phase::Attempt);
            }
        }
        self.arrived.sort_unstable();
    }

    /// How many attempts a parked thief would have completed by now, since when, and the quanta of each.
    fn attempts_while_parked(&self, p: ProcessorId) -> (u64, u64, u64) {
        let since = self.m.processors[p.index()].since;
        let each = self.rules.steal_cost * self.m.clock.quanta();
        let most = (u64::MAX >> 2) / each * each;
        (self.m.clock.done(p, since, most, self.m.now) / each, since, each)
    }

    /// Accounts for attempts that were under way when the last instruction ended.
    fn close_books(&mut self) {
        let now = self.m.now;
        let step = self.m.clock.quanta();
        for p in self.m.processors() {
            let processor = self.m.processors[p.index()].clone();
            match processor.activity {
                Activity::Parked => {
                    let (failed, since, each) = self.attempts_while_parked(p);
                    let begun = self.m.clock.end(p, since, failed * each);
                    self.m.counters.attempts += failed + u64::from(begun < now);
                    self.m.counters.wait += failed * (self.rules.steal_cost - 1);
                    self.m.counters.wait += (self.m.clock.done(p, begun, each, now) / step).saturating_sub(1);
                }
                Activity::Stealing if !processor.ordered => {
                    let steps = self.m.clock.done(p, processor.since, processor.quanta, now) / step;
                    let Attempt { initiated, slot, queue } = processor.attempt;
                    self.m.counters.wait += if queue.is_some() { steps } else { steps.saturating_sub(1) };
                    let victim = queue.and_then(|queue| self.policy.victim(queue));
                    let result = AttemptResult::Unserved;
                    self.m.record(p, initiated, EventKind::Attempt { slot, victim, result });
                }
                _ => {}
            }
        }
        self.m.space.sample(now, self.policy.deque_count());
    }
}

/// The part of a strand that ends with its next instruction. Only the first instruction can be cut short: by an
/// interruption before.
fn first_instruction(quanta: u64, whole: u64) -> u64 {
    match quanta % whole {
        0 => whole,
        rest => rest,
    }
}
