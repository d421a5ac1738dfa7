//! RW Figures 3 to 7 as a step machine, generic over the memory that it runs on.
//!
//! **Not here:** memory. The worker and the machine of `bombyx-sim` each bring their own.
//!
//! [`Processor`] is what one processor can do: load and store the shared cells of RW Figure 3, and work on its private
//! deque and watch list. The functions here are the paper's pseudo-code. Each step makes one access to shared memory,
//! with the private work next to it, and [`Pc`] says where to go on. There are two kinds of processors:
//!
//! - The worker of this crate. Its shared cells are atomics that x86 loads and stores with plain moves. A step runs at
//!   once.
//! - The machine of `bombyx-sim`. Its loads and stores go through store buffers, and every interleaving of steps and
//!   flushes is explored.
//!
//! So the code that is explored is the code that runs. Line numbers are those of the paper's figures. Deliberate errors
//! ([`Mutation`]) are branches on [`Processor::is`], which the worker answers with a constant `false`.

mod join;
mod main_loop;
mod mutation;
mod steal;

pub use join::{resolve_join, watch, watch_test};
pub use main_loop::{finish, finish_concurrent, fork, next_thread, start};
pub use mutation::{Mutation, UnknownMutation};
pub use steal::{acquire, answer, communicate};

use std::fmt::{Debug, Display};

/// A processor's number.
pub type Id = u32;

/// RW Fig. 3, `side`, without SINGLE: which branch of a join a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The left branch.
    Left,
    /// The right branch.
    Right,
}

impl Side {
    /// The other side.
    #[inline(always)]
    pub fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// RW Fig. 3, `cont`: an edge into a join thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cont<J> {
    /// The join at its end.
    pub join: J,
    /// The branch at its beginning.
    pub side: Side,
}

impl<J: Copy> Cont<J> {
    /// The edge of the other branch.
    #[inline(always)]
    pub fn other(self) -> Cont<J> {
        Cont { join: self.join, side: self.side.other() }
    }
}

/// What follows a thread: its `conti` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next<J> {
    /// END: the computation is over.
    End,
    /// SINGLE: the join thread has no other branch.
    Single(J),
    /// LEFT or RIGHT.
    Branch(Cont<J>),
}

/// RW Fig. 3, `stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status<L> {
    /// The branch is at work.
    #[default]
    Work,
    /// The branch will end last and take the join.
    Ack,
    /// The branch has ended.
    Ready,
    /// The left branch has ended first, and hands over its watch list.
    Transfer(L),
}

/// RW Fig. 3, `query`: who asks, and in which round of the victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Query<R> {
    /// Who asks.
    pub id: Id,
    /// In which round of the victim.
    pub round: R,
}

impl<R: Display> Display for Query<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, round {})", self.id, self.round)
    }
}

/// Where `block` returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum After<R> {
    /// Line 82: back to the waiting loop on line 78.
    Await {
        /// Whom the thief asked.
        victim: Id,
        /// In which round.
        round: R,
    },
    /// Line 90: back to the choice of a victim on line 72.
    Choose,
}

/// The line of RW's pseudo-code that a processor executes next, with the local variables that are live there. Each
/// variant makes one shared access: the one on the line that its documentation names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields are the paper's local variables")]
pub enum Pc<T, J, R> {
    /// 70: store NULL into the own reception cell.
    Clear,
    /// 72, 73: choose a victim, load its round.
    Choose,
    /// 75: load the victim's query cell.
    TestQuery { victim: Id, round: R },
    /// 77: store the query.
    Send { victim: Id, round: R },
    /// 78: load the victim's round.
    Await { victim: Id, round: R },
    /// 80: load the victim's query cell.
    TestOverwritten { victim: Id, round: R },
    /// 81: store the query again.
    Resend { victim: Id, round: R },
    /// 108, 109: load the own query cell.
    Block { after: After<R> },
    /// 110: store a query to oneself.
    BlockQuery { after: After<R> },
    /// 111: store the own next round.
    BlockRound { after: After<R> },
    /// 84, 85: load the own reception cell.
    Receive { victim: Id, round: R },
    /// 88: store the own next round.
    Accept,
    /// Inside `run` of a thread, between two accesses to the scheduler's cells.
    Body { thread: T },
    /// Only under one mutation: between two threads, where `communicate` must not be called.
    Between,
    /// 103: store a thread into the thief's reception cell.
    HandOut { running: Option<T>, to: Id, thread: T },
    /// 104: store the own next round. `late` is the hand-out that follows it under one mutation.
    NextRound { running: Option<T>, late: Option<(Id, T)> },
    /// 117: load the own status cell.
    TestAck { cont: Cont<J> },
    /// Only under one mutation: load the other side's status after line 117.
    LateTest { cont: Cont<J> },
    /// Only under one mutation: answer it with ACK.
    LateAck { cont: Cont<J> },
    /// 120: store READY.
    WriteReady { cont: Cont<J> },
    /// 122: load the other side's status.
    AwaitReply { cont: Cont<J> },
    /// 124: load the other side's status again.
    MatchReply { cont: Cont<J> },
    /// 128: store TRANSFER with the watch list.
    Transfer { cont: Cont<J> },
    /// Joins by fetch-and-add in place of Figure 7: one locked instruction on the join's counter.
    Decrement { cont: Cont<J> },
}

