//! A state of the machine: main memory, and for each processor its program counter, private data and store buffer.
//!
//! The types hold what RW Fig. 3 declares, plus what a program counter needs (its local variables). Loads look into the
//! own store buffer first, stores go to its end, and [`State::flush`] moves its oldest entry to memory. This is x86-TSO
//! without locked instructions (RW §3). [`State::normalise`] replaces a state by the representative of its equivalence
//! class. The module's documentation argues why nothing can tell the two apart.

use bombyx_rw::protocol::Next;
use std::hash::{Hash, Hasher};

use super::ghost::Ghost;
use super::tree::{Cont, ContSet, Edges, Fork, MAX_FORKS, Thread, index_of};

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
pub(super) type Status = bombyx_rw::protocol::Status<ContSet>;
/// RW Fig. 3, `query`.
pub(super) type Query = bombyx_rw::protocol::Query<Round>;
/// Where `block` returns to.
pub(super) type After = bombyx_rw::protocol::After<Round>;
/// Where a processor is in its program.
pub(super) type Pc = bombyx_rw::protocol::Pc<Thread, Fork, Round>;
/// What `watch` does.
pub(super) type Watch = bombyx_rw::protocol::Watch<Fork>;

/// A store on its way to memory. A processor stores only its own round and signs its queries with its own number (RW,
/// invariants IR1 and IQ1). That is checked, not assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Store {
    Round {
        of: Processor,
        round: Round,
    },
    Query {
        to: Processor,
        query: Query,
    },
    Received {
        to: Processor,
        thread: Option<Thread>,
    },
    Status {
        cell: Cont,
        value: Status,
    },
    /// The application's own store: what a thread leaves for those after it.
    Application {
        thread: Thread,
    },
}

/// A FIFO store buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    entries: [Store; MAX_CAPACITY],
    len: u8,
}

impl Buffer {
    const EMPTY: Buffer = Buffer { entries: [Store::Round { of: 0, round: 0 }; MAX_CAPACITY], len: 0 };

    pub(super) fn entries(&self) -> &[Store] {
        &self.entries[..usize::from(self.len)]
    }

    pub(super) fn entries_mut(&mut self) -> &mut [Store] {
        &mut self.entries[..usize::from(self.len)]
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Keeps the entries that `keep`, which may change them, wants to keep.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Store) -> bool) {
        let mut kept = Buffer::EMPTY;
        for store in self.entries_mut() {
            if keep(store) {
                kept.push(*store);
            }
        }
        *self = kept;
    }

    pub(super) fn push(&mut self, store: Store) {
        self.entries[usize::from(self.len)] = store;
        self.len += 1;
    }

    fn pop_newest(&mut self) -> Store {
        self.len -= 1;
        self.entries[usize::from(self.len)]
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

/// A private deque. The top (oldest) thread comes first.
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

/// Everything that belongs to one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Local {
    pub(super) pc: Pc,
    pub(super) watch: Watch,
    /// RW: `cur_cont`.
    pub(super) current: Option<Next<Fork>>,
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
    /// The `conti` fields of threads, without SINGLE.
    pub(super) conti: Edges,
    /// Forks whose right branch was turned into a SINGLE one (line 65). Only the owner of that branch looks.
    pub(super) single: u8,
    /// How many branches were counted down, two bits for each join, if joins are counted.
    pub(super) counted: u16,
    /// Threads whose application cell was stored.
    pub(super) application: u32,
    /// Threads whose body was entered.
    pub(super) started: u32,
    /// The program called `exit` (line 56).
    pub(super) exited: bool,
    /// The abstract state that belongs to this one, if the proof is checked.
    pub(super) ghost: Ghost,
}

/// A state of the whole machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) memory: Memory,
    pub(super) locals: [Local; MAX_PROCESSORS],
    pub(super) processors: u8,
}

impl Local {
    /// The thread whose body the processor is in, if any, even if it runs scheduler code there at the moment.
    pub(super) fn running(&self) -> Option<Thread> {
        self.pc.running()
    }

    /// The continuation that the processor resolves, if it is inside `resolve_join`.
    pub(super) fn resolving(&self) -> Option<Cont> {
        self.pc.resolving()
    }

