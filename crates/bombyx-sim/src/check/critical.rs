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
    /// Whether that holds for running threads too.
    running: bool,
}

impl<'c> Critical<'c> {
    pub(super) fn new(c: &'c Computation, above: usize, running: bool) -> Self {
        Self { strands: CriticalStrands::new(c), above, running }
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
                // Everything in its processor's deque lies above it.
                let home = Some(m.home(thread));
                let lies_above =
                    deques.iter().find(|deque| deque.owner == home).map_or(0, |d| d.threads.len());
                if self.running && lies_above > self.above {
                    return Err(format!(
                        "{strand} of {thread} is critical and executing, with {lies_above} threads above it in the deque"
                    ));
                }
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
