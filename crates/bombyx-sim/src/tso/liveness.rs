//! Fair runs that make no progress, found as strongly connected components of the state graph.
//!
//! A run is *fair* when all of this holds. Every processor takes infinitely many steps outside `watch`. Every store
//! reaches memory. Every processor inside a body calls `communicate` and, for each entry of its watch list, `watch`
//! infinitely often. Every processor in a waiting loop that may call `watch` does so for each entry. All these
//! conditions have the form "infinitely often one of these states or transitions". So a component in which each
//! condition is met somewhere holds a fair run that visits all of it for ever, and a component that misses one holds
//! none (generalised Büchi condition). Two questions are asked:
//!
//! - *Answers*: can a processor wait for ever for an answer, even if the others' bodies go on for ever? Components are
//!   taken in the part of the graph where that processor waits.
//! - *Termination*: can the program fail to exit although every body ends? No cycle starts a thread, so a processor
//!   inside a body would stay there. Components are taken where nobody is inside a body.
//!
//! An adversary chooses the victims: no luck is assumed. The processors that start without work are interchangeable, so
//! answers are asked about processor 0 and one other.

use std::collections::{HashMap, VecDeque};

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
    graph: &Graph,
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
            if component.len() == 1 && !may_rest(graph, component[0], machine.processors) {
                continue;
            }
            let entry = *component.iter().min().expect("components are not empty");
            let sooner = best.as_ref().is_none_or(|(id, ..)| entry < *id);
            if sooner && Fairness::of(machine, graph, &component, &components).holds() {
                best = Some((entry, question, component));
            }
        }
    }
    let (entry, question, component) = best?;
    let cycle = Lap::new(machine, graph, component, entry).run();
    Some(Run { violation: question.violation(), end: entry, last: None, cycle })
}

/// The moves of a state and where they lead. In a graph without broken states the transitions of a state are stored
/// in the order of its moves.
fn transitions(machine: &Machine, graph: &Graph, id: Id, s: &State) -> Vec<(Move, Id)> {
    let mut moves = Vec::new();
    machine.moves(s, &mut moves);
    moves.into_iter().zip(graph.edges(id).iter().copied()).collect()
}

/// Tarjan's algorithm, without recursion, on the states that a question concerns.
struct Components {
    /// A position in the depth-first order, or a mark.
    order: Vec<u32>,
    /// The smallest position known to be reachable; once the state is DONE, the position of its component's root.
    low: Vec<u32>,
    stack: Vec<Id>,
    calls: Vec<(Id, u32)>,
    root: Id,
    count: u32,
}

/// Marks in `Components::order`, above all positions.
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
                let root = self.order[id as usize];
                for &done in &component {
                    self.order[done as usize] = DONE;
                    self.low[done as usize] = root;
                }
                return Some(component);
            }
        }
    }

    /// Whether two states are in the same component. The component of the first is already known.
    fn together(&self, known: Id, other: Id) -> bool {
        self.order[other as usize] == DONE && self.low[known as usize] == self.low[other as usize]
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
    /// Nothing is met yet. Watch lists do not change inside a component, so any of its states says what is watched.
    fn new(processors: usize, graph: &Graph, member: Id) -> Fairness {
        let mut unwatched = [ContSet::default(); MAX_PROCESSORS];
        for (p, set) in unwatched[..processors].iter_mut().enumerate() {
            *set = graph.local(member, p).watching;
        }
        Fairness { processors, steps: 0, drains: 0, polls: 0, unwatched }
    }

    fn of(machine: &Machine, graph: &Graph, component: &[Id], components: &Components) -> Fairness {
        let mut fairness = Fairness::new(machine.processors, graph, component[0]);
        for &id in component {
            let state = graph.state(id);
            let transitions = transitions(machine, graph, id, &state);
            fairness.visit(&state, &transitions);
            transitions
                .iter()
                .filter(|(_, to)| components.together(id, *to))
                .for_each(|(m, _)| fairness.take(*m));
            if fairness.holds() {
                break;
            }
        }
        fairness
    }

    /// Conditions that hold because a processor has nothing buffered, is in no body, or cannot call `watch`.
    fn visit(&mut self, s: &State, transitions: &[(Move, Id)]) {
        let mut watchable = [ContSet::default(); MAX_PROCESSORS];
        for (m, _) in transitions {
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

    fn take(&mut self, m: Move) {
        match m {
            Move::Flush(p) | Move::Overtake(p) | Move::Overwrite(p) => self.drains |= 1 << p,
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
fn may_rest(graph: &Graph, id: Id, processors: usize) -> bool {
    let rests = |local: &Local| is_in_body(local) || waits_for_other_side(local);
    (0..processors).all(|p| rests(graph.local(id, p)))
}

/// A path through a fair component from `entry` back to it that meets every condition of fairness.
struct Lap<'a> {
    machine: &'a Machine,
    graph: &'a Graph,
    /// The component's states in ascending order.
    members: Vec<Id>,
    fairness: Fairness,
    entry: Id,
}

impl<'a> Lap<'a> {
    fn new(machine: &'a Machine, graph: &'a Graph, mut members: Vec<Id>, entry: Id) -> Lap<'a> {
        members.sort_unstable();
        let fairness = Fairness::new(machine.processors, graph, entry);
        Lap { machine, graph, members, fairness, entry }
    }

    fn run(mut self) -> Vec<Move> {
        let mut lap = Vec::new();
        let mut at = self.entry;
        self.fairness = self.after(None, at);
        while !self.fairness.holds() {
            for (m, to) in self.leg(at, |m, to| self.after(Some(m), to) != self.fairness) {
                self.fairness = self.after(Some(m), to);
                lap.push(m);
                at = to;
            }
        }
        if at != self.entry {
            lap.extend(self.leg(at, |_, to| to == self.entry).into_iter().map(|(m, _)| m));
        }
        lap
    }

    /// The conditions met after `m` has led to `id`.
    fn after(&self, m: Option<Move>, id: Id) -> Fairness {
        let mut fairness = self.fairness;
        if let Some(m) = m {
            fairness.take(m);
        }
        let state = self.graph.state(id);
        fairness.visit(&state, &transitions(self.machine, self.graph, id, &state));
        fairness
    }

    /// The shortest path inside the component from `from` over a last move that `arrives`.
    fn leg(&self, from: Id, arrives: impl Fn(Move, Id) -> bool) -> Vec<(Move, Id)> {
        let mut reached: HashMap<Id, (Move, Id)> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(id) = queue.pop_front() {
            for (m, to) in transitions(self.machine, self.graph, id, &self.graph.state(id)) {
                if self.members.binary_search(&to).is_err() {
                    continue;
                }
                if arrives(m, to) {
                    let mut way = vec![(m, to)];
                    let mut back = id;
                    while back != from {
                        let (m, parent) = reached[&back];
                        way.push((m, back));
                        back = parent;
                    }
                    way.reverse();
                    return way;
                }
                if to != from && !reached.contains_key(&to) {
                    reached.insert(to, (m, id));
                    queue.push_back(to);
                }
            }
        }
        unreachable!("a fair component meets every condition")
    }
}
