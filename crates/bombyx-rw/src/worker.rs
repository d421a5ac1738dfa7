//! [`Worker`]: one processor on an OS thread. It implements the [`Processor`] of the step machine with the shared cells and
//! its own deque, watch list and memory, and drives the machine: RW Figure 4's main loop, with `communicate` and `watch`
//! called at the start of every body.
//!
//! Why there and not between two threads, as RW's appendix suggests: between line 87 or 118 and line 41 the deque holds a
//! thread that is about to run, and giving that one away loses joins (see `poll-between-threads` in `bombyx-sim`). At the
//! start of a body the thread is out of the deque.

use crate::arena::Arena;
use crate::cells::{Cells, Count, LAST_ROUND, Shared, pack, unpack};
use crate::clock::ticks;
use crate::deque::Deque;
use crate::discipline::{Discipline, Joins, Steals};
use crate::protocol::{
    Cont, Id, Next, Pc, Processor, Query, Status, Watch, acquire, answer, communicate, finish, resolve_join,
    watch, watch_test,
};
use crate::record::{JoinRef, ThreadRef, WatchList};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

type WorkerPc = Pc<ThreadRef, JoinRef, u64>;

/// One processor.
pub(crate) struct Worker<K> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: Id,
    pub(crate) pc: WorkerPc,
    watch: Watch<JoinRef>,
    pub(crate) deque: Deque<ThreadRef>,
    watching: WatchList,
    pass: u64,
    pub(crate) arena: Arena,
    /// Joins whose bodies have run here and whose other side may still look at them.
    buried: *mut crate::record::Join,
    buried_count: usize,
    rested: u64,
    /// `cur_cont`: `None` is NULL.
    pub(crate) current: Option<Next<JoinRef>>,
    random: u64,
    /// The query cell at the last poll, so that each stale query counts once.
    last_query: u64,
    _discipline: PhantomData<K>,
}

// SAFETY: a worker is moved to its OS thread before it runs and touched by that thread alone; what its pointers lead to
// belongs to it by the protocol.
unsafe impl<K> Send for Worker<K> {}

/// Why [`Worker::work`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The computation is over, and no answer is awaited.
    Over,
    /// A body panicked somewhere.
    Broken,
}

