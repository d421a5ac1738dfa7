//! The abstract state of RW Appendix B.2, carried along with every state of the machine: nodes, running threads and
//! owners. If the proof gives a step of the machine an abstract step, that step is taken here, by the rules START, FORK
//! and END of RW Figure 12. A rule that does not apply is a counterexample to Lemma 5.2.
//!
//! φ is the identity: a node is the number of its thread. A node has at most one edge, to the join that its thread continues
//! to; it carries the label LEFT or RIGHT of `Branch`, and SINGLE where line 65 says so.

use super::Violation;
use super::proof::Rule;
use super::state::{MAX_PROCESSORS, Processor};
use super::tree::{Cont, Edges, Fork, Thread, Threads};
use bombyx_rw::protocol::Side;
use std::hash::{Hash, Hasher};

/// What X binds a processor to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Code {
    /// NO_CODE.
    #[default]
    None,
    /// (n, k): in the body.
    Body(Thread),
    /// (n, noop): the body is over.
    Noop(Thread),
}

/// An abstract state with its ownership labelling (RW Def. 1 and 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ghost {
    /// N, one bit for a thread.
    pub(super) nodes: u32,
    /// E, with `Branch`.
    pub(super) edges: Edges,
    /// X.
    pub(super) code: [Code; MAX_PROCESSORS],
    /// The leaves that each processor owns.
    pub(super) leaves: [u32; MAX_PROCESSORS],
}

/// Without the proof there is nothing to hash.
impl Hash for Ghost {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if self.nodes != 0 {
            (self.nodes, self.edges, self.code, self.leaves).hash(hasher);
        }
    }
}

fn broken(rule: Rule, text: String) -> Result<(), Violation> {
    Err(Violation::Proof { rule, text })
}

impl Ghost {
    /// ({n0}, ∅, ∅, ∅), already started on processor 0.
    pub(super) fn initial() -> Ghost {
        let mut ghost = Ghost { nodes: 1, ..Ghost::default() };
        ghost.code[0] = Code::Body(Thread(0));
        ghost.leaves[0] = 1;
        ghost
    }

    pub(super) fn has(&self, t: Thread) -> bool {
        self.nodes & (1 << t.0) != 0
    }

    /// The sources of the edges into a join: left and right, if they are there.
    pub(super) fn parents(&self, f: Fork) -> [Option<Thread>; 2] {
        [Side::Left, Side::Right].map(|side| self.edges.sources(Cont { join: f, side }).next())
    }

    /// START: an idle processor begins with a ready node.
    pub(super) fn start(&mut self, threads: &Threads, p: Processor, t: Thread) -> Result<(), Violation> {
        let name = threads.name(t);
        // If another rule is asked for, a step that is not allowed still happens.
        let before = std::mem::replace(&mut self.code[usize::from(p)], Code::Body(t));
        if before != Code::None {
            return broken(Rule::Start, format!("p{p} is bound to a thread when it begins with {name}"));
        }
        let waits = threads
            .creator(t)
            .is_some_and(|f| threads.is_join(t) && self.parents(f).iter().any(Option::is_some));
        if !self.has(t) || waits {
            return broken(Rule::Start, format!("p{p} begins with {name}, which is not ready"));
        }
        Ok(())
    }

    /// FORK: n is replaced by n1, n2 and nj, and nj inherits its edge (except under one mutation).
    pub(super) fn fork(
        &mut self,
        threads: &Threads,
        p: Processor,
        f: Fork,
        inherits: bool,
    ) -> Result<(), Violation> {
        let n = threads.forker(f);
        if self.code[usize::from(p)] != Code::Body(n) {
            return broken(Rule::Fork, format!("{} forks on p{p}, which does not run it", threads.name(n)));
        }
        self.code[usize::from(p)] = Code::None;
        self.nodes &= !(1 << n.0);
        let branches = 1 << threads.left(f).0 | 1 << threads.right(f).0;
        self.nodes |= branches | 1 << threads.join(f).0;
        let inherited = self.edges.get(n).filter(|_| inherits);
        self.edges.set(n, None);
        self.edges.set(threads.join(f), inherited);
        self.edges.set(threads.left(f), Some(Cont { join: f, side: Side::Left }));
        self.edges.set(threads.right(f), Some(Cont { join: f, side: Side::Right }));
        let leaves = &mut self.leaves[usize::from(p)];
        *leaves = *leaves & !(1 << n.0) | branches;
        Ok(())
    }

