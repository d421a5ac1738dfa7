//! [`Computation`]: the multithreaded computation of BL §2, immutable and compact.
//!
//! Strands are stored in the serial depth-first order, one 24-byte record each. That order makes the tables small and
//! quick to walk. The strand after a spawning strand is its child's first strand, the strands of a thread's whole
//! subtree are a contiguous range, every dependency edge leads to a larger id, and priorities (DFD §2) are ids. Join
//! edges are one array, grouped by the strand they leave. Everything here relies on [`Builder`](crate::Builder) having
//! checked the rules listed on [`BuildError`](crate::BuildError).

use crate::{Class, SiteId, StrandId, ThreadId};

/// "No strand" in the tables below.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strand {
    pub(crate) weight: u64,
    /// The continue edge, or `NONE` at the end of the thread. A strand spawns exactly when this is neither `NONE`
    /// nor the following id.
    pub(crate) next: u32,
    pub(crate) thread: u32,
    /// Where this strand's targets begin in `join_targets`; they end where the next strand's begin.
    pub(crate) joins_begin: u32,
    /// How many join edges enter.
    pub(crate) waits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) frame: u64,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The spawning strand, `NONE` for the root.
    pub(crate) spawner: u32,
    pub(crate) depth: u32,
    /// The site of the spawn, or `NONE` if unknown.
    pub(crate) site: u32,
}

/// What one unit of strand weight stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WeightUnit {
    /// Unit-time instructions (BL §2).
    #[default]
    Instructions,
    /// Nanoseconds, as in recorded runs of real programs.
    Nanoseconds,
}

/// A multithreaded computation (BL §2): a tree of threads, each a chain of weighted strands, tied together by
/// spawn and join edges.
///
/// A strand of weight *w* stands for *w* unit-time instructions in a row. Join edges enter before the first of
/// them and leave after the last; a spawn happens at the last. A strand *allocates* heap memory when it begins
/// and *frees* when it ends. A thread's frame lives from its spawn until the thread and all its children died.
///
/// ```
/// use bombyx_dag::{Builder, StrandId};
///
/// let mut b = Builder::new(64);
/// b.strand(3); //                     v1 …
/// b.spawn(32); //                     … spawns Γ2
/// b.strand(10); //                        v2, all of Γ2
/// let child_end = b.end();
/// b.strand(5); //                     v3, what the parent does meanwhile
/// b.strand(1); //                     v4 …
/// b.wait_for(child_end); //           … begins when v2 has ended
/// let computation = b.build()?;
///
/// assert_eq!(computation.strand_count(), 4);
/// assert_eq!(computation.next(StrandId(0)), Some(StrandId(2)));
/// assert_eq!(computation.joins_from(StrandId(1)), [StrandId(3)]);
/// # Ok::<(), bombyx_dag::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    pub(crate) strands: Vec<Strand>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) join_targets: Vec<StrandId>,
    /// Bytes allocated and freed per strand; both empty when the computation never touches the heap.
    pub(crate) allocated: Vec<u64>,
    pub(crate) freed: Vec<u64>,
    pub(crate) class: Class,
    /// Weight of a heaviest path.
    pub(crate) span: u64,
    pub(crate) unit: WeightUnit,
    pub(crate) sites: Vec<String>,
    pub(crate) notes: Vec<(String, String)>,
}

impl Computation {
    /// Number of strands.
    #[inline]
    pub fn strand_count(&self) -> usize {
        self.strands.len()
    }

    /// Number of threads.
    #[inline]
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Number of join edges.
    #[inline]
    pub fn join_count(&self) -> usize {
        self.join_targets.len()
    }

    /// All strands, in the serial depth-first order: the order in which one processor executes them (BL §2,
    /// DFD's 1DF-schedule). It is a topological order of the dag.
    pub fn strands(&self) -> impl DoubleEndedIterator<Item = StrandId> + ExactSizeIterator + use<> {
        (0..self.strands.len() as u32).map(StrandId)
    }

    /// All threads, in the order in which the serial execution spawns them.
    pub fn threads(&self) -> impl DoubleEndedIterator<Item = ThreadId> + ExactSizeIterator + use<> {
        (0..self.threads.len() as u32).map(ThreadId)
    }

    /// The root thread.
    #[inline]
    pub fn root(&self) -> ThreadId {
        ThreadId(0)
    }

    /// Number of unit instructions in a strand; at least 1.
    #[inline]
    pub fn weight(&self, strand: StrandId) -> u64 {
        self.strands[strand.index()].weight
    }

    /// The thread a strand belongs to.
    #[inline]
    pub fn thread_of(&self, strand: StrandId) -> ThreadId {
        ThreadId(self.strands[strand.index()].thread)
    }

    /// The continue edge: the next strand of the same thread.
    #[inline]
    pub fn next(&self, strand: StrandId) -> Option<StrandId> {
        let next = self.strands[strand.index()].next;
        (next != NONE).then_some(StrandId(next))
    }

    /// The spawn edge: the first strand of the child that this strand spawns.
    #[inline]
    pub fn spawned(&self, strand: StrandId) -> Option<StrandId> {
        let next = self.strands[strand.index()].next;
        (next != NONE && next != strand.0 + 1).then_some(StrandId(strand.0 + 1))
    }

