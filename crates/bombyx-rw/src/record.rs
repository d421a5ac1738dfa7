//! Thread records (RW Figure 3, `thread` and `cont`): deques hold them, status cells belong to them, and watch lists
//! link them. The worker that forks writes a record. After that the protocol says who may touch it:
//!
//! - `conti` of a thread: its owner (the worker that has it in its deque or in its hands);
//! - `status` of a join: the watcher of each side stores its own cell, and both load both;
//! - `nodes` of a join: the watcher of that side.

use crate::protocol::{Cont, Next, Side};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};

/// The operations on a thread whose type is erased.
pub(crate) struct Ops {
    /// Runs the body on a worker (`*mut Worker<K>`), and frees the record.
    pub(crate) run: unsafe fn(NonNull<Thread>, *mut ()),
}

/// A thread that is ready, or waits for its branches.
#[repr(C)]
pub(crate) struct Thread {
    pub(crate) ops: &'static Ops,
    /// A pointer to the join with, in its low bits, the branch. Null is END.
    conti: Cell<usize>,
}

const LEFT: usize = 0;
const RIGHT: usize = 1;
const SINGLE: usize = 2;
const BRANCH: usize = 3;

impl Thread {
    /// A thread followed by END, until `fork` says otherwise.
    pub(crate) fn new(ops: &'static Ops) -> Thread {
        Thread { ops, conti: Cell::new(0) }
    }

    #[inline(always)]
    pub(crate) fn next(&self) -> Next<JoinRef> {
        let word = self.conti.get();
        let Some(join) = NonNull::new((word & !BRANCH) as *mut Join) else { return Next::End };
        let join = JoinRef(join);
        match word & BRANCH {
            SINGLE => Next::Single(join),
            LEFT => Next::Branch(Cont { join, side: Side::Left }),
            _ => Next::Branch(Cont { join, side: Side::Right }),
        }
    }

    #[inline(always)]
    pub(crate) fn set_next(&self, next: Next<JoinRef>) {
        self.conti.set(pack(next));
    }

    /// `conti.branch = SINGLE`.
    #[inline(always)]
    pub(crate) fn make_single(&self) {
        self.conti.set(self.conti.get() & !BRANCH | SINGLE);
    }
}

#[inline(always)]
fn pack(next: Next<JoinRef>) -> usize {
    match next {
        Next::End => 0,
        Next::Single(join) => join.address() | SINGLE,
        Next::Branch(Cont { join, side: Side::Left }) => join.address() | LEFT,
        Next::Branch(Cont { join, side: Side::Right }) => join.address() | RIGHT,
    }
}

/// A thread that waits for two branches.
#[repr(C)]
pub(crate) struct Join {
    pub(crate) thread: Thread,
    /// RW Fig. 3, `status`: 0 is WORK, 1 ACK, 2 READY, 3 TRANSFER with a pointer in the high bits.
    pub(crate) status: [AtomicUsize; 2],
    pub(crate) nodes: [Node; 2],
    /// The number of branches at work, if joins are counted.
    pub(crate) counter: AtomicU32,
    /// Whether the side that does not take the join has looked at it for the last time.
    pub(crate) left_behind: AtomicBool,
    /// Whether the other side may still look at this record when its body runs.
    pub(crate) shared: Cell<bool>,
    /// How large the record is.
    pub(crate) class: u16,
    /// Links records that wait to be freed.
    pub(crate) buried: Cell<*mut Join>,
}

impl Join {
    /// A join whose branches are both at work.
    #[inline(always)]
    pub(crate) fn new(ops: &'static Ops, class: usize) -> Join {
        Join {
            thread: Thread::new(ops),
            status: [AtomicUsize::new(0), AtomicUsize::new(0)],
            nodes: [Node::new(), Node::new()],
            counter: AtomicU32::new(2),
            left_behind: AtomicBool::new(false),
            shared: Cell::new(false),
            class: class as u16,
            buried: Cell::new(ptr::null_mut()),
        }
    }
}

/// An entry of a watch list. Lists are rings, so one pointer stands for a whole list, and adding, removing and
/// appending take constant time (RW §2.2).
pub(crate) struct Node {
    pub(crate) next: Cell<*mut Node>,
    pub(crate) previous: Cell<*mut Node>,
    pub(crate) join: Cell<*mut Join>,
    /// The pass of `watch` that last looked at it.
    pub(crate) pass: Cell<u64>,
}

impl Node {
    fn new() -> Node {
        let null = ptr::null_mut();
        Node {
            next: Cell::new(null),
            previous: Cell::new(null),
            join: Cell::new(null.cast()),
            pass: Cell::new(0),
        }
    }
}

/// A thread record in a deque, a reception cell or somebody's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadRef(pub(crate) NonNull<Thread>);

/// A join's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinRef(pub(crate) NonNull<Join>);

// SAFETY: what a record holds may move between workers, because `Task::fork` asks for `Send`. The protocol decides who
// touches what (see the head of this file).
unsafe impl Send for ThreadRef {}

impl ThreadRef {
    /// The record.
    #[inline(always)]
    pub(crate) fn get<'a>(self) -> &'a Thread {
        // SAFETY: only those who own the thread hold a `ThreadRef`. Its record lives until its body runs.
        unsafe { &*self.0.as_ptr() }
    }
}

