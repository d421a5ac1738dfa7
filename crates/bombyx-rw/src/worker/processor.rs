//! The worker as a [`Processor`] of the step machine. Its shared cells are atomics; the rest belongs to it alone.

use super::{Worker, WorkerPc};
use crate::cells::{Count, LAST_ROUND, pack, unpack};
use crate::discipline::{Discipline, Joins, Steals};
use crate::protocol::{Cont, Id, Next, Pc, Processor, Query, Status, Watch};
use crate::record::{JoinRef, Node, ThreadRef, WatchList};
use std::convert::Infallible;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

const ACK: usize = 1;
const READY: usize = 2;
const TRANSFER: usize = 3;

impl<K: Discipline> Processor for Worker<K> {
    type Thread = ThreadRef;
    type Join = JoinRef;
    type Round = u64;
    type List = WatchList;
    type Fault = Infallible;

    const FIRST: u64 = 0;

    #[inline(always)]
    fn id(&self) -> Id {
        self.id
    }

    #[inline(always)]
    fn pc(&self) -> WorkerPc {
        self.pc
    }

    #[inline(always)]
    fn go(&mut self, to: WorkerPc) {
        self.pc = to;
    }

    #[inline(always)]
    fn load_round(&mut self, of: Id) -> u64 {
        if of != self.id {
            self.pause();
        }
        self.shared.cells(of).round.load(Acquire)
    }

    #[inline(always)]
    fn store_round(&mut self, of: Id, round: u64) {
        self.pause();
        self.shared.cells(of).round.store(round, Release);
        if let Pc::NextRound { .. } = self.pc {
            self.count(Count::Answered);
        }
    }

    #[inline(always)]
    fn next(round: u64) -> u64 {
        if round == LAST_ROUND {
            rounds_used_up();
        }
        round + 1
    }

    #[inline(always)]
    fn load_query(&mut self, of: Id) -> Query<u64> {
        if of != self.id {
            self.pause();
        }
        let word = self.shared.cells(of).in_query.load(Acquire);
        if word != self.last_query && of == self.id && matches!(self.pc, Pc::Body { .. }) {
            self.note_query(word);
        }
        unpack(word)
    }

    #[inline(always)]
    fn store_query(&mut self, to: Id, query: Query<u64>) {
        self.pause();
        match self.pc {
            Pc::Send { .. } => self.count(Count::Asked),
            Pc::Resend { .. } => self.count(Count::Resent),
            _ => {}
        }
        self.shared.cells(to).in_query.store(pack(query), Release);
    }

    #[inline(always)]
    fn load_received(&mut self, of: Id) -> Option<ThreadRef> {
        self.pause();
        let thread = NonNull::new(self.shared.cells(of).received.load(Acquire)).map(ThreadRef);
        if thread.is_some() {
            self.count(Count::Steals);
        }
        thread
    }

    #[inline(always)]
    fn store_received(&mut self, to: Id, thread: Option<ThreadRef>) {
        self.pause();
        if thread.is_some() {
            self.count(Count::Served);
        }
        let thread = thread.map_or(ptr::null_mut(), |thread| thread.0.as_ptr());
        self.shared.cells(to).received.store(thread, Release);
    }

    #[inline(always)]
    fn load_status(&mut self, of: Cont<JoinRef>) -> Status<WatchList> {
        self.pause();
        let word = of.join.get().status[of.side as usize].load(Acquire);
        match word & 3 {
            0 => Status::Work,
            ACK => Status::Ack,
            READY => Status::Ready,
            _ => Status::Transfer(WatchList((word & !3) as *mut Node)),
        }
    }

    #[inline(always)]
    fn store_status(&mut self, of: Cont<JoinRef>, value: Status<WatchList>) {
        self.pause();
        let word = match value {
            Status::Work => 0,
            Status::Ack => ACK,
            Status::Ready => READY,
            Status::Transfer(list) => {
                self.count(Count::Transfers);
                TRANSFER | list.0 as usize
            }
        };
        of.join.get().status[of.side as usize].store(word, Release);
    }

