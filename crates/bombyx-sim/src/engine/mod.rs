//! The engine: one loop over the instants at which something ends.
//!
//! **Not here:** what a scheduler decides. That is in [`crate::scheduler`].
//!
//! Every processor has at most one event on the agenda: the end of its strand (or single instruction) or of its steal
//! attempt. An instant takes all events of one tick, in the order described in [`scheduler`](crate::scheduler). The
//! engine relies on [`Machine`] for state and on a [`Policy`] for rules. It promises that a run depends only on its
//! inputs and its seed: ties are broken by processor number, queues are first in first out, and no clock, hash order or
//! floating point number takes part.
//!
//! Thieves that cannot succeed cost nothing. While [`Policy::may_succeed`] is false they are parked. When it becomes
//! true, their attempts are counted and their random streams advanced as if each attempt had been made. That is exact
//! unless failing thieves delay each other ([`Contention::Queued`]); then their attempts are played out, if possible by
//! a [`Lull`]. If attempts are to be traced, each is an event.
//!
//! An attempt is served at the end of the step in which it is made, so that a thief executes one step later (BL §5). Or
//! it is served at the beginning, so that the thief executes in the same step (DFD §4.1, [`Rules::same_step`]). In both
//! cases, an attempt that fails takes the step.

mod parking;
mod same_step;

use crate::agenda::{Agenda, Phase};
use crate::check::Checker;
use crate::clock::NEVER;
use crate::contention::{Adversary, Contention, Request};
use crate::lull::Lull;
use crate::machine::{Activity, Attempt, Completed, Machine, Processor};
use crate::mutation::Mutation;
use crate::scheduler::Policy;
use crate::trace::{AttemptResult, EventKind};
use crate::{ProcessorId, SimulationError};
use bombyx_base::Random;
use bombyx_dag::ThreadId;

/// How the engine runs, apart from what the machine and the policy know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) contention: Contention,
    /// Steps that a steal attempt takes.
    pub(crate) steal_cost: u64,
    /// Whether these are steps of the victim, not of the thief.
    pub(crate) at_victims_speed: bool,
    /// Whether every instruction is a separate event.
    pub(crate) single_steps: bool,
    /// Whether a thief that succeeds executes in the step of its attempt.
    pub(crate) same_step: bool,
    pub(crate) seed: u64,
    /// A deliberate error.
    pub(crate) mutation: Option<Mutation>,
}

