//! Dummy threads before large allocations (DFD §3.3).
//!
//! Before an allocation of m > K bytes, on the heap or for the stack of a new thread, ⌈m/K⌉ dummy threads are forked in
//! a binary tree, and the allocation waits for all of them. They delay it, so that threads of higher priority may be
//! scheduled instead. The papers fork them at run time. The tree depends only on m and K, so here it is built before
//! the run, as part of the computation. It then has priorities, dependencies and a cost like everything else.

use crate::scheduler::Metering;
use bombyx_dag::{Builder, Computation, StrandId};

/// A computation with the dummy threads that a quota demands.
#[derive(Clone, Debug)]
pub struct WithDummies {
    /// The computation with dummies.
    pub computation: Computation,
    /// By thread, whether it is a dummy: a leaf of a dummy tree.
    pub dummy: Vec<bool>,
    /// By thread, whether it was inserted: a dummy, or a thread that forks dummies.
    pub inserted: Vec<bool>,
    /// By strand, the strand of the original computation, or `None` for what was inserted.
    pub origin: Vec<Option<StrandId>>,
}

impl WithDummies {
    /// Inserts dummy threads before every strand that asks for more than `quota`. `None` if there is no such strand.
    pub fn insert(c: &Computation, quota: u64, metering: Metering) -> Option<Self> {
        (Self::demanded(c, quota, metering) > 0).then(|| Inserting::new(c).run(quota, metering))
    }

    /// How many dummy threads a quota demands.
    pub fn demanded(c: &Computation, quota: u64, metering: Metering) -> u64 {
        let demands = c.strands().map(|s| metering.demand(c, s)).filter(|&bytes| bytes > quota);
        demands.map(|bytes| bytes.div_ceil(quota)).fold(0, u64::saturating_add)
    }

    /// How many dummy threads were inserted.
    pub fn count(&self) -> usize {
        self.dummy.iter().filter(|&&dummy| dummy).count()
    }
}

/// Repeats the computation in serial order, with dummies.
struct Inserting<'c> {
    from: &'c Computation,
    to: Builder,
    dummy: Vec<bool>,
    inserted: Vec<bool>,
    origin: Vec<Option<StrandId>>,
    /// The new ids of the original strands.
    moved: Vec<StrandId>,
    /// Join edges into each original strand, from original strands.
    joins: Vec<Vec<StrandId>>,
}

impl<'c> Inserting<'c> {
    fn new(c: &'c Computation) -> Self {
        let mut joins = vec![Vec::new(); c.strand_count()];
        for strand in c.strands() {
            for &to in c.joins_from(strand) {
                joins[to.index()].push(strand);
            }
        }
        let mut to = Builder::new(c.frame(c.root()));
        to.weight_unit(c.weight_unit());
        let (dummy, inserted) = (vec![false], vec![false]);
        Self { from: c, to, dummy, inserted, origin: Vec::new(), moved: Vec::new(), joins }
    }

    fn run(mut self, quota: u64, metering: Metering) -> WithDummies {
        let c = self.from;
        for strand in c.strands() {
            let bytes = metering.demand(c, strand);
            let dummies = (bytes > quota).then(|| {
                self.inserted_strand();
                let root = self.tree(bytes.div_ceil(quota));
                self.inserted_strand();
                root
            });
            self.original_strand(strand, dummies);
            if let Some(child) = c.child(strand) {
                self.to.spawn(c.frame(child));
                self.dummy.push(false);
                self.inserted.push(false);
            } else if c.next(strand).is_none() && c.thread_of(strand) != c.root() {
                self.to.end();
            }
        }
        let computation = self.to.build().expect("inserting nested threads keeps a computation valid");
        WithDummies { computation, dummy: self.dummy, inserted: self.inserted, origin: self.origin }
    }

    fn original_strand(&mut self, strand: StrandId, dummies: Option<StrandId>) {
        let c = self.from;
        self.moved.push(self.to.strand(c.weight(strand)));
        self.origin.push(Some(strand));
        for from in std::mem::take(&mut self.joins[strand.index()]) {
            self.to.wait_for(self.moved[from.index()]);
        }
        if let Some(end) = dummies {
            self.to.wait_for(end);
        }
        if c.allocated(strand) > 0 {
            self.to.allocate(c.allocated(strand));
        }
        if c.freed(strand) > 0 {
            self.to.free(c.freed(strand));
        }
    }

    /// A tree of `leaves` dummies under a new child of the current thread. Returns the child's last strand.
    fn tree(&mut self, leaves: u64) -> StrandId {
        self.to.spawn(0);
        self.dummy.push(leaves == 1);
        self.inserted.push(true);
        if leaves == 1 {
            self.inserted_strand();
            return self.to.end();
        }
        self.inserted_strand();
        let left = self.tree(leaves.div_ceil(2));
        self.inserted_strand();
        let right = self.tree(leaves / 2);
        self.inserted_strand();
        self.inserted_strand();
        self.to.wait_for(left);
        self.to.wait_for(right);
        self.to.end()
    }

    fn inserted_strand(&mut self) {
        self.to.strand(1);
        self.origin.push(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::{Class, Measures, generate};

    fn with_allocation(bytes: u64) -> Computation {
        let mut b = Builder::new(1);
        b.strand(1);
        b.spawn(1);
        b.strand(1);
        b.allocate(bytes);
        b.free(bytes);
        let end = b.end();
        b.strand(1);
        b.strand(1);
        b.wait_for(end);
        b.build().unwrap()
    }

    #[test]
    fn as_many_dummies_as_quotas() {
        let c = with_allocation(1000);
        for (quota, expected) in [(999, 2), (500, 2), (333, 4), (100, 10), (1, 1000)] {
            let with = WithDummies::insert(&c, quota, Metering::default()).unwrap();
            assert_eq!(with.count(), expected, "quota {quota}");
            assert_eq!(with.dummy.len(), with.computation.thread_count());
            assert_eq!(with.origin.len(), with.computation.strand_count());
            assert_eq!(with.computation.class(), Class::NestedParallel);
            let depth = Measures::of(&with.computation).spawn_depth;
            assert!(depth <= 3 + expected.ilog2(), "quota {quota}: depth {depth}");
        }
        assert!(WithDummies::insert(&c, 1000, Metering::default()).is_none());
    }

    #[test]
    fn the_rest_stays_as_it_was() {
        let c = with_allocation(64);
        let with = WithDummies::insert(&c, 10, Metering::default()).unwrap();
        let kept: Vec<StrandId> = with.origin.iter().flatten().copied().collect();
        assert!(kept.into_iter().eq(c.strands()));
        assert_eq!(Measures::of(&with.computation).allocated, Measures::of(&c).allocated);
        assert_eq!(with.inserted.iter().filter(|&&inserted| !inserted).count(), c.thread_count());
        let inserted = with.origin.iter().filter(|o| o.is_none()).count() as u64;
        assert_eq!(Measures::of(&with.computation).work, Measures::of(&c).work + inserted);
        assert!(WithDummies::insert(&generate::figure1(1), 1, Metering::default()).is_none());
    }
}
