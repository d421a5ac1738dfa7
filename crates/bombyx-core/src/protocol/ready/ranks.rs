//! The list R of DFDeques(K): all deques, with an owner or without, in the order of the serial depth-first execution
//! (Narlikar §3.2 and Lemma 3.1).
//!
//! A deque with an owner is the processor's own ([`Deque`]), and its node only says where it ranks. A deque that was
//! given up has its entries in its node, the oldest first, and perhaps a number of dummy threads below all of them:
//! they are younger than the frame that waits for them, the last entry.
//!
//! # Protocol
//!
//! One lock protects the list; it is taken before the lock of a deque, and nothing is waited for under it.
//!
//! | step | who | under the lock |
//! |---|---|---|
//! | *give up* | a processor whose quota is used up, at a fork | its node loses its owner; all entries of its deque are moved into the node and their jobs told so ([`Place::Listed`]); the running frame follows as a ready carrier |
//! | *draw* | a thief | the r-th deque from the left; without an owner: its oldest entry is the thief's, who gets a node directly right of it, and a node without entries is deleted |
//! | *follow* | a victim that serves a request | the thief's node is put directly right of the victim's, before the answer is sent |
//! | *rob* | a thief whose victim does not answer | takes the victim's oldest entry and a node directly right of its |
//! | *take back* | a join whose job was given up with the deque | the entry leaves the node |
//! | *arrive*, *leave* | a processor that begins with something from outside; one that has nothing left | a node at the right end; its node is deleted |
//!
//! *Give up against rob*: both hold the lock for the whole step, so a thief finds the victim's entries either still in
//! its deque, with its node beside, or all in a node without an owner. *Give up against a served request*: the
//! victim is one carrier and does one after the other. *Withdraw against draw*: the place was written under the
//! lock, and whether the node holds that very entry is seen under the lock; a job whose join has not returned has no
//! other at its address, so a node whose number was used again deceives nobody. *Give up against being found*: once
//! the running frame stands in the list, any thief may give its carrier a processor while it still holds its own;
//! the carrier gives its own away without looking at it again and then finds what it was given
//! ([`crate::protocol::carrier`]).
//!
//! # Cost
//!
//! Every steal, give-up and start takes the lock once, for a walk over at most P nodes: about 100 ns, against the
//! 5 to 20 µs of the hand-over that goes with most of them. With one steal per 100 µs on each processor the lock is
//! taken P·10⁴ times a second, so it is busy a tenth of the time at P ≈ 100. Beyond that the deques would be inserted
//! and deleted lazily: each processor keeps its changes until the next time slot, when one of them merges all into
//! an array of deques, and thieves index that array without a lock (Narlikar §4.1).

use super::list::{List, Node};
use crate::protocol::deque::{Deque, Steal};
use crate::protocol::job::{Entry, Place};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicUsize, Mutex, MutexGuard, lock};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

/// See the module text.
pub(crate) struct Ranks {
    /// Entries in deques without an owner, for a look without the lock.
    left: AtomicUsize,
    inner: Mutex<Inner>,
}

struct Inner {
    list: List<Ranked>,
    /// The node of each processor's deque.
    of: Box<[Option<Node>]>,
    peak: usize,
}

enum Ranked {
    /// The deque of this processor.
    Owned(usize),
    Left(Left),
}

/// A deque without an owner.
struct Left {
    /// The oldest first; never empty.
    entries: VecDeque<Entry>,
    /// For how many bytes dummy threads must run before the youngest entry goes on: one for every K of them, with the K of
    /// that time.
    delay: u64,
    /// What all entries descend from, 0 if that is not known.
    root: usize,
}

/// What a thief finds at the place it drew.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Drawn {
    /// No deque is there.
    Nothing,
    /// The deque of this processor.
    Owned(usize),
    /// The oldest entry of a deque without an owner, which is the thief's.
    Entry(Entry),
    /// A dummy thread, which does nothing. The thief must draw again.
    Dummy,
}

