//! [`Machine`]: the state of a run, which every scheduler reads and changes.
//!
//! It relies on the computation's edges for what is ready and on the clock for how long work takes. It promises that no
//! strand begins before all its predecessors have executed, whatever a scheduler orders: the run ends with an error.

use crate::ProcessorId;
use crate::clock::{Clock, NEVER};
use crate::mutation::Mutation;
use crate::outcome::{Counters, Space};
use crate::trace::{AttemptResult, Event, EventKind, Trace};
use bombyx_base::Random;
use bombyx_dag::{Computation, StrandId, ThreadId};
use std::collections::HashMap;

/// What a thread is doing (BL §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not yet spawned.
    Unborn,
    /// Living, and its next strand may execute. Some structure of the scheduler holds it.
    Ready,
    /// Living, and a processor works on it: its [home](Machine::home).
    Running,
    /// Living, but its next strand waits for a join edge.
    Stalled,
    /// Its last strand has executed.
    Dead,
}

const NO_STRAND: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Thread {
    next: u32,
    living_children: u32,
    home: u32,
    status: Status,
    /// Whether its frame has moved since a processor last paid for that.
    moved: bool,
}

/// What a processor is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Idle,
    Working(ThreadId),
    Stealing,
    /// Stealing, but without events: no attempt can succeed until some deque fills.
    Parked,
}

/// A steal attempt under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) initiated: u64,
    /// The random choice among P.
    pub(crate) slot: u32,
    /// The request queue it waits in, once it has arrived.
    pub(crate) queue: Option<u32>,
    /// How it failed, while the step that it takes is not over.
    pub(crate) failed: Option<(Option<ProcessorId>, AttemptResult)>,
    /// The processor at whose speed it proceeds, if that is not the thief.
    pub(crate) pace: Option<ProcessorId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Processor {
    pub(crate) activity: Activity,
    /// When the present stretch of work or of stealing began, and the quanta it takes.
    pub(crate) since: u64,
    pub(crate) quanta: u64,
    /// The quanta of that stretch after which its next event is due: fewer than all if every instruction is an event.
    pub(crate) stepped: u64,
    /// When its next event is due.
    pub(crate) until: u64,
    /// When it began the strand it works on, for the trace.
    pub(crate) began: u64,
    pub(crate) random: Random,
    /// The steal attempt it made last.
    pub(crate) attempt: Attempt,
    /// Threads of the program that it took from its own deque, and from elsewhere.
    pub(crate) own: u64,
    pub(crate) acquired: u64,
    /// Whether it got an order that the engine has not carried out yet.
    pub(crate) ordered: bool,
}

/// The state of a run, which every scheduler reads and changes.
///
/// It holds what the papers' model holds: which instructions have executed, which threads are living, ready or
/// stalled, what every processor is doing, and the space in use. Schedulers read it and give orders
/// ([`work`](Self::work), [`acquire`](Self::acquire), [`steal`](Self::steal), [`rest`](Self::rest),
/// [`interrupt`](Self::interrupt)); the engine turns orders into events. Where ready threads wait (deques, a pool) is
/// the scheduler's own business.
pub struct Machine<'c> {
    computation: &'c Computation,
    threads: Vec<Thread>,
    /// Join edges still to be resolved, by strand.
    waits: Vec<u32>,
    /// Quanta left of strands that were interrupted, by thread.
    interrupted: HashMap<ThreadId, u64>,
    pub(crate) processors: Vec<Processor>,
    pub(crate) clock: Clock,
    pub(crate) now: u64,
    pub(crate) orders: Vec<ProcessorId>,
    pub(crate) counters: Counters,
    pub(crate) space: Space,
    pub(crate) trace: Option<Trace>,
    /// If thieves execute in the step of their attempt: the last instant at which there were any, and how many deques
    /// there were before they took something.
    pub(crate) steals_began: Option<u64>,
    pub(crate) deques_before_steals: usize,
    /// Which threads are not counted because they were inserted for their delay, by thread. Empty if there are none.
    inserted: Vec<bool>,
    /// Quanta that a processor spends on a thread whose frame has moved to it, before it works on it.
    migration_quanta: u64,
    /// A bit for each processor that is idle and may get work.
    idle: Vec<u64>,
    /// Of this many processors in a row, only the first ever works. 1 unless a mutation says otherwise.
    one_of: u32,
    working: u32,
    unfinished: u32,
    /// A strand that began before its predecessors had executed.
    pub(crate) illegal: Option<StrandId>,
}

