//! [`Measures`]: the quantities in which the papers' bounds are stated, each in one pass over the strands.
//!
//! This relies on strand ids being a topological order, so longest paths need no search.

use crate::{Computation, StrandId};

/// The quantities that the bounds consist of. Weights and bytes are those of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// T1 (BL §2): all instructions.
    pub work: u64,
    /// T∞ (BL §2): instructions on a longest path. DFD calls it the depth *D*.
    pub span: u64,
    /// S1 (BL §2): the stack depth, the largest sum of frames on a path from the root to a thread.
    pub stack: u64,
    /// S1 of DFD §4: the most memory, frames and heap together, that the serial depth-first execution holds.
    pub serial_space: u64,
    /// S_max (BL §6): the largest frame.
    pub largest_frame: u64,
    /// S_a (DFD §4): all bytes ever allocated on the heap.
    pub allocated: u64,
    /// n_d (BL §6): the most join edges from one thread to its parent.
    pub joins_to_parent: u64,
    /// Levels of the spawn tree below the root.
    pub spawn_depth: u32,
}

impl Measures {
    /// Measures a computation.
    ///
    /// ```
    /// use bombyx_dag::{Measures, generate::figure1};
    /// let m = Measures::of(&figure1(1));
    /// assert_eq!((m.work, m.span, m.stack, m.joins_to_parent), (23, 10, 3, 2));
    /// ```
    pub fn of(c: &Computation) -> Self {
        let (stack, serial_space) = serial_space(c);
        Self {
            work: c.strands().map(|s| c.weight(s)).sum(),
            span: c.span(),
            stack,
            serial_space,
            largest_frame: c.threads().map(|t| c.frame(t)).max().expect("a computation has a root"),
            allocated: c.strands().map(|s| c.allocated(s)).sum(),
            joins_to_parent: joins_to_parent(c),
            spawn_depth: c.threads().map(|t| c.spawn_depth(t)).max().expect("a computation has a root"),
        }
    }

    /// T1 / T∞: beyond this many processors, no more speedup (BL §2).
    pub fn parallelism(&self) -> f64 {
        self.work as f64 / self.span as f64
    }

    /// ⌈T1 / P⌉, rounded up because time is whole instructions.
    pub fn work_bound(&self, processors: u64) -> u64 {
        self.work.div_ceil(processors)
    }

    /// No schedule on `processors` equal processors is shorter: max(⌈T1 / P⌉, T∞) (BL §2).
    pub fn lower_bound(&self, processors: u64) -> u64 {
        self.work_bound(processors).max(self.span)
    }

    /// No greedy schedule is longer: T1 / P + T∞ (BL Theorem 1), rounded down.
    pub fn greedy_bound(&self, processors: u64) -> u64 {
        self.work / processors + self.span
    }
}

/// For every strand, the weight of a heaviest path that ends with it, itself included.
pub fn path_lengths(c: &Computation) -> Vec<u64> {
    // Until the loop reaches a strand, its entry holds the heaviest path to one of its predecessors.
    let mut length = vec![0_u64; c.strand_count()];
    for strand in c.strands() {
        let here = length[strand.index()] + c.weight(strand);
        length[strand.index()] = here;
        for to in successors(c, strand) {
            length[to.index()] = length[to.index()].max(here);
        }
    }
    length
}

/// For every strand, the weight of a heaviest path that begins with it, itself included. This is its distance to the
/// end of the computation.
pub fn distances_to_end(c: &Computation) -> Vec<u64> {
    let mut distance = vec![0_u64; c.strand_count()];
    for strand in c.strands().rev() {
        let beyond = successors(c, strand).map(|to| distance[to.index()]).max().unwrap_or(0);
        distance[strand.index()] = beyond + c.weight(strand);
    }
    distance
}

/// All edges out of a strand: spawn, continue, joins.
pub(crate) fn successors(c: &Computation, strand: StrandId) -> impl Iterator<Item = StrandId> + use<'_> {
    c.spawned(strand).into_iter().chain(c.next(strand)).chain(c.joins_from(strand).iter().copied())
}

/// Walks the serial execution. The strand that spawns a thread allocates its frame. The frame is released when the
/// thread ends, and its children have ended by then.
fn serial_space(c: &Computation) -> (u64, u64) {
    let (mut frames, mut heap) = (c.frame(c.root()), 0_u64);
    let (mut stack, mut space) = (frames, frames);
    for strand in c.strands() {
        heap += c.allocated(strand);
        space = space.max(frames + heap);
        heap -= c.freed(strand);
        if let Some(child) = c.child(strand) {
            frames += c.frame(child);
            stack = stack.max(frames);
            space = space.max(frames + heap);
        }
        if c.next(strand).is_none() {
            frames -= c.frame(c.thread_of(strand));
        }
    }
    (stack, space)
}

fn joins_to_parent(c: &Computation) -> u64 {
    let to_parent = |thread| {
        let parent = c.parent(thread);
        c.strands_of(thread)
            .map(|s| c.joins_from(s).iter().filter(|&&to| Some(c.thread_of(to)) == parent).count() as u64)
            .sum()
    };
    c.threads().map(to_parent).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, generate::figure1};

    #[test]
    fn figure1_has_the_papers_numbers() {
        let c = figure1(1);
        let m = Measures::of(&c);
        assert_eq!((c.strand_count(), c.thread_count()), (23, 6));
        assert_eq!((m.work, m.span, m.spawn_depth, m.largest_frame), (23, 10, 2, 1));
        assert_eq!((m.lower_bound(2), m.greedy_bound(2)), (12, 21));
    }

    #[test]
    fn weights_count_on_paths() {
        let mut b = Builder::new(0);
        b.strand(5);
        b.spawn(0);
        b.strand(100);
        let end = b.end();
        b.strand(7);
        b.strand(1);
        b.wait_for(end);
        let c = b.build().unwrap();
        assert_eq!(Measures::of(&c).span, 106);
        assert_eq!(path_lengths(&c), [5, 105, 12, 106]);
        assert_eq!(distances_to_end(&c), [106, 101, 8, 1]);
    }

    #[test]
    fn serial_space_counts_frames_and_heap_together() {
        let mut b = Builder::new(10);
        b.strand(1);
        b.allocate(100);
        b.spawn(20);
        b.strand(1);
        b.allocate(5);
        b.free(105);
        let end = b.end();
        b.strand(1);
        b.allocate(50);
        b.free(50);
        b.strand(1);
        b.wait_for(end);
        let m = Measures::of(&b.build().unwrap());
        assert_eq!((m.stack, m.serial_space, m.allocated), (30, 135, 155));
    }
}
