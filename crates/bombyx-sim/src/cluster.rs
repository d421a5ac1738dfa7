//! [`TwoLevel`]: nodes with several processors each, messages that take time, and one scheduler through which every
//! remote call goes.
//!
//! **The machine.** A computation is cut into *calls*: a remote thread together with all its descendants that are not
//! below another remote thread. The root is the client, which has its own node. A remote spawn is a message to the
//! scheduler. The scheduler serves one message after another. A call costs it half of `call_cost` when it is submitted
//! and half when it ends. It gives a call to the node with the fewest calls. A node may hold a few more calls than it
//! has processors ([`TwoLevel::held`]), so that it does not idle while the next call is on its way. Deeper calls go
//! first, then older ones. A message takes `latency`. The bytes of a call (its frame) take their time on the wire, half
//! with the argument and half with the result.
//!
//! A caller has at most [`TwoLevel::window`] calls under way. It submits the next one when a result is back.
//!
//! **On a node**, processors work on ready strands, newest first, and never idle while there is one. A node runs as
//! many calls as it has processors. A call that only waits for other calls does not count.
//!
//! This is the shape of Dask.distributed with Bombyx in its workers. What a call costs the scheduler must be measured.
//! The model has no failures, and no other traffic on the wires.

use bombyx_dag::{Computation, Measures, StrandId, ThreadId};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// A cluster. Times are in the computation's unit, which is nanoseconds for recorded programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLevel {
    /// The number of nodes, beside that of the client.
    pub nodes: usize,
    /// The number of processors of each node.
    pub processors: usize,
    /// How long a message takes.
    pub latency: u64,
    /// Bytes per unit of time.
    pub bandwidth: f64,
    /// What a call costs the scheduler.
    pub call_cost: u64,
}

/// How a computation ran on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterOutcome {
    /// When the client ended.
    pub makespan: u64,
    /// How long the scheduler was busy.
    pub scheduler_busy: u64,
    /// How long the processors of all nodes were busy, except the client's.
    pub nodes_busy: u64,
    /// The number of remote calls.
    pub calls: u64,
}

impl TwoLevel {
    /// How many calls a node holds at a time: one and a tenth for each processor, rounded up, as Dask does by default.
    pub fn held(&self) -> usize {
        (self.processors * 11).div_ceil(10)
    }

    /// How many calls a caller has under way at a time: four for each processor and at least 16, as `bombyx-cluster`
    /// does by default.
    pub fn window(&self) -> usize {
        (4 * self.nodes * self.processors).max(16)
    }

    /// Runs a computation. `remote` says which threads are calls. The root never is.
    ///
    /// Each run is checked, in release builds too: every strand ran, and the time is neither below the work divided by
    /// all processors nor below the span.
    ///
    /// # Panics
    /// If the machine has no nodes or no processors, if its bandwidth is not positive, or if the run breaks a bound,
    /// which is an error of this simulator.
    ///
    /// ```
    /// use bombyx_dag::Builder;
    /// use bombyx_sim::TwoLevel;
    ///
    /// // A client with two calls of 100.
    /// let mut b = Builder::new(0);
    /// for _ in 0..2 {
    ///     b.strand(1);
    ///     b.spawn(0);
    ///     b.strand(100);
    ///     b.end();
    /// }
    /// b.strand(1);
    /// b.strand(1);
    /// b.wait_for(bombyx_dag::StrandId::new(1));
    /// b.wait_for(bombyx_dag::StrandId::new(3));
    /// let computation = b.build()?;
    /// let machine = TwoLevel { nodes: 2, processors: 1, latency: 5, bandwidth: 1.0, call_cost: 4 };
    /// let outcome = machine.run(&computation, |_| true);
    /// // The second call: spawned at 2, at the scheduler at 7, served until 10 behind the first, at its node at 15, done at
    /// // 115, at the scheduler at 120, served until 122, at the client at 127; and one strand more.
    /// assert_eq!((outcome.makespan, outcome.calls), (128, 2));
    /// # Ok::<(), bombyx_dag::BuildError>(())
    /// ```
    pub fn run(&self, computation: &Computation, remote: impl Fn(ThreadId) -> bool) -> ClusterOutcome {
        assert!(self.nodes > 0 && self.processors > 0, "a cluster has nodes with processors");
        assert!(self.bandwidth > 0.0, "bytes need some bandwidth");
        let run = Run::new(self, computation, remote);
        self.checked(computation, run)
    }

