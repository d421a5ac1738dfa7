//! Fair runs that never get on, found as strongly connected components of the state graph.
//!
//! A run is *fair* when every processor takes infinitely many steps outside `watch`, every store reaches memory, every
//! processor inside a body calls `communicate` and, for each entry of its watch list, `watch` infinitely often, and
//! every processor in a waiting loop that may call `watch` does so for each entry. These are all conditions of the form
//! "infinitely often one of these states or transitions", so a component in which each condition is met somewhere
//! holds a fair run that visits all of it for ever, and a component that misses one holds none (generalised Büchi
//! condition). Two questions are asked:
//!
//! - *Answers*: can a processor wait for ever for an answer, even if the others' bodies go on for ever? Components are
//!   taken in the part of the graph where that processor waits.
//! - *Termination*: can the program fail to exit although every body ends? No cycle starts a thread, so a processor
//!   inside a body would stay there; components are taken where nobody is.
//!
//! Victims are chosen by an adversary: no luck is assumed. The processors that start without work are interchangeable,
//! so answers are asked about processor 0 and one other.

use super::explore::{Progress, Run, Stats};
use super::graph::{Graph, Id};
use super::machine::{Choice, Machine, Move};
use super::state::{After, Local, MAX_PROCESSORS, Pc, State, Watch};
use super::tree::ContSet;
use super::violation::Violation;

/// Which states a pass looks at, and what an endless fair run among them means.
#[derive(Clone, Copy)]
enum Question {
    Query(usize),
    Join(usize),
    Termination,
}

impl Question {
    fn concerns(self, graph: &Graph, id: Id, processors: usize) -> bool {
        match self {
            Question::Query(p) => waits_for_victim(graph.local(id, p)),
            Question::Join(p) => waits_for_other_side(graph.local(id, p)),
            Question::Termination => {
                !graph.memory(id).exited && !(0..processors).any(|p| is_in_body(graph.local(id, p)))
            }
        }
    }

    fn violation(self) -> Violation {
        match self {
            Question::Query(p) => Violation::QueryUnanswered { processor: p },
            Question::Join(p) => Violation::JoinUnanswered { processor: p },
            Question::Termination => Violation::Livelock,
        }
    }
}

/// In the loop of lines 78 to 82.
fn waits_for_victim(local: &Local) -> bool {
    let after_wait = |after| matches!(after, After::Await { .. });
    match local.pc {
        Pc::Await { .. } | Pc::TestOverwritten { .. } | Pc::Resend { .. } => true,
        Pc::Block { after } | Pc::BlockQuery { after } | Pc::BlockRound { after } => after_wait(after),
        _ => false,
    }
}

/// In the loop of lines 122 and 123 or in that of lines 146 and 147.
fn waits_for_other_side(local: &Local) -> bool {
    matches!(local.pc, Pc::AwaitReply { .. })
        || matches!(local.watch, Watch::AwaitTransfer(_) | Watch::InnerAck { .. })
}

/// Inside a body and free to end it.
fn is_in_body(local: &Local) -> bool {
    local.running().is_some() && local.watch == Watch::Idle
}

/// The endless fair run that is entered soonest, if there is one.
pub(super) fn check(
    machine: &Machine,
    graph: &mut Graph,
    stats: &mut Stats,
    progress: &mut impl FnMut(Progress),
) -> Option<Run> {
    let questions =
        [Question::Termination, Question::Join(0), Question::Join(1), Question::Query(0), Question::Query(1)];
    let (states, passes) = (graph.len(), questions.len());
    let mut best: Option<(Id, Question, Vec<Id>)> = None;
    for (pass, question) in questions.into_iter().enumerate() {
        progress(Progress::Liveness { states, pass: pass + 1, passes });
        let mut components = Components::new(machine.processors, graph, question);
        stats.bytes = stats.bytes.max(graph.bytes() + components.bytes());
        while let Some(component) = components.next(graph) {
            let entry = *component.iter().min().expect("components are not empty");
            if best.as_ref().is_some_and(|(id, ..)| *id <= entry) {
                continue;
            }
            if Fairness::of(machine, graph, &component).holds() {
                best = Some((entry, question, component));
            }
        }
    }
    let (entry, question, component) = best?;
    let cycle = Lap::new(machine, graph, &component, entry).run();
    Some(Run { violation: question.violation(), end: entry, last: None, cycle })
}

