//! A state of the machine: main memory, and for each processor its program counter, private data and store buffer.
//!
//! The types hold what RW Fig. 3 declares plus what a program counter needs (its local variables). Loads look into
//! the own store buffer first, stores go to its end, [`State::flush`] moves its oldest entry to memory: this is
//! x86-TSO without locked instructions (RW §3). [`State::normalise`] replaces a state by the representative of its
//! equivalence class; the module's documentation argues why nothing can tell the two apart.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::tree::{Cont, ContSet, Fork, MAX_FORKS, Thread};

/// Most processors that a state can hold.
pub(super) const MAX_PROCESSORS: usize = 8;
/// Most entries that a store buffer can hold.
pub(super) const MAX_CAPACITY: usize = 16;

const MAX_DEQUE: usize = MAX_FORKS + 2;

/// A processor's number.
pub(super) type Processor = u8;
/// A round number, or after [`State::normalise`] its rank among those that can still be compared with it.
pub(super) type Round = u8;

/// RW Fig. 3, `stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Status {
    #[default]
    Work,
    Ack,
    Ready,
    Transfer(ContSet),
}

/// RW Fig. 3, `query`: who asks, and in which round of the victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Query {
    pub(super) id: Processor,
    pub(super) round: Round,
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, round {})", self.id, self.round)
    }
}

/// A store on its way to memory. A processor only writes its own round and signs its queries with its own id (RW,
/// invariants IR1 and IQ1), so neither is repeated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Store {
    Round(Round),
    Query { to: Processor, round: Round },
    Received { to: Processor, thread: Option<Thread> },
    Status { cell: Cont, value: Status },
}

/// A FIFO store buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    entries: [Store; MAX_CAPACITY],
    len: u8,
}

impl Buffer {
    const EMPTY: Buffer = Buffer { entries: [Store::Round(0); MAX_CAPACITY], len: 0 };

    pub(super) fn entries(&self) -> &[Store] {
        &self.entries[..usize::from(self.len)]
    }

    fn entries_mut(&mut self) -> &mut [Store] {
        &mut self.entries[..usize::from(self.len)]
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub(super) fn push(&mut self, store: Store) {
        self.entries[usize::from(self.len)] = store;
        self.len += 1;
    }

    fn pop(&mut self) -> Store {
        let oldest = self.entries[0];
        self.entries.copy_within(1.., 0);
        self.len -= 1;
        oldest
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        self.entries() == other.entries()
    }
}

impl Eq for Buffer {}

impl Hash for Buffer {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.entries().hash(hasher);
    }
}

/// A private deque; the top (oldest) thread comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deque {
    threads: [Thread; MAX_DEQUE],
    len: u8,
}

impl Deque {
    const EMPTY: Deque = Deque { threads: [Thread(0); MAX_DEQUE], len: 0 };

    pub(super) fn threads(&self) -> &[Thread] {
        &self.threads[..usize::from(self.len)]
    }

    pub(super) fn push_bottom(&mut self, t: Thread) {
        self.threads[usize::from(self.len)] = t;
        self.len += 1;
    }

    pub(super) fn pop_bottom(&mut self) -> Option<Thread> {
        let bottom = *self.threads().last()?;
        self.len -= 1;
        Some(bottom)
    }

    pub(super) fn pop_top(&mut self) -> Option<Thread> {
        let top = *self.threads().first()?;
        self.threads.copy_within(1.., 0);
        self.len -= 1;
        Some(top)
    }
}

impl PartialEq for Deque {
    fn eq(&self, other: &Deque) -> bool {
        self.threads() == other.threads()
    }
}

impl Eq for Deque {}

impl Hash for Deque {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.threads().hash(hasher);
    }
}

/// Where `block` returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum After {
    /// Line 82: back to the waiting loop on line 78.
    Await { victim: Processor, round: Round },
    /// Line 90: back to the choice of a victim on line 72.
    Choose,
}

