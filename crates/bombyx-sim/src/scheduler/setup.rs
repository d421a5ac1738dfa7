//! [`Setup`]: what a policy is made from besides its own parameter.

use super::{Mutation, Tariff};
use bombyx_dag::{Computation, StrandId};

/// Which memory counts against the quota K of `dfdeques` and `depth-first`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metering {
    /// Heap memory, and the frames of threads: the algorithm (DFD §3.3).
    #[default]
    HeapAndStack,
    /// Only heap memory: what an allocator sees, as in DFD §5 and in the runtime.
    Heap,
}

impl Metering {
    /// Bytes that a strand asks for, all at once: what it allocates, and the frame of the thread that it spawns.
    pub fn demand(self, c: &Computation, strand: StrandId) -> u64 {
        let frame = match self {
            Self::HeapAndStack => c.child(strand).map_or(0, |child| c.frame(child)),
            Self::Heap => 0,
        };
        c.allocated(strand).saturating_add(frame)
    }
}

/// What a policy is made from besides its own parameter.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Number of processors.
    pub processors: usize,
    /// A deliberate error.
    pub mutation: Option<Mutation>,
    /// Which threads are dummies that were inserted before large allocations (DFD §3.3), by thread. Empty if none.
    pub dummies: Vec<bool>,
    /// Whether a processor without a thread visits the shared queue, as [`Simulation::visits`] says. For `fifo` and
    /// `depth-first`.
    ///
    /// [`Simulation::visits`]: crate::Simulation::visits
    pub visits: bool,
    /// What strands are charged against the quota, if there is one.
    pub tariff: Option<Tariff>,
}

impl Setup {
    /// This many processors, without mutation, dummies, visits or tariff.
    pub fn new(processors: usize) -> Self {
        Self { processors, mutation: None, dummies: Vec::new(), visits: false, tariff: None }
    }
}