impl JoinRef {
    fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The record.
    #[inline(always)]
    pub(crate) fn get<'a>(self) -> &'a Join {
        // SAFETY: a join lives until its body has run. If its branches ended on two workers, it also lives until the
        // one that does not take it has said `left_behind`.
        unsafe { &*self.0.as_ptr() }
    }

    pub(crate) fn thread(self) -> ThreadRef {
        ThreadRef(self.0.cast())
    }
}

/// A watch list: a ring of nodes, or nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchList(pub(crate) *mut Node);

impl WatchList {
    pub(crate) const EMPTY: WatchList = WatchList(ptr::null_mut());

    fn node(c: Cont<JoinRef>) -> *mut Node {
        ptr::from_ref(&c.join.get().nodes[c.side as usize]).cast_mut()
    }

    /// The entry whose turn it is.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<Cont<JoinRef>> {
        let node = NonNull::new(self.0)?;
        // SAFETY: nodes in a list belong to joins that are open, so their records live.
        let join = JoinRef(NonNull::new(unsafe { node.as_ref() }.join.get())?);
        let side = if ptr::eq(node.as_ptr(), &join.get().nodes[0]) { Side::Left } else { Side::Right };
        Some(Cont { join, side })
    }

    /// The first entry, unless this pass has looked at it already. Marks it and turns the ring.
    pub(crate) fn turn(&mut self, pass: u64) -> Option<Cont<JoinRef>> {
        let first = self.first()?;
        // SAFETY: as in `first`.
        let node = unsafe { &*self.0 };
        if node.pass.get() == pass {
            return None;
        }
        node.pass.set(pass);
        self.0 = node.next.get();
        Some(first)
    }

    pub(crate) fn push(&mut self, c: Cont<JoinRef>) {
        let node = WatchList::node(c);
        // SAFETY: the node is in no list and belongs to this worker now.
        let entry = unsafe { &*node };
        entry.join.set(c.join.0.as_ptr());
        entry.pass.set(0);
        entry.next.set(node);
        entry.previous.set(node);
        self.append(WatchList(node));
    }

    /// Takes an entry out of its list, if it is in one.
    pub(crate) fn remove(&mut self, c: Cont<JoinRef>) {
        let node = WatchList::node(c);
        // SAFETY: the node and its neighbours belong to this worker while the node is in its list.
        unsafe {
            let (next, previous) = ((*node).next.get(), (*node).previous.get());
            if next.is_null() {
                return;
            }
            (*previous).next.set(next);
            (*next).previous.set(previous);
            (*node).next.set(ptr::null_mut());
            if self.0 == node {
                self.0 = if next == node { ptr::null_mut() } else { next };
            }
        }
    }

    /// Puts all entries of another list behind those of this one.
    pub(crate) fn append(&mut self, other: WatchList) {
        if other.0.is_null() {
            return;
        }
        if self.0.is_null() {
            self.0 = other.0;
            return;
        }
        // SAFETY: both lists belong to this worker now.
        unsafe {
            let (head, tail) = (self.0, (*self.0).previous.get());
            let (first, last) = (other.0, (*other.0).previous.get());
            (*tail).next.set(first);
            (*first).previous.set(tail);
            (*last).next.set(head);
            (*head).previous.set(last);
        }
    }

    /// How many entries; for tests and statistics.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let mut count = 0;
        let mut node = self.0;
        while !node.is_null() {
            count += 1;
            // SAFETY: as in `first`.
            node = unsafe { (*node).next.get() };
            if node == self.0 {
                break;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static OPS: Ops = Ops { run: |_, _| unreachable!() };

    fn joins(n: usize) -> Vec<Join> {
        (0..n).map(|_| Join::new(&OPS, 0)).collect()
    }

    fn cont(join: &mut Join, side: Side) -> Cont<JoinRef> {
        Cont { join: JoinRef(NonNull::from(join)), side }
    }

    #[test]
    fn a_conti_word_round_trips() {
        let mut join = joins(1).pop().unwrap();
        let thread = Thread::new(&OPS);
        assert_eq!(thread.next(), Next::End);
        for side in [Side::Left, Side::Right] {
            let c = cont(&mut join, side);
            thread.set_next(Next::Branch(c));
            assert_eq!(thread.next(), Next::Branch(c));
            thread.make_single();
            assert_eq!(thread.next(), Next::Single(c.join));
        }
    }

    #[test]
    fn lists_grow_shrink_and_merge() {
        let mut joins = joins(5);
        let conts: Vec<_> = joins.iter_mut().map(|join| cont(join, Side::Left)).collect();
        let (mut a, mut b) = (WatchList::EMPTY, WatchList::EMPTY);
        conts[..3].iter().for_each(|c| a.push(*c));
        conts[3..].iter().for_each(|c| b.push(*c));
        a.append(b);
        assert_eq!(a.len(), 5);
        let mut seen = Vec::new();
        while let Some(c) = a.turn(7) {
            seen.push(c);
        }
        assert_eq!(seen, conts);
        a.remove(conts[0]);
        a.remove(conts[0]);
        a.remove(conts[4]);
        assert_eq!((a.len(), a.first()), (3, Some(conts[1])));
        conts[1..4].iter().for_each(|c| a.remove(*c));
        assert_eq!((a.len(), a.first()), (0, None));
        let mut empty = WatchList::EMPTY;
        empty.append(a);
        assert_eq!(empty.len(), 0);
    }
}
