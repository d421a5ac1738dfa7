//! What RW Appendix B.3 and B.4 derive from an abstract state: branch and ownership labelling, deques, watchers and watch
//! lists (Def. 6 to 11), and the relation R between abstract and concrete states (Def. 12).

use super::Violation;
use super::ghost::Code;
use super::machine::Machine;
use super::proof::{Rule, migrating, require, transferred};
use super::state::{Pc, Processor, State, Status};
use super::tree::{Cont, ContSet, Fork, Thread};
use bombyx_rw::protocol::{Next, Side};

/// An abstract state with its labellings.
pub(super) struct Labelled<'a> {
    machine: &'a Machine,
    s: &'a State,
}

impl<'a> Labelled<'a> {
    pub(super) fn new(machine: &'a Machine, s: &'a State) -> Labelled<'a> {
        Labelled { machine, s }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = Thread> + use<> {
        let nodes = self.s.memory.ghost.nodes;
        (0..32).filter(move |t| nodes & (1 << t) != 0).map(Thread)
    }

    /// The joins that are nodes.
    pub(super) fn joins(&self) -> impl Iterator<Item = Fork> + '_ {
        let threads = &self.machine.threads;
        threads.forks().filter(|&f| self.s.memory.ghost.has(threads.join(f)))
    }

    pub(super) fn parents(&self, f: Fork) -> [Option<Thread>; 2] {
        self.s.memory.ghost.parents(f)
    }

    /// The join that a thread is, with its edges.
    fn as_join(&self, t: Thread) -> Option<[Option<Thread>; 2]> {
        let threads = &self.machine.threads;
        let f = threads.creator(t).filter(|_| threads.is_join(t))?;
        Some(self.parents(f))
    }

    pub(super) fn is_leaf(&self, t: Thread) -> bool {
        self.as_join(t).is_none_or(|parents| parents == [None, None])
    }

    /// Def. 7: the owner of a leaf, or the single owner of everything that a join waits for.
    pub(super) fn owner(&self, t: Thread) -> Option<Processor> {
        if self.is_leaf(t) {
            let owns = |leaves: &u32| leaves & (1 << t.0) != 0;
            return self.s.memory.ghost.leaves.iter().position(owns).map(|p| p as Processor);
        }
        let mut owners = self.as_join(t)?.into_iter().flatten().map(|parent| self.owner(parent));
        let first = owners.next()?;
        owners.all(|owner| owner == first).then_some(first).flatten()
    }

    /// Def. 10: the owner of the leftmost leaf.
    pub(super) fn watcher(&self, t: Thread) -> Option<Processor> {
        match self.as_join(t) {
            Some(parents) if parents != [None, None] => {
                self.watcher(parents.into_iter().flatten().next().unwrap_or(t))
            }
            _ => self.owner(t),
        }
    }

    /// Def. 11: the edges that each processor is to watch, all of them.
    pub(super) fn watch_list(&self, p: Processor) -> ContSet {
        let mut list = ContSet::default();
        for f in self.joins() {
            if let [Some(left), Some(right)] = self.parents(f)
                && self.owner(self.machine.threads.join(f)).is_none()
            {
                for (parent, side) in [(left, Side::Left), (right, Side::Right)] {
                    if self.watcher(parent) == Some(p) {
                        list.insert(Cont { join: f, side });
                    }
                }
            }
        }
        list
    }

    /// Def. 9: the leaves of a processor, from left to right.
    fn deque(&self, p: Processor) -> Vec<Thread> {
        let mut leaves = Vec::new();
        let root = self.nodes().find(|&t| self.successor(t).is_none());
        if let Some(root) = root {
            self.leaves_below(root, &mut leaves);
        }
        leaves.retain(|&leaf| self.owner(leaf) == Some(p));
        leaves
    }

    fn leaves_below(&self, t: Thread, out: &mut Vec<Thread>) {
        match self.as_join(t) {
            Some(parents) if parents != [None, None] => {
                parents.into_iter().flatten().for_each(|parent| self.leaves_below(parent, out));
            }
            _ => out.push(t),
        }
    }

    /// A node's edge.
    pub(super) fn edge(&self, t: Thread) -> Option<Cont> {
        self.s.memory.ghost.edges.get(t)
    }

    /// Where a node's edge leads.
    fn successor(&self, t: Thread) -> Option<Thread> {
        self.edge(t).map(|c| self.machine.threads.join(c.join))
    }

    /// Lemma B.1: the edges form a tree towards the last thread, of arity two at most.
    pub(super) fn tree(&self) -> Result<(), Violation> {
        let ghost = &self.s.memory.ghost;
        let name = |t| self.machine.threads.name(t);
        let mut roots = 0;
        for t in self.nodes() {
            let Some(edge) = self.edge(t) else {
                roots += 1;
                continue;
            };
            let next = self.machine.threads.join(edge.join);
            self.require(Rule::B1, ghost.has(next), || {
                format!("{} leads to {}, which is gone", name(t), name(next))
            })?;
            self.require(Rule::B1, ghost.edges.sources(edge).count() == 1, || {
                format!("{} has a branch twice", name(next))
            })?;
        }
        self.require(Rule::B1, roots <= 1, || format!("{roots} nodes lead nowhere"))
    }

    /// Def. 7: every leaf has one owner, and what a processor owns is a subtree.
    pub(super) fn owners(&self) -> Result<(), Violation> {
        let ghost = &self.s.memory.ghost;
        for t in self.nodes() {
            let owners = ghost.leaves.iter().filter(|leaves| **leaves & (1 << t.0) != 0).count();
            self.require(Rule::Def7, !self.is_leaf(t) || owners == 1, || {
                format!("{} has {owners} owners", self.machine.threads.name(t))
            })?;
        }
        for p in 0..self.s.processors {
            let owned = |t: &Thread| self.owner(*t) == Some(p);
            let tops = self
                .nodes()
                .filter(owned)
                .filter(|&t| self.successor(t).is_none_or(|next| self.owner(next) != Some(p)));
            self.require(Rule::Def7, tops.count() <= 1, || format!("what p{p} owns is no subtree"))?;
        }
        Ok(())
    }

    /// `W(p, n, b)`: the edges that a processor must have in its list.
    ///
    /// This makes two corrections to the paper's definition, without which the protocol itself breaks RW2. An edge
    /// whose source is on its way to the processor is not due (the paper says ¬B there, and means its E). And "the
    /// status is WORK" must mean that nobody has stored anything else, not that this processor sees WORK. A left side
    /// may answer a READY while it waits on line 122, and then lose its own join. It leaves that ACK in its buffer when
    /// its successor becomes watcher.
    fn due(&self, p: Processor) -> ContSet {
        let arriving = migrating(self.s, p).and_then(|t| self.edge(t));
        let mut due = ContSet::default();
        for c in self.watch_list(p).iter() {
            let answered = (0..self.s.processors).any(|k| self.s.status(k, c) != Status::Work);
            if !answered && Some(c) != arriving {
                due.insert(c);
            }
        }
        due
    }

    /// Relation R.
    pub(super) fn check(&self) -> Result<(), Violation> {
        for p in 0..self.s.processors {
            self.running(p)?;
            self.threads(p)?;
            self.watch_lists(p)?;
        }
        self.continuations()
    }

    /// RX1 to RX6, RC1 and RC2.
    fn running(&self, p: Processor) -> Result<(), Violation> {
        let local = &self.s.locals[usize::from(p)];
        let name = |t: Thread| self.machine.threads.name(t).to_owned();
        let code = self.s.memory.ghost.code[usize::from(p)];
        let (bound, body) = match code {
            Code::None => (None, None),
            Code::Body(t) => (Some(t), Some(t)),
            Code::Noop(t) => (Some(t), None),
        };
        self.require(Rule::Rx, local.pc.running() == body, || format!("p{p} runs what X does not say"))?;
        let resolves =
            bound.is_none() || body.is_some() || { local.pc.resolving() == bound.and_then(|t| self.edge(t)) };
        self.require(Rule::Rx, resolves, || format!("p{p} does not resolve what follows its thread"))?;
        let current = body.is_none_or(|t| local.current == Some(self.conti(t)));
        self.require(Rule::Rc1, current, || {
            format!("p{p} runs {} with another continuation", body.map(name).unwrap_or_default())
        })?;
        let null = code != Code::None || local.current.is_none();
        self.require(Rule::Rc2, null, || format!("p{p} runs nothing and has a continuation"))
    }

    fn conti(&self, t: Thread) -> Next<Fork> {
        match self.edge(t) {
            None => Next::End,
            Some(c) if self.s.is_single(c.join) => Next::Single(c.join),
            Some(c) => Next::Branch(c),
        }
    }

    /// RD.
    fn threads(&self, p: Processor) -> Result<(), Violation> {
        let local = &self.s.locals[usize::from(p)];
        let running = match self.s.memory.ghost.code[usize::from(p)] {
            Code::Body(t) | Code::Noop(t) => Some(t),
            Code::None => None,
        };
        let given = match local.pc {
            Pc::HandOut { thread, .. } => Some(thread),
            _ => None,
        };
        let concrete: Vec<Thread> = running
            .into_iter()
            .chain(local.deque.threads().iter().rev().copied())
            .chain(given.or_else(|| migrating(self.s, p)))
            .collect();
        let due = self.deque(p);
        self.require(Rule::Rd, concrete == due, || {
            let names = |threads: &[Thread]| {
                threads
                    .iter()
                    .map(|t| self.machine.threads.name(*t).to_owned())
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            format!("p{p} has [{}], and should have [{}]", names(&concrete), names(&due))
        })
    }

    /// RT2: the field `conti` of a thread is the edge of its node, and SINGLE says that there is no other edge (Def. 6).
    fn continuations(&self) -> Result<(), Violation> {
        for t in self.nodes() {
            let same = self.s.memory.conti.get(t) == self.edge(t);
            self.require(Rule::Rt2, same, || {
                format!("{} does not continue where its edge leads", self.machine.threads.name(t))
            })?;
            let alone = match self.conti(t) {
                Next::Single(f) => self.parents(f).iter().flatten().count() == 1,
                _ => true,
            };
            self.require(Rule::Rt2, alone, || {
                format!("{} is SINGLE beside another branch", self.machine.threads.name(t))
            })?;
        }
        Ok(())
    }

    /// RW1 to RW3.
    fn watch_lists(&self, p: Processor) -> Result<(), Violation> {
        let local = &self.s.locals[usize::from(p)];
        let due = self.due(p);
        let arriving = transferred(self.s, p).unwrap_or_default();
        let name = |c: Cont| self.machine.threads.cont_name(c);
        // Line 103 is one of the lines where lists may be ahead.
        let inconsistent = matches!(local.pc, Pc::HandOut { .. });
        for c in local.watching.iter().filter(|_| !inconsistent) {
            self.require(Rule::Rw1, due.contains(c), || {
                format!("p{p} watches {}, which it should not", name(c))
            })?;
        }
        for c in due.iter() {
            let watched = local.watching.contains(c) || arriving.contains(c);
            self.require(Rule::Rw2, watched, || format!("p{p} does not watch {}", name(c)))?;
        }
        for c in arriving.iter() {
            self.require(Rule::Rw3, due.contains(c), || {
                format!("p{p} is handed {}, which it should not watch", name(c))
            })?;
        }
        Ok(())
    }

    fn require(&self, rule: Rule, holds: bool, text: impl FnOnce() -> String) -> Result<(), Violation> {
        require(self.machine, rule, holds, text)
    }
}
