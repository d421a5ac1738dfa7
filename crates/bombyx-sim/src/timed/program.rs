//! A computation as RW's threads: every strand is a thread, which ends or forks.

use super::TimedError;
use bombyx_dag::{Computation, StrandId};

/// The number of a thread. If the thread is a join, this is also the number of the join.
pub(super) type Thread = u32;

/// A computation made of forks with two branches.
pub(super) struct Program<'c> {
    computation: &'c Computation,
}

impl<'c> Program<'c> {
    pub(super) fn new(computation: &'c Computation) -> Result<Program<'c>, TimedError> {
        let program = Program { computation };
        let complain =
            |strand: StrandId, why: &str| Err(TimedError::Shape(format!("strand {} {why}", strand.0)));
        for strand in computation.strands() {
            if computation.waits(strand) > 1 {
                return complain(strand, "waits for more than one branch");
            }
            if computation.spawned(strand).is_some() {
                let end = computation.last_strand(computation.thread_of(StrandId(strand.0 + 1)));
                if computation.joins_from(end).len() != 1 {
                    return complain(strand, "spawns a branch that one strand should wait for, and no other");
                }
            } else if computation.next(strand).is_some_and(|next| computation.waits(next) == 0) {
                return complain(strand, "neither ends nor forks");
            }
        }
        Ok(program)
    }

    /// How long the body takes.
    pub(super) fn weight(&self, thread: Thread) -> u64 {
        self.computation.weight(StrandId(thread))
    }

    /// The branches and the join, if the thread ends in a fork.
    pub(super) fn fork(&self, thread: Thread) -> Option<[Thread; 3]> {
        let strand = StrandId(thread);
        let (left, right) = (self.computation.spawned(strand)?, self.computation.next(strand)?);
        let end = self.computation.last_strand(self.computation.thread_of(left));
        let join = self.computation.joins_from(end).first()?;
        Some([left.0, right.0, join.0])
    }

    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.computation.strand_count()
    }
}
