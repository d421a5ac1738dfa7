//! One pool of ready entries for all processors: what `fifo`, `busy-leaves` and `depth-first` have in common.
//!
//! # Protocol
//!
//! Everything happens under one lock. A fork's entry is moved out of the forker's deque into the pool with both locks
//! held (the pool's first). Under the same locks its job learns the node where it now is ([`Place::Listed`]). From then
//! on the node's entry is taken out exactly once, under the lock: by a searcher ([`SharedPool::take`]), which
//! tells the job that it is nowhere any more, or by its own join ([`SharedPool::take_back`]). The join knows the node
//! from the job, and checks under the lock whether the node still holds that very entry. So a node whose number was
//! used again misleads nobody: no two nodes hold one entry, and a job whose join has not returned shares its address
//! with no other job.
//!
//! Nobody steals from deques here, and every fork attends. So deques are empty except between a push and the attention
//! that follows it.
//!
//! # Order
//!
//! [`Order::Arrival`]: new entries go to the right end, and the leftmost is next. [`Order::Serial`]: the order of the
//! serial depth-first execution (DFD §3.2). There, every processor that runs something has a node, so that what it
//! forks can be put beside that node. The second half of a join goes directly right of it, because it comes later. A
//! spawned closure goes directly left of it, because it comes before what its parent does next. A frame that waits for
//! another processor needs no node: the processor that finishes last is at the very place where the frame goes on.
//!
//! # Taking memory in turn
//!
//! A frame that is about to take memory asks whether it is its [turn](SharedPool::turn), that is, whether nothing left
//! of it could be taken by a processor. Dummy threads are a number at the frame's node ([`SharedPool::delay`]), which
//! stays the node of a running processor. A processor that finds the node leftmost counts one dummy off: the frame's own
//! processor or another. If something else comes first, the frame is left at its node with the dummies that remain
//! ([`SharedPool::put_frame`]), and its processor takes the other thing. The taker of the frame gives it its processor.
//! Waking its carrier takes time, so the frame then asks again. So when the answer is [`Turn::Now`], under the lock,
//! all dummies have run and everything left of the frame is being worked on. The frame cannot wait for ever: what is
//! left of it is finite, and the leftmost node is always worked on or open to all.

use super::list::{List, Node};
use crate::protocol::carrier::Carrier;
use crate::protocol::deque::Deque;
use crate::protocol::job::{Entry, Kind, Place};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicUsize, Mutex, MutexGuard, lock};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// What is next. See the module text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Arrival,
    Serial,
}

/// See the module text.
pub(crate) struct SharedPool {
    order: Order,
    /// How many nodes have something to take, for a look without the lock.
    ready: AtomicUsize,
    inner: Mutex<Inner>,
}

struct Inner {
    list: List<Position>,
    /// Where each processor works, in serial order.
    works_at: Box<[Option<Node>]>,
}

/// A position in the serial order.
struct Position {
    /// What is ready here. `None` if a processor works here.
    entry: Option<Entry>,
    /// How many dummy threads must run before the entry, or the frame that the processor works on, goes on (DFD
    /// §3.3).
    dummies: u64,
}

impl Position {
    fn ready(entry: Entry) -> Position {
        Position { entry: Some(entry), dummies: 0 }
    }

    fn running() -> Position {
        Position { entry: None, dummies: 0 }
    }

    /// Whether a processor that looks for something finds it here.
    fn is_open(&self) -> bool {
        self.entry.is_some() || self.dummies > 0
    }

    /// The entry, if it need not wait for dummy threads.
    fn due(&self) -> Option<Entry> {
        self.entry.filter(|_| self.dummies == 0)
    }

    /// Counts off one of the dummy threads that come first. Returns false if there is none.
    fn take_dummy(&mut self) -> bool {
        let any = self.dummies > 0;
        self.dummies -= u64::from(any);
        any
    }
}

/// Whether a frame that is about to take memory may go on.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Turn {
    /// Nothing comes before it.
    Now,
    /// A dummy thread came before it, and is over: it does nothing. The caller asks again.
    Dummy,
    /// Something else comes before it.
    Later,
}

/// What a processor gets from the pool.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Taken {
    Entry(Entry),
    /// A dummy thread, which does nothing. The processor must take again.
    Dummy,
    Nothing,
}

impl SharedPool {
    pub(crate) fn new(order: Order, processors: usize) -> SharedPool {
        SharedPool {
            order,
            ready: AtomicUsize::new(0),
            inner: Mutex::new(Inner { list: List::new(), works_at: vec![None; processors].into() }),
        }
    }

    /// At how many places there seems to be something to take.
    pub(crate) fn len(&self) -> usize {
        self.ready.load(Relaxed)
    }

