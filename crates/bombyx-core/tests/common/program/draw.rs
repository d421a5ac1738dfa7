//! Draws random programs.

use super::cancelled::{Deadline, Part, Stopped};
use super::{Action, How, Node, Number, Opened, Threads, Wanted};
use crate::common::Rng;
use std::ops::Range;
use std::time::Duration;

pub(super) struct Draw<'a> {
    pub(super) rng: &'a mut Rng,
    pub(super) threads: Threads,
    /// Whether the program changes the number of processors. Then it does not broadcast, because the number of parts is
    /// not determined.
    pub(super) resizes: bool,
    pub(super) nodes: usize,
    /// What [`BOUND`](super::BOUND) is bound to, where the next node runs.
    pub(super) bound: Option<Number>,
    /// Whether the next node adds to the reducer.
    pub(super) adds: bool,
}

impl Draw<'_> {
    /// A subtree of about `size` nodes, some of which panic if they may.
    pub(super) fn node(&mut self, size: usize, panics: bool) -> Node {
        let number = self.nodes;
        self.nodes += 1;
        let action = if size <= 1 { self.leaf(panics) } else { self.inner(number, size - 1, panics) };
        Node { number, bound: self.bound, adds: self.adds, action }
    }

    /// A node that runs where [`BOUND`](super::BOUND) is bound to `bound`.
    fn node_bound(&mut self, bound: Option<Number>, size: usize, panics: bool) -> Box<Node> {
        let outer = std::mem::replace(&mut self.bound, bound);
        let node = self.node(size, panics);
        self.bound = outer;
        Box::new(node)
    }

    fn leaf(&mut self, panics: bool) -> Action {
        let broadcasts = self.threads != Threads::FewAndNoneBlocks && !self.resizes;
        match self.rng.below(28) {
            0..6 => Action::Leaf,
            6..9 => Action::Spin(self.rng.below(3_000) as u32),
            9..11 => Action::Yield,
            11 if self.rng.one_in(4) => Action::Sleep(Duration::from_micros(self.rng.below(300) as u64)),
            12 => Action::Checkpoint,
            13 => Action::Detach(self.rng.one_in(2)),
            14 if self.rng.one_in(8) => Action::Flood(self.rng.below(600) as u32, self.how()),
            15 if panics => Action::Panic,
            16..18 => Action::YieldTo(self.rng.one_in(2)),
            18 => Action::Reserve(self.rng.below(5_000)),
            19 if broadcasts && self.rng.one_in(4) => Action::Broadcast(self.rng.one_in(2)),
            20 if broadcasts && self.rng.one_in(4) => Action::ScopeBroadcast,
            21 => {
                let wanted = [Wanted::Join, Wanted::Await, Wanted::RunAsync, Wanted::Abort];
                Action::Task(wanted[self.rng.below(4)])
            }
            22 => self.cancelled().into(),
            23 => Action::PerProcessor(self.rng.below(40)),
            24 => {
                let most = if self.rng.one_in(4) { 400 } else { 20 };
                let closures = self.rng.below(most);
                Action::Touchy(closures, self.rng.below(3 * closures + 1), self.how())
            }
            25..27 if self.resizes => Action::Resize(self.rng.below(1_000)),
            _ => Action::Leaf,
        }
    }

    fn cancelled(&mut self) -> Part {
        let closures = if self.rng.one_in(8) { self.rng.below(400) } else { self.rng.below(12) };
        let what = match self.rng.below(6) {
            0 => Stopped::Scope(self.how()),
            1 => Stopped::TokenScope(self.how()),
            2 => Stopped::ForEach,
            3 => Stopped::MapReduce,
            4 => Stopped::TryForEach,
            _ => Stopped::Tree,
        };
        let deadline = match self.rng.below(8) {
            0 => Deadline::Over,
            1 | 2 => Deadline::Soon(Duration::from_micros(self.rng.below(300) as u64)),
            3 => Deadline::Far,
            _ => Deadline::None,
        };
        Part { what, deadline, closures, at: self.rng.below(closures + 2), by_body: self.rng.one_in(2) }
    }

    fn how(&mut self) -> How {
        [How::Spawn, How::Defer, How::Fifo][self.rng.below(3)]
    }

    fn inner(&mut self, number: Number, size: usize, panics: bool) -> Action {
        let blocks = self.threads != Threads::FewAndNoneBlocks;
        let (any, fixed) = (self.threads == Threads::Any, self.threads == Threads::Fixed);
        match self.rng.below(25) {
            6 if any => Action::Rendezvous(self.pair(size, panics)),
            7..9 => Action::Sequence(self.several(size, panics)),
            9..11 => Action::Scope {
                place: match self.rng.below(4) {
                    0 => Opened::InPlace,
                    1 if blocks => Opened::InPlaceElsewhere,
                    _ => Opened::Here,
                },
                how: self.how(),
                body: Box::new(self.node(1, panics)),
                spawned: self.several(size - 1, panics),
                chained: self.rng.one_in(2),
            },
            11 => self.repeated(size, Action::ForEach),
            12 => self.repeated(size, Action::MapReduce),
            13 if blocks => Action::Blocking(Box::new(self.node(size, panics))),
            14 => Action::Run(Box::new(self.node(size, panics))),
            15 if blocks => Action::Elsewhere(Box::new(self.node(size, panics))),
            16 => Action::RunHere(Box::new(self.node(size, panics))),
            17 => Action::JoinContext(self.pair(size, panics)),
            18 if blocks && self.rng.one_in(40) => Action::Closed(Box::new(self.node(size, false))),
            19 if blocks && !fixed && self.rng.one_in(200) => {
                let outer = std::mem::replace(&mut self.adds, false);
                let node = self.node_bound(None, size, panics);
                self.adds = outer;
                Action::Seated(node)
            }
            20 => Action::JoinAll(self.several(size, panics)),
            21..23 => Action::Bind(self.node_bound(Some(number), size, panics)),
            23 => Action::Token(self.pair(size, panics)),
            24 if self.adds => Action::Within(Box::new(self.node(size, panics))),
            _ => Action::Join(self.pair(size, panics)),
        }
    }

    fn pair(&mut self, size: usize, panics: bool) -> Box<[Node; 2]> {
        let left = self.rng.below(size + 1);
        Box::new([self.node(left, panics), self.node(size - left, panics)])
    }

    fn several(&mut self, size: usize, panics: bool) -> Vec<Node> {
        let count = 1 + self.rng.below(size.clamp(1, 8));
        (0..count).map(|_| self.node(size / count, panics)).collect()
    }

    /// A loop. Which iterations a panic prevents is not determined, so its body has none.
    fn repeated(&mut self, size: usize, action: impl Fn(Range<usize>, Box<Node>) -> Action) -> Action {
        let count = self.rng.below(8);
        let start = self.rng.below(1_000);
        action(start..start + count, Box::new(self.node(size / count.max(1), false)))
    }
}