    #[inline(always)]
    fn push_bottom(&mut self, t: ThreadRef) {
        match K::STEALS {
            Steals::ChaseLev => self.own().deque.push_bottom(t.0),
            _ => self.deque.push_bottom(t),
        }
    }

    #[inline(always)]
    fn pop_bottom(&mut self) -> Option<ThreadRef> {
        match K::STEALS {
            Steals::ChaseLev => self.own().deque.pop_bottom().map(ThreadRef),
            _ => self.deque.pop_bottom(),
        }
    }

    #[inline(always)]
    fn pop_top(&mut self) -> Option<ThreadRef> {
        self.deque.pop_top()
    }

    #[inline(always)]
    fn peek_top(&self) -> Option<ThreadRef> {
        self.deque.peek_top()
    }

    #[inline(always)]
    fn peek_bottom(&self) -> Option<ThreadRef> {
        self.deque.peek_bottom()
    }

    #[inline(always)]
    fn current(&self) -> Option<Next<JoinRef>> {
        self.current
    }

    #[inline(always)]
    fn set_current(&mut self, next: Option<Next<JoinRef>>) {
        self.current = next;
    }

    #[inline(always)]
    fn set_conti(&mut self, t: ThreadRef, next: Next<JoinRef>) {
        t.get().set_next(next);
    }

    #[inline(always)]
    fn init_status(&mut self, join: JoinRef) {
        let status = &join.get().status;
        status.iter().for_each(|cell| cell.store(0, Relaxed));
    }

    #[inline(always)]
    fn conti(&self, t: ThreadRef) -> Next<JoinRef> {
        t.get().next()
    }

    #[inline(always)]
    fn make_single(&mut self, t: ThreadRef) {
        self.count(Count::JoinsLocal);
        t.get().make_single();
    }

    #[inline(always)]
    fn join_thread(&self, join: JoinRef) -> ThreadRef {
        join.thread()
    }

    #[inline(always)]
    fn watch_push(&mut self, c: Cont<JoinRef>) {
        self.watching.push(c);
    }

    #[inline(always)]
    fn watch_remove(&mut self, c: Cont<JoinRef>) {
        self.watching.remove(c);
    }

    #[inline(always)]
    fn watch_take(&mut self) -> WatchList {
        std::mem::replace(&mut self.watching, WatchList::EMPTY)
    }

    #[inline(always)]
    fn empty_list(&self) -> WatchList {
        WatchList::EMPTY
    }

    #[inline(always)]
    fn watch_add(&mut self, list: WatchList) {
        self.watching.append(list);
    }

    #[inline(always)]
    fn watch_state(&self) -> Watch<JoinRef> {
        self.watch
    }

    #[inline(always)]
    fn watch_go(&mut self, to: Watch<JoinRef>) {
        self.watch = to;
    }

    #[inline(always)]
    fn joins_by_counter(&self) -> bool {
        K::JOINS == Joins::FetchAdd
    }

    #[inline(always)]
    fn decrement(&mut self, join: JoinRef) -> bool {
        // The branch on the constant keeps the locked instruction out of the schedulers that have none.
        if K::JOINS == Joins::ReadWrite {
            unreachable!("joins are not counted");
        }
        self.pause();
        let last = join.get().counter.fetch_sub(1, AcqRel) == 1;
        if last {
            self.count(Count::JoinsCounted);
        }
        last
    }

    #[inline(always)]
    fn leave(&mut self, c: Cont<JoinRef>) {
        c.join.get().left_behind.store(true, Release);
    }

    #[inline(always)]
    fn take_over(&mut self, join: JoinRef) {
        let tied = matches!(self.pc, Pc::MatchReply { .. });
        self.count(if tied { Count::JoinsTied } else { Count::JoinsAcknowledged });
        join.get().shared.set(true);
    }

    #[inline(always)]
    fn enter(&mut self, _: ThreadRef) -> Result<(), Infallible> {
        Ok(())
    }

    fn exit(&mut self) {
        self.shared.end();
    }

    fn no_case(&self, line: u16) -> Infallible {
        unreachable!("line {line} met a message that it has no case for")
    }
}

#[cold]
fn rounds_used_up() -> ! {
    panic!("a processor has used up its 2^40 rounds");
}