/// With one mutation, a thief gives up after this many failed attempts in a row.
const PATIENCE: u32 = 8;

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
    /// How many attempts of each processor failed in a row. Counted only for the mutation that looks at them.
    failures: Vec<u32>,
    parked: Vec<ProcessorId>,
    may_park: bool,
    /// Whether the policy meters memory.
    metered: bool,
    /// With [`Rules::same_step`], when each processor made its last attempt.
    tried: Vec<Option<u64>>,
    /// Crashes that have happened, and when the last speed changes.
    crashed: usize,
    last_change: u64,
    /// How to pass over failing attempts when they must be played out.
    lull: Option<Lull>,
    // The rest lives for one instant, and is kept to reuse its memory.
    ended: Vec<ProcessorId>,
    completed: Vec<Completed>,
    enabled: Vec<(ProcessorId, ThreadId)>,
    arrived: Vec<ProcessorId>,
    requests: Vec<Request>,
    orders: Vec<ProcessorId>,
    /// With [`Rules::same_step`], the processors that attempt to steal at this instant.
    thieves: Vec<ProcessorId>,
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
        let skips = !rules.single_steps
            && m.trace.is_none()
            && choices.is_empty()
            && rules.mutation.is_none()
            && !rules.at_victims_speed;
        let fifo = rules.contention == Contention::Queued(Adversary::Fifo);
        let plays = skips && fifo && rules.steal_cost == 1 && !rules.same_step && m.clock.steps_are_ticks();
        Self {
            may_park: skips && !queued,
            metered: policy.is_metered(),
            tried: vec![None; m.processor_count()],
            lull: plays.then(Lull::default),
            choices: choices.into_iter().map(Vec::into_iter).collect(),
            agenda: Agenda::default(),
            adversary: Random::stream(rules.seed, u64::MAX),
            failures: vec![
                0;
                if rules.mutation == Some(Mutation::GivesUp) { m.processor_count() } else { 0 }
            ],
            parked: Vec::new(),
            crashed: 0,
            last_change: m.clock.changes().max().unwrap_or(0),
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
            thieves: Vec::new(),
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
            if self.rules.same_step {
                self.end_failed_steps();
            } else {
                self.serve_attempts();
            }
            self.crash();
            if self.m.unfinished() > 0 {
                self.carry_out_orders()?;
            }
        }
        self.close_books();
        Ok(self.m)
    }

    /// Passes over time in which there are only attempts that must fail, if that is worth its set-up.
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

    /// Takes the events of this tick from the agenda: strands that end and attempts that arrive, each in the order of
    /// the processors. Returns whether there was any.
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
                Phase::Work if processor.stepped < processor.quanta => {
                    processor.stepped += self.m.clock.quanta();
                    self.schedule_step(p);
                }
                Phase::Work => {
                    self.note_rounding(p, p);
                    self.ended.push(p);
                }
            }
        }
        any
    }

    /// Counts a stretch of work or stealing that ends now if it ended a moment earlier, between two ticks.
    #[inline]
    fn note_rounding(&mut self, p: ProcessorId, pace: ProcessorId) {
        if self.m.clock.may_round() {
            let Processor { since, quanta, .. } = self.m.processors[p.index()];
            let could = self.m.clock.between(pace, since, self.m.now);
            self.m.counters.rounded += u64::from(could > quanta.into());
        }
    }

    /// Processors that crash now lose what they have done of their strands.
    fn crash(&mut self) {
        while let Some(&(tick, p)) = self.m.clock.crashes().get(self.crashed)
            && tick <= self.m.now
        {
            self.crashed += 1;
            if self.m.thread_of(p).is_some() {
                let thread = self.m.lose(p);
                self.policy.crashed(&mut self.m, p, thread);
            }
        }
    }

    /// All strands that end now end together. Then the rules are applied.
    fn end_strands(&mut self) {
        let Self { m, policy, completed, enabled, .. } = self;
        completed.clear();
        enabled.clear();
        for &p in &self.ended {
            let done = m.complete(p, enabled);
            if self.metered {
                policy.executed(p, done.strand);
            }
            if let Some(checker) = &mut self.checker {
                checker.executed(done.strand);
            }
            completed.push(done);
        }
        let mut enabled = enabled.iter().peekable();
        let wrong = self.rules.mutation;
        let (forgets, early) = (wrong == Some(Mutation::Forgets), wrong == Some(Mutation::Early));
        for (&p, done) in self.ended.iter().zip(completed.iter()) {
            while let Some(&(_, thread)) = enabled.next_if(|&&(enabler, _)| enabler == p) {
                policy.enabled(m, p, thread);
            }
            match (m.goes_on(done.thread), done.child) {
                (Some(_), Some(_)) if forgets => policy.continued(m, p, done.thread),
                (Some(_), Some(child)) => policy.spawned(m, p, done.thread, child),
                (Some(ready), None) if ready || early => policy.continued(m, p, done.thread),
                (Some(_), None) => policy.stalled(m, p, done.thread),
                (None, _) => policy.died(m, p, done.thread),
            }
            debug_assert!(m.processors[p.index()].ordered, "{p} was left without an order");
        }
    }

    /// Serves the attempts that arrive now, as the contention model says.
    fn serve_attempts(&mut self) {
        if !self.parked.is_empty() && self.policy.may_succeed(&self.m) {
            self.unpark(true);
        }
        self.serve_arrived();
    }

    fn serve_arrived(&mut self) {
        self.requests.clear();
        for i in 0..self.arrived.len() {
            let p = self.arrived[i];
            let attempt = self.m.processors[p.index()].attempt;
            if !self.rules.same_step {
                self.end_attempt(p);
            }
            self.m.counters.wait += if attempt.queue.is_some() { 1 } else { self.rules.steal_cost - 1 };
            let chosen = || Some(attempt.slot).filter(|&slot| slot != NOWHERE);
            let barred = self.m.is_barred(p);
            match attempt.queue.or_else(|| self.policy.queue(chosen()?)).filter(|_| !barred) {
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

    /// Accounts for a stretch of stealing that ends now.
    fn end_attempt(&mut self, p: ProcessorId) {
        let Processor { since, quanta, attempt, .. } = self.m.processors[p.index()];
        self.note_rounding(p, attempt.pace.unwrap_or(p));
        self.m.counters.stealing += match attempt.pace {
            None => quanta.into(),
            Some(_) => self.m.clock.between(p, since, self.m.now),
        };
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
        if self.rules.same_step && !matches!(result, AttemptResult::Stolen(_) | AttemptResult::Mugged(_)) {
            let attempt = &mut self.m.processors[thief.index()].attempt;
            attempt.queue = None;
            attempt.failed = Some((victim, result));
            return self.schedule_attempt(thief, 1);
        }
        let Attempt { slot, initiated, .. } = self.m.processors[thief.index()].attempt;
        self.m.record(thief, initiated, EventKind::Attempt { slot, victim, result });
        match result {
            AttemptResult::Stolen(_) => self.m.counters.steals += 1,
            AttemptResult::Mugged(_) => self.m.counters.muggings += 1,
            _ => self.m.steal(thief),
        }
        if let Some(failures) = self.failures.get_mut(thief.index()) {
            let failed = !matches!(result, AttemptResult::Stolen(_) | AttemptResult::Mugged(_));
            *failures = if failed { *failures + 1 } else { 0 };
            if *failures >= PATIENCE {
                self.m.rest(thief);
            }
        }
    }

    /// Lets the policy settle, starts what was ordered, and checks the state in which the next step begins.
    fn carry_out_orders(&mut self) -> Result<(), SimulationError> {
        loop {
            self.policy.settle(&mut self.m);
            if self.m.orders.is_empty() {
                let waiting = !self.parked.is_empty() && self.policy.may_succeed(&self.m);
                if self.rules.same_step && (waiting || !self.thieves.is_empty()) {
                    self.attempt_now();
                    continue;
                }
                break;
            }
            std::mem::swap(&mut self.orders, &mut self.m.orders);
            self.orders.sort_unstable();
            for i in 0..self.orders.len() {
                self.carry_out(self.orders[i]);
            }
            self.orders.clear();
        }
        if !self.rules.same_step && !self.parked.is_empty() && self.policy.may_succeed(&self.m) {
            self.unpark(false);
        }
        self.m.space.sample(self.m.now, self.policy.deque_count());
        if let Some(checker) = &mut self.checker {
            checker.check(&self.m, &*self.policy)?;
        }
        if let Some(strand) = self.m.illegal {
            return Err(SimulationError::TooEarly { strand, tick: self.m.now });
        }
        if !self.goes_on() && !self.policy.may_succeed(&self.m) {
            return Err(self.stuck());
        }
        Ok(())
    }

    /// Whether some processor works on a thread and will come to the end of a strand, or speeds will change once more.
    fn goes_on(&self) -> bool {
        let advances = |p: &Processor| matches!(p.activity, Activity::Working(_)) && p.until != NEVER;
        if !self.m.clock.stops() {
            return self.m.working() > 0;
        }
        self.m.processors.iter().any(advances) || self.m.now < self.last_change
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
                let whole = self.m.clock.quanta();
                let processor = &mut self.m.processors[p.index()];
                processor.quanta = quanta;
                processor.began = now;
                processor.since = now;
                processor.stepped =
                    if self.rules.single_steps { first_instruction(quanta, whole) } else { quanta };
                self.schedule_step(p);
            }
            Activity::Stealing if self.rules.same_step => {
                processor.ordered = false;
                processor.attempt.queue = None;
                self.thieves.push(p);
            }
            Activity::Stealing => {
                processor.ordered = false;
                if self.may_park && !self.policy.may_succeed(&self.m) {
                    self.park(p);
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
            None => match self.rules.mutation {
                Some(Mutation::Victim0) => 0,
                Some(Mutation::Neighbour) => (p.0 + 1) % count,
                Some(Mutation::Themselves) => p.0,
                _ => processor.random.below(u64::from(count)) as u32,
            },
        };
        processor.activity = Activity::Stealing;
        processor.attempt = Attempt { initiated, slot, queue: None, ..Attempt::default() };
        if self.rules.at_victims_speed {
            let queue = Some(slot).filter(|&slot| slot != NOWHERE).and_then(|slot| self.policy.queue(slot));
            self.m.processors[p.index()].attempt.pace = queue.and_then(|queue| self.policy.victim(queue));
        }
    }

    /// The thief's next event comes after `steps` of its own steps from now.
    fn schedule_attempt(&mut self, p: ProcessorId, steps: u64) {
        let now = self.m.now;
        let quanta = steps * self.m.clock.quanta();
        let pace = self.m.processors[p.index()].attempt.pace.unwrap_or(p);
        let until = self.m.clock.end(pace, now, quanta);
        let processor = &mut self.m.processors[p.index()];
        processor.since = now;
        processor.quanta = quanta;
        processor.until = until;
        self.put_on_agenda(until, p, Phase::Attempt);
    }

    fn put_on_agenda(&mut self, tick: u64, p: ProcessorId, phase: Phase) {
        if tick != NEVER {
            self.agenda.push(tick, p, phase);
        }
    }

    /// The end of the strand, or of its next instruction, goes on the agenda.
    fn schedule_step(&mut self, p: ProcessorId) {
        let processor = &self.m.processors[p.index()];
        let rushes = self.rules.mutation == Some(Mutation::Rushes);
        let takes = if rushes { processor.stepped.div_ceil(2) } else { processor.stepped };
        let until = self.m.clock.end(p, processor.since, takes);
        self.m.processors[p.index()].until = until;
        self.put_on_agenda(until, p, Phase::Work);
    }
}

/// The part of a strand that ends with its next instruction. Only the first instruction can be incomplete, because of
/// an earlier interruption.
fn first_instruction(quanta: u64, whole: u64) -> u64 {
    match quanta % whole {
        0 => whole,
        rest => rest,
    }
}