/// What `watch` does on top of a [`Pc`] that may call it. Inside the waiting loop on line 146, `watch` may be called
/// again (line 147). That inner call never waits, because a watch list holds at most one right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch<J> {
    /// `watch` is not running.
    Idle,
    /// 141: store ACK.
    Ack(Cont<J>),
    /// 146: load the other side's status until it is no longer READY.
    AwaitTransfer(Cont<J>),
    /// 148: load the other side's status again.
    MatchTransfer(Cont<J>),
    /// 141 for `inner`, called from the waiting loop of `outer`.
    InnerAck {
        /// The edge whose TRANSFER is awaited.
        outer: Cont<J>,
        /// The edge whose READY is answered meanwhile.
        inner: Cont<J>,
    },
}

impl<T: Copy, J: Copy, R: Copy> Pc<T, J, R> {
    /// The thread whose body the processor is in, even if it runs scheduler code there at the moment.
    pub fn running(&self) -> Option<T> {
        match *self {
            Pc::Body { thread } => Some(thread),
            Pc::HandOut { running, .. } | Pc::NextRound { running, .. } => running,
            _ => None,
        }
    }

    /// The edge that the processor resolves, if it is inside `resolve_join`.
    pub fn resolving(&self) -> Option<Cont<J>> {
        match *self {
            Pc::TestAck { cont }
            | Pc::LateTest { cont }
            | Pc::LateAck { cont }
            | Pc::WriteReady { cont }
            | Pc::AwaitReply { cont }
            | Pc::MatchReply { cont }
            | Pc::Transfer { cont }
            | Pc::Decrement { cont } => Some(cont),
            _ => None,
        }
    }
}

/// The program counter of a kind of processors.
pub type PcOf<P> = Pc<<P as Processor>::Thread, <P as Processor>::Join, <P as Processor>::Round>;
/// The status words of a kind of processors.
pub type StatusOf<P> = Status<<P as Processor>::List>;

/// One processor as in RW Figure 3: the shared cells as the processor sees them, and what only the processor can touch.
pub trait Processor {
    /// A thread record.
    type Thread: Copy + Eq + Debug;
    /// A thread record that joins two branches.
    type Join: Copy + Eq + Debug;
    /// A round number.
    type Round: Copy + Ord + Debug + Display;
    /// A watch list on its way through a status cell.
    type List: Copy + Debug;
    /// What a step may find to be wrong. On threads, nothing can be.
    type Fault;

    /// The round of the query that every cell holds at the start. It comes from nobody.
    const FIRST: Self::Round;

    /// The own number.
    fn id(&self) -> Id;
    /// Where the processor is in its program.
    fn pc(&self) -> PcOf<Self>;
    /// Goes to another line.
    fn go(&mut self, to: PcOf<Self>);
    /// Whether this deliberate error was asked for.
    #[inline(always)]
    fn is(&self, _: Mutation) -> bool {
        false
    }