impl<'c> Machine<'c> {
    pub(crate) fn new(
        computation: &'c Computation,
        clock: Clock,
        processors: usize,
        seed: u64,
        trace: bool,
        mutation: Option<Mutation>,
    ) -> Self {
        let one_of = match mutation {
            Some(Mutation::Serial) => processors as u32,
            Some(Mutation::Half) => 2,
            _ => 1,
        };
        let idle = |p: usize| Processor {
            activity: Activity::Idle,
            since: 0,
            quanta: 0,
            stepped: 0,
            until: NEVER,
            began: 0,
            random: Random::stream(seed, p as u64),
            attempt: Attempt::default(),
            own: 0,
            acquired: 0,
            ordered: false,
        };
        let unborn = |t: ThreadId| Thread {
            next: computation.first_strand(t).0,
            living_children: 0,
            home: 0,
            status: Status::Unborn,
            moved: false,
        };
        let mut machine = Self {
            computation,
            threads: computation.threads().map(unborn).collect(),
            waits: computation.strands().map(|s| computation.waits(s)).collect(),
            interrupted: HashMap::new(),
            processors: (0..processors).map(idle).collect(),
            clock,
            now: 0,
            orders: Vec::new(),
            counters: Counters::default(),
            space: Space::default(),
            trace: trace.then(Trace::default),
            inserted: Vec::new(),
            migration_quanta: 0,
            steals_began: None,
            deques_before_steals: 0,
            idle: vec![0; processors.div_ceil(64)],
            one_of,
            working: 0,
            illegal: None,
            unfinished: computation.thread_count() as u32,
        };
        machine.be_born(computation.root(), ProcessorId(0));
        let work = machine.processors().filter(|&p| !machine.is_barred(p)).collect::<Vec<_>>();
        work.into_iter().for_each(|p| machine.idle[p.index() / 64] |= 1 << (p.0 % 64));
        machine
    }

    /// Whether a mutation keeps the processor from ever working.
    pub(crate) fn is_barred(&self, p: ProcessorId) -> bool {
        self.one_of > 1 && !p.0.is_multiple_of(self.one_of)
    }

    /// Does not count these threads among the living ones.
    pub(crate) fn leave_out(&mut self, inserted: Vec<bool>) {
        self.inserted = inserted;
    }

    /// A processor pays this many instructions for every thread whose frame has moved to it.
    pub(crate) fn charge_migrations(&mut self, instructions: u64) {
        self.migration_quanta = instructions * self.clock.quanta();
    }

    /// How much a thread adds to the count of living threads.
    fn counted(&self, thread: ThreadId) -> u64 {
        u64::from(!self.inserted.get(thread.index()).is_some_and(|&inserted| inserted))
    }

