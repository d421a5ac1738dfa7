//! A second implementation of schedulers on processors whose speeds change, stop and crash: in fractions, slow and
//! simple. It shares with the engine only the computation and the choices of victims. Time goes from one moment at
//! which something ends or a speed changes to the next. In between, every processor's work shrinks by its speed times
//! the time.

pub(crate) mod fraction;

use bombyx_dag::{Computation, StrandId, ThreadId};
use bombyx_sim::Speeds;
use fraction::{Fraction, ZERO};
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

/// The schedulers it knows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// BL §4 without muggings; HET Figure 2 with them, β given.
    Stealing(Option<Fraction>),
    /// HET §2, β given.
    Utilization(Fraction),
    /// BL §2: one list of strands.
    Greedy,
}

/// What happens when thieves meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meeting {
    Queued,
    Denied,
    Free,
}

/// A run.
pub(crate) struct Case<'a> {
    pub(crate) computation: &'a Computation,
    pub(crate) rule: Rule,
    pub(crate) processors: usize,
    pub(crate) speeds: &'a Speeds,
    /// By which factors processors misjudge their speeds.
    pub(crate) beliefs: Vec<Fraction>,
    pub(crate) choices: Vec<Vec<Option<u32>>>,
    pub(crate) meeting: Meeting,
    pub(crate) steal_cost: u64,
    pub(crate) migration_cost: u64,
    pub(crate) at_victims_speed: bool,
}

/// The result.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Result {
    pub(crate) time: Option<Fraction>,
    pub(crate) idle: Option<Fraction>,
    pub(crate) stealing: Option<Fraction>,
    pub(crate) lost: Option<Fraction>,
    pub(crate) steals: u64,
    pub(crate) muggings: u64,
    pub(crate) migrations: u64,
    pub(crate) preemptions: u64,
    /// Which processor executed which strand from when to when.
    pub(crate) executed: Vec<(usize, StrandId, Fraction, Fraction)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    Nothing,
    Working { thread: ThreadId, since: Fraction, left: Fraction },
    Stealing { initiated: Fraction, victim: Option<u32>, queued: bool, left: Fraction },
}

struct State<'a> {
    case: &'a Case<'a>,
    c: &'a Computation,
    now: Fraction,
    speed: Vec<Fraction>,
    doing: Vec<Doing>,
    next: Vec<Option<StrandId>>,
    waits: Vec<u32>,
    stalled: Vec<bool>,
    home: Vec<usize>,
    moved: Vec<bool>,
    /// What is left of strands that were begun and are not being executed.
    begun: HashMap<ThreadId, Fraction>,
    deques: Vec<VecDeque<ThreadId>>,
    pool: VecDeque<ThreadId>,
    choices: Vec<std::vec::IntoIter<Option<u32>>>,
    executed: Fraction,
    result: Result,
}

/// Runs the case. `None` if it never ends, or if it runs out of choices.
pub(crate) fn run(case: &Case<'_>) -> Option<Result> {
    let c = case.computation;
    let list = case.speeds.list().map(|list| list.iter().map(|&s| s.into()).collect());
    let mut s = State {
        case,
        c,
        now: ZERO,
        speed: list.unwrap_or_else(|| vec![1u64.into(); case.processors]),
        doing: vec![Doing::Nothing; case.processors],
        next: c.threads().map(|t| Some(c.first_strand(t))).collect(),
        waits: c.strands().map(|strand| c.waits(strand)).collect(),
        stalled: vec![false; c.thread_count()],
        home: vec![0; c.thread_count()],
        moved: vec![false; c.thread_count()],
        begun: HashMap::new(),
        deques: vec![VecDeque::new(); case.processors],
        pool: VecDeque::new(),
        choices: case.choices.iter().map(|choices| choices.clone().into_iter()).collect(),
        executed: ZERO,
        result: Result::default(),
    };
    s.run()
}