    /// Moves what processor `index` has pushed on its deque into the pool.
    pub(crate) fn absorb(&self, index: usize, deque: &Deque) {
        let mut inner = lock(&self.inner);
        while deque
            .take_top(|entry| {
                let node = inner.insert(self.order, index, entry);
                if !planted(Fault::ListWithoutPlace) {
                    entry.taken(Place::Listed(node));
                }
            })
            .is_some()
        {
            self.count(&inner, 1);
        }
    }

    /// The frame that processor `index` works on now waits for `dummies` dummy threads, which anyone may run.
    pub(crate) fn delay(&self, index: usize, dummies: u64) {
        let mut inner = lock(&self.inner);
        let node = inner.node_of(index);
        self.change(&mut inner, node, |position| position.dummies = dummies);
    }

    /// Whether the frame that processor `index` works on comes before everything that is ready.
    pub(crate) fn turn(&self, index: usize) -> Turn {
        let mut inner = lock(&self.inner);
        let own = inner.node_of(index);
        let first = inner.list.nodes().find(|&node| node == own || inner.is_open(node));
        if first != Some(own) && !planted(Fault::OutOfTurn) {
            return Turn::Later;
        }
        if self.change(&mut inner, own, Position::take_dummy) { Turn::Dummy } else { Turn::Now }
    }

    /// The frame that processor `index` works on is ready. Its taker continues it, when the dummy threads that
    /// it waits for have run. The processor now works on nothing.
    pub(crate) fn put_frame(&self, index: usize, carrier: Entry) {
        let mut inner = lock(&self.inner);
        let node = inner.node_of(index);
        inner.works_at[index] = None;
        self.change(&mut inner, node, |position| position.entry = Some(carrier));
    }

    /// Takes what is next, for processor `index`, which works there from now on.
    pub(crate) fn take(&self, index: usize) -> Taken {
        if self.len() == 0 {
            self.leave(index);
            return Taken::Nothing;
        }
        let mut inner = lock(&self.inner);
        inner.leave(index);
        let Some(node) = inner.next() else { return Taken::Nothing };
        if self.change(&mut inner, node, Position::take_dummy) {
            return Taken::Dummy;
        }
        let entry = self.remove(&mut inner, node, index);
        entry.taken(Place::Nowhere);
        Taken::Entry(entry)
    }

    /// Takes what is next, if that is a carrier, for processor `index`, which works there from now on.
    pub(crate) fn take_carrier(&self, index: usize) -> Option<NonNull<Carrier>> {
        if self.len() == 0 {
            return None;
        }
        let mut inner = lock(&self.inner);
        let node = inner.next()?;
        let Kind::Carrier(carrier) = inner.due_at(node)?.kind() else { return None };
        inner.leave(index);
        self.remove(&mut inner, node, index);
        Some(carrier)
    }

    /// Takes what is next, if `wanted` accepts it. The processor keeps its place.
    pub(crate) fn take_next_if(&self, wanted: impl FnOnce(Entry) -> bool) -> Option<Entry> {
        if self.len() == 0 {
            return None;
        }
        let mut inner = lock(&self.inner);
        let node = inner.next()?;
        let entry = inner.at(node).entry.filter(|&entry| wanted(entry))?;
        if self.change(&mut inner, node, Position::take_dummy) {
            return None;
        }
        Some(self.take_out(&mut inner, node, entry))
    }

    /// Takes the first entry that `wanted` accepts, whether it is next or not. The processor keeps its place.
    pub(crate) fn take_any(&self, mut wanted: impl FnMut(Entry) -> bool) -> Option<Entry> {
        if self.len() == 0 {
            return None;
        }
        let mut inner = lock(&self.inner);
        let due = |node: Node| inner.due_at(node).map(|entry| (node, entry));
        let (node, entry) = inner.list.nodes().filter_map(due).find(|&(_, entry)| wanted(entry))?;
        Some(self.take_out(&mut inner, node, entry))
    }

    /// The join of a job takes it back from `node`. Returns false if it has been taken, or if it must be next and is
    /// not.
    #[must_use]
    pub(crate) fn take_back(&self, entry: Entry, node: Node, must_be_next: bool) -> bool {
        let mut inner = lock(&self.inner);
        if inner.due_at(node) != Some(entry) && !planted(Fault::TakeBackFromNode) {
            return false;
        }
        if must_be_next && inner.next() != Some(node) {
            return false;
        }
        if inner.list.get(node).is_some() {
            self.take_out(&mut inner, node, entry);
        }
        true
    }

    /// Processor `index` works on nothing in this pool.
    pub(crate) fn leave(&self, index: usize) {
        if self.order == Order::Serial {
            lock(&self.inner).leave(index);
        }
    }

    fn take_out(&self, inner: &mut MutexGuard<'_, Inner>, node: Node, entry: Entry) -> Entry {
        inner.list.remove(node);
        self.count(inner, -1);
        entry.taken(Place::Nowhere);
        entry
    }

