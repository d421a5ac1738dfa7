//! [`Draft`]: a computation described as a graph, in any order, checked as a whole.
//!
//! A [`Builder`] follows a serial execution, so little can go wrong. A draft takes threads, spawn edges and join edges
//! in any order, from a hand, a figure or another tool. [`Draft::build`] finds out whether they are a computation: one
//! spawn tree, no cycle, every rule on [`BuildError`]. It numbers the strands anew, in the serial depth-first order.
//! Errors use the draft's own numbers.

use crate::{BuildError, Builder, Computation, StrandId, ThreadId};

/// A graph that may be a computation. Ids are those of the draft: strands and threads in the order they were added.
///
/// ```
/// use bombyx_dag::{BuildError, Draft};
///
/// let mut draft = Draft::new();
/// let (root, child) = (draft.thread(64), draft.thread(64));
/// let [a, b, c] = [1, 1, 1].map(|weight| draft.strand(root, weight));
/// let d = draft.strand(child, 10);
/// draft.spawn(a, child);
/// draft.join(d, c);
/// let computation = draft.build()?;
/// assert_eq!(computation.strand_count(), 4);
///
/// draft.join(d, a);
/// assert_eq!(draft.build().unwrap_err(), BuildError::Cycle(a));
/// # Ok::<(), BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Draft {
    threads: Vec<DraftThread>,
    strands: Vec<DraftStrand>,
    joins: Vec<(StrandId, StrandId)>,
}

#[derive(Clone, Debug)]
struct DraftThread {
    frame: u64,
    strands: Vec<StrandId>,
}

#[derive(Clone, Debug)]
struct DraftStrand {
    thread: ThreadId,
    weight: u64,
    children: Vec<ThreadId>,
    allocated: u64,
    freed: u64,
}

impl Draft {
    /// An empty draft. The first thread added is the root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a thread with a frame of `frame` bytes.
    pub fn thread(&mut self, frame: u64) -> ThreadId {
        self.threads.push(DraftThread { frame, strands: Vec::new() });
        ThreadId::new(self.threads.len() - 1)
    }

    /// Adds a strand of `weight` instructions at the end of a thread.
    ///
    /// # Panics
    /// If the thread does not belong to this draft.
    pub fn strand(&mut self, thread: ThreadId, weight: u64) -> StrandId {
        let id = StrandId::new(self.strands.len());
        self.threads[thread.index()].strands.push(id);
        self.strands.push(DraftStrand { thread, weight, children: Vec::new(), allocated: 0, freed: 0 });
        id
    }

    /// Adds a spawn edge from `strand` to the first strand of `child`.
    ///
    /// # Panics
    /// If the strand does not belong to this draft.
    pub fn spawn(&mut self, strand: StrandId, child: ThreadId) {
        self.strands[strand.index()].children.push(child);
    }

    /// Adds a join edge.
    pub fn join(&mut self, from: StrandId, to: StrandId) {
        self.joins.push((from, to));
    }

    /// `strand` allocates `allocated` heap bytes when it begins and frees `freed` when it ends.
    ///
    /// # Panics
    /// If the strand does not belong to this draft.
    pub fn heap(&mut self, strand: StrandId, allocated: u64, freed: u64) {
        let strand = &mut self.strands[strand.index()];
        (strand.allocated, strand.freed) = (allocated, freed);
    }

    /// Checks the graph and makes the computation.
    ///
    /// # Errors
    /// The first rule of the model that the graph breaks.
    pub fn build(&self) -> Result<Computation, BuildError> {
        self.check_tree()?;
        let order = self.serial_order();
        let mut position = vec![0_u32; self.strands.len()];
        for (at, strand) in order.iter().enumerate() {
            position[strand.index()] = at as u32;
        }
        let mut waits = vec![Vec::new(); self.strands.len()];
        for &(from, to) in &self.joins {
            let missing = [from, to].into_iter().find(|s| s.index() >= self.strands.len());
            if let Some(strand) = missing {
                return Err(BuildError::UnknownStrand(strand));
            }
            if self.strands[from.index()].thread == self.strands[to.index()].thread {
                return Err(BuildError::JoinWithinThread { from, to });
            }
            if position[from.index()] > position[to.index()] {
                return Err(self.find_cycle().unwrap_or(BuildError::JoinBackwards { from, to }));
            }
            waits[to.index()].push(StrandId(position[from.index()]));
        }
        self.tell(&waits).map_err(|error| renumber(error, &order, |t| self.thread_at(&order, t)))
    }

    /// One root, and every other thread spawned once by a strand that is reached from it.
    fn check_tree(&self) -> Result<(), BuildError> {
        let Some(root) = self.threads.first() else { return Err(BuildError::NotATree(ThreadId(0))) };
        let mut spawned = vec![false; self.threads.len()];
        let mut reached = vec![root];
        spawned[0] = true;
        for strand in &self.strands {
            for &child in &strand.children {
                match spawned.get_mut(child.index()) {
                    None => return Err(BuildError::UnknownThread(child)),
                    Some(_) if child == ThreadId(0) => return Err(BuildError::NotATree(child)),
                    Some(twice) if *twice => return Err(BuildError::TwoParents(child)),
                    Some(first) => *first = true,
                }
            }
        }
        // Every thread has at most one parent now. So threads that are not reached from the root have no parent, or are
        // in a ring.
        let mut is_reached = vec![false; self.threads.len()];
        is_reached[0] = true;
        while let Some(thread) = reached.pop() {
            for &child in thread.strands.iter().flat_map(|s| &self.strands[s.index()].children) {
                is_reached[child.index()] = true;
                reached.push(&self.threads[child.index()]);
            }
        }
        match is_reached.iter().position(|reached| !reached) {
            Some(thread) => Err(BuildError::NotATree(ThreadId::new(thread))),
            None => Ok(()),
        }
    }