/// The line of RW's pseudo-code that a processor executes next, with the local variables that are live there.
/// Each variant's shared access is the one on the line that its documentation names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pc {
    /// 70: store NULL into the own reception cell.
    Clear,
    /// 72, 73: choose a victim, load its round.
    Choose,
    /// 75: load the victim's query cell.
    TestQuery { victim: Processor, round: Round },
    /// 77: store the query.
    Send { victim: Processor, round: Round },
    /// 78: load the victim's round.
    Await { victim: Processor, round: Round },
    /// 80: load the victim's query cell.
    TestOverwritten { victim: Processor, round: Round },
    /// 81: store the query again.
    Resend { victim: Processor, round: Round },
    /// 108, 109: load the own query cell.
    Block { after: After },
    /// 110: store a query to oneself.
    BlockQuery { after: After },
    /// 111: store the own next round.
    BlockRound { after: After },
    /// 84, 85: load the own reception cell.
    Receive,
    /// 88: store the own next round.
    Accept,
    /// Inside `run` of a thread, between two accesses to the scheduler's cells.
    Body { thread: Thread },
    /// Only under one mutation: between two threads, where `communicate` must not be called.
    Between,
    /// 103: store a thread into the thief's reception cell.
    HandOut { running: Option<Thread>, to: Processor, thread: Thread },
    /// 104: store the own next round. `late` is the hand-out that follows it under one mutation.
    NextRound { running: Option<Thread>, late: Option<(Processor, Thread)> },
    /// 117: load the own status cell.
    TestAck { cont: Cont },
    /// Only under one mutation: load the other side's status after line 117.
    LateTest { cont: Cont },
    /// Only under one mutation: answer it with ACK.
    LateAck { cont: Cont },
    /// 120: store READY.
    WriteReady { cont: Cont },
    /// 122: load the other side's status.
    AwaitReply { cont: Cont },
    /// 124: load the other side's status again.
    MatchReply { cont: Cont },
    /// 128: store TRANSFER with the watch list.
    Transfer { cont: Cont },
}

/// What `watch` does on top of a [`Pc`] that may call it. Inside the waiting loop on line 146 `watch` may be called
/// again (line 147); that inner call never waits itself, because a watch list holds at most one right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Watch {
    /// `watch` is not running.
    Idle,
    /// 141: store ACK.
    Ack(Cont),
    /// 146: load the other side's status until it is no longer READY.
    AwaitTransfer(Cont),
    /// 148: load the other side's status again.
    MatchTransfer(Cont),
    /// 141 for `inner`, called from the waiting loop of `outer`.
    InnerAck { outer: Cont, inner: Cont },
}

/// Everything that belongs to one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Local {
    pub(super) pc: Pc,
    pub(super) watch: Watch,
    pub(super) deque: Deque,
    pub(super) watching: ContSet,
    pub(super) buffer: Buffer,
}

/// Main memory, and the bookkeeping of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    pub(super) round: [Round; MAX_PROCESSORS],
    pub(super) in_query: [Query; MAX_PROCESSORS],
    pub(super) received: [Option<Thread>; MAX_PROCESSORS],
    pub(super) status: [Status; 2 * MAX_FORKS],
    /// Forks whose right branch was turned into a SINGLE one (line 65). Only the owner of that branch looks.
    pub(super) single: u8,
    /// Threads whose body was entered.
    pub(super) started: u32,
    /// The program called `exit` (line 56).
    pub(super) exited: bool,
}

/// A state of the whole machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) memory: Memory,
    pub(super) locals: [Local; MAX_PROCESSORS],
    pub(super) processors: u8,
}

impl Local {
    /// The thread whose body the processor is in, if any, whether or not it just runs scheduler code there.
    pub(super) fn running(&self) -> Option<Thread> {
        match self.pc {
            Pc::Body { thread } => Some(thread),
            Pc::HandOut { running, .. } | Pc::NextRound { running, .. } => running,
            _ => None,
        }
    }

    /// The continuation that the processor resolves, if it is inside `resolve_join`.
    pub(super) fn resolving(&self) -> Option<Cont> {
        match self.pc {
            Pc::TestAck { cont }
            | Pc::LateTest { cont }
            | Pc::LateAck { cont }
            | Pc::WriteReady { cont }
            | Pc::AwaitReply { cont }
            | Pc::MatchReply { cont }
            | Pc::Transfer { cont } => Some(cont),
            _ => None,
        }
    }

    /// Whether line 70 is behind and the reception cell not yet emptied.
    pub(super) fn may_receive(&self) -> bool {
        matches!(
            self.pc,
            Pc::Choose
                | Pc::TestQuery { .. }
                | Pc::Send { .. }
                | Pc::Await { .. }
                | Pc::TestOverwritten { .. }
                | Pc::Resend { .. }
                | Pc::Block { .. }
                | Pc::BlockQuery { .. }
                | Pc::BlockRound { .. }
                | Pc::Receive
        )
    }

