//! Invariants about which processors are idle.

use super::Check;
use crate::machine::Machine;
use crate::scheduler::{Beta, Ready};

/// BL §2: with at least P ready instructions P execute, with fewer all of them do.
pub(super) struct Greedy;

impl Check for Greedy {
    fn check(&mut self, m: &Machine<'_>, ready: &Ready) -> Result<(), String> {
        let waiting = match ready {
            Ready::Pool(pool) => pool.first(),
            Ready::Deques(deques) => deques.iter().find_map(|deque| deque.threads.first()),
        };
        let idle = m.processors().find(|&p| m.thread_of(p).is_none() && m.speed(p) > 0);
        match (idle, waiting) {
            (Some(p), Some(thread)) => Err(format!("{p} is idle although {thread} is ready")),
            _ => Ok(()),
        }
    }
}

/// HET §2: with threshold 1, the invariant of a maximum utilization schedule.
pub(super) struct HighUtilization(pub(super) Beta);

impl Check for HighUtilization {
    fn check(&mut self, m: &Machine<'_>, _: &Ready) -> Result<(), String> {
        let fastest_idle = m.processors().filter(|&p| m.is_idle(p)).max_by_key(|&p| m.speed(p));
        let slowest_busy = m.processors().filter(|&p| m.thread_of(p).is_some()).min_by_key(|&p| m.speed(p));
        match (fastest_idle, slowest_busy) {
            (Some(idle), Some(busy)) if self.0.exceeded_by(m.speed(idle), m.speed(busy)) => {
                Err(format!("{idle} is idle and more than {} times as fast as {busy}, which works", self.0))
            }
            _ => Ok(()),
        }
    }
}
