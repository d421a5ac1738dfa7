//! A referee that goes through a run of work stealing with the lecture's rules (LEC §1), which speak of procedures,
//! spawns, returns and syncs. It reports where the scheduler does something else.

use crate::run::{Run, text};
use bombyx_dag::ThreadId;
use bombyx_sim::{AttemptResult, Machine, Policy, ProcessorId, Ready};
use std::cell::Cell;
use std::rc::Rc;

/// How many events of a run the lecture's rules decide differently.
pub(super) fn referee(run: &Run) -> Result<u64, String> {
    let differ = Rc::new(Cell::new(0));
    let scheduler = run.scheduler;
    let outcome = run.simulation().run_policy(|setup| {
        let inner = scheduler.policy(setup);
        Box::new(Referee { inner, differ: Rc::clone(&differ), deques: Vec::new(), enabled: None })
    });
    outcome.map_err(text)?;
    Ok(differ.get())
}

struct Referee {
    inner: Box<dyn Policy>,
    differ: Rc<Cell<u64>>,
    /// The deques before the rules of the present event were applied. Empty if there is no event.
    deques: Vec<Vec<ThreadId>>,
    /// The thread that no longer waits after this event.
    enabled: Option<ThreadId>,
}

impl Referee {
    /// Remembers the deques, bottom first.
    fn look(&mut self) {
        if self.deques.is_empty()
            && let Ready::Deques(deques) = self.inner.ready()
        {
            self.deques = deques.into_iter().map(|deque| deque.threads).collect();
        }
    }

    fn must(&self, holds: bool) {
        self.differ.set(self.differ.get() + u64::from(!holds));
    }

    fn deque_of(&self, p: ProcessorId) -> Vec<ThreadId> {
        self.deques.get(p.index()).cloned().unwrap_or_default()
    }

    fn deque_now(&self, p: ProcessorId) -> Vec<ThreadId> {
        match self.inner.ready() {
            Ready::Deques(deques) => deques[p.index()].threads.clone(),
            Ready::Pool(_) => Vec::new(),
        }
    }
}

impl Policy for Referee {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.inner.begin(m);
    }

    /// Rule 1: α goes to the bottom of the deque, the processor works on β.
    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.look();
        let before = self.deque_of(p);
        self.inner.spawned(m, p, parent, child);
        let pushed = [&[parent][..], &before].concat();
        self.must(m.thread_of(p) == Some(child) && self.deque_now(p) == pushed);
        self.deques.clear();
    }

    /// Rule 3: at a sync with outstanding children, the processor steals. Its deque is empty.
    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.look();
        let empty = self.deque_of(p).is_empty();
        self.inner.stalled(m, p, thread);
        self.must(empty && m.thread_of(p).is_none() && !m.is_idle(p));
        self.deques.clear();
    }

    /// Rule 2: (a) the bottom of the deque, (b) the parent if the deque is empty and the parent can be executed, (c) steal.
    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.look();
        let bottom = self.deque_of(p).first().copied();
        // The parent waits, in no deque, for the last of its children. If two return in one step, the second gets it.
        let parent = m.computation().parent(thread);
        let free = self.enabled.take().filter(|&enabled| Some(enabled) == parent);
        let expected = bottom.or(free);
        self.inner.died(m, p, thread);
        match expected {
            Some(next) => self.must(m.thread_of(p) == Some(next)),
            None => self.must(m.thread_of(p).is_none() && !m.is_idle(p)),
        }
        self.deques.clear();
    }

    fn enabled(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.look();
        self.enabled = Some(thread);
        self.inner.enabled(m, p, thread);
    }

    fn continued(&mut self, m: &mut Machine<'_>, p: ProcessorId, thread: ThreadId) {
        self.inner.continued(m, p, thread);
        self.deques.clear();
    }

    fn attempt(&mut self, m: &mut Machine<'_>, thief: ProcessorId, queue: u32) -> AttemptResult {
        self.deques.clear();
        self.look();
        let top = self.deque_of(ProcessorId(queue)).last().copied();
        let result = self.inner.attempt(m, thief, queue);
        match top {
            Some(top) => self.must(result == AttemptResult::Stolen(top) && self.deque_now(thief).is_empty()),
            None => self.must(result == AttemptResult::Empty),
        }
        self.deques.clear();
        result
    }

    fn may_succeed(&self, m: &Machine<'_>) -> bool {
        self.inner.may_succeed(m)
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        self.inner.settle(m);
    }

    fn queue(&self, slot: u32) -> Option<u32> {
        self.inner.queue(slot)
    }

    fn victim(&self, queue: u32) -> Option<ProcessorId> {
        self.inner.victim(queue)
    }

    fn ready(&self) -> Ready {
        self.inner.ready()
    }
}