    /// The victim and its round that a thief remembers.
    fn attempt_mut(&mut self) -> Option<(Processor, &mut Round)> {
        match &mut self.pc {
            Pc::TestQuery { victim, round }
            | Pc::Send { victim, round }
            | Pc::Await { victim, round }
            | Pc::TestOverwritten { victim, round }
            | Pc::Resend { victim, round }
            | Pc::Block { after: After::Await { victim, round } }
            | Pc::BlockQuery { after: After::Await { victim, round } }
            | Pc::BlockRound { after: After::Await { victim, round } } => Some((*victim, round)),
            _ => None,
        }
    }

    fn mentions(&self, fork: Fork) -> bool {
        let watched = match self.watch {
            Watch::Idle => false,
            Watch::Ack(c) | Watch::AwaitTransfer(c) | Watch::MatchTransfer(c) => c.fork == fork,
            Watch::InnerAck { outer, inner } => outer.fork == fork || inner.fork == fork,
        };
        watched
            || self.watching.mentions(fork)
            || self.resolving().is_some_and(|c| c.fork == fork)
            || self.buffer.entries().iter().any(|store| match store {
                Store::Status { cell, value } => {
                    cell.fork == fork || matches!(value, Status::Transfer(s) if s.mentions(fork))
                }
                _ => false,
            })
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.locals() == other.locals() && self.memory == other.memory
    }
}

impl Eq for State {}

impl State {
    /// Processor 0 has the initial thread in its hands, all others run out of work (RW §5, C0).
    pub(super) fn initial(processors: usize) -> State {
        let idle = Local {
            pc: Pc::Clear,
            watch: Watch::Idle,
            deque: Deque::EMPTY,
            watching: ContSet::default(),
            buffer: Buffer::EMPTY,
        };
        let memory = Memory {
            round: [1; MAX_PROCESSORS],
            in_query: [Query::default(); MAX_PROCESSORS],
            received: [None; MAX_PROCESSORS],
            status: [Status::Work; 2 * MAX_FORKS],
            single: 0,
            started: 1,
            exited: false,
        };
        let mut state = State { memory, locals: [idle; MAX_PROCESSORS], processors: processors as u8 };
        state.locals[0].pc = Pc::Body { thread: Thread(0) };
        state
    }

    pub(super) fn locals(&self) -> &[Local] {
        &self.locals[..usize::from(self.processors)]
    }

    pub(super) fn local(&mut self, p: Processor) -> &mut Local {
        &mut self.locals[usize::from(p)]
    }

    fn newest<T>(&self, p: Processor, find: impl Fn(&Store) -> Option<T>) -> Option<T> {
        self.locals[usize::from(p)].buffer.entries().iter().rev().find_map(find)
    }

    /// What processor `p` loads from `round[of]`.
    pub(super) fn round(&self, p: Processor, of: Processor) -> Round {
        let own = |store: &Store| match store {
            Store::Round(r) if p == of => Some(*r),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.round[usize::from(of)])
    }

    /// What processor `p` loads from `in_query[of]`.
    pub(super) fn query(&self, p: Processor, of: Processor) -> Query {
        let own = |store: &Store| match store {
            Store::Query { to, round } if *to == of => Some(Query { id: p, round: *round }),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.in_query[usize::from(of)])
    }

    /// What processor `p` loads from `received[p]`.
    pub(super) fn received(&self, p: Processor) -> Option<Thread> {
        let own = |store: &Store| match store {
            Store::Received { to, thread } if *to == p => Some(*thread),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.received[usize::from(p)])
    }

    /// What processor `p` loads from the status cell `of`.
    pub(super) fn status(&self, p: Processor, of: Cont) -> Status {
        let own = |store: &Store| match store {
            Store::Status { cell, value } if *cell == of => Some(*value),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.status[of.index()])
    }

    /// Moves the oldest entry of `p`'s store buffer to memory and returns it.
    pub(super) fn flush(&mut self, p: Processor) -> Store {
        let store = self.local(p).buffer.pop();
        let memory = &mut self.memory;
        match store {
            Store::Round(r) => memory.round[usize::from(p)] = r,
            Store::Query { to, round } => memory.in_query[usize::from(to)] = Query { id: p, round },
            Store::Received { to, thread } => memory.received[usize::from(to)] = thread,
            Store::Status { cell, value } => memory.status[cell.index()] = value,
        }
        store
    }