impl Ranks {
    pub(crate) fn new(processors: usize) -> Ranks {
        let inner = Inner { list: List::new(), of: vec![None; processors].into(), peak: 0 };
        Ranks { left: AtomicUsize::new(0), inner: Mutex::new(inner) }
    }

    /// Whether deques without an owner seem to hold something.
    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Relaxed) > 0
    }

    /// The most deques that there were at a time, since it was last forgotten.
    pub(crate) fn peak(&self) -> usize {
        lock(&self.inner).peak
    }

    pub(crate) fn forget_peak(&self) {
        let mut inner = lock(&self.inner);
        inner.peak = inner.list.len();
    }

    /// Processor `index` works on something that has no rank: it comes after all that is there.
    pub(crate) fn arrive(&self, index: usize) {
        lock(&self.inner).node_of(index);
    }

    /// Processor `index` has nothing left in its deque.
    pub(crate) fn leave(&self, index: usize) {
        lock(&self.inner).leave(index);
    }

    /// The deque of `thief`, empty so far, ranks directly right of that of `victim`.
    pub(crate) fn follow(&self, victim: usize, thief: usize) {
        let mut inner = lock(&self.inner);
        let node = inner.node_of(victim);
        inner.place_right_of(node, thief);
    }

    /// Takes an entry of `victim` for `thief` by `steal`, whose deque ranks directly right of the victim's then.
    pub(crate) fn rob(&self, victim: usize, thief: usize, steal: impl FnOnce() -> Steal) -> Steal {
        let too_early = planted(Fault::RobWithoutRanks);
        let (mut inner, stolen) = if too_early {
            let stolen = steal();
            (lock(&self.inner), stolen)
        } else {
            let inner = lock(&self.inner);
            (inner, steal())
        };
        if let Steal::Success(_) = stolen {
            let node = inner.node_of(victim);
            inner.place_right_of(node, thief);
        }
        stolen
    }

    /// Processor `index` gives up `deque`, its own, with `frame`, the carrier that runs on it, as the youngest entry,
    /// which waits for dummy threads for `delay` bytes.
    pub(crate) fn give_up(&self, index: usize, deque: &Deque, frame: Entry, delay: u64) {
        let mut inner = lock(&self.inner);
        let node = inner.node_of(index);
        inner.of[index] = None;
        let root = deque.root();
        let mut entries = VecDeque::new();
        while let Some(entry) = deque.take_top(|entry| {
            if !planted(Fault::ListWithoutPlace) {
                entry.taken(Place::Listed(node));
            }
        }) {
            entries.push_back(entry);
        }
        entries.push_back(frame);
        self.count(&inner, entries.len() as isize);
        *inner.at(node) = Ranked::Left(Left { entries, delay, root });
    }

    /// What the thief `index` finds in the `place`-th deque from the left, where a deque in which nothing but dummy
    /// threads is ready counts as many as there are: that is over how many deques the paper's binary tree of dummies
    /// spreads, as each one that is run leaves its siblings in a deque of their own. A dummy stands for `bytes`: K.
    pub(crate) fn draw(&self, index: usize, place: usize, bytes: u64) -> Drawn {
        let mut inner = lock(&self.inner);
        let Some(node) = inner.place(place, bytes) else { return Drawn::Nothing };
        match inner.at(node) {
            &mut Ranked::Owned(owner) => Drawn::Owned(owner),
            Ranked::Left(_) => self.take_from(&mut inner, node, index, bytes),
        }
    }

    /// What the thief `index` finds in the leftmost `count` deques without an owner, if all in it descends from
    /// `root`.
    pub(crate) fn draw_descendant(&self, index: usize, count: usize, root: usize) -> Drawn {
        if !self.has_left() {
            return Drawn::Nothing;
        }
        let mut inner = lock(&self.inner);
        let descends = |node: &Node| matches!(inner.list.get(*node), Some(Ranked::Left(left)) if left.root == root && left.delay == 0);
        let found = inner.list.nodes().take(count).find(descends);
        found.map_or(Drawn::Nothing, |node| self.take_from(&mut inner, node, index, 0))
    }

    /// The first of the leftmost `count` deques whose owner is accepted.
    pub(crate) fn find_owner(&self, count: usize, mut wanted: impl FnMut(usize) -> bool) -> Option<usize> {
        let inner = lock(&self.inner);
        let owner = |node| match inner.list.get(node) {
            Some(&Ranked::Owned(owner)) => Some(owner),
            _ => None,
        };
        inner.list.nodes().take(count).filter_map(owner).find(|&owner| wanted(owner))
    }

    /// The join of a job takes it back from the deque without an owner that it was given up with. False if it is gone.
    #[must_use]
    pub(crate) fn take_back(&self, entry: Entry, node: Node) -> bool {
        let mut inner = lock(&self.inner);
        let Some(Ranked::Left(left)) = inner.list.get_mut(node) else { return false };
        if planted(Fault::TakeBackFromNode) {
            return true;
        }
        let Some(at) = left.entries.iter().rposition(|&other| other == entry) else { return false };
        left.entries.remove(at);
        entry.taken(Place::Nowhere);
        self.count(&inner, -1);
        inner.delete_if_empty(node);
        true
    }

    /// Takes the oldest entry of a deque without an owner, or a dummy when nothing but the frame is left that waits for
    /// them. If it is an entry, the thief's deque ranks directly right of it.
    fn take_from(&self, inner: &mut MutexGuard<'_, Inner>, node: Node, index: usize, bytes: u64) -> Drawn {
        let Ranked::Left(left) = inner.at(node) else { return Drawn::Nothing };
        if left.entries.len() == 1 && left.delay > 0 && !planted(Fault::OutOfTurn) {
            left.delay = left.delay.saturating_sub(bytes);
            return Drawn::Dummy;
        }
        let entry = left.entries.pop_front().expect("a deque without an owner is not empty");
        entry.taken(Place::Nowhere);
        self.count(inner, -1);
        inner.place_right_of(node, index);
        inner.delete_if_empty(node);
        Drawn::Entry(entry)
    }

    /// The lock's holder says how many more entries there are.
    fn count(&self, _: &MutexGuard<'_, Inner>, change: isize) {
        self.left.store(self.left.load(Relaxed).wrapping_add_signed(change), Relaxed);
    }
}