    /// The computation being executed.
    pub fn computation(&self) -> &'c Computation {
        self.computation
    }

    /// The present tick. What is true now is true during the step that begins now.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// All processors in order.
    pub fn processors(&self) -> impl DoubleEndedIterator<Item = ProcessorId> + ExactSizeIterator + use<> {
        (0..self.processors.len() as u32).map(ProcessorId)
    }

    /// Number of processors.
    pub fn processor_count(&self) -> usize {
        self.processors.len()
    }

    /// A processor's present speed, in units that only comparisons should use.
    pub fn speed(&self, p: ProcessorId) -> u64 {
        self.clock.rate(p, self.now)
    }

    /// What a processor believes its present speed to be, in units that only comparisons should use. The same as
    /// [`speed`](Self::speed) unless the simulation was given [estimates](crate::Simulation::estimates).
    pub fn estimate(&self, p: ProcessorId) -> u64 {
        self.clock.estimate(p, self.now)
    }

    /// Whether a processor stands still now.
    #[inline]
    pub fn is_stopped(&self, p: ProcessorId) -> bool {
        self.clock.stops() && self.clock.rate(p, self.now) == 0
    }

    /// What a thread is doing.
    #[inline]
    pub fn status(&self, thread: ThreadId) -> Status {
        self.threads[thread.index()].status
    }

    /// The next strand of a thread that has not died: the one executing or to be executed.
    #[inline]
    pub fn next_strand(&self, thread: ThreadId) -> Option<StrandId> {
        let next = self.threads[thread.index()].next;
        (next != NO_STRAND).then_some(StrandId(next))
    }

    /// The processor that holds the thread's frame: the one that works or last worked on it, or whose deque it was
    /// put in when it was enabled.
    #[inline]
    pub fn home(&self, thread: ThreadId) -> ProcessorId {
        ProcessorId(self.threads[thread.index()].home)
    }

    /// How many of the thread's children are living.
    #[inline]
    pub fn living_children(&self, thread: ThreadId) -> u32 {
        self.threads[thread.index()].living_children
    }

    /// Whether the thread has executed part of its next strand.
    pub fn is_interrupted(&self, thread: ThreadId) -> bool {
        self.interrupted.contains_key(&thread)
    }

    /// The thread that a processor works on.
    #[inline]
    pub fn thread_of(&self, p: ProcessorId) -> Option<ThreadId> {
        match self.processors[p.index()].activity {
            Activity::Working(thread) => Some(thread),
            _ => None,
        }
    }

    /// Whether a processor has nothing to do and is not stealing.
    #[inline]
    pub fn is_idle(&self, p: ProcessorId) -> bool {
        self.processors[p.index()].activity == Activity::Idle
    }

    /// The idle processor with the lowest number, if one does not stand still.
    pub fn first_idle(&self) -> Option<ProcessorId> {
        self.idle().next()
    }

    /// The idle processors in order, without those that stand still: they cannot take a thread.
    pub fn idle(&self) -> impl Iterator<Item = ProcessorId> {
        let words = self.idle.iter().zip(0u32..).filter(|(word, _)| **word != 0);
        words.flat_map(|(&word, i)| {
            let ones = std::iter::successors(Some(word), |&w| Some(w & (w - 1)).filter(|&rest| rest != 0));
            let processors = ones.map(move |w| ProcessorId(i * 64 + w.trailing_zeros()));
            processors.filter(|&p| !self.is_stopped(p))
        })
    }

    /// The lowest and the highest [estimate](Self::estimate) that any processor ever has.
    pub fn estimate_range(&self) -> (u64, u64) {
        self.clock.estimates()
    }

    /// Number of processors that work on a thread.
    pub fn working(&self) -> usize {
        self.working as usize
    }

    /// How many deques there were when this step began, before the thieves of this step took something. `None` if there
    /// are no thieves, or if a thief executes one step after its attempt.
    pub fn deques_before_steals(&self) -> Option<usize> {
        (self.steals_began == Some(self.now)).then_some(self.deques_before_steals)
    }

    /// Number of threads that have not executed their last strand, living or unborn.
    pub fn unfinished(&self) -> usize {
        self.unfinished as usize
    }

    /// Quanta of work left in a thread's next strand.
    pub fn quanta_left(&self, thread: ThreadId) -> u64 {
        if self.status(thread) == Status::Running {
            let p = self.home(thread);
            let processor = &self.processors[p.index()];
            if !processor.ordered {
                return processor.quanta - self.clock.done(p, processor.since, processor.quanta, self.now);
            }
        }
        self.interrupted.get(&thread).copied().unwrap_or_else(|| {
            self.next_strand(thread).map_or(0, |s| self.computation.weight(s) * self.clock.quanta())
        })
    }

    /// Quanta in one unit instruction, for use with [`quanta_left`](Self::quanta_left).
    pub fn quanta_per_instruction(&self) -> u64 {
        self.clock.quanta()
    }

    /// Order: `p` works on `thread`, which waited in `p`'s own structure or comes with `p`'s present work.
    pub fn work(&mut self, p: ProcessorId, thread: ThreadId) {
        self.place(p, thread);
        self.threads[thread.index()].status = Status::Running;
        self.order(p, Activity::Working(thread));
    }

    /// Order: `p` works on `thread`, which it took from its own deque.
    pub fn take_own(&mut self, p: ProcessorId, thread: ThreadId) {
        self.processors[p.index()].own += self.counted(thread);
        self.work(p, thread);
    }

    /// Order: `p` works on `thread`, which it took from another processor's deque or from a shared pool.
    pub fn acquire(&mut self, p: ProcessorId, thread: ThreadId) {
        self.counters.acquisitions += 1;
        self.processors[p.index()].acquired += self.counted(thread);
        self.work(p, thread);
    }

    /// Order: `p` becomes a thief.
    pub fn steal(&mut self, p: ProcessorId) {
        self.order(p, Activity::Stealing);
    }

    /// Order: `p` does nothing until it gets another order.
    pub fn rest(&mut self, p: ProcessorId) {
        self.order(p, Activity::Idle);
    }

    /// Order: `p` stops its work at once, even in the middle of an instruction. The thread is then ready, and `p` is
    /// idle.
    ///
    /// # Panics
    /// If `p` works on nothing.
    pub fn interrupt(&mut self, p: ProcessorId) -> ThreadId {
        let thread = self.thread_of(p).expect("only a working processor can be interrupted");
        let Processor { ordered, began, quanta, .. } = self.processors[p.index()];
        if !ordered {
            let left = self.quanta_left(thread);
            self.counters.executed += u128::from(quanta - left);
            self.counters.preemptions += 1;
            let strand = self.next_strand(thread).expect("a running thread has a strand");
            self.interrupted.insert(thread, left);
            if began < self.now {
                self.record(p, began, EventKind::Execute { strand, complete: false });
            }
        }
        self.threads[thread.index()].status = Status::Ready;
        self.order(p, Activity::Idle);
        thread
    }

    /// `p` crashes in the middle of its work. What it has done of its strand is lost, and the strand begins anew. The
    /// thread is then ready, and `p` is idle.
    pub(crate) fn lose(&mut self, p: ProcessorId) -> ThreadId {
        let begun = !self.processors[p.index()].ordered;
        let thread = self.interrupt(p);
        if begun {
            self.counters.preemptions -= 1;
            self.interrupted.remove(&thread);
            let strand = self.next_strand(thread).expect("a running thread has a strand");
            self.space.free(self.computation.allocated(strand));
        }
        thread
    }

    /// Moves the thread's frame to `p`, counting the migration if it was elsewhere. Schedulers that put an enabled
    /// thread into a processor's deque call this; [`work`](Self::work) implies it.
    pub fn place(&mut self, p: ProcessorId, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        if state.home != p.0 {
            state.home = p.0;
            state.moved = true;
            self.counters.migrations += 1;
            self.counters.bytes += self.computation.frame(thread);
        }
    }

    fn order(&mut self, p: ProcessorId, activity: Activity) {
        let barred = self.is_barred(p);
        let processor = &mut self.processors[p.index()];
        let was = std::mem::replace(&mut processor.activity, activity);
        self.working -= u32::from(matches!(was, Activity::Working(_)));
        self.working += u32::from(matches!(activity, Activity::Working(_)));
        let (word, bit) = (&mut self.idle[p.index() / 64], 1 << (p.0 % 64));
        if activity == Activity::Idle && !barred {
            *word |= bit
        } else {
            *word &= !bit
        }
        processor.until = NEVER;
        if !processor.ordered {
            processor.ordered = true;
            self.orders.push(p);
        }
    }

    pub(crate) fn record(&mut self, p: ProcessorId, from: u64, kind: EventKind) {
        if let Some(trace) = &mut self.trace {
            trace.push(Event { processor: p, from, to: self.now, kind });
        }
    }

    /// Begins the next strand of `p`'s thread, or resumes it where it was interrupted. Returns the quanta to do.
    pub(crate) fn begin_strand(&mut self, thread: ThreadId) -> u64 {
        let strand = self.next_strand(thread).expect("a running thread has a strand");
        if self.waits[strand.index()] > 0 {
            self.illegal = Some(strand);
        }
        let resumed = if self.interrupted.is_empty() { None } else { self.interrupted.remove(&thread) };
        let quanta = match resumed {
            Some(left) => left,
            None => {
                self.space.allocate(self.computation.allocated(strand));
                self.computation.weight(strand) * self.clock.quanta()
            }
        };
        if self.migration_quanta > 0 && std::mem::take(&mut self.threads[thread.index()].moved) {
            self.counters.tolls += 1;
            return quanta + self.migration_quanta;
        }
        quanta
    }

    /// The strand that `p` would begin now, unless it resumes an interrupted one.
    pub(crate) fn fresh_strand(&self, thread: ThreadId) -> Option<StrandId> {
        if self.interrupted.is_empty() || !self.is_interrupted(thread) {
            self.next_strand(thread)
        } else {
            None
        }
    }

    /// The strand that `p` worked on has executed. Resolves its join edges, starts its child, and lets its thread go on
    /// or die. Returns what happened. Threads that this enabled are appended to `enabled`.
    pub(crate) fn complete(
        &mut self,
        p: ProcessorId,
        enabled: &mut Vec<(ProcessorId, ThreadId)>,
    ) -> Completed {
        let c = self.computation;
        let thread = self.thread_of(p).expect("only a working processor completes a strand");
        let strand = self.next_strand(thread).expect("a running thread has a strand");
        self.record(p, self.processors[p.index()].began, EventKind::Execute { strand, complete: true });
        self.counters.work += c.weight(strand);
        self.counters.executed += u128::from(self.processors[p.index()].quanta);
        self.space.free(c.freed(strand));
        for &target in c.joins_from(strand) {
            let waiting = c.thread_of(target);
            let waits = &mut self.waits[target.index()];
            *waits -= 1;
            let state = &mut self.threads[waiting.index()];
            if state.home != p.0 {
                self.counters.bytes += JOIN_BYTES;
            }
            if *waits == 0 && state.status == Status::Stalled && state.next == target.0 {
                state.status = Status::Ready;
                enabled.push((p, waiting));
            }
        }
        let child = c.child(strand).filter(|&child| {
            self.threads[thread.index()].living_children += 1;
            self.be_born(child, p)
        });
        let next = c.next(strand);
        self.threads[thread.index()].next = next.map_or(NO_STRAND, |s| s.0);
        if next.is_none() {
            self.die(thread);
        }
        Completed { strand, thread, child }
    }

    /// Decides whether a thread whose strand has completed goes on, and marks it stalled if it cannot.
    pub(crate) fn goes_on(&mut self, thread: ThreadId) -> Option<bool> {
        let next = self.next_strand(thread)?;
        let ready = self.waits[next.index()] == 0;
        self.threads[thread.index()].status = if ready { Status::Ready } else { Status::Stalled };
        Some(ready)
    }

    /// Begins a thread's life. Returns whether it is ready: its first strand may wait for join edges.
    fn be_born(&mut self, thread: ThreadId, p: ProcessorId) -> bool {
        let ready = self.waits[self.computation.first_strand(thread).index()] == 0;
        let state = &mut self.threads[thread.index()];
        state.status = if ready { Status::Ready } else { Status::Stalled };
        state.home = p.0;
        self.space.begin_thread(self.computation.frame(thread), self.counted(thread));
        ready
    }

    /// A frame stays until the frames of all children are gone (BL §2).
    fn die(&mut self, thread: ThreadId) {
        self.threads[thread.index()].status = Status::Dead;
        self.unfinished -= 1;
        let mut dying = thread;
        while self.status(dying) == Status::Dead && self.living_children(dying) == 0 {
            self.space.end_thread(self.computation.frame(dying), self.counted(dying));
            let Some(parent) = self.computation.parent(dying) else { break };
            self.threads[parent.index()].living_children -= 1;
            dying = parent;
        }
    }
}

/// What a completed strand did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) strand: StrandId,
    pub(crate) thread: ThreadId,
    /// The child that it spawned, if the child can go on at once.
    pub(crate) child: Option<ThreadId>,
}

/// Bytes sent along a join edge between processors: the constant of BL Theorem 14.
pub const JOIN_BYTES: u64 = 8;
