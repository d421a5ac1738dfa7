//! The invariants of RW Appendix B.5 and B.6, checked in every state: IA, IR, IQ, IT, IJ, Lemma B.9 and Lemma C.1.
//! Together with the abstract steps of `ghost.rs` and the relation of `relation.rs`, this is Lemma 5.2 as a program:
//! every transition of the machine, including flushes, must lead from states in R to states in R.
//!
//! In the paper's notation, X is a cell in memory, X̄ⁱ is the list of processor i's buffered stores to it, X⃗ⁱ is that
//! list with X behind it, and Xⁱ is the head of X⃗ⁱ: what i would load.

use super::Violation;
use super::config::Ask;
use super::ghost::Code;
use super::machine::Machine;
use super::relation::Labelled;
use super::state::{After, Local, Pc, Processor, Query, Round, State, Status, Store, Watch};
use super::tree::{Cont, ContSet, Thread, index_of};
use bombyx_rw::protocol::Side;

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A part of RW's proof that can fail: a rule of the abstract semantics, a part of relation R, an invariant or a
        /// lemma of Appendix B.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Rule {
            $($(#[$doc])* $variant,)*
        }

        impl Rule {
            /// All rules, in the order of the appendix.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)*];

            /// The paper's name for it.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$variant => $name,)* }
            }
        }
    };
}

rules! {
    /// An idle processor begins with a ready thread.
    Start = "START",
    /// A thread that forks is replaced by its branches and its join.
    Fork = "FORK",
    /// A thread ends where it runs.
    Step = "STEP",
    /// A thread whose body is over goes.
    End = "END",
    /// The edges form a tree towards the last thread.
    B1 = "Lemma B.1",
    /// Every leaf has one owner, and what a processor owns is a subtree.
    Def7 = "Def. 7",
    /// Deques hold the leaves, from left to right.
    Rd = "RD",
    /// A thread's body is that of its node.
    Rt1 = "RT1",
    /// Continuations are the edges.
    Rt2 = "RT2",
    /// `cur_cont` is the running thread's continuation.
    Rc1 = "RC1",
    /// `cur_cont` is NULL when nothing runs.
    Rc2 = "RC2",
    /// X binds processors to what they run (RX1 to RX6).
    Rx = "RX",
    /// Only what is due is watched.
    Rw1 = "RW1",
    /// What is due is watched, or on its way.
    Rw2 = "RW2",
    /// Only what is due is on its way.
    Rw3 = "RW3",
    /// Nothing is sent to a processor that does not look for work.
    Ia1 = "IA1",
    /// A processor at work does not block itself.
    Ia2 = "IA2",
    /// A processor stores only its own round.
    Ir1 = "IR1",
    /// Rounds increase.
    Ir2 = "IR2",
    /// A query is signed by its sender.
    Iq1 = "IQ1",
    /// No query is of a future round.
    Iq2 = "IQ2",
    /// A processor that asks in the current round waits for the answer.
    Iq3 = "IQ3",
    /// The reception cell of a thief is empty or just filled.
    It1 = "IT1",
    /// A thief looks into its cell after the victim's round.
    It2 = "IT2",
    /// What a thief finds there was sent to it.
    It3 = "IT3",
    /// A status cell belongs to one processor.
    B9 = "Lemma B.9",
    /// If one side has left a join, only the other resolves it.
    Ij1 = "IJ1",
    /// Only its owner stores a status cell.
    Ij2 = "IJ2",
    /// A status cell goes from WORK to READY and TRANSFER, or to ACK.
    Ij3 = "IJ3",
    /// What the other side reads was stored last.
    Ij4 = "IJ4",
    /// A side that is late knows that the join is taken.
    Ij5 = "IJ5",
    /// A side that remains knows that it takes the join.
    Ij6 = "IJ6",
    /// ACK is not on both sides.
    Ij7 = "IJ7",
    /// READY is stored on line 120.
    Ij8 = "IJ8",
    /// ACK answers READY.
    Ij9 = "IJ9",
    /// Fewer joins are open than processors have work.
    C1 = "Lemma C.1",
}

/// A set of parts of the proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleSet(u64);

impl RuleSet {
    /// The set and this part.
    pub fn with(self, rule: Rule) -> RuleSet {
        RuleSet(self.0 | 1 << rule as u32)
    }

    /// Whether the part is in the set.
    pub fn contains(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u32 != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The parts that are in either set.
    pub fn union(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 | other.0)
    }

    /// Its parts, in the order of the appendix.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied().filter(move |&rule| self.contains(rule))
    }
}