    /// The child thread that this strand spawns.
    #[inline]
    pub fn child(&self, strand: StrandId) -> Option<ThreadId> {
        self.spawned(strand).map(|first| self.thread_of(first))
    }

    /// The join edges out of a strand: the strands that wait for it.
    #[inline]
    pub fn joins_from(&self, strand: StrandId) -> &[StrandId] {
        let begin = self.strands[strand.index()].joins_begin as usize;
        let end =
            self.strands.get(strand.index() + 1).map_or(self.join_targets.len(), |s| s.joins_begin as usize);
        &self.join_targets[begin..end]
    }

    /// How many join edges enter a strand.
    #[inline]
    pub fn waits(&self, strand: StrandId) -> u32 {
        self.strands[strand.index()].waits
    }

    /// Bytes of heap memory that a strand allocates when it begins.
    #[inline]
    pub fn allocated(&self, strand: StrandId) -> u64 {
        self.allocated.get(strand.index()).copied().unwrap_or(0)
    }

    /// Bytes of heap memory that a strand frees when it ends.
    #[inline]
    pub fn freed(&self, strand: StrandId) -> u64 {
        self.freed.get(strand.index()).copied().unwrap_or(0)
    }

    /// Whether any strand allocates or frees heap memory.
    #[inline]
    pub fn uses_heap(&self) -> bool {
        !self.allocated.is_empty()
    }

    /// A thread's first strand.
    #[inline]
    pub fn first_strand(&self, thread: ThreadId) -> StrandId {
        StrandId(self.threads[thread.index()].first)
    }

    /// A thread's last strand.
    #[inline]
    pub fn last_strand(&self, thread: ThreadId) -> StrandId {
        StrandId(self.threads[thread.index()].last)
    }

    /// The strand that spawns a thread, or `None` for the root.
    #[inline]
    pub fn spawner(&self, thread: ThreadId) -> Option<StrandId> {
        let spawner = self.threads[thread.index()].spawner;
        (spawner != NONE).then_some(StrandId(spawner))
    }

    /// A thread's parent in the spawn tree.
    #[inline]
    pub fn parent(&self, thread: ThreadId) -> Option<ThreadId> {
        self.spawner(thread).map(|strand| self.thread_of(strand))
    }

    /// Number of proper ancestors of a thread in the spawn tree.
    #[inline]
    pub fn spawn_depth(&self, thread: ThreadId) -> u32 {
        self.threads[thread.index()].depth
    }

    /// Size of a thread's activation frame in bytes.
    #[inline]
    pub fn frame(&self, thread: ThreadId) -> u64 {
        self.threads[thread.index()].frame
    }

    /// Where in the program the thread was spawned, if that was recorded.
    #[inline]
    pub fn site(&self, thread: ThreadId) -> Option<SiteId> {
        let site = self.threads[thread.index()].site;
        (site != NONE).then_some(SiteId(site))
    }

    /// The source location (or other name) of a fork site.
    pub fn site_name(&self, site: SiteId) -> &str {
        &self.sites[site.index()]
    }

    /// Names of all fork sites, indexed by [`SiteId`].
    pub fn site_names(&self) -> &[String] {
        &self.sites
    }

    /// What one unit of weight stands for.
    pub fn weight_unit(&self) -> WeightUnit {
        self.unit
    }

    /// Free-form `(key, value)` notes: which program, which input, which machine.
    pub fn notes(&self) -> &[(String, String)] {
        &self.notes
    }

    /// The strands of one thread, first to last.
    pub fn strands_of(&self, thread: ThreadId) -> impl Iterator<Item = StrandId> + use<'_> {
        std::iter::successors(Some(self.first_strand(thread)), |&strand| self.next(strand))
    }

    /// One past the last strand of the subtree of the spawn tree rooted at `thread`.
    #[inline]
    pub fn subtree_end(&self, thread: ThreadId) -> StrandId {
        match self.spawner(thread) {
            None => StrandId(self.strands.len() as u32),
            Some(spawner) => StrandId(self.strands[spawner.index()].next),
        }
    }

    /// Whether `ancestor` is `thread` itself or one of its ancestors in the spawn tree.
    #[inline]
    pub fn is_ancestor(&self, ancestor: ThreadId, thread: ThreadId) -> bool {
        let first = self.first_strand(thread);
        self.first_strand(ancestor) <= first && first < self.subtree_end(ancestor)
    }

    /// T∞: the weight of a heaviest path.
    #[inline]
    pub fn span(&self) -> u64 {
        self.span
    }

    /// The first thread whose parent may die before it, in a computation whose join edges all lead to ancestors: the
    /// last strand of the thread joins an ancestor, but not the parent. BL §2 assumes that a parent outlives its
    /// children.
    pub fn outlives_parent(&self) -> Option<ThreadId> {
        let joins_parent = |t: ThreadId| {
            let parent = self.parent(t);
            self.joins_from(self.last_strand(t)).iter().any(|&to| Some(self.thread_of(to)) == parent)
        };
        self.threads().skip(1).find(|&t| !joins_parent(t))
    }

    /// The narrowest class of computations this one belongs to.
    #[inline]
    pub fn class(&self) -> Class {
        self.class
    }
}