impl<K: Discipline> Worker<K> {
    pub(crate) fn new(shared: Arc<Shared>, id: Id, seed: u64) -> Worker<K> {
        Worker {
            shared,
            id,
            pc: Pc::Clear,
            watch: Watch::Idle,
            deque: Deque::new(),
            watching: WatchList::EMPTY,
            pass: 0,
            arena: Arena::new(),
            buried: ptr::null_mut(),
            buried_count: 0,
            rested: 0,
            current: None,
            random: (seed ^ u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1,
            last_query: 0,
            _discipline: PhantomData,
        }
    }

    #[cold]
    fn note_query(&mut self, word: u64) {
        self.last_query = word;
        let (query, round) = (unpack(word), self.own().round.load(Relaxed));
        if query.id != self.id && query.round < round {
            self.count(Count::Stale);
        }
    }

    #[inline(always)]
    pub(crate) fn own(&self) -> &Cells {
        self.shared.cells(self.id)
    }

    #[inline(always)]
    pub(crate) fn count(&self, what: Count) {
        self.own().count(what, 1);
    }

    /// Marsaglia's xorshift.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    #[inline(always)]
    pub(crate) fn pause(&mut self) {
        K::pause(|| self.draw());
    }

    /// Line 72: another processor, at random.
    #[inline(always)]
    pub(crate) fn victim(&mut self) -> Id {
        let others = self.shared.cells.len() as u64 - 1;
        let drawn = ((u128::from(self.draw()) * u128::from(others)) >> 64) as Id;
        if drawn >= self.id { drawn + 1 } else { drawn }
    }

    /// Line 37: runs threads until the computation that is under way is over. `ended` is how many were over before.
    pub(crate) fn work(&mut self, ended: u64) -> Rest {
        loop {
            match self.pc {
                Pc::Body { thread } => self.body(thread),
                _ => {
                    if let Some(rest) = self.search(ended) {
                        return rest;
                    }
                }
            }
        }
    }

    /// Lines 42 to 44.
    #[inline(always)]
    fn body(&mut self, thread: ThreadRef) {
        self.poll(thread);
        // SAFETY: the thread was popped from the deque, so it belongs to this worker; its body runs once, because the
        // record is consumed here. The pointer to the worker is valid while the body runs, and nothing else uses the
        // worker meanwhile.
        unsafe { (thread.get().ops.run)(thread.0, ptr::from_mut(self).cast()) };
        self.count(Count::Threads);
        if K::STEALS == Steals::ChaseLev {
            return self.finish_concurrent();
        }
        let Ok(()) = finish(self);
    }

    /// `communicate` and `watch`, called at the start of a body.
    #[inline(always)]
    fn poll(&mut self, running: ThreadRef) {
        match K::STEALS {
            Steals::ReadWrite => {
                let Ok(()) = communicate(self, Some(running));
                while !matches!(self.pc, Pc::Body { .. }) {
                    let Ok(()) = answer(self);
                }
            }
            Steals::PrivateCas => self.answer_request(),
            Steals::ChaseLev => {}
        }
        if K::JOINS == Joins::ReadWrite && !self.watching.0.is_null() {
            self.watch_all();
        }
    }

    /// Lines 134 to 150 for all edges that are watched.
    #[inline(never)]
    fn watch_all(&mut self) {
        self.pass += 1;
        let pass = self.pass << 24 | u64::from(self.id);
        while let Some(c) = self.watching.turn(pass) {
            self.watch_one(c);
            while self.watch != Watch::Idle {
                if self.shared.is_broken() {
                    return;
                }
                let before = self.watch;
                let Ok(()) = watch(self);
                if matches!(self.watch, Watch::AwaitTransfer(_)) && before == self.watch {
                    // Line 147.
                    self.watch_inner();
                    self.relax();
                }
            }
        }
    }

    /// `watch` called from its own waiting loop: it never waits itself.
    fn watch_inner(&mut self) {
        self.pass += 1;
        let pass = self.pass << 24 | u64::from(self.id);
        while let Some(c) = self.watching.turn(pass) {
            self.watch_one(c);
            if matches!(self.watch, Watch::InnerAck { .. }) {
                let Ok(()) = watch(self);
            }
        }
    }

    #[inline(always)]
    fn watch_one(&mut self, c: Cont<JoinRef>) {
        let Ok(()) = watch_test(self, c);
    }

    /// Everything between two bodies that touches shared memory: `acquire` and `resolve_join`.
    #[inline(never)]
    fn search(&mut self, ended: u64) -> Option<Rest> {
        let start = ticks();
        let mut what = Count::WaitTicks;
        let rest = loop {
            if matches!(self.pc, Pc::Body { .. }) {
                break None;
            }
            if let Some(c) = self.pc.resolving()
                && !matches!(self.pc, Pc::Decrement { .. })
            {
                let Ok(()) = resolve_join(self, c);
                if matches!(self.pc, Pc::AwaitReply { .. }) {
                    if self.shared.is_broken() {
                        break Some(Rest::Broken);
                    }
                    // Line 123.
                    if !self.watching.0.is_null() {
                        self.watch_all();
                    }
                    self.relax();
                }
                continue;
            }
            if !matches!(self.pc, Pc::Decrement { .. }) {
                what = Count::IdleTicks;
                // Only where no answer is awaited may a computation be left: an answer would be lost.
                if self.is_free() && self.shared.ended.load(Acquire) != ended {
                    break Some(Rest::Over);
                }
                if self.shared.is_broken() {
                    break Some(Rest::Broken);
                }
                if matches!(self.pc, Pc::Clear) {
                    self.reap();
                }
                if self.shared.cells.len() == 1 {
                    self.relax();
                    continue;
                }
            }
            self.acquire_step();
        };
        self.own().count(what, ticks().wrapping_sub(start));
        rest
    }

    #[inline(always)]
    fn acquire_step(&mut self) {
        match K::STEALS {
            Steals::ReadWrite => {
                let Ok(()) = acquire(self, Worker::victim);
                if matches!(self.pc, Pc::Choose | Pc::Await { .. }) {
                    self.relax();
                }
            }
            Steals::PrivateCas | Steals::ChaseLev => match self.pc {
                Pc::Decrement { .. } => {
                    let Ok(()) = acquire(self, Worker::victim);
                }
                _ if K::STEALS == Steals::PrivateCas => self.request(),
                _ => self.steal_concurrent(),
            },
        }
    }

    /// Whether the worker is idle and waits for nobody.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self.pc, Pc::Clear | Pc::Choose)
    }