impl State<'_> {
    fn run(&mut self) -> Option<Result> {
        let mut changes = self.case.speeds.changes().to_vec();
        changes.sort_by_key(|change| change.at);
        let mut changes: VecDeque<_> = changes.into();
        let (mut stealing, mut idle) = (ZERO, ZERO);
        let everybody = 0..self.case.processors;
        // Changes at time 0 hold from the beginning. A processor that crashes then has just got its thread.
        let crashed = self.change(&mut changes);
        match self.case.rule {
            Rule::Stealing(_) => {
                self.work(0, self.c.root());
                for p in 1..self.case.processors {
                    self.steal(p)?;
                }
            }
            _ => self.pool.push_back(self.c.root()),
        }
        self.settle();
        self.crash(crashed)?;
        self.settle();
        while self.next.iter().any(Option::is_some) {
            let ends = everybody.clone().filter_map(|p| {
                let (left, pace) = match self.doing[p] {
                    Doing::Nothing => return None,
                    Doing::Working { left, .. } => (left, p),
                    Doing::Stealing { left, victim, .. } => (left, self.pace(p, victim)),
                };
                (self.speed[pace] > ZERO).then(|| self.now + left / self.speed[pace])
            });
            let change = changes.front().map(|change| Fraction::from(change.at));
            let then = ends.chain(change).min()?;
            let passed = then - self.now;
            for p in everybody.clone() {
                let share = self.speed[p] * passed;
                match self.doing[p] {
                    Doing::Nothing => idle = idle + share,
                    Doing::Working { ref mut left, .. } => {
                        *left = *left - share;
                        self.executed = self.executed + share;
                    }
                    Doing::Stealing { victim, .. } => {
                        let pace = self.speed[self.pace(p, victim)];
                        if let Doing::Stealing { left, .. } = &mut self.doing[p] {
                            *left = *left - pace * passed;
                        }
                        stealing = stealing + share;
                    }
                }
            }
            self.now = then;
            let crashed = self.change(&mut changes);
            self.end_strands()?;
            if self.next.iter().all(Option::is_none) {
                break;
            }
            self.serve()?;
            self.crash(crashed)?;
            self.settle();
        }
        let work: Fraction =
            self.c.strands().map(|s| Fraction::from(self.c.weight(s))).fold(ZERO, |a, b| a + b);
        self.result.time = Some(self.now);
        self.result.idle = Some(idle);
        self.result.stealing = Some(stealing);
        self.result.lost = Some(self.executed - work);
        Some(std::mem::take(&mut self.result))
    }

    fn pace(&self, p: usize, victim: Option<u32>) -> usize {
        if self.case.at_victims_speed { victim.map_or(p, |v| v as usize) } else { p }
    }

    fn estimate(&self, p: usize) -> Fraction {
        self.speed[p] * self.case.beliefs[p]
    }

    /// Sets the speeds from now on. Returns the processors that crash.
    fn change(&mut self, changes: &mut VecDeque<bombyx_sim::Change>) -> Vec<usize> {
        let mut crashed = Vec::new();
        while changes.front().is_some_and(|change| Fraction::from(change.at) <= self.now) {
            let change = changes.pop_front().expect("there is one");
            self.speed[change.processor.index()] = change.speed.into();
            if change.crash {
                crashed.push(change.processor.index());
            }
        }
        crashed
    }

    fn crash(&mut self, crashed: Vec<usize>) -> Option<()> {
        for p in crashed {
            let Doing::Working { thread, since, .. } = self.doing[p] else { continue };
            if since < self.now {
                self.note(p, thread, since);
            }
            if !self.ordered_now(p) {
                self.begun.remove(&thread);
            }
            self.enable(p, thread);
            self.leave(p)?;
        }
        Some(())
    }

    /// Whether a processor got its thread at this very moment, so that it has not begun.
    fn ordered_now(&self, p: usize) -> bool {
        matches!(self.doing[p], Doing::Working { since, .. } if since == self.now)
    }

    fn note(&mut self, p: usize, thread: ThreadId, since: Fraction) {
        let strand = self.next[thread.index()].expect("a running thread has a strand");
        self.result.executed.push((p, strand, since, self.now));
    }

    fn place(&mut self, p: usize, thread: ThreadId) {
        if self.home[thread.index()] != p {
            self.home[thread.index()] = p;
            self.moved[thread.index()] = true;
            self.result.migrations += 1;
        }
    }

    fn work(&mut self, p: usize, thread: ThreadId) {
        self.place(p, thread);
        // What is left is computed when the thread really begins: at the end of this moment.
        self.doing[p] = Doing::Working { thread, since: self.now, left: ZERO };
    }

    fn steal(&mut self, p: usize) -> Option<()> {
        let victim = self.choices[p].next()?;
        let left = Fraction::from(self.case.steal_cost);
        self.doing[p] = Doing::Stealing { initiated: self.now, victim, queued: false, left };
        Some(())
    }

    /// A thread becomes ready at `p`.
    fn enable(&mut self, p: usize, thread: ThreadId) {
        match self.case.rule {
            Rule::Stealing(_) => {
                self.place(p, thread);
                self.deques[p].push_back(thread);
            }
            _ => self.pool.push_back(thread),
        }
    }

    /// `p` has nothing to go on with, after a crash.
    fn leave(&mut self, p: usize) -> Option<()> {
        self.doing[p] = Doing::Nothing;
        if matches!(self.case.rule, Rule::Stealing(_)) { self.steal(p) } else { Some(()) }
    }

    fn end_strands(&mut self) -> Option<()> {
        let mut ended = Vec::new();
        for p in 0..self.case.processors {
            let Doing::Working { thread, since, left } = self.doing[p] else { continue };
            if left > ZERO {
                continue;
            }
            self.note(p, thread, since);
            let strand = self.next[thread.index()].expect("a running thread has a strand");
            let mut enabled = Vec::new();
            for &to in self.c.joins_from(strand) {
                self.waits[to.index()] -= 1;
                let waiting = self.c.thread_of(to);
                if self.waits[to.index()] == 0
                    && self.stalled[waiting.index()]
                    && self.next[waiting.index()] == Some(to)
                {
                    self.stalled[waiting.index()] = false;
                    enabled.push(waiting);
                }
            }
            let child = self.c.child(strand);
            if let Some(child) = child {
                self.home[child.index()] = p;
            }
            self.next[thread.index()] = self.c.next(strand);
            ended.push((p, thread, child, enabled));
        }
        for (p, thread, child, enabled) in ended {
            enabled.into_iter().for_each(|other| self.enable(p, other));
            self.doing[p] = Doing::Nothing;
            let ready = self.next[thread.index()].map(|next| self.waits[next.index()] == 0);
            match (self.case.rule, ready, child) {
                (Rule::Stealing(_), Some(_), Some(child)) => {
                    self.deques[p].push_back(thread);
                    self.work(p, child);
                }
                (Rule::Utilization(_), Some(_), Some(child)) => {
                    self.pool.push_back(thread);
                    self.work(p, child);
                }
                (Rule::Greedy, Some(_), Some(child)) => self.pool.extend([child, thread]),
                (Rule::Greedy, Some(true), None) => self.pool.push_back(thread),
                (_, Some(true), None) => self.work(p, thread),
                (rule, _, _) => {
                    self.stalled[thread.index()] = ready == Some(false);
                    if matches!(rule, Rule::Stealing(_)) {
                        match self.deques[p].pop_back() {
                            Some(bottom) => self.work(p, bottom),
                            None => self.steal(p)?,
                        }
                    }
                }
            }
        }
        Some(())
    }

    fn serve(&mut self) -> Option<()> {
        let mut requests: Vec<(usize, u32, Fraction)> = Vec::new();
        for p in 0..self.case.processors {
            if let Doing::Stealing { left, victim, initiated, .. } = self.doing[p]
                && left <= ZERO
            {
                match victim {
                    None => self.steal(p)?,
                    Some(victim) => requests.push((p, victim, initiated)),
                }
            }
        }
        if self.case.meeting == Meeting::Free {
            requests.sort_by_key(|&(_, _, initiated)| initiated);
            for (p, victim, _) in requests {
                if !self.serve_one(p, victim) {
                    self.steal(p)?;
                }
            }
            return Some(());
        }
        for victim in 0..self.case.processors as u32 {
            let rivals: Vec<_> = requests.iter().filter(|&&(_, v, _)| v == victim).copied().collect();
            let first = match self.case.meeting {
                Meeting::Queued => rivals.iter().min_by_key(|&&(_, _, initiated)| initiated),
                _ => rivals.first(),
            };
            let Some(&(served, ..)) = first else { continue };
            if !self.serve_one(served, victim) {
                self.steal(served)?;
            }
            for &(p, ..) in rivals.iter().filter(|&&(p, ..)| p != served) {
                match (self.case.meeting, &mut self.doing[p]) {
                    (Meeting::Queued, Doing::Stealing { left, queued, .. }) => {
                        *left = 1u64.into();
                        *queued = true;
                    }
                    _ => self.steal(p)?,
                }
            }
        }
        Some(())
    }

    fn serve_one(&mut self, thief: usize, victim: u32) -> bool {
        let Rule::Stealing(beta) = self.case.rule else { return false };
        let victim = victim as usize;
        if let Some(top) = self.deques[victim].pop_front() {
            self.result.steals += 1;
            self.work(thief, top);
            return true;
        }
        match (self.doing[victim], beta) {
            (Doing::Working { thread, .. }, Some(beta))
                if self.estimate(thief) > beta * self.estimate(victim) =>
            {
                self.interrupt(victim);
                self.result.muggings += 1;
                self.work(thief, thread);
                // From now on the victim is a thief. It always has a choice left, or the run is given up later.
                if self.steal(victim).is_none() {
                    self.doing[victim] = Doing::Nothing;
                }
                true
            }
            _ => false,
        }
    }

    /// `p` stops its work.
    fn interrupt(&mut self, p: usize) {
        let Doing::Working { thread, since, left } = self.doing[p] else {
            panic!("only workers are interrupted")
        };
        if since < self.now {
            self.note(p, thread, since);
            self.begun.insert(thread, left);
            self.result.preemptions += 1;
        }
        self.doing[p] = Doing::Nothing;
    }

    /// Idle processors get threads, and every processor that got something at this moment begins it.
    fn settle(&mut self) {
        let moving = |s: &Self, p: &usize| s.doing[*p] == Doing::Nothing && s.speed[*p] > ZERO;
        match self.case.rule {
            Rule::Stealing(_) => {}
            Rule::Greedy => {
                for p in 0..self.case.processors {
                    if moving(self, &p)
                        && let Some(thread) = self.pool.pop_front()
                    {
                        self.work(p, thread);
                    }
                }
            }
            Rule::Utilization(beta) => loop {
                let idle = (0..self.case.processors).filter(|p| moving(self, p));
                let Some(idle) = idle.max_by_key(|&p| (self.estimate(p), Reverse(p))) else { break };
                if let Some(thread) = self.pool.pop_front() {
                    self.work(idle, thread);
                    continue;
                }
                let busy =
                    (0..self.case.processors).filter(|&p| matches!(self.doing[p], Doing::Working { .. }));
                let Some(slowest) = busy.min_by_key(|&p| (self.estimate(p), Reverse(p))) else { break };
                let Doing::Working { thread, .. } = self.doing[slowest] else { break };
                if self.estimate(idle) <= beta * self.estimate(slowest) {
                    break;
                }
                self.interrupt(slowest);
                self.work(idle, thread);
            },
        }
        for p in 0..self.case.processors {
            if let Doing::Working { thread, since, left: ZERO } = self.doing[p]
                && since == self.now
            {
                let strand = self.next[thread.index()].expect("a ready thread has a strand");
                let whole = Fraction::from(self.c.weight(strand));
                let mut left = self.begun.remove(&thread).unwrap_or(whole);
                if self.case.migration_cost > 0 && std::mem::take(&mut self.moved[thread.index()]) {
                    left = left + self.case.migration_cost.into();
                }
                self.doing[p] = Doing::Working { thread, since, left };
            }
        }
    }
}
