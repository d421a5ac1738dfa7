//! [`Ready`]: where a scheduler keeps its ready threads, as invariants and pictures see it.

use crate::ProcessorId;
use bombyx_dag::ThreadId;

/// A deque, with BL's names for its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deque {
    /// The processor that works at its bottom, if any.
    pub owner: Option<ProcessorId>,
    /// Its threads from the bottom (newest) to the top (oldest).
    pub threads: Vec<ThreadId>,
}

/// Where the ready threads wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// In deques: in the order of the processors, or for DFDeques in the order of the list R.
    Deques(Vec<Deque>),
    /// In one pool, in the order in which they are taken.
    Pool(Vec<ThreadId>),
}