/// Tarjan's algorithm, without recursion, on the states that a question concerns.
struct Components {
    order: Vec<u32>,
    low: Vec<u32>,
    stack: Vec<Id>,
    calls: Vec<(Id, u32)>,
    root: Id,
    count: u32,
}

/// Marks in `Components::order`: smaller values are positions in the depth-first order.
const OUTSIDE: u32 = u32::MAX;
const UNSEEN: u32 = u32::MAX - 1;
const DONE: u32 = u32::MAX - 2;

impl Components {
    fn new(processors: usize, graph: &Graph, question: Question) -> Components {
        let mark = |id| if question.concerns(graph, id, processors) { UNSEEN } else { OUTSIDE };
        Components {
            order: (0..graph.len() as Id).map(mark).collect(),
            low: vec![0; graph.len()],
            stack: Vec::new(),
            calls: Vec::new(),
            root: 0,
            count: 0,
        }
    }

    fn bytes(&self) -> usize {
        (self.order.capacity() + self.low.capacity()) * 4
    }

    fn enter(&mut self, id: Id) {
        self.order[id as usize] = self.count;
        self.low[id as usize] = self.count;
        self.count += 1;
        self.stack.push(id);
        self.calls.push((id, 0));
    }

    /// The next component, in no particular order.
    fn next(&mut self, graph: &Graph) -> Option<Vec<Id>> {
        loop {
            let Some(&mut (id, ref mut edge)) = self.calls.last_mut() else {
                while self.order.get(self.root as usize).is_some_and(|&mark| mark != UNSEEN) {
                    self.root += 1;
                }
                if self.root as usize == self.order.len() {
                    return None;
                }
                self.enter(self.root);
                continue;
            };
            if let Some(&to) = graph.edges(id).get(*edge as usize) {
                *edge += 1;
                match self.order[to as usize] {
                    OUTSIDE | DONE => {}
                    UNSEEN => self.enter(to),
                    order => self.low[id as usize] = self.low[id as usize].min(order),
                }
                continue;
            }
            self.calls.pop();
            if let Some(&(caller, _)) = self.calls.last() {
                self.low[caller as usize] = self.low[caller as usize].min(self.low[id as usize]);
            }
            if self.low[id as usize] == self.order[id as usize] {
                let from = self.stack.iter().rposition(|&on| on == id).expect("a root is on the stack");
                let component = self.stack.split_off(from);
                component.iter().for_each(|&done| self.order[done as usize] = DONE);
                return Some(component);
            }
        }
    }
}

/// Which conditions of fairness the states and inner transitions of a component meet. One bit per processor, and
/// one set of continuations per processor.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fairness {
    processors: usize,
    steps: u8,
    drains: u8,
    polls: u8,
    unwatched: [ContSet; MAX_PROCESSORS],
}

impl Fairness {
    fn new(processors: usize, component: &[Id], graph: &Graph) -> Fairness {
        let mut unwatched = [ContSet::default(); MAX_PROCESSORS];
        for (set, local) in unwatched.iter_mut().zip(graph.state(component[0]).locals()) {
            *set = local.watching;
        }
        Fairness { processors, steps: 0, drains: 0, polls: 0, unwatched }
    }

    fn of(machine: &Machine, graph: &mut Graph, component: &[Id]) -> Fairness {
        let mut fairness = Fairness::new(machine.processors, component, graph);
        if component.len() == 1 && !may_rest(&graph.state(component[0])) {
            return fairness;
        }
        let mut members = component.to_vec();
        members.sort_unstable();
        let mut moves = Vec::new();
        for &id in component {
            let state = graph.state(id);
            machine.moves(&state, &mut moves);
            fairness.visit(&state, &moves);
            for &m in &moves {
                if !fairness.would_gain(m) {
                    continue;
                }
                let mut next = state;
                let inside = machine.apply(&mut next, m).is_ok()
                    && graph.find(&next).is_some_and(|to| members.binary_search(&to).is_ok());
                if inside {
                    fairness.take(m);
                }
            }
            if fairness.holds() {
                break;
            }
        }
        fairness
    }

    /// Conditions that hold because a processor has nothing buffered, is in no body, or cannot call `watch`. `moves`
    /// are those of `s`.
    fn visit(&mut self, s: &State, moves: &[Move]) {
        let mut watchable = [ContSet::default(); MAX_PROCESSORS];
        for m in moves {
            if let Move::Step(p, Choice::Watch(c)) = m {
                watchable[usize::from(*p)].insert(*c);
            }
        }
        for (p, local) in s.locals().iter().enumerate() {
            if local.buffer.len() == 0 {
                self.drains |= 1 << p;
            }
            if !is_in_body(local) {
                self.polls |= 1 << p;
            }
            self.unwatched[p].retain(watchable[p]);
        }
    }