    /// Whether line 70 has run and the reception cell has not been emptied yet.
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
                | Pc::Receive { .. }
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
            | Pc::Receive { victim, round }
            | Pc::Block { after: After::Await { victim, round } }
            | Pc::BlockQuery { after: After::Await { victim, round } }
            | Pc::BlockRound { after: After::Await { victim, round } } => Some((*victim as Processor, round)),
            _ => None,
        }
    }

    fn mentions(&self, fork: Fork) -> bool {
        let watched = match self.watch {
            Watch::Idle => false,
            Watch::Ack(c) | Watch::AwaitTransfer(c) | Watch::MatchTransfer(c) => c.join == fork,
            Watch::InnerAck { outer, inner } => outer.join == fork || inner.join == fork,
        };
        watched
            || self.watching.mentions(fork)
            || self.resolving().is_some_and(|c| c.join == fork)
            || self.buffer.entries().iter().any(|store| match store {
                Store::Status { cell, value } => {
                    cell.join == fork || matches!(value, Status::Transfer(s) if s.mentions(fork))
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
    /// Processor 0 has the initial thread in its hands. All others have no work (RW §5, C0).
    pub(super) fn initial(processors: usize) -> State {
        let idle = Local {
            pc: Pc::Clear,
            watch: Watch::Idle,
            current: None,
            deque: Deque::EMPTY,
            watching: ContSet::default(),
            buffer: Buffer::EMPTY,
        };
        let memory = Memory {
            round: [1; MAX_PROCESSORS],
            in_query: [Query::default(); MAX_PROCESSORS],
            received: [None; MAX_PROCESSORS],
            status: [Status::Work; 2 * MAX_FORKS],
            conti: Edges::default(),
            single: 0,
            counted: 0,
            application: 0,
            started: 1,
            exited: false,
            ghost: Ghost::default(),
        };
        let mut state = State { memory, locals: [idle; MAX_PROCESSORS], processors: processors as u8 };
        state.locals[0].pc = Pc::Body { thread: Thread(0) };
        state.locals[0].current = Some(Next::End);
        state
    }

    pub(super) fn locals(&self) -> &[Local] {
        &self.locals[..usize::from(self.processors)]
    }

    pub(super) fn local(&mut self, p: Processor) -> &mut Local {
        &mut self.locals[usize::from(p)]
    }

    pub(super) fn newest<T>(&self, p: Processor, find: impl Fn(&Store) -> Option<T>) -> Option<T> {
        self.locals[usize::from(p)].buffer.entries().iter().rev().find_map(find)
    }

    /// What processor `p` loads from `round[of]`.
    pub(super) fn round(&self, p: Processor, of: Processor) -> Round {
        let own = |store: &Store| match store {
            Store::Round { of: cell, round } if *cell == of => Some(*round),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.round[usize::from(of)])
    }

    /// What processor `p` loads from `in_query[of]`.
    pub(super) fn query(&self, p: Processor, of: Processor) -> Query {
        let own = |store: &Store| match store {
            Store::Query { to, query } if *to == of => Some(*query),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.in_query[usize::from(of)])
    }

    /// What processor `p` loads from `received[of]`.
    pub(super) fn received(&self, p: Processor, of: Processor) -> Option<Thread> {
        let own = |store: &Store| match store {
            Store::Received { to, thread } if *to == of => Some(*thread),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.received[usize::from(of)])
    }

    /// What processor `p` loads from the status cell `of`.
    pub(super) fn status(&self, p: Processor, of: Cont) -> Status {
        let own = |store: &Store| match store {
            Store::Status { cell, value } if *cell == of => Some(*value),
            _ => None,
        };
        self.newest(p, own).unwrap_or(self.memory.status[index_of(of)])
    }

    /// Whether processor `p` sees what `t` left in application memory.
    pub(super) fn sees_application(&self, p: Processor, t: Thread) -> bool {
        let own = |store: &Store| (*store == Store::Application { thread: t }).then_some(());
        self.memory.application & (1 << t.0) != 0 || self.newest(p, own).is_some()
    }

    /// Moves the oldest entry of `p`'s store buffer to memory, or the newest, and returns it.
    pub(super) fn flush(&mut self, p: Processor, newest: bool) -> Store {
        let buffer = &mut self.local(p).buffer;
        let store = if newest { buffer.pop_newest() } else { buffer.pop() };
        let memory = &mut self.memory;
        match store {
            Store::Round { of, round } => memory.round[usize::from(of)] = round,
            Store::Query { to, query } => memory.in_query[usize::from(to)] = query,
            Store::Received { to, thread } => memory.received[usize::from(to)] = thread,
            Store::Status { cell, value } => memory.status[index_of(cell)] = value,
            Store::Application { thread } => memory.application |= 1 << thread.0,
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

    /// Whether `received[p]` holds a thread that its owner has yet to take. The owner is past line 70, and its own NULL
    /// of line 70 is no longer on the way to overwrite the cell.
    pub(super) fn is_delivered(&self, p: Processor) -> bool {
        let local = &self.locals[usize::from(p)];
        let clearing = |store: &Store| matches!(store, Store::Received { to, thread: None } if *to == p);
        local.may_receive() && !local.buffer.entries().iter().any(clearing)
    }

    /// Replaces the state by the representative of its class. All states after the exit are one. `keep_dead_cells`
    /// keeps the contents of cells that the real protocol never looks at again, for mutations that do.
    pub(super) fn normalise(&mut self, keep_dead_cells: bool, rank: bool) {
        if self.memory.exited {
            *self = State::initial(usize::from(self.processors));
            self.memory.exited = true;
            return;
        }
        for p in 0..self.processors {
            if rank {
                self.rank_rounds(p);
            }
            if !keep_dead_cells {
                let own = self.round(p, p);
                let query = &mut self.memory.in_query[usize::from(p)];
                if query.round < own {
                    query.id = u32::from(p);
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

    /// Replaces the rounds of `p` by their ranks among those that a comparison can still read as a round. Replaces the
    /// rounds of queries to `p` by the rank of the largest such round that they reach.
    fn rank_rounds(&mut self, p: Processor) {
        let mut seen = 1u64 << self.memory.round[usize::from(p)];
        for store in self.locals().iter().flat_map(|local| local.buffer.entries()) {
            if let Store::Round { of, round } = store
                && *of == p
            {
                seen |= 1 << round;
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
        for local in &mut self.locals[..processors] {
            if let Some((victim, round)) = local.attempt_mut()
                && victim == p
            {
                rank(round);
            }
            for store in local.buffer.entries_mut() {
                match store {
                    Store::Round { of, round } if *of == p => rank(round),
                    Store::Query { to, query } if *to == p => rank(&mut query.round),
                    _ => {}
                }
            }
        }
    }

    /// Clears the cells of joins whose join thread runs or ran, if nobody can look at them any more.
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
            self.memory.counted &= !(0b11 << (2 * f.0));
        }
    }
}
