//! Invariants about the order of threads in deques.

use super::Check;
use crate::machine::Machine;
use crate::scheduler::{Deque, Ready};
use bombyx_dag::{Computation, ThreadId, path_lengths};

/// BL Lemma 4.
pub(super) struct Lemma4;

impl Check for Lemma4 {
    fn check(&mut self, m: &Machine<'_>, ready: &Ready) -> Result<(), String> {
        let c = m.computation();
        for (p, running, deque) in working(m, ready) {
            let mut child = running;
            for (i, &thread) in deque.threads.iter().enumerate() {
                if c.parent(child) != Some(thread) {
                    return Err(format!(
                        "in the deque of {p}, {thread} lies above {child} but is not its parent"
                    ));
                }
                let spawner = c.spawner(child).expect("a child was spawned");
                let untouched = m.next_strand(thread) == c.next(spawner) && !m.is_interrupted(thread);
                if i + 1 < deque.threads.len() && !untouched {
                    return Err(format!(
                        "{thread} is not on top of the deque of {p} but was worked on since it spawned {child}"
                    ));
                }
                child = thread;
            }
        }
        Ok(())
    }
}

/// LEC Lemma 3. The depth of a strand is the weight of a heaviest path that leads to it.
pub(super) struct Depth(Vec<u64>);

impl Depth {
    pub(super) fn new(c: &Computation) -> Self {
        let begins = c.strands().zip(path_lengths(c)).map(|(s, length)| length - c.weight(s));
        Self(begins.collect())
    }
}

impl Check for Depth {
    fn check(&mut self, m: &Machine<'_>, ready: &Ready) -> Result<(), String> {
        let depth = |thread| self.0[m.next_strand(thread).expect("a ready thread has a strand").index()];
        for (p, running, deque) in working(m, ready) {
            let mut below = running;
            for (i, &thread) in deque.threads.iter().enumerate() {
                let (lower, upper) = (depth(below), depth(thread));
                if lower < upper || (i > 0 && lower == upper) {
                    return Err(format!(
                        "at {p}, {below} of depth {lower} lies below {thread} of depth {upper}"
                    ));
                }
                below = thread;
            }
        }
        Ok(())
    }
}

/// DFD Lemma 3.1. Strand ids are in the order of the serial depth-first execution, so they are the priorities.
pub(super) struct Lemma31;

impl Check for Lemma31 {
    fn check(&mut self, m: &Machine<'_>, ready: &Ready) -> Result<(), String> {
        let Ready::Deques(deques) = ready else { return Ok(()) };
        let running = |d: &Deque| d.owner.and_then(|p| m.thread_of(p));
        let threads = deques.iter().flat_map(|d| running(d).into_iter().chain(d.threads.iter().copied()));
        let mut before: Option<ThreadId> = None;
        for thread in threads {
            if let Some(before) = before
                && m.next_strand(before) >= m.next_strand(thread)
            {
                return Err(format!("{before} precedes {thread} in R but has the lower priority"));
            }
            before = Some(thread);
        }
        Ok(())
    }
}

/// The deques of processors that work on a thread.
fn working<'a>(
    m: &'a Machine<'_>,
    ready: &'a Ready,
) -> impl Iterator<Item = (crate::ProcessorId, ThreadId, &'a Deque)> {
    let deques = match ready {
        Ready::Deques(deques) => deques.as_slice(),
        Ready::Pool(_) => &[],
    };
    deques.iter().filter_map(|deque| Some((deque.owner?, m.thread_of(deque.owner?)?, deque)))
}