    /// Takes the entry out of `node`. In serial order, processor `index` then works there.
    fn remove(&self, inner: &mut MutexGuard<'_, Inner>, node: Node, index: usize) -> Entry {
        let entry = match self.order {
            Order::Arrival => inner.list.remove(node).entry,
            Order::Serial => {
                inner.works_at[index] = Some(node);
                std::mem::replace(inner.at(node), Position::running()).entry
            }
        };
        self.count(inner, -1);
        entry.expect("only ready nodes are taken")
    }

    /// Changes a place, which may also change whether there is something to take.
    fn change<R>(
        &self,
        inner: &mut MutexGuard<'_, Inner>,
        node: Node,
        change: impl FnOnce(&mut Position) -> R,
    ) -> R {
        let position = inner.at(node);
        let before = position.is_open();
        let result = change(position);
        let after = position.is_open();
        self.count(inner, isize::from(after) - isize::from(before));
        result
    }

    /// Changes the number of places where there is something to take. The caller holds the lock.
    fn count(&self, _: &MutexGuard<'_, Inner>, change: isize) {
        self.ready.store(self.ready.load(Relaxed).wrapping_add_signed(change), Relaxed);
    }
}

impl Inner {
    fn at(&mut self, node: Node) -> &mut Position {
        self.list.get_mut(node).expect("the node is in the list")
    }

    fn is_open(&self, node: Node) -> bool {
        self.list.get(node).is_some_and(Position::is_open)
    }

    fn due_at(&self, node: Node) -> Option<Entry> {
        self.list.get(node)?.due()
    }

    /// The leftmost node where a processor finds something.
    fn next(&self) -> Option<Node> {
        self.list.nodes().find(|&node| self.is_open(node))
    }

    /// Where processor `index` works. Work that begins outside the pool comes after everything that is there.
    fn node_of(&mut self, index: usize) -> Node {
        let node = self.works_at[index].unwrap_or_else(|| self.list.push_right(Position::running()));
        self.works_at[index] = Some(node);
        node
    }

    fn leave(&mut self, index: usize) {
        if let Some(node) = self.works_at[index].take() {
            self.list.remove(node);
        }
    }

    /// Inserts what processor `index` has forked, spawned or enabled.
    fn insert(&mut self, order: Order, index: usize, entry: Entry) -> Node {
        if order == Order::Arrival {
            return self.list.push_right(Position::ready(entry));
        }
        let here = self.node_of(index);
        match entry.kind() {
            Kind::Stack(_) => self.list.insert_right_of(here, Position::ready(entry)),
            Kind::Heap(_) | Kind::Carrier(_) => self.list.insert_left_of(here, Position::ready(entry)),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A pool in serial order in which processor 0 works left of processor 1.
    fn two() -> (SharedPool, [Carrier; 2]) {
        let pool = SharedPool::new(Order::Serial, 3);
        pool.delay(0, 0);
        pool.delay(1, 0);
        (pool, [Carrier::to_be_started(), Carrier::to_be_started()])
    }

    fn frame(carrier: &Carrier) -> Entry {
        Entry::carrier(NonNull::from(carrier))
    }

    #[test]
    fn dummies_run_first_whoever_runs_them() {
        let (pool, [_, carrier]) = two();
        pool.delay(1, 4);
        assert_eq!((pool.turn(1), pool.len()), (Turn::Dummy, 1));
        assert_eq!(pool.take(2), Taken::Dummy);
        pool.put_frame(1, frame(&carrier));
        assert_eq!((pool.take(1), pool.take(2)), (Taken::Dummy, Taken::Dummy));
        assert_eq!((pool.take(2), pool.len()), (Taken::Entry(frame(&carrier)), 0));
        assert_eq!(pool.turn(2), Turn::Now);
    }

    #[test]
    fn a_running_frame_is_nobody_elses() {
        let (pool, _) = two();
        pool.delay(1, 1);
        assert_eq!(pool.take(2), Taken::Dummy);
        assert_eq!((pool.take(2), pool.len()), (Taken::Nothing, 0));
        assert_eq!(pool.turn(1), Turn::Now);
    }

    #[test]
    fn what_stands_left_goes_first() {
        let (pool, [left, right]) = two();
        assert_eq!((pool.turn(0), pool.turn(1)), (Turn::Now, Turn::Now), "running frames do not count");
        pool.delay(0, 1);
        assert_eq!((pool.turn(1), pool.turn(0)), (Turn::Later, Turn::Dummy));
        pool.put_frame(0, frame(&left));
        pool.delay(1, 1);
        assert_eq!(pool.turn(1), Turn::Later);
        pool.put_frame(1, frame(&right));
        assert_eq!(pool.take(1), Taken::Entry(frame(&left)));
        assert_eq!(pool.take(0), Taken::Dummy);
        assert_eq!(pool.take(0), Taken::Entry(frame(&right)));
        assert_eq!((pool.turn(0), pool.turn(1), pool.len()), (Turn::Now, Turn::Now, 0));
    }
}