    /// Runs, and panics if the outcome cannot be.
    fn checked(&self, computation: &Computation, mut run: Run) -> ClusterOutcome {
        let outcome = run.run();
        let left: usize = run.calls.iter().flatten().map(|call| call.left).sum();
        assert_eq!(left, 0, "strands never ran");
        let Measures { work, span, .. } = Measures::of(computation);
        let processors = (self.nodes as u64 + 1) * self.processors as u64;
        let makespan = outcome.makespan;
        assert!(
            makespan >= work.div_ceil(processors),
            "{work} of work on {processors} processors in {makespan}"
        );
        assert!(makespan >= span, "a span of {span} in {makespan}");
        outcome
    }
}

/// The number of a call, which is that of its first thread.
type CallId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A message about a submitted call is at the scheduler.
    Submitted(CallId),
    /// The scheduler has served it.
    Accepted(CallId),
    /// The argument is at the node.
    Delivered(CallId),
    /// A processor of the node has ended a strand.
    Executed { strand: u32, node: usize },
    /// The scheduler has heard that the call ended.
    Ended(CallId),
    /// The scheduler has processed the end of the call.
    Settled(CallId),
    /// The result is where it is needed.
    Returned(CallId),
    /// A join edge between calls that does not come from the end of a call.
    Joined { strand: u32 },
}

struct Call {
    /// Strands that have not ended.
    left: usize,
    /// Strands that are ready or run.
    active: usize,
    depth: u32,
    bytes: u64,
    node: usize,
    /// Strands of other calls that wait for its end.
    joins: Vec<StrandId>,
    /// Whether it waits only for other calls.
    paused: bool,
    /// The call that made this call. The root's caller is the root.
    caller: CallId,
    /// Its own calls that are under way, and those that must wait until one of them ends.
    under_way: usize,
    backlog: VecDeque<CallId>,
}

struct Node {
    idle: usize,
    ready: Vec<StrandId>,
    waiting: VecDeque<CallId>,
    /// Calls that have begun, have not ended, and do not wait for others.
    running: usize,
}

struct Run<'a> {
    machine: &'a TwoLevel,
    computation: &'a Computation,
    call_of: Vec<CallId>,
    calls: Vec<Option<Call>>,
    waits: Vec<u32>,
    nodes: Vec<Node>,
    /// How many calls each node holds, as far as the scheduler knows, without those that only wait. The client's node
    /// is not included.
    load: Vec<usize>,
    by_load: BTreeSet<(usize, usize)>,
    accepted: BinaryHeap<(u32, Reverse<u64>, CallId)>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    now: u64,
    scheduler_free: u64,
    outcome: ClusterOutcome,
    #[cfg(test)]
    flaw: Option<tests::Flaw>,
}

impl<'a> Run<'a> {
    fn new(machine: &'a TwoLevel, c: &'a Computation, remote: impl Fn(ThreadId) -> bool) -> Self {
        let mut call_of: Vec<CallId> = Vec::with_capacity(c.thread_count());
        let mut calls: Vec<Option<Call>> = Vec::with_capacity(c.thread_count());
        for thread in c.threads() {
            // Parents come before their children.
            let parent = c.parent(thread).map(|parent| call_of[parent.index()]);
            let own = parent.is_none_or(|_| remote(thread));
            call_of.push(if own { thread.index() } else { parent.expect("the root is a call") });
            calls.push(own.then(|| Call {
                left: 0,
                active: 0,
                depth: parent.map_or(0, |parent| calls[parent].as_ref().expect("a call").depth + 1),
                bytes: c.frame(thread),
                node: machine.nodes,
                joins: Vec::new(),
                paused: false,
                caller: parent.unwrap_or(thread.index()),
                under_way: 0,
                backlog: VecDeque::new(),
            }));
        }
        for strand in c.strands() {
            calls[call_of[c.thread_of(strand).index()]].as_mut().expect("a call").left += 1;
        }
        let node = || Node { idle: machine.processors, ready: vec![], waiting: VecDeque::new(), running: 0 };
        Run {
            machine,
            computation: c,
            call_of,
            calls,
            waits: c.strands().map(|strand| c.waits(strand)).collect(),
            nodes: (0..=machine.nodes).map(|_| node()).collect(),
            load: vec![0; machine.nodes],
            by_load: (0..machine.nodes).map(|node| (0, node)).collect(),
            accepted: BinaryHeap::new(),
            events: BinaryHeap::new(),
            order: 0,
            now: 0,
            scheduler_free: 0,
            outcome: ClusterOutcome { makespan: 0, scheduler_busy: 0, nodes_busy: 0, calls: 0 },
            #[cfg(test)]
            flaw: None,
        }
    }