impl Inner {
    fn at(&mut self, node: Node) -> &mut Ranked {
        self.list.get_mut(node).expect("the node is in the list")
    }

    /// The node of the `place`-th deque from the left ([`Ranks::draw`]), with a dummy for so many bytes.
    fn place(&self, place: usize, bytes: u64) -> Option<Node> {
        let mut passed = 0;
        self.list.nodes().find(|&node| {
            passed += match self.list.get(node) {
                Some(Ranked::Left(left)) if left.entries.len() == 1 => {
                    left.delay.div_ceil(bytes).max(1) as usize
                }
                _ => 1,
            };
            passed > place
        })
    }

    /// The node of a processor's deque, at the right end if it has none yet.
    fn node_of(&mut self, index: usize) -> Node {
        if let Some(node) = self.of[index] {
            return node;
        }
        let node = self.list.push_right(Ranked::Owned(index));
        self.of[index] = Some(node);
        self.peak = self.peak.max(self.list.len());
        node
    }

    fn place_right_of(&mut self, node: Node, index: usize) {
        if self.of[index] == Some(node) {
            return;
        }
        self.leave(index);
        self.of[index] = Some(self.list.insert_right_of(node, Ranked::Owned(index)));
        self.peak = self.peak.max(self.list.len());
    }

    fn leave(&mut self, index: usize) {
        if let Some(node) = self.of[index].take() {
            self.list.remove(node);
        }
    }

    fn delete_if_empty(&mut self, node: Node) {
        if matches!(self.list.get(node), Some(Ranked::Left(left)) if left.entries.is_empty()) {
            self.list.remove(node);
        }
    }
}