    fn serial_order(&self) -> Vec<StrandId> {
        let mut order = Vec::with_capacity(self.strands.len());
        let mut path = vec![self.threads[0].strands.iter()];
        while let Some(thread) = path.last_mut() {
            match thread.next() {
                None => drop(path.pop()),
                Some(&strand) => {
                    order.push(strand);
                    let children = self.strands[strand.index()].children.iter().rev();
                    path.extend(children.map(|child| self.threads[child.index()].strands.iter()));
                }
            }
        }
        order
    }

    /// A strand on a cycle of spawn, continue and join edges, if there is one. Removing strands without unfinished
    /// predecessors leaves the cycles. Following the rest backwards until a strand repeats finds one.
    fn find_cycle(&self) -> Option<BuildError> {
        let mut edges = vec![Vec::new(); self.strands.len()];
        let mut edge = |from: StrandId, to: StrandId| edges[to.index()].push(from);
        for thread in &self.threads {
            thread.strands.windows(2).for_each(|pair| edge(pair[0], pair[1]));
        }
        for (at, strand) in self.strands.iter().enumerate() {
            for child in &strand.children {
                self.threads[child.index()]
                    .strands
                    .first()
                    .into_iter()
                    .for_each(|&f| edge(StrandId::new(at), f));
            }
        }
        let known = |s: &StrandId| s.index() < self.strands.len();
        self.joins
            .iter()
            .filter(|(from, to)| known(from) && known(to))
            .for_each(|&(from, to)| edge(from, to));

        let mut unfinished: Vec<usize> = edges.iter().map(Vec::len).collect();
        let mut successors = vec![Vec::new(); self.strands.len()];
        for (to, from) in edges.iter().enumerate().flat_map(|(to, froms)| froms.iter().map(move |f| (to, f)))
        {
            successors[from.index()].push(to);
        }
        let mut ready: Vec<usize> = (0..self.strands.len()).filter(|&s| unfinished[s] == 0).collect();
        while let Some(strand) = ready.pop() {
            for &to in &successors[strand] {
                unfinished[to] -= 1;
                if unfinished[to] == 0 {
                    ready.push(to);
                }
            }
        }
        let mut strand = unfinished.iter().position(|&left| left > 0)?;
        let mut seen = vec![false; self.strands.len()];
        while !std::mem::replace(&mut seen[strand], true) {
            let before = edges[strand].iter().find(|from| unfinished[from.index()] > 0);
            strand = before.expect("a strand that never gets ready waits for another such").index();
        }
        // Every strand from here on around is on the cycle. Name the one that was drafted first.
        let (start, mut first) = (strand, strand);
        loop {
            let before = edges[strand].iter().find(|from| unfinished[from.index()] > 0);
            strand = before.expect("it was found above").index();
            first = first.min(strand);
            if strand == start {
                return Some(BuildError::Cycle(StrandId::new(first)));
            }
        }
    }

    /// Feeds the serial execution to a builder, which checks the rest. `waits` are in serial numbers.
    fn tell(&self, waits: &[Vec<StrandId>]) -> Result<Computation, BuildError> {
        let root = &self.threads[0];
        let mut b = Builder::new(root.frame);
        let mut path = vec![root.strands.iter()];
        while let Some(thread) = path.last_mut() {
            match thread.next() {
                None => {
                    path.pop();
                    if !path.is_empty() {
                        b.end();
                    }
                }
                Some(&id) => {
                    let strand = &self.strands[id.index()];
                    b.strand(strand.weight);
                    waits[id.index()].iter().for_each(|&from| b.wait_for(from));
                    if strand.allocated > 0 {
                        b.allocate(strand.allocated);
                    }
                    if strand.freed > 0 {
                        b.free(strand.freed);
                    }
                    if let [child, others @ ..] = strand.children.as_slice() {
                        if !others.is_empty() {
                            return Err(BuildError::SecondSpawn(StrandId(b.upcoming().0 - 1)));
                        }
                        let child = &self.threads[child.index()];
                        b.spawn(child.frame);
                        path.push(child.strands.iter());
                    }
                }
            }
        }
        b.build()
    }

    /// The draft's number of the thread that is spawned `serial`-th in the serial order.
    fn thread_at(&self, order: &[StrandId], serial: ThreadId) -> ThreadId {
        let spawned = order.iter().flat_map(|s| &self.strands[s.index()].children);
        std::iter::once(&ThreadId(0)).chain(spawned).nth(serial.index()).copied().unwrap_or(serial)
    }
}

/// Turns the builder's serial numbers in an error back into the draft's.
fn renumber(error: BuildError, order: &[StrandId], thread: impl Fn(ThreadId) -> ThreadId) -> BuildError {
    let strand = |s: StrandId| order.get(s.index()).copied().unwrap_or(s);
    match error {
        BuildError::EmptyThread(t) => BuildError::EmptyThread(thread(t)),
        BuildError::ZeroWeight(s) => BuildError::ZeroWeight(strand(s)),
        BuildError::SecondSpawn(s) => BuildError::SecondSpawn(strand(s)),
        BuildError::SpawnAtEnd(s) => BuildError::SpawnAtEnd(strand(s)),
        BuildError::JoinAfterSpawn { from, to } => {
            BuildError::JoinAfterSpawn { from: strand(from), to: strand(to) }
        }
        BuildError::DuplicateJoin { from, to } => {
            BuildError::DuplicateJoin { from: strand(from), to: strand(to) }
        }
        BuildError::Detached(t) => BuildError::Detached(thread(t)),
        BuildError::FreesTooMuch(s) => BuildError::FreesTooMuch(strand(s)),
        other => other,
    }
}