    fn visit_state(&mut self, machine: &Machine, s: &State) {
        let mut moves = Vec::new();
        machine.moves(s, &mut moves);
        self.visit(s, &moves);
    }

    fn would_gain(&self, m: Move) -> bool {
        match m {
            Move::Flush(p) => self.drains & (1 << p) == 0,
            Move::Step(p, Choice::Watch(c)) => self.unwatched[usize::from(p)].contains(c),
            Move::Step(p, choice) => {
                self.steps & (1 << p) == 0 || choice == Choice::Communicate && self.polls & (1 << p) == 0
            }
        }
    }

    fn take(&mut self, m: Move) {
        match m {
            Move::Flush(p) => self.drains |= 1 << p,
            Move::Step(p, Choice::Watch(c)) => self.unwatched[usize::from(p)].remove(c),
            Move::Step(p, choice) => {
                self.steps |= 1 << p;
                if choice == Choice::Communicate {
                    self.polls |= 1 << p;
                }
            }
        }
    }

    fn holds(&self) -> bool {
        let all = ((1u32 << self.processors) - 1) as u8;
        self.steps & self.drains & self.polls == all
            && self.unwatched.iter().all(|set| *set == ContSet::default())
    }
}

/// Whether every processor has a step that changes nothing.
fn may_rest(s: &State) -> bool {
    s.locals().iter().all(|local| is_in_body(local) || waits_for_other_side(local))
}

/// A way through a fair component from `entry` back to it that meets every condition of fairness.
struct Lap<'a> {
    machine: &'a Machine,
    graph: &'a mut Graph,
    members: Vec<Id>,
    fairness: Fairness,
    entry: Id,
}

impl<'a> Lap<'a> {
    fn new(machine: &'a Machine, graph: &'a mut Graph, component: &[Id], entry: Id) -> Lap<'a> {
        let mut members = component.to_vec();
        members.sort_unstable();
        let fairness = Fairness::new(machine.processors, component, graph);
        Lap { machine, graph, members, fairness, entry }
    }

    fn run(mut self) -> Vec<Move> {
        let mut lap = Vec::new();
        let mut at = self.entry;
        self.visit(at);
        while !self.fairness.holds() {
            let leg = self.leg(at, |lap, m, to| {
                let mut after = lap.fairness;
                after.take(m);
                after.visit_state(lap.machine, &lap.graph.state(to));
                after != lap.fairness
            });
            for (m, to) in leg {
                self.fairness.take(m);
                self.visit(to);
                lap.push(m);
                at = to;
            }
        }
        if at != self.entry {
            let entry = self.entry;
            lap.extend(self.leg(at, |_, _, to| to == entry).into_iter().map(|(m, _)| m));
        }
        lap
    }

    fn visit(&mut self, id: Id) {
        self.fairness.visit_state(self.machine, &self.graph.state(id));
    }

    /// The shortest way inside the component from `from` over a last move that `arrives`.
    fn leg(&mut self, from: Id, arrives: impl Fn(&Lap<'_>, Move, Id) -> bool) -> Vec<(Move, Id)> {
        let mut reached: Vec<Option<(Move, Id)>> = vec![None; self.members.len()];
        let place = |members: &[Id], id: Id| members.binary_search(&id).ok();
        let mut queue = std::collections::VecDeque::from([from]);
        let mut moves = Vec::new();
        while let Some(id) = queue.pop_front() {
            let state = self.graph.state(id);
            self.machine.moves(&state, &mut moves);
            for &m in &moves {
                let mut next = state;
                if self.machine.apply(&mut next, m).is_err() {
                    continue;
                }
                let Some(to) = self.graph.find(&next) else { continue };
                let Some(at) = place(&self.members, to) else { continue };
                if arrives(self, m, to) {
                    let mut way = vec![(m, to)];
                    let mut back = id;
                    while back != from {
                        let (m, parent) =
                            reached[place(&self.members, back).expect("inside")].expect("reached");
                        way.push((m, back));
                        back = parent;
                    }
                    way.reverse();
                    return way;
                }
                if to != from && reached[at].is_none() {
                    reached[at] = Some((m, id));
                    queue.push_back(to);
                }
            }
        }
        unreachable!("a fair component meets every condition")
    }
}
