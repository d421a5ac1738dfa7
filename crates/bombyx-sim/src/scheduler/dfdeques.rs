//! `dfdeques:K`: DFDeques(K), DFD §3.
//!
//! All ready threads are in deques, and all deques in one list R, in the order of the serial depth-first execution
//! (Lemma 3.1). A processor works at the bottom of its own deque, may allocate K bytes net from one steal to the
//! next, and leaves its deque in R when the quota is used up. Thieves take the top of one of the leftmost P deques.
//! K trades space against granularity: K = ∞ is work stealing, small K is close to depth first. Expected space is
//! S1 + O(min(K, S1)·P·D) (Theorem 4.3).
//!
//! ⌈m/K⌉ dummy threads come before an allocation of m > K bytes ([`WithDummies`](crate::WithDummies)). A processor that
//! has run one gives up its deque. The quota counts heap memory and frames (§3.3) or, if asked for, only the heap, as
//! the implementation of §5 does ([`Metering`](super::Metering)).
//!
//! A deque with an owner is known by the owner's number, and one without by a separate number. So a request that waits
//! for a processor's deque stays with the processor, as in `work-stealing`.

use super::meter::Meters;
use super::{Deque, Mutation, Policy, Quota, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use crate::trace::AttemptResult;
use bombyx_dag::{StrandId, ThreadId};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

struct Dfdeques {
    /// R, left to right: numbers of deques.
    list: Vec<u32>,
    /// Deques of processors. The back is the bottom, where the owner works. Empty unless in R.
    owned: Vec<VecDeque<ThreadId>>,
    /// Deques without owners, never empty.
    left: BTreeMap<u32, VecDeque<ThreadId>>,
    next_number: u32,
    /// What each processor has allocated since its last steal.
    meters: Meters,
    nonempty: usize,
    dummies: Vec<bool>,
    mutation: Option<Mutation>,
    /// Counts choices, for [`Mutation::StealAnywhere`].
    chosen: Cell<usize>,
}

pub(super) fn policy(setup: &Setup, quota: Quota) -> Box<dyn Policy> {
    Box::new(Dfdeques {
        list: Vec::new(),
        owned: vec![VecDeque::new(); setup.processors],
        left: BTreeMap::new(),
        next_number: setup.processors as u32,
        meters: Meters::new(quota, setup),
        nonempty: 0,
        dummies: setup.dummies.clone(),
        mutation: setup.mutation,
        chosen: Cell::new(0),
    })
}

impl Dfdeques {
    fn push_bottom(&mut self, p: ProcessorId, thread: ThreadId) {
        let deque = &mut self.owned[p.index()];
        self.nonempty += usize::from(deque.is_empty());
        deque.push_back(thread);
    }

    fn position(&self, number: u32) -> usize {
        self.list.iter().position(|&other| other == number).expect("the deque is in R")
    }

    /// `p` works on the newest thread of its deque. If the deque is empty, `p` deletes it and steals.
    fn next(&mut self, m: &mut Machine<'_>, p: ProcessorId) {
        let deque = &mut self.owned[p.index()];
        let top = self.mutation == Some(Mutation::PopTop);
        match if top { deque.pop_front() } else { deque.pop_back() } {
            Some(thread) => {
                self.nonempty -= usize::from(deque.is_empty());
                m.take_own(p, thread);
            }
            None => {
                self.list.remove(self.position(p.0));
                self.steal(m, p);
            }
        }
    }

    /// `p` leaves its deque in R without an owner, deletes it if it is empty, and steals.
    fn give_up(&mut self, m: &mut Machine<'_>, p: ProcessorId) {
        let at = self.position(p.0);
        let deque = std::mem::take(&mut self.owned[p.index()]);
        if deque.is_empty() {
            self.list.remove(at);
        } else {
            self.list[at] = self.next_number;
            self.left.insert(self.next_number, deque);
            self.next_number += 1;
        }
        self.steal(m, p);
    }

    /// A steal sets the quota to K.
    fn steal(&mut self, m: &mut Machine<'_>, p: ProcessorId) {
        self.meters.reset(p);
        m.steal(p);
    }

    fn owner(&self, number: u32) -> Option<ProcessorId> {
        ((number as usize) < self.owned.len()).then_some(ProcessorId(number))
    }
}

impl Policy for Dfdeques {
    fn begin(&mut self, m: &mut Machine<'_>) {
        let mut processors = m.processors();
        let first = processors.next().expect("there is a processor");
        self.list.push(first.0);
        m.acquire(first, m.computation().root());
        processors.for_each(|p| self.steal(m, p));
    }

    /// Case fork: push the current thread, run the new child.
    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        if self.mutation == Some(Mutation::KeepParent) {
            self.push_bottom(p, child);
            return m.work(p, parent);
        }
        self.push_bottom(p, parent);
        m.work(p, child);
    }

    /// Case suspend: take from the own deque.
    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        self.next(m, p);
    }

    /// Case terminate: a parent that this woke up lies at the bottom by now and runs next. A dummy costs the deque.
    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        let keep = self.mutation == Some(Mutation::KeepDequeAfterDummy);
        let dummy = self.dummies.get(thread.index()).is_some_and(|&dummy| dummy);
        if dummy && !keep || self.mutation == Some(Mutation::LeavesParent) {
            self.give_up(m, p);
        } else {
            self.next(m, p);
        }
    }

    fn enabled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        m.place(p, thread);
        self.push_bottom(p, thread);
    }

    /// The thread goes to the bottom of the deque, which stays in R without an owner.
    fn crashed(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.enabled(m, p, thread);
        self.give_up(m, p);
    }

    /// Case memory quota exhausted: push the current thread, give up the deque, steal.
    fn admit(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId, strand: StrandId) -> bool {
        if self.meters.charge(p, strand) || self.mutation == Some(Mutation::IgnoreQuota) {
            return true;
        }
        m.interrupt(p);
        self.push_bottom(p, thread);
        self.give_up(m, p);
        false
    }

    fn is_metered(&self) -> bool {
        self.meters.is_on()
    }

    fn executed(&mut self, p: ProcessorId, strand: StrandId) {
        if self.mutation != Some(Mutation::CreditNothing) {
            self.meters.credit(p, strand);
        }
    }

    /// The choice r names the r-th deque from the left.
    fn queue(&self, slot: u32) -> Option<u32> {
        let (all, first) = (self.list.len(), slot as usize);
        let at = match self.mutation {
            Some(Mutation::StealAnywhere) if all > self.owned.len() => {
                self.chosen.set(self.chosen.get() + 1);
                (first + self.chosen.get() * self.owned.len()) % all
            }
            Some(Mutation::StealRight) => all.checked_sub(first + 1)?,
            _ => first,
        };
        self.list.get(at).copied()
    }

    fn victim(&self, queue: u32) -> Option<ProcessorId> {
        self.owner(queue)
    }

    /// Takes the oldest thread. A new deque for it is placed directly right of its victim.
    fn attempt(&mut self, m: &mut Machine<'_>, thief: ProcessorId, queue: u32) -> AttemptResult {
        let deque = match self.owner(queue) {
            Some(owner) => Some(&mut self.owned[owner.index()]),
            None => self.left.get_mut(&queue),
        };
        let Some((deque, thread)) = deque.and_then(|deque| {
            let youngest = self.mutation == Some(Mutation::StealBottom);
            let thread = if youngest { deque.pop_back() } else { deque.pop_front() }?;
            Some((deque, thread))
        }) else {
            return AttemptResult::Empty;
        };
        let emptied = deque.is_empty();
        self.nonempty -= usize::from(emptied);
        let at = self.position(queue);
        self.list.insert(at + usize::from(self.mutation != Some(Mutation::NewDequeLeft)), thief.0);
        if emptied && self.left.remove(&queue).is_some() {
            self.list.remove(self.position(queue));
        }
        m.acquire(thief, thread);
        AttemptResult::Stolen(thread)
    }

    fn may_succeed(&self, _: &Machine<'_>) -> bool {
        self.nonempty > 0
    }

    fn deque_count(&self) -> usize {
        self.list.len()
    }

    fn ready(&self) -> Ready {
        let deque = |&number: &u32| {
            let owner = self.owner(number);
            let threads = owner.map_or_else(|| &self.left[&number], |p| &self.owned[p.index()]);
            Deque { owner, threads: threads.iter().rev().copied().collect() }
        };
        Ready::Deques(self.list.iter().map(deque).collect())
    }
}