    /// STEP to the end of the body.
    pub(super) fn stop(&mut self, p: Processor, t: Thread) -> Result<(), Violation> {
        match &mut self.code[usize::from(p)] {
            code @ Code::Body(_) if *code == Code::Body(t) => *code = Code::Noop(t),
            _ => return broken(Rule::Step, format!("a thread ends on p{p}, which does not run it")),
        }
        Ok(())
    }

    /// END: a node whose body is over goes, with its edge. A join that has lost both edges is a leaf of whoever pushes
    /// it.
    pub(super) fn end(&mut self, threads: &Threads, p: Processor, t: Thread) -> Result<(), Violation> {
        if self.code[usize::from(p)] != Code::Noop(t) || !self.has(t) {
            return broken(
                Rule::End,
                format!("{} ends on p{p} although its body is not over", threads.name(t)),
            );
        }
        self.code[usize::from(p)] = Code::None;
        let edge = self.edges.get(t);
        self.drop_node(t);
        if let Some(c) = edge
            && self.parents(c.join) == [None, None]
        {
            self.leaves[usize::from(p)] |= 1 << threads.join(c.join).0;
        }
        Ok(())
    }

    /// Line 56: the last thread has ended, and no node is left.
    pub(super) fn exit(&self, threads: &Threads) -> Result<(), Violation> {
        match threads.all().find(|&t| self.has(t)) {
            None => Ok(()),
            Some(t) => broken(Rule::End, format!("the program exits, and {} has not ended", threads.name(t))),
        }
    }

    fn drop_node(&mut self, t: Thread) {
        self.nodes &= !(1 << t.0);
        self.edges.set(t, None);
        self.leaves.iter_mut().for_each(|leaves| *leaves &= !(1 << t.0));
    }

    /// Line 103: a leaf changes its owner.
    pub(super) fn migrate(&mut self, from: Processor, to: Processor, t: Thread) -> Result<(), Violation> {
        if self.leaves[usize::from(from)] & (1 << t.0) == 0 || usize::from(to) >= MAX_PROCESSORS {
            return broken(Rule::Def7, format!("p{from} gives away a thread that it does not own"));
        }
        self.leaves[usize::from(from)] &= !(1 << t.0);
        self.leaves[usize::from(to)] |= 1 << t.0;
        Ok(())
    }

    /// Lines 118 and 132: END of the own node. If the other side is still on lines 113 to 132, END of its node too.
    pub(super) fn take_over(&mut self, threads: &Threads, p: Processor, f: Fork) -> Result<(), Violation> {
        let own = match self.code[usize::from(p)] {
            Code::Noop(t) => t,
            _ => return broken(Rule::End, format!("p{p} takes {} twice", threads.name(threads.join(f)))),
        };
        for other in self.parents(f).into_iter().flatten().filter(|&n| n != own) {
            let Some(k) = self.code.iter().position(|&code| code == Code::Noop(other)) else {
                let names = [threads.join(f), other].map(|t| threads.name(t));
                return broken(
                    Rule::End,
                    format!("p{p} takes {} although {} is at work", names[0], names[1]),
                );
            };
            self.code[k] = Code::None;
            self.drop_node(other);
        }
        self.end(threads, p, own)
    }

    /// Lines 126, 129 and 131: END, unless the other side has taken the join already.
    pub(super) fn leave(&mut self, threads: &Threads, p: Processor, c: Cont) -> Result<(), Violation> {
        match self.code[usize::from(p)] {
            Code::Noop(t) => {
                if self.parents(c.join).iter().flatten().all(|&n| n == t) {
                    let join = threads.name(threads.join(c.join));
                    return broken(Rule::End, format!("p{p} leaves {join} to the other side, which is gone"));
                }
                self.end(threads, p, t)
            }
            Code::None => Ok(()),
            Code::Body(_) => broken(Rule::End, format!("p{p} leaves a join inside of a body")),
        }
    }
}