    /// Loads `round[of]`.
    fn load_round(&mut self, of: Id) -> Self::Round;
    /// Stores `round[of]`. In the protocol, each processor stores only its own (RW, IR1).
    fn store_round(&mut self, of: Id, round: Self::Round);
    /// The round after this one.
    fn next(round: Self::Round) -> Self::Round;
    /// Loads `in_query[of]`.
    fn load_query(&mut self, of: Id) -> Query<Self::Round>;
    /// Stores `in_query[to]`.
    fn store_query(&mut self, to: Id, query: Query<Self::Round>);
    /// Loads `received[of]`. In the protocol, each processor loads only its own.
    fn load_received(&mut self, of: Id) -> Option<Self::Thread>;
    /// Stores `received[to]`.
    fn store_received(&mut self, to: Id, thread: Option<Self::Thread>);
    /// Loads a status cell of a join.
    fn load_status(&mut self, of: Cont<Self::Join>) -> StatusOf<Self>;
    /// Stores a status cell of a join.
    fn store_status(&mut self, of: Cont<Self::Join>, value: StatusOf<Self>);

    /// `deque[i].push_bottom(t)`.
    fn push_bottom(&mut self, t: Self::Thread);
    /// `deque[i].pop_bottom()`.
    fn pop_bottom(&mut self) -> Option<Self::Thread>;
    /// `deque[i].pop_top()`.
    fn pop_top(&mut self) -> Option<Self::Thread>;
    /// `deque[i].peek_top()`.
    fn peek_top(&self) -> Option<Self::Thread>;
    /// `deque[i].peek_bottom()`.
    fn peek_bottom(&self) -> Option<Self::Thread>;

    /// `cur_cont[i]`; `None` is NULL.
    fn current(&self) -> Option<Next<Self::Join>>;
    /// `cur_cont[i] = next`.
    fn set_current(&mut self, next: Option<Next<Self::Join>>);
    /// `t.conti`.
    fn conti(&self, t: Self::Thread) -> Next<Self::Join>;
    /// `t.conti = next`, in `fork`.
    fn set_conti(&mut self, t: Self::Thread, next: Next<Self::Join>);
    /// `status[LEFT] = WORK; status[RIGHT] = WORK`, in `fork`.
    fn init_status(&mut self, join: Self::Join);
    /// `t.conti.branch = SINGLE`.
    fn make_single(&mut self, t: Self::Thread);
    /// The thread that a join is.
    fn join_thread(&self, join: Self::Join) -> Self::Thread;

    /// `watching[i].push(c)`.
    fn watch_push(&mut self, c: Cont<Self::Join>);
    /// `watching[i].remove(c)`.
    fn watch_remove(&mut self, c: Cont<Self::Join>);
    /// `watching[i].copy()` and `watching[i].remove_all()`: what is handed over.
    fn watch_take(&mut self) -> Self::List;
    /// An empty list.
    fn empty_list(&self) -> Self::List;
    /// `watching[i].add_multiple(list)`.
    fn watch_add(&mut self, list: Self::List);
    /// Where `watch` is.
    fn watch_state(&self) -> Watch<Self::Join>;
    /// Goes to another line of `watch`.
    fn watch_go(&mut self, to: Watch<Self::Join>);

    /// Whether joins are resolved by fetch-and-add, not by Figure 7.
    fn joins_by_counter(&self) -> bool;
    /// One locked subtraction from the join's counter. Returns whether this was the last branch.
    fn decrement(&mut self, join: Self::Join) -> bool;
    /// This branch does not take the join and will not look at it again.
    fn leave(&mut self, c: Cont<Self::Join>);
    /// This processor takes the join, which the other branch may still look at (`remote`).
    fn take_over(&mut self, join: Self::Join);

    /// Line 43: the body of `t` is about to be entered.
    ///
    /// # Errors
    /// If the thread must not be entered.
    fn enter(&mut self, t: Self::Thread) -> Result<(), Self::Fault>;
    /// Line 56: the computation is over.
    fn exit(&mut self);
    /// A `match` met a message that it has no case for.
    fn no_case(&self, line: u16) -> Self::Fault;

    /// Reports to a listener what a step does. On threads nobody listens.
    #[inline(always)]
    fn say(&mut self, _line: u16, _text: impl FnOnce(&Self) -> String) {}
    /// A thread's name, for a listener.
    fn name(&self, _: Self::Thread) -> String {
        String::new()
    }
    /// A status word in words.
    fn show(&self, _: StatusOf<Self>) -> String {
        String::new()
    }
}
