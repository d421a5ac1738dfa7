//! The list R of DFDeques(K): all deques, with an owner or without, in the order of the serial depth-first execution
//! (Narlikar §3.2 and Lemma 3.1).
//!
//! A deque with an owner is the processor's own ([`Deque`]), and its node only says where it ranks. A deque that was
//! given up has its entries in its node, the oldest first. It may also have a number of dummy threads below all of
//! them, because these are younger than the frame that waits for them, the last entry.
//!
//! # Protocol
//!
//! One lock protects the list. It is taken before the lock of a deque, and nobody waits for anything while holding it.
//!
//! | step | who | under the lock |
//! |---|---|---|
//! | *give up* | a processor whose quota is used up, at a fork | its node loses its owner; all entries of its deque are moved into the node and their jobs told so ([`Place::Listed`]); the running frame follows as a ready carrier |
//! | *draw* | a thief | picks the r-th deque from the left; if it has no owner: takes its oldest entry, gets a node directly right of it, and deletes the node if it has no entries left |
//! | *follow* | a victim that serves a request | the thief's node is put directly right of the victim's, before the answer is sent |
//! | *rob* | a thief whose victim does not answer | takes the victim's oldest entry, and gets a node directly right of the victim's |
//! | *take back* | a join whose job was given up with the deque | the entry leaves the node |
//! | *arrive*, *leave* | a processor that begins with something from outside; one that has nothing left | a node at the right end; its node is deleted |
//!
//! *Give up against rob*: both hold the lock for the whole step. So a thief finds the victim's entries either still in
//! its deque, with its node beside, or all in a node without an owner. *Give up against a served request*: the victim
//! is one carrier and does one after the other. *Withdraw against draw*: the place was written under the lock, and
//! whether the node holds that very entry is checked under the lock. A job whose join has not returned shares its
//! address with no other job, so a node whose number was used again misleads nobody. *Give up against being found*:
//! once the running frame is in the list, any thief may give its carrier a processor while the carrier still holds its
//! own. The carrier gives its own away without looking at it again, and then finds what it was given
//! ([`crate::protocol::carrier`]).
//!
//! # Cost
//!
//! Every steal, give-up and start takes the lock once, for a walk over at most P nodes: about 100 ns. The hand-over
//! that goes with most of them takes 5 to 20 µs. With one steal per 100 µs on each processor, the lock is taken P·10⁴
//! times a second, so at P ≈ 100 it is busy a tenth of the time. Beyond that, deques should be inserted and deleted
//! lazily: each processor keeps its changes until the next time slot, when one of them merges all changes into an array
//! of deques, and thieves index that array without a lock (Narlikar §4.1).

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
    /// Dummy threads for this many bytes must run before the youngest entry goes on: one for every K bytes, with the K
    /// of the time when they run.
    delay: u64,
    /// The common ancestor of all entries, or 0 if unknown.
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
    /// The oldest entry of a deque without an owner. It belongs to the thief.
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

    /// The most deques that there were at a time since this peak was last forgotten.
    pub(crate) fn peak(&self) -> usize {
        lock(&self.inner).peak
    }

    pub(crate) fn forget_peak(&self) {
        let mut inner = lock(&self.inner);
        inner.peak = inner.list.len();
    }

    /// Processor `index` works on something that has no rank. It comes after everything that is there.
    pub(crate) fn arrive(&self, index: usize) {
        lock(&self.inner).node_of(index);
    }

    /// Processor `index` has nothing left in its deque.
    pub(crate) fn leave(&self, index: usize) {
        lock(&self.inner).leave(index);
    }

    /// The deque of `thief`, which is still empty, ranks directly right of that of `victim`.
    pub(crate) fn follow(&self, victim: usize, thief: usize) {
        let mut inner = lock(&self.inner);
        let node = inner.node_of(victim);
        inner.place_right_of(node, thief);
    }

    /// Takes an entry of `victim` for `thief` by `steal`. The thief's deque then ranks directly right of the victim's.
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

    /// Processor `index` gives up its own `deque`. The youngest entry is then `frame`, the carrier that runs on the
    /// processor. It waits for dummy threads for `delay` bytes.
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

    /// What the thief `index` finds in the `place`-th deque from the left. A deque in which only dummy threads are
    /// ready counts as many times as it has dummies. The paper's binary tree of dummies spreads over that many deques,
    /// because each dummy that runs leaves its siblings in a separate deque. A dummy stands for `bytes`: K.
    pub(crate) fn draw(&self, index: usize, place: usize, bytes: u64) -> Drawn {
        let mut inner = lock(&self.inner);
        let Some(node) = inner.place(place, bytes) else { return Drawn::Nothing };
        match inner.at(node) {
            &mut Ranked::Owned(owner) => Drawn::Owned(owner),
            Ranked::Left(_) => self.take_from(&mut inner, node, index, bytes),
        }
    }

    /// What the thief `index` finds in the leftmost `count` deques without an owner, if everything in the deque
    /// descends from `root`.
    pub(crate) fn draw_descendant(&self, index: usize, count: usize, root: usize) -> Drawn {
        if !self.has_left() {
            return Drawn::Nothing;
        }
        let mut inner = lock(&self.inner);
        let descends = |node: &Node| matches!(inner.list.get(*node), Some(Ranked::Left(left)) if left.root == root && left.delay == 0);
        let found = inner.list.nodes().take(count).find(descends);
        found.map_or(Drawn::Nothing, |node| self.take_from(&mut inner, node, index, 0))
    }

    /// The first of the leftmost `count` deques whose owner `wanted` accepts.
    pub(crate) fn find_owner(&self, count: usize, mut wanted: impl FnMut(usize) -> bool) -> Option<usize> {
        let inner = lock(&self.inner);
        let owner = |node| match inner.list.get(node) {
            Some(&Ranked::Owned(owner)) => Some(owner),
            _ => None,
        };
        inner.list.nodes().take(count).filter_map(owner).find(|&owner| wanted(owner))
    }

    /// The join of a job takes it back from the deque without an owner with which it was given up. Returns false if it
    /// is gone.
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

    /// Takes the oldest entry of a deque without an owner. If only the frame is left and it waits for dummies, takes a
    /// dummy instead. If it takes an entry, the thief's deque then ranks directly right of this one.
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

    /// Changes the number of entries in deques without an owner. The caller holds the lock.
    fn count(&self, _: &MutexGuard<'_, Inner>, change: isize) {
        self.left.store(self.left.load(Relaxed).wrapping_add_signed(change), Relaxed);
    }
}

impl Inner {
    fn at(&mut self, node: Node) -> &mut Ranked {
        self.list.get_mut(node).expect("the node is in the list")
    }

    /// The node of the `place`-th deque from the left ([`Ranks::draw`]), where a dummy stands for `bytes`.
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

    /// The node of a processor's deque. If there is none yet, makes one at the right end.
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
