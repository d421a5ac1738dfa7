//! [`Setup`]: what a policy is made from besides its own parameter, and [`Mutation`]: errors on purpose.

/// What a policy is made from besides its own parameter.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Number of processors.
    pub processors: usize,
    /// An error to make on purpose.
    pub mutation: Option<Mutation>,
    /// Which threads are dummies that were inserted before large allocations (DFD §3.3), by thread. Empty if none.
    pub dummies: Vec<bool>,
    /// Whether a processor without a thread visits the shared queue, as [`Simulation::visits`] has it. For `fifo` and
    /// `depth-first`.
    ///
    /// [`Simulation::visits`]: crate::Simulation::visits
    pub visits: bool,
}

impl Setup {
    /// So many processors, no mutation, no dummies, no visits.
    pub fn new(processors: usize) -> Self {
        Self { processors, mutation: None, dummies: Vec::new(), visits: false }
    }

    pub(crate) fn mutates(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}

/// A deliberate error in a scheduler, to show that the invariants catch it. Schedulers that do not have the rule
/// ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// At a spawn go on with the parent and leave the child waiting: breaks the busy-leaves property.
    KeepParent,
    /// Thieves take the newest thread instead of the oldest: breaks Lemma 4 of BL.
    StealBottom,
    /// At a spawn push the parent on top of the deque: breaks LEC's depth lemma.
    PushTop,
    /// An enabled thread goes to the bottom of the next processor's deque: breaks LEC's Proposition 7.
    EnableElsewhere,
    /// A stolen thread's deque is placed left of its victim: breaks Lemma 3.1 of DFD.
    NewDequeLeft,
    /// Ready threads go to the slowest idle processor and stay there: breaks HET's high-utilization invariant.
    SlowestFirst,
}