    /// Outside of the protocol: lets others run.
    #[inline(always)]
    pub(crate) fn relax(&mut self) {
        if self.shared.resting.load(Relaxed) && self.id != 0 {
            self.rest();
        } else if self.shared.polite {
            // SAFETY: a call of the kernel without arguments.
            unsafe { libc::sched_yield() };
        } else {
            std::hint::spin_loop();
        }
    }

    /// Between two computations: spins for a while, then sleeps a little at a time.
    #[cold]
    fn rest(&mut self) {
        self.rested += 1;
        if self.rested.is_multiple_of(1 << 12) {
            // SAFETY: a call of the kernel with a plain number.
            unsafe { libc::usleep(50) };
        } else if self.rested.is_multiple_of(16) {
            // SAFETY: a call of the kernel without arguments.
            unsafe { libc::sched_yield() };
        } else {
            std::hint::spin_loop();
        }
    }

    /// The first thread of a computation comes from outside, as if it had been received (lines 87 and 88): the worker opens
    /// a round, so that others may ask it.
    pub(crate) fn begin(&mut self, thread: ThreadRef) {
        debug_assert!(self.is_free());
        self.push_bottom(thread);
        if K::STEALS == Steals::ReadWrite {
            self.pc = Pc::Accept;
            let Ok(()) = acquire(self, Worker::victim);
        } else {
            self.next_thread();
        }
    }

    /// Line 39 without the round of line 88.
    pub(crate) fn next_thread(&mut self) {
        let Ok(()) = crate::protocol::next_thread(self);
    }

    /// Frees joins that nobody looks at any more.
    #[cold]
    #[inline(never)]
    fn reap(&mut self) {
        let mut kept: *mut crate::record::Join = ptr::null_mut();
        let mut count = 0;
        while let Some(join) = NonNull::new(self.buried) {
            // SAFETY: a buried record lives until it is freed here.
            let record = unsafe { join.as_ref() };
            self.buried = record.buried.get();
            if record.left_behind.load(Acquire) {
                let class = usize::from(record.class);
                // SAFETY: its body has run, and the other side has looked for the last time.
                unsafe { self.arena.free_class(join.cast(), class) };
            } else {
                record.buried.set(kept);
                kept = join.as_ptr();
                count += 1;
            }
        }
        self.buried = kept;
        self.buried_count = count;
    }

    /// Frees the record of a join whose body is about to run, or buries it while the other side may look.
    ///
    /// # Safety
    /// What the record holds was moved out.
    #[inline(always)]
    pub(crate) unsafe fn retire(&mut self, join: JoinRef) {
        let record = join.get();
        if record.shared.get() && !record.left_behind.load(Acquire) {
            return self.bury(join);
        }
        let class = usize::from(record.class);
        // SAFETY: nobody looks at it any more.
        unsafe { self.arena.free_class(join.0.cast(), class) };
    }

    #[cold]
    fn bury(&mut self, join: JoinRef) {
        join.get().buried.set(self.buried);
        self.buried = join.0.as_ptr();
        self.buried_count += 1;
        if self.buried_count.is_power_of_two() && self.buried_count >= 64 {
            self.reap();
        }
    }
}

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
            _ => Status::Transfer(WatchList((word & !3) as *mut crate::record::Node)),
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

/// Reads a counter of a worker from outside.
pub(crate) fn counted(cells: &Cells, what: Count) -> u64 {
    cells.counts[what as usize].load(Relaxed)
}
