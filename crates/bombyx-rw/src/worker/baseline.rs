//! The baselines' parts of a worker: private deques with compare-and-swap, and concurrent deques.

use super::Worker;
use crate::cells::Count;
use crate::chase_lev::Steal;
use crate::discipline::{Discipline, Joins};
use crate::protocol::{Cont, Next, Pc, Processor, Side, start};
use crate::record::{Thread, ThreadRef};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The value in a reception cell that says that the victim has nothing.
fn nothing() -> *mut Thread {
    ptr::dangling_mut()
}

impl<K: Discipline> Worker<K> {
    /// Private deques with compare-and-swap: answers the open request, if there is one (Acar, Charguéraud and Rainey's
    /// `communicate`), and says whether it is worth asking.
    #[inline(always)]
    pub(crate) fn answer_request(&mut self) {
        let worth = self.deque.len() > 0;
        if self.own().has_work.load(Relaxed) != worth {
            self.own().has_work.store(worth, Release);
        }
        let request = self.own().request.load(Relaxed);
        if request != 0 {
            self.give(request);
        }
    }

    #[cold]
    #[inline(never)]
    fn give(&mut self, request: u64) {
        let open = |t: &ThreadRef| matches!(self.conti(*t), Next::Branch(Cont { side: Side::Right, .. }));
        let given = match self.peek_top().filter(open) {
            None => nothing(),
            Some(thread) => {
                self.pop_top();
                if K::JOINS == Joins::ReadWrite
                    && let Next::Branch(cont) = self.conti(thread)
                {
                    self.watch_push(Cont { join: cont.join, side: Side::Left });
                }
                self.count(Count::Served);
                thread.0.as_ptr()
            }
        };
        self.count(Count::Answered);
        self.own().request.store(0, Release);
        self.pause();
        self.shared.cells((request - 1) as u32).received.store(given, Release);
    }

    /// Private deques with compare-and-swap: one attempt of `acquire`.
    pub(crate) fn request(&mut self) {
        self.pc = Pc::Choose;
        let victim = self.victim();
        self.answer_request();
        self.relax();
        if !self.shared.cells(victim).has_work.load(Acquire) {
            return;
        }
        self.own().received.store(ptr::null_mut(), Relaxed);
        let mine = u64::from(self.id) + 1;
        self.pause();
        if self.shared.cells(victim).request.compare_exchange(0, mine, AcqRel, Relaxed).is_err() {
            return;
        }
        self.count(Count::Asked);
        let received = loop {
            let received = self.own().received.load(Acquire);
            if !received.is_null() {
                break received;
            }
            if self.shared.is_broken() {
                return;
            }
            self.answer_request();
            self.relax();
        };
        if received == nothing() {
            return;
        }
        let Some(thread) = NonNull::new(received).map(ThreadRef) else { return };
        self.count(Count::Steals);
        if K::JOINS == Joins::ReadWrite
            && let Next::Branch(cont) = self.conti(thread)
        {
            self.watch_push(cont);
        }
        self.push_bottom(thread);
        self.next_thread();
    }

    /// Concurrent deques: one attempt of `acquire`.
    pub(crate) fn steal_concurrent(&mut self) {
        self.pc = Pc::Choose;
        let victim = self.victim();
        self.pause();
        self.count(Count::Asked);
        match self.shared.cells(victim).deque.steal() {
            Steal::Success(thread) => {
                self.count(Count::Steals);
                let Ok(()) = start(self, ThreadRef(thread));
            }
            Steal::Empty | Steal::Lost => self.relax(),
        }
    }
}