/// Unless the condition holds, this part of the proof is broken. Does nothing if another part was asked for.
pub(super) fn require(
    machine: &Machine,
    rule: Rule,
    holds: bool,
    text: impl FnOnce() -> String,
) -> Result<(), Violation> {
    let other = matches!(machine.ask, Ask::Rule(only) if only != rule);
    if holds || other || machine.notes(rule) {
        return Ok(());
    }
    Err(Violation::Proof { rule, text: text() })
}

/// Checks a state.
pub(super) fn check(machine: &Machine, s: &State) -> Result<(), Violation> {
    if s.memory.exited {
        return Ok(());
    }
    let proof = Proof::new(machine, s);
    // The following parts are stated in terms of a tree, and then of owners.
    proof.labelled.tree()?;
    if machine.has_noted() {
        return Ok(());
    }
    proof.labelled.owners()?;
    if machine.has_noted() {
        return Ok(());
    }
    for i in 0..s.processors {
        proof.rounds(i)?;
        proof.reception(i)?;
        proof.queries(i)?;
    }
    proof.joins()?;
    proof.labelled.check()?;
    proof.open_joins()
}

/// Line 84 has read `t`: IT3.
pub(super) fn received(machine: &Machine, s: &State, i: Processor, t: Thread) -> Result<(), Violation> {
    let sent = migrating(s, i) == Some(t);
    require(machine, Rule::It3, sent, || format!("p{i} receives a thread that was not sent to it"))
}

/// The victim and the round of a thief on lines 78 to 87.
fn attempt(local: &Local) -> Option<(Processor, Round)> {
    match local.pc {
        Pc::Await { victim, round }
        | Pc::TestOverwritten { victim, round }
        | Pc::Resend { victim, round }
        | Pc::Block { after: After::Await { victim, round } }
        | Pc::BlockQuery { after: After::Await { victim, round } }
        | Pc::BlockRound { after: After::Await { victim, round } }
        | Pc::Receive { victim, round } => Some((victim as Processor, round)),
        _ => None,
    }
}

/// The buffered stores of `k` to the reception cell of `i`, the oldest first, with their places.
fn sent(s: &State, k: Processor, i: Processor) -> impl Iterator<Item = (usize, Option<Thread>)> + '_ {
    let entries = s.locals[usize::from(k)].buffer.entries().iter().enumerate();
    entries.filter_map(move |(at, store)| match store {
        Store::Received { to, thread } if *to == i => Some((at, *thread)),
        _ => None,
    })
}

/// `E`: the thread that was handed to `i`, and that `i` has not taken yet (Def. 13 and 14).
pub(super) fn migrating(s: &State, i: Processor) -> Option<Thread> {
    let (j, round) = attempt(&s.locals[usize::from(i)])?;
    if (0..s.processors).any(|k| k != j && sent(s, k, i).next().is_some()) {
        return None;
    }
    let mut buffered = sent(s, j, i);
    match (buffered.next(), buffered.next()) {
        (None, _) => s.memory.received[usize::from(i)],
        (Some((at, Some(t))), None) => {
            let before = &s.locals[usize::from(j)].buffer.entries()[..at];
            let later =
                |store: &Store| matches!(store, Store::Round { of, round: r } if *of == j && *r > round);
            let early = s.memory.round[usize::from(j)] > round || before.iter().any(later);
            (!early).then_some(t)
        }
        _ => None,
    }
}

/// The watch list on its way to `i` (Wltrans), as its sender sees it.
pub(super) fn transferred(s: &State, i: Processor) -> Option<ContSet> {
    let c = match s.locals[usize::from(i)].watch {
        Watch::AwaitTransfer(c) | Watch::MatchTransfer(c) | Watch::InnerAck { outer: c, .. } => c,
        Watch::Idle | Watch::Ack(_) => return None,
    };
    let cell = c.other();
    let newest = (0..s.processors).find_map(|p| {
        s.newest(p, |store| match store {
            Store::Status { cell: of, value } if *of == cell => Some(*value),
            _ => None,
        })
    });
    match newest.unwrap_or(s.memory.status[index_of(cell)]) {
        Status::Transfer(list) => Some(list),
        _ => None,
    }
}

/// A state, its labellings, and what the proof says of them.
pub(super) struct Proof<'a> {
    machine: &'a Machine,
    s: &'a State,
    pub(super) labelled: Labelled<'a>,
}

