//! Where critical instructions are: LEC Proposition 7 and BL Lemma 10.

use super::Check;
use crate::CriticalStrands;
use crate::machine::{Machine, Status};
use crate::scheduler::Ready;
use bombyx_dag::{Computation, StrandId};

pub(super) struct Critical<'c> {
    strands: CriticalStrands<'c>,
    /// How many threads may lie above a critical one.
    above: usize,
}

impl<'c> Critical<'c> {
    pub(super) fn new(c: &'c Computation, above: usize) -> Self {
        Self { strands: CriticalStrands::new(c), above }
    }
}

impl Check for Critical<'_> {
    fn executed(&mut self, strand: StrandId) {
        self.strands.execute(strand);
    }

    fn check(&mut self, m: &Machine<'_>, ready: &Ready) -> Result<(), String> {
        let Ready::Deques(deques) = ready else { return Ok(()) };
        for strand in self.strands.iter() {
            let thread = m.computation().thread_of(strand);
            if m.status(thread) == Status::Running {
                continue;
            }
            let near_top = |threads: &[_]| threads.iter().rev().take(self.above + 1).any(|&t| t == thread);
            if !deques.iter().any(|deque| near_top(&deque.threads)) {
                return Err(format!(
                    "{strand} of {thread} is critical but neither executing nor within {} of the top of a deque",
                    self.above
                ));
            }
        }
        Ok(())
    }
}