    fn run(&mut self) -> ClusterOutcome {
        self.begin(self.call_of[0]);
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            self.now = time;
            self.handle(event);
        }
        self.outcome.makespan = self.now;
        self.outcome
    }

    fn call(&mut self, id: CallId) -> &mut Call {
        self.calls[id].as_mut().expect("a call")
    }

    fn call_of(&self, strand: StrandId) -> CallId {
        self.call_of[self.computation.thread_of(strand).index()]
    }

    fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, event)));
    }

    fn message(&mut self, bytes: u64, event: Event) {
        #[cfg(test)]
        if self.flaw == Some(tests::Flaw::LosesMessages) && self.order == 7 {
            self.order += 1;
            return;
        }
        let wire = (bytes as f64 / self.machine.bandwidth).round() as u64;
        self.at(self.now + self.machine.latency + wire, event);
    }

    /// The scheduler serves a message after those that came before it, for half the cost of a call.
    fn serve(&mut self, cost: u64, event: Event) {
        self.scheduler_free = self.scheduler_free.max(self.now) + cost;
        self.outcome.scheduler_busy += cost;
        self.at(self.scheduler_free, event);
    }

    fn handle(&mut self, event: Event) {
        let half = self.machine.call_cost / 2;
        match event {
            Event::Submitted(call) => self.serve(half, Event::Accepted(call)),
            Event::Accepted(call) => {
                let depth = self.call(call).depth;
                self.order += 1;
                self.accepted.push((depth, Reverse(self.order), call));
                self.assign();
            }
            Event::Delivered(call) => {
                let node = self.call(call).node;
                self.nodes[node].waiting.push_back(call);
                self.admit(node);
            }
            Event::Executed { strand, node } => self.executed(StrandId::new(strand as usize), node),
            Event::Ended(call) => self.serve(self.machine.call_cost - half, Event::Settled(call)),
            Event::Settled(call) => {
                let (node, bytes) = (self.call(call).node, self.call(call).bytes);
                self.change_load(node, false);
                self.message(bytes / 2, Event::Returned(call));
                self.assign();
            }
            Event::Returned(call) => {
                let caller = self.call(call).caller;
                self.call(caller).under_way -= 1;
                self.submit(caller);
                for strand in std::mem::take(&mut self.call(call).joins) {
                    self.arrive(strand);
                }
            }
            Event::Joined { strand } => self.arrive(StrandId::new(strand as usize)),
        }
    }

    /// Submits calls of a caller, as many as its window allows.
    fn submit(&mut self, caller: CallId) {
        while self.call(caller).under_way < self.machine.window() {
            let Some(next) = self.call(caller).backlog.pop_front() else { return };
            self.call(caller).under_way += 1;
            self.message(0, Event::Submitted(next));
        }
    }

    fn change_load(&mut self, node: usize, more: bool) {
        if let Some(load) = self.load.get_mut(node) {
            self.by_load.remove(&(*load, node));
            *load = if more { *load + 1 } else { *load - 1 };
            self.by_load.insert((*load, node));
        }
    }

    /// Gives accepted calls to nodes that can hold more.
    fn assign(&mut self) {
        while let Some(&(load, node)) = self.by_load.first() {
            if load >= self.machine.held() {
                return;
            }
            let Some((_, _, call)) = self.accepted.pop() else { return };
            self.call(call).node = node;
            self.change_load(node, true);
            let bytes = self.call(call).bytes;
            self.message(bytes - bytes / 2, Event::Delivered(call));
        }
    }

    /// Begins calls that are at the node, as many as it has processors.
    fn admit(&mut self, node: usize) {
        while self.nodes[node].running < self.machine.processors {
            let Some(call) = self.nodes[node].waiting.pop_front() else { return };
            self.begin(call);
        }
    }

    fn begin(&mut self, call: CallId) {
        let first = self.computation.first_strand(ThreadId::new(call));
        self.ready(first);
        self.work(self.call_node(call));
    }

    fn call_node(&self, call: CallId) -> usize {
        self.calls[call].as_ref().expect("a call").node
    }

    /// A strand can run.
    fn ready(&mut self, strand: StrandId) {
        let id = self.call_of(strand);
        let call = self.call(id);
        call.active += 1;
        let (node, woke) = (call.node, call.active == 1);
        self.nodes[node].ready.push(strand);
        if woke {
            self.nodes[node].running += 1;
            if std::mem::take(&mut self.call(id).paused) {
                self.change_load(node, true);
            }
        }
    }

    /// Idle processors of the node take what is ready.
    fn work(&mut self, node: usize) {
        while self.nodes[node].idle > 0 {
            let Some(strand) = self.nodes[node].ready.pop() else { return };
            self.nodes[node].idle -= 1;
            let weight = self.computation.weight(strand);
            #[cfg(test)]
            let weight = if self.flaw == Some(tests::Flaw::Hurries) { weight / 2 } else { weight };
            if node < self.machine.nodes {
                self.outcome.nodes_busy += weight;
            }
            self.at(self.now + weight, Event::Executed { strand: strand.index() as u32, node });
        }
    }

    fn executed(&mut self, strand: StrandId, node: usize) {
        let c = self.computation;
        self.nodes[node].idle += 1;
        self.waits[strand.index()] = u32::MAX;
        let id = self.call_of(strand);
        let last = c.next(strand).is_none() && c.thread_of(strand).index() == id;
        for &to in c.joins_from(strand) {
            match (self.call_of(to) == id, last) {
                (true, _) => self.arrive_here(to),
                (false, true) => self.call(id).joins.push(to),
                (false, false) => self.message(0, Event::Joined { strand: to.index() as u32 }),
            }
        }
        if let Some(next) = c.next(strand) {
            if self.waits[next.index()] == 0 {
                self.ready(next);
            } else {
                // It waits only for joins, because its predecessor is done.
                self.waits[next.index()] |= STARTED;
            }
        }
        if let Some(child) = c.spawned(strand) {
            let call = self.call_of(child);
            if call == id {
                self.ready(child);
            } else {
                self.outcome.calls += 1;
                self.call(id).backlog.push_back(call);
                self.submit(id);
            }
        }
        let call = self.call(id);
        call.left -= 1;
        call.active -= 1;
        if call.left == 0 || call.active == 0 {
            let ended = call.left == 0;
            self.nodes[node].running -= 1;
            if ended && node < self.machine.nodes {
                self.message(0, Event::Ended(id));
            } else if !ended {
                // It waits for other calls, so its place is free.
                self.call(id).paused = true;
                self.change_load(node, false);
                self.assign();
            }
            self.admit(node);
        }
        self.work(node);
    }

    /// A join edge reaches a strand of another call.
    fn arrive(&mut self, strand: StrandId) {
        self.arrive_here(strand);
        let node = self.call_node(self.call_of(strand));
        self.work(node);
    }

    fn arrive_here(&mut self, strand: StrandId) {
        let waits = &mut self.waits[strand.index()];
        *waits -= 1;
        if *waits == STARTED {
            *waits = 0;
            self.ready(strand);
        }
    }
}