impl<'a> Proof<'a> {
    pub(super) fn new(machine: &'a Machine, s: &'a State) -> Proof<'a> {
        Proof { machine, s, labelled: Labelled::new(machine, s) }
    }

    fn require(&self, rule: Rule, holds: bool, text: impl FnOnce() -> String) -> Result<(), Violation> {
        require(self.machine, rule, holds, text)
    }

    fn local(&self, i: Processor) -> &Local {
        &self.s.locals[usize::from(i)]
    }

    /// A: in the loop of `acquire`. Line 88 belongs to it for IA, because the round is still the old one there.
    fn in_acquire(&self, i: Processor) -> bool {
        self.local(i).may_receive()
    }

    /// IR1 and IR2.
    fn rounds(&self, i: Processor) -> Result<(), Violation> {
        let mut last = self.s.memory.round[usize::from(i)];
        for store in self.local(i).buffer.entries() {
            let Store::Round { of, round } = store else { continue };
            self.require(Rule::Ir1, *of == i, || format!("p{i} stores the round of p{of}"))?;
            if *of == i {
                self.require(Rule::Ir2, *round > last, || format!("p{i} stores round {round} after {last}"))?;
                last = *round;
            }
        }
        Ok(())
    }

    /// The queries to `j` that `k` has buffered, the oldest first, with their places.
    fn buffered(&self, k: Processor, j: Processor) -> impl Iterator<Item = (usize, Query)> + '_ {
        let entries = self.local(k).buffer.entries().iter().enumerate();
        entries.filter_map(move |(at, store)| match store {
            Store::Query { to, query } if *to == j => Some((at, *query)),
            _ => None,
        })
    }

    /// IQ1 to IQ3 for the queries to `j`, and IA2.
    fn queries(&self, j: Processor) -> Result<(), Violation> {
        let own = self.s.round(j, j);
        let opening = matches!(self.local(j).pc, Pc::BlockRound { .. });
        let memory = self.s.memory.in_query[usize::from(j)];
        for k in 0..self.s.processors {
            for (at, query) in self.buffered(k, j) {
                self.require(Rule::Iq1, query.id == u32::from(k), || {
                    format!("p{k} signs a query with {}", query.id)
                })?;
                self.query(j, own, opening, query, Some((k, at)))?;
            }
        }
        self.query(j, own, opening, memory, None)?;
        let outside = !self.in_acquire(j) && !matches!(self.local(j).pc, Pc::Accept);
        let mut to_itself = self.buffered(j, j).map(|(_, query)| query).chain([memory]);
        let blocks = outside && to_itself.any(|q| q.id == u32::from(j) && q.round >= own);
        self.require(Rule::Ia2, !blocks, || {
            format!("p{j} is at work and its query to itself is of its round")
        })
    }

    /// IQ2 and IQ3 for one query to `j`, buffered by a processor or in memory.
    fn query(
        &self,
        j: Processor,
        own: Round,
        opening: bool,
        query: Query,
        at: Option<(Processor, usize)>,
    ) -> Result<(), Violation> {
        self.require(Rule::Iq2, query.round <= own + Round::from(opening), || {
            format!("a query to p{j} is of round {}, beyond {own}", query.round)
        })?;
        let i = query.id as Processor;
        if query.round != own || i == j || usize::from(i) >= self.s.locals().len() {
            return Ok(());
        }
        let waits =
            attempt(self.local(i)) == Some((j, own)) && !matches!(self.local(i).pc, Pc::Receive { .. });
        self.require(Rule::Iq3, waits, || format!("p{i} asks p{j} in its round and does not wait for it"))?;
        let behind = at.map_or(0, |(_, at)| at + 1);
        let later = self.buffered(i, j).any(|(place, _)| place >= behind);
        let clears = sent(self.s, i, i).any(|(place, _)| place >= behind);
        self.require(Rule::Iq3, !later && !clears, || format!("p{i} asks p{j} before its last store"))
    }

    /// IA1, IT1 and IT2.
    fn reception(&self, i: Processor) -> Result<(), Violation> {
        let own: Vec<_> = sent(self.s, i, i).collect();
        let others = (0..self.s.processors).filter(|&k| k != i).any(|k| sent(self.s, k, i).next().is_some());
        if !self.in_acquire(i) {
            return self.require(Rule::Ia1, !others && own.is_empty(), || {
                format!("p{i} does not look for work, and a thread is on its way to it")
            });
        }
        let null = match own[..] {
            [] => self.s.memory.received[usize::from(i)].is_none(),
            [(_, thread)] => thread.is_none(),
            _ => false,
        };
        let empty = !others && null;
        self.require(Rule::It1, empty || migrating(self.s, i).is_some(), || {
            format!("the reception cell of p{i} is neither empty nor just filled")
        })?;
        if let Pc::Receive { victim, round } = self.local(i).pc {
            self.require(Rule::It2, self.s.memory.round[victim as usize] > round, || {
                format!("p{i} looks for the answer of p{victim} before its round is over")
            })?;
        }
        Ok(())
    }

    /// Def. 16: whom a status cell belongs to. Lemma B.9: to at most one processor.
    fn cell_owner(&self, c: Cont) -> Result<Option<Processor>, Violation> {
        let threads = &self.machine.threads;
        let mut owner = None;
        for i in 0..self.s.processors {
            let local = self.local(i);
            let holds = |t: &Thread| self.labelled.edge(*t) == Some(c) && !self.s.is_single(c.join);
            let owns = local.watching.contains(c)
                || local.resolving() == Some(c)
                || local.deque.threads().iter().any(holds)
                || local.running().is_some_and(|t| holds(&t));
            if owns {
                self.require(Rule::B9, owner.is_none(), || {
                    format!("{} belongs to two processors", threads.cont_name(c))
                })?;
                owner = Some(i);
            }
        }
        Ok(owner)
    }

    /// Lemma B.9 and IJ1 to IJ9.
    pub(super) fn joins(&self) -> Result<(), Violation> {
        let mut joins = Vec::new();
        for f in self.labelled.joins() {
            let conts = [Side::Left, Side::Right].map(|side| Cont { join: f, side });
            joins.push((f, conts, [self.cell_owner(conts[0])?, self.cell_owner(conts[1])?]));
        }
        // IJ1 to IJ9 are stated in terms of the owner of a cell.
        if self.machine.has_noted_of(Rule::B9) {
            return Ok(());
        }
        for (f, [left, right], owners) in joins {
            for (c, owner, other) in [(left, owners[0], owners[1]), (right, owners[1], owners[0])] {
                if let Some(k) = owner {
                    self.cell(c, k, other)?;
                }
            }
            let join = self.machine.threads.name(self.machine.threads.join(f));
            let parents = self.labelled.parents(f);
            let resolvers = (0..self.s.processors)
                .filter_map(|k| self.local(k).resolving().filter(|c| c.join == f).map(|c| (k, c)));
            match parents {
                [None, None] => {
                    for (k, c) in resolvers {
                        self.case_1(join, k, c)?;
                    }
                }
                [Some(left), Some(right)] => self.case_3(join, f, [left, right], owners)?,
                [one, other] => {
                    let (side, parent) = if one.is_some() { (Side::Left, one) } else { (Side::Right, other) };
                    let watcher = parent.and_then(|n| self.labelled.watcher(n));
                    for (k, _) in resolvers {
                        self.require(Rule::Ij1, Some(k) == watcher, || {
                            format!("p{k} resolves {join}, and another is to take it")
                        })?;
                    }
                    self.case_2(join, Cont { join: f, side }, watcher)?;
                }
            }
        }
        Ok(())
    }

    /// S⃗ᵏ of a status cell, the oldest first.
    fn history(&self, c: Cont, k: Processor) -> Vec<Status> {
        let buffered = self.local(k).buffer.entries().iter().filter_map(|store| match store {
            Store::Status { cell, value } if *cell == c => Some(*value),
            _ => None,
        });
        [self.s.memory.status[index_of(c)]].into_iter().chain(buffered).collect()
    }

    /// IJ2 to IJ4 for a cell that belongs to `k`. The other side's cell may belong to another processor.
    fn cell(&self, c: Cont, k: Processor, other_owner: Option<Processor>) -> Result<(), Violation> {
        let name = || self.machine.threads.cont_name(c);
        let stores = |m: Processor| {
            self.local(m)
                .buffer
                .entries()
                .iter()
                .any(|store| matches!(store, Store::Status { cell, .. } if *cell == c))
        };
        for m in (0..self.s.processors).filter(|&m| m != k) {
            self.require(Rule::Ij2, !stores(m), || {
                format!("p{m} stores the status of {}, which belongs to p{k}", name())
            })?;
        }
        let history = self.history(c, k);
        let written = if history[0] == Status::Work { &history[1..] } else { &history[..] };
        let other = self.s.status(k, c.other());
        use bombyx_rw::protocol::Status::{Ack, Ready, Transfer, Work};
        let allowed = matches!(
            (other, written),
            (_, [])
                | (Work, [Ready])
                | (Ready | Transfer(_), [Ready | Ack])
                | (Ack, [Ready] | [Transfer(_)] | [Ready, Transfer(_)])
        );
        self.require(Rule::Ij3, allowed, || {
            let values: Vec<String> = history.iter().map(|value| self.machine.show(*value)).collect();
            let (name, values, other) = (name(), values.join(", "), self.machine.show(other));
            format!("the status of {name} is {values} while the other is {other}")
        })?;
        let Some(other_owner) = other_owner else { return Ok(()) };
        let read = self.s.status(other_owner, c);
        let acked = self.s.status(other_owner, c.other()) == Ack;
        let old = read != Work && !acked && read != self.s.status(k, c);
        self.require(Rule::Ij4, !old, || format!("p{other_owner} reads an old status of {}", name()))
    }

    /// `F(l, v)`: the cell holds `v`, or will, and nothing after that.
    fn finally(&self, c: Cont, value: Status) -> bool {
        let buffered: Vec<Status> =
            (0..self.s.processors).flat_map(|p| self.history(c, p).split_off(1)).collect();
        match (self.s.memory.status[index_of(c)], &buffered[..]) {
            (now, []) => now == value,
            (Status::Work, [only]) => *only == value,
            _ => false,
        }
    }

    /// IJ5: the other side has taken the join, and this one must not.
    fn case_1(&self, join: &str, k: Processor, c: Cont) -> Result<(), Violation> {
        let own = self.s.status(k, c);
        let takes = matches!(self.local(k).pc, Pc::TestAck { .. }) && own == Status::Ack
            || matches!(self.local(k).pc, Pc::MatchReply { .. })
                && c.side == Side::Left
                && self.s.status(k, c.other()) == Status::Ready;
        let told = self.finally(c.other(), Status::Ack) || c.side == Side::Right;
        let bound = self.s.memory.ghost.code[usize::from(k)] != Code::None;
        self.require(Rule::Ij5, !takes && own != Status::Ack && told && !bound, || {
            format!("{join} is taken, and p{k} does not know")
        })
    }

    /// IJ6: one side is gone, and the other knows that it will take the join.
    fn case_2(&self, join: &str, c: Cont, watcher: Option<Processor>) -> Result<(), Violation> {
        let single = self.s.is_single(c.join);
        let own = watcher.map(|k| self.s.status(k, c));
        let knows = own == Some(Status::Ack);
        let will_know = c.side == Side::Left && self.finally(c.other(), Status::Ready);
        self.require(Rule::Ij6, single || knows || will_know, || {
            format!("one side has left {join}, and the other does not know")
        })
    }

    /// IJ7 to IJ9: both sides are there.
    fn case_3(
        &self,
        join: &str,
        f: super::tree::Fork,
        parents: [Thread; 2],
        owners: [Option<Processor>; 2],
    ) -> Result<(), Violation> {
        let conts = [Side::Left, Side::Right].map(|side| Cont { join: f, side });
        let watchers = parents.map(|n| self.labelled.watcher(n));
        let values = [0, 1].map(|side| watchers[side].map(|k| self.s.status(k, conts[side])));
        self.require(Rule::Ij7, values != [Some(Status::Ack); 2], || {
            format!("both sides of {join} said that they will take it")
        })?;
        for side in [0, 1] {
            let (own, other) = (values[side], values[1 - side]);
            let sent = owners[side].is_some_and(|k| match self.local(k).pc {
                Pc::AwaitReply { cont } | Pc::MatchReply { cont } | Pc::Transfer { cont } => {
                    cont == conts[side]
                }
                _ => false,
            });
            self.require(Rule::Ij8, own != Some(Status::Ready) || sent, || {
                format!("a side of {join} is READY and has not ended")
            })?;
            self.require(Rule::Ij9, own != Some(Status::Ack) || other == Some(Status::Ready), || {
                format!("a side of {join} said ACK to nothing")
            })?;
        }
        Ok(())
    }

    /// Lemma C.1: fewer joins are open than processors have work.
    pub(super) fn open_joins(&self) -> Result<(), Violation> {
        let open = self.labelled.joins().filter(|&f| match self.labelled.parents(f) {
            [Some(left), Some(right)] => self.labelled.watcher(left) != self.labelled.watcher(right),
            _ => false,
        });
        let busy = self.s.memory.ghost.leaves.iter().filter(|leaves| **leaves != 0).count();
        let open = open.count();
        self.require(Rule::C1, open < busy.max(1), || {
            format!("{open} joins are open between {busy} processors with work")
        })
    }
}