    pub(super) fn is_running(&self, t: Thread) -> bool {
        self.locals().iter().any(|local| local.running() == Some(t))
    }

    pub(super) fn has_started(&self, t: Thread) -> bool {
        self.memory.started & (1 << t.0) != 0
    }

    pub(super) fn has_ended(&self, t: Thread) -> bool {
        self.has_started(t) && !self.is_running(t)
    }

    pub(super) fn is_single(&self, f: Fork) -> bool {
        self.memory.single & (1 << f.0) != 0
    }

    /// Whether `received[p]` holds a thread that its owner has yet to take: the owner is past line 70, and its own
    /// NULL of line 70 is no longer on the way to overwrite the cell.
    pub(super) fn is_delivered(&self, p: Processor) -> bool {
        let local = &self.locals[usize::from(p)];
        let clearing = |store: &Store| matches!(store, Store::Received { to, thread: None } if *to == p);
        local.may_receive() && !local.buffer.entries().iter().any(clearing)
    }

    /// Replaces the state by the representative of its class. All states after the exit are one. `keep_dead_cells` keeps the contents of cells that
    /// the protocol proper never looks at again, for mutations that do.
    pub(super) fn normalise(&mut self, keep_dead_cells: bool) {
        if self.memory.exited {
            *self = State::initial(usize::from(self.processors));
            self.memory.exited = true;
            return;
        }
        for p in 0..self.processors {
            self.rank_rounds(p);
            if !keep_dead_cells {
                let own = self.round(p, p);
                let query = &mut self.memory.in_query[usize::from(p)];
                if query.round < own {
                    query.id = p;
                }
                if !self.is_delivered(p) {
                    self.memory.received[usize::from(p)] = None;
                }
            }
        }
        if !keep_dead_cells {
            self.forget_joined();
        }
    }

    /// Replaces the rounds of `p` by their ranks among those that a comparison can still read as a round, and the
    /// rounds of queries to `p` by the rank of the largest such round that they reach.
    fn rank_rounds(&mut self, p: Processor) {
        let mut seen = 1u64 << self.memory.round[usize::from(p)];
        for store in self.locals[usize::from(p)].buffer.entries() {
            if let Store::Round(r) = store {
                seen |= 1 << r;
            }
        }
        if matches!(self.locals[usize::from(p)].pc, Pc::BlockRound { .. }) {
            seen |= 1 << (self.round(p, p) + 1);
        }
        let processors = usize::from(self.processors);
        for local in &mut self.locals[..processors] {
            if let Some((victim, round)) = local.attempt_mut()
                && victim == p
            {
                seen |= 1 << *round;
            }
        }
        if (seen + 2).is_power_of_two() {
            return;
        }
        let rank = |r: &mut Round| *r = (seen & ((2 << *r) - 1)).count_ones() as Round;
        rank(&mut self.memory.round[usize::from(p)]);
        rank(&mut self.memory.in_query[usize::from(p)].round);
        for (q, local) in self.locals[..processors].iter_mut().enumerate() {
            if let Some((victim, round)) = local.attempt_mut()
                && victim == p
            {
                rank(round);
            }
            for store in local.buffer.entries_mut() {
                match store {
                    Store::Round(r) if q == usize::from(p) => rank(r),
                    Store::Query { to, round } if *to == p => rank(round),
                    _ => {}
                }
            }
        }
    }

    /// Clears the cells of joins whose join thread runs or ran and that nobody can look at any more.
    fn forget_joined(&mut self) {
        for f in (0..MAX_FORKS as u8).map(Fork) {
            let join = Thread(3 + 3 * f.0);
            if join.0 >= 32 || !self.has_started(join) {
                continue;
            }
            let transferred = |s: &Status| matches!(s, Status::Transfer(set) if set.mentions(f));
            if self.locals().iter().any(|local| local.mentions(f))
                || self.memory.status.iter().any(transferred)
            {
                continue;
            }
            self.memory.status[2 * usize::from(f.0)] = Status::Work;
            self.memory.status[2 * usize::from(f.0) + 1] = Status::Work;
            self.memory.single &= !(1 << f.0);
        }
    }
}