/// Marks a strand that still waits for joins, although its predecessor in its thread is done.
const STARTED: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::{Builder, generate::Spec};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Planted errors.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Flaw {
        LosesMessages,
        /// Every strand takes half its time.
        Hurries,
    }

    const FREE: TwoLevel = TwoLevel { nodes: 1, processors: 1, latency: 0, bandwidth: 1.0, call_cost: 0 };

    /// A client with this many calls, each a thread of one strand.
    fn flat(calls: usize, weight: u64, bytes: u64) -> Computation {
        let mut b = Builder::new(0);
        let ends: Vec<StrandId> = (0..calls)
            .map(|_| {
                b.strand(1);
                b.spawn(bytes);
                b.strand(weight);
                b.end()
            })
            .collect();
        b.strand(1);
        b.strand(1);
        ends.into_iter().for_each(|end| b.wait_for(end));
        b.build().unwrap()
    }

    fn computation(spec: &str) -> Computation {
        spec.parse::<Spec>().unwrap().build().unwrap()
    }

    #[test]
    fn without_calls_the_client_does_everything() {
        let c = computation("fib:12");
        let outcome = FREE.run(&c, |_| false);
        let measures = Measures::of(&c);
        assert_eq!((outcome.makespan, outcome.calls, outcome.nodes_busy), (measures.work, 0, 0));
        // Greedy on two processors.
        let two = TwoLevel { processors: 2, ..FREE }.run(&c, |_| false).makespan;
        assert!((measures.lower_bound(2)..=measures.greedy_bound(2)).contains(&two));
    }

    /// All work is done once, whatever is remote, even with calls below calls.
    #[test]
    fn every_strand_runs_once() {
        for spec in ["fib:12", "dnc:depth=5,work=7", "loop:n=50"] {
            let c = computation(spec);
            let work = Measures::of(&c).work;
            for every in 1..5 {
                for (nodes, processors) in [(1, 1), (3, 1), (2, 4)] {
                    let machine = TwoLevel { nodes, processors, latency: 3, call_cost: 2, ..FREE };
                    let outcome = machine.run(&c, |thread| thread.index() % every == 0);
                    let client = work - outcome.nodes_busy;
                    assert!(outcome.nodes_busy < work && client > 0, "{spec}");
                    assert!(outcome.makespan >= work.div_ceil(((nodes + 1) * processors) as u64), "{spec}");
                    let remote =
                        c.threads().filter(|t| t.index() > 0 && t.index() % every == 0).count() as u64;
                    assert_eq!(outcome.calls, remote, "{spec}");
                    assert_eq!(outcome.scheduler_busy, 2 * remote, "{spec}");
                }
            }
        }
    }

    #[test]
    fn impossible_runs_are_noticed() {
        let c = flat(20, 1000, 0);
        for (flaw, nodes, complaint) in [
            (Flaw::LosesMessages, 2, "strands never ran"),
            (Flaw::Hurries, 2, "of work on 3 processors"),
            (Flaw::Hurries, 100, "a span of"),
        ] {
            let machine = TwoLevel { nodes, ..FREE };
            let mut run = Run::new(&machine, &c, |_| true);
            run.flaw = Some(flaw);
            let payload =
                catch_unwind(AssertUnwindSafe(|| machine.checked(&c, run))).expect_err("it is noticed");
            let message = payload.downcast_ref::<String>().expect("a message");
            assert!(message.contains(complaint), "{flaw:?}: {message}");
        }
    }

    #[test]
    fn nodes_share_the_calls() {
        let c = flat(100, 1000, 0);
        let time = |nodes, processors| TwoLevel { nodes, processors, ..FREE }.run(&c, |_| true).makespan;
        assert!((100_000..100_200).contains(&time(1, 1)));
        assert!((10_000..10_200).contains(&time(10, 1)));
        assert!((10_000..10_200).contains(&time(5, 2)));
        assert!((1_000..1_200).contains(&time(200, 1)));
    }

    #[test]
    fn the_scheduler_is_the_limit() {
        let c = flat(1000, 1000, 0);
        let time = |nodes| TwoLevel { nodes, call_cost: 100, ..FREE }.run(&c, |_| true).makespan;
        // A scheduler that spends 100 on each call can serve only ten calls of 1000 at a time.
        assert!(time(5) < 210_000);
        assert!(time(100) >= 100_000);
        assert!(time(1000) >= 100_000);
    }

    #[test]
    fn bytes_and_messages_take_time() {
        let c = flat(1, 1000, 500);
        let slow = TwoLevel { latency: 10, bandwidth: 0.5, ..FREE }.run(&c, |_| true).makespan;
        // The strand that spawns, the call, four messages, 500 bytes, and the last strand.
        assert_eq!(slow, 1 + 1000 + 40 + 1000 + 1);
    }
}
