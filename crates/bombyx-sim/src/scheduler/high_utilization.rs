//! `high-utilization:BETA`: the fastest idle processor is at most β times as fast as the slowest busy one (HET §2).
//!
//! Ready threads wait in one queue and go to the fastest idle processors. If a processor is idle and more than β times
//! as fast as the slowest busy one, the slowest is interrupted and its thread moves. This is the least that keeps the
//! invariant. All threads together migrate at most 2·S1 times (HET Theorem 5); one may migrate more than twice. Time is
//! at most W1/(p·π_ave) + (p−1)/p · β·W∞/π_ave (HET Theorem 4).

use super::pool::Pool;
use super::{Beta, Mutation, Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use bombyx_dag::ThreadId;
use std::cmp::Reverse;

struct HighUtilization {
    pool: Pool,
    beta: Beta,
    mutation: Option<Mutation>,
    /// When threads last moved without need, for the mutations that do so.
    shuffled: u64,
}

pub(super) fn policy(setup: &Setup, beta: Beta) -> Box<dyn Policy> {
    Box::new(HighUtilization { pool: Pool::default(), beta, mutation: setup.mutation, shuffled: 0 })
}

impl Policy for HighUtilization {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.pool.push(m.computation().root());
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.pool.push(parent);
        m.work(p, child);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn enabled(&mut self, _: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.pool.push(thread);
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        if self.mutation == Some(Mutation::SlowestFirst) {
            let slowest = |m: &Machine<'_>| m.idle().min_by_key(|&p| (m.estimate(p), p));
            while !self.pool.is_empty()
                && let Some(p) = slowest(m)
            {
                let thread = self.pool.pop().expect("the pool is not empty");
                m.acquire(p, thread);
            }
            return;
        }
        if self.shuffled < m.now() {
            self.shuffled = m.now();
            match self.mutation {
                Some(Mutation::Shuffles) => shuffle(m),
                Some(Mutation::TakesTurns) => {
                    let running: Vec<ProcessorId> = busy(m).collect();
                    running.into_iter().for_each(|p| self.pool.push(m.interrupt(p)));
                }
                _ => {}
            }
        }
        while let Some(idle) = fastest_idle(m) {
            if let Some(thread) = self.pool.pop() {
                m.acquire(idle, thread);
                continue;
            }
            if self.mutation == Some(Mutation::NeverMoves) {
                break;
            }
            let Some(slowest) = busy(m).min_by_key(|&p| (m.estimate(p), Reverse(p))) else { break };
            if !self.beta.exceeded_by(m.estimate(idle), m.estimate(slowest)) {
                break;
            }
            let thread = m.interrupt(slowest);
            m.acquire(idle, thread);
        }
    }

    fn ready(&self) -> Ready {
        self.pool.ready()
    }
}

fn fastest_idle(m: &Machine<'_>) -> Option<ProcessorId> {
    m.idle().max_by_key(|&p| (m.estimate(p), Reverse(p)))
}

/// The processors that have a thread.
fn busy(m: &Machine<'_>) -> impl Iterator<Item = ProcessorId> {
    m.processors().filter(|&p| m.thread_of(p).is_some())
}

/// The first two working processors exchange their threads.
fn shuffle(m: &mut Machine<'_>) {
    let first: Vec<ProcessorId> = busy(m).take(2).collect();
    if let [p, q] = first[..] {
        let (of_p, of_q) = (m.interrupt(p), m.interrupt(q));
        m.acquire(p, of_q);
        m.acquire(q, of_p);
    }
}
