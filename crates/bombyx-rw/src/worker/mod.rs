//! [`Worker`]: one processor on an OS thread. It implements the [`Processor`] of the step machine with the shared cells
//! and its own deque, watch list and memory. It also drives the machine: RW Figure 4's main loop, with `communicate`
//! and `watch` called at the start of every body.
//!
//! **Not here:** the paper's steps. They are in [`crate::protocol`].
//!
//! RW's appendix suggests to call them between two threads. But between line 87 or 118 and line 41 the deque holds a
//! thread that is about to run, and giving that thread away loses joins (see `poll-between-threads` in `bombyx-sim`).
//! At the start of a body the thread is out of the deque.

mod baseline;
mod memory;
mod processor;

use crate::arena::Arena;
use crate::cells::{Cells, Count, Shared, unpack};
use crate::clock::ticks;
use crate::deque::Deque;
use crate::discipline::{Discipline, Joins, Steals};
use crate::protocol::{
    Cont, Id, Next, Pc, Processor, Watch, acquire, answer, communicate, finish, finish_concurrent,
    resolve_join, watch, watch_test,
};
use crate::record::{JoinRef, ThreadRef, WatchList};
use crate::system;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

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
    /// Joins whose bodies have run here, but whose other side may still look at them.
    buried: *mut crate::record::Join,
    buried_count: usize,
    rested: u64,
    /// When the search for work began, or when the last computation ended.
    idle_since: u64,
    /// `cur_cont`: `None` is NULL.
    pub(crate) current: Option<Next<JoinRef>>,
    random: u64,
    /// The query cell at the last poll, so that each stale query counts once.
    last_query: u64,
    _discipline: PhantomData<K>,
}

// SAFETY: a worker is moved to its OS thread before it runs, and only that thread touches it. By the protocol, what its
// pointers name belongs to it.
unsafe impl<K> Send for Worker<K> {}

/// Why [`Worker::work`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The computation is over, and the worker awaits no answer.
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
            idle_since: 0,
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

    /// Line 37: runs threads until the present computation is over. `ended` is how many computations were over before.
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
        // SAFETY: the thread was popped from the deque, so it belongs to this worker. Its body runs once, because the
        // record is consumed here. The pointer to the worker is valid while the body runs, and nothing else uses the
        // worker meanwhile.
        unsafe { (thread.get().ops.run)(thread.0, ptr::from_mut(self).cast()) };
        self.count(Count::Threads);
        if K::STEALS == Steals::ChaseLev {
            let Ok(()) = finish_concurrent(self);
            return;
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

    /// `watch`, called from its own waiting loop. This call never waits.
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
        self.idle_since = ticks();
        let mut what = Count::WaitTicks;
        let rest = loop {
            if matches!(self.pc, Pc::Body { .. }) {
                self.rested = 0;
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
                // A computation may be left only if no answer is awaited: an answer would be lost.
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
        self.own().count(what, ticks().wrapping_sub(self.idle_since));
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

    /// Not part of the protocol: lets others run.
    #[inline(always)]
    pub(crate) fn relax(&mut self) {
        if self.shared.resting.load(Relaxed) && self.id != 0 {
            self.rest();
        } else if self.shared.polite {
            Self::give_way();
        } else {
            std::hint::spin_loop();
        }
    }

    /// Lets other threads have the core. Not inlined: otherwise the compiler would keep the address of the system's
    /// function in a register, and a test that reads the machine code could not tell what is called.
    #[inline(never)]
    fn give_way() {
        system::give_way();
    }

    /// Between two computations: looks for a while whether another one begins, then sleeps a little at a time.
    #[cold]
    fn rest(&mut self) {
        self.rested += 1;
        // Rest does not count as idle time: nothing runs that this worker could help.
        self.idle_since = ticks();
        match self.rested {
            0..64 => std::hint::spin_loop(),
            64..512 => Self::give_way(),
            _ => system::nap(),
        }
    }

    /// The first thread of a computation comes from outside, as if it had been received (lines 87 and 88). The worker
    /// opens a round, so that others may ask it.
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
}

/// Reads a count of a worker from outside.
pub(crate) fn counted(cells: &Cells, what: Count) -> u64 {
    cells.counts[what as usize].load(Relaxed)
}
